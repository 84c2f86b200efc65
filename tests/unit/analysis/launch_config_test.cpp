// Tests analysis/launch_config.cpp.

#include "analysis/launch_config.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// For example "(p1 + programs 0) * 3", where p1 is parameter 1.
std::string text_of(const Expr &expr) {
  auto operand = [&](size_t i) { return text_of(expr.operands[i]); };
  auto infix = [&](const char *name) { return "(" + operand(0) + name + operand(1) + ")"; };
  switch (expr.kind) {
  case Expr::Kind::constant:
    return std::to_string(expr.value);
  case Expr::Kind::parameter:
    return "p" + std::to_string(expr.value);
  case Expr::Kind::programs:
    return "programs " + std::to_string(expr.value);
  case Expr::Kind::num_sms:
    return "sms";
  case Expr::Kind::neg:
    return "-" + operand(0);
  case Expr::Kind::add:
    return infix(" + ");
  case Expr::Kind::sub:
    return infix(" - ");
  case Expr::Kind::mul:
    return infix(" * ");
  case Expr::Kind::div:
    return infix(" / ");
  case Expr::Kind::rem:
    return infix(" % ");
  case Expr::Kind::min:
    return infix(" min ");
  case Expr::Kind::max:
    return infix(" max ");
  case Expr::Kind::eq:
    return infix(" == ");
  case Expr::Kind::le:
    return infix(" <= ");
  default:
    return "?";
  }
}

std::string list_of(const std::vector<Expr> &exprs) {
  std::string out;
  for (const Expr &expr : exprs)
    out += (out.empty() ? "" : ", ") + text_of(expr);
  return out;
}

Function function(const std::string &operations) {
  return parsed("func @f(%A: ptr<f16>, %n: i32, %w: i64, %u: i32 unsigned, %x: f32, %c: i1, "
                "%B: ptr<f32>) {\n" +
                operations + "\n return\n}");
}

// The host expression of %r; "" if the host cannot compute it.
std::string on_host(const std::string &operations) {
  Function fn = function(operations);
  std::optional<Expr> expr = host_expression(value_named(fn, "r"));
  return expr ? text_of(*expr) : "";
}

} // namespace

TEST_CASE("host_expression: supports parameters, grid and SM count") {
  struct {
    std::string operations, expression;
  } cases[] = {
      {"%r = constant {value = -7} : i64", "-7"},
      {"%r = num_programs {axis = 0} : i32", "programs 0"},
      {"%r = num_programs {axis = 2} : i32", "programs 2"},
      {"%r = num_sms : i32", "sms"},
      {"%r = add %n, %n : i32", "(p1 + p1)"},
      {"%r = sub %w, %w : i64", "(p2 - p2)"},
      {"%r = mul %n, %n : i32", "(p1 * p1)"},
      {"%r = div %n, %n : i32", "(p1 / p1)"},
      {"%r = rem %n, %n : i32", "(p1 % p1)"},
      {"%r = min %n, %n : i32", "(p1 min p1)"},
      {"%r = max %n, %n : i32", "(p1 max p1)"},
      {"%r = neg %n : i32", "-p1"},
      {"%r = cast %n : i64", "p1"},
      {"%r = cast %w : i32", "p2"},
      {"%r = host_value %n : i32", "p1"},
      {"%c1 = constant {value = 63} : i64\n %a = cast %n : i64\n %b = add %a, %c1 : i64\n"
       "%c2 = constant {value = 64} : i64\n %r = div %b, %c2 : i64",
       "((p1 + 63) / 64)"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.operations);
    CHECK(on_host(expected.operations) == expected.expression);
  }
}

TEST_CASE("host_expression: returns nothing for device-only values") {
  std::string cases[] = {
      "%r = program_id {axis = 0} : i32",
      "%r = block_id {axis = 0} : i32",
      "%r = constant {number = 1.0} : f32",
      "%r = add %x, %x : f32",
      "%r = range {start = 0} : i32[4]",
      "%r = load %B : f32",
      "%r = shl %n, %n : i32",
      "%r = cmp %n, %n {pred = \"lt\"} : i1",
      "%p = program_id {axis = 0} : i32\n %r = add %n, %p : i32",
      // Modulo 2^32.
      "%r = add %u, %u {unsigned = 1} : i32",
      "%r = cast %u {unsigned = 1} : i64",
      // The cast loses bits, or turns true into -1.
      "%r = cast %n : i8",
      "%r = cast %c : i32",
      "for_loop %n {\n (%r: i32)\n yield\n }",
  };
  for (const std::string &operations : cases) {
    CAPTURE(operations);
    CHECK(on_host(operations) == "");
  }
}

