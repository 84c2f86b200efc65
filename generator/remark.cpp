// Remarks about kernels, drawn. See remark.h.
//
// Tested by tests/compile/warnings_test.cpp.

#include "remark.h"

#include "language/preprocessor.h"

namespace tritonc {
namespace {

void report(const Remark &remark, const ir::Function &kernel, Diagnostics &diagnostics) {
  Location at;
  if (remark.origin != Remark::nowhere) {
    ir::Location place = ir::location_of_origin(kernel, remark.origin);
    at = diagnostics.at({place.line, place.column}, kernel.file);
  }
  diagnostics.report(remark.failure.id, at, remark.failure.args);
  for (const Remark &note : remark.notes)
    report(note, kernel, diagnostics);
}

} // namespace

Finding draw(const Remark &remark, const ir::Function &kernel, const FrontEndInput &source) {
  Diagnostics diagnostics(source.messages);
  diagnostics.set_silent(true); // all that is to be said about the source has been
  Preprocessed read = preprocess(source, diagnostics);
  diagnostics.set_silent(false);
  report(remark, kernel, diagnostics);
  return diagnostics.findings().empty() ? finding(remark.failure) : diagnostics.findings()[0];
}

} // namespace tritonc
