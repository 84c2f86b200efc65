// predicate_accesses: masked loads and stores of global memory get a predicate.
//
//     %m = insertelement <1 x i1> poison, i1 %on, i64 0
//     %v = call <1 x half> @llvm.masked.load.v1f16.p1(ptr addrspace(1) %a, <1 x i1> %m,
//                                                     <1 x half> zeroinitializer)
//  =>
//     %w = call i16 asm sideeffect "@$2 ld.global.b16 $0, [$1];",
//          "=h,l,b,0,~{memory}"(ptr addrspace(1) %a, i1 %on, i16 0)
//     %v = ... the half in the word, as a vector
//
// Why. Without this pass, code generation makes a branch around each access. What only the access
// needs, and what only needs the loaded value, is then in the branch too. So a thread with many
// loads waits for each of them, and its exponentials and divisions wait for each other. Accesses
// with a predicate need no branch, and ptxas can change their order.
//
// Needs:   lower_target_ops, which does the same for accesses with a cache hint.
// Ensures: no llvm.masked.load or llvm.masked.store of global memory is left whose elements have one
//          mask in common.
// Tested by tests/unit/backend/predicate_accesses_test.cpp.

#include "backend/predicate_accesses.h"

#include "backend/global_access.h"
#include "backend/masked_access.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"

namespace tritonc {

void predicate_accesses(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      std::optional<MaskedAccess> masked = masked_access(instruction);
      if (!masked)
        continue;
      llvm::IRBuilder<> builder(&instruction);
      if (masked->stored)
        store_global(builder, masked->stored, masked->address, {.on = masked->on});
      else
        instruction.replaceAllUsesWith(load_global(builder, instruction.getType(), masked->address,
                                                   {.on = masked->on}, masked->masked_off));
      instruction.eraseFromParent();
    }
}

} // namespace tritonc
