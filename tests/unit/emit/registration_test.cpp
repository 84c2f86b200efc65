// Tests emit/cpp/registration.cpp: the source file that registers kernels with a tuner.

#include "emit/cpp/registration.h"

#include "support/contains.h"
#include "unit/emit/sample_library.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

std::string registration_of(const Library &library, bool self_contained = false) {
  return registration(*make_interface(library), self_contained);
}

} // namespace

TEST_CASE("registration: one kernel per instantiation, all variants") {
  Library library = sample_library();
  std::string text = registration_of(library);
  CHECK(contains(text, "\"dot\", \"TYPE=half A=N\""));
  CHECK(contains(text, "\"dot\", \"TYPE=float A=T\""));
  CHECK(contains(text, "{\"TM=32\", values_0_0},\n    {\"TM=64\", values_0_1},"));
  CHECK(contains(text, "&gemm::detail::tritonc_gemm_dot_"));
  CHECK(contains(registration_of(library, true), "(), \"dot\""));
}

TEST_CASE("registration: is independent of code generation") {
  Library library = sample_library();
  std::string before = registration_of(library);
  for (KernelEntry &kernel : library.kernels)
    for (Variant &variant : kernel.variants) {
      variant.preference = 7 - variant.preference;
      variant.images.clear();
    }
  CHECK(registration_of(library) == before);
}

TEST_CASE("registration: omits kernels without a declared grid") {
  Library library = sample_library();
  REQUIRE(library.kernels[1].name == "scale");
  REQUIRE(library.kernels[1].variants[0].plan.grid.empty());
  CHECK(!contains(registration_of(library), "\"scale\""));
  CHECK(contains(registration_of(library), "\"dot\""));
  library.kernels.erase(library.kernels.begin());
  CHECK(contains(registration_of(library), "No kernel declares its grid"));
}

TEST_CASE("signature_of: writes all parameters with their types") {
  Parameter in = {.name = "x", .element = "f16", .is_pointer = true, .read_only = true};
  Parameter bias = {.name = "bias", .element = "f32", .is_pointer = true, .nullable = true};
  Parameter count = {.name = "n", .element = "i32", .is_signed = false};
  Parameter flag = {.name = "flag", .element = "i1", .is_signed = false};
  CHECK(signature_of({in, bias, count, flag}) == "const f16 *x, f32 *bias = null, u32 n, i1 flag");
  CHECK(signature_of({}) == "");
}
