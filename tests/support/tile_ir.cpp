#include "support/tile_ir.h"

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"

#include <doctest/doctest.h>

namespace tritonc::test {

ir::Function parsed(std::string_view text) {
  ir::ParseResult result = ir::parse(text);
  REQUIRE_MESSAGE(result.function.has_value(), result.error, "\n", std::string(text));
  check_rules(*result.function);
  return std::move(*result.function);
}

void check_rules(const ir::Function &fn) {
  std::string errors = ir::verify(fn);
  REQUIRE_MESSAGE(errors.empty(), errors, ir::print(fn));
}

std::string text(std::string_view text) { return ir::print(parsed(text)); }

std::string printed(const ir::Function &fn) { return ir::print(fn); }

ir::Value *value_named(ir::Function &fn, std::string_view name) {
  ir::Value *found = nullptr;
  auto look_at = [&](ir::Value *value) {
    if (value->name == name)
      found = value;
  };
  for (const ir::Parameter &parameter : fn.parameters)
    look_at(parameter.value);
  ir::for_each_op(*fn.body, [&](ir::Op &op) {
    for (ir::Value *result : op.results)
      look_at(result);
    for (ir::Block *block : op.blocks)
      for (ir::Value *argument : block->arguments)
        look_at(argument);
  });
  REQUIRE_MESSAGE(found, "no value is called ", std::string(name));
  return found;
}

} // namespace tritonc::test
