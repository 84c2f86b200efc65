// Lowers functions, blocks and control flow to LLVM IR, and dispatches all other operations to the
// other files of this folder.
//
// Tested by tests/unit/lower/lower_test.cpp.

#include "lower/lower.h"
#include "analysis/launch_config.h"
#include "backend/ptx.h"
#include "lower/lowering.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/InstIterator.h"

namespace tritonc {

using namespace ir;

Lowering::Lowering(const Function &fn, const Gpu &gpu, llvm::Module &module)
    : fn_(fn), gpu_(gpu), module_(module), context_(module.getContext()), builder_(context_),
      hidden_(hidden_parameters(fn)) {}

llvm::Type *Lowering::type_of(Elem elem) {
  switch (elem) {
  case Elem::i1:
    return builder_.getInt1Ty();
  case Elem::i8:
  case Elem::e4m3: // 8-bit floats: stored and moved only
  case Elem::e5m2:
    return builder_.getInt8Ty();
  case Elem::i16:
    return builder_.getInt16Ty();
  case Elem::i32:
    return builder_.getInt32Ty();
  case Elem::i64:
    return builder_.getInt64Ty();
  case Elem::f16:
    return builder_.getHalfTy();
  case Elem::bf16:
    return builder_.getBFloatTy();
  case Elem::f32:
    return builder_.getFloatTy();
  case Elem::f64:
    return builder_.getDoubleTy();
  }
  llvm_unreachable("element type");
}

llvm::Type *Lowering::element_type(const Type &type) {
  return type.is_pointer() ? builder_.getPtrTy(1) : type_of(type.elem);
}

void Lowering::define(const Value *value, Registers registers) {
  if (!value->name.empty() && registers.size() == 1 && !registers[0]->hasName())
    registers[0]->setName(value->name); // does nothing for constants
  values_[value] = std::move(registers);
}

// Every instruction gets its source line, if the function has a file: the emulator reports errors
// there. generate_ptx keeps or strips the lines (backend/ptx.cpp).
void Lowering::start_locations() {
  if (fn_.file.empty())
    return;
  module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIBuilder build(module_);
  llvm::DIFile *file = build.createFile(fn_.file, /*Directory=*/"");
  llvm::DICompileUnit *unit = build.createCompileUnit(
      llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file, "tritonc", /*isOptimized=*/true,
      /*Flags=*/"", /*RV=*/0, /*SplitName=*/"", llvm::DICompileUnit::LineTablesOnly);
  unsigned line = unsigned(fn_.location.line);
  llvm::DISubprogram *subprogram =
      build.createFunction(unit, fn_.name, fn_.name, file, line,
                           build.createSubroutineType(build.getOrCreateTypeArray({})), line,
                           llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  build.finalize();
  function_->setSubprogram(subprogram);
  set_location(fn_.location);
}

void Lowering::set_location(ir::Location at) {
  if (!function_->getSubprogram())
    return;
  builder_.SetCurrentDebugLocation(llvm::DILocation::get(
      context_, unsigned(at.line), unsigned(at.column), function_->getSubprogram()));
}

void Lowering::start_function() {
  find_host_side();
  std::vector<llvm::Type *> types;
  for (const Parameter &parameter : fn_.parameters) {
    const Type &type = parameter.value->type;
    // The caller passes a bool as a byte.
    types.push_back(type.elem == Elem::i1 && type.is_number() ? builder_.getInt8Ty()
                                                              : element_type(type));
  }
  add_hidden_parameters(types);
  function_ = llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), types, false),
                                     llvm::GlobalValue::ExternalLinkage, fn_.name, module_);
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  start_locations();
  function_->addFnAttr("nvvm.maxntid", std::to_string(fn_.threads()));
  if (fn_.blocks_per_sm)
    function_->addFnAttr("nvvm.minctasm", std::to_string(fn_.blocks_per_sm));
  if (int cluster = launch_config(fn_).cluster; cluster > 1)
    function_->addFnAttr("nvvm.cluster_dim", std::to_string(cluster) + ",1,1");
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));

  for (const Parameter &parameter : fn_.parameters) {
    llvm::Argument *argument = function_->getArg(unsigned(parameter.value->index));
    argument->setName(parameter.name);
    if (parameter.value->type.is_pointer()) {
      argument->addAttr(
          llvm::Attribute::getWithAlignment(context_, llvm::Align(parameter.aligned_bytes)));
      if (parameter.no_alias)
        argument->addAttr(llvm::Attribute::NoAlias);
      if (parameter.read_only)
        argument->addAttr(llvm::Attribute::ReadOnly);
      else if (parameter.write_only)
        argument->addAttr(llvm::Attribute::WriteOnly);
    }
    bool is_bool = parameter.value->type == Type::scalar(Elem::i1);
    values_[parameter.value] = {is_bool ? builder_.CreateICmpNE(argument, builder_.getInt8(0))
                                        : (llvm::Value *)argument};
  }

  define_hidden_parameters();

  llvm::Value *thread = call_target_op(builder_, TargetOp::tid_x);
  lane_ = builder_.CreateAnd(thread, 31, "lane");
  warp_ = fn_.threads() > 32 ? builder_.CreateLShr(thread, 5, "warp") : builder_.getInt32(0);
  if (fn_.programs_of_block() > 1) {
    program_of_block_ = warp_;
    warp_ = builder_.getInt32(0);
  }
  // Warp specialization and descriptors need a warp index that ptxas knows to be uniform.
  if (!partitions_of(fn_).empty())
    warp_ = call_target_op(builder_, TargetOp::shfl_idx, {warp_, builder_.getInt32(0)});
  if (fn_.shared_bytes) {
    auto *array =
        new llvm::GlobalVariable(module_, llvm::ArrayType::get(builder_.getInt8Ty(), 0), false,
                                 llvm::GlobalValue::ExternalLinkage, nullptr, "tritonc_shared",
                                 nullptr, llvm::GlobalValue::NotThreadLocal, 3);
    array->setAlignment(llvm::Align(1024));
  }
}

