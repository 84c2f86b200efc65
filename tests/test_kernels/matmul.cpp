// Test data for GEMM kernels beyond C = A B with full tiles. See test_kernels.h.

#include "test_kernels/test_kernel_parts.h"

#include <functional>
#include <optional>
#include <utility>

namespace tritonc::test {
namespace {

// No size is a multiple of the tile.
MatmulShape odd_shape(const Variant &variant, int steps, int64_t multiple) {
  MatmulShape shape = in_layouts_of(variant);
  shape.m = grid_x * variant.number("TM") - 5;
  shape.n = grid_y * variant.number("TN") - 7;
  shape.k = std::max(steps * variant.number("TK") - 3, 0);
  shape.multiple = multiple;
  return shape;
}

// One program whose result has few rows and columns, so blocks that share its tile may have none.
Run few_rows_and_columns(const Variant &variant, std::mt19937 &random, MatmulShape shape) {
  shape.m = 11;
  shape.n = 13;
  Run run = product(variant, random, shape);
  run.launch.grid = {1, 1, 1};
  return run;
}

// Without assumptions, the leading dimensions may have any value. In the last run they happen to
// satisfy the rules of tensor maps.
std::vector<Run> of_any_size(const Variant &variant, std::mt19937 &random, const Steps &steps) {
  int64_t multiple = promised_multiple(variant);
  std::vector<Run> runs;
  for (int count : steps)
    runs.push_back(product(variant, random, odd_shape(variant, count, multiple)));
  runs.push_back(few_rows_and_columns(variant, random, odd_shape(variant, steps.back(), multiple)));
  if (multiple == 1)
    runs.push_back(product(variant, random, odd_shape(variant, steps.back(), 8)));
  return runs;
}

// More tile rows than a group, so the last group is incomplete.
Run grouped(const Variant &variant, std::mt19937 &random, int steps) {
  MatmulShape shape = odd_shape(variant, steps, 8);
  int group = variant.number("GROUP"), rows = group + 2;
  shape.m = rows * variant.number("TM") - 5;
  Run run = product(variant, random, shape);
  run.launch.grid = {rows, grid_y, 1}; // delinearize_grid
  return run;
}

// Split-K, also with more splits than K tiles.
std::vector<Run> split(const Variant &variant, std::mt19937 &random, const Steps &steps) {
  std::vector<Run> runs;
  for (int count : steps) {
    int splits = count % 2 ? 3 : 2;
    Run run = product(variant, random, odd_shape(variant, count, 8));
    int64_t m = run.launch.arguments[3].integer, n = run.launch.arguments[4].integer;
    std::vector<double> no_sums(size_t(m * n)), no_counts(grid_x * grid_y);
    int sums = run.memory.add("sums", Elem::f32, no_sums);
    int counts = run.memory.add("counts", Elem::i32, no_counts);
    std::vector<Element> &arguments = run.launch.arguments;
    arguments.insert(arguments.begin() + 6, integer(splits));
    arguments.insert(arguments.begin() + 3, {Element::pointer(sums), Element::pointer(counts)});
    run.launch.grid[2] = splits;
    run.check = [=, check = run.check](const Memory &memory) {
      std::string wrong = check(memory);
      for (const Element &sum : memory[sums].elements)
        if (sum.number != 0)
          wrong = "a sum is not 0 again";
      for (const Element &count : memory[counts].elements)
        if (count.integer != 0)
          wrong = "a count is not 0 again";
      return wrong;
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// A matrix with element (i, j) at start + i * down + j * right.
struct Anywhere {
  int buffer;
  int64_t start, down, right;

  Element pointer() const { return Element::pointer(buffer, start); }
  double at(const Memory &memory, int64_t i, int64_t j) const {
    return memory[buffer].elements[size_t(start + i * down + j * right)].number;
  }
};

// A with reversed rows and every second column, B with row stride 0, C transposed.
Run strided(const Variant &variant, std::mt19937 &random, int steps) {
  MatmulShape shape = odd_shape(variant, steps, 1);
  Run run;
  run.text = "M=" + std::to_string(shape.m) + " N=" + std::to_string(shape.n) +
             " K=" + std::to_string(shape.k);
  auto values = [&](const char *name, int64_t count) {
    return run.memory.add(name, variant.type(), draw(random, size_t(count)));
  };
  int64_t row = 2 * shape.k + 1;
  Anywhere a{values("A", shape.m * row), (shape.m - 1) * row, -row, 2};
  Anywhere b{values("B", shape.n), 0, 0, 1};
  int c = run.memory.add_unwritten("C", variant.type(), size_t(shape.n * (shape.m + 1) - 1));
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.arguments = {a.pointer(), b.pointer(), Element::pointer(c)};
  for (int64_t number :
       {shape.m, shape.n, shape.k, a.down, a.right, b.down, b.right, int64_t(1), shape.m + 1})
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    std::map<size_t, double> expected;
    for (int64_t i = 0; i < shape.m; i++)
      for (int64_t j = 0; j < shape.n; j++) {
        double sum = 0;
        for (int64_t k = 0; k < shape.k; k++)
          sum += a.at(memory, i, k) * b.at(memory, k, j);
        expected[size_t(i + j * (shape.m + 1))] = rounded(variant.type(), sum);
      }
    return check_elements(memory, c, expected);
  };
  return run;
}

// A batch of `count` GEMMs with the same B.
Run batch(const Variant &variant, std::mt19937 &random, const MatmulShape &shape, int64_t count) {
  Run run;
  run.text = std::to_string(count) + " x M=" + std::to_string(shape.m) +
             " N=" + std::to_string(shape.n) + " K=" + std::to_string(shape.k);
  // Matrices stacked vertically, stored as one matrix.
  auto matrices = [&](const char *name, int64_t number, int64_t rows, int64_t columns,
                      bool transposed, std::mt19937 *values) {
    if (transposed)
      std::swap(rows, columns);
    return add_matrix(run.memory, name, {variant.type()}, number * rows, columns,
                      distance_between_rows(columns, shape.multiple), values);
  };
  Matrix a = matrices("A", count, shape.m, shape.k, shape.transposed_a, &random);
  Matrix b = matrices("B", 1, shape.k, shape.n, shape.transposed_b, &random);
  Matrix c = matrices("C", count, shape.m, shape.n, false, nullptr);
  run.launch.grid = {grid_x, grid_y, int(count)};
  run.launch.num_sms = 2;
  run.launch.arguments = {Element::pointer(a.buffer), Element::pointer(b.buffer),
                          Element::pointer(c.buffer)};
  for (int64_t number : {count, shape.m, shape.n, shape.k, a.ld, b.ld, c.ld, a.rows / count * a.ld,
                         int64_t(0), shape.m * c.ld})
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      int64_t number = row / shape.m, i = row % shape.m;
      double sum = 0;
      for (int64_t k = 0; k < shape.k; k++)
        sum +=
            (shape.transposed_a ? value_at(memory, a, number * shape.k + k, i)
                                : value_at(memory, a, row, k)) *
            (shape.transposed_b ? value_at(memory, b, column, k) : value_at(memory, b, k, column));
      return rounded(variant.type(), sum);
    });
  };
  return run;
}

// As of_any_size. One of the batches has only one matrix.
std::vector<Run> batches(const Variant &variant, std::mt19937 &random, const Steps &steps) {
  int64_t multiple = promised_multiple(variant);
  std::vector<Run> runs;
  for (int count : steps)
    runs.push_back(
        batch(variant, random, odd_shape(variant, count, multiple), count == steps[1] ? 1 : 3));
  if (multiple == 1)
    runs.push_back(batch(variant, random, odd_shape(variant, steps.back(), 8), 3));
  return runs;
}

// GEMMs of two batches of four heads. Two heads have the same B. The batches follow one another
// within each head.
Run heads(const Variant &variant, std::mt19937 &random, int steps) {
  constexpr int64_t batches = 2, heads = 4, group = 2;
  MatmulShape shape = odd_shape(variant, steps, 8);
  Run run;
  run.text = "M=" + std::to_string(shape.m) + " N=" + std::to_string(shape.n) +
             " K=" + std::to_string(shape.k);
  auto matrices = [&](const char *name, int64_t number, int64_t rows, int64_t columns,
                      std::mt19937 *values) {
    return add_matrix(run.memory, name, {variant.type()}, number * rows, columns,
                      distance_between_rows(columns, shape.multiple), values);
  };
  Matrix a = matrices("A", heads * batches, shape.m, shape.k, &random);
  Matrix b = matrices("B", heads / group * batches, shape.k, shape.n, &random);
  Matrix c = matrices("C", heads * batches, shape.m, shape.n, nullptr);
  run.launch.grid = {grid_x, grid_y, int(batches * heads)};
  run.launch.num_sms = 2;
  run.launch.arguments = {Element::pointer(a.buffer), Element::pointer(b.buffer),
                          Element::pointer(c.buffer)};
  const int64_t of_a = shape.m * a.ld, of_b = shape.k * b.ld, of_c = shape.m * c.ld;
  for (int64_t number : {batches, heads, group, shape.m, shape.n, shape.k, a.ld, b.ld, c.ld,
                         batches * of_a, batches * of_b, batches * of_c, of_a, of_b, of_c})
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      int64_t head = row / shape.m / batches, batch = row / shape.m % batches;
      double sum = 0;
      for (int64_t k = 0; k < shape.k; k++)
        sum += value_at(memory, a, row, k) *
               value_at(memory, b, (head / group * batches + batch) * shape.k + k, column);
      return rounded(variant.type(), sum);
    });
  };
  return run;
}

