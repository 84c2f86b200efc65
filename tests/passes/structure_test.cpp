// Tests passes/structure.cpp, and what it is made of: what gets a specialised structure, and each
// reason why something does not.

#include "passes/structure.h"

#include "passes/obstacles.h"
#include "product_kernel.h"
#include "support/tile_ir.h"

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::vector<Structure> structures(const std::string &text, const char *gpu = "90a") {
  ir::Function fn = parsed(text);
  std::string before = printed(fn);
  std::vector<Structure> found = structures_for(fn, *find_gpu(gpu));
  CHECK(printed(fn) == before);
  REQUIRE_FALSE(found.empty());
  for (const Structure &structure : found) {
    bool is_last = &structure == &found.back();
    bool is_uniform = structure.together || structure.alone || is_last || // the plain one
                      structure.share == Structure::Share::sum_of_parts;
    CHECK(structure.specialized == (find_gpu(gpu)->has_tensor_maps && !is_uniform));
    if (structure.is_first())
      CHECK((&structure)[1].is_second());
    else if (!is_last)
      CHECK_FALSE((&structure)[1].is_second());
    CHECK((structure.name == "") == is_last);
  }
  return found;
}

bool specialises(const std::string &text, const char *gpu = "90a") {
  return structures(text, gpu)[0].specialized;
}

// The names of the specialised structures that do all of the work.
std::vector<std::string> names(const std::string &text) {
  std::vector<std::string> names;
  for (const Structure &structure : structures(text))
    if (structure.specialized && structure.share == Structure::Share::all)
      names.push_back(structure.name);
  return names;
}

// Whether the copy engine can bring the factors, and whether there is a structure in which threads
// do.
bool has_maps(const std::string &text) {
  Structure best = structures(text)[0];
  return best.specialized && !best.copying_warps;
}
bool has_threads(const std::string &text) {
  for (const Structure &structure : structures(text))
    if (structure.copying_warps)
      return true;
  return false;
}

// A kernel whose programs can't be bundled: they do not depend on where they are.
std::string alone(std::string text) {
  for (const char *axis : {"0", "1"})
    text = with(text, std::string("program_id {axis = ") + axis + "} : i32",
                std::string("constant {value = ") + axis + "} : i32");
  return text;
}

// A or B as the product uses it is the transpose of what is loaded.
std::string transposed_a() {
  std::string text = with(product_kernel(), "%at.a, %lda, %one", "%at.a, %one, %lda");
  text = with(text, "%a = load %va : f16[64,64]",
              "%stored = load %va : f16[64,64]\n %a = trans %stored {perm = [1,0]} : f16[64,64]");
  return text;
}

// The load of A with more operands.
std::string masked(const std::string &operations, const std::string &operands, int step) {
  return with(product_kernel(128, 128, step), "%a = load %va",
              with(operations, "STEP", std::to_string(step)) + "\n %a = load %va, " + operands);
}

} // namespace

TEST_CASE("a product of f16 or bf16 tiles is specialised where the GPU has tensor maps") {
  for (const char *elem : {"f16", "bf16"})
    CHECK(specialises(product_kernel(64, 64, 64, elem)));
  for (const char *gpu : {"75", "80", "89", "90", "100", "120"}) {
    CAPTURE(gpu);
    CHECK(specialises(product_kernel(), gpu) == find_gpu(gpu)->has_tensor_maps);
  }
  CHECK_FALSE(specialises(product_kernel(), "80"));
}

TEST_CASE("without wgmma one tile is specialised, in steps and with room for results that leave a "
          "ring of three slots") {
  struct {
    const char *gpu, *name;
    int64_t step, pieces;
  } cases[] = {{"90", "128x256x64 specialized", 64, 2},
               {"100a", "128x256x64 specialized", 64, 2},
               {"120", "128x256x32 specialized", 32, 1},
               {"121f", "128x256x32 specialized", 32, 1}};
  for (const auto &[gpu, name, step, pieces] : cases)
    for (int k : {16, 64}) { // steps can also be shorter than the source's
      CAPTURE(gpu);
      CAPTURE(k);
      std::vector<Structure> found = structures(product_kernel(64, 64, k), gpu);
      CHECK(found[0].name == name);
      CHECK(found[0].step == step);
      CHECK(found[0].staged_pieces == pieces);
      CHECK(found[0].bundle == std::vector<int64_t>{2, 4, 1});
      CHECK_FALSE(found[0].copying_warps);
      CHECK(found[0].splits == 1);
      // There is another for when no tensor map can be made; the host compares them.
      REQUIRE(found.size() >= 2);
      for (const Structure &structure : found)
        CHECK(structure.cost);
      CHECK_FALSE(found[1].specialized);
    }
  // wgmma needs no deeper ring, and stages as it did.
  CHECK(structures(product_kernel())[0].staged_pieces == 2);
}

TEST_CASE("nothing is specialised without wgmma that mma does not take as it comes") {
  auto is = [](const std::string &text) { return specialises(text, "90"); };
  const std::string whole =
      with(with(product_kernel(64, 64, 64, "i8"), "{number = 0.0} : f32", "{value = 0} : i32"),
           ": f32", ": i32");
  CHECK(is(b_transposed(whole)));
  CHECK_FALSE(is(whole)); // neighbours along N
  CHECK_FALSE(is(a_transposed(b_transposed(whole))));
  CHECK_FALSE(is(product_kernel(64, 64, 32, "f32"))); // exact
  CHECK_FALSE(is(product_kernel(64, 64, 32, "f64")));
  CHECK_FALSE(is(product_kernel(256, 64, 32))); // no block's tile
  CHECK_FALSE(is(alone(product_kernel())));
  CHECK_FALSE(is(with(product_kernel(), "%at.a, %lda, %one", "%at.a, %lda, %lda")));
  CHECK(is(a_transposed(product_kernel())));
  CHECK(is(b_transposed(product_kernel())));
}

