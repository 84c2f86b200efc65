// Has Triton measured by triton_peer.py, in a process of its own.
#pragma once

#include <string>

namespace bench {

/// False, and `error` says why, if it cannot be read.
bool read_file(const std::string &path, std::string &text, std::string &error);

/// Runs the script, which lies beside this program, with `python`, on these rows; `text` is what it
/// wrote. What it could not finish is missing there. False, and `error` says why, if there is
/// nothing.
bool run_triton_peer(const std::string &python, const std::string &request, std::string &text,
                     std::string &error);

} // namespace bench
