// Fuzz target `front_end`: sources with options. See targets.h.

#include "fuzz/source_input.h"
#include "fuzz/targets.h"

namespace tritonc::fuzz {

void front_end(std::string_view bytes) { run_front_end(SourceInput(bytes)); }

} // namespace tritonc::fuzz
