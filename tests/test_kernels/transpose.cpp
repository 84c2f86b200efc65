// Test data for copies, transposes, and permutations. See test_kernels.h.

#include "test_kernels/test_kernel_parts.h"

namespace tritonc::test {
namespace {

struct Sizes {
  int64_t m, n, gap_x, gap_y;
};

// y is x or x transposed; gaps between rows stay unwritten.
Run moved(const Variant &variant, std::mt19937 &random, const Sizes &sizes, bool transposes) {
  Run run;
  run.text = "M=" + std::to_string(sizes.m) + " N=" + std::to_string(sizes.n);
  int64_t rows = transposes ? sizes.n : sizes.m, columns = transposes ? sizes.m : sizes.n;
  Numbers numbers = {variant.type(), true};
  Matrix x = add_matrix(run.memory, "X", numbers, sizes.m, sizes.n, sizes.n + sizes.gap_x, &random);
  Matrix y = add_matrix(run.memory, "Y", numbers, rows, columns, columns + sizes.gap_y, nullptr);
  int64_t tm = variant.number("TM"), tn = variant.number("TN");
  run.launch.grid = {int((sizes.m + tm - 1) / tm), int((sizes.n + tn - 1) / tn), 1};
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

template <bool transposes>
std::vector<Run> moved_of_any_size(const Variant &variant, std::mt19937 &random, const Steps &) {
  int64_t unit = promised_multiple(variant),
          m = std::max<int64_t>(grid_x * variant.number("TM"), 2 * unit),
          n = std::max<int64_t>(grid_y * variant.number("TN"), 2 * unit);
  std::vector<Run> runs;
  runs.push_back(moved(variant, random, {m, n, unit, 0}, transposes));
  runs.push_back(moved(variant, random, {m - unit, n - unit, 3 * unit, unit}, transposes));
  if (!transposes) // the grid of copy.tc has one axis
    for (Run &run : runs)
      run.launch.grid = {run.launch.grid[0] * run.launch.grid[1], 1, 1};
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

// Images of fewer pixels than a tile, of as many, and of more.
std::vector<Run> pixels_of_images(const Variant &variant, std::mt19937 &random, const Steps &) {
  int64_t size = variant.number("SIZE");
  std::vector<Run> runs;
  for (int64_t pixels : {int64_t(8), size / 2 - 8, size, size + 24}) {
    int64_t images = 3 * size / pixels + 1;
    Run run;
    run.text = "N=" + std::to_string(images) + " S=" + std::to_string(pixels);
    Numbers numbers = {variant.type(), true};
    Matrix x = add_matrix(run.memory, "x", numbers, images, pixels, pixels + 8, &random);
    Matrix y = add_matrix(run.memory, "y", numbers, images, pixels, pixels + 2, nullptr);
    run.launch.grid = {int((images * pixels + size - 1) / size), 1, 1};
    run.launch.arguments = {Element::pointer(x.buffer),
                            Element::pointer(y.buffer),
                            integer(images),
                            integer(pixels),
                            integer(x.ld),
                            integer(y.ld)};
    run.check = [=](const Memory &memory) {
      return check_matrix(
          memory, y, [&](int64_t row, int64_t column) { return value_at(memory, x, row, column); });
    };
    runs.push_back(std::move(run));
  }
  return runs;
}

// x has strides for axes i, j, k with gaps. y has the two other axes in order, then axis LAST.
std::vector<Run> permutations(const Variant &variant, std::mt19937 &random, const Steps &) {
  const std::string last = variant["COLUMN_Y"] == "1" ? "k" : variant["LAYERS"] == "D1" ? "i" : "j";
  int64_t unit = promised_multiple(variant), tm = variant.number("TM"), tn = variant.number("TN");
  std::vector<Run> runs;
  for (bool whole : {true, false}) {
    int64_t rows = whole ? std::max(tm, unit) : std::max(2 * tm - unit, unit),
            columns = whole ? std::max(2 * tn, unit) : std::max(tn - unit, unit);
    std::array<int64_t, 3> extents = {3 * unit, rows, columns}, to;
    if (last == "i")
      std::swap(extents[0], extents[1]);
    std::array<int64_t, 3> from = {extents[1] * (columns + unit) + unit, columns + unit, 1};
    size_t z = last == "i" ? 0 : last == "j" ? 1 : 2, a = z == 0 ? 2 : 0, b = z == 0 ? 1 : 3 - z;
    to[z] = 1;
    to[b] = extents[z] + unit;
    to[a] = to[b] * extents[b];

    Run run;
    run.text = "D0=" + std::to_string(extents[0]) + " D1=" + std::to_string(extents[1]) +
               " D2=" + std::to_string(extents[2]);
    auto for_each_index = [&extents](const std::array<int64_t, 3> &strides, const auto &visit) {
      for (int64_t i = 0; i < extents[0]; i++)
        for (int64_t j = 0; j < extents[1]; j++)
          for (int64_t k = 0; k < extents[2]; k++)
            visit(size_t(i * strides[0] + j * strides[1] + k * strides[2]), i, j, k);
    };
    size_t ends[2] = {};
    for_each_index(from, [&](size_t at, auto...) { ends[0] = std::max(ends[0], at + 1); });
    for_each_index(to, [&](size_t at, auto...) { ends[1] = std::max(ends[1], at + 1); });
    int x = run.memory.add_unwritten("X", variant.type(), ends[0]);
    int y = run.memory.add_unwritten("Y", variant.type(), ends[1]);
    std::map<size_t, double> expected;
    for_each_index(from, [&](size_t at, int64_t i, int64_t j, int64_t k) {
      Element element = draw(random, Numbers{variant.type()});
      run.memory[x].elements[at] = element;
      expected[size_t(i * to[0] + j * to[1] + k * to[2])] =
          is_integer(variant.type()) ? double(element.integer) : element.number;
    });
    int64_t layers = extents[z == 0 ? 1 : 0];
    if (z == 2 && layers > rows)
      std::swap(layers, rows);
    run.launch.grid = {int((rows + tm - 1) / tm), int((columns + tn - 1) / tn), int(layers)};
    run.launch.arguments = {Element::pointer(x), Element::pointer(y), integer(extents[0]),
                            integer(extents[1]), integer(extents[2]), integer(from[0]),
                            integer(from[1]),    integer(to[0]),      integer(to[1]),
                            integer(to[2])};
    run.check = [=](const Memory &memory) { return check_elements(memory, y, expected); };
    runs.push_back(std::move(run));
  }
  return runs;
}

} // namespace

std::vector<TestKernel> transpositions() {
  return {
      {"kernels/copy.tc", false, moved_of_any_size<false>, {}},
      {"kernels/permute.tc", false, permutations, {}},
      {"kernels/transpose.tc", false, moved_of_any_size<true>, {}},
      {"kernels/transpose_basic.tc", false, transposed_in_whole_tiles, {}},
      {"tests/test_kernels/image_pixels.tc", false, pixels_of_images, {}},
  };
}

} // namespace tritonc::test
