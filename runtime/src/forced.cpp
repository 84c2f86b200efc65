// A variant that the environment names:
// TRITONC_FORCE_VARIANT="gemm::matmul=128,64,32;nn::softmax=4".
//
// A kernel is named as statuses name it, without its template arguments for all of them; values are
// those of `params`, in their order, an enumerator as its number. It is read once, like the other
// variables, and not at all by launches again: those are of what was forced already.
//
// Tested by tests/runtime/forced_test.cpp.

#include "forced.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace tritonc::v1 {

namespace {

/// What the variable says; "" if it is not there. Threads that come first at once find the same.
const char *forced_variants() {
  static std::atomic<const char *> known{nullptr};
  const char *text = known.load(std::memory_order_acquire);
  if (text)
    return text;
  // Not for programs with more rights than their user, as for TRITONC_DRIVER.
  const char *said = secure_getenv("TRITONC_FORCE_VARIANT");
  text = said ? said : "";
  known.store(text, std::memory_order_release);
  return text;
}

/// Whether an entry, which ends with `=`, has the name of the kernel: with its template arguments
/// or without.
bool is_named(const char *entry, std::size_t length, const char *kernel) {
  return std::strncmp(entry, kernel, length) == 0 &&
         (kernel[length] == '\0' || kernel[length] == '<');
}

/// Whether the text up to the end of the entry is exactly these values.
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
