// Evaluates what a launch plan says about the arguments: requirements, pointers, the grid.

#include "plan.h"

#include <cstring>

namespace tritonc::v1::plan {

namespace {

/// An integer, or the fact that it cannot be computed in 64 bits.
struct Number {
  std::int64_t value = 0;
  bool known = false;
};

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

bool divisible(Number a, Number b) { // by a quotient that fits
  return b.value != 0 && !(a.value == lowest && b.value == -1);
}

Number ceil_div(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  bool rounded_down = a % b != 0 && (a < 0) == (b < 0);
  return known(quotient + rounded_down);
}

/// "and" and "or" decide by one operand where it decides alone, as they do in C, so that
/// `N == 0 || M % N == 0` is true for N = 0.
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

Number evaluate(const std::int64_t *code, const abi::kernel &kernel, const abi::variant &variant,
                const void *arguments) {
  Number stack[abi::max_stack];
  int depth = 0;
  while (true) {
    auto op = abi::op(*code++);
    switch (op) {
    case abi::op::end:
      return depth == 1 ? stack[0] : Number{};
    case abi::op::constant:
    case abi::op::parameter: {
      std::int64_t word = *code++;
      if (depth == abi::max_stack)
        return {};
      if (op == abi::op::parameter && std::uint64_t(word) >= kernel.parameter_count)
        return {};
      stack[depth++] =
          op == abi::op::constant ? known(word) : argument(variant.parameters[word], arguments);
      break;
    }
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

/// The driver's own limits.
bool fits(const grid &size) {
  return size.x >= 0 && size.y >= 0 && size.z >= 0 && size.x <= INT32_MAX && size.y <= 65535 &&
         size.z <= 65535;
}

status invalid_grid(const abi::kernel &kernel) {
  return {status_code::invalid_argument, &kernel, "grid"};
}

} // namespace

status size_grid(const abi::kernel &kernel, const abi::variant &variant, const void *arguments,
                 const grid *extent, grid &result) noexcept {
  for (std::uint32_t i = 0; i < variant.requirement_count; i++) {
    const abi::requirement &requirement = variant.requirements[i];
    Number holds = evaluate(requirement.condition, kernel, variant, arguments);
    if (!holds.known)
      return {status_code::invalid_argument, &kernel, requirement.text};
    if (holds.value == 0)
      return {status_code::requirement_failed, &kernel, requirement.text};
  }
  if (!variant.grid[0]) {
    result = extent ? *extent : grid{-1, -1, -1};
    return fits(result) ? status() : invalid_grid(kernel);
  }
  std::int64_t *axes[] = {&result.x, &result.y, &result.z};
  for (int i = 0; i < 3; i++) {
    *axes[i] = 1;
    if (!variant.grid[i])
      continue;
    Number programs = evaluate(variant.grid[i], kernel, variant, arguments);
    if (!programs.known)
      return invalid_grid(kernel);
    *axes[i] = programs.value;
  }
  return fits(result) ? status() : invalid_grid(kernel);
}

status check_pointers(const abi::kernel &kernel, const abi::variant &variant,
                      const void *arguments) noexcept {
  for (std::uint32_t i = 0; i < kernel.parameter_count; i++) {
    const abi::parameter &parameter = variant.parameters[i];
    if (parameter.kind != abi::parameter_kind::pointer)
      continue;
    auto address =
        stored_at<std::uint64_t>(static_cast<const char *>(arguments) + parameter.offset);
    if (address == 0 && !parameter.nullable)
      return {status_code::null_pointer, &kernel, parameter.name};
    if (parameter.aligned > 1 && address % parameter.aligned != 0)
      return {status_code::misaligned_pointer, &kernel, parameter.name,
              std::int32_t(parameter.aligned)};
  }
  return {};
}

} // namespace tritonc::v1::plan
