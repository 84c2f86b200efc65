// Lowers loads from and stores to global memory.
//
// Tested by tests/unit/lower/memory_test.cpp.

#include "analysis/memory_access.h"
#include "lower/addresses.h"
#include "target/cache_policies.h"

namespace tritonc {

using namespace ir;

namespace {

llvm::Type *vector_type(llvm::Type *element, int width) {
  return width == 1 ? element : llvm::FixedVectorType::get(element, unsigned(width));
}

// A bool in memory is a byte.
llvm::Type *memory_type(llvm::IRBuilder<> &builder, llvm::Type *type) {
  return type->isIntegerTy(1) ? builder.getInt8Ty() : type;
}

// The elements of `group` as one value for an access to memory.
llvm::Value *access_value(llvm::IRBuilder<> &builder, const Registers &elements,
                          const std::vector<int> &group, llvm::Type *stored) {
  const int width = int(group.size());
  llvm::Value *all = llvm::PoisonValue::get(vector_type(stored, width));
  for (int i = 0; i < width; i++) {
    llvm::Value *element = elements[size_t(group[size_t(i)])];
    element = stored == element->getType() ? element : builder.CreateZExt(element, stored);
    all = width == 1 ? element : builder.CreateInsertElement(all, element, uint64_t(i));
  }
  return all;
}

// LLVM masks only vectors, so a scalar becomes a vector of one element.
llvm::Value *as_vector(llvm::IRBuilder<> &builder, llvm::Value *value) {
  llvm::Type *type = value->getType();
  return type->isVectorTy()
             ? value
             : builder.CreateInsertElement(llvm::FixedVectorType::get(type, 1), value, uint64_t(0));
}

// The mask of all elements of `vector`.
llvm::Value *mask_of(llvm::IRBuilder<> &builder, const llvm::Value &vector, llvm::Value *on) {
  auto *type = llvm::cast<llvm::FixedVectorType>(vector.getType());
  return builder.CreateVectorSplat(type->getNumElements(), on);
}

} // namespace

// Returns the address, marked with the cache hint {cache}. L2 hints become a cache policy if the
// GPU has cache policies.
llvm::Value *Lowering::hinted(const Op &op, llvm::Value *address) {
  struct Mark {
    std::string_view hint;
    TargetOp op;
  };
  constexpr Mark marks[] = {{"cg", TargetOp::hint_cg},
                            {"cs", TargetOp::hint_cs},
                            {"cv", TargetOp::hint_cv},
                            {"wt", TargetOp::hint_wt},
                            {"no_allocate", TargetOp::hint_no_allocate},
                            {"evict_first", TargetOp::hint_evict_first},
                            {"evict_last", TargetOp::hint_evict_last}};
  std::string_view hint = op.get(attr::cache_);
  const std::optional<int64_t> policy = cache_policy::of_hint(hint);
  if (policy && gpu_.has_cache_policies)
    return call_target_op(builder_,
                          *policy == cache_policy::evict_first ? TargetOp::hint_evict_first_l2
                                                               : TargetOp::hint_evict_last_l2,
                          {address, builder_.getInt64(uint64_t(*policy))});
  for (const Mark &mark : marks)
    if (mark.hint == hint)
      return call_target_op(builder_, mark.op, {address});
  return address;
}

// Whether the elements of a ragged access can move at once. Its mask is on between two bounds, so
// all elements are on if the first and the last are.
llvm::Value *Lowering::is_whole(llvm::Type *vector, llvm::Value *address,
                                const std::vector<int> &group, const Registers &mask) {
  const uint64_t bytes = module_.getDataLayout().getTypeStoreSize(vector);
  llvm::Value *position = builder_.CreatePtrToInt(address, builder_.getInt64Ty());
  llvm::Value *is_aligned = builder_.CreateIsNull(builder_.CreateAnd(position, bytes - 1));
  llvm::Value *is_on = builder_.CreateAnd(mask[size_t(group.front())], mask[size_t(group.back())]);
  return builder_.CreateAnd(is_on, is_aligned);
}

// The natural alignment of a vector is its size. The optimizer may move a masked load out of a loop,
// but not a volatile load.
llvm::Value *Lowering::load_masked(llvm::Type *type, llvm::Value *address, llvm::Value *on,
                                   llvm::Value *masked_off, bool is_volatile) {
  if (is_volatile)
    return either(
        on, [&] { return builder_.CreateLoad(type, address, is_volatile); },
        [&] { return masked_off; });
  llvm::Value *vector = as_vector(builder_, masked_off);
  llvm::Value *loaded = builder_.CreateMaskedLoad(
      vector->getType(), address, natural_alignment(type), mask_of(builder_, *vector, on), vector);
  return type->isVectorTy() ? loaded : builder_.CreateExtractElement(loaded, uint64_t(0));
}

void Lowering::store_masked(llvm::Value *value, llvm::Value *address, llvm::Value *on) {
  llvm::Value *vector = as_vector(builder_, value);
  builder_.CreateMaskedStore(vector, address, natural_alignment(value->getType()),
                             mask_of(builder_, *vector, on));
}

llvm::Align Lowering::natural_alignment(llvm::Type *type) const {
  return llvm::Align(module_.getDataLayout().getTypeStoreSize(type));
}

llvm::Value *Lowering::load_ragged(llvm::Type *type, llvm::Value *address,
                                   const std::vector<int> &group, const Registers &mask,
                                   llvm::Value *masked_off, bool is_volatile) {
  llvm::Type *element = llvm::cast<llvm::FixedVectorType>(type)->getElementType();
  return either(
      is_whole(type, address, group, mask),
      [&] { return builder_.CreateLoad(type, address, is_volatile); },
      [&] {
        llvm::Value *elements = masked_off;
        for (size_t i = 0; i < group.size(); i++) {
          llvm::Value *at = builder_.CreateConstInBoundsGEP1_64(element, address, i);
          llvm::Value *off = builder_.CreateExtractElement(masked_off, i);
          llvm::Value *loaded = load_masked(element, at, mask[size_t(group[i])], off, is_volatile);
          elements = builder_.CreateInsertElement(elements, loaded, i);
        }
        return elements;
      });
}

void Lowering::store_ragged(llvm::Value *packed, llvm::Value *address,
                            const std::vector<int> &group, const Registers &mask) {
  llvm::Type *element = llvm::cast<llvm::FixedVectorType>(packed->getType())->getElementType();
  branched(
      is_whole(packed->getType(), address, group, mask),
      [&] { builder_.CreateStore(packed, address); },
      [&] {
        for (size_t i = 0; i < group.size(); i++) {
          llvm::Value *at = builder_.CreateConstInBoundsGEP1_64(element, address, i);
          store_masked(builder_.CreateExtractElement(packed, i), at, mask[size_t(group[i])]);
        }
      });
}

void Lowering::lower_load(const Op &op) {
  const Value *pointers = op.operand(0), *mask = op.operand_or_null(1),
              *other = op.operand_or_null(2);
  llvm::Type *value_type = type_of(op.result()->type.elem);
  llvm::Type *stored = memory_type(builder_, value_type);
  const bool is_volatile = op.get(attr::cache_) == "cv"; // another block may store meanwhile
  bool tile = op.result()->type.is_tile();
  static const LinearLayout scalar_layout;
  const LinearLayout &layout = tile ? *op.result()->type.layout : scalar_layout;
  int width = int(op.get(attr::vector_, 1));
  GlobalAddresses addresses(*this, pointers, layout);
  Registers result(size_t(layout.registers()));

  auto groups =
      tile ? register_groups(layout, width, vector_axis(op)) : std::vector<std::vector<int>>{{0}};
  for (const std::vector<int> &group : groups) {
    llvm::Type *type = vector_type(stored, width);
    llvm::Value *address = hinted(op, addresses[group[0]]);
    llvm::Value *loaded;
    if (!mask) {
      loaded = builder_.CreateLoad(type, address, is_volatile);
    } else {
      llvm::Value *masked_off = other ? access_value(builder_, registers(other), group, stored)
                                      : llvm::Constant::getNullValue(type);
      if (width > 1 && is_ragged(pointers)) {
        loaded = load_ragged(type, address, group, registers(mask), masked_off, is_volatile);
      } else {
        llvm::Value *on = mask->type.is_tile() ? registers(mask)[size_t(group[0])] : scalar(mask);
        loaded = load_masked(type, address, on, masked_off, is_volatile);
      }
    }
    for (int i = 0; i < width; i++) {
      llvm::Value *value = width == 1 ? loaded : builder_.CreateExtractElement(loaded, uint64_t(i));
      if (stored != value_type)
        value = builder_.CreateICmpNE(value, llvm::Constant::getNullValue(stored));
      result[size_t(group[size_t(i)])] = value;
    }
  }
  define(op.result(), std::move(result));
}

void Lowering::lower_store(const Op &op) {
  const Value *pointers = op.operand(0), *value = op.operand(1), *mask = op.operand_or_null(2);
  llvm::Type *stored = memory_type(builder_, type_of(value->type.elem));
  bool tile = value->type.is_tile();
  const LinearLayout layout = tile ? *value->type.layout : layout_of_scalar();
  int width = int(op.get(attr::vector_, 1));

  guarded(holds_first_copy(layout), [&] {
    GlobalAddresses addresses(*this, pointers, layout);
    auto groups =
        tile ? register_groups(layout, width, vector_axis(op)) : std::vector<std::vector<int>>{{0}};
    for (const std::vector<int> &group : groups) {
      llvm::Value *all = access_value(builder_, registers(value), group, stored);
      llvm::Value *on = nullptr;
      if (mask)
        on = mask->type.is_tile() ? registers(mask)[size_t(group[0])] : scalar(mask);
      llvm::Value *address = hinted(op, addresses[group[0]]);
      if (width > 1 && is_ragged(pointers))
        store_ragged(all, address, group, registers(mask));
      else if (on)
        store_masked(all, address, on);
      else
        builder_.CreateStore(all, address);
    }
  });
}

} // namespace tritonc