// A and bias are multiples of 8, so that gelu returns x or 0. Unused operands have no buffer.
Run fused(const Variant &variant, std::mt19937 &random, int steps) {
  MatmulShape shape = odd_shape(variant, steps, 8);
  Run run = product(variant, random, shape);
  Memory &memory = run.memory;
  auto times_8 = [&](int buffer) {
    for (Element &element : memory[buffer].elements)
      element.number *= 8;
  };
  bool adds_bias = variant.number("ADD_BIAS"), adds_d = variant.number("ADD_D");
  bool tail_split = variant["F"] != "sum";
  times_8(0); // A
  std::vector<Element> &arguments = run.launch.arguments;
  int64_t ldc = arguments.back().integer, ldd = distance_between_rows(shape.n, 8) + 8;
  Matrix product_c{2, shape.m, shape.n, ldc};
  int bias = -1;
  Matrix d;
  if (adds_bias) {
    bias = memory.add("bias", variant.type(), draw(random, size_t(shape.n)));
    times_8(bias);
  }
  if (adds_d)
    d = add_matrix(memory, "D", {variant.type()}, shape.m, shape.n, ldd, &random);
  // Operands that the kernel must not read are invalid pointers, so that a read is reported.
  arguments.insert(arguments.begin() + 3,
                   {Element::pointer(adds_bias ? bias : 0, adds_bias ? 0 : -1),
                    Element::pointer(adds_d ? d.buffer : 0, adds_d ? 0 : -1)});
  arguments.push_back(integer(ldd));
  Matrix a{0, 0, 0, arguments[8].integer}, b{1, 0, 0, arguments[9].integer};
  run.check = [=](const Memory &after) {
    return check_matrix(after, product_c, [&](int64_t row, int64_t column) {
      double sum = adds_bias ? after[bias].elements[size_t(column)].number : 0;
      for (int64_t k = 0; k < shape.k; k++)
        sum += (shape.transposed_a ? value_at(after, a, k, row) : value_at(after, a, row, k)) *
               (shape.transposed_b ? value_at(after, b, column, k) : value_at(after, b, k, column));
      if (tail_split)
        sum = std::max(sum, 0.0);
      return rounded(variant.type(), adds_d ? sum + value_at(after, d, row, column) : sum);
    });
  };
  return run;
}

