// Runs triton_peer.py, which measures Triton, in a separate process.
#pragma once

#include <string>

namespace bench {

/// Returns false and sets `error` if the file cannot be read.
bool read_file(const std::string &path, std::string &text, std::string &error);

/// Runs the script in the folder of this program with `python`. `request` has the rows, `text` gets
/// the results. Unfinished rows are missing. Without results, returns false and sets `error`.
bool run_triton_peer(const std::string &python, const std::string &request, std::string &text,
                     std::string &error);

} // namespace bench
