// The list of test kernels, their variants, and the data of simple GEMMs. See test_kernels.h.

#include "test_kernels/test_kernels.h"

#include "test_kernels/test_kernel_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace tritonc::test {

std::string check_elements(const Memory &memory, int buffer,
                           const std::map<size_t, double> &expected) {
  const Buffer &is = memory[buffer];
  for (size_t i = 0; i < is.elements.size(); i++) {
    auto right = expected.find(i);
    if (is.elements[i].poison && right == expected.end())
      continue;
    double value = is_integer(is.elem) ? double(is.elements[i].integer) : is.elements[i].number;
    if (is.elements[i].poison || right == expected.end() ||
        !(value == right->second || (std::isnan(value) && std::isnan(right->second))))
      return is.name + " at " + std::to_string(i) + " is " + text_of(is.elem, is.elements[i]) +
             ", not " + (right == expected.end() ? "untouched" : std::to_string(right->second));
  }
  return "";
}

Run product(const Variant &variant, std::mt19937 &random, const MatmulShape &shape) {
  Run run;
  run.text = "M=" + std::to_string(shape.m) + " N=" + std::to_string(shape.n) +
             " K=" + std::to_string(shape.k);
  Numbers factors = shape.factors.value_or(Numbers{variant.type()});
  auto matrix = [&](const char *name, const Numbers &numbers, int64_t rows, int64_t columns,
                    bool transposed, std::mt19937 *values) {
    if (transposed)
      std::swap(rows, columns);
    return add_matrix(run.memory, name, numbers, rows, columns,
                      distance_between_rows(columns, shape.multiple), values);
  };
  Matrix a = matrix("A", factors, shape.m, shape.k, shape.transposed_a, &random);
  Matrix b = matrix("B", factors, shape.k, shape.n, shape.transposed_b, &random);
  Matrix c = matrix("C", shape.result.value_or(factors), shape.m, shape.n, false, nullptr);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.num_sms = 2; // fewer SMs than programs
  run.launch.arguments = {Element::pointer(a.buffer),
                          Element::pointer(b.buffer),
                          Element::pointer(c.buffer),
                          integer(shape.m),
                          integer(shape.n),
                          integer(shape.k),
                          integer(a.ld),
                          integer(b.ld),
                          integer(c.ld)};
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      double sum = 0;
      for (int64_t k = 0; k < shape.k - shape.left_out; k++) {
        double x = shape.transposed_a ? value_at(memory, a, k, row) : value_at(memory, a, row, k);
        double y =
            shape.transposed_b ? value_at(memory, b, column, k) : value_at(memory, b, k, column);
        sum += x * y;
      }
      Elem elem = memory[c.buffer].elem;
      return is_integer(elem) ? sum : rounded(elem, shape.activation ? std::max(sum, 0.0) : sum);
    });
  };
  return run;
}

