// Tests backend/sass_stats.cpp with PTX whose SASS instructions are known.

#include "backend/sass_stats.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

// A kernel with one tensor core matmul, one ldmatrix, 16-byte accesses and a barrier.
const char *ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) .maxntid 32
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<9>;
  .reg .f32 %f<9>;
  .shared .align 16 .b8 buffer[512];
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 16;
  add.s64 %rd1, %rd1, %rd2;
  ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];
  mov.u32 %r6, buffer;
  mad.lo.u32 %r6, %r1, 16, %r6;
  st.shared.v4.u32 [%r6], {%r2, %r3, %r4, %r5};
  bar.sync 0;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r6];
  mov.f32 %f1, 0f00000000;
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r2, %r3, %r4, %r5}, {%r2, %r3}, {%f1, %f1, %f1, %f1};
  st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
  ret;
}
)";

} // namespace

TEST_CASE("count_instructions: counts by name and width") {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE_MESSAGE(tools, text(tools.error()));
  for (const char *name : {"80", "90", "100", "120"}) {
    CAPTURE(name);
    const Gpu &gpu = *find_gpu(name);
    Result<Cubin> cubin = assemble(*tools, ptx, "k", gpu);
    REQUIRE_MESSAGE(cubin, text(cubin.error()));
    std::map<std::string, int> counts = count_instructions(cubin->bytes, "k");
    CHECK(counts["HMMA"] == 1);
    CHECK(counts["LDSM"] == 1);
    CHECK(counts["LDG.128"] == 1);
    CHECK(counts["STS.128"] == 1);
    CHECK(counts["STG.128"] == 1);
    CHECK(counts["BAR"] == 1);
    CHECK(counts.count("LDL.32") == 0);
  }
}

TEST_CASE("list_instructions: in the order of the code") {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE_MESSAGE(tools, text(tools.error()));
  Result<Cubin> cubin = assemble(*tools, ptx, "k", *find_gpu("90"));
  REQUIRE_MESSAGE(cubin, text(cubin.error()));
  std::vector<std::string> wanted;
  for (const std::string &name : list_instructions(cubin->bytes, "k"))
    if (name == "LDG.128" || name == "BAR" || name == "HMMA" || name == "STG.128")
      wanted.push_back(name);
  CHECK(wanted == std::vector<std::string>{"LDG.128", "BAR", "HMMA", "STG.128"});
}

TEST_CASE("count_instructions: unknown kernel has no instructions") {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  Result<Cubin> cubin = assemble(*tools, ptx, "k", *find_gpu("80"));
  REQUIRE(cubin);
  CHECK(count_instructions(cubin->bytes, "other").empty());
}

TEST_CASE("sass_stats: report has resources and counts") {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  Result<Cubin> cubin = assemble(*tools, ptx, "k", *find_gpu("80"));
  REQUIRE(cubin);
  std::string report = sass_stats(*cubin, "k", *find_gpu("80"));
  CHECK(report.find("k for sm_80\n") == 0);
  CHECK(report.find("registers") != std::string::npos);
  CHECK(report.find("HMMA            1\n") != std::string::npos);
}
