// Makes an operation from a C++ function: the record layout and the rendezvous of the threads.
//
// A record holds the operands in order, then the result, as a C struct would. The types:
//
//     table            C++
//     i32, imm         uint32_t or int32_t
//     below(n)         uint32_t or int32_t
//     i64              uint64_t
//     f32, f64         float, double
//     gptr, ptr        void * or const void *
//     v4i32, v2i32     Words<4>, Words<2>
//     v4f32, v2f64     Vector<float, 4>, Vector<double, 2>
//     acc, iacc        Fragment<float>, Fragment<int32_t>
//
// `acc` and `iacc` are the last operand. The first operand, `imm n`, is their number of elements.
//
//     uint32_t tid_x(Thread &thread, const Site &site);
//     ... alone<tid_x>                      // each thread runs it alone and may suspend
//     void shfl_bfly(const WarpCall<uint32_t(uint32_t, uint32_t)> &call) {
//       for (unsigned lane = 0; lane < warp_size; lane++)
//         call.result(lane) = call.operand<0>(lane ^ call.operand<1>(lane));
//     }
//     ... by_warp<shfl_bfly>                // runs once, when all 32 threads have arrived
//
// All threads must reach the same operation at the same source location. If some threads reach
// another operation or have exited, the launch ends with a report (`divergence`). The function runs
// on the stack of the last thread to arrive and must not suspend it. `call.suspend(...)` makes all
// the threads wait after the function returns. A call with several records is one rendezvous; the
// function then runs once per record.
//
// A collective operation orders no memory accesses; only barriers and warp_sync do.

#pragma once

#include "machine.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace tritonc::emulator {

template <typename T, size_t n> using Vector = std::array<T, n>;
template <size_t n> using Words = Vector<uint32_t, n>;

/// A thread's part of a matrix in the record.
template <typename T> struct Fragment {
  T *data;
  uint32_t size;
  T &operator[](size_t i) const { return data[i]; }
  T *begin() const { return data; }
  T *end() const { return data + size; }
};

template <typename T> inline constexpr bool is_fragment = false;
template <typename T> inline constexpr bool is_fragment<Fragment<T>> = true;

namespace record {

// Size and alignment of an operand or result. Fragments have the alignment of an element; their
// size is not known at compile time.
template <typename T> inline constexpr size_t size = sizeof(T);
template <typename T> inline constexpr size_t align = alignof(T);
template <typename T> inline constexpr size_t size<Fragment<T>> = 0;
template <typename T> inline constexpr size_t align<Fragment<T>> = alignof(T);
template <> inline constexpr size_t size<void> = 0;
template <> inline constexpr size_t align<void> = 1;

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

} // namespace record

/// Offsets of the operands and the result in a record.
template <typename Signature> struct Layout;
template <typename R, typename... Operands> struct Layout<R(Operands...)> {
  static constexpr size_t count = sizeof...(Operands);
  using Tuple = std::tuple<Operands...>;
  template <size_t i> using Operand = std::tuple_element_t<i, Tuple>;

  static constexpr size_t alignment =
      std::max({size_t(4), record::align<R>, record::align<Operands>...});
  static constexpr bool has_fragment = is_fragment<R> || (is_fragment<Operands> || ...);

  /// [i]: operand i; [count]: the end of the last operand.
  static constexpr std::array<size_t, count + 1> offsets = [] {
    constexpr size_t sizes[] = {record::size<Operands>..., 0};
    constexpr size_t aligns[] = {record::align<Operands>..., 1};
    std::array<size_t, count + 1> result{};
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
      result[i] = record::round_up(end, aligns[i]);
      end = result[i] + sizes[i];
    }
    result[count] = end;
    return result;
  }();

  /// `n`: elements per fragment.
  static constexpr size_t result_offset(size_t n) {
    size_t end = offsets[count];
    if constexpr ((is_fragment<Operands> || ...))
      end += 4 * n;
    return record::round_up(end, record::align<R>);
  }
  static constexpr size_t stride(size_t n) {
    size_t end = result_offset(n) + record::size<R>;
    if constexpr (is_fragment<R>)
      end += 4 * n;
    return record::round_up(end, alignment);
  }

  /// Elements per fragment of the record.
  static size_t elements([[maybe_unused]] const std::byte *record) {
    if constexpr (has_fragment) {
      static_assert(sizeof(Operand<0>) == 4, "the first operand is the number of elements");
      uint32_t n;
      std::memcpy(&n, record, 4);
      return n;
    } else {
      return 0;
    }
  }
  template <size_t i> static decltype(auto) operand(std::byte *record) {
    using T = Operand<i>;
    if constexpr (is_fragment<T>) {
      static_assert(i + 1 == count, "a fragment is the last operand");
      using Element = std::remove_reference_t<decltype(*T::data)>;
      return T{reinterpret_cast<Element *>(record + offsets[i]), uint32_t(elements(record))};
    } else {
      return *reinterpret_cast<const T *>(record + offsets[i]); // as const T &
    }
  }
  static decltype(auto) result(std::byte *record) {
    size_t n = elements(record);
    if constexpr (is_fragment<R>) {
      using Element = std::remove_reference_t<decltype(*R::data)>;
      return R{reinterpret_cast<Element *>(record + result_offset(n)), uint32_t(n)};
    } else {
      return *reinterpret_cast<R *>(record + result_offset(n)); // as R &
    }
  }
};

/// An operation's entry point and the size of its records (with fragments of one element).
struct Operation {
  abi::host_operation function;
  uint32_t operands;
  uint32_t stride;
};

