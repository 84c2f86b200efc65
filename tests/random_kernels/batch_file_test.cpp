// Tests batch_file.cpp: round trip of kernels, and damaged files.

#include "random_kernels/batch_file.h"
#include "random_kernels/generate.h"

#include <doctest/doctest.h>

#include <sstream>

using namespace tritonc::random;

namespace {

BatchKernel kernel_of(uint64_t seed) {
  Generated made = generate(seed);
  BatchKernel kernel{seed, "sm_90a", 128, 4096, case_of(made.kernel, made.evaluation), {}};
  kernel.tried.source.clear();
  kernel.images = {{"-O3", std::string("\0\n image", 8)}, {"-O0", std::string(1000, 'x')}};
  return kernel;
}

std::string file_of(int count) {
  std::ostringstream out;
  write_batch_header(out);
  for (int i = 0; i < count; i++)
    write_batch_kernel(out, kernel_of(uint64_t(i)));
  return out.str();
}

} // namespace

TEST_CASE("batch file: round trip") {
  std::istringstream in(file_of(5));
  REQUIRE(read_batch_header(in));
  bool is_broken;
  for (uint64_t seed = 0; seed < 5; seed++) {
    BatchKernel expected = kernel_of(seed);
    std::optional<BatchKernel> read = read_batch_kernel(in, is_broken);
    REQUIRE(read);
    CHECK(read->seed == seed);
    CHECK(read->gpu == "sm_90a");
    CHECK(read->threads == 128);
    CHECK(read->shared_bytes == 4096);
    CHECK(read->tried.arguments.size() == expected.tried.arguments.size());
    REQUIRE(read->images.size() == 2);
    CHECK(read->images[0].bytes == expected.images[0].bytes);
    CHECK(read->images[1].how == "-O0");
  }
  CHECK_FALSE(read_batch_kernel(in, is_broken));
  CHECK_FALSE(is_broken);
}

TEST_CASE("batch file: a truncated file is broken") {
  std::string whole = file_of(1);
  for (size_t size = 40; size + 1 < whole.size(); size += 97) {
    std::istringstream in(whole.substr(0, size));
    REQUIRE(read_batch_header(in));
    bool is_broken;
    CHECK_FALSE(read_batch_kernel(in, is_broken));
    CHECK(is_broken);
  }
  std::istringstream other("something else\n");
  CHECK_FALSE(read_batch_header(other));
}