namespace {

// All sizes are multiples of the tile; `steps` K tiles.
Run whole_matmul(const Variant &variant, std::mt19937 &random, int steps, MatmulShape shape) {
  shape.m = grid_x * variant.number("TM");
  shape.n = grid_y * variant.number("TN");
  shape.k = steps * variant.number("TK");
  return product(variant, random, shape);
}

Run simple_matmul(const Variant &variant, std::mt19937 &random, int steps) {
  return whole_matmul(variant, random, steps, in_layouts_of(variant));
}

Run double_matmul(const Variant &variant, std::mt19937 &random, int steps) {
  MatmulShape shape = in_layouts_of(variant);
  shape.multiple = 2;
  shape.factors = {Elem::f64};
  return whole_matmul(variant, random, steps, shape);
}

// For kernels that omit the last K tile, unless they have only one K tile.
Run shortened_matmul(const Variant &variant, std::mt19937 &random, int steps) {
  MatmulShape shape;
  shape.left_out = steps > 1 ? variant.number("TK") : 0;
  return whole_matmul(variant, random, steps, shape);
}

Run tf32_matmul(const Variant &variant, std::mt19937 &random, int steps) {
  return whole_matmul(
      variant, random, steps,
      {0, 0, 0, is_transposed(variant, "USE_A"), is_transposed(variant, "USE_B"), 4, true});
}

// No size is a multiple of the tile.
Run masked_matmul(const Variant &variant, std::mt19937 &random, int steps, int64_t multiple) {
  return product(variant, random,
                 {grid_x * variant.number("TM") - 5, grid_y * variant.number("TN") - 7,
                  std::max(steps * variant.number("TK") - 3, 0), false, false, multiple});
}

// 8-bit integers with i32 accumulators.
Run integer_matmul(const Variant &variant, std::mt19937 &random, int steps) {
  MatmulShape shape = in_layouts_of(variant);
  shape.multiple = 16;
  shape.factors = {Elem::i8, variant["TYPE"] == "uint8"};
  shape.result = {Elem::i32};
  return whole_matmul(variant, random, steps, shape);
}

// fp8 operands, f32 accumulators, and an f16 result.
Run fp8_matmul(const Variant &variant, std::mt19937 &random, int steps) {
  MatmulShape shape = in_layouts_of(variant);
  shape.multiple = 16;
  shape.factors = {variant.type()};
  shape.result = {Elem::f16};
  return whole_matmul(variant, random, steps, shape);
}

// Without assumptions, the leading dimensions may have any value. In the last run they happen to
// satisfy the rules of tensor maps.
std::vector<Run> masked_matmuls(const Variant &variant, std::mt19937 &random, const Steps &steps) {
  bool is_promised = !variant["PROMISE"].empty();
  std::vector<Run> runs;
  for (int count : steps)
    runs.push_back(masked_matmul(variant, random, count, is_promised ? 8 : 1));
  if (!is_promised) {
    runs.push_back(masked_matmul(variant, random, steps.back(), 8));
    runs.back().text += ", as if promised";
  }
  return runs;
}

// Visits the columns of A and rows of B in an order that the host stores in constant memory.
Run visited_matmul(const Variant &variant, std::mt19937 &random, int steps) {
  MatmulShape shape;
  shape.m = grid_x * variant.number("TM") - 5;
  shape.n = grid_y * variant.number("TN") - 7;
  shape.k = steps * variant.number("TK");
  shape.factors = Numbers{Elem::f16};
  shape.result = Numbers{Elem::f32};
  Run run = product(variant, random, shape);
  run.launch.constants.resize(4 * 1024); // K is at most 5 * 128
  for (int32_t k = 0; k < shape.k; k++) {
    int32_t index = k ^ 5; // K is a multiple of 8
    std::memcpy(run.launch.constants.data() + 4 * k, &index, sizeof index);
  }
  return run;
}

// With the source's initial values of constant memory: all steps and all codes are 0.
std::vector<Run> lookups(const Variant &variant, std::mt19937 &random, const Steps &) {
  int tile = variant.number("TILE");
  std::vector<Run> runs;
  for (int n : {1, tile, 2 * tile + 9}) {
    Run run;
    run.text = "n=" + std::to_string(n);
    int x = run.memory.add("x", variant.type(), draw(random, 1));
    int y = run.memory.add_unwritten("y", variant.type(), size_t(n));
    int where = run.memory.add_unwritten("where", Elem::i32, size_t(n));
    run.launch.grid = {(n + tile - 1) / tile, 1, 1};
    run.launch.arguments = {Element::pointer(x), Element::pointer(y), Element::pointer(where),
                            integer(2), integer(n)};
    run.check = [=](const Memory &memory) {
      constexpr double weights[] = {1, -2.5, 0.125, 0, 0};
      std::string wrong = check_matrix(memory, {y, 1, n, n}, [&](int64_t, int64_t i) {
        return weights[i % 5] * memory[x].elements[0].number;
      });
      return !wrong.empty()
                 ? wrong
                 : check_matrix(memory, {where, 1, n, n}, [](int64_t, int64_t) { return 1.0; });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// A matmul with an epilogue, for any sizes.
Run fused_result(const Variant &variant, std::mt19937 &random, int steps) {
  int64_t m = grid_x * variant.number("TM") - 5, n = grid_y * variant.number("TN") - 7,
          k = std::max(steps * variant.number("TK") - 3, 0);
  Run run;
  run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n) + " K=" + std::to_string(k);
  auto matrix = [&](const char *name, int64_t rows, int64_t columns) {
    return add_matrix(run.memory, name, {variant.type()}, rows, columns,
                      distance_between_rows(columns, 8), &random);
  };
  Matrix a = matrix("A", m, k), b = matrix("B", k, n), c = matrix("C", m, n);
  int bias = run.memory.add("bias", Elem::f32, draw(random, size_t(n)));
  int scale = run.memory.add("scale", Elem::f32, draw(random, size_t(m)));
  Matrix d = matrix("D", m, n);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.num_sms = 2;
  run.launch.arguments = {Element::pointer(a.buffer),
                          Element::pointer(b.buffer),
                          Element::pointer(c.buffer),
                          Element::pointer(bias),
                          Element::pointer(scale),
                          Element::pointer(d.buffer),
                          integer(m),
                          integer(n),
                          integer(k),
                          integer(a.ld),
                          integer(b.ld),
                          integer(c.ld)};
  Memory before = run.memory;
  run.check = [=, elem = variant.type()](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      double sum = 0;
      for (int64_t i = 0; i < k; i++)
        sum += value_at(before, a, row, i) * value_at(before, b, i, column);
      sum = std::max(sum + before[bias].elements[size_t(column)].number, 0.0) *
            before[scale].elements[size_t(row)].number;
      double with_d = rounded(elem, rounded(elem, sum) + value_at(before, d, row, column));
      return rounded(elem, with_d + value_at(before, c, row, column));
    });
  };
  return run;
}

// C is column-major.
Run column_result(const Variant &variant, std::mt19937 &random, int steps) {
  int64_t m = grid_x * variant.number("TM"), n = grid_y * variant.number("TN"),
          k = steps * variant.number("TK");
  Run run;
  run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n) + " K=" + std::to_string(k);
  auto matrix = [&](const char *name, int64_t rows, int64_t columns) {
    return add_matrix(run.memory, name, {variant.type()}, rows, columns,
                      distance_between_rows(columns, 8), &random);
  };
  Matrix a = matrix("A", m, k), b = matrix("B", k, n);
  Matrix c = add_matrix(run.memory, "C", {Elem::f32}, n, m, m + 3, nullptr);
  std::vector<double> limits = draw(random, 3);
  int first_limit = run.memory.add("limits", Elem::f32, limits);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.num_sms = 2;
  run.launch.arguments = {Element::pointer(a.buffer),
                          Element::pointer(b.buffer),
                          Element::pointer(c.buffer),
                          Element::pointer(first_limit),
                          integer(int64_t(limits.size())),
                          integer(m),
                          integer(n),
                          integer(k),
                          integer(a.ld),
                          integer(b.ld),
                          integer(c.ld)};
  run.check = [=, limit = limits[0] + limits[1] + limits[2]](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t column, int64_t row) {
      double sum = 0;
      for (int64_t i = 0; i < k; i++)
        sum += value_at(memory, a, row, i) * value_at(memory, b, i, column);
      return sum > limit ? sum : 0;
    });
  };
  return run;
}

