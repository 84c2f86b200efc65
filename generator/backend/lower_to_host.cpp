// lower_to_host: translates a kernel with target operations to a function for this machine's CPU.
//
//     define ptx_kernel void @k(ptr addrspace(1) %x) {
//       %t = call i32 @tritonc.tid_x()
//       %p = getelementptr float, ptr addrspace(1) %x, i32 %t
//       %v = load float, ptr addrspace(1) %p
//  =>
//     define internal void @k(ptr %operations, ptr %thread, ptr %arguments) {
//       %records = alloca [4 x i8]
//       %a = load ptr, ptr %arguments
//       %x = load ptr addrspace(1), ptr %a
//       %f = load ptr, ptr %operations                ; "tid_x below(1024)()"
//       call void %f(ptr %thread, ptr %records, i32 1, ptr @sites)
//       %t = load i32, ptr %records
//       %p = getelementptr float, ptr addrspace(1) %x, i32 %t
//       %g = load ptr, ptr (%operations + 8)          ; "load_global"
//       call void %g(ptr %thread, ptr %p, i32 4 | 4 << 16, ptr (@sites + 16))
//       %v = load float, ptr addrspace(1) %p
//
// Method. The code stays the GPU's code, so that a host run tests the GPU's code. The differences:
// - The function loads its arguments through pointers from the caller.
// - A table call replaces every operation of target_ops.def. Operands and result are in a record
//   (descriptor.hpp, host_operation). All records share one stack buffer. Adjacent calls of one
//   operation (cluster_target_ops) become one call with several records.
// - A hook call comes before each memory access. A masked access is first put into a branch.
// - The thread gives the base of shared memory. Addresses there are 32-bit integers, as on the GPU;
//   zero-extended to 64 bits they are addresses of this machine.
// - The thread gives the base of constant memory. It does not change while the kernel runs, so its
//   loads have no hook.
// - Each loop iteration counts as a step. The thread stops when no steps are left.
// - host_arithmetic expands arithmetic that the host lacks, or that would trap.
//
// Needs: one function definition; find_foreign_call returns "".
// Ensures: the module refers to no external function except <math.h>. Its text depends only on the
// kernel.
// Limits: the pass drops pointer assumptions (noalias, readonly), so that no access moves before
// its hook.
// Tested by tests/unit/backend/lower_to_host_test.cpp.

#include "backend/lower_to_host.h"

#include "backend/cluster_target_ops.h"
#include "backend/host_arithmetic.h"
#include "backend/target_ops.h"

#include <tritonc/descriptor.hpp>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/Utils/Local.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Scalar/ScalarizeMaskedMemIntrin.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LowerMemIntrinsics.h"

#include <cassert>
#include <cstddef>
#include <map>
#include <tuple>

namespace tritonc {
namespace {

constexpr unsigned global_space = 1, shared_space = 3, constant_space = 4;
constexpr uint64_t max_record_bytes = 4096; // per call: fiber stacks are small

// The offsets in a record: a C struct of the operands, then the result.
struct RecordLayout {
  llvm::SmallVector<uint64_t> offsets;
  uint64_t stride = 0, alignment = 4;

  RecordLayout(const llvm::FunctionType &signature, const llvm::DataLayout &layout) {
    for (llvm::Type *operand : signature.params())
      add(*operand, layout);
    if (!signature.getReturnType()->isVoidTy())
      add(*signature.getReturnType(), layout);
    stride = llvm::alignTo(stride, alignment);
  }

private:
  void add(llvm::Type &type, const llvm::DataLayout &layout) {
    uint64_t size = layout.getTypeStoreSize(type.getScalarType());
    auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
    offsets.push_back(llvm::alignTo(stride, size));
    stride = offsets.back() + size * (vector ? vector->getNumElements() : 1);
    alignment = std::max(alignment, size);
  }
};

class HostLowering {
public:
  HostLowering(const llvm::Module &module, const llvm::DataLayout &layout,
               const llvm::Triple &triple)
      : module_(llvm::CloneModule(module)), context_(module_->getContext()), layout_(layout),
        triple_(triple), pointer_(llvm::PointerType::get(context_, 0)),
        word_(llvm::Type::getInt32Ty(context_)) {}

