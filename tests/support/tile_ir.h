// Tests of tile IR are text in, text out:
//
//     CHECK(after(uplift_while_to_for, "func @f(...) {...}") == text("func @f(...) {...}"));
//
// `text` parses and prints, so white space, comments and the numbers of values without a name never
// matter. `after` verifies before and after.

#pragma once

#include "ir/ir.h"

#include <string>
#include <string_view>

namespace tritonc::test {

/// The function that `text` is. Text that does not parse, or breaks a rule of tile IR, fails the
/// test with the reason.
ir::Function parsed(std::string_view text);

/// Fails the test if `fn` breaks a rule of tile IR.
void check_rules(const ir::Function &fn);

/// `text` as the printer writes it.
std::string text(std::string_view text);

/// What `pass` makes of `text`.
template <typename Pass, typename... Arguments>
std::string after(Pass pass, std::string_view text, const Arguments &...arguments);

/// The value that is called `name` in `fn`; fails the test if there is none.
ir::Value *value_named(ir::Function &fn, std::string_view name);

// The rest is how.

std::string printed(const ir::Function &fn);

template <typename Pass, typename... Arguments>
std::string after(Pass pass, std::string_view text, const Arguments &...arguments) {
  ir::Function fn = parsed(text);
  pass(fn, arguments...);
  check_rules(fn);
  return printed(fn);
}

} // namespace tritonc::test
