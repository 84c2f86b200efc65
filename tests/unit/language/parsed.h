// A source text after the preprocessor and the parser, and optionally the checker.

#pragma once

#include "language/checker.h"
#include "language/parser.h"
#include "language/preprocessor.h"
#include "support/kernel_file.h"
#include "support/messages.h"

namespace tritonc::test {

struct Parsed {
  explicit Parsed(const std::string &text, std::vector<Define> defines = {})
      : kernel(text, std::move(defines)), source(preprocess(kernel.input, diagnostics)),
        program(
            ast::Parser(source.tokens, "kernel.tc", diagnostics, source.empty_macros).program()) {}

  void check() { ast::Checker(program, diagnostics).check(); }

  const std::vector<ast::StmtPtr> &statements() const { return program.functions[0].body->body; }
  /// The first message; empty = none.
  std::string message() const {
    std::vector<ToldMessage> messages = read_messages(diagnostics.text());
    return messages.empty() ? "" : messages[0].severity + ": " + messages[0].text;
  }

  KernelFile kernel;
  DiagnosticEngine diagnostics;
  Preprocessed source;
  ast::Program program;
};

} // namespace tritonc::test
