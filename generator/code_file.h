// Machine code between two calls of the tool: a shard of a library writes what it has compiled, and
// the call that makes the library takes it from there instead of compiling.
//
// Code is found by a key, a hash of all that it is made of. What a file does not have is compiled,
// so a file can make a call faster and nothing else.
#pragma once

#include "backend/ptxas.h"
#include "backend/result.h"

#include <string>
#include <vector>

namespace tritonc {

struct StoredCode {
  std::string key;
  Cubin cubin;
  std::string image, ptx;
};

/// The same bytes for the same codes, whatever their order.
std::string code_file(std::vector<StoredCode> codes);

/// Fails if the file cannot be read, or is not as it was written.
Result<std::vector<StoredCode>> read_code_file(const std::string &path);

} // namespace tritonc
