// wgmma: asynchronous matmuls of a warpgroup on its tensor cores (PTX ISA, "Asynchronous Warpgroup
// Level Matrix Multiply-Accumulate"); and setmaxnreg.
//
// A wgmma reads shared memory and writes its accumulators at some time before a wgmma_wait for its
// group returns. Until then, threads must not use the accumulator registers. So a wgmma returns
// poison: NaN values that encode the wgmma. A later wgmma that accumulates to them, and wgmma_wait,
// recognize the poison. The wait for an ended group hands out the values.
//
// Each warp has its own tensor core, which computes 16 of the 64 rows. It reads 16 rows of A and
// all of B: at once (Async::early) or when the warp waits (late). A wait by one warp does not order
// the reads by the other warps' tensor cores.

#pragma once

#include "../record.h"
#include "element_types.h"

#include <cstdint>
#include <type_traits>

namespace tritonc::emulator::ops {

/// Required before the first wgmma, and after threads have used accumulators or registers with A.
void wgmma_fence(const WarpCall<void()> &call);
/// Makes a group of the wgmma since the last commit.
void wgmma_commit(const WarpCall<void()> &call);

namespace warpgroup {

/// (n, pending, accumulators): waits until all groups but the last `pending` have ended.
template <typename T> void wait(const WarpCall<Fragment<T>(uint32_t, uint32_t, Fragment<T>)> &call);
extern template void wait(const WarpCall<Fragment<float>(uint32_t, uint32_t, Fragment<float>)> &);
extern template void
wait(const WarpCall<Fragment<int32_t>(uint32_t, uint32_t, Fragment<int32_t>)> &);

/// One wgmma of a warpgroup with its operands.
struct Request {
  const char *what;
  Thread *threads; // the first of 128
  const Site &site;
  models::Wgmma instruction;
  uint64_t a, b;                // descriptors
  const Words<4> *a_words[128]; // A, if in registers
  void *accumulators[128];
  void *results[128];
};
void issue(const Request &request);
[[noreturn]] void operands_differ(Thread &thread, const Site &site, const char *what,
                                  const char *operand);

template <typename A> inline constexpr bool is_16_bit = models::bytes_of(A::input) == 2;
template <typename A>
using Element = std::conditional_t<models::is_integer(A::input), int32_t, float>;

/// "wgmma_f16", "wgmma_e4m3_e5m2_ra" ...
const char *name_of(models::Input a, models::Input b, bool a_in_registers);

// Indices of operands; -1 = none.
struct Places {
  int scale_d, transpose_a, transpose_b, accumulators;
};

template <typename A, typename B, bool from_registers, Places places, typename Call>
void perform(const Call &call) {
  Request request = {name_of(A::input, B::input, from_registers),
                     &call.thread(0),
                     call.site,
                     {},
                     0,
                     0,
                     {},
                     {},
                     {}};
  // The operand must be equal in all threads.
  auto same = [&]<size_t i>(std::integral_constant<size_t, i>, const char *operand) {
    auto value = call.template operand<i>(0);
    for (unsigned lane = 1; lane < warpgroup_size; lane++)
      if (call.template operand<i>(lane) != value)
        operands_differ(call.thread(lane), call.site, request.what, operand);
    return value;
  };
  models::Wgmma &instruction = request.instruction;
  instruction.a = A::input;
  instruction.b = B::input;
  instruction.a_in_registers = from_registers;
  instruction.n = 2 * same(std::integral_constant<size_t, 0>(), "number of registers");
  if constexpr (!from_registers)
    request.a = same(std::integral_constant<size_t, 1>(), "matrix descriptor of A");
  request.b = same(std::integral_constant<size_t, 2>(), "matrix descriptor of B");
  instruction.add = same(std::integral_constant<size_t, size_t(places.scale_d)>(), "scale-d") != 0;
  if constexpr (places.transpose_a >= 0)
    if (same(std::integral_constant<size_t, size_t(places.transpose_a)>(), "trans-a"))
      instruction.major_a = models::Major::mn;
  if constexpr (places.transpose_b >= 0)
    if (same(std::integral_constant<size_t, size_t(places.transpose_b)>(), "trans-b"))
      instruction.major_b = models::Major::mn;
  for (unsigned lane = 0; lane < warpgroup_size; lane++) {
    if constexpr (from_registers)
      request.a_words[lane] = &call.template operand<1>(lane);
    request.accumulators[lane] = call.template operand<size_t(places.accumulators)>(lane).data;
    request.results[lane] = call.result(lane).data;
  }
  issue(request);
}

template <typename A, typename B, bool transposable = is_16_bit<A>> struct Shared {
  using Acc = Fragment<Element<A>>;
  static void run(const WarpgroupCall<Acc(uint32_t, uint64_t, uint64_t, uint32_t, Acc)> &call) {
    perform<A, B, false, Places{3, -1, -1, 4}>(call);
  }
};
template <typename A, typename B> struct Shared<A, B, true> {
  using Acc = Fragment<Element<A>>;
  static void run(const WarpgroupCall<Acc(uint32_t, uint64_t, uint64_t, uint32_t, uint32_t,
                                          uint32_t, Acc)> &call) {
    perform<A, B, false, Places{3, 4, 5, 6}>(call);
  }
};
template <typename A, typename B, bool transposable = is_16_bit<A>> struct Registers {
  using Acc = Fragment<Element<A>>;
  static void run(const WarpgroupCall<Acc(uint32_t, Words<4>, uint64_t, uint32_t, Acc)> &call) {
    perform<A, B, true, Places{3, -1, -1, 4}>(call);
  }
};
template <typename A, typename B> struct Registers<A, B, true> {
  using Acc = Fragment<Element<A>>;
  static void
  run(const WarpgroupCall<Acc(uint32_t, Words<4>, uint64_t, uint32_t, uint32_t, Acc)> &call) {
    perform<A, B, true, Places{3, -1, 4, 5}>(call);
  }
};

} // namespace warpgroup

/// `Sum` is f32 or s32. Waits, and returns the accumulators (the last operand) with their values if
/// their group has ended. They may belong to several wgmma, one after the other.
template <typename Sum> inline constexpr auto wgmma_wait = warpgroup::wait<typename Sum::Element>;
/// (n, a, b, scale_d, [trans_a, trans_b,] accumulators): A and B by descriptors. With scale_d 0,
/// the values of the accumulators are ignored.
template <typename A, typename B = A> inline constexpr auto wgmma = warpgroup::Shared<A, B>::run;
/// (n, a, b, scale_d, [trans_b,] accumulators): A from registers.
template <typename A, typename B = A>
inline constexpr auto wgmma_ra = warpgroup::Registers<A, B>::run;

/// setmaxnreg: `inc` waits until the block has enough registers left, then gives the warpgroup more
/// registers per thread. `dec` returns registers to the block.
void setmaxnreg_inc(const WarpgroupCall<void(uint32_t)> &call);
void setmaxnreg_dec(const WarpgroupCall<void(uint32_t)> &call);

} // namespace tritonc::emulator::ops
