// Maps kernel form, type and layout to the compiled kernels of CMakeLists.txt.

#include "matmul.h"

#include <bench_double.hpp>
#include <bench_exact.hpp>
#include <bench_float8.hpp>
#include <bench_forms.hpp>
#include <bench_int8.hpp>
#include <bench_main.hpp>
#include <bench_masked.hpp>
#include <bench_tf32.hpp>

#include <cstdint>
#include <stdexcept>

namespace bench {

namespace {

using tritonc::bfloat16;
using tritonc::half;

void require(tritonc::status status) {
  if (!status.ok())
    throw std::runtime_error(status.message().c_str());
}

template <typename Kernel>
typename Kernel::args arguments_of(const Row &row, const Operands &operands) {
  typename Kernel::args result = {};
  result.A = static_cast<decltype(result.A)>(operands.a);
  result.B = static_cast<decltype(result.B)>(operands.b);
  result.C = static_cast<decltype(result.C)>(operands.c);
  result.M = row.m;
  result.N = row.n;
  result.K = row.k;
  result.lda = row.lda();
  result.ldb = row.ldb();
  result.ldc = row.ldc();
  return result;
}

template <typename Kernel> Product make(const Row &row, const Operands &operands) {
  auto arguments = arguments_of<Kernel>(row, operands);
  Product result;
  result.launch = [=] { require(Kernel::launch({}, arguments)); };
  for (const typename Kernel::params &tile : Kernel::variants())
    result.tiles.emplace_back(std::to_string(tile.TM) + "x" + std::to_string(tile.TN) + "x" +
                                  std::to_string(tile.TK),
                              [=] { require(Kernel::launch({}, arguments, tile)); });
  return result;
}

template <typename T> std::optional<Product> baseline(const Row &row, const Operands &operands) {
  using namespace bench_main;
  if (row.a_transposed)
    return row.b_transposed ? make<matmul<T, A::T, B::T>>(row, operands)
                            : make<matmul<T, A::T, B::N>>(row, operands);
  return row.b_transposed ? make<matmul<T, A::N, B::T>>(row, operands)
                          : make<matmul<T, A::N, B::N>>(row, operands);
}

std::optional<Product> tf32(const Row &row, const Operands &operands) {
  using namespace bench_tf32;
  if (row.a_transposed)
    return std::nullopt;
  return row.b_transposed ? make<matmul_tf32<float, A::N, B::T>>(row, operands)
                          : make<matmul_tf32<float, A::N, B::N>>(row, operands);
}

std::optional<Product> exact(const Row &row, const Operands &operands) {
  using namespace bench_exact;
  if (layout(row) != "NN")
    return std::nullopt;
  return make<matmul<float, A::N, B::N>>(row, operands);
}

std::optional<Product> doubles(const Row &row, const Operands &operands) {
  using namespace bench_double;
  if (layout(row) != "NN")
    return std::nullopt;
  return make<matmul_double<A::N, B::N>>(row, operands);
}

std::optional<Product> integers(const Row &row, const Operands &operands) {
  using namespace bench_int8;
  if (layout(row) != "NT")
    return std::nullopt;
  return make<matmul_int8<std::int8_t, A::N, B::T>>(row, operands);
}

std::optional<Product> small(const Row &row, const Operands &operands) {
  using namespace bench_float8;
  if (layout(row) != "NT")
    return std::nullopt;
  return make<matmul_float8<tritonc::float8_e4m3, A::N, B::T>>(row, operands);
}

std::optional<Product> baseline(const Row &row, const Operands &operands) {
  switch (row.type) {
  case Type::float16:
    return baseline<half>(row, operands);
  case Type::bfloat16:
    return baseline<bfloat16>(row, operands);
  case Type::tf32:
    return tf32(row, operands);
  case Type::float32:
    return exact(row, operands);
  case Type::float64:
    return doubles(row, operands);
  case Type::int8:
    return integers(row, operands);
  case Type::e4m3:
    return small(row, operands);
  }
  return std::nullopt;
}

} // namespace

std::optional<Product> matmul_of(const Row &row, const Operands &operands) {
  if (row.form == Form::plain)
    return baseline(row, operands);
  if (row.type != Type::float16 || layout(row) != "NN")
    return std::nullopt;
  switch (row.form) {
  case Form::masked:
    return make<bench_masked::matmul_masked<half>>(row, operands);
  case Form::prefetch:
    return make<bench_forms::matmul_prefetch<half>>(row, operands);
  case Form::remat:
    return make<bench_forms::matmul_remat<half, bench_forms::A::N, bench_forms::B::N>>(row,
                                                                                       operands);
  case Form::plain:
    break;
  }
  return std::nullopt;
}

} // namespace bench
