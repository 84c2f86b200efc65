// Computes the addresses of a tile's registers, in global and in shared memory.

#pragma once

#include "analysis/shared_access.h"
#include "lower/lowering.h"

namespace tritonc {

// The addresses of a view are `base + offset + sum of stride * index`. The thread's part of the
// index is added once. The part of a register is the same for all threads, and constant if the
// stride is constant. Without a view, every register has its own pointer.
class Lowering::GlobalAddresses {
public:
  GlobalAddresses(Lowering &lowering, const ir::Value *pointers, const ir::LinearLayout &layout);

  /// The address of register `r`.
  llvm::Value *operator[](int r);

private:
  Lowering &lowering_;
  const ir::Value *pointers_;
  const ir::LinearLayout &layout_;
  llvm::Value *start_ = nullptr;
};

// The address of an element in a swizzled buffer is the xor of a contribution of the thread and a
// constant per register.
// - Constant bits that no thread sets are added instead of xored: instructions have an immediate
//   offset.
// - Each combination of the other bits costs one xor, which registers with the same bits share.
//
// By default the xors use the thread's contribution alone: the results are the same for all stages,
// and stay in registers. With compute_from_one the xors use an address, so each stage computes them
// again.
class Lowering::SharedAddresses {
public:
  /// `perm` and `origin`: attributes of shared_load; both empty: the tile is the whole stage.
  SharedAddresses(Lowering &lowering, const ir::Value *buffer, const ir::Value *stage,
                  const ir::LinearLayout &layout, const std::vector<int64_t> &perm = {},
                  const std::vector<int64_t> &origin = {});

  /// The contribution of each bit of the register number, in bytes.
  const std::vector<uint32_t> &register_images() const { return images_.reg; }

  /// Computes all addresses from the address of the thread's contribution. Buffers are aligned to
  /// 1024 bytes, or to their size if it is less, and swizzled within that. So the xors do not depend on
  /// the start of a stage.
  void compute_from_one() { from_one_ = true; }

  /// Replaces the lane images: lanes of ldmatrix address rows, not their own elements.
  void set_lane_images(std::vector<uint32_t> images);

  /// The contribution of register number `r`, in bytes.
  uint32_t constant(uint32_t r) const;

  /// The i32 shared memory address for the constant contribution `constant`.
  llvm::Value *at(uint32_t constant);

private:
  Lowering &lowering_;
  SharedImages images_;
  uint32_t thread_bits_ = 0;
  bool from_one_ = false;
  llvm::Value *base_, *thread_ = nullptr;
  std::map<uint32_t, llvm::Value *> starts_; // key: constant bits that need an xor
};

/// Groups the registers of a layout into `width` elements that are adjacent along `axis`, each
/// group in ascending order. Groups that are adjacent along `axis` are consecutive.
std::vector<std::vector<int>> register_groups(const ir::LinearLayout &layout, int width, int axis);

/// The axis along which the elements of an access are contiguous in memory; the last axis if none
/// is.
int vector_axis(const ir::Op &access);

} // namespace tritonc
