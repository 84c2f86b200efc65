// Tests backend/lower_to_host.cpp: runs LLVM IR kernels as one thread.

#include "unit/backend/host_machine.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace tritonc;
using test::computed;
using test::host_code_of;
using test::HostMachine;
using test::LinkedHostCode;

namespace {

template <typename T> T &at(void *records, size_t offset) {
  return *reinterpret_cast<T *>(static_cast<char *>(records) + offset);
}

} // namespace

TEST_CASE("lower_to_host: reads arguments from the caller's array") {
  LinkedHostCode code = host_code_of(R"(
    define ptx_kernel void @k(ptr addrspace(1) readonly align 16 %out, i32 %a, i8 %b, double %c,
                              half %d) {
      %1 = zext i8 %b to i32
      %2 = add i32 %a, %1
      %3 = sitofp i32 %2 to double
      %4 = fadd double %3, %c
      %5 = fpext half %d to double
      %6 = fadd double %4, %5
      store double %6, ptr addrspace(1) %out
      ret void
    })");
  HostMachine machine;
  CHECK(computed<double>(*code, machine, 1000, uint8_t(200), 0.25, uint16_t(0x3c00)) == 1201.25);
  REQUIRE(code->parameter_count == 5);
  CHECK(std::string(code->parameters[0].name) == "out");
  CHECK(code->parameters[0].is_pointer);
  CHECK(code->parameters[0].bytes == 8);
  CHECK_FALSE(code->parameters[1].is_pointer);
  CHECK(code->parameters[2].bytes == 1);
  CHECK(code->parameters[4].bytes == 2);
}

TEST_CASE("lower_to_host: passes a tensor map by address") {
  LinkedHostCode code = host_code_of(R"(
    declare void @tritonc.prefetch_tensor_map(ptr)
    define ptx_kernel void @k(ptr byval([128 x i8]) align 64 %map) {
      call void @tritonc.prefetch_tensor_map(ptr %map)
      ret void
    })");
  alignas(64) char map[128] = {};
  HostMachine machine;
  const void *seen = nullptr;
  machine.does["prefetch_tensor_map"] = [&](void *records, uint32_t) {
    seen = at<const void *>(records, 0);
  };
  machine.run(*code, {map});
  CHECK(seen == map);
  CHECK(code->parameters[0].bytes == 128);
}

TEST_CASE("lower_to_host: record has the layout of a struct") {
  LinkedHostCode code = host_code_of(R"(
    declare <4 x float> @tritonc.mma_m16n8k16_f16(<4 x i32>, <2 x i32>, <4 x float>)
    define ptx_kernel void @k(ptr addrspace(1) %out, i32 %i) {
      %a = insertelement <4 x i32> <i32 1, i32 2, i32 3, i32 0>, i32 %i, i32 3
      %b = insertelement <2 x i32> <i32 5, i32 0>, i32 %i, i32 1
      %d = call <4 x float> @tritonc.mma_m16n8k16_f16(<4 x i32> %a, <2 x i32> %b,
               <4 x float> <float 1.0, float 2.0, float 3.0, float 4.0>)
      %s = extractelement <4 x float> %d, i32 2
      store float %s, ptr addrspace(1) %out
      ret void
    })");
  REQUIRE(code->operation_count >= 1);
  HostMachine machine;
  machine.does["mma_m16n8k16_f16"] = [](void *records, uint32_t count) {
    CHECK(count == 1);
    CHECK(at<int>(records, 0) == 1);
    CHECK(at<int>(records, 12) == 9);
    CHECK(at<int>(records, 16) == 5);
    CHECK(at<int>(records, 20) == 9);
    CHECK(at<float>(records, 24) == 1);
    CHECK(at<float>(records, 36) == 4);
    at<float>(records, 40 + 8) = 42;
  };
  CHECK(computed<float>(*code, machine, 9) == 42);
}