// C = f(A G) (A U), for all leading dimensions. The sums of A G are multiples of 128, so that f(x) is x
// or 0.
Run gated_products(const Variant &variant, std::mt19937 &random, const MatmulShape &shape) {
  Run run = product(variant, random, shape);
  std::vector<Element> &arguments = run.launch.arguments;
  const int64_t lda = arguments[6].integer, ldb = arguments[7].integer, ldc = arguments[8].integer;
  const int64_t rows = shape.transposed_b ? shape.n : shape.k;
  const int64_t columns = shape.transposed_b ? shape.k : shape.n;
  const Matrix u = add_matrix(run.memory, "U", {variant.type()}, rows, columns, ldb, &random);
  auto scale = [&](int buffer, double factor) {
    for (Element &element : run.memory[buffer].elements)
      element.number *= factor;
  };
  scale(1, 128);            // G
  scale(u.buffer, 1 / 64.); // so that half can represent C
  arguments.insert(arguments.begin() + 2, Element::pointer(u.buffer));
  const Matrix a{0, 0, 0, lda}, g{1, 0, 0, ldb}, c{2, shape.m, shape.n, ldc};
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      double gate = 0, up = 0;
      for (int64_t k = 0; k < shape.k; k++) {
        auto of_b = [&](const Matrix &b) {
          return shape.transposed_b ? value_at(memory, b, column, k)
                                    : value_at(memory, b, k, column);
        };
        const double x =
            shape.transposed_a ? value_at(memory, a, k, row) : value_at(memory, a, row, k);
        gate += x * of_b(g);
        up += x * of_b(u);
      }
      return rounded(variant.type(), std::max(gate, 0.0) * up);
    });
  };
  return run;
}