/// One collective operation: all threads of a warp or warpgroup with one record each.
template <typename Signature, unsigned n> class Call {
  using Records = Layout<Signature>;

public:
  static constexpr unsigned threads = n;

  Call(Thread *first, void *const *records, size_t offset, const Site &site)
      : site(site), first_(first), records_(records), offset_(offset) {}

  /// `lane` is the thread's index in the warp or, 0 to 127, in the warpgroup.
  Thread &thread(unsigned lane) const { return first_[lane]; }
  template <size_t i> decltype(auto) operand(unsigned lane) const {
    return Records::template operand<i>(record(lane));
  }
  decltype(auto) result(unsigned lane) const { return Records::result(record(lane)); }

  /// Makes all `n` threads wait after the operation, until `wake_warp` for each warp or `wake` for
  /// each thread.
  void suspend(const Waiting &waiting) const {
    first_->warp->suspended = true;
    first_->warp->waiting = waiting;
  }

  Cluster &cluster() const { return *first_->cluster; }
  Block &block() const { return *first_->block; }
  Warp &warp() const { return *first_->warp; } // of a warpgroup: its first warp

  const Site &site;

private:
  std::byte *record(unsigned lane) const {
    return static_cast<std::byte *>(records_[lane]) + offset_;
  }
  Thread *first_;
  void *const *records_;
  size_t offset_;
};

template <typename Signature> using WarpCall = Call<Signature, warp_size>;
template <typename Signature> using WarpgroupCall = Call<Signature, warpgroup_size>;

// ---- implementation ----

namespace record {

extern const Site unknown_site; // {"", 0, 0}

/// The thread arrives at `operation`. True: it is the last to arrive; the caller now runs the
/// operation and then calls `leave_...`. False: another thread ran it.
bool meet_warp(Thread &thread, abi::host_operation operation, void *records, uint32_t count,
               const Site &site);
void leave_warp(Thread &thread);
bool meet_warpgroup(Thread &thread, abi::host_operation operation, void *records, uint32_t count,
                    const Site &site);
void leave_warpgroup(Thread &thread);

template <auto function, typename F> struct Alone;
template <auto function, typename R, typename... Operands>
struct Alone<function, R (*)(Thread &, const Site &, Operands...)> {
  using Records = Layout<R(Operands...)>;

  static void run(void *pointer, void *records, uint32_t count, const Site *place) {
    Thread &thread = *static_cast<Thread *>(pointer);
    const Site &site = place ? *place : unknown_site;
    auto *record = static_cast<std::byte *>(records);
    for (; count > 0; count--) {
      call(thread, site, record, std::index_sequence_for<Operands...>());
      record += Records::stride(Records::count || is_fragment<R> ? Records::elements(record) : 0);
    }
  }
  template <size_t... i>
  static void call(Thread &thread, const Site &site, std::byte *record, std::index_sequence<i...>) {
    if constexpr (std::is_void_v<R>) {
      function(thread, site, Records::template operand<i>(record)...);
    } else if constexpr (is_fragment<R>) {
      // A fragment result would have to be filled in place, which only collective operations do.
      static_assert(!is_fragment<R>, "an operation with a fragment as its result is collective");
    } else {
      Records::result(record) = function(thread, site, Records::template operand<i>(record)...);
    }
  }
};

template <auto function, typename F> struct Together;
template <auto function, typename Signature, unsigned n>
struct Together<function, void (*)(const Call<Signature, n> &)> {
  using Records = Layout<Signature>;

  static void run(void *pointer, void *records, uint32_t count, const Site *place) {
    Thread &thread = *static_cast<Thread *>(pointer);
    const Site &site = place ? *place : unknown_site;
    if constexpr (n == warp_size) {
      if (!meet_warp(thread, run, records, count, site))
        return;
      call(thread.warp->threads, thread.warp->records, count, site);
      leave_warp(thread);
    } else {
      if (!meet_warpgroup(thread, run, records, count, site))
        return;
      unsigned group = thread.id / warpgroup_size;
      call(thread.block->threads + group * warpgroup_size, thread.block->warpgroups[group].records,
           count, site);
      leave_warpgroup(thread);
    }
  }
  static void call(Thread *first, void *const *records, uint32_t count, const Site &site) {
    size_t offset = 0;
    for (; count > 0; count--) {
      function(Call<Signature, n>(first, records, offset, site));
      if constexpr (Records::has_fragment)
        offset += Records::stride(Records::elements(static_cast<std::byte *>(records[0]) + offset));
      else
        offset += Records::stride(0);
    }
  }
};

} // namespace record

/// `R function(Thread &, const Site &, operands...)`: each thread runs it alone.
template <auto function>
inline constexpr Operation alone = {
    record::Alone<function, decltype(function)>::run,
    uint32_t(record::Alone<function, decltype(function)>::Records::count),
    uint32_t(record::Alone<function, decltype(function)>::Records::stride(1))};

/// `void function(const WarpCall<R(operands...)> &)`: runs once for the warp.
template <auto function>
inline constexpr Operation by_warp = {
    record::Together<function, decltype(function)>::run,
    uint32_t(record::Together<function, decltype(function)>::Records::count),
    uint32_t(record::Together<function, decltype(function)>::Records::stride(1))};

/// `void function(const WarpgroupCall<R(operands...)> &)`: runs once for the warpgroup.
template <auto function>
inline constexpr Operation by_warpgroup = {
    record::Together<function, decltype(function)>::run,
    uint32_t(record::Together<function, decltype(function)>::Records::count),
    uint32_t(record::Together<function, decltype(function)>::Records::stride(1))};

} // namespace tritonc::emulator
