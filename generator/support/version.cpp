// Defines the name and version of the tool; CMake sets TRITONC_VERSION. See version.h.
//
// Tested by tests/unit/tool/command_line_test.cpp.

#include "support/version.h"

namespace tritonc {

const char *const tool_name = "tritonc " TRITONC_VERSION;

} // namespace tritonc
