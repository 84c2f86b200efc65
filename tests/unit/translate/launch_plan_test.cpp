// Tests translate/launch_plan.cpp.

#include "translated.h"

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string text_of(const Expr &expr) {
  constexpr const char *names[] = {"",    "p",   "programs", "sms",  "neg", "not", "add", "sub",
                                   "mul", "div", "rem",      "cdiv", "min", "max", "lt",  "le",
                                   "gt",  "ge",  "eq",       "ne",   "and", "or"};
  if (expr.kind == Expr::Kind::constant)
    return std::to_string(expr.value);
  if (expr.kind == Expr::Kind::parameter)
    return "p" + std::to_string(expr.value);
  std::string text = std::string("(") + names[int(expr.kind)];
  for (const Expr &operand : expr.operands)
    text += " " + text_of(operand);
  return text + ")";
}

LaunchPlan plan_of(const std::string &pragmas, const std::string &grid = "") {
  KernelFile kernel("#define TM 32\n" + pragmas +
                    "\n__global__ void f(float *A, int M, int N, unsigned K) { M = 3; }");
  kernel.input.grid = grid;
  FrontEndResult result = translate_source(kernel.input);
  INFO(result.diagnostics_text);
  REQUIRE(result.kernels.size() == 1);
  return result.kernels[0].plan;
}

std::string requirements_of(const LaunchPlan &plan) {
  std::string text;
  for (const Requirement &requirement : plan.requirements)
    text += (text.empty() ? "" : "; ") + requirement.text;
  return text;
}

} // namespace

TEST_CASE("launch_plan: is empty without pragmas") {
  LaunchPlan plan = plan_of("");
  CHECK(plan.grid.empty());
  CHECK(plan.requirements.empty());
}

TEST_CASE("launch_plan: grid divisions are exact") {
  LaunchPlan plan = plan_of("#pragma tritonc grid(M / TM, cdiv(N, 8) * (K / 4), M / TM)");
  REQUIRE(plan.grid.size() == 3);
  CHECK(text_of(plan.grid[0]) == "(div p1 32)");
  CHECK(text_of(plan.grid[1]) == "(mul (cdiv p2 8) (div p3 4))");
  CHECK(requirements_of(plan) == "M % 32 == 0; K % 4 == 0");
  CHECK(text_of(plan.requirements[0].condition) == "(eq (rem p1 32) 0)");
}

TEST_CASE("launch_plan: require divisions follow C") {
  LaunchPlan plan = plan_of("#pragma tritonc require(M / 2 > 3)");
  CHECK(requirements_of(plan) == "M / 2 > 3");
}

TEST_CASE("launch_plan: folds constants and keeps needed parentheses") {
  struct {
    const char *source, *text;
  } cases[] = {
      {"M % (TM * 2) == 0", "M % 64 == 0"},
      {"(M + N) * 2 > M", "(M + N) * 2 > M"},
      {"M - (N - K) >= 0 && M", "M - (N - K) >= 0 && M != 0"},
      {"!(M == N) || -M < min(N, 3)", "!(M == N) || -M < min(N, 3)"},
      {"cdiv(M, TM) <= 65535", "cdiv(M, 32) <= 65535"},
      {"(long)M * N < 1000", "M * N < 1000"},
      {"TM == 32", ""}, // always
      {"TM == 31", "0"},
      {"TM == 31 && M > 5", "0"},
      {"M > 5 || TM == 32", ""},
      {"TM == 31 || M > 5", "M > 5"},
  };
  for (const auto &[source, text] : cases) {
    CAPTURE(source);
    CHECK(requirements_of(plan_of("#pragma tritonc require(" + std::string(source) + ")")) == text);
  }
}

TEST_CASE("launch_plan: host grid replaces the source's") {
  LaunchPlan plan = plan_of("#pragma tritonc grid(N) require(M > 0)", "M / TM, 2");
  REQUIRE(plan.grid.size() == 2);
  CHECK(text_of(plan.grid[0]) == "(div p1 32)");
  CHECK(requirements_of(plan) == "M > 0; M % 32 == 0");
}

TEST_CASE("launch_plan: error in the host grid has its location") {
  KernelFile kernel("__global__ void f(int M) {}");
  kernel.input.grid = "M / TM";
  FrontEndResult result = translate_source(kernel.input);
  REQUIRE(result.errors == 1);
  CHECK(result.diagnostics_text.find("<command line>:1:26: error: undeclared identifier `TM`") ==
        0);
}
