// C = A B for every element type, layout and alignment: each matmul of kernels/ in all its layouts,
// at all `sizes`, in all `placements` that its contract allows. Large sizes, all tiles but the
// first, and the emulator run only some of these cases. Not here: matmul_basic, matmul_prefetch and
// matmul_remat (device_test.cpp), matmul_split (split.cpp), matmul_blocksparse (matmul.cpp).
//
// - Each element of C has its own error bound (error_bounds.h).
// - C is NaN before the launch, and so is the memory around A, B and C. For integers, all bits are
//   1. The memory around C must not change.
// - On the emulator and with --small, buffers end at their last element, so the emulator and
//   compute-sanitizer find accesses past the end. Otherwise a row of NaN follows each matrix.

#include "matmul_parts.h"

#include <shipped_matmul.hpp>
#include <shipped_product_matrix.hpp>

namespace {

using namespace device_tests;
namespace in_tiles = shipped_product_matrix;
namespace of_any_size = shipped_matmul;
using of_any_size::SIZES;

// M, N or K: a number of tiles, and a rest.
struct Extent {
  int tiles, rest = 0;
};
struct Size {
  Extent m, n, k;
  bool are_integers = false; // small integers: all sums are exact
  bool is_large = false;     // not on the emulator
};
const Size sizes[] = {
    // Whole tiles.
    {{1}, {1}, {1}},
    {{1}, {3}, {2}, true},
    {{3}, {1}, {3}},
    {{1}, {1}, {0}},
    {{3}, {5}, {7}, false, true},
    {{1}, {3}, {132}, true, true}, // split-K
    // Multiples of 8.
    {{1, 8}, {1, 24}, {2, 8}},
    {{0, 40}, {1, 56}, {0, 16}, true},
    {{0, 24}, {5, 40}, {64, 8}, false, true}, // split-K
    // Odd, zero.
    {{1, 1}, {1, 3}, {1, 5}},
    {{0, 33}, {1, 1}, {0, 17}, true},
    {{0, 1}, {0, 1}, {0, 1}},
    {{0, 7}, {2, 2}, {0}},
    {{0}, {1, 1}, {0, 17}},
    {{0, 33}, {0}, {0, 17}},
    {{4, 5}, {8, 5}, {6, 11}, false, true},
    {{7, 40}, {6, 9}, {10, 13}, true, true},
    {{17, 40}, {1, 44}, {1, 4}, false, true}, // groups of 8, 8 and 2 rows of tiles
};

// Bytes before A, B and C, and between their rows. The test rounds up to what a kernel requires:
// 1 byte becomes one element, or 16 bytes.
struct Placement {
  int before_a, before_b, before_c, gap_a, gap_b, gap_c;
  bool operator==(const Placement &) const = default;
};
const Placement placements[] = {
    {0, 0, 0, 0, 0, 0},
    {0, 0, 0, 1, 1, 1},
    {1, 1, 1, 0, 0, 0},
    {1, 1, 1, 1, 1, 1},
    {16, 16, 16, 0, 0, 0}, // still aligned to 16 bytes, but not to the 32 or 128 bytes of a buffer
    // One operand, so that the launch must look at each of them.
    {1, 0, 0, 0, 0, 0},
    {0, 1, 0, 0, 0, 0},
    {0, 0, 1, 0, 0, 0},
    {0, 0, 0, 1, 0, 0},
    {0, 0, 0, 0, 1, 0},
    {0, 0, 0, 0, 0, 1},
};

// What a kernel requires.
struct Contract {
  std::string name;
  int pointers, strides; // A, B, C and their row strides are multiples of this number of bytes
  bool needs_tiles = false;

