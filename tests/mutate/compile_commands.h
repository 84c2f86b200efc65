// Reads compile_commands.json, which CMake writes into a build folder.

#pragma once

#include <string>
#include <vector>

namespace tritonc::mutate {

struct CompileCommand {
  std::string source, object; // paths; the object relative to the build folder
  std::vector<std::string>
      flags; // for clang: without the files and without flags that only g++ has
};

/// The commands in the order of the file. Of several commands for one source, the first one: the
/// others compile it again, for one test. Empty if the text is not a list of commands.
std::vector<CompileCommand> read_compile_commands(const std::string &json);

} // namespace tritonc::mutate
