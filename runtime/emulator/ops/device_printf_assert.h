// Operations for a kernel's print statements and assertions.

#pragma once

#include "../machine.h"

namespace tritonc::emulator::ops {

/// See Prints::add. The lines are printed after the launch.
void print(Thread &thread, const Site &site, const void *text, uint32_t statement, uint32_t value,
           uint32_t element, uint64_t bits);
/// Ends the launch with a report at `site`. See assertion_text.
void assert_fail(Thread &thread, const Site &site, const void *text, const void *file,
                 uint32_t line, uint32_t element);

} // namespace tritonc::emulator::ops
