// Test data for the dropout kernel. See test_kernels.h.

#include "test_kernels/test_kernel_parts.h"

#include "support/philox.h"

namespace tritonc::test {
namespace {

// The scale is a power of two, so the results are exact.
std::vector<Run> dropped(const Variant &variant, std::mt19937 &random, const Steps &) {
  std::vector<Run> runs;
  int size = variant.number("SIZE");
  for (auto [n, rate] : {std::pair(1, 0.0), {size, 0.5}, {3 * size - 11, 0.75}, {5, 1.0}}) {
    Run run;
    run.text = "n=" + std::to_string(n) + " rate=" + std::to_string(rate);
    uint64_t seed = random() * 0x100000001u;
    Matrix x = add_matrix(run.memory, "x", {variant.type()}, 1, n, n, &random);
    Matrix y = add_matrix(run.memory, "y", {variant.type()}, 1, n, n, nullptr);
    run.launch.grid = {(n + size - 1) / size, 1, 1};
    run.launch.arguments = {Element::pointer(x.buffer), Element::pointer(y.buffer),
                            Element::of_number(rate), integer(int64_t(seed)), integer(n)};
    run.check = [=, rate = rate](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t, int64_t i) {
        uint32_t word = philox(seed, uint64_t(i) / 4)[size_t(i) % 4];
        bool kept = word >> 1 >= uint32_t(float(rate) * 0x1p31f);
        return kept ? value_at(memory, x, 0, i) / (1 - rate) : 0;
      });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

} // namespace

std::vector<TestKernel> dropouts() { return {{"kernels/dropout.tc", false, dropped, {}}}; }

} // namespace tritonc::test
