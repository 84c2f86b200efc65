// Computes the checksum of a kernel's descriptors. See descriptor_checksum.h.
//
// Every struct adds all its bytes, padding included, except its pointers. A pointer adds whether it
// is null, and then the data behind it. A new number in a struct is covered without a change here.
// A new pointer must be added here: otherwise its address, which differs between an object and a
// program, becomes part of the checksum, and the tests fail.
//
// Tested by tests/unit/emit/object_seal_test.cpp.

#include "emit/object/descriptor_checksum.h"

#include <tritonc/descriptor.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>

namespace tritonc {

namespace {

class Checksum {
public:
  explicit Checksum(const DescriptorMemory &memory) : memory_(memory) {}

  uint64_t of_kernel(uint64_t at) {
    using S = abi::kernel;
    members<S>(at,
               {offsetof(S, name), offsetof(S, gpus), offsetof(S, variants), offsetof(S, choices),
                offsetof(S, tunings), offsetof(S, states), offsetof(S, checksum)});
    parameters_ = count(at + offsetof(S, parameter_count));
    variants_ = count(at + offsetof(S, variant_count));
    states_ = follow(at + offsetof(S, states));
    text(at + offsetof(S, name));
    text(at + offsetof(S, gpus));
    elements<abi::variant>(at + offsetof(S, variants), variants_,
                           [&](uint64_t variant) { add_variant(variant, false); });
    numbers(at + offsetof(S, choices), variants_ * count(at + offsetof(S, axis_count)), 4);
    elements<abi::tuning>(at + offsetof(S, tunings), count(at + offsetof(S, tuning_count)),
                          [&](uint64_t tuning) { add_tuning(tuning); });
    return abi::checksum(bytes_.data(), bytes_.size());
  }

private:
  // ---- structs ----

  void add_variant(uint64_t at, bool is_specialized) {
    using S = abi::variant;
    members<S>(at, {offsetof(S, entry), offsetof(S, grid), offsetof(S, grid) + 8,
                    offsetof(S, grid) + 16, offsetof(S, requirements), offsetof(S, parameters),
                    offsetof(S, images), offsetof(S, infos), offsetof(S, specialized),
                    offsetof(S, constants)});
    text(at + offsetof(S, entry));
    expressions(at + offsetof(S, grid), 3);
    elements<abi::requirement>(at + offsetof(S, requirements),
                               count(at + offsetof(S, requirement_count)),
                               [&](uint64_t requirement) { add_requirement(requirement); });
    elements<abi::parameter>(at + offsetof(S, parameters), parameters_,
                             [&](uint64_t parameter) { add_named<abi::parameter>(parameter); });
    elements<abi::constant>(at + offsetof(S, constants), count(at + offsetof(S, constant_count)),
                            [&](uint64_t constant) { add_named<abi::constant>(constant); });
    uint64_t infos = count(at + offsetof(S, image_count));
    elements<abi::image>(at + offsetof(S, images), infos,
                         [&](uint64_t image) { add_image(image); });
    // Specializations are not nested. In a damaged file they could even contain themselves.
    uint64_t specialized = is_specialized ? 0 : count(at + offsetof(S, specialized_count));
    elements<S>(at + offsetof(S, specialized), specialized, [&](uint64_t variant) {
      add_variant(variant, true);
      infos += count(variant + offsetof(S, image_count));
    });
    elements<image_info>(at + offsetof(S, infos), infos, [&](uint64_t info) { add_info(info); });
  }

  void add_requirement(uint64_t at) {
    using S = abi::requirement;
    members<S>(at, {offsetof(S, condition), offsetof(S, text)});
    expressions(at + offsetof(S, condition), 1);
    text(at + offsetof(S, text));
  }

  /// A struct whose only pointer is its name.
  template <typename S> void add_named(uint64_t at) {
    members<S>(at, {offsetof(S, name)});
    text(at + offsetof(S, name));
  }

  void add_image(uint64_t at) {
    using S = abi::image;
    members<S>(at, {offsetof(S, bytes), offsetof(S, state), offsetof(S, host), offsetof(S, launch),
                    offsetof(S, bundle)});
    if (uint64_t header = follow(at + offsetof(S, bytes)))
      bytes_ += memory_.bytes(header, sizeof(abi::image_header));
    number(memory_.pointer(at + offsetof(S, state)) - states_);
    if (uint64_t host = follow(at + offsetof(S, host)))
      number(is_host_code(host));
    if (uint64_t launch = follow(at + offsetof(S, launch)))
      add_launch(launch);
    if (uint64_t bundle = follow(at + offsetof(S, bundle)))
      add_named<abi::bundle>(bundle);
  }

  /// Another file defines host code, so its contents are not part of the checksum.
  bool is_host_code(uint64_t at) const {
    using S = abi::host_code;
    return at == DescriptorMemory::elsewhere ||
           (memory_.bytes(at, sizeof(S::magic)) ==
                std::string_view(abi::host_code_magic, sizeof abi::host_code_magic) &&
            memory_.number<uint32_t>(at + offsetof(S, version)) == abi::host_code_version);
  }

  void add_info(uint64_t at) {
    using S = image_info;
    members<S>(at, {offsetof(S, gpu), offsetof(S, schedule), offsetof(S, specialization)});
    text(at + offsetof(S, gpu));
    text(at + offsetof(S, schedule));
    text(at + offsetof(S, specialization));
  }

