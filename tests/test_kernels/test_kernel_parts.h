// Makes the inputs of the kernels of test_kernels.h and checks their outputs.

#pragma once

#include "interpreter/numbers.h"
#include "test_kernels/test_kernels.h"

#include <map>

namespace tritonc::test {

using namespace interpreter;
using ir::Elem;

/// The element type of a matrix.
struct Numbers {
  Elem elem;
  bool is_unsigned = false;
};

/// Small integers, so that sums and products are exact in every type and order.
inline double draw(std::mt19937 &random) { return double(int(random() % 9) - 4); }

/// Draws from all values of an integer type; for floats, a small integer.
inline Element draw(std::mt19937 &random, const Numbers &numbers) {
  return is_integer(numbers.elem) ? Element::of_integer(wrapped(numbers.elem, int64_t(random())))
                                  : Element::of_number(draw(random));
}

inline std::vector<double> draw(std::mt19937 &random, size_t count) {
  std::vector<double> values(count);
  for (double &value : values)
    value = draw(random);
  return values;
}

/// A matrix in memory with leading dimension `ld`; the buffer ends with its last element.
struct Matrix {
  int buffer = -1;
  int64_t rows = 0, columns = 0, ld = 0;
  bool is_unsigned = false;

  size_t at(int64_t row, int64_t column) const { return size_t(row * ld + column); }
  size_t extent() const { return rows && columns ? at(rows - 1, columns - 1) + 1 : 0; }
};

/// The distance of rows of `n` elements. Short rows, and rows of some lengths, have no gaps, so that a
/// block can join them.
inline int64_t distance(int64_t n, int64_t gap) {
  return n < 16 || n % 8 == 4 || n % 8 == 5 ? n : n + gap;
}

/// Lengths of rows of 3, 5 and 7 tiles, without a gap between the rows. `less`: elements of the last
/// tile that do not exist.
inline void add_unrolled_lengths(std::vector<int> &lengths, int size, int less) {
  for (int tiles : {3, 5, 7})
    if (size <= 1024)
      lengths.push_back(tiles * size - less);
}

/// Adds a matrix with random values, or without values.
inline Matrix add_matrix(Memory &memory, const char *name, const Numbers &numbers, int64_t rows,
                         int64_t columns, int64_t ld, std::mt19937 *random) {
  Matrix matrix{memory.size(), rows, columns, ld, numbers.is_unsigned};
  memory.add_unwritten(name, numbers.elem, matrix.extent());
  if (random)
    for (int64_t row = 0; row < rows; row++)
      for (int64_t column = 0; column < columns; column++)
        memory[matrix.buffer].elements[matrix.at(row, column)] = draw(*random, numbers);
  return matrix;
}

inline double value_at(const Memory &memory, const Matrix &matrix, int64_t row, int64_t column) {
  const Buffer &buffer = memory[matrix.buffer];
  const Element &element = buffer.elements[matrix.at(row, column)];
  if (!is_integer(buffer.elem))
    return element.number;
  return matrix.is_unsigned ? double(as_unsigned(buffer.elem, element.integer))
                            : double(element.integer);
}

/// The error in `matrix`, or "". Its elements must equal `expected(row, column)`, and the gaps
/// between its rows must be unwritten.
template <typename Expected>
std::string check_matrix(const Memory &memory, const Matrix &matrix, Expected expected) {
  const Buffer &buffer = memory[matrix.buffer];
  for (size_t i = 0; i < buffer.elements.size(); i++) {
    int64_t row = int64_t(i) / matrix.ld, column = int64_t(i) % matrix.ld;
    bool is_poison = buffer.elements[i].poison, in_a_gap = column >= matrix.columns;
    // Compare values, not bits: a sum may be -0.
    if (is_poison != in_a_gap ||
        (!is_poison && value_at(memory, matrix, row, column) != expected(row, column)))
      return buffer.name + " at row " + std::to_string(row) + ", column " + std::to_string(column) +
             " is not what the definition of the kernel gives";
  }
  return "";
}

// The grid of most launches.
inline constexpr int grid_x = 2, grid_y = 3;

inline Element integer(int64_t value) { return Element::of_integer(value); }

inline int64_t distance_between_rows(int64_t columns, int64_t multiple) {
  return (columns / multiple + 1) * multiple;
}

/// Whether the kernel transposes that operand: USE_A = ^a.
inline bool is_transposed(const Variant &variant, const char *macro) {
  return variant[macro].find('^') != std::string::npos;
}

using Steps = std::vector<int>;

/// The error in a buffer, or "". It must have these values and no others.
std::string check_elements(const Memory &memory, int buffer,
                           const std::map<size_t, double> &expected);

/// A GEMM: parameters A, B, C, M, N, K, lda, ldb, ldc.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  bool transposed_a = false, transposed_b = false;
  int64_t multiple = 8;                             // the leading dimensions are multiples of this
  bool activation = false;                          // C = max(A B, 0)
  int64_t left_out = 0;                             // number of last elements along K to ignore
  std::optional<Numbers> factors = {}, result = {}; // types of A and B, and of C; default: TYPE
};
Run product(const Variant &variant, std::mt19937 &random, const MatmulShape &shape);

inline MatmulShape in_layouts_of(const Variant &variant) {
  MatmulShape shape;
  shape.transposed_a = is_transposed(variant, "USE_A");
  shape.transposed_b = is_transposed(variant, "USE_B");
  return shape;
}

/// One GEMM run per number of K tiles.
template <Run make(const Variant &, std::mt19937 &, int)>
std::vector<Run> products(const Variant &variant, std::mt19937 &random, const Steps &steps) {
  std::vector<Run> runs;
  for (int count : steps)
    runs.push_back(make(variant, random, count));
  return runs;
}

/// The number of elements in 16 bytes.
inline int64_t sixteen_bytes(Elem elem) { return 16 / int64_t(ir::bytes_of(elem)); }

/// The divisibility that SIZES (kernels/sizes.tch) assumes.
inline int64_t promised_multiple(const Variant &variant) {
  return variant["PROMISE"].empty() ? 1 : sixteen_bytes(variant.type());
}

// ---- kernels by family, one file per family ----

std::vector<TestKernel> attentions();
std::vector<TestKernel> convolutions();
std::vector<TestKernel> dropouts();
std::vector<TestKernel> elementwise_kernels();
std::vector<TestKernel> more_products();
std::vector<TestKernel> normalizations();
std::vector<TestKernel> reductions();
std::vector<TestKernel> softmaxes_and_losses();
std::vector<TestKernel> transpositions();

} // namespace tritonc::test
