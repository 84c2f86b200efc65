// Tests analysis/tensor_access.cpp.

#include "analysis/launch_config.h"
#include "analysis/tensor_access.h"
#include "ir/printer.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::ir;
using namespace tritonc::test;

namespace {

// For example "3 + 128*pm*lda", with the names of the values.
std::string text_of(const Poly &poly) {
  std::string out;
  for (const auto &[monomial, coefficient] : poly.terms) {
    std::string term;
    for (const Value *factor : monomial)
      term += (term.empty() ? "" : "*") + factor->name;
    if (term.empty() || coefficient != 1)
      term = std::to_string(coefficient) + (term.empty() ? "" : "*" + term);
    out += (out.empty() ? "" : " + ") + term;
  }
  return out.empty() ? "0" : out;
}

// For example "64 + 64 each t" or "K or n" (the minimum); "?" if unknown.
std::string text_of(const TensorExtent &extent) {
  if (!extent.known)
    return "?";
  std::string out;
  for (const Poly &bound : extent.bounds)
    out += (out.empty() ? "" : " or ") + text_of(bound);
  if (!extent.bounds.empty())
    return out;
  out = std::to_string(extent.touched);
  for (const TensorExtent::Repeated &repeated : extent.repeated)
    out += " + " + std::to_string(repeated.step) + " each " + repeated.counter->name;
  return out;
}

template <typename Items> std::string list_of(const Items &items) {
  std::string out;
  for (const auto &item : items)
    out += (out.empty() ? "" : ", ") + text_of(item);
  return out;
}

const char *const reasons[] = {"not affine",     "no parameter",   "no neighbors",
                               "strange stride", "strange offset", "strange mask"};

// The access of %v, with mask %m if any: "A + offset by strides at coordinates of extents". The
// outer axes are the first ones.
std::string access(Function &fn, bool masked) {
  const Value *mask = masked ? value_named(fn, "m") : nullptr;
  TensorAccessResult result = tensor_access(value_named(fn, "v"), mask);
  if (!result.access)
    return reasons[int(result.why)];
  const TensorAccess &found = *result.access;
  std::string out = found.base->name;
  if (!found.offset.is_zero())
    out += " + " + text_of(found.offset);
  std::vector<Poly> strides, coordinates;
  std::vector<TensorExtent> extents;
  for (const OuterAxis &axis : found.outer) {
    strides.push_back(axis.stride);
    coordinates.push_back(axis.coordinate);
    extents.push_back(axis.extent);
  }
  strides.insert(strides.end(), found.strides.begin(), found.strides.end());
  coordinates.insert(coordinates.end(), found.coordinates.begin(), found.coordinates.end());
  extents.insert(extents.end(), found.extents.begin(), found.extents.end());
  return out + " by " + list_of(strides) + " at " + list_of(coordinates) + " of " +
         list_of(extents);
}

Function function(const std::string &operations) {
  return parsed(R"(
    func @f(%A: ptr<f16>, %lda: i64, %first: i64, %K: i32, %n: i32, %odd: i1) {
      %zero = constant {value = 0} : i64
      %one = constant {value = 1} : i64
      %two = constant {value = 2} : i64
      %c32 = constant {value = 32} : i64
      %size = constant {value = 32} : i32
      %pm = program_id {axis = 0} : i32
      %pn = program_id {axis = 1} : i32
      %m.wide = cast %pm : i64
      %n.wide = cast %pn : i64
      %row = mul %m.wide, %c32 : i64
      %column = mul %n.wide, %c32 : i64
      %down = mul %row, %lda : i64
      for_loop %n {
        (%t: i32)
        %t.wide = cast %t : i64
        %k = mul %t.wide, %c32 : i64
        %k32 = mul %t, %size : i32
        %r = range {start = 0} : i32[16]
        %i = range {start = 0} : i32[32]
        %rows1 = expand %r {axis = 1} : i32[16,1]
        %columns1 = expand %i {axis = 0} : i32[1,32]
        %rows = broadcast %rows1 : i32[16,32]
        %columns = broadcast %columns1 : i32[16,32]
        )" + operations +
                R"(
        yield
      }
      return
    })");
}

