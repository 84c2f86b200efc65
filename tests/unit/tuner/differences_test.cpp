// Tests runtime/tuner/differences.cpp with kernels that run on the host: variants that round in
// another way agree, and one wrong element is found.

#include "differences.h"

#include <tritonc/numbers.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

using namespace tritonc;
using namespace tritonc::tuner;

namespace {

const double infinite = std::numeric_limits<double>::infinity();

/// A pointer of a kernel.
struct Parameter {
  const char *type;
  std::size_t count;
  bool is_written = false;
};

template <typename T> T *elements_of(std::vector<char> &memory) {
  return reinterpret_cast<T *>(memory.data());
}

/// Runs a kernel on the host. `compute(variant, memory)` has the memory of all pointers, with
/// inputs from make_inputs.
class HostKernel {
public:
  using Compute = std::function<void(std::size_t variant, std::vector<std::vector<char>> &memory)>;

  HostKernel(std::vector<Parameter> parameters, Compute compute)
      : parameters_(std::move(parameters)), compute_(std::move(compute)) {
    for (const Parameter &parameter : parameters_)
      buffers_.push_back({find_element(parameter.type), parameter.count, parameter.is_written});
  }

  std::vector<double> differences_of(std::size_t variants) {
    return differences(variants, buffers_, [&](std::size_t variant, int inputs) {
      launches_++;
      Results memory;
      for (std::size_t i = 0; i < buffers_.size(); i++) {
        memory.emplace_back(
            std::max<std::size_t>(buffers_[i].count * buffers_[i].element->bytes, 1));
        make_inputs(buffers_[i], memory[i].data(), i + 1, inputs, change_of(buffers_));
      }
      compute_(variant, memory);
      for (std::size_t i = 0; i < memory.size(); i++)
        if (!parameters_[i].is_written)
          memory[i] = {};
      return memory;
    });
  }
  int launches() const { return launches_; }

private:
  std::vector<Parameter> parameters_;
  Compute compute_;
  std::vector<Buffer> buffers_;
  int launches_ = 0;
};

/// Truncates toward zero, as tensor cores do.
float truncated(double exact) {
  float nearest = float(exact);
  return std::fabs(double(nearest)) > std::fabs(exact) ? std::nextafter(nearest, 0.0f) : nearest;
}

/// How a variant adds the terms of a sum.
struct Order {
  int parts = 1;
  bool is_reversed = false;
  bool truncates = false;
};

/// Variant 0 adds in order, 1 from the end, 2 in 7 parts, 3 in order with truncation.
constexpr Order orders[] = {{}, {1, true}, {7}, {1, false, true}};
constexpr std::size_t order_count = std::size(orders);

template <typename Term> float sum_of(const Order &order, int n, const Term &term) {
  auto add = [&](float sum, double value) {
    double exact = double(sum) + value;
    return order.truncates ? truncated(exact) : float(exact);
  };
  float total = 0;
  for (int part = 0; part < order.parts; part++) {
    float sum = 0;
    for (int i = part * n / order.parts; i < (part + 1) * n / order.parts; i++)
      sum = add(sum, double(term(order.is_reversed ? n - 1 - i : i)));
    total = add(total, double(sum));
  }
  return total;
}

/// C = A B of m x k and k x n elements. `spoil(variant, c)` plants errors in C.
template <typename In, typename Out>
HostKernel matmul(const char *in, const char *out, int m, int n, int k,
                  const std::function<void(std::size_t variant, Out *c)> &spoil = nullptr) {
  auto compute = [=](std::size_t variant, std::vector<std::vector<char>> &memory) {
    const In *a = elements_of<In>(memory[0]), *b = elements_of<In>(memory[1]);
    Out *c = elements_of<Out>(memory[2]);
    for (int row = 0; row < m; row++)
      for (int column = 0; column < n; column++)
        c[row * n + column] = Out(sum_of(orders[variant % order_count], k, [&](int i) {
          return float(a[row * k + i]) * float(b[i * n + column]);
        }));
    if (spoil)
      spoil(variant, c);
  };
  return HostKernel(
      {{in, std::size_t(m * k)}, {in, std::size_t(k * n)}, {out, std::size_t(m * n), true}},
      compute);
}

/// Expects that only this variant differs.
void check_only(const std::vector<double> &found, std::size_t wrong) {
  for (std::size_t variant = 0; variant < found.size(); variant++) {
    CAPTURE(variant);
    CAPTURE(found[variant]);
    CHECK((variant == wrong ? found[variant] > 1 : found[variant] == 0));
  }
}

void check_none(const std::vector<double> &found) { check_only(found, found.size()); }

} // namespace