void Lowering::lower_block(const Block &block) {
  llvm::DebugLoc around = builder_.getCurrentDebugLocation();
  for (const Op *op : block.ops) {
    if (host_side_.count(op))
      continue;
    set_location(op->location);
    lower_op(*op);
  }
  builder_.SetCurrentDebugLocation(around);
}

namespace {

// Without launch_blocks, block i runs program i. With it, no program_id is left.
TargetOp block_id_op(const Op &op) {
  constexpr TargetOp ops[] = {TargetOp::ctaid_x, TargetOp::ctaid_y, TargetOp::ctaid_z};
  constexpr TargetOp again[] = {TargetOp::ctaid_x_again, TargetOp::ctaid_y_again,
                                TargetOp::ctaid_z_again};
  return op.has(attr::again_) ? again[op.get(attr::axis_)] : ops[op.get(attr::axis_)];
}

TargetOp num_blocks_op(const Op &op) {
  constexpr TargetOp ops[] = {TargetOp::nctaid_x, TargetOp::nctaid_y, TargetOp::nctaid_z};
  return ops[op.get(attr::axis_)];
}

} // namespace

llvm::Value *Lowering::program_of_warp() {
  llvm::Value *first = builder_.CreateMul(call_target_op(builder_, TargetOp::ctaid_x),
                                          builder_.getInt32(uint32_t(fn_.programs_of_block())));
  return builder_.CreateAdd(first, program_of_block_);
}

void Lowering::lower_program_id(const Op &op) {
  const bool is_of_warp = program_of_block_ && op.get(attr::axis_) == 0;
  define(op.result(), {is_of_warp ? program_of_warp() : call_target_op(builder_, block_id_op(op))});
}

// A warp without a program ends.
void Lowering::lower_launch_warps(const Op &op) {
  auto *end = llvm::BasicBlock::Create(context_, "no_program", function_);
  auto *program = llvm::BasicBlock::Create(context_, "program", function_);
  builder_.CreateCondBr(builder_.CreateICmpULT(program_of_warp(), scalar(op.operand(0))), program,
                        end);
  builder_.SetInsertPoint(end);
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(program);
}

namespace {

int registers_of(const Type &type) { return type.is_tile() ? type.layout->registers() : 1; }

} // namespace

