// Tests the generator: its kernels are valid, reproducible, and cover all features.

#include "random_kernels/generate.h"
#include "random_kernels/print.h"
#include "random_kernels/variants.h"
#include "support/sample.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace tritonc::random;

namespace {

bool is_loop(const Stmt &stmt) {
  return stmt.is(Stmt::Kind::for_loop) || stmt.is(Stmt::Kind::while_loop);
}

// The operation by which the statement adds something to a number; none if it does not.
Op op_of_total(const Kernel &kernel, const Stmt &stmt) {
  if (!stmt.is(Stmt::Kind::assign) || kernel.type_of(stmt.variable).pointer)
    return Op::none;
  const Expr &value = stmt.value[0];
  bool has_itself = value.is(Expr::Kind::binary) &&
                    std::any_of(value.operands.begin(), value.operands.end(), [&](const Expr &e) {
                      return e.is(Expr::Kind::variable) && int(e.integer) == stmt.variable;
                    });
  return stmt.op != Op::none ? stmt.op : has_itself ? value.op : Op::none;
}

// Whether the statement replaces a number where a condition is true.
bool is_choice(const Stmt &stmt) {
  if (!stmt.is(Stmt::Kind::assign) || !stmt.value[0].is(Expr::Kind::conditional))
    return false;
  const Expr &old = stmt.value[0].operands[2];
  return old.is(Expr::Kind::variable) && int(old.integer) == stmt.variable;
}

// Counts the forms of a row kernel: its loops, their totals, what follows them.
void count_row_forms(Kernel &kernel, std::map<std::string, int> &seen) {
  int loops = 0, reducing = 0;
  for (Stmt &stmt : kernel.body) {
    if (!is_loop(stmt)) {
      for (Expr &value : stmt.value)
        for_each_expr(value, [&](Expr &expr) {
          for (Position how : expr.positions)
            seen["reduction after a loop"] += loops > 0 && how != Position::keep;
        });
      continue;
    }
    loops++;
    int totals = 0, stores = 0;
    std::set<Scalar> types;
    for_each_stmt(stmt.body, [&](Stmt &inner) {
      stores += inner.is(Stmt::Kind::store);
      seen["extreme element and its place"] += is_choice(inner);
      Op op = op_of_total(kernel, inner);
      if (op == Op::none)
        return;
      totals++;
      const Type &type = kernel.type_of(inner.variable);
      types.insert(type.scalar);
      const char *kind = is_float(type.scalar) ? "floats" : "integers";
      seen[std::string("total by ") + spelling_of(op) + " of " + kind]++;
      seen[type.is_tile() ? "tile of totals" : "scalar total"]++;
    });
    seen["loop with totals: " + std::to_string(totals)]++;
    seen["totals of different types"] += types.size() > 1;
    seen["loop that stores after one with totals"] += reducing > 0 && stores > 0;
    bool is_in_place =
        std::any_of(kernel.parameters.begin(), kernel.parameters.end(),
                    [](const Parameter &each) { return each.role == Parameter::Role::both; });
    seen["loop that stores in place after one with totals"] +=
        reducing > 0 && stores > 0 && is_in_place;
    reducing += totals > 0 && stores == 0;
  }
  seen["rows of a matrix: " + std::to_string(loops) + " loops"]++;
  seen["rows of a matrix: several programs"] += kernel.grid[0] > 1 && kernel.grid[1] == 1;
  seen["rows of a matrix: two axes of programs"] += kernel.grid[1] > 1;
}

} // namespace

TEST_CASE("generate: deterministic per seed, differs between seeds") {
  std::set<std::string> sources;
  for (uint64_t seed = 0; seed < 50; seed++) {
    std::string source = source_of(generate(seed).kernel);
    CHECK(source == source_of(generate(seed).kernel));
    sources.insert(source);
  }
  CHECK(sources.size() == 50);
}

// The kernels must not depend on the compiler or on the standard library. Otherwise a seed does not
// reproduce a failure on another machine. After a change of the generator, copy the new hashes from
// the test's message, and compare g++ with clang++.
TEST_CASE("generate: every compiler builds a generator of the same kernels") {
  std::string kernels, variants;
  for (uint64_t seed = 0; seed < 200; seed++) {
    Kernel kernel = generate(seed).kernel;
    kernels += source_of(kernel);
    Draw draw(seed);
    variants += source_of(variant_of(kernel, draw));
  }
  CHECK(tritonc::test::hash_of(kernels) == 1787383137640403291u);
  CHECK(tritonc::test::hash_of(variants) == 9688185426397175476u);
}

TEST_CASE("generate: kernels are valid, and most of them store something") {
  int storing = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    CAPTURE(seed);
    Generated made = generate(seed);
    CHECK(made.evaluation.invalid == "");
    CHECK(settle(made.kernel));
    bool stores = false;
    for (const Contents &contents : made.evaluation.contents)
      for (bool written : contents.written)
        stores |= written;
    storing += stores;
    const bool has_exponentials = source_of(made.kernel).find("exp") != std::string::npos;
    if (made.policy != std::string("rounded") && made.policy != std::string("functions") &&
        !has_exponentials)
      CHECK(made.evaluation.is_exact());
  }
  CHECK(storing > 180);
}

TEST_CASE("generate: omits an output whose addresses overflow") {
  CHECK(generate(98043).evaluation.invalid == "");
}

