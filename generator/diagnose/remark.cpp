// Renders remarks about kernels. See remark.h.
//
// Tested by tests/end_to_end/compile/warnings_test.cpp.

#include "diagnose/remark.h"

#include "language/preprocessor.h"

namespace tritonc {
namespace {

void report(const Remark &remark, const ir::Function &kernel, DiagnosticEngine &diagnostics) {
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

Diagnostic draw(const Remark &remark, const ir::Function &kernel, const FrontEndInput &source) {
  DiagnosticEngine diagnostics(source.messages);
  diagnostics.set_silent(true); // the front end has already reported the source's own messages
  Preprocessed read = preprocess(source, diagnostics);
  diagnostics.set_silent(false);
  report(remark, kernel, diagnostics);
  return diagnostics.diagnostics().empty() ? diagnostic(remark.failure)
                                           : diagnostics.diagnostics()[0];
}

} // namespace tritonc
