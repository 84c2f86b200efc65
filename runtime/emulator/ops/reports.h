// What kernels tell the reader of a run: print statements and assertions.

#pragma once

#include "../machine.h"

namespace tritonc::emulator::ops {

/// See Prints::add; the lines come out after the launch.
void print(Thread &thread, const Site &site, const void *text, uint32_t statement, uint32_t value,
           uint32_t element, uint64_t bits);
/// Ends the launch with a finding, which says where by the site. See assertion_text.
void assert_fail(Thread &thread, const Site &site, const void *text, const void *file,
                 uint32_t line, uint32_t element);

} // namespace tritonc::emulator::ops
