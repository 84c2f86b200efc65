// Makes one-operation kernels. See op_kernels.h.
//
// A kernel
//
// 1. fills the image and initializes the mbarrier,
// 2. executes the operation, with fences before it and commits and waits after it,
// 3. writes the results and the image.
//
// `describe` has the differences between the families of operations.
//
// Tested by op_kernels_test.cpp.

#include "op_kernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"

#include <cassert>
#include <functional>

namespace tritonc::test {
namespace {

using llvm::StringRef;
using llvm::Value;

// The meaning of an operand in a record.
enum class Role {
  value,
  constant,    // imm
  shared,      // address in the image
  descriptor,  // matrix descriptor in the image
  memory,      // pointer to the block's memory
  map,         // the block's tensor map
  barrier,     // the block's mbarrier
  other_block, // address in the image of any block of the cluster
};

// The synchronization that the operation needs.
enum class Protocol {
  none,
  cp_async,         // commit, wait
  cp_async_barrier, // each thread copies; the copy arrives on the mbarrier
  load,             // mbarrier expects bytes; wait
  expect,           // the same, with a separate arrive
  store,            // commit, wait
  wgmma,            // fence, commit, wait
  count_arrivals,   // arrivals one by one, then tests of the phase
  arrive_elsewhere, // every thread arrives on the next block's mbarrier; wait on this block's
  store_elsewhere,  // every thread stores to the next block; wait for this block's bytes
  cluster,          // cluster barrier before and after
};

struct Family {
  unsigned threads = 32;
  unsigned blocks = 1;
  unsigned image_bytes = 0;
  unsigned memory_bytes = 0;
  bool first_thread = false; // one thread executes it for all
  bool memory_is_out = false;
  Protocol protocol = Protocol::none;
  std::vector<Role> roles; // roles of the first operands; the others are Role::value
};

// Operations without a separate kernel: parts of other kernels.
bool stands_in_others(StringRef name) {
  static const char *const names[] = {"barrier",
                                      "barrier_sync",
                                      "barrier_arrive",
                                      "warp_sync",
                                      "cluster_arrive",
                                      "cluster_arrive_relaxed",
                                      "cluster_wait",
                                      "cp_async_commit",
                                      "cp_async_wait",
                                      "mbarrier_init",
                                      "mbarrier_inval",
                                      "mbarrier_arrive",
                                      "mbarrier_arrive_expect_tx",
                                      "mbarrier_complete_tx",
                                      "mbarrier_wait",
                                      "fence_proxy_async",
                                      "fence_mbarrier_init",
                                      "fence_cta",
                                      "fence_gpu",
                                      "signal",
                                      "wait_signal",
                                      "sched_barrier",
                                      "launch_dependents",
                                      "dependency_wait",
                                      "map_shared_rank",
                                      "bulk_commit",
                                      "bulk_wait",
                                      "bulk_wait_read",
                                      "prefetch_tensor_map",
                                      "wgmma_fence",
                                      "wgmma_commit",
                                      "wgmma_wait_f32",
                                      "wgmma_wait_s32",
                                      "setmaxnreg_inc",
                                      "setmaxnreg_dec",
                                      "print",
                                      "assert_fail"};
  return llvm::is_contained(names, name) || name.starts_with("hint_");
}

Family describe(const TargetOpInfo &op) {
  using enum Role;
  StringRef name = op.name;
  constexpr unsigned box_bytes = 16 * 1024;
  if (name.starts_with("ldmatrix") || name.starts_with("stmatrix"))
    return {.image_bytes = 1024, .roles = {shared}};
  if (name == "cp_async_mbarrier_arrive")
    return {.image_bytes = 128,
            .memory_bytes = 128,
            .protocol = Protocol::cp_async_barrier,
            .roles = {barrier}};
  if (name.starts_with("cp_async"))
    return {.image_bytes = 512,
            .memory_bytes = 512,
            .protocol = Protocol::cp_async,
            .roles = {shared, memory}};
  if (name == "mbarrier_test")
    return {.image_bytes = 16,
            .first_thread = true,
            .protocol = Protocol::count_arrivals,
            .roles = {barrier}};
  if (name == "mbarrier_expect_tx")
    return {.image_bytes = 512,
            .memory_bytes = 512,
            .first_thread = true,
            .protocol = Protocol::expect,
            .roles = {barrier}};
  if (name == "mbarrier_arrive_cluster")
    return {.blocks = 2, .protocol = Protocol::arrive_elsewhere, .roles = {barrier}};
  if (name.starts_with("load_cluster") || name == "store_cluster")
    return {.blocks = 2, .image_bytes = 512, .protocol = Protocol::cluster, .roles = {other_block}};
  if (name == "store_async_cluster")
    return {.blocks = 2,
            .image_bytes = 512,
            .protocol = Protocol::store_elsewhere,
            .roles = {other_block, value, barrier}};
  if (name.starts_with("cluster_"))
    return {.blocks = 2};
  if (name == "bulk_load")
    return {.image_bytes = 4096,
            .memory_bytes = 4096,
            .first_thread = true,
            .protocol = Protocol::load,
            .roles = {shared, memory, value, barrier}};
  if (name == "bulk_store")
    return {.image_bytes = 4096,
            .memory_bytes = 4096,
            .first_thread = true,
            .memory_is_out = true,
            .protocol = Protocol::store,
            .roles = {memory, shared}};
  if (name.starts_with("tma_load")) {
    bool multicast = name.starts_with("tma_load_multicast");
    bool hinted = name.starts_with("tma_load_hinted");
    std::vector<Role> roles(op.operands.size(), value);
    roles[0] = shared, roles[1] = map;
    roles[roles.size() - (multicast || hinted ? 2 : 1)] = barrier;
    return {.blocks = multicast ? 2u : 1u,
            .image_bytes = box_bytes,
            .first_thread = true,
            .protocol = Protocol::load,
            .roles = roles};
  }
  if (name.starts_with("tma_")) {
    std::vector<Role> roles(op.operands.size(), value);
    roles.front() = map, roles.back() = shared;
    return {.image_bytes = box_bytes,
            .first_thread = true,
            .protocol = Protocol::store,
            .roles = roles};
  }
  if (name.starts_with("wgmma")) // A: 64 rows, B: up to 256, of 128 bytes
    return {.threads = 128,
            .image_bytes = (64 + 256) * 128,
            .protocol = Protocol::wgmma,
            .roles = {constant, name.ends_with("_ra") ? value : descriptor, descriptor}};
  if (name.starts_with("red_add"))
    return {.memory_bytes = 256, .memory_is_out = true, .roles = {memory}};
  return {};
}

unsigned bytes_of(llvm::Type *type) {
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return vector->getNumElements() * bytes_of(vector->getElementType());
  return type->isPointerTy() ? 8 : type->getPrimitiveSizeInBits() / 8;
}

unsigned alignment_of(llvm::Type *type) { return bytes_of(type->getScalarType()); }

unsigned round_up(unsigned value, unsigned to) { return (value + to - 1) / to * to; }

class Writer {
public:
  Writer(llvm::Module &module, OpKernel &kernel, const Family &family)
      : module_(module), kernel_(kernel), family_(family), info_(target_op_info(kernel.op)),
        context_(module.getContext()), builder_(context_),
        acc_elements_(info_.is_overloaded() ? kernel.immediates.at(0) : 0) {}

