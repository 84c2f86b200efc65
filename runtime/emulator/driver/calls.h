// Every call of a function is counted here, and fails here if it was told to.

#pragma once

#include "interface.h"

#include <cstdint>
#include <string_view>

namespace tritonc::emulator::driver {

/// Counts. Whether the call shall do nothing and return `result` instead (the setting `fail=`).
bool count_call(std::string_view function, Result &result);

/// How often a function was called; of all, if the name is empty.
std::uint64_t calls_of(std::string_view function);
void forget_calls();

/// Changes settings; returns what is wrong with them, or nothing. Under the driver's mutex.
std::string_view change_settings(std::string_view text);

} // namespace tritonc::emulator::driver