TEST_CASE("lower_to_host: aligns members and records") {
  LinkedHostCode code = host_code_of(R"(
    declare <2 x double> @tritonc.mma_m8n8k4_f64(double, double, <2 x double>)
    declare void @tritonc.cp_async_16(i32, ptr addrspace(1), i32)
    define ptx_kernel void @k(ptr addrspace(1) %p, i32 %i) {
      %q = getelementptr i8, ptr addrspace(1) %p, i32 16
      call void @tritonc.cp_async_16(i32 1, ptr addrspace(1) %p, i32 2)
      call void @tritonc.cp_async_16(i32 3, ptr addrspace(1) %q, i32 4)
      ret void
    })");
  HostMachine machine;
  char memory[32], *place = memory;
  machine.does["cp_async_16"] = [&](void *records, uint32_t count) {
    REQUIRE(count == 2);
    CHECK(at<int>(records, 0) == 1);
    CHECK(at<char *>(records, 8) == memory);
    CHECK(at<int>(records, 16) == 2);
    CHECK(at<int>(records, 24) == 3);
    CHECK(at<char *>(records, 32) == memory + 16);
    CHECK(at<int>(records, 40) == 4);
  };
  machine.run(*code, {&place, &place});
  CHECK(machine.text() == "cp_async_16*2");
}

TEST_CASE("lower_to_host: first operand gives the accumulator count") {
  LinkedHostCode code = host_code_of(R"(
    declare <4 x float> @tritonc.wgmma_wait_f32.v4f32(i32, i32, <4 x float>)
    define ptx_kernel void @k(ptr addrspace(1) %out) {
      %w = call <4 x float> @tritonc.wgmma_wait_f32.v4f32(i32 4, i32 0,
               <4 x float> <float 1.0, float 2.0, float 3.0, float 4.0>)
      %s = extractelement <4 x float> %w, i32 3
      store float %s, ptr addrspace(1) %out
      ret void
    })");
  HostMachine machine;
  machine.does["wgmma_wait_f32"] = [](void *records, uint32_t) {
    CHECK(at<int>(records, 0) == 4);
    CHECK(at<float>(records, 8) == 1);
    at<float>(records, 24 + 12) = at<float>(records, 20) * 2;
  };
  CHECK(computed<float>(*code, machine) == 8);
}

TEST_CASE("lower_to_host: operation names include types, hooks do not") {
  LinkedHostCode code = host_code_of(R"(
    declare i32 @tritonc.tid_x()
    declare i32 @tritonc.shfl_bfly(i32, i32)
    define ptx_kernel void @k(ptr addrspace(1) %out) {
      %t = call i32 @tritonc.tid_x()
      %s = call i32 @tritonc.shfl_bfly(i32 %t, i32 1)
      store i32 %s, ptr addrspace(1) %out
      ret void
    })");
  std::string names;
  for (uint32_t i = 0; i < code->operation_count; i++)
    names += std::string(code->operations[i]) + "; ";
  CHECK(names.find("tid_x below(1024)(); ") != std::string::npos);
  CHECK(names.find("shfl_bfly i32(i32,i32); ") != std::string::npos);
  CHECK(names.find("store_global; ") != std::string::npos);
}

TEST_CASE("lower_to_host: reports address, size and alignment of accesses") {
  LinkedHostCode code = host_code_of(R"(
    define ptx_kernel void @k(ptr addrspace(1) %p, ptr %g) {
      %v = load <4 x float>, ptr addrspace(1) %p, align 16
      %q = getelementptr i8, ptr addrspace(1) %p, i32 16
      %h = extractelement <4 x float> %v, i32 1
      store float %h, ptr addrspace(1) %q, align 4
      %o = atomicrmw add ptr addrspace(1) %q, i32 1 monotonic, align 4
      %c = cmpxchg ptr addrspace(1) %q, i32 %o, i32 7 monotonic monotonic, align 4
      %w = load i16, ptr %g, align 2
      ret void
    })");
  alignas(16) float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float *place = memory;
  HostMachine machine;
  machine.does["store_global"] = [&](void *, uint32_t) { CHECK(memory[4] == 5); }; // old value
  machine.run(*code, {&place, &place});
  CHECK(machine.text() == "load_global store_global atomic_global atomic_global load_generic");
  CHECK(machine.calls[0].records == memory);
  CHECK(machine.calls[0].count == (16 | 16 << 16));
  CHECK(machine.calls[1].records == memory + 4);
  CHECK(machine.calls[1].count == (4 | 4 << 16));
  CHECK(machine.calls[4].count == (2 | 2 << 16));
  int word;
  std::memcpy(&word, memory + 4, 4);
  CHECK(word == 0x40000001); // 2.0f + 1 as integers
}