  HostFunction run() {
    // These steps need the GPU's data layout, for address arithmetic.
    make_entry(*find_kernel());
    remove_hints();
    expand_masked_accesses();
    expand_memory_intrinsics();
    place_shared_memory();
    place_constant_memory();
    address_shared_memory_by_words();
    cluster_target_ops(*entry_);
    // From here on the module has the host's data layout.
    module_->setDataLayout(layout_);
    module_->setTargetTriple(triple_);
    expand_host_arithmetic(*entry_);
    call_hooks();
    call_operations();
    count_steps();
    finish_sites();
    clean_up();
    return {.module = std::move(module_),
            .entry = entry_,
            .sites = site_table_,
            .site_count = unsigned(sites_.size()),
            .constants = constants_,
            .parameter_bytes = std::move(parameter_bytes_),
            .operations = std::move(operations_)};
  }

private:
  llvm::Function *find_kernel() {
    llvm::Function *kernel = nullptr;
    for (llvm::Function &function : *module_)
      if (!function.isDeclaration()) {
        assert(!kernel && "a module has one kernel");
        kernel = &function;
      }
    return kernel;
  }

  // ---- leftovers of the optimizer ----

  void remove_hints() {
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(*entry_))) {
      if (auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        if (intrinsic->isAssumeLikeIntrinsic()) {
          if (intrinsic->use_empty())
            intrinsic->eraseFromParent();
          continue;
        }
      // With this metadata LLVM could move an access before its hook.
      instruction.dropUnknownNonDebugMetadata();
    }
  }

  // A masked access becomes an access in a branch, which gets a hook.
  void expand_masked_accesses() {
    llvm::FunctionAnalysisManager functions;
    llvm::PassBuilder().registerFunctionAnalyses(functions);
    llvm::ScalarizeMaskedMemIntrinPass().run(*entry_, functions);
  }

  // memset becomes a loop of stores, which get hooks.
  void expand_memory_intrinsics() {
    llvm::SmallVector<llvm::MemSetInst *> sets;
    for (llvm::Instruction &instruction : llvm::instructions(*entry_))
      if (auto *set = llvm::dyn_cast<llvm::MemSetInst>(&instruction))
        sets.push_back(set);
    for (llvm::MemSetInst *set : sets) {
      llvm::expandMemSetAsLoop(set);
      set->eraseFromParent();
    }
  }

  // All variables in shared memory are the block's dynamic shared memory and have one base address.
  void place_shared_memory() {
    llvm::Value *base = nullptr;
    for (llvm::GlobalVariable &global : llvm::make_early_inc_range(module_->globals())) {
      if (global.getAddressSpace() != shared_space)
        continue;
      llvm::convertUsersOfConstantsToInstructions({&global});
      if (!base) {
        llvm::IRBuilder<> builder(entry_->getEntryBlock().getTerminator());
        llvm::Value *word = builder.CreateLoad(
            word_, thread_member(builder, offsetof(abi::host_thread, shared_base)));
        base = builder.CreateIntToPtr(word, global.getType(), "shared");
      }
      global.replaceAllUsesWith(base);
      global.eraseFromParent();
    }
  }

