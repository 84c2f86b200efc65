// Matrix operations of a warp: ldmatrix, stmatrix, mma.sync (PTX ISA, "Warp Level Matrix
// Multiply-Accumulate Instructions"), and conversions to tf32 and fp8.
//
// The collective operations run once for the whole warp; models/ has the arithmetic.

#pragma once

#include "../models/mma.h"
#include "../record.h"
#include "element_types.h"

#include <cstdint>
#include <type_traits>

namespace tritonc::emulator::ops {

namespace matrices {

/// n registers as a record stores them.
template <typename T, unsigned n> using Packed = std::conditional_t<n == 1, T, Vector<T, n>>;

template <typename T> T *data_of(T &one) { return &one; }
template <typename T> const T *data_of(const T &one) { return &one; }
template <typename T, size_t n> T *data_of(Vector<T, n> &several) { return several.data(); }
template <typename T, size_t n> const T *data_of(const Vector<T, n> &several) {
  return several.data();
}

/// Rows of 16 bytes at `addresses`[8 m + i]: row i of matrix m. Registers: [lane], `count` each.
void load(Warp &warp, const Site &site, unsigned count, bool transposed, const uint32_t *addresses,
          uint32_t *const registers[32]);
void store(Warp &warp, const Site &site, unsigned count, bool transposed, const uint32_t *addresses,
           const uint32_t *const registers[32]);

/// The accumulation rules of the GPU that the code was compiled for.
models::Accumulation accumulation(const Cluster &cluster, models::Input a);

template <typename Operand, typename Result, typename Call>
models::WarpRegisters<Operand, Result> registers_of(const Call &call) {
  models::WarpRegisters<Operand, Result> registers;
  for (unsigned lane = 0; lane < warp_size; lane++) {
    registers.a[lane] = data_of(call.template operand<0>(lane));
    registers.b[lane] = data_of(call.template operand<1>(lane));
    // Integers are words in records.
    registers.c[lane] = reinterpret_cast<const Result *>(data_of(call.template operand<2>(lane)));
    registers.d[lane] = reinterpret_cast<Result *>(data_of(call.result(lane)));
  }
  return registers;
}

/// Types of the operands of an mma.
template <unsigned m, unsigned k, typename A> struct Types {
  static constexpr unsigned bytes = models::bytes_of(A::input);
  static constexpr bool integer = models::is_integer(A::input);
  using Operand = uint32_t;
  using AType = Packed<uint32_t, m * k * bytes / 128>;
  using BType = Packed<uint32_t, 8 * k * bytes / 128>;
  using Sum = Packed<std::conditional_t<integer, uint32_t, float>, m * 8 / 32>;
};
template <unsigned m, unsigned k> struct Types<m, k, f64> {
  using AType = Packed<double, m * k / 32>;
  using BType = Packed<double, 8 * k / 32>;
  using Sum = Packed<double, m * 8 / 32>;
};

template <unsigned m, unsigned k, typename A, typename B> struct Mma {
  using T = Types<m, k, A>;
  using Call = WarpCall<typename T::Sum(typename T::AType, typename T::BType, typename T::Sum)>;
  static void run(const Call &call) {
    if constexpr (std::is_same_v<A, f64>)
      models::mma({m, 8, k}, registers_of<double, double>(call));
    else if constexpr (T::integer)
      models::mma({m, 8, k}, A::input, B::input, registers_of<uint32_t, int32_t>(call));
    else
      models::mma(k, A::input, B::input, accumulation(call.cluster(), A::input),
                  registers_of<uint32_t, float>(call));
  }
};

} // namespace matrices

/// `count` matrices of 8 x 8 16-bit elements; lane 8 m + i gives the address of row i of matrix m.
template <unsigned count, bool transposed>
void ldmatrix(const WarpCall<matrices::Packed<uint32_t, count>(uint32_t)> &call) {
  uint32_t addresses[warp_size], *registers[warp_size];
  for (unsigned lane = 0; lane < warp_size; lane++) {
    addresses[lane] = call.template operand<0>(lane);
    registers[lane] = matrices::data_of(call.result(lane));
  }
  matrices::load(call.warp(), call.site, count, transposed, addresses, registers);
}

template <unsigned count, bool transposed>
void stmatrix(const WarpCall<void(uint32_t, matrices::Packed<uint32_t, count>)> &call) {
  uint32_t addresses[warp_size];
  const uint32_t *registers[warp_size];
  for (unsigned lane = 0; lane < warp_size; lane++) {
    addresses[lane] = call.template operand<0>(lane);
    registers[lane] = matrices::data_of(call.template operand<1>(lane));
  }
  matrices::store(call.warp(), call.site, count, transposed, addresses, registers);
}

/// D = A B + C, m x n x k.
template <unsigned m, unsigned n, unsigned k, typename A, typename B = A>
inline constexpr auto mma = [] {
  static_assert(n == 8);
  return matrices::Mma<m, k, A, B>::run;
}();

uint32_t cvt_rna_tf32(Thread &thread, const Site &site, float number);
uint32_t cvt_e4m3x2(Thread &thread, const Site &site, float low, float high);
uint32_t cvt_e5m2x2(Thread &thread, const Site &site, float low, float high);
uint32_t cvt_f16x2_e4m3x2(Thread &thread, const Site &site, uint32_t pair);

/// `number` as an addition returns it: a NaN becomes the NaN of the hardware.
float copy_f32(Thread &thread, const Site &site, float number);

} // namespace tritonc::emulator::ops
