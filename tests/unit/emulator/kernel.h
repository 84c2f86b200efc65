// Hand-written C++ kernels for tests of the emulator. They call the operations, as the generator's
// host code does, so a test controls exactly what each thread does.
//
//     Kernel k;
//     k.threads = 64;
//     k.shared_bytes = 256;
//     float *x = k.parameter<float>("x", {1, 2, 3});
//     k.run([=](Gpu &gpu) {
//       gpu.store_shared<float>(4 * gpu.tid_x(), gpu.load(x));
//       gpu.barrier();
//     });
//     CHECK(k.reports() == "");
//
// Each operation of target_ops.def is a member function of Gpu with the same name and the operands
// of its row. The last argument is the source line; the default is the C++ line. The source file of
// all kernels is "k.tc".
//
// In a kernel, no object that owns memory may live across an operation, because fibers are not
// unwound when a launch ends early. (The only effect is a leak, which sanitizers report.)

#pragma once

#include "emulator.h"
#include "global_memory.h"
#include "operations.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tritonc::emulator::test {

/// `acc` and `iacc`: n registers of a thread.
template <typename T> struct Registers {
  uint32_t n = 0;
  T data[128] = {};
  T &operator[](size_t i) { return data[i]; }
  const T &operator[](size_t i) const { return data[i]; }
};

template <typename T> inline constexpr bool is_registers = false;
template <typename T> inline constexpr bool is_registers<Registers<T>> = true;

/// The rows of target_ops.def.
enum class Row : size_t {
#define TARGET_OP(name, ...) name,
#include "backend/target_ops.def"
};

/// The index of an operation in the table that test kernels receive. Ends the process if the
/// emulator does not have the operation.
size_t operation_number(Row row);
size_t operation_number(std::string_view hook);

/// The site "k.tc:<line>:1".
const abi::host_site &site_of_line(uint32_t line);
inline constexpr uint32_t site_lines = 4096;

class Gpu;

namespace table {

/// An operation of the table as a C++ function.
template <typename Signature> class Function;
template <typename R, typename... Operands> class Function<R(Operands...)> {
public:
  Function(Gpu &gpu, Row row) : gpu_(gpu), row_(row) {}

  R operator()(const Operands &...operands, uint32_t line = __builtin_LINE()) const {
    if constexpr (std::is_void_v<R>) {
      call(1, line, [&](uint32_t, auto &&put) { (put(operands), ...); }, nullptr);
    } else {
      R result{};
      if constexpr (is_registers<R>)
        result.n = last(operands...).n;
      call(1, line, [&](uint32_t, auto &&put) { (put(operands), ...); }, &result);
      return result;
    }
  }

  /// Runs several independent operations in one call, like the generator. Each element of
  /// `operands` is a tuple of operands.
  void many(const std::tuple<Operands...> *operands, R *results, uint32_t count,
            uint32_t line = __builtin_LINE()) const {
    call(
        count, line,
        [&](uint32_t i, auto &&put) {
          std::apply([&](const Operands &...each) { (put(each), ...); }, operands[i]);
        },
        results);
  }

private:
  template <typename T> static const T &last(const T &value) { return value; }
  template <typename T, typename... More> static const auto &last(const T &, const More &...more) {
    return last(more...);
  }

  template <typename T> static size_t bytes_of(const T &value) {
    if constexpr (is_registers<T>)
      return 4 * value.n;
    else
      return sizeof value;
  }
  template <typename T> static const void *data_of(const T &value) {
    if constexpr (is_registers<T>)
      return value.data;
    else
      return &value;
  }
  template <typename T> static constexpr size_t align_of() {
    return is_registers<T> ? 4 : alignof(T);
  }

  template <typename Fill, typename Results>
  void call(uint32_t count, uint32_t line, Fill fill, Results results) const;

  Gpu &gpu_;
  const Row row_;
};

// The type names of the table's columns.
using none = void;
using i32 = uint32_t;
using imm = uint32_t;
using i64 = uint64_t;
using f32 = float;
using f64 = double;
using gptr = const void *;
using ptr = const void *;
using v2i32 = Words<2>;
using v4i32 = Words<4>;
using v2f32 = Vector<float, 2>;
using v4f32 = Vector<float, 4>;
using v2f64 = Vector<double, 2>;
using v4f64 = Vector<double, 4>;
using v8f64 = Vector<double, 8>;
using acc = Registers<float>;
using iacc = Registers<int32_t>;
#define below(n) i32

class Operations {
public:
  explicit Operations(Gpu &gpu) : gpu_(gpu) {}
  Gpu &gpu_;

#define TARGET_OP(name, result, operands, ...) Function<result operands> name{gpu_, Row::name};
#include "backend/target_ops.def"
};
#undef below

} // namespace table

/// The GPU as one thread sees it.
class Gpu : public table::Operations {
public:
  Gpu(const abi::host_operation *operations, abi::host_thread *thread, void *const *arguments)
      : Operations(*this), operations_(operations), thread_(thread), arguments_(arguments) {}

  uint32_t shared_base() const { return thread_->shared_base; }

  template <typename T> T argument(size_t i) const {
    T value;
    std::memcpy(&value, arguments_[i], sizeof value);
    return value;
  }

