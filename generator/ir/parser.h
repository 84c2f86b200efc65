// Reads the text form of tile IR, for tests and tools. See printer.h for the form.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

struct ParseResult {
  std::optional<Function> function;
  std::string error; // without a function: "line 3: unknown operation `foo`"
};

ParseResult parse(std::string_view text);

} // namespace tritonc::ir