void Lowering::lower_op(const Op &op) {
  switch (op.code) {
  case Opcode::constant_:
    return lower_constant(op);
  case Opcode::program_id_:
    return lower_program_id(op);
  case Opcode::block_id_:
    return define(op.result(), {call_target_op(builder_, block_id_op(op))});
  case Opcode::num_programs_:
  case Opcode::num_blocks_:
    return define(op.result(), {call_target_op(builder_, num_blocks_op(op))});
  case Opcode::num_sms_:
  case Opcode::host_value_:
  case Opcode::tensor_map_:
  case Opcode::workspace_:
  case Opcode::launch_warps_:
    return lower_launch_warps(op);
  case Opcode::launch_blocks_:
  case Opcode::launch_requires_:
    llvm_unreachable("the host's");
  case Opcode::consumer_group_id_:
    return define(op.result(), {consumer_group_});
  case Opcode::undef_:
    return define(op.result(), Registers(size_t(registers_of(op.result()->type)),
                                         llvm::PoisonValue::get(element_type(op.result()->type))));
  case Opcode::range_:
    return lower_range(op);
  case Opcode::in_bounds_:
    return lower_in_bounds(op);
  case Opcode::no_hoist_:
    return lower_no_hoist(op);
  case Opcode::splat_:
  case Opcode::expand_:
  case Opcode::broadcast_:
  case Opcode::trans_:
  case Opcode::reshape_:
  case Opcode::extract_:
    return lower_shape(op);
  case Opcode::funnel_shift_:
    return lower_funnel_shift(op);
  case Opcode::view_:
    return; // the users read the operands
  case Opcode::load_:
    return lower_load(op);
  case Opcode::store_:
    return lower_store(op);
  case Opcode::atomic_:
  case Opcode::atomic_cas_:
    return lower_atomic(op);
  case Opcode::store_partial_:
    return lower_store_partial(op);
  case Opcode::add_partial_:
    return lower_add_partial(op);
  case Opcode::signal_:
    return by_one_thread(
        [&] { call_target_op(builder_, TargetOp::signal, {scalar(op.operand(0))}); });
  case Opcode::wait_signal_:
    return by_one_thread(
        [&] { call_target_op(builder_, TargetOp::wait_signal, {scalar(op.operand(0))}); });
  case Opcode::dot_:
    return lower_dot(op);
  case Opcode::reduce_:
    return lower_reduce(op);
  case Opcode::scan_:
    return lower_scan(op);
  case Opcode::while_loop_:
    return lower_while(op);
  case Opcode::for_loop_:
    return lower_for(op);
  case Opcode::if_else_:
    return lower_if(op);
  case Opcode::condition_:
  case Opcode::yield_:
    return; // the enclosing operation reads the operands
  case Opcode::return_:
    builder_.CreateRetVoid();
    return;
  case Opcode::print_:
    return lower_print(op);
  case Opcode::assert_:
    return lower_assert(op);
  case Opcode::shared_alloc_:
    return;
  case Opcode::stage_index_:
    return lower_stage_index(op);
  case Opcode::shared_store_:
    return lower_shared_store(op);
  case Opcode::shared_load_:
    return lower_shared_load(op);
  case Opcode::shared_gather_:
    return lower_shared_gather(op);
  case Opcode::shared_load_rows_:
    return lower_shared_load_rows(op);
  case Opcode::shared_store_rows_:
    return lower_shared_store_rows(op);
  case Opcode::async_copy_:
    return lower_async_copy(op);
  case Opcode::async_commit_:
    call_target_op(builder_, TargetOp::cp_async_commit);
    return;
  case Opcode::async_wait_:
    call_target_op(builder_, TargetOp::cp_async_wait,
                   {builder_.getInt32(uint32_t(op.get(attr::pending_)))});
    return;
  case Opcode::barrier_:
    return lower_barrier();
  case Opcode::warp_specialize_:
    return lower_warp_specialize(op);
  case Opcode::mbarriers_:
    return lower_mbarriers(op);
  case Opcode::stage_phase_:
    return lower_stage_phase(op);
  case Opcode::mbarrier_wait_:
    return lower_mbarrier_wait(op);
  case Opcode::mbarrier_arrive_:
    return lower_mbarrier_arrive(op);
  case Opcode::tma_load_async_:
    return lower_tma_load_async(op);
  case Opcode::tma_prefetch_:
    return guarded(is_first_thread(), [&] {
      call_target_op(builder_, TargetOp::prefetch_tensor_map, {scalar(op.operand(0))});
    });
  case Opcode::sched_barrier_:
    call_target_op(builder_, TargetOp::sched_barrier);
    return;
  case Opcode::launch_dependents_:
    call_target_op(builder_, TargetOp::launch_dependents);
    return;
  case Opcode::dependency_wait_:
    call_target_op(builder_, TargetOp::dependency_wait);
    return;
  case Opcode::tma_store_async_:
    return lower_tma_store_async(op);
  case Opcode::tma_store_wait_:
    return guarded(is_first_thread(), [&] {
      call_target_op(builder_, TargetOp::bulk_wait_read,
                     {builder_.getInt32(uint32_t(op.get(attr::pending_)))});
    });
  case Opcode::proxy_fence_:
    call_target_op(builder_, TargetOp::fence_proxy_async);
    return;
  case Opcode::wgmma_ss_:
    return lower_wgmma_ss(op);
  case Opcode::wgmma_rs_:
    return lower_wgmma_rs(op);
  case Opcode::wgmma_wait_:
    return lower_wgmma_wait(op);
  case Opcode::cluster_load_reduce_:
    return lower_cluster_load_reduce(op);
  case Opcode::cluster_send_:
    return lower_cluster_send(op);
  case Opcode::cluster_receive_:
    return lower_cluster_receive(op);
  case Opcode::cluster_arrive_:
    call_target_op(builder_, TargetOp::fence_mbarrier_init);
    call_target_op(builder_, TargetOp::cluster_arrive_relaxed);
    return;
  case Opcode::cluster_wait_:
    call_target_op(builder_, TargetOp::cluster_wait);
    return;
  case Opcode::cluster_barrier_:
    return lower_cluster_barrier();
  default:
    return lower_elementwise(op);
  }
}