std::string access(const std::string &operations) {
  Function fn = function(operations);
  return access(fn, operations.find("%m =") != std::string::npos);
}

// A block of A: rows from 32 pm on, columns from 32 t on. Tests add a mask.
const std::string block = R"(
        %at = add %down, %k : i64
        %v = view %A, %at, %lda, %one : view<f16>[16,32]
        )";
const std::string by = "A by lda, 1 at 32*pm, 32*t of ";

std::string masked(const std::string &operations) { return access(block + operations); }

} // namespace

TEST_CASE("tensor_access: splits an access into tensor and box coordinates") {
  struct {
    std::string operations, access;
  } cases[] = {
      {block, by + "16 + 32 each pm, 32 + 32 each t"},
      // A host-known offset moves the tensor.
      {"%at = add %down, %first : i64\n %v = view %A, %at, %lda, %one : view<f16>[16,32]",
       "A + first by lda, 1 at 32*pm, 0 of 16 + 32 each pm, 32"},
      {"%v = view %A, %lda, %lda, %one : view<f16>[16,32]", "A + lda by lda, 1 at 0, 0 of 16, 32"},
      {"%v = view %A, %two, %lda, %one : view<f16>[16,32]", "A + 2 by lda, 1 at 0, 0 of 16, 32"},
      // The other axis is contiguous.
      {"%at = add %down, %k : i64\n %v = view %A, %at, %one, %lda : view<f16>[16,32]",
       "A by 1, lda at 32*t, 32*pm of 16 + 32 each t, 32 + 32 each pm"},
      // One axis, and three.
      {"%v = view %A, %k, %one : view<f16>[32]", "A by 1 at 32*t of 32 + 32 each t"},
      {"%plane = mul %lda, %first : i64\n %p = mul %plane, %n.wide : i64\n"
       "%d = mul %lda, %k : i64\n %at = add %p, %d : i64\n"
       "%v = view %A, %at, %plane, %lda, %one : view<f16>[4,16,32]",
       "A by lda*first, lda, 1 at pn, 32*t, 0 of 4 + 1 each pn, 16 + 32 each t, 32"},
      // Several counters along one axis.
      {"%at = add %column, %k : i64\n %v = view %A, %at, %lda, %one : view<f16>[16,32]",
       "A by lda, 1 at 0, 32*pn + 32*t of 16, 32 + 32 each pn + 32 each t"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.operations);
    CHECK(access(expected.operations) == expected.access);
  }
}

TEST_CASE("tensor_access: offset without a stride is on the contiguous axis") {
  const std::string view = "%v = view %A, %at, %lda, %one : view<f16>[16,32]";
  CHECK(access("%at = add %n.wide, %zero : i64\n" + view) ==
        "A by lda, 1 at 0, pn of 16, 32 + 1 each pn");
  // A coordinate is an i32, and this product may not fit.
  CHECK(access("%at = mul %n.wide, %k : i64\n" + view) == "strange offset");
  // Along another stride, the coordinate is at most the tensor extent.
  CHECK(access("%far = mul %n.wide, %first : i64\n %at = mul %far, %lda : i64\n" + view) ==
        "A by lda, 1 at first*pn, 0 of ?, 32");
}

TEST_CASE("tensor_access: a counter times a stride of its own is on an outer axis") {
  const std::string view = "%v = view %A, %at, %lda, %one : view<f16>[16,32]";
  CHECK(access("%at = mul %n.wide, %first : i64\n" + view) ==
        "A by first, lda, 1 at pn, 0, 0 of 1 + 1 each pn, 16, 32");
  // All that the host knows of the term is the stride.
  CHECK(access("%far = mul %column, %first : i64\n %at = mul %far, %first : i64\n" + view) ==
        "A by 32*first*first, lda, 1 at pn, 0, 0 of 1 + 1 each pn, 16, 32");
  // The counter of a loop; two axes; one axis for two terms with one stride.
  CHECK(access("%at = mul %t.wide, %first : i64\n" + view) ==
        "A by first, lda, 1 at t, 0, 0 of 1 + 1 each t, 16, 32");
  CHECK(access("%b = mul %n.wide, %first : i64\n %f2 = mul %first, %first : i64\n"
               "%h = mul %m.wide, %f2 : i64\n %bh = add %b, %h : i64\n %at = add %bh, %k : i64\n" +
               view) == "A by first*first, first, lda, 1 at pm, pn, 0, 32*t of 1 + 1 each pm, "
                        "1 + 1 each pn, 16, 32 + 32 each t");
  CHECK(access("%b = mul %n.wide, %first : i64\n %c = mul %m.wide, %first : i64\n"
               "%at = add %b, %c : i64\n" +
               view) == "A by first, lda, 1 at pm + pn, 0, 0 of 1 + 1 each pm + 1 each pn, 16, 32");
}

