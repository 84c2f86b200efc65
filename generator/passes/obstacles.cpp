// What stands in the way of the best structures. See obstacles.h.
//
// Method: the demands of specialised structures (structure_demands.h), in the order in which a
// person would want to hear of them. A tile is only found wanting when no structure could be made
// and all else is well, since that depends on all tiles that are tried.
//
// Tested by tests/compile/explain_test.cpp.

#include "passes/obstacles.h"

#include "analysis/affine.h"
#include "analysis/memory_access.h"
#include "analysis/product_loop.h"
#include "ir/checks.h"
#include "passes/pipeline.h"
#include "passes/specialize_warps.h"
#include "passes/structure.h"
#include "passes/structure_demands.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

Obstacle obstacle_of(NoProductLoop why) {
  switch (why) {
  case NoProductLoop::several_dots:
    return {ObstacleKind::several_products};
  case NoProductLoop::not_loaded:
    return {ObstacleKind::not_loaded};
  default:
    return {ObstacleKind::no_product};
  }
}

// Of factor `number`.
std::optional<Obstacle> obstacle_of(Function &fn, const ProductLoop &product, int number) {
  const LoadedFactor &factor = product.factors[number];
  const Op &load = *factor.load;
  TensorAccessResult access = tensor_access(load.operand(0), load.operand_or_null(1));
  const Value *root = root_of(load.operand(0));
  std::string name = root ? root->name : "";
  if (!access.access)
    return Obstacle{ObstacleKind::access, name, access.why};
  if (!starts_at_chunks(*access.access, load.result()->type.elem, fn))
    return Obstacle{ObstacleKind::access, name, NoTensor::strange_offset};
  if (is_stored_to(fn, load.operand(0)))
    return Obstacle{ObstacleKind::stored_to, name};
  return std::nullopt;
}

// The right factor, if the left one has no neighbours along K either and would need to.
std::optional<Obstacle> not_along_k(const ProductLoop &product, const Gpu &gpu) {
  int along_k = 0;
  const Value *root = nullptr; // of the last one that is not
  for (int number : {0, 1}) {
    const LoadedFactor &factor = product.factors[number];
    const Op &load = *factor.load;
    TensorAccess access = *tensor_access(load.operand(0), load.operand_or_null(1)).access;
    if (bytes_of(load.result()->type.elem) == 2 || lies_along_k(factor, access, number))
      along_k++;
    else
      root = root_of(load.operand(0));
  }
  Elem elem = product.dot->operand(0)->type.elem;
  if (along_k == 2 || (along_k == 1 && gpu.has_wgmma && fits_registers(elem)))
    return std::nullopt;
  return Obstacle{ObstacleKind::not_along_k, root ? root->name : ""};
}

bool is_specialized(const Structure &structure) { return structure.specialized; }

} // namespace

std::optional<Obstacle> find_obstacle(const Function &source, const Gpu &gpu) {
  if (has_checks(source))
    return Obstacle{ObstacleKind::checks};
  if (!gpu.has_tensor_maps)
    return Obstacle{ObstacleKind::gpu};
  Function fn = canonical_form(source);
  ProductLoopResult product = find_product_loop(fn);
  if (!product.found)
    return obstacle_of(product.why);
  if (!is_in_loops_only(*product.found))
    return Obstacle{ObstacleKind::loops};
  if (has_own_order(fn))
    return Obstacle{ObstacleKind::own_order};
  const Op &dot = *product.found->dot;
  if (!is_type_of_wgmma(dot))
    return Obstacle{ObstacleKind::type};
  for (int number : {0, 1})
    if (std::optional<Obstacle> found = obstacle_of(fn, *product.found, number))
      return found;
  if (std::optional<Obstacle> found = not_along_k(*product.found, gpu))
    return found;
  std::vector<Structure> structures = structures_for(fn, gpu);
  if (std::any_of(structures.begin(), structures.end(), is_specialized))
    return std::nullopt;
  if (!can_be_followed(fn, *product.found))
    return Obstacle{ObstacleKind::computed};
  if (ring_slots(fn, *product.found, gpu, {}) < least_ring_slots)
    return Obstacle{ObstacleKind::shared_memory};
  return Obstacle{ObstacleKind::tile};
}

std::vector<std::pair<std::string, int64_t>> unpromised_multiples(const Function &source) {
  constexpr int64_t chunk = 16;
  Function fn = canonical_form(source);
  std::vector<std::pair<std::string, int64_t>> found;
  for_each_op(*fn.body, [&](const Op &op) {
    bool accesses = op.is(Opcode::load_) || op.is(Opcode::store_);
    if (!accesses || op.operand(0)->type.is_scalar())
      return;
    int64_t multiple = chunk / bytes_of(op.operand(0)->type.elem);
    std::optional<Affine> form = affine_of(op.operand(0));
    for (size_t d = 0; form && d < form->strides.size(); d++)
      for (const auto &[monomial, coefficient] : form->strides[d].terms)
        if (monomial.size() == 1 && coefficient == 1 &&
            divisor_of(form->strides[d], fn) % multiple != 0) {
          std::pair<std::string, int64_t> entry{monomial[0]->name, multiple};
          if (std::find(found.begin(), found.end(), entry) == found.end())
            found.push_back(entry);
        }
  });
  return found;
}

} // namespace tritonc
