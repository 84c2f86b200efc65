// Shard files: a shard of a library writes its machine code to a file, and the call that makes the
// library reads the code from there.
//
// The key of the code is a hash of all its inputs. The call compiles code that no file contains, so
// a shard file affects only the compile time.
#pragma once

#include "backend/ptxas.h"
#include "support/result.h"

#include <string>
#include <vector>

namespace tritonc {

struct StoredCode {
  std::string key;
  Cubin cubin;
  std::string image, ptx;
};

/// The bytes of a shard file. They do not depend on the order of `codes`.
std::string shard_file(std::vector<StoredCode> codes);

/// Fails if the file is unreadable or damaged.
Result<std::vector<StoredCode>> read_shard_file(const std::string &path);

} // namespace tritonc