namespace {

// The host expression of a bound of %r; "" if there is none. %p is the index of the program.
std::string bound_on_host(const std::string &operations) {
  Function fn = function("%p = program_id {axis = 0} : i32\n" + operations);
  Value *scalar = value_named(fn, "r");
  if (!has_host_bound(scalar)) {
    CHECK_FALSE(host_expression(scalar));
    return "";
  }
  const std::string before = printed(fn);
  Builder builder = Builder::after(fn, scalar->op);
  Value *bound = emit_host_bound(builder, scalar);
  check_rules(fn);
  CHECK(bound->type == scalar->type);
  if (host_expression(scalar)) {
    CHECK(bound == scalar);
    CHECK(printed(fn) == before);
  }
  return text_of(*host_expression(bound));
}

} // namespace

TEST_CASE("emit_host_bound: a minimum is not larger than any of its operands") {
  struct {
    std::string operations, bound;
  } cases[] = {
      {"%r = add %n, %n : i32", "(p1 + p1)"},
      {"%r = min %n, %n : i32", "(p1 min p1)"},
      {"%r = min %p, %n : i32", "p1"},
      {"%r = min %n, %p : i32", "p1"},
      {"%a = min %p, %n : i32\n %r = min %a, %p : i32", "p1"},
      {"%a = min %p, %n : i32\n %r = min %p, %a : i32", "p1"},
      {"%a = min %p, %n : i32\n %r = add %a, %n : i32", "(p1 + p1)"},
      {"%a = min %p, %n : i32\n %r = add %n, %a : i32", "(p1 + p1)"},
      {"%a = min %p, %n : i32\n %r = add %a, %a : i32", "(p1 + p1)"},
      {"%a = min %p, %n : i32\n %r = max %a, %n : i32", "(p1 max p1)"},
      {"%a = min %p, %n : i32\n %r = sub %a, %n : i32", "(p1 - p1)"},
      {"%a = min %p, %n : i32\n %r = cast %a : i64", "p1"},
      {"%by = constant {value = 64} : i32\n %a = min %p, %n : i32\n %r = div %a, %by : i32",
       "(p1 / 64)"},
      {"%by = constant {value = 64} : i32\n %a = min %p, %n : i32\n %r = mul %a, %by : i32",
       "(p1 * 64)"},
      // The iterations of causal attention.
      {"%rows = constant {value = 64} : i32\n %first = mul %p, %rows : i32\n"
       "%last = add %first, %rows : i32\n %end = min %n, %last : i32\n"
       "%end.wide = cast %end : i64\n %more = constant {value = 63} : i64\n"
       "%rounded = add %more, %end.wide : i64\n %wide = constant {value = 64} : i64\n"
       "%steps = div %rounded, %wide : i64\n %none = constant {value = 0} : i64\n"
       "%some = max %steps, %none : i64\n %r = cast %some : i32",
       "(((63 + p1) / 64) max 0)"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.operations);
    CHECK(bound_on_host(expected.operations) == expected.bound);
  }
}

TEST_CASE("has_host_bound: not without a minimum, or where the order changes") {
  const std::string least = "%a = min %p, %n : i32\n";
  std::string cases[] = {
      "%r = add %p, %n : i32",
      "%r = max %p, %n : i32",
      "%r = min %p, %p : i32",
      "%r = umin %p, %n : i32",
      "%r = load %B : f32",
      least + "%r = add %a, %p : i32",
      least + "%r = max %a, %p : i32",
      least + "%r = sub %n, %a : i32",
      least + "%r = sub %a, %p : i32",
      least + "%r = sub %a, %a : i32",
      least + "%r = neg %a : i32",
      least + "%r = mul %a, %n : i32",
      least + "%r = rem %a, %n : i32",
      least + "%r = div %a, %n : i32", // by a number that may be negative
      least + "%r = div %n, %a : i32",
      least + "%by = constant {value = -64} : i32\n %r = div %a, %by : i32",
      least + "%by = constant {value = -1} : i32\n %r = mul %a, %by : i32",
      least + "%by = constant {value = 0} : i32\n %r = mul %a, %by : i32",
      // Modulo 2^32.
      least + "%r = add %a, %n {unsigned = 1} : i32",
      least + "%by = constant {value = 64} : i32\n %r = mul %a, %by {unsigned = 1} : i32",
      least + "%r = cast %a {unsigned = 1} : i64",
      // The casts lose bits.
      least + "%r = cast %a : i8",
      least + "%b = cast %a : i16\n %r = cast %b : i32",
      "%f = cast %p : f32\n %a = min %f, %x : f32\n %r = cast %a : i32",
      "for_loop %n {\n (%t: i32)\n %r = max %t, %n : i32\n yield\n }",
  };
  for (const std::string &operations : cases) {
    CAPTURE(operations);
    CHECK(bound_on_host(operations) == "");
  }
}