  void add_launch(uint64_t at) {
    using S = abi::launch_config;
    members<S>(at, {offsetof(S, guards), offsetof(S, hidden), offsetof(S, cost),
                    offsetof(S, blocks), offsetof(S, blocks) + 8, offsetof(S, blocks) + 16,
                    offsetof(S, workspace), offsetof(S, shared_bytes)});
    elements<abi::requirement>(at + offsetof(S, guards), count(at + offsetof(S, guard_count)),
                               [&](uint64_t guard) { add_requirement(guard); });
    elements<abi::hidden_parameter>(at + offsetof(S, hidden), count(at + offsetof(S, hidden_count)),
                                    [&](uint64_t hidden) { add_hidden(hidden); });
    expressions(at + offsetof(S, cost), 1);
    expressions(at + offsetof(S, blocks), 3);
    expressions(at + offsetof(S, workspace), 1);
    expressions(at + offsetof(S, shared_bytes), 1);
  }

  void add_hidden(uint64_t at) {
    using S = abi::hidden_parameter;
    members<S>(at, {offsetof(S, value), offsetof(S, text), offsetof(S, map)});
    expressions(at + offsetof(S, value), 1);
    text(at + offsetof(S, text));
    if (uint64_t map = follow(at + offsetof(S, map)))
      add_map(map);
  }

  void add_map(uint64_t at) {
    using S = abi::tensor_map;
    members<S>(at, {offsetof(S, offset), offsetof(S, size), offsetof(S, size) + 8,
                    offsetof(S, size) + 16, offsetof(S, size) + 24, offsetof(S, size) + 32,
                    offsetof(S, stride), offsetof(S, stride) + 8, offsetof(S, stride) + 16,
                    offsetof(S, stride) + 24});
    expressions(at + offsetof(S, offset), 1);
    expressions(at + offsetof(S, size), 5);
    expressions(at + offsetof(S, stride), 4);
  }

  void add_tuning(uint64_t at) {
    using S = abi::tuning;
    members<S>(at, {offsetof(S, gpu), offsetof(S, axes), offsetof(S, problems), offsetof(S, times),
                    offsetof(S, costs), offsetof(S, schedules), offsetof(S, schedule_names)});
    uint64_t axes = count(at + offsetof(S, axis_count));
    uint64_t problems = count(at + offsetof(S, problem_count));
    text(at + offsetof(S, gpu));
    numbers(at + offsetof(S, axes), axes, 4);
    numbers(at + offsetof(S, problems), problems * axes, 4);
    for (size_t slot : {offsetof(S, times), offsetof(S, costs), offsetof(S, schedules)})
      numbers(at + slot, problems * variants_, 2);
    elements<const char *>(at + offsetof(S, schedule_names),
                           count(at + offsetof(S, schedule_name_count)),
                           [&](uint64_t name) { text(name); });
  }

  // ---- members ----

  uint64_t count(uint64_t at) const { return memory_.number<uint32_t>(at); }

  void number(uint64_t value) { bytes_.append(reinterpret_cast<const char *>(&value), 8); }

  /// A struct with zeros at the offsets `left_out`, 8 bytes each.
  template <typename S> void members(uint64_t at, std::initializer_list<size_t> left_out) {
    if (bytes_.size() > 1 << 16) { // bounds the memory for large kernels
      uint64_t intermediate = abi::checksum(bytes_.data(), bytes_.size());
      bytes_.clear();
      number(intermediate);
    }
    size_t begin = bytes_.size();
    bytes_ += memory_.bytes(at, sizeof(S));
    for (size_t offset : left_out)
      std::memset(bytes_.data() + begin + offset, 0, 8);
  }

  /// Adds whether a pointer is null, and returns its target.
  uint64_t follow(uint64_t slot) {
    uint64_t target = memory_.pointer(slot);
    bytes_ += char(target != 0);
    return target;
  }

  template <typename S, typename Add> void elements(uint64_t slot, uint64_t count, Add add) {
    if (uint64_t first = follow(slot))
      for (uint64_t i = 0; i < count; i++)
        add(first + i * sizeof(S));
  }

  void numbers(uint64_t slot, uint64_t count, uint64_t bytes_each) {
    uint64_t first = follow(slot), size = 0;
    if (__builtin_mul_overflow(count, bytes_each, &size))
      throw Damage{"an array is too long"};
    if (first && size)
      bytes_ += memory_.bytes(first, size);
  }

  void text(uint64_t slot) {
    if (follow(slot))
      bytes_.append(memory_.text(slot)).push_back('\0');
  }

  /// Contiguous pointers to expressions, each up to its abi::op::end.
  void expressions(uint64_t slot, int count) {
    for (int i = 0; i < count; i++)
      if (uint64_t at = follow(slot + uint64_t(i) * 8))
        bytes_ += memory_.bytes(at, size_of_expression(at));
  }

  uint64_t size_of_expression(uint64_t begin) const {
    for (uint64_t at = begin;;) {
      abi::op op = memory_.number<abi::op>(at);
      bool has_operand =
          op == abi::op::constant || op == abi::op::parameter || op == abi::op::programs;
      at += has_operand ? 16 : 8;
      if (op == abi::op::end)
        return at - begin;
    }
  }

  const DescriptorMemory &memory_;
  std::string bytes_; // everything added since the last intermediate checksum
  uint64_t parameters_ = 0, variants_ = 0, states_ = 0;
};

} // namespace

uint64_t descriptor_checksum(const DescriptorMemory &memory, uint64_t kernel) {
  return Checksum(memory).of_kernel(kernel);
}

bool has_valid_checksum(const DescriptorMemory &memory, uint64_t kernel) {
  return memory.number<uint64_t>(kernel + offsetof(abi::kernel, checksum)) ==
         descriptor_checksum(memory, kernel);
}

} // namespace tritonc