TEST_CASE(
    "without wgmma programs are bundled to one tile, with as long steps as three slots allow") {
  auto bundled = [](const std::string &text, const char *gpu) {
    for (const Structure &structure : structures(text, gpu))
      if (!structure.specialized)
        return structure.name;
    return std::string();
  };
  for (const char *elem : {"f16", "bf16"})
    for (const char *gpu : {"80", "90", "100"}) {
      CHECK(bundled(product_kernel(128, 128, 64, elem), gpu) == "128x256x64");
      CHECK(bundled(product_kernel(32, 64, 16, elem), gpu) == "128x256x64");
    }
  for (int step : {16, 32, 64})
    CHECK(bundled(product_kernel(64, 64, step), "89") == "128x256x32");
  std::vector<Structure> found = structures(product_kernel(64, 128, 16), "80");
  REQUIRE(found.size() == 2);
  CHECK(found[0].bundle == std::vector<int64_t>{2, 2, 1});
  CHECK(found[0].step == 64);
  CHECK(found[0].cost);
}

TEST_CASE(
    "nothing is bundled that is not multiplied by tensor cores, from copies in the background") {
  auto is_plain = [](const std::string &text, const char *gpu) {
    return structures(text, gpu).size() == 1;
  };
  CHECK(is_plain(product_kernel(), "75"));            // has no cp.async
  CHECK(is_plain(product_kernel(64, 64, 128), "89")); // no place for three slots
  std::string bytes = with(product_kernel(64, 64, 64, "i8"), "f32", "i32");
  bytes = with(bytes, "number = 0.0", "value = 0");
  CHECK(is_plain(bytes, "80")); // programs by themselves are faster
  CHECK(structures(bytes, "80")[0].cost);
  CHECK(is_plain(product_kernel(64, 64, 32, "f32"), "80")); // exact
  CHECK(is_plain(product_kernel(128, 256, 64), "80"));      // large enough as it is
  CHECK(is_plain(alone(product_kernel()), "80"));
  CHECK(is_plain(with(product_kernel(), "%at.a, %lda, %one", "%at.a, %lda, %lda"), "80"));
}

TEST_CASE("long steps of products without tensor cores are cut to a thousand instructions") {
  auto step = [](const std::string &text, const char *gpu) {
    return structures(text, gpu).back().step;
  };
  for (const char *gpu : {"80", "90", "90a", "120"}) {
    CHECK(step(product_kernel(128, 128, 64, "f32"), gpu) == 8); // 128 sums a thread
    CHECK(step(product_kernel(128, 64, 64, "f32"), gpu) == 16);
  }
  CHECK(step(product_kernel(128, 128, 8, "f32"), "80") == 0);
  CHECK(step(product_kernel(64, 64, 32, "f32"), "80") == 0);
  CHECK(step(product_kernel(128, 128, 64, "f32"), "75") == 0);
  CHECK(step(product_kernel(128, 128, 64), "80") == 0);
}

TEST_CASE("without wgmma, steps leave room for a second program, and nothing is cut that does") {
  auto step = [](const std::string &text, const char *gpu) {
    return structures(text, gpu).back().step;
  };
  CHECK(step(product_kernel(128, 128, 64), "89") == 32); // 64 KiB of 99
  CHECK(step(product_kernel(128, 64, 64), "89") == 0);
  CHECK(step(product_kernel(128, 128, 32), "89") == 0);
  CHECK(step(product_kernel(128, 128, 64), "75") == 32); // 64 KiB of 64
  CHECK(step(product_kernel(128, 128, 64), "80") == 0);
  CHECK(step(product_kernel(256, 256, 64), "75") == 0); // there is none with room for two
}

TEST_CASE("without wgmma a program has a cost if tensor cores multiply") {
  auto cost = [](int m, int n, const char *gpu, const char *elem) {
    return structures(product_kernel(m, n, 64, elem), gpu).back().cost;
  };
  for (const char *gpu : {"75", "80", "90"}) {
    CHECK(cost(128, 128, gpu, "f16"));
    CHECK_FALSE(cost(128, 128, gpu, "f32"));
  }
  CHECK(cost(64, 64, "80", "bf16"));
}

// Programs that each go through a row of N elements, `width` at a time, and then store something.
std::string row_kernel(int width) {
  const std::string n = std::to_string(width), f32 = ": f32[" + n + "]", i32 = ": i32[" + n + "]";
  return "func @f(%x: ptr<f32>, %y: ptr<f32>, %N: i32) {\n"
         " %row = program_id {axis = 0} : i32\n"
         " %base = mul %row, %N : i32\n"
         " %first = addptr %x, %base : ptr<f32>\n"
         " %i = range {start = 0} " +
         i32 +
         "\n"
         " %px = splat %first : ptr<f32>[" +
         n +
         "]\n"
         " %p = addptr %px, %i : ptr<f32>[" +
         n +
         "]\n"
         " %zero = constant {number = 0.0} : f32\n"
         " %none = splat %zero " +
         f32 +
         "\n"
         " %up = constant {value = " +
         std::to_string(width - 1) +
         "} : i32\n"
         " %width = constant {value = " +
         n +
         "} : i32\n"
         " %more = add %N, %up : i32\n"
         " %trips = div %more, %width : i32\n"
         " %sum = for_loop %trips, %none " +
         f32 +
         " {\n"
         "  (%k: i32, %s" +
         f32 +
         ")\n"
         "  %step = mul %k, %width : i32\n"
         "  %steps = splat %step " +
         i32 +
         "\n"
         "  %q = addptr %p, %steps : ptr<f32>[" +
         n +
         "]\n"
         "  %left = sub %N, %step : i32\n"
         "  %lefts = splat %left " +
         i32 +
         "\n"
         "  %inside = cmp %i, %lefts {pred = \"lt\"} : i1[" +
         n +
         "]\n"
         "  %v = load %q, %inside, %none " +
         f32 +
         "\n"
         "  %e = exp %v " +
         f32 +
         "\n"
         "  %t = add %s, %e " +
         f32 +
         "\n"
         "  yield %t\n"
         " }\n"
         " %total = reduce %sum {axis = 0, op = \"add\"} : f32\n"
         " %to = addptr %y, %row : ptr<f32>\n"
         " store %to, %total\n"
         " return\n"
         "}";
}

