// Tests tests/bench/triton_results.cpp.

#include "triton_results.h"

#include <doctest/doctest.h>

using namespace bench;

namespace {

Row half_nt() {
  Row row;
  row.b_transposed = true;
  row.m = 16;
  row.n = row.k = 8192;
  row.beside_triton = true;
  return row;
}

} // namespace

TEST_CASE("triton_request: lists only rows with Triton") {
  Row other = half_nt();
  other.beside_triton = false;
  CHECK(triton_request({half_nt(), other}) == "half NT 16 8192 8192\n");
}

TEST_CASE("parse_triton: reads rows, versions and the cuBLAS file") {
  std::string error;
  auto results = parse_triton("# versions Triton 3.6.0, PyTorch 2.11.0\n"
                              "# a comment\n"
                              "# cublas /lib/libcublas.so.13\n"
                              "\n"
                              "half NT 16 8192 8192 0.25 0.2 64x128x64 8 warps\n",
                              error);
  REQUIRE(results);
  CHECK(results->versions == "Triton 3.6.0, PyTorch 2.11.0");
  CHECK(results->cublas == "/lib/libcublas.so.13");
  const TritonRow *found = results->find(half_nt());
  REQUIRE(found);
  CHECK(found->ratio() == doctest::Approx(0.8));
  CHECK(found->configuration == "64x128x64 8 warps");
  Row other = half_nt();
  other.type = Type::bfloat16;
  CHECK(!results->find(other));
}

TEST_CASE("parse_triton: error has the number of the invalid line") {
  auto error_of = [](const std::string &line) {
    std::string error;
    CHECK(!parse_triton("# versions of a test\n" + line + "\n", error));
    return error;
  };
  CHECK(error_of("half NT 16 8192") == "line 2: \"half NT 16 8192\"");
  CHECK(error_of("half NT 16 8192 8192 fast 0.2") != "");
  CHECK(error_of("half NT 16 8192 8192 0 0.2") != ""); // a time must be positive
}