TEST_CASE("tensor_access: quotients and remainders of program ids are counters") {
  const std::string view = "%b = mul %n.by, %first : i64\n"
                           "%v = view %A, %b, %lda, %one : view<f16>[16,32]";
  for (const char *code : {"div", "rem", "udiv", "urem"}) {
    CAPTURE(code);
    std::string by = std::string("%by = ") + code + " %pn, %n : i32\n";
    CHECK(access(by + "%n.by = cast %by : i64\n" + view) ==
          "A by first, lda, 1 at by, 0, 0 of 1 + 1 each by, 16, 32");
    // Of a quotient.
    CHECK(access(by + "%again = div %by, %n : i32\n %n.by = cast %again : i64\n" + view) ==
          "A by first, lda, 1 at again, 0, 0 of 1 + 1 each again, 16, 32");
  }
  // By a divisor that the host does not know; of a value that may be negative.
  for (const char *by : {"%by = div %pn, %pm : i32\n", "%by = rem %n, %t : i32\n",
                         "%less = sub %pn, %n : i32\n %by = div %less, %n : i32\n",
                         "%x = load %A : f16\n %by = cast %x : i32\n"}) {
    CAPTURE(by);
    CHECK(access(by + std::string("%n.by = cast %by : i64\n") + view) == "strange offset");
  }
}

TEST_CASE("tensor_access: at most five axes") {
  auto with_axes = [](int count) {
    std::string operations = "%s0 = mul %first, %first : i64\n %at0 = add %k, %zero : i64\n";
    for (int i = 0; i < count; i++) {
      std::string now = std::to_string(i), next = std::to_string(i + 1);
      operations += "%s" + next + " = mul %s" + now + ", %first : i64\n %term" + now +
                    " = mul %n.wide, %s" + next + " : i64\n %at" + next + " = add %at" + now +
                    ", %term" + now + " : i64\n";
    }
    return access(operations + "%v = view %A, %at" + std::to_string(count) +
                  ", %lda, %one : view<f16>[16,32]");
  };
  CHECK(with_axes(3) ==
        "A by first*first*first*first*first, first*first*first*first, first*first*first, lda, 1 "
        "at pn, pn, pn, 0, 32*t of 1 + 1 each pn, 1 + 1 each pn, 1 + 1 each pn, 16, "
        "32 + 32 each t");
  CHECK(with_axes(4) == "strange offset");
}

TEST_CASE("tensor_access: rejects a stride that no argument makes a multiple of 16 bytes") {
  const std::string mask = "%limit = splat %K : i32[16,32]\n"
                           "%m = cmp %columns, %limit {pred = \"lt\"} : i1[16,32]\n";
  auto stepped = [&](int step) {
    return access("%step = constant {value = " + std::to_string(step) +
                  "} : i64\n %at = mul %n.wide, %step : i64\n"
                  "%v = view %A, %at, %lda, %one : view<f16>[16,32]\n" +
                  mask);
  };
  CHECK(stepped(8) == "A by 8, lda, 1 at pn, 0, 0 of 1 + 1 each pn, 16, K");
  CHECK(stepped(12) == "strange mask");
}