int64_t value_of(const Expr &expr, int64_t programs, int64_t n) {
  auto operand = [&](size_t i) { return value_of(expr.operands[i], programs, n); };
  switch (expr.kind) {
  case Expr::Kind::constant:
    return expr.value;
  case Expr::Kind::parameter:
    return n;
  case Expr::Kind::programs:
    return expr.value == 0 ? programs : 1;
  case Expr::Kind::multiprocessors:
    return 132;
  case Expr::Kind::add:
    return operand(0) + operand(1);
  case Expr::Kind::mul:
    return operand(0) * operand(1);
  case Expr::Kind::div:
    return operand(0) / operand(1);
  case Expr::Kind::ceil_div:
    return (operand(0) + operand(1) - 1) / operand(1);
  case Expr::Kind::max:
    return std::max(operand(0), operand(1));
  default:
    FAIL("an expression that costs have no use for");
    return 0;
  }
}

TEST_CASE("programs that go through rows have a cost, by which the width suits the rows") {
  auto best_width = [](int64_t rows, int64_t n) {
    int64_t best = 0, least = INT64_MAX;
    for (int width : {64, 128, 256, 512, 1024, 2048, 4096}) {
      std::optional<Expr> cost = structures(row_kernel(width)).back().cost;
      REQUIRE(cost);
      int64_t value = value_of(*cost, rows, n);
      CHECK(value > 0);
      if (value < least) {
        least = value;
        best = width;
      }
    }
    return best;
  };
  CHECK(best_width(16, 64) == 64);
  CHECK(best_width(16, 100) == 128);
  CHECK(best_width(16, 1000) == 1024);
  CHECK(best_width(16, 4096) >= 1024);
  CHECK(best_width(16384, 64) == 64);
  CHECK(best_width(16384, 8200) < 1024); // the last step of wider ones is almost empty
}

TEST_CASE("the more programs a multiprocessor has at once, the fewer rounds they come in") {
  std::vector<Structure> found = structures(row_kernel(1024));
  REQUIRE(found.back().work);
  const ProgramWork &work = *found.back().work;
  CHECK(work.threads == 128);
  CHECK(work.likely_resident > 1);
  auto cost = [&](int64_t resident, int64_t programs) {
    return value_of(cost_of_programs_apart(work, resident), programs, 4096);
  };
  CHECK(cost(4, 132 * 4) < cost(3, 132 * 4));
  CHECK(cost(4, 132 * 4) < cost(4, 132 * 4 + 1));
  CHECK(cost(4, 132 * 3) < cost(4, 132 * 3 + 1)); // fewer in a round take less
  CHECK(cost(4, 132 * 3 + 1) == cost(4, 132 * 4));
  CHECK(cost(8, 132 * 3) == cost(4, 132 * 3)); // there is no more than one round anyway
  // Until there is code, as many as it is likely to have.
  CHECK(value_of(*found.back().cost, 1000, 4096) == cost(work.likely_resident, 1000));
  // Nothing of the kind with products, whose blocks are as large as they can be.
  for (const Structure &structure : structures(product_kernel()))
    CHECK_FALSE(structure.work);
}

TEST_CASE("what is left of a step takes as long as a whole one") {
  auto cost = [](const std::string &name, int64_t trips) -> int64_t {
    for (const Structure &structure : structures(product_kernel()))
      if (structure.name == name)
        return value_of(*structure.cost, 4, trips);
    FAIL("there is no " << name);
    return 0;
  };
  for (std::string name : {"64x64x128 specialized", "64x64x128 specialized, split 4"}) {
    CAPTURE(name);
    CHECK(cost(name, 63) == cost(name, 64));
    CHECK(cost(name, 64) < cost(name, 65));
  }
  CHECK(cost("64x128x64 specialized", 63) < cost("64x128x64 specialized", 64));
}

TEST_CASE("of programs by themselves each iteration costs, and each round") {
  // Of the plain structure, in steps of so much of K.
  auto cost = [](int step, const char *gpu, int64_t programs, int64_t k) {
    const Structure plain = structures(product_kernel(64, 64, step), gpu).back();
    REQUIRE(plain.cost);
    return value_of(*plain.cost, programs, k / step);
  };
  for (const char *gpu : {"80", "90", "90a"}) {
    CAPTURE(gpu);
    CHECK(cost(32, gpu, 100, 1024) > cost(64, gpu, 100, 1024));
    CHECK(cost(32, gpu, 100, 64) > cost(64, gpu, 100, 64));
    CHECK(cost(64, gpu, 10, 1024) == cost(64, gpu, 20, 1024));
    // A round in which little is multiplied takes its time, too.
    CHECK(cost(64, gpu, 133, 64) > cost(64, gpu, 132, 64) + 200);
  }
}

TEST_CASE("a cost is only there where the host knows how often loops run") {
  std::string text = row_kernel(64);
  CHECK(structures(text).back().cost);
  CHECK_FALSE(structures(with(text, "%trips = div %more, %width", "%trips = mul %row, %width"))
                  .back()
                  .cost);
  // Numbers by themselves are no work.
  CHECK_FALSE(structures("func @f(%p: ptr<f32>) {\n %a = load %p : f32\n store %p, %a\n return\n}")
                  .back()
                  .cost);
}

TEST_CASE("nothing else than a product is specialised") {
  CHECK_FALSE(specialises("func @f(%p: ptr<f32>[64]) {\n %a = load %p : f32[64]\n"
                          " store %p, %a\n return\n}"));
}

TEST_CASE("the tile is one that warpgroups can multiply, and hold the sums of") {
  struct {
    int m, n, k;
    bool fits;
  } cases[] = {
      {64, 64, 64, true},    {64, 16, 16, true},   {64, 256, 64, true}, {128, 64, 64, true},
      {128, 256, 64, true},  {256, 128, 64, true}, {64, 8, 64, false},  {64, 64, 8, true},
      {64, 512, 16, false},  // an instruction has 256 columns
      {32, 64, 64, false},   // and 64 rows
      {256, 256, 64, false}, // 256 sums in each thread
      {512, 128, 64, false},
  };
  for (const auto &[m, n, k, fits] : cases) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CHECK(specialises(alone(product_kernel(m, n, k))) == fits);
  }
}

