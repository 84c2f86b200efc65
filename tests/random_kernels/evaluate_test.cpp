// Tests evaluate.cpp: results of hand-made kernels, and invalid kernels.

#include "random_kernels/evaluate.h"

#include <doctest/doctest.h>

using namespace tritonc::random;

namespace {

// A kernel with an input x (constant), outputs y and z, and a scalar n.
struct Built {
  Kernel kernel;
  int x, y, z, n;

  explicit Built(Scalar scalar = Scalar::int32, int64_t value = 3, int64_t number = 2) {
    auto add = [&](const char *name, bool is_pointer, Parameter::Role role) {
      Parameter parameter;
      parameter.role = role;
      parameter.integer = number;
      parameter.data = {value, value};
      parameter.variable =
          kernel.add_variable(name, {is_pointer ? scalar : Scalar::int32, is_pointer, {}});
      kernel.parameters.push_back(parameter);
      return parameter.variable;
    };
    x = add("x", true, Parameter::Role::input);
    y = add("y", true, Parameter::Role::output);
    z = add("z", true, Parameter::Role::both);
    n = add("n", false, Parameter::Role::number);
  }
  Expr var(int variable) const { return tritonc::random::variable(kernel, variable); }
  Expr at(int pointer, Expr index) const { return binary(Op::add, var(pointer), std::move(index)); }
  Evaluation run(std::vector<Stmt> body) {
    kernel.body = std::move(body);
    REQUIRE(settle(kernel));
    return evaluate(kernel);
  }
};

Expr number(int64_t value) { return literal(Scalar::int32, value); }

std::vector<int64_t> integers(const Contents &contents) {
  std::vector<int64_t> values;
  for (size_t i = 0; i < contents.elements.size(); i++)
    values.push_back(contents.written[i] ? contents.elements[i].integer : -1000);
  return values;
}

} // namespace

TEST_CASE("evaluate: load, compute and store a tile") {
  Built b;
  Evaluation e = b.run(
      {store(b.at(b.y, range(0, 4)), binary(Op::mul, load(b.at(b.x, range(2, 4))), range(0, 4)))});
  CHECK(e.invalid == "");
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{0, 3, 6, 9});
  CHECK(e.contents[0].count == 6); // up to the last accessed element
  CHECK(e.is_exact());
}

TEST_CASE("evaluate: every program of the grid runs") {
  Built b;
  b.kernel.grid = {2, 2, 1};
  Expr id = binary(Op::add, program_id(0), binary(Op::mul, program_id(1), num_programs(0)));
  Evaluation e = b.run({store(b.at(b.y, id), id)});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{0, 1, 2, 3});
}

TEST_CASE("evaluate: a masked store skips masked-off elements") {
  Built b;
  Evaluation e = b.run(
      {masked_store(binary(Op::ne, range(0, 4), b.var(b.n)), b.at(b.y, range(0, 4)), range(0, 4))});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{0, 1, -1000, 3});
}

TEST_CASE("evaluate: loops, branches and jumps") {
  Built b(Scalar::int32, 3, 10);
  int sum = b.kernel.add_variable("sum", {Scalar::int32, false, {}});
  int k = b.kernel.add_variable("k", {Scalar::int32, false, {}});
  Stmt loop = jump(Stmt::Kind::for_loop);
  loop.head = {declare(k, number(0)), assign(k, number(1), Op::add)};
  loop.value = {binary(Op::lt, b.var(k), b.var(b.n))};
  loop.body = {branch(binary(Op::eq, b.var(k), number(2)), {jump(Stmt::Kind::proceed)}),
               branch(binary(Op::gt, b.var(k), number(4)), {jump(Stmt::Kind::leave)}),
               assign(sum, b.var(k), Op::add)};
  Evaluation e = b.run({declare(sum, number(100)), loop, store(b.var(b.y), b.var(sum))});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{100 + 0 + 1 + 3 + 4});
}

TEST_CASE("evaluate: loads in an arm only where selected") {
  Built b;
  Expr mask = binary(Op::lt, range(0, 4), number(2));
  Expr far = b.at(b.x, binary(Op::sub, range(0, 4), binary(Op::mul, range(0, 4), range(0, 4))));
  // The elements 2 and 3 would be at -2 and -6.
  Evaluation e = b.run({store(b.at(b.y, range(0, 4)), conditional(mask, load(far), number(7)))});
  CHECK(e.invalid == "");
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{3, 3, 7, 7});
  e = b.run({store(b.at(b.y, range(0, 4)), load(far))});
  CHECK(e.invalid == "an access at -2");
}