TEST_CASE("lower_to_host: a masked access reports itself only if it happens") {
  LinkedHostCode code = host_code_of(R"(
    define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
      %on = icmp sgt i32 %n, 0
      %i = insertelement <4 x i1> poison, i1 %on, i64 0
      %m = shufflevector <4 x i1> %i, <4 x i1> poison, <4 x i32> zeroinitializer
      %v = call <4 x float> @llvm.masked.load(ptr addrspace(1) align 16 %p, <4 x i1> %m,
                                              <4 x float> splat (float 9.0))
      %q = getelementptr i8, ptr addrspace(1) %p, i32 16
      call void @llvm.masked.store(<4 x float> %v, ptr addrspace(1) align 16 %q, <4 x i1> %m)
      %r = getelementptr i8, ptr addrspace(1) %p, i32 28
      %last = extractelement <4 x float> %v, i64 3
      store float %last, ptr addrspace(1) %r, align 4
      ret void
    })");
  alignas(16) float memory[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float *place = memory;
  int on = 1, off = 0;
  HostMachine with;
  with.run(*code, {&place, &on});
  CHECK(with.text() == "load_global store_global store_global");
  CHECK(with.calls[0].records == memory);
  CHECK(with.calls[0].count == (16 | 16 << 16));
  CHECK(memory[7] == 4);
  HostMachine without;
  without.run(*code, {&place, &off});
  CHECK(without.text() == "store_global");
  CHECK(memory[7] == 9);
}

TEST_CASE("lower_to_host: memset reports each element") {
  LinkedHostCode code = host_code_of(R"(
    declare void @llvm.memset.p1.i64(ptr addrspace(1), i8, i64, i1)
    define ptx_kernel void @k(ptr addrspace(1) %out, i64 %n) {
      call void @llvm.memset.p1.i64(ptr addrspace(1) %out, i8 1, i64 %n, i1 0)
      ret void
    })");
  HostMachine machine;
  CHECK(computed<uint64_t>(*code, machine, int64_t(3)) == 0x010101);
  CHECK(machine.text() == "store_global store_global store_global");
}

TEST_CASE("lower_to_host: shared addresses are 32-bit and wrap") {
  LinkedHostCode code = host_code_of(R"(
    @tritonc_shared = external addrspace(3) global [0 x i8], align 1024
    declare i32 @tritonc.ldmatrix_x1(i32)
    define ptx_kernel void @k(ptr addrspace(1) %out, i32 %i) {
      %a = add i32 ptrtoint (ptr addrspace(3) @tritonc_shared to i32), 64
      %m = call i32 @tritonc.ldmatrix_x1(i32 %a)
      %g = getelementptr i32, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @tritonc_shared,
               i32 128), i32 %i
      %w = ptrtoint ptr addrspace(3) %g to i64
      store i64 %w, ptr addrspace(1) %out
      ret void
    })");
  HostMachine machine;
  machine.thread.shared_base = 0x40000;
  machine.does["ldmatrix_x1"] = [](void *records, uint32_t) {
    CHECK(at<uint32_t>(records, 0) == 0x40040);
  };
  CHECK(computed<uint64_t>(*code, machine, 3) == 0x4008c);
  CHECK(computed<uint64_t>(*code, machine, -32) == 0x40000);
  CHECK(computed<uint64_t>(*code, machine, 1 << 30) == 0x40080);
}