TEST_CASE("all warps copy and multiply together in one small tile, of 16-bit factors") {
  auto together = [](const std::string &text, const char *gpu = "90a") {
    for (const Structure &structure : structures(text, gpu))
      if (structure.together)
        return structure.name;
    return std::string();
  };
  for (const char *elem : {"f16", "bf16"}) {
    CHECK(together(product_kernel(64, 32, 64, elem)) == "64x32x128 together");
    CHECK(together(product_kernel(16, 16, 16, elem)) == "64x32x128 together");
  }
  CHECK(together(product_kernel(64, 64, 64)) == "");         // larger
  CHECK(together(product_kernel(64, 32, 64, "e4m3")) == ""); // nobody has measured it
  CHECK(together(with(product_kernel(64, 32, 64), "lda: i64 multiple_of 8",
                      "lda: i64 multiple_of 2")) == "");   // 4 bytes at a time
  CHECK(together(product_kernel(64, 32, 64), "80") == ""); // no wgmma
  CHECK(together(with(product_kernel(64, 32, 64), "lda: i64 multiple_of 8", "lda: i64")) ==
        ""); // no cp.async
}

TEST_CASE("programs of few rows have a structure in which a block is alone") {
  auto alone_name = [](const std::string &text, const char *gpu = "90a") {
    for (const Structure &structure : structures(text, gpu))
      if (structure.alone)
        return structure.name;
    return std::string();
  };
  CHECK(alone_name(product_kernel(16, 64, 64)) == "16x64x128 alone");
  CHECK(alone_name(product_kernel(32, 64, 16)) == "32x64x128 alone");
  CHECK(alone_name(with(product_kernel(16, 64, 64), "lda: i64 multiple_of 8",
                        "lda: i64 multiple_of 2")) == ""); // 4 bytes at a time
  CHECK(alone_name(product_kernel(64, 64, 64)) == "");     // enough for wgmma
  CHECK(alone_name(product_kernel(16, 64, 64, "e4m3")) == "");
  CHECK(alone_name(alone(product_kernel(16, 64, 64))) == ""); // without a cost
}

TEST_CASE("programs are bundled to the tiles that are worth it, the largest first") {
  using Names = std::vector<std::string>;
  const Names all = {"128x256x64 specialized",         "128x128x64 specialized, ping-pong",
                     "64x256x64 specialized",          "64x128x64 specialized",
                     "64x64x128 specialized",          "128x128x64 specialized, split 4",
                     "64x128x64 specialized, split 2", "64x64x128 specialized, split 4"};
  CHECK(names(product_kernel(64, 64, 64)) == all);
  CHECK(names(product_kernel(32, 16, 64)) == all);
  CHECK(names(product_kernel(128, 128, 64)) == Names{all[0], all[1], all[5]});
  CHECK(names(product_kernel(128, 64, 64)) == Names{all[0], all[1], all[5]});
}

TEST_CASE("where the best is not known there is one structure: the largest, or the source's own") {
  using Names = std::vector<std::string>;
  CHECK(names(alone(product_kernel(64, 64, 64))) == Names{"64x64x128 specialized"});
  CHECK(names(alone(product_kernel(128, 64, 64))) == Names{"128x64x64 specialized"});
  CHECK(names(product_kernel(256, 64, 64)) == Names{"256x64x64 specialized"});
  // The host does not know how many steps there are.
  std::string unknown = with(product_kernel(), "for_loop %K", "for_loop %pk");
  unknown = with(unknown, "%nothing =", "%pk = program_id {axis = 2} : i32\n %nothing =");
  CHECK(names(unknown) == Names{"128x256x64 specialized"});
  CHECK_FALSE(structures(unknown)[0].cost);
  CHECK(structures(unknown)[0].step == 0);
}

TEST_CASE("a loop whose trips are loaded is not specialised: the copying thread loads nothing") {
  std::string loaded = with(product_kernel(), "%K: i32", "%length: ptr<i32>");
  CHECK_FALSE(specialises(with(loaded, "%nothing =", "%K = load %length : i32\n %nothing =")));
}

TEST_CASE("a bundle is along the axis of the grid that the tile's axis is") {
  std::vector<Structure> found = structures(product_kernel(64, 64, 64));
  CHECK(found[0].bundle == std::vector<int64_t>{2, 4, 1});
  CHECK(found[4].bundle == std::vector<int64_t>{1, 1, 1});
  std::string exchanged =
      with(product_kernel(), "%pm = program_id {axis = 0}", "%pm = program_id {axis = 2}");
  CHECK(structures(exchanged)[0].bundle == std::vector<int64_t>{1, 4, 2});
}

TEST_CASE("a step fills 128 bytes of K, and is the source's if that is longer") {
  CHECK(structures(product_kernel(64, 64, 8))[0].step == 64);
  CHECK(structures(product_kernel(64, 64, 16))[0].step == 64);
  CHECK(structures(product_kernel(64, 64, 64))[0].step == 64);
  CHECK(structures(product_kernel(64, 64, 128))[0].step == 128);
}

TEST_CASE("steps that must stay as they are in the source") {
  using Names = std::vector<std::string>;
  auto stays = [](const std::string &text, const Names &expected) {
    CAPTURE(text);
    CHECK(names(text) == expected);
    CHECK(structures(text)[0].step == 0);
  };
  // The loop does something else in each of its steps.
  std::string stores = with(product_kernel(128, 64, 16), "%K: i32", "%K: i32, %D: ptr<f16>");
  stores = with(stores, "yield %d", "%z = constant {number = 0.0} : f16\n store %D, %z\n yield %d");
  stays(stores, {"128x64x16 specialized"});
  // It carries something else.
  std::string carries =
      with(product_kernel(128, 64, 16),
           "%sum = for_loop %K, %start : ", "%last, %sum = for_loop %K, %K, %start : i32, ");
  carries = with(carries, "(%t: i32, ", "(%t: i32, %x: i32, ");
  carries = with(carries, "yield %d", "%y = xor %x, %t : i32\n yield %y, %d");
  carries = with(carries, "%first.c = mul %row, %ldc",
                 "%last.wide = cast %last : i64\n"
                 "%z = add %row, %last.wide : i64\n"
                 "%first.c = mul %z, %ldc");
  stays(alone(carries), {"128x64x16 specialized"});
  // A factor does not move on by its extent.
  for (const char *move : {"%k2 = add %k, %k : i64", "%k2 = add %tk, %zero : i64"}) {
    std::string moves =
        with(product_kernel(), "%down = mul %k,", std::string(move) + "\n %down = mul %k2,");
    moves = with(moves, "%one =", "%zero = constant {value = 0} : i64\n %one =");
    stays(moves, {"128x256x64 specialized", "128x128x64 specialized, ping-pong",
                  "64x256x64 specialized", "64x128x64 specialized"});
  }
}