namespace {

// Makes phis for the registers `start`, in the builder's block.
Registers make_phis(llvm::IRBuilder<> &builder, const Registers &start, llvm::BasicBlock *from) {
  Registers phis;
  for (llvm::Value *value : start) {
    llvm::PHINode *phi = builder.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, from);
    phis.push_back(phi);
  }
  return phis;
}

void add_incoming(const Registers &phis, const Registers &values, llvm::BasicBlock *from) {
  for (size_t i = 0; i < phis.size(); i++)
    llvm::cast<llvm::PHINode>(phis[i])->addIncoming(values[i], from);
}

// Disables unrolling: the passes have unrolled.
void keep_rolled(llvm::BranchInst *back_edge) {
  llvm::LLVMContext &context = back_edge->getContext();
  llvm::Metadata *disable =
      llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode *loop = llvm::MDNode::getDistinct(context, {nullptr, disable});
  loop->replaceOperandWith(0, loop);
  back_edge->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

// Packs 8-bit elements and 16-bit floats into 32-bit words. Loads and matmul instructions use such
// words. If a loop carried each element separately, it would unpack and pack them, or need a
// register per element.
Registers packed_in_words(llvm::IRBuilder<> &builder, const Registers &elements) {
  llvm::Type *type = elements[0]->getType(), *word = builder.getInt32Ty();
  size_t bits = type->getScalarSizeInBits();
  if ((bits != 8 && !type->is16bitFPTy()) || elements.size() * bits % 32 != 0)
    return elements;
  size_t many = 32 / bits;
  Registers words;
  for (size_t first = 0; first < elements.size(); first += many) {
    llvm::Value *vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, unsigned(many)));
    for (size_t i = 0; i < many; i++)
      vector = builder.CreateInsertElement(vector, elements[first + i], uint64_t(i));
    words.push_back(builder.CreateBitCast(vector, word));
  }
  return words;
}

// The elements of `type` from the words that packed_in_words made.
Registers taken_apart(llvm::IRBuilder<> &builder, const Registers &words, llvm::Type *type) {
  if (words[0]->getType() == type)
    return words;
  unsigned many = 32 / type->getScalarSizeInBits();
  Registers elements;
  for (llvm::Value *word : words) {
    llvm::Value *vector = builder.CreateBitCast(word, llvm::FixedVectorType::get(type, many));
    for (unsigned i = 0; i < many; i++)
      elements.push_back(builder.CreateExtractElement(vector, uint64_t(i)));
  }
  return elements;
}

// Hides from LLVM that the values loaded for the next iteration are loads. Otherwise LLVM merges a
// load before the loop with the load at its end into one load at the loop head. That load would be
// later than the pass intended.
Registers loaded_here(llvm::IRBuilder<> &builder, Registers values) {
  for (llvm::Value *&value : values)
    if (llvm::isa<llvm::LoadInst>(value))
      value = builder.CreateFreeze(value);
  return values;
}

// The stage counts of the circular buffers that advance with `loop`, except powers of two: for the
// others, a modulo needs a multiplication.
std::set<int64_t> stage_counts_in(const Op &loop) {
  std::set<int64_t> counts;
  for_each_op(*loop.blocks[0], [&](const Op &op) {
    bool goes_round = op.is(Opcode::stage_index_) && op.operand(0) == loop.blocks[0]->arguments[0];
    if (goes_round && (op.get(attr::stages_) & (op.get(attr::stages_) - 1)) != 0)
      counts.insert(op.get(attr::stages_));
  });
  return counts;
}

