// Which structures a kernel is compiled in. See structure.h.
//
// Tested by tests/passes/structure_test.cpp.

#include "passes/structure.h"

#include "analysis/layouts.h"
#include "analysis/product_loop.h"
#include "passes/pipeline.h"

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t most_sums_of_a_thread = 128; // a warpgroup's wgmma needs 26 registers besides

// Whether nothing but loops is around the product: the copying warps repeat them.
bool is_in_loops_only(const ProductLoop &product) {
  for (const Op *outer = product.loop->parent->parent; outer; outer = outer->parent->parent)
    if (!outer->is(Opcode::for_loop_))
      return false;
  return true;
}

// Whether wgmma can multiply these tiles.
bool fits_wgmma(const Op &dot) {
  Elem from = dot.operand(0)->type.elem;
  const Shape &a = dot.operand(0)->type.shape, &sum = dot.result()->type.shape;
  int64_t groups = sum[0] >= 128 ? 2 : 1;
  return (from == Elem::f16 || from == Elem::bf16) && dot.result()->type.elem == Elem::f32 &&
         sum[0] % 64 == 0 && sum[1] >= 16 && sum[1] <= 256 && a[1] >= 16 &&
         sum[0] * sum[1] / (128 * groups) <= most_sums_of_a_thread;
}

// Whether the copy engine can load the factor, and the tensor cores read it.
bool fits_copies(const LoadedFactor &factor) {
  const Op &load = *factor.load;
  const Value *other = load.operand_or_null(2);
  std::optional<TensorAccess> access =
      tensor_access(load.operand(0), load.operand_or_null(1)).access;
  const Type &tile = load.result()->type;
  return access && (!other || is_zero(other)) &&
         panel_row_bytes(tile.shape, access->contiguous, bytes_of(tile.elem)) > 0;
}

bool can_specialize(Function &fn) {
  std::optional<ProductLoop> product = find_product_loop(fn).found;
  return product && is_in_loops_only(*product) && fits_wgmma(*product->dot) &&
         fits_copies(product->factors[0]) && fits_copies(product->factors[1]);
}

} // namespace

std::vector<Structure> structures_for(const Function &fn, const Gpu &gpu) {
  std::vector<Structure> structures;
  if (gpu.has_wgmma) {
    Function canonical = clone(fn);
    PassObserver nobody;
    PassRunner run(canonical, nobody);
    canonicalize(run);
    if (can_specialize(canonical))
      structures.push_back({.specialized = true, .name = "specialized"});
  }
  structures.push_back({});
  return structures;
}

} // namespace tritonc
