// What is known about a kernel only after passes or tools have seen it, and where in its source.
//
// A remark names the operation that it is about by its number in the kernel as it was translated:
// that is the same in all sources of the same tile IR, so that a remark can be kept in the cache
// and be drawn for another source than it was made for.
#pragma once

#include "backend/result.h"
#include "ir/ir.h"
#include "language/front_end.h"

#include <vector>

namespace tritonc {

struct Remark {
  static constexpr int nowhere = -1, kernel = 0;

  Remark() : failure{} {}
  Remark(Failure failure, int origin = nowhere, std::vector<Remark> notes = {})
      : failure(std::move(failure)), origin(origin), notes(std::move(notes)) {}

  Failure failure;
  int origin = nowhere; // of an operation: ir::Location
  std::vector<Remark> notes;
};

/// The remark at its place in the source that `kernel` comes from, which is read again; without a
/// place if that is not there any more.
Finding draw(const Remark &remark, const ir::Function &kernel, const FrontEndInput &source);

} // namespace tritonc