// With leading dimensions that tensor maps can have, and with others.
std::vector<Run> gated_units(const Variant &variant, std::mt19937 &random, const Steps &steps) {
  std::vector<Run> runs;
  for (int count : steps)
    for (int64_t multiple : {8, 1})
      runs.push_back(gated_products(variant, random, odd_shape(variant, count, multiple)));
  return runs;
}

// All matrices but A have N elements in a row.
Run residual(const Variant &variant, std::mt19937 &random, int steps) {
  const bool stores_sum = variant.number("STORE_SUM");
  int64_t m = grid_x * variant.number("TM") - 5, n = grid_y * variant.number("TN") - 8,
          k = std::max(steps * variant.number("TK") - 3, 0);
  Run run;
  run.text = "M=" + std::to_string(m) + " N=" + std::to_string(n) + " K=" + std::to_string(k);
  auto matrix = [&](const char *name, int64_t rows, std::mt19937 *values) {
    return add_matrix(run.memory, name, {variant.type()}, rows, n, n, values);
  };
  Matrix a =
      add_matrix(run.memory, "A", {variant.type()}, m, k, distance_between_rows(k, 8), &random);
  Matrix b = matrix("B", k, &random), c = matrix("C", m, nullptr), d = matrix("D", m, &random), h;
  int bias = run.memory.add("bias", variant.type(), draw(random, size_t(n)));
  if (stores_sum)
    h = matrix("H", m, nullptr);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.num_sms = 2;
  run.launch.arguments = {Element::pointer(a.buffer),
                          Element::pointer(b.buffer),
                          Element::pointer(c.buffer),
                          Element::pointer(bias),
                          Element::pointer(d.buffer),
                          Element::pointer(stores_sum ? h.buffer : 0, stores_sum ? 0 : -1),
                          integer(m),
                          integer(n),
                          integer(k),
                          integer(a.ld)};
  run.check = [=](const Memory &memory) {
    auto sum = [&](int64_t row, int64_t column) {
      double result = memory[bias].elements[size_t(column)].number;
      for (int64_t i = 0; i < k; i++)
        result += value_at(memory, a, row, i) * value_at(memory, b, i, column);
      return result;
    };
    std::string wrong = check_matrix(memory, c, [&](int64_t row, int64_t column) {
      return rounded(variant.type(),
                     std::max(sum(row, column), 0.0) + value_at(memory, d, row, column));
    });
    if (!wrong.empty() || !stores_sum)
      return wrong;
    return check_matrix(memory, h, [&](int64_t row, int64_t column) {
      return rounded(variant.type(), sum(row, column));
    });
  };
  return run;
}

// Block columns with `steps` blocks (one of them twice), with no block, and with one block.
Run block_sparse(const Variant &variant, std::mt19937 &random, int steps) {
  int64_t block = variant.number("BLOCK"), m = grid_x * variant.number("TM") - 5;
  std::vector<double> first = {0, double(steps), double(steps), 1 + double(steps)}, rows;
  int64_t columns = int64_t(first.size()) - 1, k = 5 * block, lda = k + 8,
          ldc = columns * block + 8;
  for (int i = 0; i < steps + 1; i++)
    rows.push_back(i == 1 ? rows.back() : double(random() % 5));
  Run run;
  run.text = "M=" + std::to_string(m) + " blocks=" + std::to_string(rows.size());
  Matrix a = add_matrix(run.memory, "A", {variant.type()}, m, k, lda, &random);
  Matrix b = add_matrix(run.memory, "B", {variant.type()}, int64_t(rows.size()) * block, block,
                        block, &random);
  Matrix c = add_matrix(run.memory, "C", {variant.type()}, m, columns * block, ldc, nullptr);
  run.launch.grid = {grid_x, int(columns), 1};
  run.launch.arguments = {Element::pointer(a.buffer), Element::pointer(b.buffer),
                          Element::pointer(c.buffer),
                          Element::pointer(run.memory.add("first", Elem::i32, first)),
                          Element::pointer(run.memory.add("rows", Elem::i32, rows))};
  for (int64_t number : {m, columns * block, k, lda, ldc})
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      double sum = 0;
      auto j = size_t(column / block);
      for (auto i = int64_t(first[j]); i < int64_t(first[j + 1]); i++)
        for (int64_t l = 0; l < block; l++)
          sum += value_at(memory, a, row, int64_t(rows[size_t(i)]) * block + l) *
                 value_at(memory, b, i * block + l, column % block);
      return rounded(variant.type(), sum);
    });
  };
  return run;
}