  // The thread gives the base of constant memory. Its initial value becomes a constant of the host.
  void place_constant_memory() {
    for (llvm::GlobalVariable &global : llvm::make_early_inc_range(module_->globals())) {
      if (global.getAddressSpace() != constant_space)
        continue;
      constants_ =
          new llvm::GlobalVariable(*module_, global.getValueType(), /*isConstant=*/true,
                                   llvm::GlobalValue::PrivateLinkage, global.getInitializer());
      constants_->setAlignment(global.getAlign());
      llvm::convertUsersOfConstantsToInstructions({&global});
      if (!global.use_empty()) {
        llvm::IRBuilder<> builder(entry_->getEntryBlock().getTerminator());
        llvm::Value *block = builder.CreateLoad(
            pointer_, thread_member(builder, offsetof(abi::host_thread, constants)));
        global.replaceAllUsesWith(
            builder.CreateAddrSpaceCast(block, global.getType(), "constants"));
      }
      global.eraseFromParent();
    }
  }

  // %q = getelementptr T, ptr addrspace(3) %p, ...  =>  32-bit integer arithmetic, which wraps.
  void address_shared_memory_by_words() {
    const llvm::DataLayout &layout = module_->getDataLayout();
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(*entry_))) {
      auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      if (!address || address->getAddressSpace() != shared_space)
        continue;
      llvm::IRBuilder<> builder(address);
      llvm::Value *base = builder.CreatePtrToInt(address->getPointerOperand(), word_);
      llvm::Value *offset = llvm::emitGEPOffset(&builder, layout, address);
      llvm::Value *sum =
          builder.CreateIntToPtr(builder.CreateAdd(base, offset), address->getType());
      address->replaceAllUsesWith(sum);
      address->eraseFromParent();
    }
  }

  // ---- the function ----

  void make_entry(llvm::Function &kernel) {
    auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_),
                                         {pointer_, pointer_, pointer_}, /*isVarArg=*/false);
    entry_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "", *module_);
    entry_->takeName(&kernel);
    entry_->setDSOLocal(true);
    entry_->addFnAttr(llvm::Attribute::NoUnwind);
    table_ = entry_->getArg(0);
    thread_ = entry_->getArg(1);
    llvm::Argument *arguments = entry_->getArg(2);
    table_->setName("operations");
    thread_->setName("thread");
    arguments->setName("arguments");

    auto *start = llvm::BasicBlock::Create(context_, "start", entry_);
    llvm::IRBuilder<> builder(start);
    for (llvm::Argument &parameter : kernel.args()) {
      llvm::Value *value = builder.CreateLoad(
          pointer_, builder.CreateConstInBoundsGEP1_32(pointer_, arguments, parameter.getArgNo()));
      llvm::Type *type = parameter.getParamByValType(); // byval: a pointer to a copy
      parameter_bytes_.push_back(
          uint32_t(layout_.getTypeAllocSize(type ? type : parameter.getType())));
      if (!type)
        value = builder.CreateLoad(parameter.getType(), value);
      parameter.replaceAllUsesWith(value);
      value->takeName(&parameter);
    }
    llvm::BasicBlock *first = &kernel.getEntryBlock();
    entry_->splice(entry_->end(), &kernel);
    builder.CreateBr(first);
    kernel.eraseFromParent();
  }

  llvm::Value *thread_member(llvm::IRBuilder<> &builder, size_t offset) {
    return builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), thread_, unsigned(offset));
  }

  // ---- calls ----

  llvm::Value *operation(llvm::IRBuilder<> &builder, llvm::StringRef name) {
    auto [place, is_new] = operation_places_.try_emplace(name.str(), unsigned(operations_.size()));
    if (is_new)
      operations_.push_back(name.str());
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_32(pointer_, table_, place->second);
    return builder.CreateLoad(pointer_, slot);
  }

  void call(llvm::IRBuilder<> &builder, llvm::StringRef name, llvm::Value *records, uint64_t count,
            const llvm::DebugLoc &location) {
    auto *type = llvm::FunctionType::get(builder.getVoidTy(), {pointer_, pointer_, word_, pointer_},
                                         /*isVarArg=*/false);
    llvm::Value *callee = operation(builder, name);
    llvm::CallInst *made = builder.CreateCall(
        type, callee, {thread_, records, builder.getInt32(uint32_t(count)), site(location)});
    made->setDoesNotThrow();
  }

  // The address of an entry of the site table. finish_sites replaces the placeholder by the table.
  llvm::Constant *site(const llvm::DebugLoc &location) {
    Site key = {"", 0, 0};
    if (location && location.getLine())
      key = {location->getFilename().str(), location.getLine(), location.getCol()};
    auto [place, is_new] = site_places_.try_emplace(key, unsigned(sites_.size()));
    if (is_new)
      sites_.push_back(key);
    if (!placeholder_)
      placeholder_ = new llvm::GlobalVariable(*module_, llvm::Type::getInt8Ty(context_), true,
                                              llvm::GlobalValue::ExternalLinkage, nullptr, "");
    return llvm::ConstantExpr::getGetElementPtr(
        llvm::Type::getInt8Ty(context_), placeholder_,
        llvm::ConstantInt::get(word_, place->second * sizeof(abi::host_site)));
  }

  // ---- hooks ----

  void call_hooks() {
    llvm::SmallVector<llvm::Instruction *> accesses;
    for (llvm::Instruction &instruction : llvm::instructions(*entry_))
      if (instruction.getParent() != &entry_->getEntryBlock() &&
          (llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(
              instruction)))
        accesses.push_back(&instruction);
    for (llvm::Instruction *access : accesses)
      call_hook(*access);
  }

  void call_hook(llvm::Instruction &access) {
    llvm::Value *address;
    llvm::Type *type;
    llvm::Align alignment;
    std::string name;
    if (auto *atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&access)) {
      name = "atomic";
      address = atomic->getPointerOperand();
      type = atomic->getType();
      alignment = atomic->getAlign();
    } else if (auto *exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access)) {
      name = "atomic";
      address = exchange->getPointerOperand();
      type = exchange->getNewValOperand()->getType();
      alignment = exchange->getAlign();
    } else {
      name = llvm::isa<llvm::LoadInst>(access) ? "load" : "store";
      if (access.isAtomic())
        name = "atomic";
      address = llvm::getLoadStorePointerOperand(&access);
      type = llvm::getLoadStoreType(&access);
      alignment = llvm::getLoadStoreAlignment(&access);
    }
    switch (address->getType()->getPointerAddressSpace()) {
    case global_space:
      name += "_global";
      break;
    case shared_space:
      name += "_shared";
      break;
    case 0:
      if (llvm::isa<llvm::GlobalVariable, llvm::AllocaInst>(llvm::getUnderlyingObject(address)))
        return; // the kernel's own variable
      name += "_generic";
      break;
    default:
      return; // constant memory
    }
    llvm::IRBuilder<> builder(&access);
    uint64_t bytes = layout_.getTypeStoreSize(type);
    call(builder, name, builder.CreateAddrSpaceCast(address, pointer_),
         bytes | alignment.value() << 16, access.getDebugLoc());
  }

  // ---- operations ----

  void call_operations() {
    using Calls = llvm::SmallVector<llvm::CallInst *>;
    std::vector<Calls> runs;
    for (llvm::BasicBlock &block : *entry_) {
      Calls run;
      auto end_run = [&] {
        if (!run.empty())
          runs.push_back(std::move(run));
        run.clear();
      };
      for (llvm::Instruction &instruction : block) {
        auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        bool is_operation = call && call->getCalledFunction() &&
                            target_op_named(call->getCalledFunction()->getName());
        if (!is_operation) {
          end_run();
          continue;
        }
        if (!run.empty() && !continues(run, *call))
          end_run();
        run.push_back(call);
      }
      end_run();
    }
    for (const Calls &run : runs)
      replace(run);
  }

  bool continues(llvm::ArrayRef<llvm::CallInst *> run, const llvm::CallInst &next) const {
    if (next.getCalledFunction() != run[0]->getCalledFunction() || !can_be_grouped(next))
      return false;
    RecordLayout record(*next.getFunctionType(), layout_);
    if ((run.size() + 1) * record.stride > max_record_bytes)
      return false;
    return llvm::none_of(next.args(), [&](const llvm::Use &operand) {
      return llvm::is_contained(run, operand.get());
    });
  }

  void replace(llvm::ArrayRef<llvm::CallInst *> run) {
    RecordLayout record(*run[0]->getFunctionType(), layout_);
    llvm::Value *buffer = record_buffer(record.stride * run.size());
    auto member = [&](llvm::IRBuilder<> &builder, size_t i, size_t k) {
      return builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), buffer,
                                                unsigned(i * record.stride + record.offsets[k]));
    };
    auto alignment = [&](llvm::Type *type) {
      return llvm::Align(layout_.getTypeStoreSize(type->getScalarType()));
    };

    // No instruction uses a result before the last call, because the calls are adjacent.
    llvm::IRBuilder<> builder(run.back()->getNextNode());
    for (size_t i = 0; i < run.size(); i++)
      for (auto [k, operand] : llvm::enumerate(run[i]->args()))
        builder.CreateAlignedStore(operand, member(builder, i, k), alignment(operand->getType()));
    TargetOp op = *target_op_named(run[0]->getCalledFunction()->getName());
    call(builder, target_op_signature(op), buffer, run.size(), run[0]->getDebugLoc());
    for (size_t i = 0; i < run.size(); i++) {
      if (!run[i]->getType()->isVoidTy()) {
        llvm::Value *result =
            builder.CreateAlignedLoad(run[i]->getType(), member(builder, i, run[i]->arg_size()),
                                      alignment(run[i]->getType()));
        result->takeName(run[i]);
        run[i]->replaceAllUsesWith(result);
      }
      run[i]->eraseFromParent();
    }
  }

  // One buffer for all calls, with the size of the largest.
  llvm::Value *record_buffer(uint64_t bytes) {
    bytes = std::max<uint64_t>(bytes, 4);
    llvm::Type *byte = llvm::Type::getInt8Ty(context_);
    if (!records_) {
      llvm::BasicBlock &start = entry_->getEntryBlock();
      llvm::IRBuilder<> builder(&start, start.begin());
      records_ = builder.CreateAlloca(llvm::ArrayType::get(byte, bytes), nullptr, "records");
      records_->setAlignment(llvm::Align(16));
    } else if (bytes >
               llvm::cast<llvm::ArrayType>(records_->getAllocatedType())->getNumElements()) {
      records_->setAllocatedType(llvm::ArrayType::get(byte, bytes));
    }
    return records_;
  }

  // ---- steps ----

  // Before each back edge: decrements the step count, and stops the thread below zero.
  void count_steps() {
    llvm::SmallVector<std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>> edges;
    llvm::FindFunctionBackedges(*entry_, edges);
    llvm::SmallVector<llvm::BasicBlock *> latches; // without duplicates
    for (auto [from, to] : edges)
      if (!llvm::is_contained(latches, from))
        latches.push_back(const_cast<llvm::BasicBlock *>(from));
    for (llvm::BasicBlock *latch : latches) {
      llvm::Instruction *jump = latch->getTerminator();
      llvm::IRBuilder<> builder(jump);
      llvm::Value *place = thread_member(builder, offsetof(abi::host_thread, steps_left));
      llvm::Value *left =
          builder.CreateSub(builder.CreateLoad(builder.getInt64Ty(), place), builder.getInt64(1));
      builder.CreateStore(left, place);
      llvm::Instruction *stop = llvm::SplitBlockAndInsertIfThen(
          builder.CreateICmpSLT(left, builder.getInt64(0)), jump->getIterator(),
          /*Unreachable=*/false, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
      builder.SetInsertPoint(stop);
      call(builder, "out_of_steps", llvm::ConstantPointerNull::get(pointer_), 0,
           jump->getDebugLoc());
    }
  }

  // ---- sites ----

  llvm::Constant *string(llvm::StringRef text) {
    llvm::Constant *&made = strings_[text.str()];
    if (!made) {
      llvm::Constant *bytes = llvm::ConstantDataArray::getString(context_, text);
      auto *global = new llvm::GlobalVariable(*module_, bytes->getType(), true,
                                              llvm::GlobalValue::PrivateLinkage, bytes, "file");
      global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
      global->setAlignment(llvm::Align(1));
      made = global;
    }
    return made;
  }

  void finish_sites() {
    auto *type = llvm::StructType::get(pointer_, word_, word_);
    assert(layout_.getTypeAllocSize(type) == sizeof(abi::host_site) && "as descriptor.hpp says");
    llvm::SmallVector<llvm::Constant *> rows;
    for (const auto &[file, line, column] : sites_)
      rows.push_back(llvm::ConstantStruct::get(type, string(file),
                                               llvm::ConstantInt::get(word_, line),
                                               llvm::ConstantInt::get(word_, column)));
    auto *array = llvm::ArrayType::get(type, rows.size());
    site_table_ = new llvm::GlobalVariable(*module_, array, true, llvm::GlobalValue::PrivateLinkage,
                                           llvm::ConstantArray::get(array, rows), "sites");
    if (!placeholder_)
      return;
    placeholder_->replaceAllUsesWith(site_table_);
    placeholder_->eraseFromParent();
  }

  // ---- the end ----

  void clean_up() {
    for (llvm::Function &function : llvm::make_early_inc_range(*module_))
      if (function.isDeclaration() && function.use_empty())
        function.eraseFromParent();
    for (llvm::Instruction &instruction : llvm::instructions(*entry_))
      instruction.setDebugLoc(llvm::DebugLoc()); // they belong to the kernel's old function
    llvm::StripDebugInfo(*module_);
  }

  using Site = std::tuple<std::string, unsigned, unsigned>; // file, line, column

  std::unique_ptr<llvm::Module> module_;
  llvm::LLVMContext &context_;
  const llvm::DataLayout &layout_;
  const llvm::Triple &triple_;
  llvm::PointerType *pointer_;
  llvm::IntegerType *word_;
  llvm::Function *entry_ = nullptr;
  llvm::Argument *table_ = nullptr, *thread_ = nullptr;
  llvm::AllocaInst *records_ = nullptr;
  std::vector<uint32_t> parameter_bytes_;
  std::vector<std::string> operations_;
  std::map<std::string, unsigned> operation_places_;
  std::vector<Site> sites_;
  std::map<Site, unsigned> site_places_;
  std::map<std::string, llvm::Constant *> strings_;
  llvm::GlobalVariable *placeholder_ = nullptr, *site_table_ = nullptr, *constants_ = nullptr;
};

// Whether the pass replaces the access by loads or stores.
bool is_expanded(const llvm::IntrinsicInst &access) {
  const llvm::Intrinsic::ID id = access.getIntrinsicID();
  return llvm::isa<llvm::MemSetInst>(access) || id == llvm::Intrinsic::masked_load ||
         id == llvm::Intrinsic::masked_store;
}

} // namespace

std::string find_foreign_call(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    for (const llvm::Instruction &instruction : llvm::instructions(function)) {
      const auto *call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call)
        continue;
      const llvm::Function *callee = call->getCalledFunction();
      if (!callee)
        return "a call of no function";
      const auto *intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
      bool is_known =
          target_op_named(callee->getName()) ||
          (intrinsic && (!intrinsic->mayReadOrWriteMemory() || is_expanded(*intrinsic) ||
                         intrinsic->isAssumeLikeIntrinsic()));
      if (!is_known)
        return "a call of `" + callee->getName().str() + "`";
    }
  return "";
}

HostFunction lower_to_host(const llvm::Module &module, const llvm::DataLayout &layout,
                           const llvm::Triple &triple) {
  return HostLowering(module, layout, triple).run();
}

} // namespace tritonc