  // Memory accesses like those of host code: first the hook, then the access.
  template <typename T> T load(const T *address, uint32_t line = __builtin_LINE()) {
    hook("load_global", address, sizeof(T), alignof(T), line);
    return *address;
  }
  template <typename T>
  void store(T *address, std::type_identity_t<T> value, uint32_t line = __builtin_LINE()) {
    hook("store_global", address, sizeof(T), alignof(T), line);
    *address = value;
  }
  template <typename T>
  T atomic_add(T *address, std::type_identity_t<T> value, uint32_t line = __builtin_LINE()) {
    hook("atomic_global", address, sizeof(T), alignof(T), line);
    return std::atomic_ref<T>(*address).fetch_add(value);
  }
  /// `offset` is relative to the block's shared memory.
  template <typename T> T load_shared(uint32_t offset, uint32_t line = __builtin_LINE()) {
    T *address = shared<T>(offset);
    hook("load_shared", address, sizeof(T), alignof(T), line);
    return *address;
  }
  template <typename T>
  void store_shared(uint32_t offset, std::type_identity_t<T> value,
                    uint32_t line = __builtin_LINE()) {
    T *address = shared<T>(offset);
    hook("store_shared", address, sizeof(T), alignof(T), line);
    *address = value;
  }
  template <typename T>
  T atomic_add_shared(uint32_t offset, std::type_identity_t<T> value,
                      uint32_t line = __builtin_LINE()) {
    T *address = shared<T>(offset);
    hook("atomic_shared", address, sizeof(T), alignof(T), line);
    return std::atomic_ref<T>(*address).fetch_add(value);
  }
  template <typename T> T load_generic(const T *address, uint32_t line = __builtin_LINE()) {
    hook("load_generic", address, sizeof(T), alignof(T), line);
    return *address;
  }
  template <typename T>
  void store_generic(T *address, std::type_identity_t<T> value, uint32_t line = __builtin_LINE()) {
    hook("store_generic", address, sizeof(T), alignof(T), line);
    *address = value;
  }
  template <typename T> T *shared(uint32_t offset) const {
    return reinterpret_cast<T *>(uintptr_t(thread_->shared_base + offset));
  }

  /// A loop iteration.
  void step(uint32_t line = __builtin_LINE()) {
    if (--thread_->steps_left < 0)
      call(operation_number("out_of_steps"), nullptr, 0, line);
  }

  void hook(std::string_view name, const void *address, uint32_t bytes, uint32_t alignment,
            uint32_t line) {
    call(operation_number(name), const_cast<void *>(address), bytes | alignment << 16, line);
  }
  void call(size_t operation, void *records, uint32_t count, uint32_t line) {
    operations_[operation](thread_, records, count, &site_of_line(line));
  }

private:
  const abi::host_operation *operations_;
  abi::host_thread *thread_;
  void *const *arguments_;
};

template <typename R, typename... Operands>
template <typename Fill, typename Results>
void table::Function<R(Operands...)>::call(uint32_t count, uint32_t line, Fill fill,
                                           Results results) const {
  constexpr size_t result_align = [] {
    if constexpr (std::is_void_v<R>)
      return size_t(4);
    else
      return align_of<R>();
  }();
  constexpr size_t alignment = std::max({size_t(4), result_align, align_of<Operands>()...});
  alignas(16) std::byte records[8192];
  size_t end = 0, result_at[128];
  for (uint32_t i = 0; i < count; i++) {
    fill(i, [&](const auto &value) {
      using T = std::remove_cvref_t<decltype(value)>;
      end = record::round_up(end, align_of<T>());
      std::memcpy(records + end, data_of(value), bytes_of(value));
      end += bytes_of(value);
    });
    if constexpr (!std::is_void_v<R>) {
      end = result_at[i] = record::round_up(end, result_align);
      end += bytes_of(results[i]);
    }
    end = record::round_up(end, alignment);
  }
  gpu_.call(operation_number(row_), records, count, line);
  if constexpr (!std::is_void_v<R>)
    for (uint32_t i = 0; i < count; i++)
      std::memcpy(const_cast<void *>(data_of(results[i])), records + result_at[i],
                  bytes_of(results[i]));
}

/// A kernel, its parameters, and its launch options.
class Kernel {
public:
  Kernel() = default;

  Dim3 grid, cluster;
  uint32_t threads = 32;
  uint32_t shared_bytes = 0;
  uint32_t blocks_per_sm = 0; // 0: one
  bool starts_early = false;
  std::string name = "k";
  Options options;
  GlobalMemory memory;
  Result result; // of the last run
  /// If set, returns the host code to launch instead of the kernel's own.
  std::function<abi::host_code(const abi::host_code &)> instead;

  /// Adds a pointer parameter to memory with these elements.
  template <typename T> T *parameter(std::string parameter_name, const std::vector<T> &elements) {
    T *begin = unwritten<T>(std::move(parameter_name), elements.size());
    std::memcpy(static_cast<void *>(begin), elements.data(), elements.size() * sizeof(T));
    memory.mark_initialized(begin, elements.size() * sizeof(T));
    return begin;
  }
  /// Adds a pointer parameter to `count` unwritten elements.
  template <typename T> T *unwritten(std::string parameter_name, size_t count) {
    T *begin = static_cast<T *>(memory.allocate(count * sizeof(T)));
    add(std::move(parameter_name), &begin, sizeof begin, true);
    return begin;
  }
  /// Adds a parameter that is not a pointer to the test's memory.
  template <typename T> void value(std::string parameter_name, const T &what) {
    add(std::move(parameter_name), &what, sizeof what, std::is_pointer_v<T>);
  }
  /// Names a range of shared memory.
  void buffer(std::string buffer_name, uint32_t offset, uint32_t bytes);

  /// Runs `body` in every thread.
  const Result &run(std::function<void(Gpu &)> body);

  /// The texts of the last run's reports, one per line.
  std::string reports() const;

private:
  void add(std::string parameter_name, const void *bytes, size_t size, bool is_pointer);

  struct Parameter {
    std::string name;
    std::unique_ptr<uint64_t[]> value;
    uint32_t bytes;
    bool is_pointer;
  };
  struct Buffer {
    std::string name;
    uint32_t offset, bytes;
  };
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
};

} // namespace tritonc::emulator::test
