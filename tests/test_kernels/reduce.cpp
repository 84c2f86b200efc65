// Test data for reductions along an axis. See test_kernels.h.

#include "test_kernels/test_kernel_parts.h"

#include <cmath>

namespace tritonc::test {
namespace {

// Sizes with P = 2: an empty axis; one element; one full tile; partial tiles; a loop that several
// blocks divide.
struct Sizes {
  int64_t q, k;
};

// If the kernel ignores NaN, one in seven elements is NaN, and all elements of the first result.
std::vector<Run> along_an_axis(const Variant &variant, std::mt19937 &random, bool finds_indices) {
  constexpr int64_t p_count = 2;
  bool is_last = variant["ONE"] == "xk";
  int64_t tq = variant.number("TQ"), tk = 1024 / tq;
  std::vector<Run> runs;
  for (auto [q_count, k_count] :
       {Sizes{1, 0}, Sizes{3, 1}, Sizes{tq, tk}, Sizes{tq + 3, 2 * tk + 5}, Sizes{2, 9 * tk + 3}}) {
    Run run;
    run.text = "Q=" + std::to_string(q_count) + " K=" + std::to_string(k_count);
    int64_t xk = is_last ? 1 : q_count + 2, xq = is_last ? k_count + 2 : 1;
    int64_t xp = (is_last ? q_count * xq : k_count * xk) + 1, yp = q_count + 1;
    auto at = [=](int64_t p, int64_t q, int64_t k) { return size_t(p * xp + q * xq + k * xk); };
    size_t count = k_count ? at(p_count - 1, q_count - 1, k_count - 1) + 1 : 0;
    int x = run.memory.add_unwritten("X", variant.type(), count);
    int y = run.memory.add_unwritten("Y", variant.type(), size_t(yp + q_count));
    int i = finds_indices ? run.memory.add_unwritten("INDEX", Elem::i32, size_t(yp + q_count)) : -1;
    bool is_sum = variant["ALONG"] == "+",
         is_min = variant["ALONG"] == "min" || variant["BEST"] == "min";
    std::map<size_t, double> results, indices;
    for (int64_t p = 0; p < p_count; p++)
      for (int64_t q = 0; q < q_count; q++) {
        double result = is_sum ? 0 : finds_indices ? std::nan("") : is_min ? INFINITY : -INFINITY;
        int64_t index = -1;
        for (int64_t k = 0; k < k_count; k++) {
          bool is_number = is_sum || (random() % 7 && (p || q));
          double value = is_number ? draw(random) : std::nan("");
          run.memory[x].elements[at(p, q, k)] = Element::of_number(value);
          if (is_sum)
            result += value;
          else if (is_number && (index < 0 || (is_min ? value < result : value > result))) {
            result = value;
            index = k;
          }
        }
        results[size_t(p * yp + q)] = rounded(variant.type(), result);
        indices[size_t(p * yp + q)] = double(index);
      }
    run.launch.grid = {int((q_count + tq - 1) / tq), int(p_count), 1};
    run.launch.arguments = {Element::pointer(x), Element::pointer(y)};
    if (finds_indices)
      run.launch.arguments.push_back(Element::pointer(i));
    for (int64_t number : {p_count, q_count, k_count, xp, xq, xk, yp})
      run.launch.arguments.push_back(integer(number));
    run.check = [=](const Memory &memory) {
      std::string wrong = check_elements(memory, y, results);
      return finds_indices ? wrong + check_elements(memory, i, indices) : wrong;
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<Run> reduced(const Variant &variant, std::mt19937 &random, const Steps &) {
  return along_an_axis(variant, random, false);
}

std::vector<Run> found(const Variant &variant, std::mt19937 &random, const Steps &) {
  return along_an_axis(variant, random, true);
}

} // namespace

std::vector<TestKernel> reductions() {
  return {
      {"kernels/argmax.tc", false, found, {}},
      {"kernels/reduce.tc", false, reduced, {}},
  };
}

} // namespace tritonc::test
