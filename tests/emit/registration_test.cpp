// Tests emit/registration.cpp: what a tuner is told of a library.

#include "emit/cpp/registration.h"

#include "emit/sample_library.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

std::string registration_of(const Library &library, bool self_contained = false) {
  return registration(*make_interface(library), self_contained);
}

} // namespace

TEST_CASE("each instantiation of types is a kernel with all its variants") {
  Library library = sample_library();
  std::string text = registration_of(library);
  CHECK(contains(text, "\"dot\", \"TYPE=half A=N\""));
  CHECK(contains(text, "\"dot\", \"TYPE=float A=T\""));
  CHECK(contains(text, "{\"TM=32\", values_0_0},\n    {\"TM=64\", values_0_1},"));
  CHECK(contains(text, "&gemm::detail::tritonc_gemm_dot_"));
  CHECK(contains(registration_of(library, true), "(), \"dot\""));
}

TEST_CASE("it does not depend on what became of the code") {
  Library library = sample_library();
  std::string before = registration_of(library);
  for (KernelEntry &kernel : library.kernels)
    for (Variant &variant : kernel.variants) {
      variant.preference = 7 - variant.preference;
      variant.images.clear();
    }
  CHECK(registration_of(library) == before);
}

TEST_CASE("a kernel that declares no grid is left out") {
  Library library = sample_library();
  REQUIRE(library.kernels[1].name == "scale");
  REQUIRE(library.kernels[1].variants[0].plan.grid.empty());
  CHECK(!contains(registration_of(library), "\"scale\""));
  CHECK(contains(registration_of(library), "\"dot\""));
  library.kernels.erase(library.kernels.begin());
  CHECK(contains(registration_of(library), "No kernel declares its grid"));
}

TEST_CASE("signatures say all that callers hand over") {
  Parameter in = {.name = "x", .element = "f16", .is_pointer = true, .read_only = true};
  Parameter bias = {.name = "bias", .element = "f32", .is_pointer = true, .nullable = true};
  Parameter count = {.name = "n", .element = "i32", .is_signed = false};
  Parameter flag = {.name = "flag", .element = "i1", .is_signed = false};
  CHECK(signature_of({in, bias, count, flag}) == "const f16 *x, f32 *bias = null, u32 n, i1 flag");
  CHECK(signature_of({}) == "");
}