TEST_CASE("evaluate: transpose, reduce, dot") {
  Built b(Scalar::float_, 2);
  Expr place = binary(
      Op::add,
      binary(Op::mul, subscript(range(0, 2), {Position::keep, Position::newaxis}), number(4)),
      range(0, 4));
  Expr a = cast({Scalar::float_, false, {}}, place); // 0 1 2 3 / 4 5 6 7
  Expr product = dot(a, transpose(a));
  CHECK(product.type == Type{Scalar::float_, false, {2, 2}});
  Expr places = binary(
      Op::add,
      binary(Op::mul, subscript(range(0, 2), {Position::keep, Position::newaxis}), number(2)),
      range(0, 2));
  Evaluation e = b.run({store(b.at(b.y, places), product)});
  std::vector<double> reals;
  for (const Number &element : e.contents[1].elements)
    reals.push_back(element.real);
  CHECK(reals == std::vector<double>{14, 38, 38, 126});
  e = b.run({store(b.var(b.y), subscript(a, {Position::max, Position::sum}))});
  CHECK(e.contents[1].elements[0].real == 4 + 5 + 6 + 7);
}

TEST_CASE("evaluate: detects invalid kernels") {
  Built b;
  CHECK(b.run({store(b.var(b.y), load(b.var(b.y)))}).invalid == "reads an output");
  CHECK(
      b.run({store(b.at(b.y, binary(Op::bit_and, range(0, 4), number(1))), range(0, 4))}).invalid ==
      "stores to one place twice");
  CHECK(b.run({store(b.at(b.y, number(200'000)), number(1))}).invalid == "an access at 200000");
  Expr quotient = binary(Op::div, number(1), binary(Op::sub, b.var(b.n), number(2)));
  CHECK(b.run({store(b.var(b.y), quotient)}).invalid.starts_with("stores poison"));
  CHECK(b.run({branch(binary(Op::gt, quotient, number(0)), {})}).invalid == "branches on poison");
  Stmt endless = jump(Stmt::Kind::while_loop);
  endless.value = {literal(Scalar::bool_, 1)};
  CHECK(b.run({endless}).invalid == "runs too long");
}

TEST_CASE("evaluate: in-place update by one program") {
  Built b;
  CHECK(b.run({store(b.at(b.z, range(0, 4)), number(1), Op::add)}).invalid == "");
  Evaluation e = b.run({store(b.at(b.z, range(0, 4)), number(1), Op::add)});
  CHECK(integers(e.contents[2]) == std::vector<int64_t>{4, 4, 4, 4});
  // Several statements may store to an address, but each statement only once.
  Stmt more = store(b.var(b.z), number(1), Op::add);
  e = b.run({more, more, store(b.var(b.y), load(b.var(b.z)))});
  CHECK(e.contents[1].elements[0].integer == 5);
  int k = b.kernel.add_variable("k", {Scalar::int32, false, {}});
  Stmt loop = jump(Stmt::Kind::for_loop);
  loop.head = {declare(k, number(0)), assign(k, number(1), Op::add)};
  loop.value = {binary(Op::lt, b.var(k), number(2))};
  loop.body = {more};
  CHECK(b.run({loop}).invalid == "stores to one place twice");
  b.kernel.grid = {2, 1, 1};
  CHECK(b.run({store(b.var(b.z), number(1), Op::add)}).invalid ==
        "reads what another program stores");
  int v = b.kernel.add_variable("v", {Scalar::int32, false, {}});
  Expr mine = b.at(b.z, program_id(0));
  CHECK(b.run({declare(v, load(b.at(b.z, number(1)))), store(mine, b.var(v))}).invalid != "");
}

TEST_CASE("evaluate: unused poison is valid") {
  Built b;
  Expr divisor = range(0, 4);
  Expr guarded = conditional(binary(Op::ne, divisor, number(0)),
                             binary(Op::div, number(12), divisor), number(0));
  Evaluation e = b.run({store(b.at(b.y, range(0, 4)), guarded)});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{0, 12, 6, 4});
}

TEST_CASE("settle: accepts what the language accepts") {
  Built b;
  int tile = b.kernel.add_variable("t", {Scalar::float_, false, {4, 8}});
  auto accepts = [&](std::vector<Stmt> body) {
    b.kernel.body = std::move(body);
    return settle(b.kernel);
  };
  CHECK(accepts({declare(tile, range(0, 8))})); // broadcast
  CHECK_FALSE(accepts({declare(tile, range(0, 4))}));
  CHECK_FALSE(accepts({assign(tile, number(0))})); // not declared
  CHECK_FALSE(accepts({branch(binary(Op::lt, range(0, 4), number(1)), {})}));
  CHECK_FALSE(accepts({jump(Stmt::Kind::leave)}));
  // A scalar load cannot be masked by a tile.
  Expr mask = binary(Op::lt, range(0, 4), number(1));
  Expr one = binary(Op::add, load(b.var(b.x)), range(0, 4));
  CHECK_FALSE(accepts({store(b.at(b.y, range(0, 4)), conditional(mask, one, number(0)))}));
  CHECK(accepts({store(b.at(b.y, range(0, 4)), conditional(b.var(b.n), one, number(0)))}));
}

TEST_CASE("evaluate: reductions and scans along an axis") {
  Built b;
  auto first = [&](Expr value) {
    Evaluation e = b.run({store(b.at(b.y, range(0, 4)), std::move(value))});
    CHECK(e.invalid == "");
    return integers(e.contents[1]);
  };
  Expr x = binary(Op::sub, binary(Op::mul, range(1, 4), range(1, 4)), number(8)); // -7 -4 1 8
  using Values = std::vector<int64_t>;
  CHECK(first(subscript(x, {Position::scan_sum})) == Values{-7, -11, -10, -2});
  CHECK(first(subscript(x, {Position::scan_max})) == Values{-7, -4, 1, 8});
  CHECK(first(subscript(x, {Position::scan_prod})) == Values{-7, 28, 28, 224});
  CHECK(first(subscript(x, {Position::prod})) == Values{224, 224, 224, 224});
  CHECK(first(subscript(x, {Position::argmin})) == Values{0, 0, 0, 0});
  Expr same = binary(Op::div, range(0, 4), number(2)); // 0 0 1 1
  CHECK(first(subscript(same, {Position::argmax})) == Values{2, 2, 2, 2});
  CHECK(first(subscript(same, {Position::scan_any})) == Values{0, 0, 1, 1});
  CHECK(first(subscript(same, {Position::all})) == Values{0, 0, 0, 0});
  CHECK(subscript(same, {Position::any}).type.scalar == Scalar::bool_);
  Expr truths = binary(Op::gt, x, number(0));
  CHECK(first(subscript(truths, {Position::sum})) == Values{2, 2, 2, 2});
}

TEST_CASE("evaluate: gather and single elements") {
  Built b;
  Expr square = cast({Scalar::int32, false, {2, 4}}, range(0, 8));
  Expr backwards = binary(Op::sub, number(3), range(0, 4));
  Evaluation e = b.run({store(b.at(b.y, cast({Scalar::int32, false, {2, 4}}, range(0, 8))),
                              gather(square, backwards, 1))});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{3, 2, 1, 0, 7, 6, 5, 4});
  e = b.run({store(b.at(b.y, range(0, 4)), element(square, number(1), 0))});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{4, 5, 6, 7});
  e = b.run({store(b.at(b.y, square), gather(square, range(1, 4), 1))});
  CHECK(e.invalid == "a position outside of its axis");
}

TEST_CASE("evaluate: philox matches Philox4x32-10") {
  Built b(Scalar::uint32);
  // The known answer for a counter and a key of zeros.
  Evaluation e = b.run({store(b.var(b.y), philox(number(0), number(0), -1)),
                        store(b.at(b.y, number(1)), philox(number(0), number(0), 3))});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{0x6627e8d5, 0x9b00dbd8});
  // The known answer for all ones would need a 128-bit counter; -1 is a 32-bit counter.
  Evaluation other = b.run(
      {store(b.var(b.y), philox(number(0), number(-1), 0)),
       store(b.at(b.y, number(1)), philox(number(0), literal(Scalar::int64, 0xffffffff), 0))});
  CHECK(other.contents[1].elements[0].integer == other.contents[1].elements[1].integer);
}

TEST_CASE("evaluate: functions with early returns") {
  Built b;
  int a = b.kernel.add_variable("a", {Scalar::int32, false, {}});
  Stmt early = jump(Stmt::Kind::finish), late = early;
  early.value = {number(100)};
  late.value = {binary(Op::add, b.var(a), number(1))};
  b.kernel.functions.push_back({"f",
                                {Scalar::int32, false, {}},
                                {a},
                                {branch(binary(Op::gt, b.var(a), number(5)), {early}), late}});
  Evaluation e = b.run({store(b.var(b.y), call(b.kernel, 0, {number(5)})),
                        store(b.at(b.y, number(1)), call(b.kernel, 0, {number(6)}))});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{6, 100});
  b.kernel.functions[0].body.pop_back(); // does not always return
  CHECK_FALSE(settle(b.kernel));
}

TEST_CASE("evaluate: unordered atomics, and one atomic per address") {
  Built b;
  Expr places = binary(Op::bit_and, range(0, 4), number(1));
  b.kernel.grid = {2, 1, 1};
  Evaluation e = b.run({atomic(Op::add, {b.at(b.z, places), range(0, 4)}, false)});
  CHECK(e.invalid == "");
  CHECK(integers(e.contents[2]) == std::vector<int64_t>{3 + 2 * 2, 3 + 2 * 4});
  e = b.run({atomic(Op::exchange, {b.at(b.z, places), range(0, 4)}, false)});
  CHECK(e.invalid == "stores to one place twice");
  e = b.run({atomic(Op::add, {b.at(b.z, places), number(1)}, false),
             atomic(Op::max, {b.at(b.z, places), number(1)}, false)});
  CHECK(e.invalid == "atomic operations of two kinds");
  e = b.run({atomic(Op::add, {b.var(b.z), number(1)}, false), store(b.var(b.y), load(b.var(b.z)))});
  CHECK(e.invalid == "reads what atomic operations are gathering");

  b.kernel.grid = {1, 1, 1};
  int before = b.kernel.add_variable("before", {Scalar::int32, false, {4}});
  Expr last = binary(Op::eq, range(0, 4), number(3));
  Stmt swaps =
      atomic(Op::compare_exchange,
             {b.at(b.z, range(0, 4)), binary(Op::add, range(0, 4), number(2)), number(9)}, false);
  swaps.variable = before;
  e = b.run({swaps, store(b.at(b.y, range(0, 4)), b.var(before))});
  CHECK(integers(e.contents[2]) == std::vector<int64_t>{3, 9, 3, 3}); // the old values were 3
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{3, 3, 3, 3});
  swaps.value.push_back(last);
  swaps.has_mask = true;
  e = b.run({swaps, store(b.at(b.y, range(0, 4)), b.var(before))});
  CHECK(e.invalid.starts_with("stores poison"));
}

