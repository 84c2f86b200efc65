// What the kernels of test_kernels.h are given, and how what they leave is looked at.

#pragma once

#include "interpreter/numbers.h"
#include "interpreter/test_kernels.h"

#include <map>

namespace tritonc::test {

using namespace interpreter;
using ir::Elem;

/// How a matrix has its numbers.
struct Numbers {
  Elem elem;
  bool is_unsigned = false;
};

/// Small integers: sums and products of them are exact in every type and in every order.
inline double draw(std::mt19937 &random) { return double(int(random() % 9) - 4); }

/// Where sums are integers, every one of the numbers.
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

/// A matrix in memory, rows `ld` elements apart, which ends with its last element.
struct Matrix {
  int buffer = -1;
  int64_t rows = 0, columns = 0, ld = 0;
  bool is_unsigned = false;

  size_t at(int64_t row, int64_t column) const { return size_t(row * ld + column); }
  size_t extent() const { return rows && columns ? at(rows - 1, columns - 1) + 1 : 0; }
};

/// One with values drawn, or without any.
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

/// What is wrong with `matrix`, whose elements should be what `expected(row, column)` says, and
/// between whose rows nothing should have been written.
template <typename Expected>
std::string check_matrix(const Memory &memory, const Matrix &matrix, Expected expected) {
  const Buffer &buffer = memory[matrix.buffer];
  for (size_t i = 0; i < buffer.elements.size(); i++) {
    int64_t row = int64_t(i) / matrix.ld, column = int64_t(i) % matrix.ld;
    bool is_poison = buffer.elements[i].poison, in_a_gap = column >= matrix.columns;
    // Numbers, not bits: a sum may be -0.
    if (is_poison != in_a_gap ||
        (!is_poison && value_at(memory, matrix, row, column) != expected(row, column)))
      return buffer.name + " at row " + std::to_string(row) + ", column " + std::to_string(column) +
             " is not what the definition of the kernel gives";
  }
  return "";
}

// Of most launches.
inline constexpr int grid_x = 2, grid_y = 3;

inline Element integer(int64_t value) { return Element::of_integer(value); }

inline int64_t distance_between_rows(int64_t columns, int64_t multiple) {
  return (columns / multiple + 1) * multiple;
}

/// Whether the kernel uses that operand as it is not stored: USE_A = ^a.
inline bool is_transposed(const Variant &variant, const char *macro) {
  return variant[macro].find('^') != std::string::npos;
}

using Steps = std::vector<int>;

/// What is wrong with a buffer that should have these elements, and no values in others.
std::string check_elements(const Memory &memory, int buffer,
                           const std::map<size_t, double> &expected);

/// A matrix product: parameters A, B, C, M, N, K, lda, ldb, ldc.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  bool transposed_a = false, transposed_b = false;
  int64_t multiple = 8;    // the distances between rows are multiples of this
  bool activation = false; // C is the larger one of the product and 0
  int64_t left_out = 0;    // so many of K, at its end, do not count
  std::optional<Numbers> factors = {}, result = {}; // if they are not of TYPE
};
Run product(const Variant &variant, std::mt19937 &random, const MatmulShape &shape);

inline MatmulShape in_layouts_of(const Variant &variant) {
  MatmulShape shape;
  shape.transposed_a = is_transposed(variant, "USE_A");
  shape.transposed_b = is_transposed(variant, "USE_B");
  return shape;
}

/// A product of each number of steps.
template <Run make(const Variant &, std::mt19937 &, int)>
std::vector<Run> products(const Variant &variant, std::mt19937 &random, const Steps &steps) {
  std::vector<Run> runs;
  for (int count : steps)
    runs.push_back(make(variant, random, count));
  return runs;
}

/// How many elements are 16 bytes.
inline int64_t sixteen_bytes(Elem elem) { return 16 / int64_t(ir::bytes_of(elem)); }

/// What multiples SIZES (kernels/sizes.tch) promises.
inline int64_t promised_multiple(const Variant &variant) {
  return variant["PROMISE"].empty() ? 1 : sixteen_bytes(variant.type());
}

// ---- kernels by family, each in a file of its own: test_kernels_<family>.cpp ----

std::vector<TestKernel> attentions();
std::vector<TestKernel> convolutions();
std::vector<TestKernel> dropouts();
std::vector<TestKernel> more_products();
std::vector<TestKernel> normalizations();
std::vector<TestKernel> reductions();
std::vector<TestKernel> softmaxes_and_losses();
std::vector<TestKernel> transpositions();

} // namespace tritonc::test
