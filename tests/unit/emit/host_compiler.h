// Compiles and runs small programs that use generated headers, with the compilers of this machine.

#pragma once

#include "emit/library.h"
#include "support/kernel_file.h"

#include <string>
#include <vector>

namespace tritonc::test {

struct Outcome {
  int status = -1; // exit status of the command; 0 = success
  std::string output;
};

/// Runs a shell command. `output` has its standard output and standard error.
Outcome run(const std::string &command);

/// The C++ compilers of this machine: GCC and Clang, if installed.
std::vector<std::string> host_compilers();
std::vector<std::string> host_c_compilers(); // the C compilers

/// A folder with the generated files of a library: object/gemm.hpp, gemm.o and
/// self_contained/gemm.hpp.
class GeneratedFiles {
public:
  explicit GeneratedFiles(const Library &library);

  /// Compiles the program `source`, which includes <gemm.hpp>. `mode` is "object" or
  /// "self_contained". `flags` say whether and how to link. Default compiler: that of this build.
  Outcome compile(const std::string &mode, const std::string &source, const std::string &flags,
                  const std::string &compiler = TRITONC_CXX) const;

  std::string path(const std::string &name) const { return folder_.path() + "/" + name; }

private:
  TemporaryFolder folder_;
};

} // namespace tritonc::test