TEST_CASE("lower_to_host: stops a thread without steps left") {
  LinkedHostCode code = host_code_of(R"(
    define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {
      br label %loop
    loop:
      %i = phi i32 [ 0, %0 ], [ %j, %loop ]
      store i32 %i, ptr addrspace(1) %out
      %j = add i32 %i, 1
      %c = icmp slt i32 %j, %n
      br i1 %c, label %loop, label %end
    end:
      ret void
    })");
  HostMachine machine;
  machine.thread.steps_left = 10;
  CHECK(computed<int>(*code, machine, 10) == 9);
  CHECK(machine.thread.steps_left == 0);
  CHECK(machine.text().find("out_of_steps") == std::string::npos);
  HostMachine tired;
  tired.thread.steps_left = 9;
  CHECK(computed<int>(*code, tired, 10) == 9);
  CHECK(tired.thread.steps_left == -1);
  CHECK(tired.calls.back().name == "out_of_steps");
  CHECK(tired.calls.back().records == nullptr);
}

TEST_CASE("lower_to_host: calls have their source location") {
  LinkedHostCode code = host_code_of(R"(
    declare i32 @tritonc.tid_x()
    define ptx_kernel void @k(ptr addrspace(1) %out) !dbg !3 {
      %t = call i32 @tritonc.tid_x(), !dbg !5
      %u = call i32 @tritonc.tid_x()
      store i32 %t, ptr addrspace(1) %out, !dbg !6
      ret void
    }
    !llvm.module.flags = !{!0}
    !llvm.dbg.cu = !{!1}
    !0 = !{i32 2, !"Debug Info Version", i32 3}
    !1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
    !2 = !DIFile(filename: "k.tc", directory: "")
    !3 = distinct !DISubprogram(name: "k", scope: null, file: !2, line: 1, type: !4, unit: !1,
                                spFlags: DISPFlagDefinition)
    !4 = !DISubroutineType(types: !{})
    !5 = !DILocation(line: 12, column: 3, scope: !3)
    !6 = !DILocation(line: 13, column: 4, scope: !3))");
  HostMachine machine;
  computed<int>(*code, machine);
  REQUIRE(machine.calls.size() == 2); // one call for both, at the location of the first
  CHECK(machine.calls[0].line == 12);
  CHECK(machine.calls[1].line == 13);
  bool found = false;
  for (uint32_t i = 0; i < code->site_count; i++)
    found |= code->sites[i].line == 13 && code->sites[i].column == 4 &&
             std::string(code->sites[i].file) == "k.tc";
  CHECK(found);
}

TEST_CASE("lower_to_host: dependent calls are not merged") {
  LinkedHostCode code = host_code_of(R"(
    declare i32 @tritonc.shfl_bfly(i32, i32)
    declare void @tritonc.barrier()
    define ptx_kernel void @k(ptr addrspace(1) %out, i32 %x) {
      %a = call i32 @tritonc.shfl_bfly(i32 %x, i32 1)
      %b = call i32 @tritonc.shfl_bfly(i32 %a, i32 2)
      call void @tritonc.barrier()
      call void @tritonc.barrier()
      store i32 %b, ptr addrspace(1) %out
      ret void
    })");
  HostMachine machine;
  machine.does["shfl_bfly"] = [](void *records, uint32_t count) {
    CHECK(count == 1);
    at<int>(records, 8) = at<int>(records, 0) * 10 + at<int>(records, 4);
  };
  CHECK(computed<int>(*code, machine, 3) == 312);
  CHECK(machine.text() == "shfl_bfly shfl_bfly barrier barrier store_global");
}

TEST_CASE("lower_to_host: description of the kernel") {
  LinkedHostCode code = host_code_of("define ptx_kernel void @k() { ret void }");
  CHECK(std::memcmp(code->magic, abi::host_code_magic, 8) == 0);
  CHECK(code->version == abi::host_code_version);
  CHECK(std::string(code->name) == "k");
  CHECK(std::string(code->gpu) == "sm_90a");
  CHECK(code->threads == 32);
  CHECK(code->cluster_size == 1);
  CHECK(code->operation_count == 0);
  CHECK(code->parameter_count == 0);
  HostMachine machine;
  machine.run(*code, {});
  CHECK(machine.calls.empty());
}
