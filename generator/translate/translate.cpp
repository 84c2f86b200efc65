// From a source to tile IR. See translate.h.

#include "translate/translate.h"

#include "language/checker.h"
#include "language/parser.h"
#include "language/preprocessor.h"
#include "translate/translator.h"

namespace tritonc {

FrontEndResult translate_source(const FrontEndInput &input) {
  Diagnostics diagnostics;
  FrontEndResult result;

  Preprocessed source = preprocess(input, diagnostics);
  result.dependencies = std::move(source.files);
  // A source that could not be opened has no file, and nothing more to say about it.
  if (!result.dependencies.empty()) {
    ast::Program program = ast::Parser(source.tokens, input.path, diagnostics).program();
    ast::Checker(program, diagnostics).check();
    // From here on: the program is right, or there are errors.
    for (const ast::Function &function : program.functions)
      if (diagnostics.errors() == 0)
        result.kernels.push_back(translate(function, program, diagnostics));
  }
  if (diagnostics.errors() > 0)
    result.kernels.clear();
  result.diagnostics = diagnostics.text();
  result.errors = diagnostics.errors();
  result.warnings = diagnostics.warnings();
  return result;
}

} // namespace tritonc
