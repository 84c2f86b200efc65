// Tests all operators with all element types: conversions, `?:`, reductions, `@`, functions, atomic
// operations, memory, shapes. A kernel computes each case of cases.h. The test compares every
// result with the reference of numbers.h.
//
// `--seed N`: other random inputs.

#include "gpu/matrices.h"
#include "slots.h"

#include <table_kernels.hpp>
#include <table_list.h>

#include <cstring>

namespace {

using namespace table;
using Bytes = std::vector<unsigned char>;

struct Memory {
  tritonc::buffer<unsigned char> buffer;
  Bytes bytes;

  void allocate(size_t size) {
    bytes.resize(std::max<size_t>(size, 1));
    device_tests::require(buffer.allocate(bytes.size()), "allocation");
  }
};

/// Converts to any pointer type.
struct Address {
  void *address;
  template <typename T> operator T *() const { return static_cast<T *>(address); }
};

struct Memories {
  Memory in[type_count], out[type_count];

  Address read(Type type) { return {in[size_t(type)].buffer.data()}; }
  Address written(Type type) { return {out[size_t(type)].buffer.data()}; }
};

using Launch = tritonc::status (*)(Memories &);

#define TABLE_LAUNCH(n)                                                                            \
  [](Memories &m) -> tritonc::status {                                                             \
    return table_kernels::table_##n::launch({}, {.in_bool = m.read(Type::bool_),                   \
                                                 .in_int8 = m.read(Type::int8),                    \
                                                 .in_uint8 = m.read(Type::uint8),                  \
                                                 .in_int16 = m.read(Type::int16),                  \
                                                 .in_uint16 = m.read(Type::uint16),                \
                                                 .in_int32 = m.read(Type::int32),                  \
                                                 .in_uint32 = m.read(Type::uint32),                \
                                                 .in_int64 = m.read(Type::int64),                  \
                                                 .in_uint64 = m.read(Type::uint64),                \
                                                 .in_e4m3 = m.read(Type::e4m3),                    \
                                                 .in_e5m2 = m.read(Type::e5m2),                    \
                                                 .in_half = m.read(Type::half),                    \
                                                 .in_bfloat16 = m.read(Type::bfloat16),            \
                                                 .in_float = m.read(Type::float_),                 \
                                                 .in_double = m.read(Type::double_),               \
                                                 .out_bool = m.written(Type::bool_),               \
                                                 .out_int8 = m.written(Type::int8),                \
                                                 .out_uint8 = m.written(Type::uint8),              \
                                                 .out_int16 = m.written(Type::int16),              \
                                                 .out_uint16 = m.written(Type::uint16),            \
                                                 .out_int32 = m.written(Type::int32),              \
                                                 .out_uint32 = m.written(Type::uint32),            \
                                                 .out_int64 = m.written(Type::int64),              \
                                                 .out_uint64 = m.written(Type::uint64),            \
                                                 .out_e4m3 = m.written(Type::e4m3),                \
                                                 .out_e5m2 = m.written(Type::e5m2),                \
                                                 .out_half = m.written(Type::half),                \
                                                 .out_bfloat16 = m.written(Type::bfloat16),        \
                                                 .out_float = m.written(Type::float_),             \
                                                 .out_double = m.written(Type::double_)});         \
  },

const Launch launches[] = {TABLE_KERNELS(TABLE_LAUNCH)};

long long compared = 0, undefined = 0;

bool is_near(Type type, const Number &is, const Expected &expected) {
  if (same(type, is, expected.number))
    return true;
  return is_float(type) && std::fabs(is.real - expected.number.real) <= expected.error;
}

// Returns an error in a case's results, or "".
std::string judge(const Case &made, const Inputs &in, const unsigned char *results) {
  std::string problem;
  int wrong = 0;
  for (int program = 0; program < programs; program++)
    for (int i = 0; i < made.results; i++) {
      Expected expected = made.expected(in, program, i);
      if (!expected.number.known) {
        undefined++;
        continue;
      }
      compared++;
      Number is = read(made.result, results + size_t(program * made.results + i) *
                                                  size_t(bytes_of(made.result)));
      if (is_near(made.result, is, expected))
        continue;
      if (wrong++ == 0)
        problem = "result " + std::to_string(i) + " of program " + std::to_string(program) +
                  " is " + text_of(made.result, is) + ", not " +
                  text_of(made.result, expected.number);
    }
  return wrong ? problem + "; " + std::to_string(wrong) + " are wrong" : "";
}

void run(size_t kernel, const std::vector<Case> &cases, const Inputs &in, Memories &memories) {
  Slots slots = slots_of(cases);
  for (int t = 0; t < type_count; t++) {
    memories.out[t].allocate(size_t(slots.of_type[t] * bytes_of(Type(t))));
    device_tests::require(memories.out[t].buffer.fill(0xff), "fill");
  }
  device_tests::require(launches[kernel](memories), "table_" + std::to_string(kernel));
  device_tests::require(tritonc::synchronize(), "table_" + std::to_string(kernel));
  for (Memory &out : memories.out)
    device_tests::require(out.buffer.copy_to(out.bytes.data()), "copy");
  for (size_t c = 0; c < cases.size(); c++) {
    const Memory &out = memories.out[size_t(cases[c].result)];
    device_tests::check(
        cases[c].name,
        judge(cases[c], in, out.bytes.data() + slots.first[c] * bytes_of(cases[c].result)));
  }
}

} // namespace

int main(int count, char **arguments) {
  uint64_t seed = 1;
  for (int i = 1; i + 1 < count; i += 2)
    if (std::strcmp(arguments[i], "--seed") == 0)
      seed = std::strtoull(arguments[i + 1], nullptr, 10);
  if (!device_tests::find_device())
    return 77;
  Inputs in(seed);
  Memories memories;
  for (int t = 0; t < type_count; t++) {
    Memory &memory = memories.in[t];
    Bytes bytes = in.bytes(Type(t));
    memory.allocate(bytes.size());
    device_tests::require(memory.buffer.copy_from(bytes.data()), "copy");
  }
  std::vector<std::vector<Case>> batches = batches_of(TABLE_EVERY);
  for (size_t kernel = 0; kernel < std::size(launches); kernel++)
    run(kernel, batches[kernel], in, memories);
  std::printf("%lld values compared, %lld undefined by the language\n", compared, undefined);
  return device_tests::report();
}
