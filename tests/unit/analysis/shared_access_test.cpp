// Tests analysis/shared_access.cpp. The tests of lower/ check that the generated code agrees with
// it.

#include "analysis/layouts.h"
#include "analysis/shared_access.h"
#include "support/tile_ir.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The only access of a function: a tile in layout #0 and a stage in layout #1.
struct Access {
  ir::Function fn;
  const ir::Op *op = nullptr;

  Access(const std::string &tile, const std::string &buffer, const std::string &operation)
      : fn(parsed("layout #0 " + tile + "\nlayout #1 " + buffer + "\nfunc @f(%z: i32) warps 4 {\n" +
                  operation + "\n return\n}")) {
    ir::for_each_op(*fn.body, [&](const ir::Op &found) {
      if (found.is(ir::Opcode::shared_load_) || found.is(ir::Opcode::shared_store_))
        op = &found;
    });
    REQUIRE(op);
  }

  SharedAccess done(bool has_matrix_instruction = true) const {
    return shared_access(*op, has_matrix_instruction);
  }
};

std::string text_of(const ir::Shape &shape, const ir::LinearLayout &layout) {
  return "[" + std::to_string(shape[0]) + "," + std::to_string(shape[1]) + "] " + layout.text();
}

// A tile of f16 [64,64]: each thread has `vector` contiguous elements of a row. The buffer has rows
// of 128 bytes, swizzled or linear.
Access rows_of(int vector, bool swizzled, bool stores = false) {
  const ir::Shape shape = {64, 64};
  ir::LinearLayout plain = panel_layout(shape, 1, 2);
  for (size_t bit = 0; bit < plain.offset.size(); bit++)
    plain.offset[bit] = 1u << bit;
  std::string buffer = "%s = shared_alloc : shared<f16>[1,64,64] #1\n";
  std::string access =
      stores ? "%n = constant {number = 0.0} : f16\n %x = splat %n : f16[64,64] #0\n"
               "shared_store %x, %s, %z"
             : "%x = shared_load %s, %z {origin = [0,0], perm = [0,1]} : f16[64,64] #0";
  return Access(text_of(shape, blocked_layout(shape, {1, 0}, vector, 4)),
                text_of(shape, swizzled ? panel_layout(shape, 1, 2) : plain), buffer + access);
}

TEST_CASE("exchange_layout: wide accesses without bank conflicts") {
  // Elements of 1 to 8 bytes, tiles and vectors of many forms: both sides access the vector of the
  // registers that they have in common, and no access has bank conflicts.
  for (int bytes : {1, 2, 4, 8})
    for (ir::Shape shape :
         {ir::Shape{128, 128}, ir::Shape{64, 64}, ir::Shape{32, 128}, ir::Shape{128, 8}})
      for (int loaded : {1, 16 / bytes})
        for (int stored : {1, 16 / bytes}) {
          const int warps = 4;
          ir::LinearLayout from = crossing_layout(shape, {1, loaded}, {0, stored}, warps);
          ir::LinearLayout to = crossing_layout(shape, {0, stored}, {1, loaded}, warps);
          CAPTURE(bytes);
          CAPTURE(from.text());
          CAPTURE(to.text());
          ir::LinearLayout buffer = exchange_layout(from, to, bytes);
          const ir::Elem elems[] = {ir::Elem::i8, ir::Elem::i16, ir::Elem::i32, ir::Elem::i64};
          ir::Type type = ir::Type::shared(elems[ir::log2_exact(bytes)], {1, shape[0], shape[1]})
                              .with_layout(buffer);
          int64_t common = std::count_if(to.reg.begin(), to.reg.end(), [&](ir::FlatIndex basis) {
            return std::count(from.reg.begin(), from.reg.end(), basis);
          });
          for (const ir::LinearLayout *layout : {&from, &to}) {
            SharedImages images = shared_images(type, *layout);
            const int width = bytes << vector_bits(images, uint32_t(bytes)).size();
            CHECK(width >= std::min<int64_t>(16, bytes << common));
            std::vector<uint32_t> lanes;
            for (uint32_t lane = 0; lane < 32; lane++)
              lanes.push_back(ir::xor_of_set_bits(images.lane, lane));
            CHECK(bank_conflicts(lanes, uint32_t(width)) == 1);
          }
        }
}

} // namespace