std::vector<Run> vector_sums(const Variant &variant, std::mt19937 &random, const Steps &) {
  std::vector<Run> runs;
  int size = variant.number("SIZE");
  for (int n : {0, 1, size, 3 * size - 11}) {
    Run run;
    run.text = "n=" + std::to_string(n);
    int x = run.memory.add("x", variant.type(), draw(random, size_t(n)));
    int y = run.memory.add("y", variant.type(), draw(random, size_t(n)));
    int z = run.memory.add_unwritten("z", variant.type(), size_t(n));
    run.launch.grid = {(n + size - 1) / size, 1, 1};
    run.launch.arguments = {Element::pointer(x), Element::pointer(y), Element::pointer(z),
                            integer(n)};
    Matrix sums{z, 1, n, std::max(n, 1)};
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, sums, [&](int64_t, int64_t i) {
        return memory[x].elements[size_t(i)].number + memory[y].elements[size_t(i)].number;
      });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// y[i] is the sum of table elements from index[i] on: at most `limit` terms, before the first
// negative term.
Run gather(std::mt19937 &random, int n, int count, int limit, int tile) {
  Run run;
  run.text = "N=" + std::to_string(n) + " count=" + std::to_string(count) +
             " limit=" + std::to_string(limit);
  constexpr int index_count = 40;
  int terms = std::min(count, limit);
  int table = run.memory.add("table", Elem::f32, draw(random, size_t(index_count + terms)));
  std::vector<double> indices;
  for (int i = 0; i < n; i++)
    indices.push_back(double(random() % index_count));
  int index = run.memory.add("index", Elem::i32, indices);
  int y = run.memory.add_unwritten("y", Elem::f32, size_t(n));
  run.launch.grid = {(n + tile - 1) / tile, 1, 1};
  run.launch.arguments = {Element::pointer(table), Element::pointer(index),
                          Element::pointer(y),     integer(n),
                          integer(count),          integer(limit)};
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, {y, 1, n, std::max(n, 1)}, [&](int64_t, int64_t i) {
      double sum = 0;
      for (int j = 0; j < terms; j++) {
        double term = memory[table].elements[size_t(indices[size_t(i)]) + size_t(j)].number;
        if (term < 0)
          break;
        sum += term;
      }
      return sum;
    });
  };
  return run;
}

