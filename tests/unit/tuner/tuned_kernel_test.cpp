// Tests runtime/tuner/tuned_kernel.cpp: the texts about a problem. tests/end_to_end/tuning/
// loop_test.sh tests the launches.

#include "tuned_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::tuner;
namespace abi = tritonc::abi;

TEST_CASE("name_of, memory_of: name the problem, and the bytes of its pointers") {
  abi::parameter rows[4] = {};
  rows[0].kind = rows[1].kind = rows[2].kind = abi::parameter_kind::pointer;
  rows[3].kind = abi::parameter_kind::i32;
  abi::variant code_variant = {};
  code_variant.parameters = rows;
  abi::kernel code = {};
  code.parameter_count = 4;
  code.variants = &code_variant;
  const parameter parameters[] = {
      {"x", "f16", false}, {"y", "f64", true}, {"bias", "f32", false}, {"n", "i32", false}};
  kernel scale = {&code, "scale", "TYPE=half", "", parameters, nullptr, 0};
  const std::int64_t max_elements = std::int64_t(1) << 40;
  const Problem problem = {
      "scale", "TYPE=half", "n=5", {{"x", 1000}, {"y", max_elements}, {"n", 5}}};

  CHECK(name_of(scale, problem) == "scale TYPE=half for n=5");
  CHECK(memory_of(scale, problem) == "`x` 2000 bytes, `y` 8796093022208 bytes"); // no bias
  scale.types = "";
  CHECK(name_of(scale, {"scale", "", "", {}}) == "scale");
  CHECK(memory_of(scale, {"scale", "", "", {}}) == "");
}
