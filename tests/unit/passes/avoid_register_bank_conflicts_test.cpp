// Tests passes/avoid_register_bank_conflicts.cpp.

#include "passes/avoid_register_bank_conflicts.h"
#include "support/tile_ir.h"
#include "unit/passes/matmul_kernel.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;

namespace {

std::string kernel(const std::string &stored, const std::string &instruction = "fma",
                   const std::string &elem = "f32") {
  std::string text = R"(
    func @f(%n: i32, %c: ELEM[16,8], %C: ptr<ELEM>[16,8], %a: ELEM[16,16], %b: ELEM[16,8]) {
      %d = for_loop %n, %c : ELEM[16,8] {
        (%t: i32, %acc: ELEM[16,8])
        %next = dot %a, %b, %acc {instruction = "INSTRUCTION"} : ELEM[16,8]
        yield %next
      }
      STORED
      return
    })";
  return with(with(with(text, "STORED", stored), "ELEM", elem), "INSTRUCTION", instruction);
}

void unchanged(const std::string &before) {
  CAPTURE(before);
  CHECK(after(avoid_register_bank_conflicts, before) == text(before));
}

} // namespace

TEST_CASE("avoid_register_bank_conflicts: copies a loop result before a store") {
  CHECK(after(avoid_register_bank_conflicts, kernel("store %C, %d")) ==
        text(kernel("%0 = copy %d : f32[16,8]\n store %C, %0")));
}

TEST_CASE("avoid_register_bank_conflicts: copies a dot outside of a loop") {
  std::string dot = "%e = dot %a, %b, %d {instruction = \"fma\"} : f32[16,8]\n";
  CHECK(after(avoid_register_bank_conflicts, kernel(dot + "store %C, %e")) ==
        text(kernel(dot + "%0 = copy %e : f32[16,8]\n store %C, %0")));
}

TEST_CASE("avoid_register_bank_conflicts: does nothing for MMA or f64") {
  unchanged(kernel("store %C, %d", "m16n8k8"));
  unchanged(kernel("store %C, %d", "fma", "f64"));
}

TEST_CASE("avoid_register_bank_conflicts: does nothing to derived values") {
  unchanged(kernel("%e = add %d, %d : f32[16,8]\n store %C, %e"));
}
