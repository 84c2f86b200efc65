// Helpers for tests of tile IR. A test compares text before and after a pass:
//
//     CHECK(after(uplift_while_to_for, "func @f(...) {...}") == text("func @f(...) {...}"));
//
// `text` parses and prints, so white space, comments and the numbers of unnamed values do not
// matter. `after` verifies the function before and after the pass.

#pragma once

#include "ir/ir.h"

#include <string>
#include <string_view>

namespace tritonc::test {

/// Parses `text`. If the parser or the verifier rejects it, the test fails with the reason.
ir::Function parsed(std::string_view text);

/// Fails the test if `fn` breaks a rule of tile IR.
void check_rules(const ir::Function &fn);

/// `text` in the format of the printer.
std::string text(std::string_view text);

/// The function `text` after `pass`, printed.
template <typename Pass, typename... Arguments>
std::string after(Pass pass, std::string_view text, const Arguments &...arguments);

/// The value with the name `name` in `fn`. Fails the test if `fn` has no such value.
ir::Value *value_named(ir::Function &fn, std::string_view name);

// Implementation of `after`.

std::string printed(const ir::Function &fn);

template <typename Pass, typename... Arguments>
std::string after(Pass pass, std::string_view text, const Arguments &...arguments) {
  ir::Function fn = parsed(text);
  pass(fn, arguments...);
  check_rules(fn);
  return printed(fn);
}

} // namespace tritonc::test