TEST_CASE("tensor_access: rejects an access that goes backward") {
  const std::string view = "%v = view %A, %at, %lda, %one : view<f16>[16,32]";
  std::string cases[] = {
      "%at = sub %zero, %k : i64\n",
      "%K.wide = cast %K : i64\n %at = sub %K.wide, %k : i64\n", // from the end on
      "%at = sub %zero, %down : i64\n",
      "%d = mul %k, %lda : i64\n %end = mul %first, %lda : i64\n %at = sub %end, %d : i64\n",
      "%at = sub %down, %k : i64\n",
  };
  for (const std::string &offset : cases) {
    CAPTURE(offset);
    CHECK(access(offset + view) == "strange offset");
  }
  // Backward by a host-known offset.
  CHECK(access("%at = sub %k, %first : i64\n" + view) ==
        "A + -1*first by lda, 1 at 0, 32*t of 16, 32 + 32 each t");
}

TEST_CASE("tensor_access: extent without a mask covers all programs") {
  CHECK(access("%v = view %A, %column, %lda, %one : view<f16>[16,32]") ==
        "A by lda, 1 at 0, 32*pn of 16, 32 + 32 each pn");
  // The extent is unknown if the host does not know the factor or the number of iterations.
  CHECK(access("%times = mul %n.wide, %k : i64\n %at = mul %times, %lda : i64\n"
               "%v = view %A, %at, %lda, %one : view<f16>[16,32]") ==
        "A by lda, 1 at 32*pn*t, 0 of ?, 32");
  CHECK(access("for_loop %pm {\n (%u: i32)\n %u.wide = cast %u : i64\n"
               "%v = view %A, %u.wide, %lda, %one : view<f16>[16,32]\n yield\n }") ==
        "A by lda, 1 at 0, u of 16, ?");
  // A carried value counts no iterations.
  const std::string carried = "%u.wide = cast %u : i64\n"
                              "%v = view %A, %u.wide, %lda, %one : view<f16>[16,32]\n";
  CHECK(access("for_loop %n {\n (%u: i32)\n" + carried + "yield\n }") ==
        "A by lda, 1 at 0, u of 16, 32 + 1 each u");
  CHECK(access("%end = for_loop %n, %n : i32 {\n (%s: i32, %u: i32)\n" + carried +
               "yield %u\n }") == "A by lda, 1 at 0, u of 16, ?");
  CHECK(access("%end = while_loop %n : i32 {\n (%w: i32)\n condition %odd\n } {\n (%u: i32)\n" +
               carried + "yield %u\n }") == "A by lda, 1 at 0, u of 16, ?");
}

TEST_CASE("tensor_access: bounds mask gives the extent") {
  const std::string limit = "%left = sub %K, %k32 : i32\n %limit = splat %left : i32[16,32]\n";
  const std::string sum = "%start = splat %k32 : i32[16,32]\n"
                          "%index = add %start, %columns : i32[16,32]\n"
                          "%limit = splat %K : i32[16,32]\n";
  const std::string rows = "16 + 32 each pm, ";
  struct {
    std::string operations, extents;
  } cases[] = {
      {sum + "%m = cmp %index, %limit {pred = \"lt\"} : i1[16,32]", "K"},
      {sum + "%m = cmp %index, %limit {pred = \"le\"} : i1[16,32]", "1 + K"},
      {sum + "%m = cmp %limit, %index {pred = \"gt\"} : i1[16,32]", "K"},
      {sum + "%m = cmp %limit, %index {pred = \"ge\"} : i1[16,32]", "1 + K"},
      // i < K - k and K - k > i.
      {limit + "%m = cmp %columns, %limit {pred = \"lt\"} : i1[16,32]", "K"},
      {limit + "%m = cmp %limit, %columns {pred = \"gt\"} : i1[16,32]", "K"},
      {limit + "%m = cmp %limit, %columns {pred = \"ge\"} : i1[16,32]", "1 + K"},
      {limit + "%m = cmp %columns, %limit {pred = \"le\"} : i1[16,32]", "1 + K"},
      // With fewer axes first.
      {"%left = sub %K, %k32 : i32\n %limit = splat %left : i32[32]\n"
       "%a = cmp %i, %limit {pred = \"lt\"} : i1[32]\n %b = expand %a {axis = 0} : i1[1,32]\n"
       "%m = broadcast %b : i1[16,32]",
       "K"},
      {"%left = sub %K, %k32 : i32\n %limit = splat %left : i32[1,32]\n"
       "%a = cmp %columns1, %limit {pred = \"lt\"} : i1[1,32]\n %m = broadcast %a : i1[16,32]",
       "K"},
      // Transposed.
      {limit +
           "%a = cmp %columns, %limit {pred = \"lt\"} : i1[16,32]\n"
           "%b = trans %a {perm = [1,0]} : i1[32,16]\n %m = trans %b {perm = [1,0]} : i1[16,32]",
       "K"},
      {"%left = sub %K, %k32 : i32\n %limit = splat %left : i32[32,1]\n"
       "%upright = expand %i {axis = 1} : i32[32,1]\n"
       "%a = cmp %upright, %limit {pred = \"lt\"} : i1[32,1]\n"
       "%b = trans %a {perm = [1,0]} : i1[1,32]\n %m = broadcast %b : i1[16,32]",
       "K"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.operations);
    CHECK(masked(expected.operations) == by + rows + expected.extents);
  }
}