TEST_CASE("evaluate: constant memory bounds, failed asserts") {
  Built b;
  Parameter table;
  table.role = Parameter::Role::constant;
  table.count = 3;
  table.data = {7, 7};
  table.variable = b.kernel.add_variable("c", {Scalar::int32, true, {}, false, true});
  b.kernel.parameters.push_back(table);
  Evaluation e = b.run({store(b.var(b.y), load(b.at(table.variable, number(2))))});
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{7});
  e = b.run({store(b.var(b.y), load(b.at(table.variable, number(3))))});
  CHECK(e.invalid == "an access outside of constant memory");
  CHECK(b.run({check(binary(Op::lt, range(0, 4), number(4)))}).invalid == "");
  CHECK(b.run({check(binary(Op::lt, range(0, 4), number(3)))}).invalid ==
        "an assertion that fails");
}

TEST_CASE("evaluate: integer dot, batched dot") {
  Built b;
  Expr bytes = cast({Scalar::int8, false, {}}, cast({Scalar::int32, false, {2, 2}}, range(0, 4)));
  Expr product = dot(bytes, bytes); // 0 1 / 2 3
  CHECK(product.type == Type{Scalar::int32, false, {2, 2}});
  Expr places = cast({Scalar::int32, false, {2, 2}}, range(0, 4));
  CHECK(integers(b.run({store(b.at(b.y, places), product)}).contents[1]) ==
        std::vector<int64_t>{2, 3, 6, 11});
  Expr cube = cast({Scalar::int32, false, {2, 2, 2}}, range(0, 8));
  Evaluation e = b.run({store(b.at(b.y, cube), dot(cube, cube))});
  // The products of 0 2 / 4 6 and of 1 3 / 5 7 with themselves.
  CHECK(integers(e.contents[1]) == std::vector<int64_t>{8, 16, 12, 24, 24, 40, 44, 64});
}