// The vector whose elements are exactly `which`, in order; null: no such vector.
llvm::Value *vector_of(const Registers &from, const std::vector<size_t> &which) {
  llvm::Value *vector = nullptr;
  for (size_t i = 0; i < which.size(); i++) {
    auto *element = llvm::dyn_cast<llvm::ExtractElementInst>(from[which[i]]);
    auto *index = element ? llvm::dyn_cast<llvm::ConstantInt>(element->getIndexOperand()) : nullptr;
    if (!index || index->getZExtValue() != i || (vector && element->getVectorOperand() != vector))
      return nullptr;
    vector = element->getVectorOperand();
  }
  auto *type = llvm::cast<llvm::FixedVectorType>(vector->getType());
  return type->getNumElements() == which.size() ? vector : nullptr;
}

// Whether `value` is loaded by accesses of less than a word. Packing its elements would wait for
// them, so a loop that loads an iteration ahead carries each in a register.
bool arrives_in_parts(const Value *value) {
  constexpr int64_t word_bytes = 4;
  return value->op && value->op->is(Opcode::load_) && value->type.is_tile() &&
         value->op->get(attr::vector_, 1) * bytes_of(value->type.elem) < word_bytes;
}

// Erases extracted elements that are unused because a user took the whole vector.
void erase_unused_elements(llvm::Function &function) {
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
    if (llvm::isa<llvm::ExtractElementInst>(instruction) && instruction.use_empty())
      instruction.eraseFromParent();
}

} // namespace

llvm::Value *gather(llvm::IRBuilder<> &builder, const Registers &from,
                    const std::vector<size_t> &which) {
  if (llvm::Value *vector = vector_of(from, which))
    return vector;
  llvm::Value *packed = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(from[which[0]]->getType(), unsigned(which.size())));
  for (size_t i = 0; i < which.size(); i++)
    packed = builder.CreateInsertElement(packed, from[which[i]], uint64_t(i));
  return packed;
}

void scatter(llvm::IRBuilder<> &builder, llvm::Value *packed, Registers &to,
             const std::vector<size_t> &which) {
  for (size_t i = 0; i < which.size(); i++)
    to[which[i]] = builder.CreateExtractElement(packed, uint64_t(i));
}

// The values that a loop carries for `value`. Accumulators of wgmma are carried as the vectors that
// its instructions take and return: hundreds of separate registers would slow down every LLVM pass.
Registers Lowering::packed(const Value *value, const Groups &groups) {
  if (groups.empty())
    return packed_in_words(builder_, registers(value));
  Registers vectors;
  for (const std::vector<size_t> &which : groups)
    vectors.push_back(gather(builder_, registers(value), which));
  return vectors;
}

// Splits `packed` into registers like those of `like`.
Registers Lowering::unpacked(const Registers &packed, const Value *like, const Groups &groups) {
  if (groups.empty())
    return taken_apart(builder_, packed, registers(like)[0]->getType());
  Registers elements(registers(like).size());
  for (size_t i = 0; i < groups.size(); i++)
    scatter(builder_, packed[i], elements, groups[i]);
  return elements;
}

