// Translates every variant of the shipped kernels.

#include "translated.h"

#include <filesystem>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// Every combination of one value per axis.
std::vector<std::vector<Define>> variants_of(const std::vector<Axis> &axes) {
  std::vector<std::vector<Define>> variants = {{}};
  for (const Axis &axis : axes) {
    std::vector<std::vector<Define>> longer;
    for (const std::vector<Define> &variant : variants)
      for (const AxisValue &value : axis.values) {
        longer.push_back(variant);
        longer.back().insert(longer.back().end(), value.defines.begin(), value.defines.end());
      }
    variants = std::move(longer);
  }
  return variants;
}

} // namespace

TEST_CASE("shipped kernels: all variants translate without a message") {
  int kernels = 0;
  for (const auto &entry : std::filesystem::directory_iterator(TRITONC_KERNELS_DIR)) {
    if (entry.path().extension() != ".tc")
      continue;
    FrontEndInput input{.path = entry.path().string()};
    CAPTURE(input.path);
    Declarations declarations = read_declarations(input);
    REQUIRE(declarations.diagnostics_text == "");
    for (std::vector<Define> &variant : variants_of(declarations.axes)) {
      input.defines = std::move(variant);
      FrontEndResult result = translate_source(input);
      REQUIRE(result.diagnostics_text == "");
      for (const ir::Function &kernel : result.kernels)
        REQUIRE(ir::verify(kernel) == "");
    }
    kernels++;
  }
  CHECK(kernels > 0);
}
