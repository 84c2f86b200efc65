// Tests passes/stream_k.cpp: which K iterations each block computes. The folder make_persistent/ has a
// case of the whole pass.

#include "passes/stream_k.h"
#include "support/tile_ir.h"
#include "unit/passes/scalar_value.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The functions here have no arguments, and nothing depends on the launch.
int64_t value_of(const ir::Value *value) {
  return scalar_value(value, [](const ir::Value &) -> int64_t {
    FAIL("an operation that this test does not know");
    return 0;
  });
}

struct Part {
  int64_t block, first, last, partials;
};

struct Work {
  std::map<int64_t, std::vector<Part>> parts; // of each tile, in the order of the iterations
  std::vector<int64_t> iterations;            // of each block
  std::vector<int64_t> partials;              // that each block leaves
  int64_t workspace = 0;                      // bytes
};

Work work_of(int64_t tiles, int64_t blocks, int64_t iterations) {
  ir::Function fn = parsed("func @f() {\n return\n}");
  ir::Builder builder(fn, fn.body, 0);
  ir::Value *all = builder.i32(tiles), *many = builder.i32(blocks);
  const ir::Type sum = ir::Type::tile(ir::Elem::f32, {64, 64});
  const StreamK stream_k = emit_stream_k(builder, all, many, builder.i32(iterations), sum);
  Work work;
  work.workspace = value_of(stream_k.memory->op->operand(0));
  for (int64_t block = 0; block < blocks; block++) {
    const WorkOfBlock items(builder, stream_k, builder.i32(block), many, all);
    work.iterations.push_back(0);
    work.partials.push_back(0);
    for (int64_t i = 0; i < value_of(items.items()); i++) {
      const WorkItem item = items.item(builder, builder.i32(i));
      const Part part = {block, value_of(item.first), value_of(item.last), value_of(item.partials)};
      work.parts[value_of(item.tile)].push_back(part);
      work.iterations.back() += part.last - part.first;
      if (part.last < iterations) {
        CHECK(i == 0); // there is one place for the partials of a block
        work.partials.back()++;
      }
    }
  }
  for (auto &[tile, parts] : work.parts)
    std::sort(parts.begin(), parts.end(),
              [](const Part &a, const Part &b) { return a.first < b.first; });
  return work;
}

// Checks that each iteration of each tile is computed once, and that the last block adds the partials
// of the others.
void check(const Work &work, int64_t tiles, int64_t iterations) {
  CHECK(int64_t(work.parts.size()) == tiles);
  for (const auto &[tile, parts] : work.parts) {
    CHECK(tile >= 0);
    CHECK(tile < tiles);
    int64_t next = 0;
    for (const Part &part : parts) {
      CHECK(part.first == next);
      CHECK(part.last > part.first);
      next = part.last;
      if (&part == &parts.back())
        CHECK(part.partials == int64_t(parts.size()) - 1);
      else
        CHECK((&part)[1].block == part.block + 1); // partials are those of the blocks just before
    }
    CHECK(next == iterations);
  }
}

} // namespace

TEST_CASE("stream-K: each K iteration of each tile is computed once") {
  for (int64_t blocks : {1, 2, 3, 7, 132})
    for (int64_t tiles : {1, 2, 3, 5, 6, 8, 13, 21, 131, 132, 133, 200, 264, 265, 500})
      for (int64_t iterations : {1, 2, 3, 10, 97}) {
        CAPTURE(blocks);
        CAPTURE(tiles);
        CAPTURE(iterations);
        check(work_of(tiles, blocks, iterations), tiles, iterations);
      }
}

TEST_CASE("stream-K: blocks have equal shares") {
  for (int64_t tiles : {5, 50, 133, 200, 263, 300}) {
    CAPTURE(tiles);
    const Work work = work_of(tiles, 132, 100);
    const int64_t share = (tiles * 100 + 131) / 132;
    int64_t left = tiles * 100;
    for (int64_t iterations : work.iterations) { // the last blocks may have less, or nothing
      CHECK(iterations == std::min(share, left));
      left -= iterations;
    }
    CHECK(left == 0);
    CHECK(work.workspace == 132 * (64 * 64 * 4 + 8));
  }
}

TEST_CASE("stream-K: nothing is divided if all waves are full") {
  for (int64_t tiles : {132, 264, 660}) {
    const Work work = work_of(tiles, 132, 100);
    CHECK(
        std::all_of(work.partials.begin(), work.partials.end(), [](int64_t n) { return n == 0; }));
    CHECK(work.iterations == std::vector<int64_t>(132, tiles / 132 * 100));
    CHECK(work.workspace == 0);
  }
}

TEST_CASE("stream-K: a loop without iterations has no partials") {
  const Work work = work_of(3, 2, 0);
  CHECK(work.parts.size() == 3); // as for one iteration
}
