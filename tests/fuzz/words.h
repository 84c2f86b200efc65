// The words of Triton-C that mutations and the grammar put into sources: the fuzzers' dictionary
// (front_end.dict) has the same.

#pragma once

#include <string>
#include <vector>

namespace tritonc::fuzz {

const std::vector<std::string> &source_words();

} // namespace tritonc::fuzz
