// Tests backend/ptx_contents.cpp.

#include "backend/ptx_contents.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

const char *kernel = R"(
//
// .target sm_75
//
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 1024 .b8 tritonc_shared[];
.visible .entry scale(
	.param .u64 .ptr .global .align 16 scale_param_0,
	.param .b8 scale_param_1,
	.param .u32 scale_param_2, // a comment, with .param .u8
	.param .align 64 .b8 scale_param_3[128],
	.param .f32 scale_param_4
)
.maxntid 128
{
	.reg .b32 %r<3>;
	ret;
}
)";

} // namespace

TEST_CASE("read_ptx: returns kernels and parameters") {
  CubinReading reading = read_ptx(kernel);
  CHECK(reading.problem == "");
  CHECK(reading.contents.gpu == "compute_80");
  CHECK(reading.contents.sm == 80);
  REQUIRE(reading.contents.kernels.size() == 1);
  const CubinKernel &scale = reading.contents.kernels[0];
  CHECK(scale.name == "scale");
  const CubinParameter expected[] = {{0, 8}, {8, 1}, {12, 4}, {64, 128}, {192, 4}};
  REQUIRE(scale.parameters.size() == 5);
  for (size_t i = 0; i < 5; i++) {
    CAPTURE(i);
    CHECK(scale.parameters[i].offset == expected[i].offset);
    CHECK(scale.parameters[i].bytes == expected[i].bytes);
  }
  CHECK(scale.parameter_bytes == 196);
  CHECK(scale.registers == 0);
}

TEST_CASE("read_ptx: returns the driver functions that it calls") {
  CHECK(read_ptx(kernel).contents.calls.empty());
  std::string text = kernel;
  text.insert(text.find(".extern"), R"(
.extern .func (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.func tritonc_print
()
;
.extern .func __assertfail(.param .b64 a);
)");
  CubinReading reading = read_ptx(text);
  CHECK(reading.problem == "");
  CHECK(reading.contents.calls == std::vector<std::string>{"__assertfail", "vprintf"});
  CHECK(reading.contents.kernels.size() == 1);
}

TEST_CASE("read_ptx: accepts a kernel without parameters") {
  CubinReading reading = read_ptx(".version 7.0\n.target sm_90\n.visible .entry k() { ret; }\n");
  CHECK(reading.problem == "");
  REQUIRE(reading.contents.kernels.size() == 1);
  CHECK(reading.contents.kernels[0].parameters.empty());
}

TEST_CASE("read_ptx: rejects PTX that later GPUs cannot run") {
  for (const char *target : {"sm_90a", "sm_100f", "compute_80", ""}) {
    CAPTURE(target);
    CHECK(read_ptx(std::string(".version 8.0\n.target ") + target +
                   "\n.visible .entry k() { ret; }\n")
              .problem != "");
  }
}

TEST_CASE("read_ptx: rejects truncated text") {
  std::string text = kernel;
  for (size_t size = 0; size < text.rfind('}'); size++) {
    CAPTURE(size);
    CHECK(read_ptx(text.substr(0, size)).problem != "");
  }
  CHECK(read_ptx(".version 7.0 .target sm_80 .entry k(.param .align x) {}").problem != "");
  CHECK(read_ptx(".version 7.0 .target sm_80 .entry k(.param .u64 a[) {}").problem != "");
}
