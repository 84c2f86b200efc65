// What the files of this folder share: where the registers of each tile are, and how a layout
// becomes arithmetic on the thread's number.
//
// A tile with a layout of 2^n registers is 2^n LLVM values, register r of the layout at place r. A
// scalar is one. Lowering makes no decisions: which thread holds what, how wide an access is and
// which instruction multiplies were decided by passes and are read from the tile IR.

#pragma once

#include "backend/target_ops.h"
#include "ir/ir.h"
#include "target/gpu.h"

#include "llvm/IR/IRBuilder.h"

#include <functional>
#include <map>
#include <set>

namespace tritonc {

/// The LLVM values of one tile or scalar.
using Registers = std::vector<llvm::Value *>;

class Lowering {
public:
  Lowering(const ir::Function &fn, const Gpu &gpu, llvm::Module &module);

  void run();

private:
  // lower.cpp: functions, blocks and control flow.
  void start_function();
  void start_locations();
  void set_location(ir::Location at);
  void lower_block(const ir::Block &block);
  void lower_op(const ir::Op &op);
  void lower_for(const ir::Op &op);
  void lower_while(const ir::Op &op);
  void lower_if(const ir::Op &op);

  // arithmetic.cpp: element by element.
  void lower_constant(const ir::Op &op);
  void lower_elementwise(const ir::Op &op);
  llvm::Value *element(const ir::Op &op, llvm::ArrayRef<llvm::Value *> operands);
  void lower_pinned(const ir::Op &op);
  llvm::Value *compare(const ir::Op &op, llvm::Value *a, llvm::Value *b);
  llvm::Value *convert(ir::Elem from, ir::Elem to, bool is_unsigned, llvm::Value *value);
  void lower_small_cast(const ir::Op &op);

  // shape.cpp: which register of the operand a register of the result is.
  void lower_range(const ir::Op &op);
  void lower_inside(const ir::Op &op);
  void lower_shape(const ir::Op &op);

  // memory.cpp: global memory.
  void lower_load(const ir::Op &op);
  void lower_store(const ir::Op &op);
  llvm::Value *hinted(const ir::Op &op, llvm::Value *address);

  // constant_memory.cpp
  void make_constant_memory();
  llvm::Constant *content_of(const ir::ConstantMemory &part);
  llvm::Value *constant_element(const ir::Op &op, llvm::Value *offset);

  // atomics.cpp
  void lower_atomic(const ir::Op &op);
  llvm::Value *changed(const ir::Op &op, llvm::Value *address,
                       const std::vector<llvm::Value *> &values);

  // host_values.cpp: what the host computes and hands over behind the kernel's own parameters.
  void find_host_side();
  void add_hidden_parameters(std::vector<llvm::Type *> &types);
  void define_hidden_parameters();

  // tensor_maps.cpp
  void lower_map_copy(const ir::Op &op);
  void lower_map_copy_out(const ir::Op &op);
  template <typename Visit>
  void for_each_box_of(const ir::Op &op, const ir::Value *map, const ir::Value *buffer,
                       const ir::Value *slot, size_t first, Visit visit);

  // specialize.cpp: warps with work of their own, and the mbarriers between them.
  void lower_specialize(const ir::Op &op);
  void lower_by_one(const ir::Block &block, llvm::Value *of_warp);
  void lower_mbarriers(const ir::Op &op);
  void lower_mbarrier_wait(const ir::Op &op);
  void lower_mbarrier_arrive(const ir::Op &op);
  llvm::Value *mbarrier(const ir::Op &op, size_t operand);
  void lower_barrier();

  // products.cpp
  void lower_shared_product(const ir::Op &op);
  void lower_fragment_product(const ir::Op &op);
  void lower_product_wait(const ir::Op &op);
  llvm::Value *whether_to_add(const ir::Value *condition);
  using Groups = std::vector<std::vector<size_t>>;
  /// The registers of each instruction whose sum `value` is; nothing if it is none of wgmma.
  static Groups instruction_sums(const ir::Value *value);
  Registers packed(const ir::Value *value, const Groups &sums);
  Registers unpacked(const Registers &packed, const ir::Value *like, const Groups &sums);

  // clusters.cpp: what the blocks of a cluster do together.
  void lower_cluster_load(const ir::Op &op);
  void lower_cluster_barrier();