std::vector<Run> gathers(const Variant &variant, std::mt19937 &random, const Steps &) {
  int tile = variant.number("TILE");
  std::vector<Run> runs;
  runs.push_back(gather(random, 2 * tile - 9, 0, 3, tile));
  runs.push_back(gather(random, 2 * tile - 9, 5, 9, tile));
  runs.push_back(gather(random, tile, 9, 2, tile));
  return runs;
}

// Runs on rows of a matrix with several lengths: less than a tile, one tile, several tiles.
template <typename Fill>
std::vector<Run> runs_by_row(const std::vector<int> &lengths, Fill fill, int rows = 3) {
  std::vector<Run> runs;
  for (int n : lengths) {
    Run run;
    run.text = "N=" + std::to_string(n);
    run.launch.grid = {rows, 1, 1};
    fill(run, rows, n);
    runs.push_back(std::move(run));
  }
  return runs;
}

// In each row, a power-of-two number of elements is 0, and the others are far below. Their
// exponentials are 1 and 0, so the sum does not depend on the order.
std::vector<Run> softmaxes(const Variant &variant, std::mt19937 &random, const Steps &) {
  int size = variant.number("SIZE");
  auto fill = [&](Run &run, int m, int n) {
    Matrix x = add_matrix(run.memory, "x", {variant.type()}, m, n, distance(n, 3), nullptr);
    Matrix y = add_matrix(run.memory, "y", {variant.type()}, m, n, distance(n, 1), nullptr);
    std::vector<int> counts;
    for (int row = 0; row < m; row++) {
      int count = std::min(1 << row % 3 * 2, n == 1 ? 1 : 8);
      std::vector<bool> is_top(size_t(n), false);
      std::fill(is_top.begin(), is_top.begin() + count, true);
      std::shuffle(is_top.begin(), is_top.end(), random);
      for (int i = 0; i < n; i++)
        run.memory[x.buffer].elements[x.at(row, i)] =
            Element::of_number(is_top[size_t(i)] ? 8 * (row % 3) : -4096);
      counts.push_back(count);
    }
    run.launch.arguments = {Element::pointer(x.buffer),
                            Element::pointer(y.buffer),
                            integer(m),
                            integer(n),
                            integer(x.ld),
                            integer(y.ld)};
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t row, int64_t column) {
        return value_at(memory, x, row, column) < 0 ? 0 : 1.0 / counts[size_t(row)];
      });
    };
  };
  std::vector<int> lengths = {1, 12, size, 2 * size + 9};
  add_unrolled_lengths(lengths, size, 3);
  std::vector<Run> runs = runs_by_row(lengths, fill);
  if (size <= 64) // a block runs many programs: with 64 of them, there are two blocks
    for (int n : {11, 12}) {
      runs.push_back(std::move(runs_by_row({n}, fill, 67)[0]));
      runs.back().text += " M=67";
    }
  return runs;
}

