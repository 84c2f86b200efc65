// Runs the host compilers on small programs. See host_compiler.h.

#include "unit/emit/host_compiler.h"

#include "emit/cpp/header.h"
#include "emit/object/object.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>

namespace tritonc::test {

Outcome run(const std::string &command) {
  Outcome outcome;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe);
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof buffer, pipe))
    outcome.output.append(buffer, count);
  outcome.status = pclose(pipe);
  return outcome;
}

GeneratedFiles::GeneratedFiles(const Library &library) {
  Result<Interface> interface = make_interface(library);
  REQUIRE(interface);
  Result<Tables> tables = make_tables(*interface);
  REQUIRE(tables);
  Result<std::string> object = object_file(*tables, "");
  REQUIRE(object);
  folder_.write("object/gemm.hpp", object_mode_header(library, *interface));
  folder_.write("self_contained/gemm.hpp", self_contained_header(library, *interface, *tables));
  folder_.write("gemm.o", *object);
}

namespace {

std::vector<std::string> parts_of(const std::string &list) {
  std::vector<std::string> out;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ':');)
    out.push_back(part);
  return out;
}

} // namespace

std::vector<std::string> host_compilers() { return parts_of(TRITONC_HOST_COMPILERS); }
std::vector<std::string> host_c_compilers() { return parts_of(TRITONC_HOST_C_COMPILERS); }

Outcome GeneratedFiles::compile(const std::string &mode, const std::string &source,
                                const std::string &flags, const std::string &compiler) const {
  std::string file = folder_.write("program.cpp", source);
  return run(compiler + " -Wall -Wextra -Wpedantic -Werror -I" TRITONC_RUNTIME_INCLUDE_DIR " -I" +
             path(mode) + " " + file + " " + flags);
}

} // namespace tritonc::test