TEST_CASE("shared_images: addresses are xors of register, lane and warp bits") {
  Access access = rows_of(8, true);
  SharedImages images = shared_images(*access.op);
  REQUIRE(images.reg.size() == 5);
  CHECK(images.reg[0] == 2);
  CHECK(images.reg[2] == 8);
  // Eight lanes cover a row of 128 bytes. The next row has another chunk order.
  CHECK(images.lane == std::vector<uint32_t>{16, 32, 64, 128 + 16, 256 + 32});
  CHECK(images.origin == 0);
}

TEST_CASE("shared_access: vector width follows contiguous elements") {
  for (int vector : {1, 4, 8}) // not 2: then each lane has its elements of a matrix
    CHECK(rows_of(vector, false).done().bytes == uint32_t(2 * vector));
  CHECK(rows_of(8, true).done().bytes == 16);
  CHECK(rows_of(8, true).done().lanes == 32);
}

TEST_CASE("shared_access: uses ldmatrix and stmatrix if the GPU has them") {
  const ir::Shape shape = {64, 64};
  std::string tile = text_of(shape, matmul_layout(shape, {{1, 1}}));
  std::string stage = text_of(shape, panel_layout(shape, 1, 2));
  const std::string buffer = "%s = shared_alloc : shared<f16>[1,64,64] #1\n";
  Access load(tile, stage,
              buffer + "%x = shared_load %s, %z {origin = [0,0], perm = [0,1]} : f16[64,64] #0");
  Access store(tile, stage,
               buffer + "%n = constant {number = 0.0} : f16\n %x = splat %n : f16[64,64] #0\n"
                        "shared_store %x, %s, %z");
  for (const Access *access : {&load, &store})
    for (bool by_matrix : {true, false}) {
      SharedAccess found = access->done(by_matrix);
      CHECK(found.by_matrix == by_matrix);
      CHECK(found.bytes == (by_matrix ? 16 : 4));
      CHECK(found.conflicts == 1);
    }
  CHECK_FALSE(rows_of(8, true).done().by_matrix);
}

TEST_CASE("bank_conflicts: counts different words in one bank") {
  std::vector<uint32_t> parallel_for, apart, same(32, 64);
  for (uint32_t lane = 0; lane < 32; lane++) {
    parallel_for.push_back(4 * lane);
    apart.push_back(128 * lane);
  }
  CHECK(bank_conflicts(parallel_for, 4) == 1);
  CHECK(bank_conflicts(same, 4) == 1); // one word for all
  CHECK(bank_conflicts(apart, 4) == 32);
  CHECK(bank_conflicts(apart, 16) == 8); // eight lanes at a time
  CHECK(bank_conflicts({0, 128, 4, 8}, 4) == 2);
}

TEST_CASE("shared_access: linear columns conflict, swizzled ones do not") {
  const ir::Shape shape = {64, 64};
  ir::LinearLayout plain = panel_layout(shape, 1, 2);
  for (size_t bit = 0; bit < plain.offset.size(); bit++)
    plain.offset[bit] = 1u << bit;
  // Each thread has a chunk of 16 bytes, and lanes go down the rows.
  const std::string tile = "[64,64] reg (0,1) (0,2) (0,4) (0,8) (0,16) lane (1,0) (2,0) (4,0) "
                           "(8,0) (16,0) warp (0,32) (32,0)";
  const std::string load = "%s = shared_alloc : shared<f16>[1,64,64] #1\n"
                           "%x = shared_load %s, %z {origin = [0,0], perm = [0,1]} : f16[64,64] #0";
  CHECK(Access(tile, text_of(shape, plain), load).done().conflicts == 8);
  CHECK(Access(tile, text_of(shape, panel_layout(shape, 1, 2)), load).done().conflicts == 1);
}