TEST_CASE("bounds_of: supports units, emit_mask uses the largest unit") {
  const std::string units =
      "%four = constant {value = 4} : i32\n"
      "%fours = splat %four : i32[16,32]\n"
      "%iterations = constant {value = 8} : i32\n %past = mul %t, %iterations : i32\n"
      "%left = sub %n, %past : i32\n %limit = splat %left : i32[16,32]\n";
  CHECK(masked(units + "%u = udiv %columns, %fours : i32[16,32]\n"
                       "%m = cmp %u, %limit {pred = \"lt\"} : i1[16,32]") ==
        by + "16 + 32 each pm, 4*n");
  // If the index does not start at 0, the units have another origin. `le` gives another number of
  // units.
  CHECK(masked(units + "%later = add %columns, %fours : i32[16,32]\n"
                       "%u = udiv %later, %fours : i32[16,32]\n"
                       "%m = cmp %u, %limit {pred = \"lt\"} : i1[16,32]") == "strange mask");
  CHECK(masked(units + "%u = udiv %columns, %fours : i32[16,32]\n"
                       "%m = cmp %u, %limit {pred = \"le\"} : i1[16,32]") == "strange mask");

  Function fn = function("");
  Op *loop = fn.body->ops[fn.body->ops.size() - 2];
  Builder builder = Builder::before(fn, loop);
  Poly first = Poly::symbol(value_named(fn, "first")), K = Poly::symbol(value_named(fn, "K"));
  for (int64_t unit : {1, 3, 8, 96}) {
    Poly before = first * Poly::constant(2 * unit) - K * Poly::constant(unit);
    Value *mask = emit_mask(builder, {16, 32}, {{1, before}});
    std::optional<std::vector<Bound>> bounds = bounds_of(mask, 2);
    REQUIRE(bounds);
    REQUIRE(bounds->size() == 1);
    CHECK((*bounds)[0].axis == 1);
    CHECK((*bounds)[0].before == before);
    int divisions = 0;
    for_each_op(*fn.body, [&](const Op &op) { divisions += op.is(Opcode::udiv_); });
    CHECK(divisions == (unit < 8 ? 0 : unit == 8 ? 1 : 2)); // total so far; odd numbers need none
  }
}

TEST_CASE("tensor_access: combines masks of several axes") {
  const std::string both = R"(
        %start.r = mul %pm, %size : i32
        %r.start = splat %start.r : i32[16,32]
        %r.index = add %r.start, %rows : i32[16,32]
        %M = splat %n : i32[16,32]
        %a = cmp %r.index, %M {pred = "lt"} : i1[16,32]
        %left = sub %K, %k32 : i32
        %limit = splat %left : i32[16,32]
        %b = cmp %columns, %limit {pred = "lt"} : i1[16,32]
        )";
  CHECK(masked(both + "%m = and %a, %b : i1[16,32]") == by + "n, K");
  CHECK(masked(both + "%m = and %b, %a : i1[16,32]") == by + "n, K");
  CHECK(masked(both + "%last = constant {value = 100} : i32\n %short = sub %last, %k32 : i32\n"
                      "%ls = splat %short : i32[16,32]\n"
                      "%c = cmp %columns, %ls {pred = \"lt\"} : i1[16,32]\n"
                      "%m = and %b, %c : i1[16,32]") == by + "16 + 32 each pm, K or 100");
  CHECK(masked(both + "%m = or %a, %b : i1[16,32]") == "strange mask");
}

