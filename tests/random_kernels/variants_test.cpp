// Tests variants.cpp: variants differ from the kernel but store the same values.

#include "random_kernels/generate.h"
#include "random_kernels/print.h"
#include "random_kernels/variants.h"

#include <doctest/doctest.h>

using namespace tritonc::random;

TEST_CASE("variant_of: different kernel, same results") {
  int different = 0;
  for (uint64_t seed = 0; seed < 150; seed++) {
    CAPTURE(seed);
    Generated made = generate(seed);
    Draw draw(seed);
    Kernel variant = variant_of(made.kernel, draw);
    CAPTURE(source_of(variant));
    REQUIRE(settle(variant));
    Evaluation evaluation = evaluate(variant, 100'000'000);
    REQUIRE(evaluation.invalid == "");
    different += source_of(variant).size() > source_of(made.kernel).size() + 60;
    for (size_t i = 0; i < made.kernel.parameters.size(); i++) {
      const Contents &a = made.evaluation.contents[i], &b = evaluation.contents[i];
      CHECK(a.written == b.written);
      for (size_t k = 0; k < a.elements.size() && a.written[k]; k++) {
        CHECK(a.elements[k].integer == b.elements[k].integer);
        if (made.evaluation.is_exact())
          CHECK(a.elements[k].real == b.elements[k].real);
      }
    }
  }
  CHECK(different > 75);
}
