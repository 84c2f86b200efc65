// Tests backend/cubin.cpp.

#include "backend/cubin.h"

#include "backend/ptxas.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

std::string ptx(const Gpu &gpu) {
  return ".version " + std::to_string(gpu.ptx_version / 10) + "." +
         std::to_string(gpu.ptx_version % 10) + "\n.target " + std::string(gpu.name) +
         "\n.address_size 64\n" + R"(
.visible .entry first(.param .u64 a, .param .u8 b, .param .align 64 .b8 c[128], .param .u16 d) {
  .reg .u64 %a;
  .reg .u16 %d;
  ld.param.u64 %a, [a];
  ld.param.u16 %d, [d];
  st.global.u16 [%a], %d;
  ret;
}
.visible .entry second() { ret; }
)";
}

std::string cubin(const Gpu &gpu) {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  Result<Cubin> made = assemble(*tools, ptx(gpu), "first", gpu);
  REQUIRE_MESSAGE(made, text(made.error()));
  return made->bytes;
}

} // namespace

TEST_CASE("read_cubin: returns GPU, kernels and parameters, for every GPU") {
  for (const Gpu &gpu : all_gpus()) {
    CAPTURE(gpu.name);
    CubinReading reading = read_cubin(cubin(gpu));
    CHECK(reading.problem == "");
    CHECK(reading.contents.sm == gpu.sm);
    CHECK(reading.contents.gpu == gpu.name);
    REQUIRE(reading.contents.kernels.size() == 2);
    const CubinKernel &first = reading.contents.kernels[0], &second = reading.contents.kernels[1];
    CHECK(first.name == "first");
    CHECK(first.registers > 0);
    CHECK(first.code_bytes > 0);
    REQUIRE(first.parameters.size() == 4);
    uint32_t expected[][2] = {{0, 8}, {8, 1}, {64, 128}, {192, 2}};
    for (size_t i = 0; i < 4; i++) {
      CAPTURE(i);
      if (i < 2 || gpu.sm >= 100) // other GPUs have an offset for the constant bank
        CHECK(first.parameters[i].offset == expected[i][0]);
      CHECK(first.parameters[i].bytes == expected[i][1]);
    }
    CHECK(first.parameter_bytes == int(first.parameters[3].offset + first.parameters[3].bytes));
    CHECK(second.name == "second");
    CHECK(second.parameters.empty());
    CHECK(second.parameter_bytes == 0);
    CHECK(reading.contents.calls.empty());
  }
}

TEST_CASE("read_cubin: rejects other files and truncated ones") {
  CHECK(read_cubin("").problem != "");
  CHECK(read_cubin("text").problem != "");
  std::string whole = cubin(*find_gpu("90a"));
  for (size_t length = 0; length < whole.size(); length += 5) {
    CAPTURE(length);
    CHECK(read_cubin(whole.substr(0, length)).problem != "");
  }
  for (size_t byte = 0; byte < whole.size(); byte++) { // must not crash
    std::string damaged = whole;
    damaged[byte] = char(~damaged[byte]);
    read_cubin(damaged);
  }
}