  void write() {
    lay_out();
    start();
    fill_image();
    set_up_barrier();
    meet();
    execute();
    meet();
    spill_image();
    builder_.CreateRetVoid();
  }

private:
  // ---- layout ----

  void lay_out() {
    unsigned end = 0, alignment = 4;
    auto place = [&](llvm::Type *type) {
      alignment = std::max(alignment, alignment_of(type));
      unsigned at = round_up(end, alignment_of(type));
      end = at + bytes_of(type);
      return at;
    };
    for (TargetType type : info_.operands)
      kernel_.operand_offsets.push_back(place(type.get(context_, acc_elements_)));
    kernel_.result_offset = end;
    if (info_.result.kind != TargetType::none) {
      llvm::Type *type = info_.result.get(context_, acc_elements_);
      kernel_.result_offset = place(type);
      kernel_.result_bytes = bytes_of(type);
    }
    if (kernel_.takes_map || !info_.operands.empty() || kernel_.result_bytes)
      kernel_.record_bytes = round_up(end, alignment);
  }

  void start() {
    llvm::Type *pointer = builder_.getPtrTy(1);
    llvm::SmallVector<llvm::Type *> parameters = {pointer, pointer};
    if (kernel_.takes_map)
      parameters.push_back(builder_.getPtrTy());
    auto *type = llvm::FunctionType::get(builder_.getVoidTy(), parameters, false);
    function_ =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kernel_.name, module_);
    function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function_->addFnAttr("nvvm.maxntid", std::to_string(kernel_.threads));
    function_->addFnAttr("nvvm.minctasm", "1");
    if (kernel_.blocks > 1)
      function_->addFnAttr("nvvm.cluster_dim", std::to_string(kernel_.blocks) + ",1,1");
    if (kernel_.takes_map) {
      llvm::AttrBuilder maps(context_);
      maps.addByValAttr(llvm::ArrayType::get(builder_.getInt8Ty(), max_maps * 128));
      maps.addAlignmentAttr(64);
      maps.addAttribute("nvvm.grid_constant");
      function_->addParamAttrs(2, maps);
    }
    builder_.SetInsertPoint(block("entry"));