TEST_CASE("bounds_of: has equal bounds once") {
  const std::string bound = "%left = sub %K, %k32 : i32\n %limit = splat %left : i32[16,32]\n"
                            "%a = cmp %columns, %limit {pred = \"lt\"} : i1[16,32]\n";
  auto bounds = [&](const std::string &operations) {
    Function fn = function(block + bound + operations);
    std::optional<std::vector<Bound>> found = bounds_of(value_named(fn, "m"), 2);
    REQUIRE(found);
    return found->size();
  };
  CHECK(bounds("%m = and %a, %a : i1[16,32]") == 1);
  CHECK(bounds("%b = cmp %limit, %columns {pred = \"gt\"} : i1[16,32]\n"
               "%m = and %a, %b : i1[16,32]") == 1);
  // Another limit, and the same limit of another axis.
  CHECK(bounds("%b = cmp %columns, %limit {pred = \"le\"} : i1[16,32]\n"
               "%m = and %a, %b : i1[16,32]") == 2);
  CHECK(bounds("%b = cmp %rows, %limit {pred = \"lt\"} : i1[16,32]\n"
               "%m = and %a, %b : i1[16,32]") == 2);
}

TEST_CASE("emit_limits: is the minimum of bounds and extent") {
  Function fn = function("%k64 = cast %K : i64\n");
  Op *loop = fn.body->ops[fn.body->ops.size() - 2];
  Builder builder = Builder::before(fn, loop);
  Poly lda = Poly::symbol(value_named(fn, "lda")), first = Poly::symbol(value_named(fn, "first"));
  std::vector<Value *> limits =
      emit_limits(builder, {16, 32}, {{1, Poly::constant(3) - lda}, {1, Poly() - first}});
  REQUIRE(limits.size() == 2);
  CHECK(constant_of(limits[0]) == 16);
  REQUIRE(limits[1]->op->is(Opcode::min_));
  CHECK(text_of(poly_of(limits[1]->op->operand(0))) == "-3 + lda");
  CHECK(text_of(poly_of(limits[1]->op->operand(1))) == "first");
  // A single bound is the limit.
  limits = emit_limits(builder, {16, 32}, {{0, Poly() - lda}});
  CHECK(text_of(poly_of(limits[0])) == "lda");
  CHECK(constant_of(limits[1]) == 32);
}

TEST_CASE("tensor_access: a term that the mask does not count is on an outer axis") {
  // Matrices of K columns each, side by side in iteration t.
  CHECK(masked("%limit = splat %K : i32[16,32]\n"
               "%m = cmp %columns, %limit {pred = \"lt\"} : i1[16,32]") ==
        "A by 32, lda, 1 at t, 32*pm, 0 of 1 + 1 each t, 16 + 32 each pm, K");
  // Matrices of K rows each, one below the other.
  CHECK(access("%K.wide = cast %K : i64\n %matrix = mul %K.wide, %lda : i64\n"
               "%b = mul %n.wide, %matrix : i64\n %at = add %b, %k : i64\n"
               "%v = view %A, %at, %lda, %one : view<f16>[16,32]\n"
               "%limit = splat %K : i32[16,32]\n"
               "%m = cmp %rows, %limit {pred = \"lt\"} : i1[16,32]") ==
        "A by lda*K, lda, 1 at pn, 0, 32*t of 1 + 1 each pn, K, 32 + 32 each t");
}