// Whole tiles of C = max(A B, 0) * (A D), where D follows B.
Run gated(const Variant &variant, std::mt19937 &random, int steps) {
  const int64_t m = grid_x * variant.number("TM"), n = grid_y * variant.number("TN");
  const int64_t k = steps * variant.number("TK");
  Run run;
  run.text = "K=" + std::to_string(k);
  const Numbers type = {variant.type()};
  Matrix a = add_matrix(run.memory, "A", type, m, k, k + 8, &random);
  Matrix b = add_matrix(run.memory, "B", type, 2 * k, n, n + 8, &random);
  Matrix c = add_matrix(run.memory, "C", {Elem::f32}, m, n, n + 4, nullptr);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.arguments = {Element::pointer(a.buffer), Element::pointer(b.buffer),
                          Element::pointer(c.buffer)};
  for (int64_t number : {m, n, k, a.ld, b.ld, c.ld, k * b.ld})
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      double gate = 0, sum = 0;
      for (int64_t i = 0; i < k; i++) {
        gate += value_at(memory, a, row, i) * value_at(memory, b, i, column);
        sum += value_at(memory, a, row, i) * value_at(memory, b, k + i, column);
      }
      return std::max(gate, 0.0) * sum;
    });
  };
  return run;
}

// Whole tiles of C = A B and D = A E, where D has half as many columns as C.
Run two_results(const Variant &variant, std::mt19937 &random, int steps) {
  const int64_t m = grid_x * variant.number("TM"), n = grid_y * variant.number("TN");
  const int64_t k = steps * variant.number("TK");
  Run run;
  run.text = "K=" + std::to_string(k);
  const Numbers type = {variant.type()};
  Matrix a = add_matrix(run.memory, "A", type, m, k, k + 8, &random);
  Matrix b = add_matrix(run.memory, "B", type, k, n, n + 8, &random);
  Matrix e = add_matrix(run.memory, "E", type, k, n / 2, n / 2 + 8, &random);
  Matrix c = add_matrix(run.memory, "C", {Elem::f32}, m, n, n + 4, nullptr);
  Matrix d = add_matrix(run.memory, "D", {Elem::f32}, m, n / 2, n / 2 + 4, nullptr);
  run.launch.grid = {grid_x, grid_y, 1};
  for (const Matrix &matrix : {a, b, e, c, d})
    run.launch.arguments.push_back(Element::pointer(matrix.buffer));
  for (int64_t number : {m, n, k, a.ld, b.ld, e.ld, c.ld, d.ld})
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    auto product = [&](const Matrix &right) {
      return [&memory, &right, a, k](int64_t row, int64_t column) {
        double sum = 0;
        for (int64_t i = 0; i < k; i++)
          sum += value_at(memory, a, row, i) * value_at(memory, right, i, column);
        return sum;
      };
    };
    const std::string wrong = check_matrix(memory, c, product(b));
    return wrong.empty() ? check_matrix(memory, d, product(e)) : wrong;
  };
  return run;
}

// Each program gathers its elements of A: the factor of B[term, n] in row m of C is the element of
// A at place(m, term, M, K). The rows of A have a gap behind K elements. `taps`: rows of B / K. M
// is not a multiple of the tile.
using Place = std::pair<int64_t, int64_t>;
Run gathered(const Variant &variant, std::mt19937 &random, int64_t k, int64_t gap,
             std::optional<int64_t> taps,
             const std::function<Place(int64_t, int64_t, int64_t, int64_t)> &place) {
  const int64_t m = grid_x * variant.number("TM") - 5, n = grid_y * variant.number("TN");
  const int64_t terms = taps.value_or(1) * k;
  Run run;
  run.text = "K=" + std::to_string(k);
  const Numbers type = {variant.type()};
  Matrix a = add_matrix(run.memory, "A", type, m, k, k + gap, &random);
  Matrix b = add_matrix(run.memory, "B", type, terms, n, n + 8, &random);
  Matrix c = add_matrix(run.memory, "C", {Elem::f32}, m, n, n + 3, nullptr);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.arguments = {Element::pointer(a.buffer), Element::pointer(b.buffer),
                          Element::pointer(c.buffer)};
  std::vector<int64_t> numbers = {m, n, k};
  if (taps)
    numbers.push_back(*taps);
  numbers.insert(numbers.end(), {a.ld, b.ld, c.ld});
  for (int64_t number : numbers)
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      double sum = 0;
      for (int64_t term = 0; term < terms; term++) {
        const auto [of_a, k_of_a] = place(row, term, m, k);
        sum += value_at(memory, a, of_a, k_of_a) * value_at(memory, b, term, column);
      }
      return sum;
    });
  };
  return run;
}

