// Reads the text form of tile IR that printer.h describes, for tests and tools.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

struct ParseResult {
  std::optional<Function> function;
  std::string error; // "line 3: unknown operation `foo`" if there is no function
};

ParseResult parse(std::string_view text);

} // namespace tritonc::ir
