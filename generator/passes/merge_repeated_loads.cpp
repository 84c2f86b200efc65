// Merges loads of the same elements. See merge_repeated_loads.h.

#include "passes/merge_repeated_loads.h"

#include "analysis/repeated_loads.h"
#include "ir/builder.h"

namespace tritonc {

using namespace ir;

void merge_repeated_loads(Function &fn) {
  for (const auto &[load, earlier] : find_repeated_loads_of_body(fn)) {
    Builder builder = Builder::before(fn, load);
    builder.set_location(load->location);
    replace_uses(*fn.body, load->result(),
                 emit_repeat(builder, earlier->result(), *earlier, *load));
    erase(load);
  }
}

} // namespace tritonc