  // shared_memory.cpp
  void lower_shared_store(const ir::Op &op);
  void lower_shared_load(const ir::Op &op);
  void lower_ring_slot(const ir::Op &op);
  void lower_ring_phase(const ir::Op &op);
  llvm::Value *ring_position(const ir::Op &op);
  /// The i32 address of a slot of a buffer.
  llvm::Value *slot_address(const ir::Value *buffer, const ir::Value *slot);
  void lower_async_copy(const ir::Op &op);

  void lower_shared_gather(const ir::Op &op);

  // dot.cpp, reduce.cpp and scan.cpp
  void lower_dot(const ir::Op &op);
  void lower_mma(const ir::Op &op);
  void lower_fma(const ir::Op &op);
  void lower_reduce(const ir::Op &op);
  void lower_scan(const ir::Op &op);

  // checks.cpp: print and assert.
  void lower_print(const ir::Op &op);
  void lower_assert(const ir::Op &op);
  llvm::Value *is_first_thread();
  /// Calls `visit(register, index)` with the flat index, in the tile, of each register of this
  /// thread that is not a copy of another. A scalar is register 0, index 0.
  void for_each_element(const ir::Value *value,
                        const std::function<void(int, llvm::Value *)> &visit);

  // Values.
  const Registers &registers(const ir::Value *value) const { return values_.at(value); }
  llvm::Value *scalar(const ir::Value *value) const { return values_.at(value).at(0); }
  void define(const ir::Value *value, Registers registers);
  llvm::Type *type_of(ir::Elem elem);
  llvm::Type *element_type(const ir::Type &type); // a pointer for pointers

  // threads.cpp: layouts as arithmetic on the number of the thread.
  llvm::Value *lane() { return lane_; }
  llvm::Value *warp() { return warp_; }
  /// The xor of the `images[i]` of the bits i of `bits` that are set.
  llvm::Value *move_bits(llvm::Value *bits, const std::vector<uint32_t> &images);
  /// The thread's part of the coordinate along each axis.
  std::vector<llvm::Value *> thread_coordinates(const ir::LinearLayout &layout);
  /// Of a scalar that one thread stores or changes: all hold it.
  ir::LinearLayout layout_of_scalar() const;
  /// True in one of the threads that hold the same elements; null if no two threads do.
  llvm::Value *holds_first_copy(const ir::LinearLayout &layout);
  /// Runs `body` where `condition` holds (always, if null).
  void guarded(llvm::Value *condition, const std::function<void()> &body);

  class GlobalAddresses; // addresses.h
  class SharedAddresses;
  template <typename Access>
  void store_matrices(const ir::Op &op, SharedAddresses &addresses, const Access &matrices);

  const ir::Function &fn_;
  const Gpu &gpu_;
  llvm::Module &module_;
  llvm::LLVMContext &context_;
  llvm::IRBuilder<> builder_;
  llvm::Function *function_ = nullptr;
  llvm::GlobalVariable *constants_ = nullptr; // the block of constant memory; null: there is none
  llvm::Value *lane_ = nullptr, *warp_ = nullptr; // the latter of its team, if there are teams
  llvm::Value *team_ = nullptr; // null: there is one, or the warps have not parted
  /// Counters of loops modulo a number of slots, for rings that have so many.
  std::map<std::pair<const ir::Value *, int64_t>, llvm::Value *> turns_;
  std::map<const ir::Value *, Registers> values_;
  std::set<const ir::Op *> host_side_; // operations that only the host does
  std::vector<const ir::Op *> hidden_; // operations whose results the host hands over
  enum class Part { whole, workers, helper, helpers } part_ = Part::whole; // of a specialize
  int prints_ = 0;                                                         // statements so far
};

/// Those `which` as one vector: the vector itself that scatter has taken them from, if they are
/// all.
llvm::Value *gather(llvm::IRBuilder<> &builder, const Registers &from,
                    const std::vector<size_t> &which);

/// The elements of a vector in the places `which`.
void scatter(llvm::IRBuilder<> &builder, llvm::Value *packed, Registers &to,
             const std::vector<size_t> &which);

/// The register of a layout by the part of the flat index that it contributes.
std::map<ir::FlatIndex, int> registers_by_index(const ir::LinearLayout &layout);

} // namespace tritonc