TEST_CASE("teams multiply in turn where each program has as many steps, and no other loop") {
  auto has_teams = [](const std::string &text, const char *gpu = "90a") {
    int found = 0;
    for (const Structure &structure : structures(text, gpu)) {
      found += structure.teams > 1;
      CHECK((structure.teams > 1) == (structure.name.find(", ping-pong") != std::string::npos));
      if (structure.teams > 1) {
        CHECK(structure.teams == 2);
        CHECK(structure.cost);
        CHECK(structure.splits == 1);
        CHECK(structure.share == Structure::Share::all);
      }
    }
    return found == 1;
  };
  CHECK(has_teams(product_kernel()));
  CHECK(has_teams(product_kernel(128, 128, 16)));
  CHECK_FALSE(has_teams(product_kernel(), "90"));
  // Where shared memory has no place for two teams' results, two warpgroups have one tile.
  std::string stores = with(product_kernel(), "store %vc, %result",
                            "store %vc, %result\n store %vc, %result\n store %vc, %result");
  CHECK_FALSE(has_teams(stores));
  std::vector<std::string> without = names(stores);
  CHECK(std::count(without.begin(), without.end(), "128x128x64 specialized") == 1);
  without = names(product_kernel());
  CHECK(std::count(without.begin(), without.end(), "128x128x64 specialized") == 0);
  // A sum of 128 columns for each of 128 rows is all that a warpgroup has registers for.
  CHECK_FALSE(has_teams(product_kernel(256, 64, 64)));
  CHECK_FALSE(has_teams(alone(product_kernel())));
  std::string unknown = with(product_kernel(), "for_loop %K", "for_loop %pk");
  unknown = with(unknown, "%nothing =", "%pk = program_id {axis = 2} : i32\n %nothing =");
  CHECK_FALSE(has_teams(unknown));
}

TEST_CASE("a factor that is read backwards is copied by threads") {
  std::string backwards = with(product_kernel(), "%t.wide = cast %t",
                               "%left = sub %K, %t : i32\n %t.wide = cast %left");
  for (const std::string &text :
       {backwards, with(product_kernel(), "add %down, %column", "sub %column, %down")}) {
    CHECK_FALSE(has_maps(text));
    CHECK(has_threads(text));
  }
}

TEST_CASE("a tile that leaves no place for two slots is not specialised") {
  CHECK(specialises(product_kernel(64, 64, 256)));
  CHECK_FALSE(specialises(product_kernel(64, 64, 512)));
  // Five results leave too little beside the largest tile.
  std::string stores;
  for (int i = 0; i < 5; i++)
    stores += "store %vc, %result\n";
  CHECK(names(with(product_kernel(64, 64, 64), "store %vc, %result", stores)) ==
        std::vector<std::string>{"128x128x64 specialized", "64x256x64 specialized",
                                 "64x128x64 specialized", "64x64x128 specialized"});
}

TEST_CASE("a factor whose boxes start within 16 bytes is copied by threads") {
  auto every = [](int columns) {
    return with(product_kernel(), "%column = mul %pn.wide, %tn",
                "%far = constant {value = " + std::to_string(columns) +
                    "} : i64\n %column = mul %pn.wide, %far");
  };
  CHECK(has_maps(every(64)));
  CHECK(has_maps(every(72)));
  for (int columns : {68, 65}) {
    CHECK_FALSE(has_maps(every(columns)));
    CHECK(has_threads(every(columns)));
  }
}

TEST_CASE("threads copy where a launch may find that there is no tensor map, and only there") {
  using Names = std::vector<std::string>;
  CHECK_FALSE(has_threads(product_kernel()));
  auto unpromised = [](const std::string &what) {
    return with(product_kernel(), what + " multiple_of 8", what);
  };
  auto names_of = [](const std::string &text, bool by_threads) {
    Names found;
    for (const Structure &structure : structures(text))
      if (structure.specialized && (structure.copying_warps > 0) == by_threads)
        found.push_back(structure.name);
    return found;
  };
  std::string strange = unpromised("%lda: i64");
  CHECK(names_of(strange, false) == names_of(product_kernel(), false));
  CHECK(names_of(strange, true) == Names{"128x256x64 specialized, copied by threads",
                                         "128x128x64 specialized, copied by threads",
                                         "64x128x64 specialized, copied by threads",
                                         "64x64x64 specialized, copied by threads"});
  // Behind the others and in front of the plain one, whose cost is of factors that lie well.
  bool found = false;
  for (const Structure &structure : structures(strange)) {
    found |= structure.copying_warps > 0;
    if (!structure.divided)
      CHECK(found == (structure.copying_warps > 0 || !structure.specialized));
    if (!structure.copying_warps)
      continue;
    CHECK(structure.cost);
    CHECK(structure.splits == 1);
    CHECK(structure.cuts.empty());
    CHECK((structure.share == Structure::Share::all));
    CHECK_FALSE(structure.swapped);
  }
  CHECK_FALSE(structures(strange).back().cost);
  CHECK(structures(product_kernel()).back().cost);
  CHECK(has_threads(unpromised("%ldb: i64")));
  CHECK(has_threads(with(product_kernel(), "%B: ptr<f16>", "%B: ptr<f16> aligned 2")));
  CHECK(has_threads(unpromised("%ldc: i64")));
  // What is neither, no threads copy either.
  CHECK_FALSE(has_threads(product_kernel(64, 64, 64, "f32")));
  std::string tf32 =
      with(unpromised("%lda: i64"), "%b, %acc : f32", "%b, %acc {precision = \"tf32\"} : f32");
  CHECK_FALSE(has_threads(with(tf32, "f16", "f32")));
}