    if (kernel_.shared_bytes) {
      image_ = builder_.CreatePtrToInt(shared(), builder_.getInt32Ty());
      barrier_ = builder_.CreateAdd(image_, builder_.getInt32(kernel_.image_bytes));
    }
    thread_ = call(TargetOp::tid_x);
    Value *block = builder_.CreateZExt(call(TargetOp::ctaid_x), builder_.getInt64Ty());
    in_ =
        at(function_->getArg(0), builder_.CreateMul(block, builder_.getInt64(kernel_.in_bytes())));
    out_ =
        at(function_->getArg(1), builder_.CreateMul(block, builder_.getInt64(kernel_.out_bytes())));
    if (kernel_.takes_map)
      map_ = at(function_->getArg(2), builder_.CreateMul(block, builder_.getInt64(128)));
  }

  llvm::GlobalVariable *shared() {
    if (llvm::GlobalVariable *array = module_.getGlobalVariable("tritonc_shared"))
      return array;
    auto *type = llvm::ArrayType::get(builder_.getInt8Ty(), 0);
    auto *array = new llvm::GlobalVariable(
        module_, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage, nullptr,
        "tritonc_shared", nullptr, llvm::GlobalValue::NotThreadLocal, 3);
    array->setAlignment(llvm::Align(1024));
    return array;
  }

  Value *record(Value *thread) {
    return at(in_,
              offset(thread, kernel_.record_bytes, kernel_.image_bytes + kernel_.memory_bytes));
  }
  Value *result(Value *thread) {
    return at(out_,
              offset(thread, kernel_.result_bytes, kernel_.image_bytes + kernel_.memory_bytes));
  }
  Value *offset(Value *index, unsigned stride, unsigned first) {
    Value *bytes = builder_.CreateMul(index, builder_.getInt32(stride));
    return builder_.CreateZExt(builder_.CreateAdd(bytes, builder_.getInt32(first)),
                               builder_.getInt64Ty());
  }
  Value *at(Value *pointer, Value *bytes) { return builder_.CreatePtrAdd(pointer, bytes); }

  // ---- code ----

  llvm::BasicBlock *block(const char *name) {
    return llvm::BasicBlock::Create(context_, name, function_);
  }

  llvm::CallInst *call(TargetOp op, llvm::ArrayRef<Value *> operands = {}) {
    return call_target_op(builder_, op, operands);
  }

