// Copies and transpositions of matrices. See subjects.h.

#include "interpreter/subject_parts.h"

namespace tritonc::test {
namespace {

/// How many elements are 16 bytes.
int64_t sixteen_bytes(Elem elem) { return 16 / int64_t(ir::bytes_of(elem)); }

struct Sizes {
  int64_t m, n, gap_x, gap_y;
};

// y is x, or x transposed; its gaps have no values before and after.
Run moved(const Variant &variant, std::mt19937 &random, const Sizes &sizes, bool transposes) {
  Run run;
  run.text = "M=" + std::to_string(sizes.m) + " N=" + std::to_string(sizes.n);
  int64_t rows = transposes ? sizes.n : sizes.m, columns = transposes ? sizes.m : sizes.n;
  Numbers numbers = {variant.type(), true};
  Matrix x = add_matrix(run.memory, "X", numbers, sizes.m, sizes.n, sizes.n + sizes.gap_x, &random);
  Matrix y = add_matrix(run.memory, "Y", numbers, rows, columns, columns + sizes.gap_y, nullptr);
  run.launch.grid = {grid_x, grid_y, 1};
  run.launch.arguments = {Element::pointer(x.buffer),
                          Element::pointer(y.buffer),
                          integer(sizes.m),
                          integer(sizes.n),
                          integer(x.ld),
                          integer(y.ld)};
  run.check = [=](const Memory &memory) {
    return check_matrix(memory, y, [&](int64_t row, int64_t column) {
      return transposes ? value_at(memory, x, column, row) : value_at(memory, x, row, column);
    });
  };
  return run;
}

std::vector<Run> transposed_of_any_size(const Variant &variant, std::mt19937 &random,
                                        const Steps &) {
  int64_t m = grid_x * variant.number("TM"), n = grid_y * variant.number("TN"),
          unit = variant["PROMISE"].empty() ? 1 : sixteen_bytes(variant.type());
  std::vector<Run> runs;
  runs.push_back(moved(variant, random, {m, n, unit, 0}, true));
  runs.push_back(moved(variant, random, {m - unit, n - unit, 3 * unit, unit}, true));
  return runs;
}

std::vector<Run> transposed_in_whole_tiles(const Variant &variant, std::mt19937 &random,
                                           const Steps &) {
  std::vector<Run> runs;
  runs.push_back(moved(variant, random,
                       {grid_x * variant.number("TM"), grid_y * variant.number("TN"), 8, 16},
                       true));
  return runs;
}

} // namespace

std::vector<Subject> transpositions() {
  return {
      {"kernels/transpose.tc", false, transposed_of_any_size, {}},
      {"kernels/transpose_basic.tc", false, transposed_in_whole_tiles, {}},
  };
}

} // namespace tritonc::test