// Detects changes of the generator that lose a feature.
TEST_CASE("generate: 800 kernels cover every feature") {
  std::map<std::string, int> seen;
  for (uint64_t seed = 0; seed < 800; seed++) {
    Generated made = generate(seed);
    seen["policy " + std::string(made.policy)]++;
    if (made.policy == "rows")
      count_row_forms(made.kernel, seen);
    for (const Variable &variable : made.kernel.variables) {
      seen[std::string("type ") + name_of(variable.type.scalar)]++;
      seen["rank " + std::to_string(variable.type.shape.size())]++;
    }
    for (const Parameter &parameter : made.kernel.parameters)
      seen["role " + std::to_string(int(parameter.role))]++;
    for_each_stmt(made.kernel, [&](Stmt &stmt) {
      seen["statement " + std::to_string(int(stmt.kind))]++;
      if (stmt.is(Stmt::Kind::store) && stmt.value.size() == 3)
        seen["masked store"]++;
      seen["hint " + std::to_string(int(stmt.hint))]++;
      if (stmt.is(Stmt::Kind::atomic)) {
        seen[std::string("atomic ") + spelling_of(stmt.op)]++;
        seen[stmt.variable < 0 ? "atomic without a result" : "atomic with one"]++;
      }
      for (Expr &value : stmt.value)
        for_each_expr(value, [&](Expr &expr) {
          seen["expression " + std::to_string(int(expr.kind))]++;
          if (expr.op != Op::none)
            seen[std::string("operator ") + spelling_of(expr.op)]++;
          for (Position position : expr.positions)
            seen["position " + std::to_string(int(position))]++;
          if (expr.is(Expr::Kind::load) && expr.operands.size() == 2)
            seen["masked load"]++;
          Scalar scalar = expr.type.scalar;
          seen["hint " + std::to_string(int(expr.hint))]++;
          bool is_largest = scalar == Scalar::uint64 && expr.integer == -1;
          if (expr.is(Expr::Kind::literal) && is_integer(scalar) && !is_largest) {
            CHECK(double(expr.integer) >= least(scalar));
            CHECK(double(expr.integer) <= largest(scalar));
          }
          if (expr.is(Expr::Kind::dot))
            seen[std::string("dot of ") + name_of(expr.operands[0].type.scalar)]++;
          if (expr.is(Expr::Kind::dot) && expr.type.shape.size() == 3)
            seen["dot of three axes"]++;
        });
    });
  }
  for (int kind = 0; kind <= int(Stmt::Kind::check); kind++)
    CHECK_MESSAGE(seen["statement " + std::to_string(kind)] > 0, "statement ", kind);
  for (int kind = 0; kind <= int(Expr::Kind::call); kind++)
    CHECK_MESSAGE(seen["expression " + std::to_string(kind)] > 0, "expression ", kind);
  for (int op = int(Op::add); op <= int(Op::round); op++)
    CHECK_MESSAGE(seen[std::string("operator ") + spelling_of(Op(op))] > 0,
                  std::string(spelling_of(Op(op))));
  for (int scalar = 0; scalar < scalar_count; scalar++)
    CHECK_MESSAGE(seen[std::string("type ") + name_of(Scalar(scalar))] > 0,
                  name_of(Scalar(scalar)));
  for (int position = 0; position <= int(Position::scan_all); position++)
    CHECK_MESSAGE(seen["position " + std::to_string(position)] > 0, "position ", position);
  for (int hint = 0; hint <= int(Hint::wt); hint++)
    CHECK_MESSAGE(seen["hint " + std::to_string(hint)] > 0, "hint ", hint);
  for (Op op : {Op::add, Op::min, Op::max, Op::bit_and, Op::bit_or, Op::bit_xor, Op::exchange,
                Op::compare_exchange})
    CHECK_MESSAGE(seen[std::string("atomic ") + spelling_of(op)] > 0, std::string(spelling_of(op)));
  for (const char *name : {"atomic without a result", "atomic with one", "role 4", "dot of int8",
                           "dot of e4m3", "dot of e5m2", "dot of double", "dot of three axes",
                           "masked store", "masked load", "dot of half", "dot of bfloat16",
                           "dot of float", "rank 0", "rank 1", "rank 2", "rank 3", "rank 4"})
    CHECK_MESSAGE(seen[name] > 0, std::string(name));
  CHECK(seen["policy rows"] > 70);
  for (const char *name : {"total by + of floats",
                           "total by + of integers",
                           "total by max of floats",
                           "total by max of integers",
                           "total by min of floats",
                           "total by min of integers",
                           "total by & of integers",
                           "total by | of integers",
                           "total by ^ of integers",
                           "tile of totals",
                           "scalar total",
                           "loop with totals: 1",
                           "loop with totals: 2",
                           "loop with totals: 3",
                           "totals of different types",
                           "extreme element and its place",
                           "reduction after a loop",
                           "loop that stores after one with totals",
                           "loop that stores in place after one with totals",
                           "rows of a matrix: 1 loops",
                           "rows of a matrix: 2 loops",
                           "rows of a matrix: 3 loops",
                           "rows of a matrix: several programs",
                           "rows of a matrix: two axes of programs"})
    CHECK_MESSAGE(seen[name] > 0, std::string(name));
}
