// Tests op_kernels.cpp: the kernels are valid, and ptxas assembles them for sm_90a, which has all
// operations. op_models_test tests their results on a GPU.

#include "op_kernels.h"

#include "backend/lower_to_host.h"
#include "backend/ptx.h"
#include "backend/ptxas.h"

#include "llvm/IR/Verifier.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace tritonc;
using namespace tritonc::test;

namespace {

struct Prepared {
  llvm::LLVMContext context;
  llvm::Module module{"ops", context};
  Prepared() { prepare_module(module); }
};

OpKernel kernel_of(TargetOp op, std::vector<unsigned> immediates = {}) {
  Prepared prepared;
  OpKernel kernel = add_op_kernel(prepared.module, op, std::move(immediates));
  CHECK_FALSE(llvm::verifyModule(prepared.module));
  return kernel;
}

} // namespace

TEST_CASE("op_kernels: ptxas assembles each kernel without spills") {
  Result<Toolchain> tools = find_toolchain({});
  REQUIRE(tools);
  const Gpu &gpu = *find_gpu("90a");
  Prepared all;
  std::vector<OpKernel> kernels;
  for (const TargetOpInfo &op : all_target_ops())
    if (has_op_kernel(op.op))
      for (const std::vector<unsigned> &immediates : immediates_to_try(op.op))
        kernels.push_back(add_op_kernel(all.module, op.op, immediates));
  Result<std::string> ptx = emit_ptx(all.module, gpu);
  REQUIRE_MESSAGE(ptx, text(ptx.error()));
  Result<Cubin> cubin = assemble(*tools, *ptx, kernels[0].name, gpu);
  REQUIRE_MESSAGE(cubin, text(cubin.error()));
  CHECK(cubin->resources.advice.empty());
  std::set<std::string> names;
  for (const OpKernel &kernel : kernels) {
    CAPTURE(kernel.name);
    CHECK(check_cubin(cubin->bytes, kernel.name).empty());
    CHECK(names.insert(kernel.name).second);
    CHECK(kernel.shared_bytes <= 48 * 1024); // needs no raised limit
    CHECK(kernel.in_bytes() % 16 == 0);      // keeps the next block's memory aligned
    CHECK(kernel.out_bytes() % 16 == 0);
  }
}

TEST_CASE("op_kernels: host code calls the operation once") {
  llvm::DataLayout layout("e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-"
                          "n8:16:32:64-S128");
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  for (const TargetOpInfo &op : all_target_ops()) {
    if (!has_op_kernel(op.op))
      continue;
    CAPTURE(op.name.str());
    Prepared prepared;
    add_op_kernel(prepared.module, op.op, immediates_to_try(op.op)[0]);
    auto optimized = optimize(prepared.module, *find_gpu("90a"));
    REQUIRE_MESSAGE(optimized, text(optimized.error()));
    HostFunction host = lower_to_host(prepared.module, layout, triple);
    CHECK_FALSE(llvm::verifyModule(*host.module));
    CHECK(std::count(host.operations.begin(), host.operations.end(), op.signature.str()) == 1);
  }
}

TEST_CASE("op_kernels: sm_80 operations' kernels need no sm_90 operation") {
  const Gpu &gpu = *find_gpu("80");
  for (const TargetOpInfo &op : all_target_ops()) {
    if (!has_op_kernel(op.op) || !has_target_op(gpu, op.op))
      continue;
    CAPTURE(op.name.str());
    Prepared prepared;
    add_op_kernel(prepared.module, op.op, immediates_to_try(op.op)[0]);
    bool waits = op.op == TargetOp::cp_async_mbarrier_arrive; // sm_80 has no mbarrier_wait
    CHECK((find_missing_target_op(prepared.module, gpu) != nullptr) == waits);
  }
}

TEST_CASE("op_kernels: record has C layout, operands then result") {
  OpKernel mma = kernel_of(TargetOp::mma_m16n8k4_f64); // v2f64, f64, v4f64 -> v4f64
  CHECK(mma.operand_offsets == std::vector<unsigned>{0, 16, 24});
  CHECK(mma.result_offset == 56);
  CHECK(mma.record_bytes == 88);
  CHECK(mma.result_bytes == 32);
  CHECK(mma.in_bytes() == 32 * 88);
  CHECK(mma.out_bytes() == 32 * 32);

  OpKernel wgmma = kernel_of(TargetOp::wgmma_f16, {64, 0, 1});
  CHECK(wgmma.name == "wgmma_f16_64_0_1");
  CHECK(wgmma.threads == 128);
  CHECK(wgmma.operand_offsets == std::vector<unsigned>{0, 8, 16, 24, 28, 32, 36});
  CHECK(wgmma.result_offset == 36 + 256);
  CHECK(wgmma.record_bytes == 552);

  OpKernel copy = kernel_of(TargetOp::cp_async_16); // i32, gptr, i32
  CHECK(copy.operand_offsets == std::vector<unsigned>{0, 8, 16});
  CHECK(copy.record_bytes == 24);
  CHECK(copy.result_bytes == 0);
}

TEST_CASE("op_kernels: shared memory, cluster size and map per family") {
  CHECK(kernel_of(TargetOp::mma_m16n8k16_f16).shared_bytes == 0);
  CHECK(kernel_of(TargetOp::shfl_bfly).shared_bytes == 0);
  CHECK_FALSE(kernel_of(TargetOp::ldmatrix_x4).takes_map);
  OpKernel multicast = kernel_of(TargetOp::tma_load_multicast_2d);
  CHECK(multicast.blocks == 2);
  CHECK(multicast.takes_map);
  CHECK(multicast.shared_bytes == multicast.image_bytes + 8);
  CHECK(kernel_of(TargetOp::tma_load_2d).blocks == 1);
}

TEST_CASE("has_op_kernel: barriers, commits and print have none") {
  CHECK_FALSE(has_op_kernel(TargetOp::barrier));
  CHECK_FALSE(has_op_kernel(TargetOp::wgmma_commit));
  CHECK_FALSE(has_op_kernel(TargetOp::print));
  CHECK(has_op_kernel(TargetOp::wgmma_f16));
  CHECK(has_op_kernel(TargetOp::mbarrier_test));
}
