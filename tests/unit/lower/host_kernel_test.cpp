// Tests lower/host_kernel.cpp.

#include "lower/host_kernel.h"

#include "passes/pipeline.h"
#include "support/tile_ir.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// A shipped kernel after the pipeline, in its first listed variant with tiles of 64.
HostKernel described(const std::string &file, const char *gpu) {
  FrontEndInput input = {TRITONC_KERNELS_DIR "/" + file, {}, {}, ""};
  for (const Axis &axis : read_declarations(input).axes) {
    const AxisValue *chosen = &axis.values[0];
    for (const AxisValue &value : axis.values)
      if (value.name == "64")
        chosen = &value;
    input.defines.insert(input.defines.end(), chosen->defines.begin(), chosen->defines.end());
  }
  FrontEndResult source = translate_source(input);
  REQUIRE_MESSAGE(source.errors == 0, source.diagnostics_text);
  run_pipeline(source.kernels[0], *find_gpu(gpu), [](std::string_view, ir::Function &) {});
  return describe(source.kernels[0], *find_gpu(gpu));
}

bool has_buffer(const HostKernel &kernel, const std::string &name) {
  return std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                     [&](const HostKernel::Buffer &buffer) { return buffer.name == name; });
}

} // namespace

TEST_CASE("describe: parameters, threads and shared memory") {
  HostKernel kernel = describe(
      parsed("func @f(%x: ptr<f32>, %n: i32) warps 4 shared 512 {\n return\n}"), *find_gpu("90a"));
  CHECK(kernel.name == "f");
  CHECK(kernel.gpu == "sm_90a");
  REQUIRE(kernel.parameters.size() == 2);
  CHECK(kernel.parameters[0].name == "x");
  CHECK(kernel.parameters[0].is_pointer);
  CHECK_FALSE(kernel.parameters[1].is_pointer);
  CHECK(kernel.threads == 128);
  CHECK(kernel.shared_bytes == 512);
  CHECK(kernel.buffers.empty());
}

TEST_CASE("describe: counts producer warps, appends hidden parameters") {
  HostKernel kernel = describe(parsed(R"(
    func @f(%x: ptr<f16>, %n: i64) warps 8 shared 4096 {
      %one = constant {value = 1} : i64
      %count = host_value %n : i64
      %map = tensor_map %x, %one, %n, %one {swizzle = 128} : map<f16>[64]
      %buffer = shared_alloc {address = 0} : shared<f16>[2,64]
      %full = mbarriers {address = 1024, arrivals = 1} : shared<i64>[2,1]
      warp_specialize {one_thread = [0,1], warps = [8,4]} {
        yield
      } {
        yield
      }
      return
    })"),
                               *find_gpu("90a"));
  CHECK(kernel.threads == 384);
  REQUIRE(kernel.parameters.size() == 4);
  CHECK(kernel.parameters[2].name == "count");
  CHECK(kernel.parameters[3].name == "map");
  CHECK_FALSE(kernel.parameters[2].is_pointer);
  CHECK_FALSE(kernel.parameters[3].is_pointer); // in the constant bank
  REQUIRE(kernel.buffers.size() == 2);
  CHECK(kernel.buffers[0].name == "buffer");
  CHECK(kernel.buffers[0].bytes == 256);
  CHECK(kernel.buffers[1].name == "full");
  CHECK(kernel.buffers[1].offset == 1024);
  CHECK(kernel.buffers[1].bytes == 16);
}

TEST_CASE("describe: cluster size, 1 by default") {
  auto cluster = [](const std::string &launch) {
    return describe(parsed("func @f(%n: i32) warps 4 {\n " + launch + "\n return\n}"),
                    *find_gpu("90a"))
        .cluster_size;
  };
  CHECK(cluster("launch_blocks %n {cluster = 4}") == 4);
  CHECK(cluster("launch_blocks %n {cluster = 1}") == 1);
  CHECK(cluster("launch_blocks %n") == 1);
  CHECK(cluster("") == 1);
}

TEST_CASE("describe: the blocks that share the registers of an SM") {
  const Gpu &gpu = *find_gpu("90a");
  CHECK(describe(parsed("func @f() warps 4 blocks_per_sm 3 {\n return\n}"), gpu).blocks_per_sm ==
        3);
  CHECK(describe(parsed("func @f() warps 4 {\n return\n}"), gpu).blocks_per_sm == 0);
}

TEST_CASE("describe: the block of a launch_warps has threads and memory for all programs") {
  HostKernel kernel =
      describe(parsed("func @f(%n: i32) warps 1 shared 128 {\n %h = host_value %n : i32\n"
                      " launch_warps %h {programs = 4}\n return\n}"),
               *find_gpu("90a"));
  CHECK(kernel.threads == 4 * 32);
  CHECK(kernel.shared_bytes == 4 * 128);
  CHECK(kernel.cluster_size == 1);
}

TEST_CASE("describe: buffers are named after their contents") {
  for (const char *gpu : {"75", "80"}) {
    CAPTURE(gpu);
    HostKernel kernel = described("matmul.tc", gpu);
    REQUIRE(kernel.buffers.size() >= 2);
    CHECK(has_buffer(kernel, "A"));
    CHECK(has_buffer(kernel, "B"));
    for (const HostKernel::Buffer &buffer : kernel.buffers) {
      CHECK(buffer.bytes > 0);
      CHECK(buffer.offset + buffer.bytes <= kernel.shared_bytes);
    }
  }
}
