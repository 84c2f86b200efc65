// Evaluates the expressions of launch plans and schedules. See plan.h.

#include "select/plan.h"

#include <cstring>

namespace tritonc::v1::plan {

namespace {

constexpr std::int64_t lowest = INT64_MIN;

Number known(std::int64_t value) { return {value, true}; }

template <typename T> T stored_at(const char *place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

Number argument(const abi::parameter &parameter, const void *arguments) {
  const char *place = static_cast<const char *>(arguments) + parameter.offset;
  switch (parameter.kind) {
  case abi::parameter_kind::u8:
    return known(stored_at<std::uint8_t>(place));
  case abi::parameter_kind::i8:
    return known(stored_at<std::int8_t>(place));
  case abi::parameter_kind::u16:
    return known(stored_at<std::uint16_t>(place));
  case abi::parameter_kind::i16:
    return known(stored_at<std::int16_t>(place));
  case abi::parameter_kind::u32:
    return known(stored_at<std::uint32_t>(place));
  case abi::parameter_kind::i32:
    return known(stored_at<std::int32_t>(place));
  case abi::parameter_kind::i64:
    return known(stored_at<std::int64_t>(place));
  case abi::parameter_kind::u64: {
    auto value = stored_at<std::uint64_t>(place);
    if (value > std::uint64_t(INT64_MAX))
      return {};
    return known(std::int64_t(value));
  }
  case abi::parameter_kind::pointer:
  case abi::parameter_kind::other:
    return {};
  }
  return {};
}

bool divisible(Number a, Number b) { // the quotient exists and fits in 64 bits
  return b.value != 0 && !(a.value == lowest && b.value == -1);
}

Number ceil_div(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  bool rounded_down = a % b != 0 && (a < 0) == (b < 0);
  return known(quotient + rounded_down);
}

/// Computes `and` (deciding = false) or `or` (deciding = true). As in C, one operand with the
/// deciding value decides alone, so `N == 0 || M % N == 0` is true for N = 0.
Number decided(Number a, Number b, bool deciding) {
  if (a.known && (a.value != 0) == deciding)
    return known(deciding);
  if (b.known && (b.value != 0) == deciding)
    return known(deciding);
  if (!a.known || !b.known)
    return {};
  return known(!deciding);
}

Number binary(abi::op op, Number a, Number b) {
  if (op == abi::op::logical_and)
    return decided(a, b, false);
  if (op == abi::op::logical_or)
    return decided(a, b, true);
  if (!a.known || !b.known)
    return {};
  Number result;
  switch (op) {
  case abi::op::add:
    result.known = !__builtin_add_overflow(a.value, b.value, &result.value);
    return result;
  case abi::op::sub:
    result.known = !__builtin_sub_overflow(a.value, b.value, &result.value);
    return result;
  case abi::op::mul:
    result.known = !__builtin_mul_overflow(a.value, b.value, &result.value);
    return result;
  case abi::op::div:
    return divisible(a, b) ? known(a.value / b.value) : Number{};
  case abi::op::rem:
    return divisible(a, b) ? known(a.value % b.value) : Number{};
  case abi::op::ceil_div:
    return divisible(a, b) ? ceil_div(a.value, b.value) : Number{};
  case abi::op::min:
    return a.value < b.value ? a : b;
  case abi::op::max:
    return a.value < b.value ? b : a;
  case abi::op::lt:
    return known(a.value < b.value);
  case abi::op::le:
    return known(a.value <= b.value);
  case abi::op::gt:
    return known(a.value > b.value);
  case abi::op::ge:
    return known(a.value >= b.value);
  case abi::op::eq:
    return known(a.value == b.value);
  case abi::op::ne:
    return known(a.value != b.value);
  default:
    return {};
  }
}

Number unary(abi::op op, Number a) {
  if (!a.known)
    return {};
  if (op == abi::op::logical_not)
    return known(a.value == 0);
  if (a.value == lowest)
    return {};
  return known(-a.value);
}

Number size_of_grid(const grid *programs, std::int64_t axis) {
  if (!programs || axis < 0 || axis > 2)
    return {};
  return known(axis == 0 ? programs->x : axis == 1 ? programs->y : programs->z);
}

/// Returns the value that `op` with `word` pushes.
Number operand(abi::op op, std::int64_t word, const Inputs &inputs) {
  if (op == abi::op::constant)
    return known(word);
  if (op == abi::op::programs)
    return size_of_grid(inputs.programs, word);
  if (std::uint64_t(word) >= inputs.kernel.parameter_count)
    return {};
  return argument(inputs.variant.parameters[word], inputs.arguments);
}

/// Checks the driver's limits for a grid. An empty grid never reaches the driver, so it has none.
bool fits(const grid &size) {
  if (size.x < 0 || size.y < 0 || size.z < 0)
    return false;
  bool is_empty = size.x == 0 || size.y == 0 || size.z == 0;
  return is_empty || (size.x <= INT32_MAX && size.y <= 65535 && size.z <= 65535);
}

status invalid_grid(const abi::kernel &kernel) {
  return {status_code::invalid_argument, &kernel, "grid"};
}

} // namespace

Number evaluate(const std::int64_t *code, const Inputs &inputs) noexcept {
  Number stack[abi::max_stack];
  int depth = 0;
  while (true) {
    auto op = abi::op(*code++);
    switch (op) {
    case abi::op::end:
      return depth == 1 ? stack[0] : Number{};
    case abi::op::constant:
    case abi::op::parameter:
    case abi::op::programs: {
      std::int64_t word = *code++;
      if (depth == abi::max_stack)
        return {};
      stack[depth++] = operand(op, word, inputs);
      break;
    }
    case abi::op::num_sms:
      if (depth == abi::max_stack)
        return {};
      stack[depth++] = inputs.num_sms > 0 ? known(inputs.num_sms) : Number{};
      break;
    case abi::op::neg:
    case abi::op::logical_not:
      if (depth < 1)
        return {};
      stack[depth - 1] = unary(op, stack[depth - 1]);
      break;
    default:
      if (depth < 2)
        return {};
      depth--;
      stack[depth - 1] = binary(op, stack[depth - 1], stack[depth]);
    }
  }
}

status check(const abi::requirement *requirements, std::uint32_t count,
             const Inputs &inputs) noexcept {
  for (std::uint32_t i = 0; i < count; i++) {
    Number holds = evaluate(requirements[i].condition, inputs);
    if (!holds.known)
      return {status_code::invalid_argument, &inputs.kernel, requirements[i].text};
    if (holds.value == 0)
      return {status_code::requirement_failed, &inputs.kernel, requirements[i].text};
  }
  return {};
}

status evaluate_grid(const std::int64_t *const (&axes)[3], const Inputs &inputs,
                     grid &result) noexcept {
  std::int64_t *sizes[] = {&result.x, &result.y, &result.z};
  for (int i = 0; i < 3; i++) {
    *sizes[i] = 1;
    if (!axes[i])
      continue;
    Number size = evaluate(axes[i], inputs);
    if (!size.known)
      return invalid_grid(inputs.kernel);
    *sizes[i] = size.value;
  }
  return fits(result) ? status() : invalid_grid(inputs.kernel);
}

std::uint64_t address(const abi::parameter &parameter, const void *arguments) noexcept {
  return stored_at<std::uint64_t>(static_cast<const char *>(arguments) + parameter.offset);
}

status size_grid(const abi::kernel &kernel, const abi::variant &variant, const void *arguments,
                 const grid *extent, grid &result) noexcept {
  Inputs inputs = {kernel, variant, arguments};
  status met = check(variant.requirements, variant.requirement_count, inputs);
  if (!met.ok())
    return met;
  if (variant.grid[0])
    return evaluate_grid(variant.grid, inputs, result);
  result = extent ? *extent : grid{-1, -1, -1};
  return fits(result) ? status() : invalid_grid(kernel);
}

status check_pointers(const abi::kernel &kernel, const abi::variant &variant,
                      const void *arguments) noexcept {
  for (std::uint32_t i = 0; i < kernel.parameter_count; i++) {
    const abi::parameter &parameter = variant.parameters[i];
    if (parameter.kind != abi::parameter_kind::pointer)
      continue;
    std::uint64_t pointed = address(parameter, arguments);
    if (pointed == 0 && !parameter.nullable)
      return {status_code::null_pointer, &kernel, parameter.name};
    if (parameter.aligned > 1 && pointed % parameter.aligned != 0)
      return {status_code::misaligned_pointer, &kernel, parameter.name,
              std::int32_t(parameter.aligned)};
  }
  return {};
}

} // namespace tritonc::v1::plan
