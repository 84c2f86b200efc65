// Tests generator/language/variant_values.h: the text of a variant's values.

#include "language/variant_values.h"

#include <doctest/doctest.h>

namespace tritonc {
namespace {

const std::vector<Axis> axes = {
    {"TYPE", /*tuned=*/false, {{"half", {}}, {"float", {}}}},
    {"TM", /*tuned=*/true, {{"32", {}}, {"64", {}}}},
    {"A", /*tuned=*/false, {{"N", {}}, {"T", {}}}},
};

} // namespace

TEST_CASE("VariantValues: text names every axis, in order") {
  CHECK(VariantValues({0, 1, 1}).text(axes) == "TYPE=half TM=64 A=T");
}

TEST_CASE("VariantValues: type_text and tuned_text split the axes") {
  CHECK(VariantValues({1, 0, 0}).type_text(axes) == "TYPE=float A=N");
  CHECK(VariantValues({1, 0, 0}).tuned_text(axes) == "TM=32");
}

TEST_CASE("VariantValues: text is empty without axes") {
  CHECK(VariantValues().text({}) == "");
  CHECK(VariantValues().tuned_text({}) == "");
}

TEST_CASE("VariantValues: value returns the value of one axis") {
  CHECK(VariantValues({1, 1, 0}).value(axes, 1).name == "64");
}

TEST_CASE("VariantValues: operator< orders by the values of the first axes") {
  CHECK(VariantValues({0, 1, 1}) < VariantValues({1, 0, 0}));
  CHECK_FALSE(VariantValues({0, 1, 1}) < VariantValues({0, 1, 1}));
}

TEST_CASE("variant_name: adds the specialization after the values") {
  CHECK(variant_name("TM=64", "lda % 8") == "TM=64, under lda % 8");
  CHECK(variant_name("", "lda % 8") == "under lda % 8");
}

TEST_CASE("variant_name: only values without a specialization") {
  CHECK(variant_name("TM=64", "") == "TM=64");
  CHECK(variant_name("", "") == "");
}

} // namespace tritonc