TEST_CASE("differences: sums in other orders agree") {
  check_none(matmul<half, half>("f16", "f16", 32, 40, 300).differences_of(order_count));
  check_none(matmul<half, float>("f16", "f32", 32, 40, 300).differences_of(order_count));
  check_none(matmul<bfloat16, bfloat16>("bf16", "bf16", 32, 40, 300).differences_of(order_count));
  check_none(matmul<float, float>("f32", "f32", 32, 40, 300).differences_of(order_count));
  check_none(matmul<float8_e4m3, half>("e4m3", "f16", 32, 40, 300).differences_of(order_count));
  check_none(matmul<half, half>("f16", "f16", 100, 100, 5).differences_of(order_count));
}

TEST_CASE("differences: long sums in other orders agree") {
  check_none(matmul<half, half>("f16", "f16", 4, 5, 60000).differences_of(order_count));
  check_none(matmul<half, float>("f16", "f32", 4, 5, 60000).differences_of(order_count));
}

TEST_CASE("differences: long sums of equal signs agree") {
  constexpr int rows = 20, n = 20000;
  HostKernel kernel({{"f16", rows * n}, {"f32", rows, true}},
                    [](std::size_t variant, auto &memory) {
                      const half *x = elements_of<half>(memory[0]);
                      for (int row = 0; row < rows; row++)
                        elements_of<float>(memory[1])[row] = sum_of(orders[variant], n, [&](int i) {
                          return float(x[row * n + i]) * float(x[row * n + i]);
                        });
                    });
  check_none(kernel.differences_of(order_count));
}

TEST_CASE("differences: one wrong element of a matmul is found") {
  constexpr int m = 32, n = 40, k = 300, at = 17 * n + 23;
  std::size_t wrong = 0;
  SUBCASE("first variant") {}
  SUBCASE("another variant") { wrong = 2; }
  auto plant = [&](auto change) {
    return [=](std::size_t variant, auto *c) {
      if (variant == wrong)
        change(c);
    };
  };
  auto neighbor = [](auto *c) { c[at] = c[at + 1]; };
  auto is_unwritten = [](auto *c) { c[at] = std::remove_pointer_t<decltype(c)>(0.5f); };
  check_only(matmul<half, half>("f16", "f16", m, n, k, plant(neighbor)).differences_of(4), wrong);
  check_only(matmul<half, half>("f16", "f16", m, n, k, plant(is_unwritten)).differences_of(4),
             wrong);
  check_only(matmul<half, float>("f16", "f32", m, n, k, plant(neighbor)).differences_of(4), wrong);
  check_only(matmul<bfloat16, bfloat16>("bf16", "bf16", m, n, k, plant(neighbor)).differences_of(4),
             wrong);
  check_only(matmul<float, float>("f32", "f32", m, n, k, plant(neighbor)).differences_of(4), wrong);
  check_only(matmul<float8_e4m3, half>("e4m3", "f16", m, n, k, plant(neighbor)).differences_of(4),
             wrong);
}

TEST_CASE("differences: a sum without its last product is found") {
  constexpr int m = 32, n = 40, k = 300;
  HostKernel kernel({{"f16", m * k}, {"f16", k * n}, {"f16", m * n, true}}, [](std::size_t variant,
                                                                               auto &memory) {
    const half *a = elements_of<half>(memory[0]), *b = elements_of<half>(memory[1]);
    for (int row = 0; row < m; row++)
      for (int column = 0; column < n; column++) {
        bool is_short = variant == 1 && row == m - 1 && column == n - 1;
        elements_of<half>(memory[2])[row * n + column] =
            half(sum_of(orders[variant], is_short ? k - 1 : k,
                        [&](int i) { return float(a[row * k + i]) * float(b[i * n + column]); }));
      }
  });
  check_only(kernel.differences_of(3), 1);
}

namespace {

/// Softmax of rows: exp, a sum and a division. `spoil` as for matmul.
HostKernel softmax(const std::function<void(std::size_t variant, half *y)> &spoil = nullptr) {
  constexpr int rows = 50, n = 200;
  return HostKernel(
      {{"f16", rows * n}, {"f16", rows * n, true}}, [=](std::size_t variant, auto &memory) {
        const half *x = elements_of<half>(memory[0]);
        half *y = elements_of<half>(memory[1]);
        for (int row = 0; row < rows; row++) {
          auto power = [&](int i) { return std::exp(4 * float(x[row * n + i])); };
          float sum = sum_of(orders[variant], n, power);
          for (int i = 0; i < n; i++) // variants divide, or multiply by the reciprocal
            y[row * n + i] = half(variant % 2 ? power(i) / sum : power(i) * (1 / sum));
        }
        if (spoil)
          spoil(variant, y);
      });
}

} // namespace

