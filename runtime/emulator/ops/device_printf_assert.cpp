// Implements print statements and assertions. See device_printf_assert.h.
//
// Tested by tests/unit/emulator/reports_test.cpp.

#include "device_printf_assert.h"

#include "../device_printf.h"

namespace tritonc::emulator::ops {
namespace {

// Returns a Text, so that no string is on the stack when `fatal` is called.
Text failed(const void *text, uint32_t element) {
  Text result;
  result.add("%s", assertion_text(static_cast<const char *>(text), element).c_str());
  return result;
}

} // namespace

void print(Thread &thread, const Site &, const void *text, uint32_t statement, uint32_t value,
           uint32_t element, uint64_t bits) {
  std::unique_ptr<Prints> &prints = thread.block->prints;
  if (!prints)
    prints = std::make_unique<Prints>();
  prints->add(static_cast<const char *>(text), statement, int32_t(value), element, bits);
}

void assert_fail(Thread &thread, const Site &site, const void *text, const void *, uint32_t,
                 uint32_t element) {
  fatal(thread, site, Report::Kind::assertion, "%s", failed(text, element).c_str());
}

} // namespace tritonc::emulator::ops