// Rows of A that wrap around. K is not a multiple of the tile.
Run circular(const Variant &variant, std::mt19937 &random, int steps) {
  const int64_t k = std::max(steps * variant.number("TK") - 8, 0);
  return gathered(variant, random, k, 8, 3, [](int64_t row, int64_t term, int64_t m, int64_t k) {
    return Place((row + term / k) % m, term % k);
  });
}

// Rows of C and columns of A that are rotated. K is not a multiple of the tile.
Run rotated(const Variant &variant, std::mt19937 &random, int steps) {
  const int64_t k = std::max(steps * variant.number("TK") - 7, 0);
  return gathered(variant, random, k, 1, std::nullopt,
                  [](int64_t row, int64_t term, int64_t m, int64_t k) {
                    return Place((row + m - 1) % m, (term + 3) % k);
                  });
}

// Whole tiles of C = (scale A) B, with 8-bit integers A.
Run scaled(const Variant &variant, std::mt19937 &random, int steps) {
  const int64_t m = grid_x * variant.number("TM"), n = grid_y * variant.number("TN");
  const int64_t k = steps * variant.number("TK");
  Run run;
  run.text = "K=" + std::to_string(k);
  Matrix a = add_matrix(run.memory, "A", {Elem::i8}, m, k, k + 16, &random);
  Matrix b = add_matrix(run.memory, "B", {variant.type()}, k, n, n + 8, &random);
  Matrix c = add_matrix(run.memory, "C", {Elem::f32}, m, n, n + 4, nullptr);
  std::vector<double> scale(static_cast<size_t>(m));
  for (double &each : scale)
    each = double(1 << random() % 3);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.arguments = {Element::pointer(a.buffer), Element::pointer(b.buffer),
                          Element::pointer(c.buffer),
                          Element::pointer(run.memory.add("scale", Elem::f32, scale))};
  for (int64_t number : {m, n, k, a.ld, b.ld, c.ld})
    run.launch.arguments.push_back(integer(number));
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, c, [&](int64_t row, int64_t column) {
      double sum = 0;
      for (int64_t i = 0; i < k; i++)
        sum += value_at(memory, a, row, i) * value_at(memory, b, i, column);
      return sum * scale[size_t(row)];
    });
  };
  return run;
}

} // namespace

std::vector<TestKernel> more_products() {
  const Steps any = {0, 1, 2, 5};
  // 5 and 19 are coprime to the sizes of the axes, so the tests cover all values of each axis.
  std::vector<TestKernel> list = {
      {"kernels/matmul_batched.tc", false, batches, any, Schedules::all, 5},
      {"kernels/matmul_blocksparse.tc", false, products<block_sparse>, any, Schedules::plain},
      {"kernels/matmul_fused.tc", false, products<fused>, any, Schedules::all, 19},
      {"kernels/matmul_glu.tc", false, gated_units, any, Schedules::plain, 5},
      {"kernels/matmul_grouped.tc", false, products<grouped>, any},
      {"kernels/matmul_masked.tc", false, of_any_size, any, Schedules::all, 5},
      {"kernels/matmul_split.tc", false, split, any, Schedules::plain},
      {"kernels/matmul_strided.tc", false, products<strided>, any, Schedules::plain},
      {"tests/test_kernels/circular_convolution.tc", false, products<circular>, any},
      {"tests/test_kernels/gated_matmul.tc", false, products<gated>, any, Schedules::plain},
      {"tests/test_kernels/heads_matmul.tc", false, products<heads>, any},
      {"tests/test_kernels/residual_matmul.tc", false, products<residual>, any},
      {"tests/test_kernels/rotated_matmul.tc", false, products<rotated>, any},
      {"tests/test_kernels/scaled_matmul.tc", false, products<scaled>, any, Schedules::plain},
      {"tests/test_kernels/two_products.tc", false, products<two_results>, any, Schedules::plain},
  };
  for (TestKernel &test_kernel : list)
    test_kernel.locks = test_kernel.file == "kernels/matmul_split.tc";
  return list;
}

} // namespace tritonc::test
