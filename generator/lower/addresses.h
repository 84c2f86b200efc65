// Addresses of the registers of a tile, in global and in shared memory.

#pragma once

#include "analysis/shared_access.h"
#include "lower/lowering.h"

namespace tritonc {

// A view's addresses are `base + offset + sum of stride * coordinate`. The thread's part of the
// coordinates is added once; what a register adds is the same for all threads, and known when the
// stride is. Without a view, every register has a pointer of its own.
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

// The address of an element in a swizzled buffer is the xor of what each bit of its index
// contributes, so of a thread's part and a constant per register. Constant bits that no thread sets
// can be added instead, which instructions do for free; the others take one xor each, shared by all
// registers that need the same. The thread's part by itself is the same for all slots, and will be
// kept in a register for each such xor; from one address, the xors are computed for each slot anew.
class Lowering::SharedAddresses {
public:
  /// `perm` and `origin` as on shared_load; both empty: the tile is the whole slot.
  SharedAddresses(Lowering &lowering, const ir::Value *buffer, const ir::Value *slot,
                  const ir::LinearLayout &layout, const std::vector<int64_t> &perm = {},
                  const std::vector<int64_t> &origin = {});

  /// What each bit of the register number contributes, in bytes.
  const std::vector<uint32_t> &register_images() const { return images_.reg; }

  /// Computes all addresses from that of the thread's part. Buffers are aligned to 1024 bytes and
  /// swizzled within, so that the xors don't care where a slot starts.
  void compute_from_one() { from_one_ = true; }

  /// Lets lanes address something else than their own elements, as ldmatrix wants.
  void set_lane_images(std::vector<uint32_t> images);

  /// The bytes that register number `r` contributes.
  uint32_t constant(uint32_t r) const;

  /// The i32 address in shared memory for the constant part `constant`.
  llvm::Value *at(uint32_t constant);

private:
  Lowering &lowering_;
  SharedImages images_;
  uint32_t thread_bits_ = 0;
  bool from_one_ = false;
  llvm::Value *base_, *thread_ = nullptr;
  std::map<uint32_t, llvm::Value *> starts_; // by the constant bits that must be xored
};

/// The registers of a layout in groups of `width` that are neighbours along `axis`, each group in
/// ascending order.
std::vector<std::vector<int>> register_groups(const ir::LinearLayout &layout, int width, int axis);

/// The axis along which neighbours are neighbours in memory; the last one if there is none.
int vector_axis(const ir::Value *pointers);

} // namespace tritonc
