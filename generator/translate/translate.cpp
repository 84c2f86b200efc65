// Runs the front end, from a source to tile IR. See translate.h.
//
// Tested by tests/unit/translate/translate_test.cpp and tests/unit/translate/checks_test.cpp.

#include "translate/translate.h"

#include "language/checker.h"
#include "language/parser.h"
#include "language/preprocessor.h"
#include "translate/delinearize_grid.h"
#include "translate/translator.h"

namespace tritonc {

namespace {

// Translates all kernels; returns none if any has an error.
std::vector<ir::Function> translate_all(const ast::Program &program,
                                        DiagnosticEngine &diagnostics) {
  std::vector<ir::Function> kernels;
  for (const ast::Function &function : program.functions)
    if (function.is_kernel && diagnostics.errors() == 0)
      kernels.push_back(translate(function, program, diagnostics));
  if (diagnostics.errors() > 0)
    kernels.clear();
  for (ir::Function &kernel : kernels)
    delinearize_grid(kernel);
  return kernels;
}

} // namespace

FrontEndResult translate_source(const FrontEndInput &input, const Linter &lint) {
  DiagnosticEngine diagnostics(input.messages);
  FrontEndResult result;

  Preprocessed source = preprocess(input, diagnostics);
  result.dependencies = std::move(source.files);
  result.unused_macros = std::move(source.unused_macros);
  // A source that could not be opened has no file. If it could not be opened, or was read only in
  // part, further diagnostics would be misleading.
  if (!result.dependencies.empty() && !source.is_too_much) {
    ast::Program program =
        ast::Parser(source.tokens, input.path, diagnostics, std::move(source.empty_macros))
            .program();
    ast::Checker(program, diagnostics).check();
    // From here on, the program is correct or has errors.
    result.checked = translate_all(program, diagnostics);
    // All diagnostics are reported, also for statements that GPU code omits.
    if (ast::remove_checks(program)) {
      diagnostics.set_silent(true);
      result.kernels = translate_all(program, diagnostics);
      diagnostics.set_silent(false);
    } else {
      for (const ir::Function &kernel : result.checked)
        result.kernels.push_back(ir::clone(kernel));
    }
  }
  if (lint && diagnostics.errors() == 0)
    lint(result, diagnostics);
  result.diagnostics = diagnostics.diagnostics();
  result.diagnostics_text = diagnostics.text();
  result.errors = diagnostics.errors();
  result.warnings = diagnostics.warnings();
  return result;
}

} // namespace tritonc
