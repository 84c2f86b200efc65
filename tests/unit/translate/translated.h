// Translates source text to tile IR.

#pragma once

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "support/kernel_file.h"
#include "support/messages.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

namespace tritonc::test {

/// The only kernel of a source, verified. Requires a source without errors.
inline ir::Function kernel_of(const std::string &source, std::vector<Define> defines = {}) {
  FrontEndResult result = translate_source(KernelFile(source, std::move(defines)).input);
  INFO(result.diagnostics_text);
  REQUIRE(result.kernels.size() == 1);
  CHECK(ir::verify(result.kernels[0]) == "");
  return std::move(result.kernels[0]);
}

/// The tile IR of statements in `void f(float *p, half *h, int *q, int n, unsigned u)`, without the
/// function header.
inline std::string ir_of(const std::string &statements) {
  ir::Function kernel = kernel_of(
      "__global__ void f(float *p, half *h, int *q, int n, unsigned u) {" + statements + "}");
  std::string text = ir::print(kernel);
  text = text.substr(text.find('\n') + 1);
  return text.substr(0, text.rfind("  return"));
}

/// The same for expected text, so that white space and numbering do not matter.
inline std::string expected(const std::string &statements) {
  ir::ParseResult parsed =
      ir::parse("func @f(%p: ptr<f32>, %h: ptr<f16>, %q: ptr<i32>, %n: i32, %u: i32 unsigned) {\n" +
                statements + "\nreturn\n}\n");
  INFO(parsed.error);
  REQUIRE(parsed.function);
  std::string text = ir::print(*parsed.function);
  text = text.substr(text.find('\n') + 1);
  return text.substr(0, text.rfind("  return"));
}

} // namespace tritonc::test
