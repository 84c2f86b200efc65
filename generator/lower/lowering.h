// Declares Lowering: maps the registers of each tile to LLVM values, and layouts to arithmetic on
// the thread index.
//
// A tile whose layout has 2^n registers is 2^n LLVM values; value r is register r of the layout. A
// scalar is one LLVM value. Lowering makes no decisions: the passes choose the thread of each
// element, the width of each access and the instruction of each matmul, and tile IR records these
// choices.

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

  // arithmetic.cpp: arithmetic, element by element.
  void lower_constant(const ir::Op &op);
  void lower_program_id(const ir::Op &op);
  llvm::Value *program_of_warp(); // its index along the first axis, beside a launch_warps
  void lower_launch_warps(const ir::Op &op);
  void lower_elementwise(const ir::Op &op);
  llvm::Value *element(const ir::Op &op, llvm::ArrayRef<llvm::Value *> operands);
  void lower_no_hoist(const ir::Op &op);
  llvm::Value *compare(const ir::Op &op, llvm::Value *a, llvm::Value *b);
  llvm::Value *convert(ir::Elem from, ir::Elem to, bool is_unsigned, llvm::Value *value);
  void lower_small_cast(const ir::Op &op);

  // shape.cpp: reordered and repeated elements.
  void lower_range(const ir::Op &op);
  void lower_in_bounds(const ir::Op &op);
  void lower_shape(const ir::Op &op);
  void lower_funnel_shift(const ir::Op &op);

  // memory.cpp: global memory.
  void lower_load(const ir::Op &op);
  void lower_store(const ir::Op &op);
  llvm::Value *hinted(const ir::Op &op, llvm::Value *address);

  // partials.cpp: partial sums of stream-K.
  void lower_store_partial(const ir::Op &op);
  void lower_add_partial(const ir::Op &op);
  template <typename Visit> void for_each_vector_of_partial(const ir::Op &op, Visit visit);

  // constant_memory.cpp: constant memory.
  void make_constant_memory();
  llvm::Constant *content_of(const ir::ConstantMemory &part);
  llvm::Value *constant_element(const ir::Op &op, llvm::Value *offset);

  // atomics.cpp: atomic operations.
  void lower_atomic(const ir::Op &op);
  llvm::Value *changed(const ir::Op &op, llvm::Value *address,
                       const std::vector<llvm::Value *> &values);

  // host_values.cpp: the hidden parameters, which the host computes.
  void find_host_side();
  void add_hidden_parameters(std::vector<llvm::Type *> &types);
  void define_hidden_parameters();

  // tma.cpp: TMA.
  void lower_tma_load_async(const ir::Op &op);
  void lower_multicast(const ir::Op &op);
  void leave_out(const ir::Op &op, llvm::Value *box, llvm::Value *barrier);
  void lower_tma_store_async(const ir::Op &op);
  template <typename Visit>
  void for_each_box_of(const ir::Op &op, const ir::Value *map, const ir::Value *buffer,
                       const ir::Value *stage, size_t first, Visit visit);

  // warp_specialize.cpp: warp specialization and mbarriers.
  void lower_warp_specialize(const ir::Op &op);
  void lower_partition(const ir::Partition &partition, llvm::Value *warp_of_block);
  void lower_by_one(const ir::Block &block, llvm::Value *of_warp);
  /// Runs `emit` in the one thread of a partition, or in the first thread of its warps.
  void by_one_thread(const std::function<void()> &emit);
  void lower_mbarriers(const ir::Op &op);
  void lower_mbarrier_wait(const ir::Op &op);
  void lower_mbarrier_arrive(const ir::Op &op);
  llvm::Value *mbarrier(const ir::Op &op, size_t operand);
  void lower_barrier();

  // wgmma.cpp: matmuls by wgmma.
  void lower_wgmma_ss(const ir::Op &op);
  void lower_wgmma_rs(const ir::Op &op);
  void lower_wgmma_wait(const ir::Op &op);
  llvm::Value *whether_to_add(const ir::Value *condition);
  using Groups = std::vector<std::vector<size_t>>;
  /// The accumulator registers of each instruction; empty: `value` is not the result of a wgmma.
  static Groups accumulator_groups(const ir::Value *value);
  Registers packed(const ir::Value *value, const Groups &groups);
  Registers unpacked(const Registers &packed, const ir::Value *like, const Groups &groups);

  // clusters.cpp: clusters.
  void lower_cluster_load_reduce(const ir::Op &op);
  void lower_cluster_send(const ir::Op &op);
  void lower_cluster_receive(const ir::Op &op);
  void lower_cluster_barrier();

  // shared_memory.cpp: shared memory.
  void lower_shared_store(const ir::Op &op);
  void lower_shared_load(const ir::Op &op);
  void lower_stage_index(const ir::Op &op);
  void lower_stage_phase(const ir::Op &op);
  llvm::Value *stage_counter(const ir::Op &op);
  /// The i32 address of a stage of a buffer.
  llvm::Value *stage_address(const ir::Value *buffer, const ir::Value *stage);
  void lower_async_copy(const ir::Op &op);

  void lower_shared_gather(const ir::Op &op);
  template <typename Visit>
  void for_each_row_element(const ir::Op &op, size_t buffer, const ir::LinearLayout &layout,
                            Visit visit);
  void lower_shared_load_rows(const ir::Op &op);
  void lower_shared_store_rows(const ir::Op &op);

  // dot.cpp, reduce.cpp and scan.cpp: matmuls by mma or fma, reductions and scans.
  void lower_dot(const ir::Op &op);
  void lower_mma(const ir::Op &op);
  void lower_fma(const ir::Op &op);
  void lower_reduce(const ir::Op &op);
  void lower_scan(const ir::Op &op);

  // checks.cpp: print and assert.
  void lower_print(const ir::Op &op);
  void lower_assert(const ir::Op &op);
  llvm::Value *is_first_thread();
  /// Calls `visit(register, index)` for each distinct register of this thread, with its flat index
  /// in the tile. A scalar is register 0, index 0.
  void for_each_element(const ir::Value *value,
                        const std::function<void(int, llvm::Value *)> &visit);

  // Values.
  const Registers &registers(const ir::Value *value) const { return values_.at(value); }
  llvm::Value *scalar(const ir::Value *value) const { return values_.at(value).at(0); }
  void define(const ir::Value *value, Registers registers);
  llvm::Type *type_of(ir::Elem elem);
  llvm::Type *element_type(const ir::Type &type); // a pointer for pointers

  // threads.cpp: layouts as arithmetic on the thread index.
  llvm::Value *lane() { return lane_; }
  llvm::Value *warp() { return warp_; }
  /// The xor of `images[i]` over the set bits i of `bits`.
  llvm::Value *move_bits(llvm::Value *bits, const std::vector<uint32_t> &images);
  /// The thread's part of the index along each axis.
  std::vector<llvm::Value *> thread_coordinates(const ir::LinearLayout &layout);
  /// The layout of a scalar that one thread stores or changes: all threads hold it.
  ir::LinearLayout layout_of_scalar() const;
  /// True in one of the threads that hold the same elements; null: no two threads hold the same.
  llvm::Value *holds_first_copy(const ir::LinearLayout &layout);
  /// Runs `body` only if `condition` is true (always, if null).
  void guarded(llvm::Value *condition, const std::function<void()> &body);
  /// Runs `body` if `condition` is true, else `otherwise`.
  void branched(llvm::Value *condition, const std::function<void()> &body,
                const std::function<void()> &otherwise);
  /// The value of `first` if `condition` is true, else that of `otherwise`.
  llvm::Value *either(llvm::Value *condition, const std::function<llvm::Value *()> &first,
                      const std::function<llvm::Value *()> &otherwise);

  // memory.cpp: accesses that may be off, and of vectors that may be unaligned or off in part.
  llvm::Value *is_whole(llvm::Type *vector, llvm::Value *address, const std::vector<int> &group,
                        const Registers &mask);
  llvm::Value *load_masked(llvm::Type *type, llvm::Value *address, llvm::Value *on,
                           llvm::Value *masked_off, bool is_volatile = false);
  void store_masked(llvm::Value *value, llvm::Value *address, llvm::Value *on);
  llvm::Align natural_alignment(llvm::Type *type) const;
  llvm::Value *load_ragged(llvm::Type *type, llvm::Value *address, const std::vector<int> &group,
                           const Registers &mask, llvm::Value *masked_off, bool is_volatile);
  void store_ragged(llvm::Value *packed, llvm::Value *address, const std::vector<int> &group,
                    const Registers &mask);

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
  llvm::GlobalVariable *constants_ = nullptr;     // the block of constant memory; null: none
  llvm::Value *lane_ = nullptr, *warp_ = nullptr; // warp_: index in its consumer group
  llvm::Value *consumer_group_ = nullptr;         // null: one group, or outside warp_specialize
  llvm::Value *program_of_block_ = nullptr;       // null: a block runs one program
  /// Loop counters modulo a number of stages.
  std::map<std::pair<const ir::Value *, int64_t>, llvm::Value *> turns_;
  std::map<const ir::Value *, Registers> values_;
  std::set<const ir::Op *> host_side_;     // operations that only the host executes
  std::vector<const ir::Op *> hidden_;     // operations whose results the host passes
  std::optional<ir::Partition> partition_; // whose code is emitted; nullopt: that of all warps
  int prints_ = 0;                         // prints so far
};

/// The elements `which` of `from` as one vector. Returns the original vector if they are all
/// elements of one vector that scatter split.
llvm::Value *gather(llvm::IRBuilder<> &builder, const Registers &from,
                    const std::vector<size_t> &which);

/// Writes the elements of a vector to the registers `which` of `to`.
void scatter(llvm::IRBuilder<> &builder, llvm::Value *packed, Registers &to,
             const std::vector<size_t> &which);

/// The register of each flat index that the register part of a layout contributes.
std::map<ir::FlatIndex, int> registers_by_index(const ir::LinearLayout &layout);

} // namespace tritonc