// Half of the elements are 1 above the mean, the others 1 below. So with epsilon = 3 the divisor is
// 2, and everything is exact.
std::vector<Run> layer_norms(const Variant &variant, std::mt19937 &random, const Steps &) {
  int size = variant.number("SIZE");
  std::vector<int> lengths = {2, 12, size, 2 * size + 10};
  add_unrolled_lengths(lengths, size, 4);
  return runs_by_row(lengths, [&](Run &run, int m, int n) {
    Numbers numbers = {variant.type()};
    Matrix x = add_matrix(run.memory, "x", numbers, m, n, distance(n, 3), nullptr);
    Matrix gain = add_matrix(run.memory, "gain", numbers, 1, n, n, &random);
    Matrix bias = add_matrix(run.memory, "bias", numbers, 1, n, n, &random);
    Matrix y = add_matrix(run.memory, "y", numbers, m, n, distance(n, 1), nullptr);
    std::vector<int> signs;
    for (int i = 0; i < n; i++)
      signs.push_back(i % 2 ? 1 : -1);
    std::shuffle(signs.begin(), signs.end(), random);
    for (int row = 0; row < m; row++)
      for (int i = 0; i < n; i++)
        run.memory[x.buffer].elements[x.at(row, i)] =
            Element::of_number(5 * row + signs[size_t(i)]);
    run.launch.arguments = {Element::pointer(x.buffer),
                            Element::pointer(gain.buffer),
                            Element::pointer(bias.buffer),
                            Element::pointer(y.buffer),
                            Element::of_number(3),
                            integer(m),
                            integer(n),
                            integer(x.ld),
                            integer(y.ld)};
    run.check = [=](const Memory &memory) {
      return check_matrix(memory, y, [&](int64_t, int64_t i) {
        return signs[size_t(i)] * 0.5 * value_at(memory, gain, 0, i) + value_at(memory, bias, 0, i);
      });
    };
  });
}

std::vector<Run> masked_transpositions(const Variant &variant, std::mt19937 &random,
                                       const Steps &) {
  Run run;
  int m = grid_x * variant.number("TM") - 5, n = grid_y * variant.number("TN") - 7;
  run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n);
  Matrix x = add_matrix(run.memory, "X", {variant.type()}, m, n, n + 3, &random);
  Matrix y = add_matrix(run.memory, "Y", {variant.type()}, n, m, m + 1, nullptr);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.arguments = {Element::pointer(x.buffer),
                          Element::pointer(y.buffer),
                          integer(m),
                          integer(n),
                          integer(x.ld),
                          integer(y.ld)};
  run.check = [=](const Memory &memory) {
    return check_matrix(
        memory, y, [&](int64_t row, int64_t column) { return value_at(memory, x, column, row); });
  };
  std::vector<Run> runs;
  runs.push_back(std::move(run));
  return runs;
}

// Values of all magnitudes of the 8-bit types, and larger and smaller values. Half of them are at
// or near the midpoint of two 8-bit values.
double draw_to_round(std::mt19937 &random) {
  double digits = double(random() % 2 ? 16 + random() % 16 : random() % 0x1000000);
  double nearly = random() % 4 ? 0 : std::ldexp(random() % 2 ? 1 : -1, -30);
  return std::ldexp((digits + nearly) * (random() % 2 ? 1 : -1), int(random() % 40) - 26);
}