TEST_CASE("tensor_access: rejects a mask that is not a bound") {
  const std::string limit = "%left = sub %K, %k32 : i32\n %limit = splat %left : i32[16,32]\n";
  std::string cases[] = {
      limit + "%m = cmp %columns, %limit {pred = \"ne\"} : i1[16,32]",
      limit + "%m = cmp %columns, %limit {pred = \"ult\"} : i1[16,32]",
      // A lower bound.
      limit + "%m = cmp %columns, %limit {pred = \"gt\"} : i1[16,32]",
      limit + "%m = cmp %limit, %columns {pred = \"lt\"} : i1[16,32]",
      // Twice the coordinate, or a sum of both axes.
      limit + "%twice = add %columns, %columns : i32[16,32]\n"
              "%m = cmp %twice, %limit {pred = \"lt\"} : i1[16,32]",
      limit + "%both = add %columns, %rows : i32[16,32]\n"
              "%m = cmp %both, %limit {pred = \"lt\"} : i1[16,32]",
      // Without an axis.
      limit + "%m = cmp %limit, %limit {pred = \"lt\"} : i1[16,32]",
      "%m = splat %odd : i1[16,32]",
      "%m = cmp %K, %n {pred = \"lt\"} : i1",
      // Not affine.
      limit + "%x = load %v : f16[16,32]\n %c = cast %x : i32[16,32]\n"
              "%m = cmp %c, %limit {pred = \"lt\"} : i1[16,32]",
  };
  for (const std::string &operations : cases) {
    CAPTURE(operations);
    CHECK(masked(operations) == "strange mask");
  }
}

TEST_CASE("tensor_access: returns each reject reason") {
  struct {
    std::string operations, why;
  } cases[] = {
      {"%s = splat %A : ptr<f16>[16]\n %q = mul %r, %r : i32[16]\n"
       "%v = addptr %s, %q : ptr<f16>[16]",
       "not affine"},
      {"%v = addptr %A, %t : ptr<f16>", "not affine"}, // a scalar
      {"%B = select %odd, %A, %A : ptr<f16>\n %v = view %B, %k, %one : view<f16>[32]",
       "no parameter"},
      {"%v = view %A, %k, %lda, %two : view<f16>[16,32]", "no neighbors"},
      {"%v = view %A, %k, %two : view<f16>[32]", "no neighbors"},
      {"%v = view %A, %zero, %lda, %one : view<f16>[16,1]", "no neighbors"},
      {"%v = view %A, %zero, %k, %one : view<f16>[16,32]", "strange stride"},
      {"%v = view %A, %zero, %row, %one : view<f16>[16,32]", "strange stride"},
      {"%v = view %A, %k, %zero, %one : view<f16>[16,32]", "strange stride"},
  };
  for (const auto &expected : cases) {
    CAPTURE(expected.operations);
    CHECK(access(expected.operations) == expected.why);
  }
}

TEST_CASE("emit_tensor_map: outer axes are the first axes of the map") {
  Function fn = function("%H = cast %n : i64\n %b = div %n.wide, %H : i64\n"
                         "%h = rem %n.wide, %H : i64\n"
                         "%at.b = mul %b, %first : i64\n %f2 = mul %first, %first : i64\n"
                         "%at.h = mul %h, %f2 : i64\n %at = add %at.b, %at.h : i64\n"
                         "%v = view %A, %at, %lda, %one : view<f16>[16,32]");
  TensorAccessResult found = tensor_access(value_named(fn, "v"), nullptr);
  REQUIRE(found.access);
  Value *map = emit_tensor_map(fn, 0, *found.access, Elem::f16, {16, 32}, 64);
  check_rules(fn);
  CHECK(map->type == Type::map(Elem::f16, {1, 1, 16, 32}));
  REQUIRE(map->op->operands.size() == 10);
  for (size_t i = 1; i < map->op->operands.size(); i++)
    CHECK(host_expression(map->op->operand(i)));
  // The extents are the quotient's and the remainder's largest values plus 1.
  CHECK(map->op->operand(2)->op->is(Opcode::add_));
  CHECK(map->op->operand(6) != map->op->operand(7));
}

TEST_CASE("emit_tensor_map: emits host values at the top") {
  Function fn = function(block);
  TensorAccessResult found = tensor_access(value_named(fn, "v"), nullptr);
  REQUIRE(found.access);
  Value *map = emit_tensor_map(fn, 0, *found.access, Elem::f16, {16, 32}, 64);
  check_rules(fn);
  CHECK(map->op->parent == fn.body);
  CHECK(map->name == "A");
  CHECK(map->type == Type::map(Elem::f16, {16, 32}));
  CHECK(map->op->get(attr::swizzle_) == 64);
  CHECK(map->op->operand(0) == found.access->base);
  for (size_t i = 1; i < map->op->operands.size(); i++)
    CHECK(host_expression(map->op->operand(i)));
}