void Lowering::lower_for(const Op &op) {
  const Block &body = *op.blocks[0];
  const std::vector<Value *> &yielded = body.terminator()->operands;
  std::vector<Groups> groups;
  std::vector<Registers> carried = {{builder_.getInt32(0)}};
  auto to_carry = [&](const Value *value, size_t i) { // `value` as result number i
    return arrives_in_parts(yielded[i]) ? registers(value) : packed(value, groups[i]);
  };
  for (size_t i = 0; i < op.results.size(); i++) {
    groups.push_back(accumulator_groups(yielded[i]));
    carried.push_back(to_carry(op.operand(i + 1), i));
  }
  llvm::BasicBlock *before = builder_.GetInsertBlock();
  auto *head = llvm::BasicBlock::Create(context_, "for", function_);
  auto *inside = llvm::BasicBlock::Create(context_, "for.body", function_);
  auto *after = llvm::BasicBlock::Create(context_, "for.end", function_);
  builder_.CreateBr(head);

  builder_.SetInsertPoint(head);
  for (Registers &start : carried)
    start = make_phis(builder_, start, before);
  std::vector<std::pair<llvm::PHINode *, int64_t>> turns;
  for (int64_t stages : stage_counts_in(op)) {
    turns.emplace_back(builder_.CreatePHI(builder_.getInt32Ty(), 2), stages);
    turns.back().first->addIncoming(builder_.getInt32(0), before);
    turns_[{body.arguments[0], stages}] = turns.back().first;
  }
  define(body.arguments[0], carried[0]);
  for (size_t i = 1; i < carried.size(); i++)
    define(body.arguments[i], unpacked(carried[i], op.operand(i), groups[i - 1]));
  llvm::Value *counter = scalar(body.arguments[0]);
  builder_.CreateCondBr(builder_.CreateICmpSLT(counter, scalar(op.operand(0))), inside, after);

  builder_.SetInsertPoint(inside);
  lower_block(body);
  std::vector<Registers> next = {{builder_.CreateNSWAdd(counter, builder_.getInt32(1))}};
  for (size_t i = 0; i < yielded.size(); i++)
    next.push_back(loaded_here(builder_, to_carry(yielded[i], i)));
  llvm::BasicBlock *end = builder_.GetInsertBlock();
  for (auto [turn, stages] : turns) {
    llvm::Value *later = builder_.CreateNUWAdd(turn, builder_.getInt32(1));
    llvm::Value *is_over = builder_.CreateICmpUGE(later, builder_.getInt32(uint32_t(stages)));
    turn->addIncoming(builder_.CreateSelect(is_over, builder_.getInt32(0), later), end);
  }
  keep_rolled(builder_.CreateBr(head));
  for (size_t i = 0; i < carried.size(); i++)
    add_incoming(carried[i], next[i], end);
  for (size_t i = 0; i < op.results.size(); i++)
    define(op.results[i], registers(body.arguments[i + 1]));
  builder_.SetInsertPoint(after);
}

void Lowering::lower_while(const Op &op) {
  const Block &condition = *op.blocks[0], &body = *op.blocks[1];
  llvm::BasicBlock *before = builder_.GetInsertBlock();
  auto *head = llvm::BasicBlock::Create(context_, "while", function_);
  auto *inside = llvm::BasicBlock::Create(context_, "while.body", function_);
  auto *after = llvm::BasicBlock::Create(context_, "while.end", function_);
  builder_.CreateBr(head);

  builder_.SetInsertPoint(head);
  for (size_t i = 0; i < op.results.size(); i++) {
    define(condition.arguments[i], make_phis(builder_, registers(op.operand(i)), before));
    define(body.arguments[i], registers(condition.arguments[i]));
  }
  lower_block(condition);
  builder_.CreateCondBr(scalar(condition.terminator()->operand(0)), inside, after);

  builder_.SetInsertPoint(inside);
  lower_block(body);
  llvm::BasicBlock *end = builder_.GetInsertBlock();
  keep_rolled(builder_.CreateBr(head));
  for (size_t i = 0; i < op.results.size(); i++) {
    add_incoming(registers(condition.arguments[i]), registers(body.terminator()->operand(i)), end);
    define(op.results[i], registers(condition.arguments[i]));
  }
  builder_.SetInsertPoint(after);
}

void Lowering::lower_if(const Op &op) {
  llvm::BasicBlock *sides[2], *ends[2];
  for (int side : {0, 1})
    sides[side] = llvm::BasicBlock::Create(context_, side ? "else" : "then", function_);
  auto *after = llvm::BasicBlock::Create(context_, "if.end", function_);
  builder_.CreateCondBr(scalar(op.operand(0)), sides[0], sides[1]);
  for (int side : {0, 1}) {
    builder_.SetInsertPoint(sides[side]);
    lower_block(*op.blocks[side]);
    ends[side] = builder_.GetInsertBlock();
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
  for (size_t i = 0; i < op.results.size(); i++) {
    Registers phis =
        make_phis(builder_, registers(op.blocks[0]->terminator()->operand(i)), ends[0]);
    add_incoming(phis, registers(op.blocks[1]->terminator()->operand(i)), ends[1]);
    define(op.results[i], std::move(phis));
  }
}

void Lowering::run() {
  make_constant_memory();
  start_function();
  lower_block(*fn_.body);
  erase_unused_elements(*function_);
}

std::unique_ptr<llvm::Module> lower(const Function &fn, const Gpu &gpu,
                                    llvm::LLVMContext &context) {
  auto module = std::make_unique<llvm::Module>(fn.name, context);
  prepare_module(*module);
  Lowering(fn, gpu, *module).run();
  return module;
}

} // namespace tritonc