TEST_CASE("where threads copy but nobody knows what that takes, it is not among what has a cost") {
  // Two results leave no place for more than 64 rows, and no such tile has been measured.
  std::string text = with(product_kernel(64, 256, 128), "store %vc, %result",
                          "store %vc, %result\n store %vc, %result");
  text = with(text, "%lda: i64 multiple_of 8", "%lda: i64");
  REQUIRE(structures(text)[0].cost);
  CHECK(names(text) == std::vector<std::string>{"64x256x128 specialized"});
  CHECK(has_threads(with(text, "store %vc, %result\n store %vc, %result", "store %vc, %result")));
}

TEST_CASE("a factor that is stored to is not specialised") {
  auto stored = [](const std::string &pointer) {
    std::string text = with(alone(product_kernel()), "%K: i32", "%K: i32, %D: ptr<f16>, %odd: i1");
    text = with(text, "%one =", "%CD = select %odd, %C, %D : ptr<f16>\n %one =");
    return with(text, "store %vc, %result",
                "store %vc, %result\n %vd = view " + pointer +
                    ", %column, %ldc, %one : view<f16>[64,64]\n store %vd, %result");
  };
  CHECK(specialises(stored("%C")));
  CHECK(specialises(stored("%D")));
  CHECK_FALSE(specialises(stored("%A")));
  CHECK_FALSE(specialises(stored("%B")));
  CHECK_FALSE(specialises(stored("%CD"))); // who knows
  CHECK_FALSE(specialises(with(alone(product_kernel()), "%nothing =",
                               "%z = constant {number = 0.0} : f16\n store %A, %z\n %nothing =")));
}

TEST_CASE("the host compares costs of all structures that it may choose") {
  for (const Structure &structure : structures(product_kernel()))
    CHECK(structure.cost.has_value() == !structure.is_second());
}

namespace {

// Two launches that divide the sum; nothing if there aren't.
std::optional<std::pair<Structure, Structure>> parts(const std::string &text) {
  std::vector<Structure> all = structures(text);
  for (size_t i = 0; i < all.size(); i++)
    if (all[i].share == Structure::Share::parts)
      return std::pair(all[i], all[i + 1]);
  return std::nullopt;
}

// Structures in which the blocks of a cluster divide the sum.
int splits(const std::string &text) {
  int found = 0;
  for (const Structure &structure : structures(text)) {
    CHECK((structure.splits > 1) == contains(structure.name, "split"));
    found += structure.splits > 1;
  }
  return found;
}

std::string with_epilogue(const std::string &operations, const std::string &parameters = "") {
  std::string text = with(product_kernel(), "%result = cast %sum : f16[64,64]",
                          operations + "\n %result = cast %more : f16[64,64]");
  return with(text, "%C: ptr<f16>", "%C: ptr<f16>" + parameters);
}

} // namespace

TEST_CASE(
    "two launches divide a sum in the tile that is best at it, if the copy engine brings it") {
  auto found = parts(product_kernel());
  REQUIRE(found);
  auto &[first, second] = *found;
  CHECK(first.name == "64x128x64 specialized, in parts");
  CHECK(first.specialized);
  CHECK(first.bundle == std::vector<int64_t>{1, 2, 1});
  CHECK(second.name == "sum of the parts of 64x128x64 specialized");
  CHECK(second.bundle.empty());
  CHECK(second.step == first.step);
  for (const Structure &structure : {first, second}) {
    REQUIRE(structure.divided);
    CHECK(structure.divided->bundle == first.bundle);
    CHECK(structure.divided->rows == 64);
    CHECK(structure.divided->columns == 128);
    CHECK(structure.divided->rows_axis == 0);
    CHECK(structure.divided->columns_axis == 1);
    CHECK(structure.divided->third_axis() == 2);
  }
  // Programs of 128 rows are in no tile of 64.
  found = parts(product_kernel(128, 64, 64));
  REQUIRE(found);
  CHECK(found->first.name == "128x128x64 specialized, in parts");
  // Of no larger ones, or where it is not known which program has which rows, there is no tile.
  CHECK_FALSE(parts(product_kernel(128, 256, 64)));
  CHECK_FALSE(parts(alone(product_kernel(64, 128, 64))));
  CHECK_FALSE(parts(product_kernel(64, 64, 64, "f32")));
}

