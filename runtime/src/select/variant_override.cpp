// TRITONC_FORCE_VARIANT="gemm::matmul=128,64,32;nn::softmax=4": forces variants for launches that
// name none.
//
// The name is the kernel's name in a status. A name without template arguments applies to all
// instantiations. The values are those of `params`, in order; an enumerator is its number. The
// runtime reads the variable once. A launch from the launch cache does not check it, because the
// cached launch already has the forced variant.
//
// Tested by tests/unit/runtime/variant_override_test.cpp.

#include "select/variant_override.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace tritonc::v1 {

namespace {

/// Returns the variable's value; "" if it is not set. If several threads read it first at the same
/// time, they find the same value.
const char *forced_variants() {
  static std::atomic<const char *> known{nullptr};
  const char *text = known.load(std::memory_order_acquire);
  if (text)
    return text;
  // Setuid programs ignore the variable, as they ignore TRITONC_DRIVER.
  const char *said = secure_getenv("TRITONC_FORCE_VARIANT");
  text = said ? said : "";
  known.store(text, std::memory_order_release);
  return text;
}

/// Returns whether the entry's name, which ends before `=`, is the kernel's name with or without
/// template arguments.
bool is_named(const char *entry, std::size_t length, const char *kernel) {
  return std::strncmp(entry, kernel, length) == 0 &&
         (kernel[length] == '\0' || kernel[length] == '<');
}

/// Returns whether the rest of the entry is exactly these values.
bool has_values(const char *text, const std::int32_t *values, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; i++) {
    char *end = nullptr;
    long value = std::strtol(text, &end, 10);
    const bool is_last = i + 1 == count;
    if (end == text || value != values[i] || (!is_last && *end != ',') ||
        (is_last && *end != '\0' && *end != ';'))
      return false;
    text = end + 1;
  }
  return count != 0;
}

} // namespace

bool find_forced(const abi::kernel &code, std::uint32_t &number) noexcept {
  for (const char *entry = forced_variants(); *entry;) {
    const char *end = entry + std::strcspn(entry, ";");
    const char *equals = entry;
    while (equals != end && *equals != '=')
      equals++;
    if (equals != end && is_named(entry, std::size_t(equals - entry), code.name)) {
      for (number = 0; number < code.variant_count; number++)
        if (has_values(equals + 1, code.choices + std::size_t(number) * code.axis_count,
                       code.axis_count))
          break;
      return true;
    }
    entry = *end ? end + 1 : end;
  }
  return false;
}

} // namespace tritonc::v1
