// Source files in memory, for speed: the front end opens these files instead of files on disk.
//
// memory_files.cpp defines the functions of diagnostics/source_file.h. A program that links it sees
// only these files.

#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tritonc::fuzz {

/// Replaces all files by `files`: paths ("/kernel.tc") and contents.
void set_files(std::vector<std::pair<std::string, std::string>> files);

} // namespace tritonc::fuzz