std::vector<Run> conversions(const Variant &variant, std::mt19937 &random, const Steps &) {
  std::vector<Run> runs;
  int size = variant.number("SIZE");
  Elem elem = variant.type();
  for (int n : {1, 3 * size - 11}) {
    Run run;
    run.text = "n=" + std::to_string(n);
    std::vector<double> reals, wide;
    for (int i = 0; i < n; i++) {
      reals.push_back(float(draw_to_round(random)));
      wide.push_back(draw_to_round(random));
    }
    Memory &memory = run.memory;
    int x = memory.add("x", Elem::f32, reals), y = memory.add("y", Elem::f64, wide);
    std::vector<Element> pointers = {Element::pointer(x), Element::pointer(y)};
    std::vector<Matrix> results;
    for (auto [name, type] :
         {std::pair("of_float", elem), std::pair("of_double", elem), std::pair("of_half", elem),
          std::pair("sum", Elem::f32), std::pair("whole", Elem::i32)}) {
      results.push_back({memory.add_unwritten(name, type, size_t(n)), 1, n, n});
      pointers.push_back(Element::pointer(results.back().buffer));
    }
    pointers.push_back(integer(n));
    run.launch.grid = {(n + size - 1) / size, 1, 1};
    run.launch.arguments = pointers;
    run.check = [=](const Memory &after) {
      auto a = [&](int64_t i) { return rounded(elem, reals[size_t(i)]); };
      auto b = [&](int64_t i) { return rounded(elem, wide[size_t(i)]); };
      using Expected = std::function<double(int64_t)>;
      const Expected expected[] = {
          a, b,
          [&](int64_t i) {
            return rounded(elem, i % 3 ? 0.3f : rounded(Elem::f16, reals[size_t(i)]));
          },
          [&](int64_t i) { return double(float(a(i) * 0.5 - b(i))); },
          [&](int64_t i) { return std::trunc(std::max(a(i), b(i))) + (a(i) != 0 ? 1000 : 0); }};
      std::string wrong;
      for (size_t r = 0; r < results.size(); r++)
        wrong +=
            check_matrix(after, results[r], [&](int64_t, int64_t i) { return expected[r](i); });
      return wrong;
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// Values for the tuned axes, one combination per row. Axes that a kernel lacks are ignored.
using Tiles = std::vector<std::vector<Define>>;

// TK is one or several K steps of an instruction. The tiles are square, wide and tall.
const Tiles tiles = {
    {{"TM", "32"}, {"TN", "32"}, {"TK", "16"}, {"SIZE", "256"}, {"TILE", "128"}, {"FILTER", "any"}},
    {{"TM", "32"}, {"TN", "64"}, {"TK", "8"}, {"SIZE", "1024"}, {"TILE", "512"}, {"FILTER", "any"}},
    {{"TM", "64"}, {"TN", "32"}, {"TK", "32"}, {"SIZE", "256"}, {"TILE", "128"}},
};

// Tiles for one or several wgmma:
//
//     - rows of one and of two warpgroups
//     - one and several K steps
//     - rows of 32, 64 and 128 bytes in shared memory, in one or several panels
//
// Of two neighbors, at least one divides 64 x 64, which has split-K in a cluster.
const Tiles specialized_tiles = {
    {{"TM", "64"}, {"TN", "32"}, {"TK", "32"}}, {{"TM", "64"}, {"TN", "128"}, {"TK", "64"}},
    {{"TM", "64"}, {"TN", "64"}, {"TK", "64"}}, {{"TM", "128"}, {"TN", "32"}, {"TK", "16"}},
    {{"TM", "32"}, {"TN", "64"}, {"TK", "8"}},  {{"TM", "128"}, {"TN", "64"}, {"TK", "128"}},
    {{"TM", "64"}, {"TN", "16"}, {"TK", "16"}},
};

constexpr int largest_tile = 64; // max TM, TN, and TK for all variants

void extend(Variant &variant, const std::string &axis, const AxisValue &value) {
  variant.text += (variant.text.empty() ? "" : " ") + axis + "=" + value.name;
  variant.defines.insert(variant.defines.end(), value.defines.begin(), value.defines.end());
}

// Every variant of `bases` with every value of `axis` that satisfies `wanted`.
template <typename Wanted>
std::vector<Variant> times(const std::vector<Variant> &bases, const Axis &axis, Wanted wanted) {
  std::vector<Variant> result;
  for (const Variant &base : bases)
    for (const AxisValue &value : axis.values)
      if (wanted(value)) {
        result.push_back(base);
        extend(result.back(), axis.name, value);
      }
  return result;
}

// Sets the tuned axes of a kernel to `tile`, also to values that the kernel does not list. Axes
// that the tile lacks get their first value.
Variant with_tile(Variant variant, const std::vector<Axis> &axes, const std::vector<Define> &tile) {
  for (const Axis &axis : axes) {
    if (!axis.tuned)
      continue;
    auto same = [&](const Define &define) { return define.name == axis.name; };
    auto define = std::find_if(tile.begin(), tile.end(), same);
    AxisValue value =
        define == tile.end() ? axis.values.front() : AxisValue{define->value, {*define}};
    for (const AxisValue &listed : axis.values)
      if (listed.name == value.name)
        value = listed; // with its macros
    extend(variant, axis.name, value);
  }
  return variant;
}

} // namespace

std::string Variant::operator[](const std::string &name) const {
  for (const Define &define : defines)
    if (define.name == name)
      return define.value;
  return "";
}

Elem Variant::type() const {
  std::string name = (*this)["TYPE"];
  if (std::optional<Elem> small = ir::elem_named(name)) // e4m3, e5m2
    return *small;
  return name == "half"       ? Elem::f16
         : name == "bfloat16" ? Elem::bf16
         : name == "double"   ? Elem::f64
         : name == "uint8"    ? Elem::i8
                              : Elem::f32;
}

FrontEndInput input_of(const TestKernel &test_kernel, const Variant &variant) {
  return {TRITONC_TESTS_DIR "/../" + test_kernel.file, variant.defines, {}, ""};
}

namespace {

// Every combination of the API's axes, or every n-th one.
std::vector<Variant> untuned(const std::vector<Axis> &axes, size_t every) {
  std::vector<Variant> variants = {{}}, chosen;
  for (const Axis &axis : axes)
    if (!axis.tuned)
      variants = times(variants, axis, [](const AxisValue &) { return true; });
  for (size_t i = 0; i < variants.size(); i += every)
    chosen.push_back(variants[i]);
  return chosen;
}

} // namespace

std::vector<Variant> variants_of(const TestKernel &test_kernel, bool all) {
  std::vector<Axis> axes = read_declarations(input_of(test_kernel, {})).axes;
  std::vector<Variant> bases = untuned(axes, all ? 1 : test_kernel.every);
  if (all) {
    for (const Axis &axis : axes)
      if (axis.tuned)
        bases = times(bases, axis, [&](const AxisValue &value) {
          return axis.name.size() > 2 || std::stoi(value.name) <= largest_tile;
        });
    return bases;
  }
  // A kernel with few variants gets every tile; with many variants, the tiles take turns.
  std::vector<Variant> variants;
  size_t each = bases.size() >= tiles.size() ? 1 : tiles.size();
  for (size_t i = 0; i < bases.size(); i++)
    for (size_t k = 0; k < each; k++)
      variants.push_back(with_tile(bases[i], axes, tiles[(i + k) % tiles.size()]));
  return variants;
}

std::vector<Variant> variants_to_specialize(const TestKernel &test_kernel) {
  static const char *const wanted[] = {"TM", "TN", "TK"};
  if (test_kernel.schedules == Schedules::plain)
    return {};
  std::vector<Axis> axes = read_declarations(input_of(test_kernel, {})).axes;
  for (const std::string name : wanted)
    if (std::none_of(axes.begin(), axes.end(), [&](const Axis &axis) { return axis.name == name; }))
      return {};
  std::vector<Variant> variants;
  size_t next = size_t(&test_kernel - test_kernels().data()); // start differs per kernel
  std::vector<Variant> bases = untuned(axes, test_kernel.every);
  std::erase_if(bases, [](const Variant &base) { return base["TYPE"] == "float"; });
  size_t each = bases.size() <= 4 ? 2 : 1; // two tiles for a kernel with few variants
  for (const Variant &base : bases)
    for (size_t k = 0; k < each; k++)
      variants.push_back(
          with_tile(base, axes, specialized_tiles[next++ % specialized_tiles.size()]));
  return variants;
}

std::vector<std::string> names_of(const TestKernel &test_kernel,
                                  const std::vector<Variant> &variants) {
  std::vector<std::string> names;
  for (const Variant &variant : variants)
    names.push_back(test_kernel.file + " [" + variant.text + "]");
  return names;
}

std::map<size_t, std::vector<const char *>> gpus_by_variant(const std::vector<std::string> &names,
                                                            const std::vector<const char *> &gpus,
                                                            const Sample &sample) {
  std::vector<std::string> pairs;
  for (const std::string &name : names)
    for (const char *gpu : gpus)
      pairs.push_back(name + " for sm_" + gpu);
  std::map<size_t, std::vector<const char *>> chosen;
  for (size_t i : sample.some_of(pairs))
    chosen[i / gpus.size()].push_back(gpus[i % gpus.size()]);
  return chosen;
}

std::set<std::string> files_to_specialize() {
  std::set<std::string> files;
  for (const TestKernel &test_kernel : test_kernels())
    if (!variants_to_specialize(test_kernel).empty())
      files.insert(test_kernel.file);
  // Producer warps do not load their operand tile: the first selects between loaded elements and
  // zeros, the second gathers whole chunks.
  files.erase("tests/test_kernels/short_guard.tc");
  files.erase("tests/test_kernels/circular_convolution.tc");
  return files;
}

std::set<std::string> files_to_divide() {
  std::set<std::string> files = files_to_specialize();
  for (const TestKernel &test_kernel : test_kernels())
    if (test_kernel.schedules != Schedules::all)
      files.erase(test_kernel.file);
  files.erase("tests/test_kernels/rotated_matmul.tc"); // TMA cannot gather
  return files;
}

namespace {

std::vector<TestKernel> all_test_kernels() {
  const Steps any = {0, 1, 2, 5}, some = {1, 2, 5}; // some: the first load is unconditional
  std::vector<TestKernel> all = {
      {"kernels/matmul.tc", false, products<simple_matmul>, any},
      {"kernels/matmul_basic.tc", false, products<simple_matmul>, any},
      {"kernels/matmul_double.tc", false, products<double_matmul>, any, Schedules::plain},
      {"kernels/matmul_float8.tc", false, products<fp8_matmul>, any},
      {"kernels/matmul_int8.tc", false, products<integer_matmul>, any},
      {"kernels/matmul_prefetch.tc", false, products<simple_matmul>, some},
      {"kernels/matmul_remat.tc", true, products<simple_matmul>, some},
      {"kernels/vector_add.tc", false, vector_sums, {}},
      {"tests/test_kernels/checked_matmul.tc", false, products<simple_matmul>, any},
      {"tests/test_kernels/column_result.tc", false, products<column_result>, any},
      {"tests/test_kernels/late_matmul.tc", false, products<simple_matmul>, any},
      {"tests/test_kernels/short_guard.tc", false, products<shortened_matmul>, some},
      {"tests/test_kernels/gpu/convert.tc", false, conversions, {}},
      {"tests/test_kernels/gpu/fused_prefetch.tc", true, products<simple_matmul>, any},
      {"tests/test_kernels/gpu/fused_result.tc", false, products<fused_result>, any},
      {"tests/test_kernels/gpu/gather_and_scan.tc", false, gathers, {}},
      {"tests/test_kernels/gpu/masked_matmul.tc", false, masked_matmuls, any},
      {"tests/test_kernels/gpu/tf32_matmul.tc", false, products<tf32_matmul>, any},
      {"tests/test_kernels/gpu/transpose.tc", false, masked_transpositions, {}},
      // After the matmuls, whose tiles depend on their index in this list.
      {"tests/gpu/constants/lookup.tc", false, lookups, {}},
      {"tests/gpu/constants/visited.tc", false, products<visited_matmul>, any, Schedules::plain},
      {"kernels/layer_norm.tc", false, layer_norms, {}},
      {"kernels/softmax.tc", false, softmaxes, {}},
  };
  auto add = [&](const std::vector<TestKernel> &family) {
    all.insert(all.end(), family.begin(), family.end());
  };
  add(attentions());
  add(dropouts());
  add(elementwise_kernels());
  add(normalizations());
  add(softmaxes_and_losses());
  add(transpositions());
  add(reductions());
  add(more_products());
  add(convolutions());
  if (const char *only = std::getenv("TRITONC_ONLY"))
    std::erase_if(all, [&](const TestKernel &test_kernel) {
      return test_kernel.file.find(only) == std::string::npos;
    });
  return all;
}

} // namespace

const std::vector<TestKernel> &test_kernels() {
  static const std::vector<TestKernel> list = all_test_kernels();
  return list;
}

} // namespace tritonc::test
