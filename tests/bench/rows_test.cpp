// Tests tests/bench/rows.cpp.

#include "rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace bench;

namespace {

Row row_named(const std::string &wanted) {
  for (const Row &row : all_rows())
    if (name(row) == wanted)
      return row;
  FAIL("no row ", wanted);
  return {};
}

} // namespace

TEST_CASE("name: is unique for each row") {
  std::set<std::string> names;
  for (const Row &row : all_rows())
    names.insert(name(row));
  CHECK(names.size() == all_rows().size());
}

TEST_CASE("all_rows: goal of each group") {
  CHECK(row_named("half NN 16384x16384x16384").goal == 1.00);
  CHECK(row_named("bfloat16 TT 8192x8192x8192").goal == 1.00);
  CHECK(row_named("half TN 5120x5120x5120").goal == 0.98);
  CHECK(row_named("bfloat16 NT 512x512x512").goal == 0.95);
  CHECK(row_named("half NN 16x8192x8192").goal == 0.95);
  CHECK(row_named("half NN 512x512x16384").goal == 0.95);
  CHECK(row_named("half NN 1000x1500x700 masked").goal == 0.85);
  CHECK(row_named("half NN 4097x4097x4097 masked").goal == 0.85);
  CHECK(row_named("tf32 NT 8192x8192x8192").goal == 0.95);
  CHECK(row_named("tf32 NN 8192x8192x8192").goal == 0.85);
  CHECK(row_named("e4m3 NT 8192x8192x8192").goal == 0.90);
  CHECK(row_named("int8 NT 8192x8192x8192").goal == 0.90);
  CHECK(row_named("float NN 4096x4096x4096").goal == 0.90);
  CHECK(row_named("double NN 4096x4096x4096").goal == 0.85);
  CHECK(row_named("half NN 8192x8192x8192 remat").goal == 0.98);
}

TEST_CASE("all_rows: Triton only for baseline half and bfloat16") {
  CHECK(row_named("half NN 512x512x512").beside_triton);
  CHECK(row_named("bfloat16 NT 64x8192x8192").beside_triton);
  for (const Row &row : all_rows())
    if (row.form != Form::plain || (row.type != Type::float16 && row.type != Type::bfloat16)) {
      CAPTURE(name(row));
      CHECK(!row.beside_triton);
    }
}

TEST_CASE("peer: baseline for prefetch and remat, otherwise cuBLAS") {
  CHECK(peer(row_named("half NN 8192x8192x8192 prefetch")) == std::string("plain"));
  CHECK(peer(row_named("half NN 8192x8192x8192 remat")) == std::string("plain"));
  CHECK(peer(row_named("half NN 4095x4095x4095 masked")) == std::string("cuBLAS"));
  CHECK(peer(row_named("half NN 8192x8192x8192")) == std::string("cuBLAS"));
}

TEST_CASE("all_rows: rows of one type are contiguous") {
  std::set<Type> seen;
  Type last = Type::int8;
  for (const Row &row : all_rows()) {
    if (row.type != last)
      CHECK(seen.insert(row.type).second);
    last = row.type;
  }
}

TEST_CASE("Row: leading dimensions without gaps") {
  Row row;
  row.m = 2, row.n = 3, row.k = 5;
  CHECK(row.lda() == 5);
  CHECK(row.ldb() == 3);
  CHECK(row.ldc() == 3);
  row.a_transposed = row.b_transposed = true;
  CHECK(row.lda() == 2);
  CHECK(row.ldb() == 5);
  CHECK(row.operations() == 60);
}

TEST_CASE("selected: matches group and name") {
  CHECK(selected(all_rows(), "").size() == all_rows().size());
  CHECK(selected(all_rows(), "^big/half NN").size() == 2);
  CHECK(selected(all_rows(), "half NN 512x512x512$").size() == 1);
  CHECK(selected(all_rows(), "nothing").empty());
  CHECK(is_selected("launch/launch", "big|launch"));
  CHECK(!is_selected("launch/launch", "big"));
}

TEST_CASE("shrunk: keeps odd sizes odd and small sizes unchanged") {
  Row row = shrunk(row_named("half NN 4095x4095x4095 masked"), 128);
  CHECK(name(row) == "half NN 127x127x127 masked");
  CHECK(name(shrunk(row_named("half NN 16x8192x8192"), 128)) == "half NN 16x128x128");
}
