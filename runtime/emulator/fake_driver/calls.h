// Counts the calls of each function and makes calls fail on request (the setting `fail=`).

#pragma once

#include "interface.h"

#include <cstdint>
#include <string_view>

namespace tritonc::emulator::driver {

/// Counts a call. Returns true if the call must do nothing and return `result` (setting `fail=`).
bool count_call(std::string_view function, Result &result);

/// Number of calls of a function; of all functions, if the name is empty.
std::uint64_t calls_of(std::string_view function);
void forget_calls();

/// Changes settings. Returns an error text, or "". The caller holds the driver's mutex.
std::string_view change_settings(std::string_view text);

} // namespace tritonc::emulator::driver