TEST_CASE("differences: variants of softmax agree, unless an element is wrong") {
  check_none(softmax().differences_of(order_count));
  check_only(softmax([](std::size_t variant, half *y) {
               if (variant == 3)
                 y[777] = y[778];
             }).differences_of(order_count),
             3);
}

TEST_CASE("differences: atomic additions in a random order agree") {
  constexpr int bins = 30, n = 5000;
  std::mt19937 random(1);
  bool is_wrong = false;
  SUBCASE("all right") {}
  SUBCASE("one addition is lost") { is_wrong = true; }
  HostKernel kernel({{"f32", n}, {"f32", bins, true}}, [&](std::size_t variant, auto &memory) {
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    for (int i : order)
      if (!is_wrong || variant != 1 || i != 4321)
        elements_of<float>(memory[1])[i % bins] += elements_of<float>(memory[0])[i];
  });
  if (is_wrong)
    check_only(kernel.differences_of(4), 1);
  else
    check_none(kernel.differences_of(4));
}

TEST_CASE("differences: some atomic additions to half agree") {
  constexpr int n = 3000, parts = 8;
  std::mt19937 random(1);
  auto check = [&](const char *type, auto zero) {
    using T = decltype(zero);
    HostKernel kernel({{"f32", n * parts}, {type, n, true}}, [&](std::size_t, auto &memory) {
      for (int i = 0; i < n; i++) {
        int order[parts];
        std::iota(order, order + parts, 0);
        std::shuffle(order, order + parts, random);
        for (int part : order) {
          T &sum = elements_of<T>(memory[1])[i];
          sum = T(float(sum) + float(T(elements_of<float>(memory[0])[part * n + i])));
        }
      }
    });
    check_none(kernel.differences_of(4));
  };
  check("f16", half(0));
  check("bf16", bfloat16(0));
}

TEST_CASE("differences: 14-bit accumulators of 8-bit floats agree") {
  constexpr int m = 20, n = 30, k = 2048;
  auto kernel_of = [](const char *type, auto zero, std::size_t wrong) {
    using T = decltype(zero);
    auto compute = [=](std::size_t variant, std::vector<std::vector<char>> &memory) {
      const T *a = elements_of<T>(memory[0]), *b = elements_of<T>(memory[1]);
      for (int i = 0; i < m * n; i++) {
        float sum = 0, part = 0; // variant 0 has one accumulator, variant 1 two, variant 2 is exact
        for (int begin = 0; begin < k; begin += 32) {
          double exact = 0;
          for (int l = begin; l < begin + 32; l++)
            exact += double(float(a[i / n * k + l]) * float(b[l * n + i % n]));
          if (variant == 1 && begin == k / 2)
            std::swap(sum, part);
          exact += double(sum);
          int exponent = exact == 0 ? 0 : std::ilogb(exact) - 13;
          sum =
              float(variant == 2 ? exact
                                 : std::ldexp(std::trunc(std::ldexp(exact, -exponent)), exponent));
        }
        elements_of<half>(memory[2])[i] = half(sum + part);
      }
      if (variant == wrong)
        elements_of<half>(memory[2])[100] = elements_of<half>(memory[2])[101];
    };
    return HostKernel({{type, m * k}, {type, k * n}, {"f16", m * n, true}}, compute);
  };
  check_none(kernel_of("e4m3", float8_e4m3(0), 9).differences_of(3));
  check_none(kernel_of("e5m2", float8_e5m2(0), 9).differences_of(3));
  check_only(kernel_of("e4m3", float8_e4m3(0), 2).differences_of(3), 2);
  check_only(kernel_of("e5m2", float8_e5m2(0), 2).differences_of(3), 2);
}

TEST_CASE("differences: results of 8 bits may be adjacent values") {
  check_none(matmul<half, float8_e4m3>("f16", "e4m3", 32, 40, 300).differences_of(order_count));
  check_none(
      matmul<float8_e5m2, float8_e5m2>("e5m2", "e5m2", 32, 40, 300).differences_of(order_count));
  auto spoil = [](std::size_t variant, float8_e4m3 *c) {
    if (variant == 1)
      c[100] = float8_e4m3(-float(c[100]));
  };
  check_only(matmul<half, float8_e4m3>("f16", "e4m3", 32, 40, 300, spoil).differences_of(4), 1);
}