  // Without equal placements.
  std::vector<Placement> allowed_placements() const {
    auto up = [](int bytes, int unit) { return (bytes + unit - 1) / unit * unit; };
    std::vector<Placement> result;
    for (auto [a, b, c, gap_a, gap_b, gap_c] : placements) {
      Placement rounded = {up(a, pointers),    up(b, pointers),    up(c, pointers),
                           up(gap_a, strides), up(gap_b, strides), up(gap_c, strides)};
      if (std::find(result.begin(), result.end(), rounded) == result.end())
        result.push_back(rounded);
    }
    return result;
  }
};

// A matrix in device memory.
template <typename T> struct Operand : DeviceMatrix<T> {
  Operand(int rows, int columns, int strides, int before, int gap)
      : Operand(rows, columns, before, stride_of(columns, strides / int(sizeof(T)), gap)) {}
  const int ld;

private:
  Operand(int rows, int columns, int before, int ld)
      : DeviceMatrix<T>(rows, columns, ld, before / int(sizeof(T)), emulated() ? 0 : ld), ld(ld) {}
  static int stride_of(int columns, int unit, int gap) {
    return (columns + unit - 1) / unit * unit + gap / int(sizeof(T));
  }
};

// The matrices of a batch, one after the other.
Matrix stacked(const std::vector<Matrix> &matrices, bool is_transposed) {
  Matrix result = {0, 0, {}};
  for (const Matrix &matrix : matrices) {
    Matrix stored = is_transposed ? transposed(matrix) : matrix;
    result.rows += stored.rows;
    result.columns = stored.columns;
    result.elements.insert(result.elements.end(), stored.elements.begin(), stored.elements.end());
  }
  return result;
}

int number = 0; // of a case

template <typename Kernel, typename T, typename Sum = T>
void products(const Contract &contract, const Layout &layout) {
  using Arguments = typename Kernel::args;
  constexpr bool is_batched = requires(Arguments a) { a.BATCH; };
  constexpr bool is_fused = requires(Arguments a) { a.bias; };
  constexpr int batch = is_batched ? 3 : 1;
  const std::vector<Placement> allowed = contract.allowed_placements();
  const auto tiles = Kernel::variants();
  for (const auto &tile : tiles)
    for (const Size &size : sizes) {
      int m = size.m.tiles * tile.TM + size.m.rest, n = size.n.tiles * tile.TN + size.n.rest,
          k = size.k.tiles * tile.TK + size.k.rest;
      if ((contract.needs_tiles && (size.m.rest || size.n.rest || size.k.rest)) ||
          (emulated() && size.is_large))
        continue;
      auto draw = [&](int rows, int columns) {
        return size.are_integers && !std::is_integral_v<T> ? small_integers(rows, columns)
                                                           : random_matrix<T>(rows, columns);
      };
      // A batch with odd K has only one B.
      std::vector<Matrix> a, b;
      for (int i = 0; i < batch; i++)
        a.push_back(draw(m, k));
      while (b.size() < (k % 2 ? 1 : batch))
        b.push_back(draw(k, n));
      Matrix bias = draw(1, n), d = draw(m, n);
      std::vector<Bounded> expected;
      for (size_t i = 0; i < batch; i++)
        for (Bounded element : bounded_product<T>(a[i], b[i % b.size()])) {
          if constexpr (is_fused) {
            size_t at = expected.size();
            element = rounded<float>(element + Bounded{bias.elements[at % size_t(n)]});
            element = rounded<float>(max(element, 0) + Bounded{d.elements[at]});
          }
          expected.push_back(rounded<Sum>(element));
        }
      Matrix stored_a = stacked(a, layout.a_transposed), stored_b = stacked(b, layout.b_transposed);

      const int every = emulated() ? 23 : size.is_large || &tile != &tiles[0] ? 5 : 1;
      for (const Placement &place : allowed) {
        if (number++ % every)
          continue;
        Operand<T> in_a(stored_a.rows, stored_a.columns, contract.strides, place.before_a,
                        place.gap_a),
            in_b(stored_b.rows, stored_b.columns, contract.strides, place.before_b, place.gap_b);
        Operand<Sum> out(batch * m, n, contract.strides, place.before_c, place.gap_c);
        in_a.write(stored_a);
        in_b.write(stored_b);
        out.poison();
        Arguments arguments = {.A = in_a.data(), .B = in_b.data(), .C = out.data()};
        arguments.M = m, arguments.N = n, arguments.K = k;
        set_strides(arguments, layout, in_a.ld, in_b.ld, out.ld);
        if constexpr (is_batched) {
          arguments.BATCH = batch;
          arguments.batch_a = std::int64_t(stored_a.rows / batch) * in_a.ld;
          arguments.batch_b = b.size() == 1 ? 0 : std::int64_t(stored_b.rows / batch) * in_b.ld;
          arguments.batch_c = std::int64_t(m) * out.ld;
        }
        // The row strides of D and C differ.
        Operand<T> in_d(is_fused ? m : 0, n, contract.strides, place.before_c,
                        place.gap_c + contract.strides),
            in_bias(is_fused, n, contract.strides, 0, 0);
        if constexpr (is_fused) {
          in_d.write(d);
          in_bias.write(bias);
          arguments.bias = in_bias.data();
          arguments.D = in_d.data();
          arguments.ldd = in_d.ld;
        }
        std::string problem = outcome(Kernel::launch({}, arguments, tile));
        if (problem.empty()) {
          out.read();
          problem = compare(out, expected, batch * m, n);
        }
        if (problem.empty() && !out.gaps_are_untouched())
          problem = "wrote around C";
        check(text("%s, %s> TM=%d TN=%d TK=%d %d x %d x %d%s, bytes before %d %d %d, gaps %d %d %d",
                   contract.name.c_str(), layout.name(), tile.TM, tile.TN, tile.TK, m, n, k,
                   size.are_integers ? " integers" : "", place.before_a, place.before_b,
                   place.before_c, place.gap_a, place.gap_b, place.gap_c),
              problem);
      }
    }
}

template <typename T> Contract contract_of(const char *kernel, int pointers, int strides) {
  return {text("%s<%s", kernel, name_of<T>), pointers, strides};
}

// Sizes are multiples of the tile, and row strides of `strides` bytes.
template <typename T> Contract whole_tiles(const char *kernel, int strides = 16) {
  Contract contract = contract_of<T>(kernel, 16, strides);
  contract.needs_tiles = true;
  return contract;
}

template <typename T> void double_or_narrow(const char *kernel) {
  in_layouts([&]<Layout layout>() {
    constexpr auto a = layout.a<in_tiles::A>();
    constexpr auto b = layout.b<in_tiles::B>();
    if constexpr (std::is_same_v<T, double>)
      products<in_tiles::matmul_double<a, b>, T>(whole_tiles<T>(kernel), layout);
    else if constexpr (std::is_integral_v<T>)
      products<in_tiles::matmul_int8<T, a, b>, T, std::int32_t>(whole_tiles<T>(kernel), layout);
    else
      products<in_tiles::matmul_float8<T, a, b>, T, tritonc::half>(whole_tiles<T>(kernel), layout);
  });
}

template <typename T> void masked_and_batched() {
  in_layouts([]<Layout layout>() {
    constexpr auto a = layout.a<of_any_size::A>();
    constexpr auto b = layout.b<of_any_size::B>();
    auto run = [&]<SIZES sizes>(const char *promise, int unit) {
      products<of_any_size::matmul_masked<T, a, b, sizes>, T>(
          contract_of<T>(text("matmul_masked %s", promise).c_str(), unit, unit), layout);
      products<of_any_size::matmul_batched<T, a, b, sizes>, T>(
          contract_of<T>(text("matmul_batched %s", promise).c_str(), unit, unit), layout);
    };
    run.template operator()<SIZES::any>("any", sizeof(T));
    run.template operator()<SIZES::aligned>("aligned", 16);
  });
}

template <typename T> void fused() {
  in_layouts([]<Layout layout>() {
    using namespace in_tiles;
    products<
        matmul_fused<T, layout.a<A>(), layout.b<B>(), BIAS::column, FUNCTION::relu, RESIDUAL::add>,
        T>(contract_of<T>("matmul_fused", 16, 16), layout);
  });
}

template <typename T> void half_and_float() {
  in_layouts([]<Layout layout>() {
    products<in_tiles::matmul<T, layout.a<in_tiles::A>(), layout.b<in_tiles::B>()>, T>(
        whole_tiles<T>("matmul", 8 * sizeof(T)), layout);
    products<of_any_size::matmul_strided<T>, T>(
        contract_of<T>("matmul_strided", sizeof(T), sizeof(T)), layout);
  });
  products<of_any_size::matmul_grouped<T>, T>(contract_of<T>("matmul_grouped", 16, 8 * sizeof(T)),
                                              {false, false});
}

void test() {
  double_or_narrow<double>("matmul_double");
  double_or_narrow<std::int8_t>("matmul_int8");
  double_or_narrow<std::uint8_t>("matmul_int8");
  double_or_narrow<tritonc::float8_e4m3>("matmul_float8");
  double_or_narrow<tritonc::float8_e5m2>("matmul_float8");
  half_and_float<tritonc::half>();
  half_and_float<float>();
  masked_and_batched<tritonc::half>();
  masked_and_batched<tritonc::bfloat16>();
  masked_and_batched<float>();
  fused<tritonc::half>();
  fused<tritonc::bfloat16>();
}

const KernelTest product_matrix("product_matrix", test);

} // namespace
