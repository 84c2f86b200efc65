// Declares the name and version of the tool.
#pragma once

namespace tritonc {

extern const char *const tool_name; // "tritonc 0.1.0"

} // namespace tritonc