TEST_CASE("change_of: the least precise type decides") {
  auto change = [](std::vector<const char *> types) {
    std::vector<Buffer> buffers;
    for (const char *type : types)
      buffers.push_back({find_element(type), 1, false});
    return change_of(buffers);
  };
  CHECK(change({}) == 0);
  CHECK(change({"i32", "u8"}) == 0);
  CHECK(change({"f64", "i32"}) == 0x1p-21);
  CHECK(change({"f64", "f32"}) == 0x1p-7);
  CHECK(change({"f32", "bf16", "f16"}) == 0x1p-5);
}

TEST_CASE("differences: integers must be equal") {
  auto kernel_of = [](int wrong) {
    return HostKernel({{"f32", 1000}, {"i32", 1000, true}}, [=](std::size_t variant, auto &memory) {
      for (int i = 0; i < 1000; i++)
        elements_of<std::int32_t>(memory[1])[i] = 7 * i + (i == 999 && int(variant) == wrong);
    });
  };
  check_none(kernel_of(-1).differences_of(3));
  CHECK(kernel_of(1).differences_of(3) == std::vector<double>{0, infinite, 0});
}

TEST_CASE("differences: copies must be equal, whatever their values") {
  auto kernel_of = [](std::size_t wrong) {
    return HostKernel({{"f32", 1000}, {"f32", 1000, true}}, [=](std::size_t variant, auto &memory) {
      std::memcpy(memory[1].data(), memory[0].data(), 4000);
      if (variant == wrong)
        std::swap(elements_of<float>(memory[1])[3], elements_of<float>(memory[1])[4]);
    });
  };
  HostKernel right = kernel_of(3);
  check_none(right.differences_of(3));
  CHECK(right.launches() == 3); // equal bits need no bounds
  check_only(kernel_of(2).differences_of(3), 2);
}

TEST_CASE("differences: an unwritten element is found") {
  check_only(matmul<half, half>("f16", "f16", 8, 8, 300,
                                [](std::size_t variant, half *c) {
                                  if (variant == 2)
                                    c[63] = half(NAN);
                                })
                 .differences_of(4),
             2);
  HostKernel kernel({{"f32", 100}, {"f32", 100, true}}, [](std::size_t variant, auto &memory) {
    for (int i = 0; i < 100 - (variant == 1); i++)
      elements_of<float>(memory[1])[i] = 2 * elements_of<float>(memory[0])[i];
  });
  check_only(kernel.differences_of(3), 1);
}

TEST_CASE("differences: NaN and infinities are equal in all variants") {
  auto kernel_of = [](std::size_t wrong) {
    return HostKernel({{"f32", 100}, {"f32", 100, true}}, [=](std::size_t variant, auto &memory) {
      for (int i = 0; i < 100; i++) { // about half of them NaN
        float x = elements_of<float>(memory[0])[i];
        float y = variant % 2 ? std::sqrt(x) * 3 : 3 * float(std::sqrt(double(x)));
        elements_of<float>(memory[1])[i] = i == 7                              ? 1 / (x - x)
                                           : std::isnan(y) && variant == wrong ? 0
                                                                               : y;
      }
    });
  };
  check_none(kernel_of(9).differences_of(4));
  CHECK(kernel_of(1).differences_of(4) == std::vector<double>{0, infinite, 0, 0});
}

TEST_CASE("differences: a race does not hide itself") {
  std::mt19937 random(1);
  for (std::size_t wrong : {0, 1, 3}) {
    CAPTURE(wrong);
    auto spoil = [&](std::size_t variant, half *c) {
      if (variant == wrong) // other values in each launch
        c[100] = half(float(int(random() % 1000)) - 500);
    };
    check_only(matmul<half, half>("f16", "f16", 16, 20, 300, spoil).differences_of(5), wrong);
  }
}

TEST_CASE("differences: results that no input changes differ only by rounding") {
  auto kernel_of = [](float error) {
    return HostKernel({{"i32", 100}, {"f32", 100, true}}, [=](std::size_t variant, auto &memory) {
      for (int i = 0; i < 100; i++) {
        float angle = std::sin(float(elements_of<std::int32_t>(memory[0])[i] + 1));
        elements_of<float>(memory[1])[i] = angle * (variant == 2 && i == 50 ? 1 + error : 1);
      }
    });
  };
  check_none(kernel_of(0x1p-22f).differences_of(3));
  check_only(kernel_of(0x1p-16f).differences_of(3), 2);
}

TEST_CASE("differences: no variants, no memory, no elements") {
  HostKernel nothing({}, [](std::size_t, auto &) {});
  CHECK(nothing.differences_of(0).empty());
  check_none(nothing.differences_of(2));
  HostKernel empty({{"f32", 0, true}},
                   [](std::size_t variant, auto &memory) { memory[0][0] = char(variant); });
  check_none(empty.differences_of(2));
}
