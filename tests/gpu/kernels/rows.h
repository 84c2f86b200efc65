// Common parts of the tests of row kernels: matrices, difficult sizes, rows with NaN or infinity.

#pragma once

#include "kernel_test.h"

namespace device_tests {

/// An m x n matrix with `gap` elements between two rows. The gaps are NaN, and must stay NaN.
template <typename T> class Rows : public Array<T> {
public:
  Rows(int m, int n, int gap)
      : Array<T>(m > 0 ? size_t(m - 1) * size_t(n + gap) + size_t(n) : 0), m(m), n(n), ld(n + gap) {
  }
  template <typename Value> Rows(int m, int n, int gap, Value value) : Rows(m, n, gap) {
    set([&](int, int) { return value(); });
  }

  size_t index(int row, int column) const { return size_t(row) * size_t(ld) + size_t(column); }
  double at(int row, int column) const { return Array<T>::at(index(row, column)); }

  /// Sets each element to value(row, column), rounded to T.
  template <typename Value> void set(Value value) {
    for (int row = 0; row < m; row++)
      for (int column = 0; column < n; column++)
        (*this)[index(row, column)] = T(float(value(row, column)));
    this->write();
  }

  /// Compares the elements with value(row, column). See compare().
  template <typename Value>
  std::string wrong(const char *name, Value value, double relative, double absolute) {
    Expected expected(this->size());
    for (int row = 0; row < m; row++)
      for (int column = 0; column < n; column++)
        expected.set(index(row, column), value(row, column));
    std::string problem = compare(*this, expected, relative, absolute);
    return problem.empty() ? "" : std::string(name) + ": " + problem;
  }

  const int m, n, ld;
};

template <typename T> const char *name_of() {
  return sizeof(T) == 4 ? "float" : std::is_same_v<T, tritonc::half> ? "half" : "bfloat16";
}

/// The relative error: the rounding to T, plus the rounding of sums in float.
template <typename T> double rounding() {
  return sizeof(T) == 4 ? 2e-5 : std::is_same_v<T, tritonc::half> ? 0x1p-11 + 2e-5 : 0x1p-8 + 2e-5;
}

/// gap_in, gap_out: elements between two rows of the input and of the output. In place: the output
/// overwrites the input.
struct RowSizes {
  int m, n, gap_in, gap_out;
  bool in_place = false;

  std::string text() const {
    return device_tests::text(" M=%d N=%d gaps %d %d%s", m, n, gap_in, gap_out,
                              in_place ? " in place" : "");
  }
};

/// Row lengths below, at and above the tile size, over several tiles; in place; many rows.
inline std::vector<RowSizes> row_sizes() {
  std::vector<RowSizes> sizes = {{1, 1, 0, 0},         {3, 12, 5, 2},   {5, 1000, 3, 0},
                                 {2, 1024, 0, 8},      {4, 1025, 1, 1}, {3, 2500, 7, 3},
                                 {2, 1111, 2, 2, true}};
  if (!emulated())
    for (const RowSizes &large :
         {RowSizes{517, 4099, 1, 5}, RowSizes{2048, 1024, 0, 0, true}, RowSizes{3, 128256, 0, 0}})
      sizes.push_back(large);
  return sizes;
}

/// A row of small values with NaN or infinities: first and last column, and the other columns.
struct Unusual {
  float first, last, others; // others: 0 = small values
};
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr Unusual unusual_rows[] = {
    {NAN, 1, 0},
    {1, infinity, 0},
    {-infinity, 1, 0},
    {-infinity, -infinity, -infinity},
    {infinity, -infinity, 0},
};
/// A matrix with one row per unusual row, then one usual row.
constexpr int unusual_count = int(std::size(unusual_rows)) + 1;
template <typename T> Rows<T> unusual(int n) {
  Rows<T> x(unusual_count, n, 0);
  x.set([&](int row, int column) {
    float usual = float(column % 7) / 4;
    if (row + 1 == unusual_count)
      return usual;
    const Unusual &one = unusual_rows[row];
    return column == 0       ? one.first
           : column == n - 1 ? one.last
           : one.others != 0 ? one.others
                             : usual;
  });
  return x;
}

/// The first problem, or "".
inline std::string first_of(std::initializer_list<std::string> problems) {
  for (const std::string &problem : problems)
    if (!problem.empty())
      return problem;
  return "";
}

} // namespace device_tests
