// Tests backend/ptxas.cpp with the real ptxas, and with fake ones that fail, hang or crash.

#include "backend/ptxas.h"

#include "fake_tool.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

const char *ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) .maxntid 128
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  .shared .align 4 .b8 buffer[256];
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  st.shared.u32 [buffer], %r1;
  bar.sync 0;
  ld.shared.u32 %r1, [buffer + 4];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

const Toolchain &tools() {
  static Result<Toolchain> found = find_toolchain({});
  REQUIRE_MESSAGE(found, text(found.error()));
  return *found;
}

const Gpu &gpu() { return *find_gpu("80"); }

// The result with this script as ptxas. $output is the path of the result.
Result<Cubin> with_fake(const std::string &script) {
  FakeTool fake("ptxas", "for last; do :; done; output=$last\n" + script);
  Toolchain fakes = {fake.path(), "", "13.0.88", std::chrono::seconds(2)};
  return assemble(fakes, ptx, "k", gpu());
}

Error failure_with(const std::string &script) {
  Result<Cubin> cubin = with_fake(script);
  REQUIRE_FALSE(cubin);
  return cubin.error();
}

// Runs the real ptxas with the same arguments.
std::string real() { return tools().ptxas + " \"$@\""; }

} // namespace

TEST_CASE("assemble: returns code and resources") {
  Result<Cubin> cubin = assemble(tools(), ptx, "k", gpu());
  REQUIRE_MESSAGE(cubin, text(cubin.error()));
  CHECK(check_cubin(cubin->bytes, "k") == "");
  CHECK(cubin->resources.registers > 0);
  CHECK(cubin->resources.registers < 32);
  CHECK(cubin->resources.static_shared == 256);
  CHECK(cubin->resources.spill_stores == 0);
  CHECK(cubin->resources.stack_bytes == 0);
  CHECK(cubin->resources.advice.empty());
}

TEST_CASE("assemble: same PTX gives the same bytes") {
  Result<Cubin> first = assemble(tools(), ptx, "k", gpu());
  Result<Cubin> second = assemble(tools(), ptx, "k", gpu());
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->bytes == second->bytes);
}

TEST_CASE("assemble: passes the caller's options last") {
  Toolchain more = tools();
  more.ptxas_options = {"-O0", "--nonsense"};
  Result<Cubin> refused = assemble(more, ptx, "k", gpu());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().id == Message::tool_failed);
  CHECK(text(refused.error()).find("nonsense") != std::string::npos);

  more.ptxas_options = {"-maxrregcount=16"};
  CHECK(assemble(more, ptx, "k", gpu()));
}

TEST_CASE("assemble: reports rejected PTX") {
  Result<Cubin> cubin = assemble(tools(), std::string(ptx) + "nonsense", "k", gpu());
  REQUIRE_FALSE(cubin);
  CHECK(cubin.error().id == Message::tool_failed);
  std::string line = text(cubin.error());
  CAPTURE(line);
  CHECK(line.find("`ptxas` failed for `k` for sm_80") != std::string::npos);
  CHECK(line.find('\n') == std::string::npos);
}

TEST_CASE("assemble: detects a truncated file, as on a full disk") {
  for (const char *bytes : {"0", "1", "63", "64", "1000", "3000"}) {
    CAPTURE(bytes);
    Error failure = failure_with(real() + "\nhead -c " + bytes + " \"$output\" >\"$output.cut\"\n" +
                                 "mv \"$output.cut\" \"$output\"");
    CHECK(failure.id == Message::tool_bad_output);
    CHECK(text(failure).find("full") != std::string::npos);
  }
}

TEST_CASE("assemble: detects a missing output file") {
  CHECK(failure_with("exit 0").id == Message::tool_bad_output);
}

TEST_CASE("assemble: detects an output that is not a cubin") {
  CHECK(failure_with("echo hello >\"$output\"").id == Message::tool_bad_output);
  CHECK(failure_with("cp /bin/sh \"$output\"").id == Message::tool_bad_output);
}

TEST_CASE("assemble: detects code for another kernel") {
  Result<Cubin> cubin = assemble(tools(), ptx, "other", gpu());
  REQUIRE_FALSE(cubin);
  CHECK(cubin.error().id == Message::tool_bad_output);
}

TEST_CASE("assemble: detects an unreadable report") {
  CHECK(failure_with(real() + " >/dev/null 2>&1; echo garbage").id == Message::tool_bad_output);
}

TEST_CASE("assemble: reports a ptxas that hangs, crashes or is missing") {
  CHECK(failure_with("sleep 60").id == Message::tool_timed_out);
  CHECK(failure_with("kill -SEGV $$").id == Message::tool_crashed);
  CHECK(failure_with("kill -KILL $$").id == Message::tool_crashed);
  Result<Cubin> cubin =
      assemble({"/nowhere/ptxas", "", "", std::chrono::seconds(1)}, ptx, "k", gpu());
  REQUIRE_FALSE(cubin);
  CHECK(cubin.error().id == Message::tool_not_started);
}

TEST_CASE("assemble: stops a ptxas with endless output") {
  CHECK(failure_with("yes garbage").id == Message::tool_timed_out);
}

TEST_CASE("parse_report: reads the resources of the named kernel") {
  std::string report = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_80'
ptxas info    : Function properties for other
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 400 bytes cmem[0]
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas info    : Function properties for k
    80 bytes stack frame, 96 bytes spill stores, 104 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 80 bytes cumulative stack size, 1024 bytes smem, 372 bytes cmem[0]
)";
  Resources resources;
  REQUIRE(parse_report(report, "k", resources));
  CHECK(resources.registers == 128);
  CHECK(resources.stack_bytes == 80);
  CHECK(resources.spill_stores == 96);
  CHECK(resources.spill_loads == 104);
  CHECK(resources.static_shared == 1024);
  CHECK(resources.advice.size() == 1);

  for (const char *bad : {"", "garbage", "ptxas info    : Used 12 registers",
                          "ptxas info    : Function properties for k\n",
                          "ptxas info    : Function properties for k\n 1 bytes stack frame\n"}) {
    CAPTURE(bad);
    Resources none;
    CHECK_FALSE(parse_report(bad, "k", none));
  }
}
