// Sources in memory, for as fast an execution as there can be: what the front end opens is looked
// up here instead of on the machine.
//
// memory_files.cpp defines what source/source_file.h declares; a program that is linked with it has
// these files and no others.

#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tritonc::fuzz {

/// From now on there are these files, and no others: paths ("/kernel.tc") and contents.
void set_files(std::vector<std::pair<std::string, std::string>> files);

} // namespace tritonc::fuzz