TEST_CASE("copy_order: contiguous axis first, then last to first") {
  auto order = [](const std::string &strides, const std::string &box) {
    std::string sizes;
    for (char c : strides)
      sizes += c == ',' ? ", %w" : "";
    Function fn =
        function("%zero = constant {value = 0} : i64\n %one = constant {value = 1} : i64\n"
                 "%r = tensor_map %A, %zero, %w" +
                 sizes + ", " + strides + " {swizzle = 0} : map<f16>" + box);
    return copy_order(*value_named(fn, "r")->op);
  };
  CHECK(order("%one", "[64]") == std::vector<int>{0});
  CHECK(order("%w, %one", "[64,32]") == std::vector<int>{1, 0});
  CHECK(order("%one, %w", "[64,32]") == std::vector<int>{0, 1});
  CHECK(order("%w, %w, %one", "[4,64,32]") == std::vector<int>{2, 1, 0});
  CHECK(order("%w, %one, %w", "[4,64,32]") == std::vector<int>{1, 2, 0});
  CHECK(order("%one, %w, %w", "[4,64,32]") == std::vector<int>{0, 2, 1});
}

TEST_CASE("launch_config: tensor map has the axis order of TMA") {
  Function fn = function(R"(
    %one = constant {value = 1} : i64
    %rows = constant {value = 100} : i64
    %columns = constant {value = 200} : i64
    %m = tensor_map %B, %w, %rows, %columns, %w, %one {swizzle = 128} : map<f32>[64,32]
    %t = tensor_map %A, %one, %rows, %columns, %one, %w {swizzle = 64} : map<f16>[32,16])");
  LaunchConfig schedule = launch_config(fn);
  REQUIRE(schedule.hidden.size() == 2);
  const TensorMap &m = *schedule.hidden[0].map, &t = *schedule.hidden[1].map;
  CHECK(m.parameter == 6);
  CHECK(text_of(m.offset) == "p2");
  CHECK(m.elem == Elem::f32);
  CHECK_FALSE(m.to_tf32);
  CHECK(list_of(m.sizes) == "200, 100");
  CHECK(list_of(m.strides) == "p2"); // the contiguous stride is implicit
  CHECK(m.box == std::vector<int64_t>{32, 64});
  CHECK(m.swizzle_bytes == 128);
  CHECK(t.parameter == 0);
  CHECK(text_of(t.offset) == "1");
  CHECK(list_of(t.sizes) == "100, 200");
  CHECK(list_of(t.strides) == "p2");
  CHECK(t.box == std::vector<int64_t>{32, 16});
  CHECK(t.swizzle_bytes == 64);
}

TEST_CASE("launch_config: tensor map may round to tf32") {
  for (const char *tf32 : {"", ", tf32 = 1"}) {
    LaunchConfig schedule =
        launch_config(function(std::string("%one = constant {value = 1} : i64\n"
                                           "%m = tensor_map %B, %one, %w, %one {swizzle = 128") +
                               tf32 + "} : map<f32>[32]"));
    CHECK(schedule.hidden[0].map->to_tf32 == (tf32[0] != 0));
  }
}

TEST_CASE("hidden_parameters: keep the order of the operations") {
  Function fn = function(R"(
    %zero = constant {value = 0} : i64
    %one = constant {value = 1} : i64
    %a = host_value %n : i32
    %m = tensor_map %A, %zero, %w, %one {swizzle = 0} : map<f16>[64]
    %wide = add %w, %one : i64
    %b = host_value %wide : i64)");
  std::vector<const Op *> hidden = hidden_parameters(fn);
  REQUIRE(hidden.size() == 3);
  CHECK(hidden[0] == value_named(fn, "a")->op);
  CHECK(hidden[1] == value_named(fn, "m")->op);
  CHECK(hidden[2] == value_named(fn, "b")->op);
  LaunchConfig schedule = launch_config(fn);
  REQUIRE(schedule.hidden.size() == 3);
  CHECK_FALSE(schedule.hidden[0].map);
  CHECK(schedule.hidden[0].elem == Elem::i32);
  CHECK(text_of(schedule.hidden[0].value) == "p1");
  CHECK(schedule.hidden[1].map);
  CHECK(schedule.hidden[2].elem == Elem::i64);
  CHECK(text_of(schedule.hidden[2].value) == "(p2 + 1)");
}