TEST_CASE("a sum is divided where only what the cluster can do together comes behind it") {
  CHECK(splits(product_kernel()) == 3);
  CHECK(splits(product_kernel(64, 64, 16, "bf16")) == 3);
  CHECK(splits(with_epilogue(R"(
      %vbias = view %bias, %column, %one : view<f32>[64]
      %each = load %vbias : f32[64]
      %row.of.each = expand %each {axis = 0} : f32[1,64]
      %all = broadcast %row.of.each : f32[64,64]
      %more = add %sum, %all : f32[64,64])",
                             ", %bias: ptr<f32>")) == 3);
  CHECK(splits(with_epilogue("%more = neg %sum : f32[64,64]")) == 3);
  CHECK(splits(with_epilogue(R"(
      %greatest = reduce %sum {axis = 1, op = "max"} : f32[64]
      %column.of = expand %greatest {axis = 1} : f32[64,1]
      %all = broadcast %column.of : f32[64,64]
      %more = sub %sum, %all : f32[64,64])")) == 0);
  CHECK(splits(with_epilogue("%more = trans %sum {perm = [1,0]} : f32[64,64]")) == 0);
  CHECK(splits(with(product_kernel(), "store %vc, %result",
                    "store %vc, %result\n store %vc, %result")) == 0);
}

TEST_CASE(
    "a sum that starts from something, or is not the only thing in its loop, is not divided") {
  CHECK(splits(with(product_kernel(), "{number = 0.0}", "{number = 1.0}")) == 0);
  std::string stores = with(product_kernel(), "%K: i32", "%K: i32, %D: ptr<f16>");
  stores = with(stores, "yield %d", "%z = constant {number = 0.0} : f16\n store %D, %z\n yield %d");
  CHECK(splits(stores) == 0);
  std::string before = with(product_kernel(), "%K: i32", "%K: i32, %D: ptr<f32>");
  CHECK(splits(with(before, "%sum = for_loop", "store %D, %nothing\n %sum = for_loop")) == 0);
  CHECK(specialises(with(before, "%sum = for_loop", "store %D, %nothing\n %sum = for_loop")));
}

TEST_CASE("a sum whose steps must stay as they are is not divided") {
  CHECK(splits(with(product_kernel(), "%down = mul %k,",
                    "%k2 = add %k, %k : i64\n %down = mul %k2,")) == 0);
}

TEST_CASE("the programs of a batch each have their clusters") {
  std::string batched = with(product_kernel(), "%pn = program_id {axis = 1} : i32",
                             "%pn = program_id {axis = 1} : i32\n"
                             "%pb = program_id {axis = 2} : i32\n"
                             "%pb.wide = cast %pb : i64");
  batched =
      with(batched, "%first = mul %row, %lda : i64",
           "%each = constant {value = 4096} : i64\n %rows.before = mul %pb.wide, %each : i64\n"
           "%row.a = add %row, %rows.before : i64\n %first = mul %row.a, %lda : i64");
  batched = with(batched, "%first.c = mul %row, %ldc : i64",
                 "%row.c = add %row, %rows.before : i64\n %first.c = mul %row.c, %ldc : i64");
  CHECK(splits(batched) == 2); // of 64 rows: those of two programs have no one end
}

TEST_CASE("without a cost no sum is divided") {
  CHECK(splits(alone(product_kernel())) == 0);
  CHECK(specialises(alone(product_kernel())));
}

TEST_CASE("exact products of f32 are not specialised, nor sums that are not f32") {
  CHECK_FALSE(specialises(product_kernel(64, 64, 64, "f32")));
  std::string half = with(product_kernel(), ": f32[64,64]", ": f16[64,64]");
  half = with(half, "number = 0.0} : f32", "number = 0.0} : f16");
  half = with(half, "%result = cast %sum : f16[64,64]", "%result = neg %sum : f16[64,64]");
  CHECK_FALSE(specialises(half));
}

namespace {

std::string tf32(const std::string &text) {
  return with(text, "%b, %acc : f32", "%b, %acc {precision = \"tf32\"} : f32");
}

// The sums, and the result, in i32.
std::string sums_in_i32(std::string text) {
  text = with(text, "{number = 0.0} : f32", "{value = 0} : i32");
  text = with(text, ": f32[", ": i32[");
  return with(text, "multiple_of 8", "multiple_of 16");
}

} // namespace

TEST_CASE("f32 is multiplied as tf32 if the kernel asks for it, unless no factor lies along K") {
  using Names = std::vector<std::string>;
  std::string f32 = product_kernel(64, 64, 32, "f32");
  CHECK_FALSE(specialises(b_transposed(f32)));
  const Names high = {"128x256x32 specialized",         "128x128x32 specialized, ping-pong",
                      "64x256x32 specialized",          "64x128x32 specialized",
                      "64x64x64 specialized",           "128x128x32 specialized, split 4",
                      "64x128x32 specialized, split 2", "64x64x64 specialized, split 4"};
  CHECK(names(tf32(b_transposed(f32))) == high);
  CHECK(names(tf32(a_transposed(b_transposed(f32)))) == high); // A comes from registers
  CHECK(names(tf32(f32)) == Names{"256x128x32 specialized", "128x128x32 specialized, ping-pong",
                                  "256x64x32 specialized", "128x64x32 specialized",
                                  "64x64x64 specialized"});
  CHECK_FALSE(specialises(tf32(a_transposed(f32))));
  CHECK(find_obstacle(parsed(tf32(a_transposed(f32))), *find_gpu("90a"))->kind ==
        ObstacleKind::not_along_k);
}

TEST_CASE("a product is swapped where only its right factor must come from registers") {
  auto swapped = [](const std::string &text) {
    std::vector<Structure> found = structures(text);
    CHECK(found.size() > 1);
    for (const Structure &structure : found)
      CHECK(structure.swapped == (found[0].swapped && structure.specialized));
    return found[0].swapped;
  };
  std::string f32 = product_kernel(64, 64, 32, "f32");
  CHECK(swapped(tf32(f32)));
  CHECK_FALSE(swapped(tf32(b_transposed(f32))));
  CHECK_FALSE(swapped(tf32(a_transposed(b_transposed(f32)))));
  // 16-bit factors are read from shared memory however they lie.
  CHECK_FALSE(swapped(product_kernel()));
  CHECK_FALSE(swapped(a_transposed(product_kernel())));
  CHECK_FALSE(swapped(b_transposed(product_kernel())));
}

TEST_CASE("the source's own tile is swapped too, if there is no other") {
  using Names = std::vector<std::string>;
  CHECK(names(tf32(alone(product_kernel(128, 64, 32, "f32")))) == Names{"128x64x32 specialized"});
  CHECK(names(tf32(alone(product_kernel(32, 64, 32, "f32")))) == Names{"32x64x32 specialized"});
  CHECK(names(tf32(alone(product_kernel(64, 32, 32, "f32")))).empty()); // 32 rows
}

TEST_CASE("8-bit integers are multiplied where neighbours are along K and sums are i32") {
  std::string i8 = b_transposed(product_kernel(64, 64, 64, "i8"));
  CHECK(specialises(sums_in_i32(i8)));
  CHECK(structures(sums_in_i32(i8))[0].name == "128x256x128 specialized");
  CHECK(splits(sums_in_i32(i8)) == 3);
  CHECK(specialises(with(sums_in_i32(i8), "%b, %acc :", "%b, %acc {unsigned = 1} :")));
  CHECK_FALSE(specialises(sums_in_i32(product_kernel(64, 64, 64, "i8"))));
  CHECK_FALSE(specialises(with(i8, "multiple_of 8", "multiple_of 16"))); // sums in f32
  CHECK_FALSE(specialises(sums_in_i32(b_transposed(product_kernel(64, 64, 64, "i16")))));
}

TEST_CASE("numbers of 8 bits are multiplied where neighbours are along K and sums are f32") {
  for (const char *elem : {"e4m3", "e5m2"}) {
    std::string text = with(product_kernel(64, 64, 64, elem), "multiple_of 8", "multiple_of 16");
    CHECK(specialises(b_transposed(text)));
    CHECK(structures(b_transposed(text))[0].name == "128x256x128 specialized");
    CHECK_FALSE(specialises(text));
    CHECK_FALSE(specialises(b_transposed(text), "89"));
  }
}

TEST_CASE("with checks code for GPUs is plain, and host code may be in other structures") {
  ir::Function silent = parsed(product_kernel());
  ir::Function speaking =
      parsed(with(product_kernel(), "return", "print {text = \"done\"}\n return"));
  for (const char *name : {"75", "80", "90", "90a"}) {
    std::string gpu = name;
    CAPTURE(gpu);
    auto names = [&](auto structures, const ir::Function &fn) {
      std::string text;
      for (const Structure &structure : structures(fn, *find_gpu(gpu)))
        text += "`" + structure.name + "` ";
      return text;
    };
    CHECK(names(structures_for_code, silent) == names(structures_for, silent));
    CHECK(names(structures_for_code, speaking) == "`` ");
    CHECK((names(structures_for, speaking) == "`` ") == (gpu != "90a"));
  }
}

TEST_CASE("factors are seen through transpositions") { CHECK(specialises(transposed_a())); }

TEST_CASE("a factor that is computed, or used for something else too, is not specialised") {
  CHECK_FALSE(specialises(
      with(product_kernel(), "%d = dot %a,", "%e = neg %a : f16[64,64]\n %d = dot %e,")));
  CHECK_FALSE(specialises(with(product_kernel(), "yield %d", "store %vb, %a\n yield %d")));
}

TEST_CASE("a sum that the loop uses for something else is not specialised") {
  CHECK_FALSE(specialises(with(product_kernel(), "yield %d",
                               "%half = cast %d : f16[64,64]\n store %vb, %half\n yield %d")));
}

TEST_CASE("two products are not specialised") {
  CHECK_FALSE(specialises(
      with(product_kernel(), "yield %d", "%d2 = dot %a, %b, %d : f32[64,64]\n yield %d2")));
}

TEST_CASE("around the product may be loops, but nothing else") {
  const std::string loop = "%sum = for_loop %K, %start : f32[64,64] {";
  std::string body = product_kernel();
  body = body.substr(body.find(loop));
  body = body.substr(0, body.find("%result"));
  auto around = [&](const std::string &before, const std::string &behind) {
    std::string text = with(product_kernel(), body, before + body + "store %vs, %sum\n" + behind);
    text = with(text, "%C: ptr<f16>", "%C: ptr<f16>, %S: ptr<f32>, %odd: i1");
    text = with(text, "%start = splat",
                "%vs = view %S, %one, %ldc, %one : view<f32>[64,64]\n"
                "%start = splat");
    // What was computed from the sum behind the loop.
    return with(text, "%result = cast %sum : f16[64,64]", "%result = cast %start : f16[64,64]");
  };
  CHECK(specialises(around("", "")));
  CHECK(specialises(around("for_loop %K {\n (%round: i32)\n", "yield\n }\n")));
  CHECK_FALSE(specialises(around("if_else %odd {\n", "yield\n } {\n yield\n }\n")));
  CHECK_FALSE(specialises(around("while_loop {\n condition %odd\n } {\n", "yield\n }\n")));

  // Where the copying thread copies from, it can't know of what such a loop carries.
  auto carried = [&](const std::string &next) {
    std::string text = around("%last = for_loop %K, %one : i64 {\n (%round: i32, %x: i64)\n",
                              "%next = " + next + " : i64\n yield %next\n }\n");
    return with(text, "%at.a = add %first, %k :",
                "%down.x = mul %x, %lda : i64\n %first.x = add %first, %down.x : i64\n"
                "%at.a = add %first.x, %k :");
  };
  CHECK_FALSE(specialises(carried("add %x, %x")));
  CHECK(specialises(carried("add %x, %tk"))); // a formula of the counter
}

TEST_CASE("masks that say where the tensor ends are specialised, with zeros behind it") {
  const std::string columns = R"(
    %i = range {start = 0} : i32[STEP]
    %row.of.i = expand %i {axis = 0} : i32[1,STEP]
    %all.i = broadcast %row.of.i : i32[128,STEP]
    %size = constant {value = STEP} : i32
    %k32 = mul %t, %size : i32
    %left = sub %K, %k32 : i32
    %limit = splat %left : i32[128,STEP]
    %mask = cmp %all.i, %limit {pred = "PRED"} : i1[128,STEP]
    %number = constant {number = OTHER} : f16
    %other = splat %number : f16[128,STEP])";
  auto kernel = [&](const std::string &pred, const std::string &other, const std::string &operands,
                    int step) {
    return masked(with(with(columns, "PRED", pred), "OTHER", other), operands, step);
  };
  for (int step : {64, 16}) { // which would be widened
    CAPTURE(step);
    CHECK(specialises(kernel("lt", "0.0", "%mask, %other", step)));
    CHECK(specialises(kernel("lt", "0.0", "%mask", step)));
    CHECK_FALSE(specialises(kernel("lt", "1.0", "%mask, %other", step)));
    CHECK_FALSE(specialises(kernel("ne", "0.0", "%mask, %other", step)));
  }
}

