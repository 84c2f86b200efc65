// Tests backend/toolchain.cpp: the choice of tools, and the errors.

#include "backend/toolchain.h"

#include "fake_tool.h"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace tritonc;

namespace {

const char *version_13 = "echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'\n"
                         "echo 'Cuda compilation tools, release 13.0, V13.0.88'";

Message id_of(const Result<Toolchain> &tools) {
  REQUIRE_FALSE(tools);
  return tools.error().id;
}

// Sets an environment variable during a test.
class Variable {
public:
  Variable(const char *name, const std::string &value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }

private:
  const char *name_;
};

} // namespace

TEST_CASE("find_toolchain: option beats variable, fatbinary next to ptxas") {
  FakeTool option("ptxas", version_13), variable("ptxas", version_13);
  FakeTool beside("fatbinary", "exit 0");
  Variable set("TRITONC_PTXAS", variable.path());
  Variable image("TRITONC_FATBINARY", beside.path());
  Result<Toolchain> tools = find_toolchain({.ptxas = option.path(), .fatbinary = ""});
  REQUIRE_MESSAGE(tools, text(tools.error()));
  CHECK(tools->ptxas == option.path());
  CHECK(tools->fatbinary == beside.path());
  CHECK(tools->version == "13.0.88");

  tools = find_toolchain({});
  REQUIRE(tools);
  CHECK(tools->ptxas == variable.path());
}

TEST_CASE("find_toolchain: named tool must exist") {
  CHECK(id_of(find_toolchain({.ptxas = "/nowhere/ptxas", .fatbinary = ""})) ==
        Message::tool_not_a_program);
  Variable set("TRITONC_PTXAS", "/nowhere/ptxas");
  CHECK(id_of(find_toolchain({})) == Message::tool_not_a_program);
}

TEST_CASE("find_toolchain: rejects an old toolkit or another program") {
  FakeTool fatbinary("fatbinary", "exit 0");
  struct {
    const char *script;
    Message message;
  } cases[] = {
      {"echo 'Cuda compilation tools, release 12.3, V12.3.107'", Message::tool_too_old},
      {"echo 'Cuda compilation tools, release 11.8, V11.8.89'", Message::tool_too_old},
      {"echo hello", Message::tool_unusable},
      {"exit 1", Message::tool_failed},
      {"kill -SEGV $$", Message::tool_crashed},
      {"sleep 30", Message::tool_timed_out},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.script);
    FakeTool ptxas("ptxas", expected.script);
    CHECK(id_of(find_toolchain({.ptxas = ptxas.path(),
                                .fatbinary = fatbinary.path(),
                                .time_limit = std::chrono::seconds(1)})) == expected.message);
  }
  FakeTool oldest("ptxas", "echo 'Cuda compilation tools, release 12.4, V12.4.99'");
  CHECK(find_toolchain({.ptxas = oldest.path(), .fatbinary = fatbinary.path()}));
}

TEST_CASE("find_toolchain: rejects a toolkit too new for --min-driver") {
  FakeTool fatbinary("fatbinary", "exit 0");
  FakeTool ptxas("ptxas", "echo 'Cuda compilation tools, release 13.0, V13.0.88'");
  auto found = [&](int oldest_driver) {
    return find_toolchain(
        {.ptxas = ptxas.path(), .fatbinary = fatbinary.path(), .oldest_driver = oldest_driver});
  };
  for (int driver : {0, 13000, 13010, 14000})
    CHECK(found(driver));
  Result<Toolchain> refused = found(12090);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().id == Message::tool_too_new);
  CHECK(text(refused.error()) ==
        "error: code from `" + ptxas.path() +
            "` (version 13.0.88) needs a driver for CUDA 13.0 or later, but --min-driver is "
            "12.9; use the ptxas of an older CUDA Toolkit");
}

TEST_CASE("tool_missing: message names the option and the variable") {
  Error failure = {Message::tool_missing, {"ptxas", "TRITONC_PTXAS"}};
  CHECK(text(failure).find("--ptxas") != std::string::npos);
  CHECK(text(failure).find("TRITONC_PTXAS") != std::string::npos);
}
