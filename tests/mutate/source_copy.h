// A copy of the source tree, in which mutants are planted.

#pragma once

#include <filesystem>
#include <string>

namespace tritonc::mutate {

/// Makes `copy` equal to the tree `root`, without its top folders `build`, `.git` and `.cache`. A
/// file with the same contents keeps its time, so a build of the copy stays warm. A file that differs
/// gets the current time: so a mutant of an interrupted call disappears, also from the build.
/// Returns the number of files that it wrote or removed.
size_t update_copy(const std::filesystem::path &root, const std::filesystem::path &copy);

std::string read_text(const std::filesystem::path &path);
void write_text(const std::filesystem::path &path, const std::string &text);

} // namespace tritonc::mutate