  void guarded(Value *condition, const std::function<void()> &body) {
    llvm::BasicBlock *then = block("then"), *after = block("after");
    builder_.CreateCondBr(condition, then, after);
    builder_.SetInsertPoint(then);
    body();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  void by_first_thread(const std::function<void()> &body) {
    guarded(builder_.CreateICmpEQ(thread_, builder_.getInt32(0)), body);
  }

  // for (i = first; i < end; i += step) body(i)
  void loop(Value *first, Value *end, unsigned step, const std::function<void(Value *)> &body) {
    llvm::BasicBlock *before = builder_.GetInsertBlock(), *head = block("head"),
                     *inside = block("inside"), *after = block("after");
    builder_.CreateBr(head);
    builder_.SetInsertPoint(head);
    llvm::PHINode *i = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    i->addIncoming(first, before);
    builder_.CreateCondBr(builder_.CreateICmpULT(i, end), inside, after);
    builder_.SetInsertPoint(inside);
    body(i);
    Value *next = builder_.CreateAdd(i, builder_.getInt32(step));
    i->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateBr(head);
    builder_.SetInsertPoint(after);
  }

  // Loops over the words of the image; the threads share the words.
  void each_word(const std::function<void(Value *shared, Value *offset)> &body) {
    Value *first = builder_.CreateMul(thread_, builder_.getInt32(4));
    loop(first, builder_.getInt32(kernel_.image_bytes), 4 * kernel_.threads, [&](Value *i) {
      Value *shared = builder_.CreateIntToPtr(builder_.CreateAdd(image_, i), builder_.getPtrTy(3));
      body(shared, builder_.CreateZExt(i, builder_.getInt64Ty()));
    });
  }

  void fill_image() {
    if (kernel_.image_bytes == 0)
      return;
    each_word([&](Value *shared, Value *offset) {
      Value *word =
          builder_.CreateAlignedLoad(builder_.getInt32Ty(), at(in_, offset), llvm::Align(4));
      builder_.CreateAlignedStore(word, shared, llvm::Align(4));
    });
    if (is_asynchronous())
      call(TargetOp::fence_proxy_async);
  }

  void spill_image() {
    if (kernel_.image_bytes == 0)
      return;
    each_word([&](Value *shared, Value *offset) {
      Value *word = builder_.CreateAlignedLoad(builder_.getInt32Ty(), shared, llvm::Align(4));
      builder_.CreateAlignedStore(word, at(out_, offset), llvm::Align(4));
    });
  }

  bool is_asynchronous() const {
    return family_.protocol == Protocol::load || family_.protocol == Protocol::expect ||
           family_.protocol == Protocol::store || family_.protocol == Protocol::wgmma ||
           family_.protocol == Protocol::store_elsewhere;
  }

  bool has_barrier() const {
    switch (family_.protocol) {
    case Protocol::cp_async_barrier:
    case Protocol::load:
    case Protocol::expect:
    case Protocol::count_arrivals:
    case Protocol::arrive_elsewhere:
    case Protocol::store_elsewhere:
      return true;
    default:
      return false;
    }
  }

  void set_up_barrier() {
    if (!has_barrier())
      return;
    by_first_thread([&] {
      Value *arrivals = builder_.getInt32(1);
      if (family_.protocol == Protocol::cp_async_barrier ||
          family_.protocol == Protocol::arrive_elsewhere)
        arrivals = builder_.getInt32(kernel_.threads);
      if (family_.protocol == Protocol::count_arrivals) // count: the image's first word
        arrivals = builder_.CreateAlignedLoad(builder_.getInt32Ty(), in_, llvm::Align(4));
      call(TargetOp::mbarrier_init, {barrier_, arrivals});
      if (family_.protocol != Protocol::cp_async_barrier &&
          family_.protocol != Protocol::count_arrivals)
        call(TargetOp::fence_mbarrier_init);
    });
  }

  // A barrier for all threads of the block or cluster.
  void meet() {
    if (kernel_.blocks > 1) {
      call(TargetOp::cluster_arrive);
      call(TargetOp::cluster_wait);
    } else {
      call(TargetOp::barrier);
    }
  }

  // ---- the operation ----

  void execute() {
    switch (family_.protocol) {
    case Protocol::none:
    case Protocol::cluster:
      return operate(thread_);
    case Protocol::cp_async:
      operate(thread_);
      call(TargetOp::cp_async_commit);
      call(TargetOp::cp_async_wait, {builder_.getInt32(0)});
      return;
    case Protocol::cp_async_barrier:
      return copy_and_arrive();
    case Protocol::load:
      return load();
    case Protocol::expect:
      return expect();
    case Protocol::store:
      return by_first_thread([&] {
        operate(builder_.getInt32(0));
        call(TargetOp::bulk_commit);
        call(TargetOp::bulk_wait, {builder_.getInt32(0)});
      });
    case Protocol::wgmma:
      return multiply();
    case Protocol::count_arrivals:
      return by_first_thread([&] { count_arrivals(); });
    case Protocol::arrive_elsewhere:
      return arrive_elsewhere();
    case Protocol::store_elsewhere:
      return store_elsewhere();
    }
  }

  void operate(Value *thread) {
    llvm::CallInst *value = call(kernel_.op, operands(thread));
    if (!value->getType()->isVoidTy())
      store_result(value, thread);
  }

  void store_result(Value *value, Value *thread) {
    builder_.CreateAlignedStore(value, result(thread), llvm::Align(alignment_of(value->getType())));
  }

  llvm::SmallVector<Value *> operands(Value *thread) {
    Value *from = record(thread);
    llvm::SmallVector<Value *> values;
    size_t immediate = 0;
    for (size_t i = 0; i < info_.operands.size(); i++)
      if (role(i) == Role::constant)
        values.push_back(builder_.getInt32(kernel_.immediates.at(immediate++)));
      else
        values.push_back(operand(from, i));
    return values;
  }

  Role role(size_t i) const {
    if (info_.operands[i].kind == TargetType::imm)
      return Role::constant;
    return i < family_.roles.size() ? family_.roles[i] : Role::value;
  }

  // Loads operand i from a record.
  Value *field(Value *from, size_t i, llvm::Type *type) {
    return builder_.CreateAlignedLoad(type, at(from, builder_.getInt64(kernel_.operand_offsets[i])),
                                      llvm::Align(alignment_of(type)));
  }

  Value *operand(Value *from, size_t i) {
    llvm::Type *type = info_.operands[i].get(context_, acc_elements_);
    switch (role(i)) {
    case Role::constant:
    case Role::value:
      return field(from, i, type);
    case Role::shared:
      return builder_.CreateAdd(image_, field(from, i, type));
    case Role::descriptor: {
      // The descriptor's start address: 18 bits, without the low 4.
      Value *start = builder_.CreateLShr(builder_.CreateAnd(image_, builder_.getInt32(0x3ffff)), 4);
      return builder_.CreateAdd(field(from, i, type),
                                builder_.CreateZExt(start, builder_.getInt64Ty()));
    }
    case Role::memory:
      return memory(field(from, i, builder_.getInt64Ty()));
    case Role::map:
      return map_;
    case Role::barrier:
      return barrier_;
    case Role::other_block: {
      Value *place = field(from, i, type);
      Value *address =
          builder_.CreateAdd(image_, builder_.CreateAnd(place, builder_.getInt32(0xffffff)));
      return call(TargetOp::map_shared_rank, {address, builder_.CreateLShr(place, 24)});
    }
    }
    llvm_unreachable("unknown role");
  }

  Value *memory(Value *offset) {
    return at(family_.memory_is_out ? out_ : in_,
              builder_.CreateAdd(offset, builder_.getInt64(kernel_.image_bytes)));
  }

  // Each block waits for its bytes. In a cluster, the first block issues the copy.
  void load() {
    size_t barrier = size_t(llvm::find(family_.roles, Role::barrier) - family_.roles.begin());
    Value *bytes = field(record(builder_.getInt32(0)), barrier, builder_.getInt32Ty());
    by_first_thread([&] {
      call(TargetOp::mbarrier_arrive_expect_tx, {barrier_, bytes});
      Value *is_first = builder_.getTrue();
      if (kernel_.blocks > 1)
        is_first = builder_.CreateICmpEQ(call(TargetOp::cluster_ctarank), builder_.getInt32(0));
      guarded(is_first, [&] { operate(builder_.getInt32(0)); });
    });
    wait();
  }

  // A bulk copy from the beginning of memory to the beginning of the image delivers the bytes.
  void expect() {
    by_first_thread([&] {
      operate(builder_.getInt32(0));
      Value *bytes = field(record(builder_.getInt32(0)), 1, builder_.getInt32Ty());
      call(TargetOp::bulk_load, {image_, memory(builder_.getInt64(0)), bytes, barrier_});
      call(TargetOp::mbarrier_arrive, {barrier_});
    });
    wait();
  }

  void wait() { call(TargetOp::mbarrier_wait, {barrier_, builder_.getInt32(0)}); }

  void copy_and_arrive() {
    Value *offset = builder_.CreateMul(thread_, builder_.getInt32(4));
    call(TargetOp::cp_async_4,
         {builder_.CreateAdd(image_, offset),
          memory(builder_.CreateZExt(offset, builder_.getInt64Ty())), builder_.getInt32(4)});
    operate(thread_);
    wait();
  }

  void multiply() {
    llvm::SmallVector<Value *> values = operands(thread_);
    call(TargetOp::wgmma_fence); // after the loads, because they write the registers
    llvm::CallInst *value = call(kernel_.op, values);
    call(TargetOp::wgmma_commit);
    bool is_float = info_.result.kind == TargetType::f32;
    store_result(call(is_float ? TargetOp::wgmma_wait_f32 : TargetOp::wgmma_wait_s32,
                      {builder_.getInt32(acc_elements_), builder_.getInt32(0), value}),
                 thread_);
  }

  // Iteration i: the number of arrivals in record i (field of the mbarrier), then the test.
  void count_arrivals() {
    loop(builder_.getInt32(0), builder_.getInt32(kernel_.threads), 1, [&](Value *i) {
      Value *arrivals = field(record(i), 0, builder_.getInt32Ty());
      loop(builder_.getInt32(0), arrivals, 1,
           [&](Value *) { call(TargetOp::mbarrier_arrive, {barrier_}); });
      operate(i);
    });
  }

  Value *barrier_of_next_block() {
    Value *rank = call(TargetOp::cluster_ctarank);
    Value *next = builder_.CreateXor(rank, builder_.getInt32(1));
    return call(TargetOp::map_shared_rank, {barrier_, next});
  }

  void arrive_elsewhere() {
    call(kernel_.op, {barrier_of_next_block()});
    wait();
  }

  void store_elsewhere() {
    by_first_thread([&] {
      call(TargetOp::mbarrier_arrive_expect_tx, {barrier_, builder_.getInt32(4 * kernel_.threads)});
    });
    llvm::SmallVector<Value *> values = operands(thread_);
    values.back() = barrier_of_next_block();
    call(kernel_.op, values);
    wait();
  }

  llvm::Module &module_;
  OpKernel &kernel_;
  const Family &family_;
  const TargetOpInfo &info_;
  llvm::LLVMContext &context_;
  llvm::IRBuilder<> builder_;
  unsigned acc_elements_;

  llvm::Function *function_ = nullptr;
  Value *thread_ = nullptr, *in_ = nullptr, *out_ = nullptr; // this block's
  Value *map_ = nullptr;                                     // this block's
  Value *image_ = nullptr, *barrier_ = nullptr;              // addresses in shared memory
};

} // namespace

bool has_op_kernel(TargetOp op) { return !stands_in_others(target_op_info(op).name); }

OpKernel add_op_kernel(llvm::Module &module, TargetOp op, std::vector<unsigned> immediates) {
  assert(has_op_kernel(op) && "the operation has a kernel");
  const TargetOpInfo &info = target_op_info(op);
  Family family = describe(info);
  OpKernel kernel;
  kernel.op = op;
  kernel.name = info.name.str();
  for (unsigned immediate : immediates)
    kernel.name += "_" + std::to_string(immediate);
  kernel.immediates = std::move(immediates);
  kernel.threads = family.threads;
  kernel.blocks = family.blocks;
  kernel.image_bytes = family.image_bytes;
  kernel.memory_bytes = family.memory_bytes;
  kernel.takes_map = llvm::is_contained(family.roles, Role::map);
  bool has_shared = family.image_bytes || llvm::is_contained(family.roles, Role::barrier);
  kernel.shared_bytes = has_shared ? round_up(family.image_bytes, 8) + 8 : 0;
  Writer(module, kernel, family).write();
  return kernel;
}

std::vector<std::vector<unsigned>> immediates_to_try(TargetOp op) {
  const TargetOpInfo &info = target_op_info(op);
  size_t count = size_t(
      llvm::count_if(info.operands, [](TargetType type) { return type.kind == TargetType::imm; }));
  if (!info.is_overloaded())
    return {std::vector<unsigned>(count, 0)};
  std::vector<std::vector<unsigned>> all;
  for (unsigned registers : {4u, 32u, 128u})
    for (unsigned transposed = 0; transposed < 1u << (count - 1); transposed++) {
      std::vector<unsigned> values = {registers};
      for (size_t i = 1; i < count; i++)
        values.push_back(transposed >> (i - 1) & 1);
      all.push_back(values);
    }
  return all;
}

} // namespace tritonc::test
