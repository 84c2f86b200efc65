// The words of Triton-C that the mutator and the grammar insert into sources, from the dictionary
// triton_c.dict.

#pragma once

#include <string>
#include <vector>

namespace tritonc::fuzz {

const std::vector<std::string> &source_words();

} // namespace tritonc::fuzz