TEST_CASE("launch_config: workspace has its size and a hidden parameter") {
  Function fn = function(R"(
    %a = host_value %n : i32
    %two = constant {value = 2} : i64
    %bytes = mul %w, %two : i64
    %s = workspace %bytes : ptr<f32>)");
  LaunchConfig schedule = launch_config(fn);
  REQUIRE(schedule.hidden.size() == 2);
  CHECK_FALSE(schedule.hidden[0].is_workspace);
  CHECK(schedule.hidden[1].is_workspace);
  REQUIRE(schedule.workspace);
  CHECK(text_of(*schedule.workspace) == "(p2 * 2)");
  CHECK_FALSE(launch_config(function("")).workspace);
}

TEST_CASE("launch_config: starts_early if dependency_wait is anywhere") {
  CHECK(launch_config(function("dependency_wait")).starts_early);
  CHECK(launch_config(function("%yes = constant {value = 1} : i1\n"
                               "if_else %yes {\n dependency_wait\n yield\n} {\n yield\n}"))
            .starts_early);
  CHECK_FALSE(launch_config(function("launch_dependents")).starts_early);
}

TEST_CASE("launch_config: launch_blocks sets blocks and cluster") {
  LaunchConfig schedule = launch_config(function("%r = num_sms : i32\n"
                                                 "launch_blocks %r, %n {cluster = 2}"));
  CHECK(list_of(schedule.blocks) == "sms, p1");
  CHECK(schedule.cluster == 2);
}

TEST_CASE("launch_config: launch_warps divides the programs among blocks") {
  LaunchConfig schedule = launch_config(function("%m = num_programs {axis = 0} : i32\n"
                                                 "%h = host_value %m : i32\n"
                                                 "launch_warps %h {programs = 4}"));
  CHECK(list_of(schedule.blocks) == "((programs 0 + 3) / 4), programs 1, programs 2");
  CHECK(schedule.hidden.size() == 1);
  CHECK(schedule.cluster == 1);
}

TEST_CASE("launch_config: launch_requires is a guard") {
  LaunchConfig schedule =
      launch_config(function("%one = constant {value = 1} : i32\n"
                             "launch_requires %n, %one {text = \"each loop runs once\"}\n"
                             "%m = num_sms : i32\n launch_requires %m, %n {text = \"a\"}"));
  REQUIRE(schedule.guards.size() == 2);
  CHECK(text_of(schedule.guards[0].condition) == "(p1 == 1)");
  CHECK(text_of(schedule.guards[1].condition) == "(sms == p1)");
  CHECK(schedule.guards[0].text == "each loop runs once");
  CHECK_FALSE(schedule.shared_bytes);
}

TEST_CASE("launch_config: a requirement may compare 64-bit integers") {
  LaunchConfig schedule =
      launch_config(function("%limit = constant {value = 4294967296} : i64\n"
                             "%wide = cast %n : i64\n %larger = max %wide, %limit : i64\n"
                             "launch_requires %larger, %limit {text = \"a\"}"));
  REQUIRE(schedule.guards.size() == 1);
  CHECK(text_of(schedule.guards[0].condition) == "((p1 max 4294967296) == 4294967296)");
}

TEST_CASE("launch_config: a launch has the shared memory of its stages") {
  LaunchConfig schedule =
      launch_config(function("%two = constant {value = 2} : i32\n %stages = mul %n, %two : i32\n"
                             "%a = shared_alloc {address = 0} : shared<f16>[4,64]\n"
                             "%s = shared_alloc %stages {address = 1024} : shared<f16>[112,64]"));
  REQUIRE(schedule.shared_bytes);
  CHECK(text_of(*schedule.shared_bytes) == "(1024 + (128 * (p1 * 2)))");
  REQUIRE(schedule.guards.size() == 1);
  CHECK(text_of(schedule.guards[0].condition) == "((p1 * 2) <= 112)");
  CHECK(schedule.guards[0].text == "the tiles of all iterations fit into shared memory");
  // Buffers with a fixed number of stages have no guard.
  schedule = launch_config(function("%a = shared_alloc {address = 0} : shared<f16>[4,64]"));
  CHECK_FALSE(schedule.shared_bytes);
  CHECK(schedule.guards.empty());
}

TEST_CASE("launch_config: default is one block per program") {
  LaunchConfig schedule = launch_config(function(""));
  CHECK(schedule.hidden.empty());
  CHECK(schedule.blocks.empty());
  CHECK(schedule.cluster == 1);
  CHECK(schedule.guards.empty());
  CHECK_FALSE(schedule.cost);
}