TEST_CASE("a factor without neighbours side by side is not specialised") {
  CHECK_FALSE(specialises(with(product_kernel(), "%at.a, %lda, %one", "%at.a, %lda, %ldb")));
}

TEST_CASE("a factor that is gathered is not specialised") {
  std::string text =
      with(product_kernel(128, 128, 64), "%A: ptr<f16>", "%A: ptr<f16>, %P: ptr<f16>[128,64]");
  CHECK_FALSE(specialises(with(text, "load %va", "load %P")));
  // Row by row.
  text = with(product_kernel(128, 128, 64), "%A: ptr<f16>", "%A: ptr<f16>, %rows: ptr<i64>[128]");
  CHECK_FALSE(specialises(with(text, "%a = load %va", R"(
      %row.a = load %rows : i64[128]
      %each.row = expand %row.a {axis = 1} : i64[128,1]
      %all.rows = broadcast %each.row : i64[128,64]
      %all.ld = splat %lda : i64[128,64]
      %down.a = mul %all.rows, %all.ld : i64[128,64]
      %As = splat %A : ptr<f16>[128,64]
      %there = addptr %As, %down.a : ptr<f16>[128,64]
      %i = range {start = 0} : i32[64]
      %each.i = expand %i {axis = 0} : i32[1,64]
      %all.i = broadcast %each.i : i32[128,64]
      %q = addptr %there, %all.i : ptr<f16>[128,64]
      %a = load %q)")));
}
