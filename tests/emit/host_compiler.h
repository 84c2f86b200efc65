// The C++ compiler that users of generated headers have, run on small programs.

#pragma once

#include "emit/library.h"
#include "support/kernel_file.h"

#include <string>
#include <vector>

namespace tritonc::test {

struct Outcome {
  int status = -1; // of the command; 0: success
  std::string output;
};

/// Runs a shell command; standard output and error together.
Outcome run(const std::string &command);

/// The C++ compilers of this machine: GCC and Clang, as far as they are here.
std::vector<std::string> host_compilers();
std::vector<std::string> host_c_compilers(); // those of C

/// A folder with the generated files of a library: object/gemm.hpp, gemm.o and
/// self_contained/gemm.hpp.
class GeneratedFiles {
public:
  explicit GeneratedFiles(const Library &library);

  /// Compiles `source`, a program that includes <gemm.hpp>. `mode` is "object" or "self_contained";
  /// `flags` say whether to link and how; `compiler` is the one of this build, or another.
  Outcome compile(const std::string &mode, const std::string &source, const std::string &flags,
                  const std::string &compiler = TRITONC_CXX) const;

  std::string path(const std::string &name) const { return folder_.path() + "/" + name; }

private:
  TemporaryFolder folder_;
};

} // namespace tritonc::test
