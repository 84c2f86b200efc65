// A remark is a message about a kernel that a pass or a tool reports, with its operation.
//
// A remark identifies the operation by its number in the translated kernel. The number is the same
// for all sources with the same tile IR. So the cache can store a remark, and the compiler can show
// it for another source with the same tile IR.
#pragma once

#include "ir/ir.h"
#include "language/front_end.h"
#include "support/result.h"

#include <vector>

namespace tritonc {

struct Remark {
  static constexpr int nowhere = -1, kernel = 0;

  Remark() : failure{} {}
  Remark(Error failure, int origin = nowhere, std::vector<Remark> notes = {})
      : failure(std::move(failure)), origin(origin), notes(std::move(notes)) {}

  Error failure;
  int origin = nowhere; // number of the operation (ir::Location)
  std::vector<Remark> notes;
};

/// Renders the remark at its location in the source of `kernel`. Reads the source again; if the
/// location no longer exists, the message has no location.
Diagnostic draw(const Remark &remark, const ir::Function &kernel, const FrontEndInput &source);

} // namespace tritonc
