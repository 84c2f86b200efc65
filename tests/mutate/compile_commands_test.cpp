// Tests compile_commands.cpp.

#include "mutate/compile_commands.h"

#include <doctest/doctest.h>

using namespace tritonc::mutate;

TEST_CASE("read_compile_commands: source, object and flags") {
  auto commands = read_compile_commands(
      R"([{"directory": "/b", "file": "/s/a.cpp",
           "command": "/usr/bin/c++ -I/s -DX=\\\"y\\\" -std=c++20 -o d/a.cpp.o -c /s/a.cpp"}])");
  REQUIRE(commands.size() == 1);
  CHECK(commands[0].source == "/s/a.cpp");
  CHECK(commands[0].object == "d/a.cpp.o");
  CHECK(commands[0].flags == std::vector<std::string>{"-I/s", "-DX=\"y\"", "-std=c++20"});
}

TEST_CASE("read_compile_commands: drops flags that only g++ has") {
  auto commands = read_compile_commands(
      R"([{"file": "a.cpp", "command": "c++ -fpch-preprocess -Winvalid-pch -Werror -O1 -c a.cpp"}])");
  REQUIRE(commands.size() == 1);
  CHECK(commands[0].flags == std::vector<std::string>{"-O1"});
}

TEST_CASE("read_compile_commands: takes the first command of a source") {
  auto commands = read_compile_commands(
      R"([{"file": "a.cpp", "command": "c++ -o 1.o -c a.cpp"},
          {"file": "a.cpp", "command": "c++ -o 2.o -c a.cpp"},
          {"file": "b.cpp", "command": "c++ -o 3.o -c b.cpp"}])");
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].object == "1.o");
  CHECK(commands[1].object == "3.o");
}

TEST_CASE("read_compile_commands: nothing, when the text is damaged") {
  CHECK(read_compile_commands("").empty());
  CHECK(read_compile_commands("[{").empty());
  CHECK(read_compile_commands("[1, {}]").empty());
}
