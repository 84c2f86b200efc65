// What the stand-in driver promises is what the driver does: one list of calls and their results,
// for both.
//
// Without arguments it takes the stand-in; with `--real` the machine's driver, where the kernels
// are PTX. There it says so and exits with 77 if there is none. Cases that ruin the process
// (faults, forks, resets) are marked `skip` and run by a process of their own.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "runtime/stand_in.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tritonc;

namespace {

bool is_real = false;
cu::Functions driver;

// ---- code: target[i] = source[i] + n, 64 per block, once the launch in front is done ----

const char *const ptx = R"(
.version 7.8
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .const .align 16 .b8 tritonc_constants[32] = {7, 0, 0, 0, 8};
.visible .entry add(.param .u64 source, .param .u64 target, .param .u32 n) .maxntid 64
{
  .reg .b32 %r<9>;
  .reg .b64 %rd<8>;
  griddepcontrol.wait;
  ld.param.u64 %rd1, [source];
  ld.param.u64 %rd2, [target];
  ld.param.u32 %r1, [n];
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r2, 64, %r3;
  mul.wide.s32 %rd5, %r4, 4;
  add.s64 %rd6, %rd3, %rd5;
  ld.global.u32 %r5, [%rd6];
  add.s32 %r5, %r5, %r1;
  add.s64 %rd7, %rd4, %rd5;
  st.global.u32 [%rd7], %r5;
  ret;
}
.visible .entry add_in_pairs(.param .u64 source, .param .u64 target, .param .u32 n)
    .maxntid 64 .reqnctapercluster 2
{
  ret;
}
)";

const char *const host_operations[] = {"tid_x below(1024)()", "ctaid_x below(2147483647)()",
                                       "load_global", "store_global", "dependency_wait none()"};

void add(const abi::host_operation *operations, abi::host_thread *thread, void *const *arguments) {
  static const abi::host_site here = {"add.tc", 1, 1};
  std::uint32_t tid = 0, ctaid = 0;
  operations[0](thread, &tid, 1, &here);
  operations[1](thread, &ctaid, 1, &here);
  operations[4](thread, &tid, 1, &here);
  int *source = nullptr, *target = nullptr, n = 0;
  std::memcpy(&source, arguments[0], sizeof source);
  std::memcpy(&target, arguments[1], sizeof target);
  std::memcpy(&n, arguments[2], sizeof n);
  source += 64 * ctaid + tid;
  target += 64 * ctaid + tid;
  operations[2](thread, source, 4 | 4 << 16, &here);
  int sum = *source + n;
  operations[3](thread, target, 4 | 4 << 16, &here);
  *target = sum;
}

const abi::host_parameter host_parameters[] = {{"source", 8, 1}, {"target", 8, 1}, {"n", 4, 0}};

abi::host_code host_code(const char *name, int cluster_size) {
  abi::host_code code = {};
  std::memcpy(code.magic, abi::host_code_magic, sizeof code.magic);
  code.version = abi::host_code_version;
  code.operations = host_operations;
  code.operation_count = 5;
  code.entry = add;
  code.name = name;
  code.gpu = "sm_90";
  code.parameters = host_parameters;
  code.parameter_count = 3;
  code.threads = 64;
  code.cluster_size = std::uint32_t(cluster_size);
  static const std::uint32_t constants[8] = {7, 8};
  code.constants = constants;
  code.constant_bytes = sizeof constants;
  return code;
}

const void *code_of(const char *name) {
  static const abi::host_code plain = host_code("add", 1), pairs = host_code("add_in_pairs", 2);
  if (is_real)
    return ptx;
  return std::strcmp(name, "add") == 0 ? &plain : &pairs;
}

cu::Library *load(const char *name) {
  cu::Library *library = nullptr;
  REQUIRE(driver.cuLibraryLoadData(&library, code_of(name), nullptr, nullptr, 0, nullptr, nullptr,
                                   0) == 0);
  return library;
}

cu::Kernel *get_kernel(const char *name = "add") {
  cu::Kernel *kernel = nullptr;
  REQUIRE(driver.cuLibraryGetKernel(&kernel, load(name), name) == 0);
  return kernel;
}

// ---- a state to begin with ----

/// A context of one's own, current while it lives.
struct Own {
  Own() {
    REQUIRE(driver.cuInit(0) == 0);
    REQUIRE(driver.cuCtxCreate_v2(&context, 0, 0) == 0);
  }
  ~Own() { driver.cuCtxDestroy_v2(context); }

  cu::Stream *stream(unsigned flags = 0) {
    cu::Stream *made = nullptr;
    REQUIRE(driver.cuStreamCreate(&made, flags) == 0);
    return made;
  }
  cu::Pointer memory(std::size_t bytes) {
    cu::Pointer made = 0;
    REQUIRE(driver.cuMemAlloc_v2(&made, bytes) == 0);
    REQUIRE(driver.cuMemsetD8_v2(made, 0, bytes) == 0);
    return made;
  }
  cu::Event *event(unsigned flags = 0) {
    cu::Event *made = nullptr;
    REQUIRE(driver.cuEventCreate(&made, flags) == 0);
    return made;
  }

  cu::Context *context = nullptr;
};

struct Shape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {64, 1, 1};
  unsigned shared_bytes = 0;
};

struct Operands {
  cu::Pointer source, target;
  int n = 1;
};

int launch(cu::Kernel *kernel, const Operands &operands, cu::Stream *stream = nullptr,
           const Shape &shape = {}) {
  Operands values = operands;
  void *parameters[] = {&values.source, &values.target, &values.n};
  return driver.cuLaunchKernel(kernel, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                               shape.block[1], shape.block[2], shape.shared_bytes, stream,
                               parameters, nullptr);
}

int launch_in_clusters(cu::Kernel *kernel, const Operands &operands, unsigned grid,
                       unsigned cluster) {
  Operands values = operands;
  void *parameters[] = {&values.source, &values.target, &values.n};
  cu::LaunchAttribute attribute = {};
  attribute.id = cu::LaunchAttribute::cluster_dimension;
  attribute.value.cluster[0] = cluster;
  attribute.value.cluster[1] = attribute.value.cluster[2] = 1;
  cu::LaunchConfig config = {grid, 1, 1, 64, 1, 1, 0, nullptr, &attribute, 1};
  return driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr);
}

/// A case in a process of its own; true if all of it held.
bool holds_alone(const char *name) {
  std::string command = std::string("/proc/self/exe -ns -tc='") + name + "'";
  std::vector<std::string> words = {"/proc/self/exe", "-ns", std::string("-tc=") + name};
  if (is_real)
    words.push_back("--real");
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = fork();
  if (child == 0) {
    execv("/proc/self/exe", pointers.data());
    _exit(127);
  }
  int state = -1;
  return child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state) &&
         WEXITSTATUS(state) == 0;
}

} // namespace

TEST_CASE("before cuInit" * doctest::skip()) {
  int value = 0;
  cu::Context *context = nullptr;
  CHECK(driver.cuDriverGetVersion(&value) == 0);
  CHECK(value >= 12000);
  CHECK(driver.cuDeviceGetCount(&value) == 3);
  CHECK(driver.cuCtxGetCurrent(&context) == 3);
  CHECK(driver.cuInit(1) == 1);
  CHECK(driver.cuInit(0) == 0);
  CHECK(driver.cuInit(0) == 0);
  CHECK(driver.cuDeviceGetCount(&value) == 0);
  CHECK(value >= 1);
}

TEST_CASE("a process of its own for what comes before cuInit") {
  CHECK(holds_alone("before cuInit"));
}

TEST_CASE("cuGetProcAddress") {
  REQUIRE(driver.cuInit(0) == 0);
  void *address = &address;
  int found = -1, version = 0;
  REQUIRE(driver.cuDriverGetVersion(&version) == 0);
  CHECK(driver.cuGetProcAddress_v2("cuSwimBackwards", &address, 12000, 0, &found) == 0);
  CHECK(found == 1);
  CHECK(address == nullptr);
  CHECK(driver.cuGetProcAddress_v2("cuLibraryLoadData", &address, 11000, 0, &found) == 0);
  CHECK(found == 2);
  CHECK(address == nullptr);
  CHECK(driver.cuGetProcAddress_v2("cuMemAlloc", &address, 12000, 0, &found) == 0);
  CHECK(found == 0);
  CHECK(address != nullptr);
  CHECK(driver.cuGetProcAddress_v2("cuMemAlloc", &address, version + 1000, 0, &found) == 1);
  CHECK(driver.cuGetProcAddress("cuSwimBackwards", &address, 12000, 0) == 500);
  CHECK(driver.cuGetProcAddress("cuMemAlloc", &address, 12000, 0) == 0);
}

TEST_CASE("names of errors") {
  const char *name = nullptr, *text = nullptr;
  for (int result :
       {0,   1,   2,   3,   4,   100, 101, 200, 201, 209, 222, 400, 401, 500, 600, 700, 702, 709,
        710, 716, 719, 720, 800, 801, 900, 901, 902, 903, 904, 905, 906, 907, 908, 912, 999}) {
    CHECK(driver.cuGetErrorName(result, &name) == 0);
    CHECK(driver.cuGetErrorString(result, &text) == 0);
    std::printf("%d %s: %s\n", result, name, text);
  }
  CHECK(driver.cuGetErrorName(12345, &name) == 1);
  CHECK(name == nullptr);
  CHECK(driver.cuGetErrorName(700, &name) == 0);
  CHECK(std::string(name) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(driver.cuGetErrorString(700, &text) == 0);
  CHECK(std::string(text) == "an illegal memory access was encountered");
}

TEST_CASE("devices") {
  REQUIRE(driver.cuInit(0) == 0);
  int value = 0;
  cu::Device device = -1;
  CHECK(driver.cuDeviceGet(&device, 0) == 0);
  CHECK(device == 0);
  CHECK(driver.cuDeviceGet(&device, -1) == 101);
  CHECK(driver.cuDeviceGet(&device, 1000) == 101);
  CHECK(driver.cuDeviceGet(nullptr, 0) == 1);
  CHECK(driver.cuDeviceGetAttribute(&value, 10, 0) == 0);
  CHECK(value == 32);
  CHECK(driver.cuDeviceGetAttribute(&value, 10, 1000) == 101);
  CHECK(driver.cuDeviceGetAttribute(&value, 100000, 0) == 1);
  CHECK(driver.cuDeviceGetAttribute(&value, 0, 0) == 1);
  // What a kernel's planning asks for: those of an H100 or H200.
  struct {
    int attribute, value;
  } facts[] = {{1, 1024},   {2, 1024},    {4, 64},     {5, 0x7fffffff}, {6, 65535},   {7, 65535},
               {8, 49152},  {12, 65536},  {16, 132},   {39, 2048},      {41, 1},      {75, 9},
               {76, 0},     {81, 233472}, {82, 65536}, {95, 1},         {97, 232448}, {106, 32},
               {111, 1024}, {115, 1},     {120, 1},    {127, 1}};
  for (auto &fact : facts) {
    CAPTURE(fact.attribute);
    CHECK(driver.cuDeviceGetAttribute(&value, fact.attribute, 0) == 0);
    CHECK(value == fact.value);
  }
  char name[64] = "";
  CHECK(driver.cuDeviceGetName(name, sizeof name, 0) == 0);
  CHECK(name[0] != 0);
  CHECK(driver.cuDeviceGetName(name, 4, 0) == 0);
  CHECK(std::strlen(name) == 3);
  std::size_t bytes = 0;
  CHECK(driver.cuDeviceTotalMem_v2(&bytes, 0) == 0);
  CHECK(bytes > 0);
  char bus[64] = "";
  CHECK(driver.cuDeviceGetPCIBusId(bus, sizeof bus, 0) == 0);
  CHECK(driver.cuDeviceGetByPCIBusId(&device, bus) == 0);
  CHECK(device == 0);
}

TEST_CASE("a thread without a context") {
  REQUIRE(driver.cuInit(0) == 0);
  std::thread([] {
    cu::Context *context = nullptr;
    cu::Device device = 0;
    cu::Pointer memory = 0;
    cu::Stream *stream = nullptr;
    CHECK(driver.cuCtxGetCurrent(&context) == 0);
    CHECK(context == nullptr);
    CHECK(driver.cuCtxGetDevice(&device) == 201);
    CHECK(driver.cuCtxPopCurrent_v2(&context) == 201);
    CHECK(driver.cuCtxSynchronize() == 201);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 201);
    CHECK(driver.cuStreamCreate(&stream, 0) == 201);
    CHECK(driver.cuStreamSynchronize(nullptr) == 201);
    CHECK(launch(get_kernel(), {0, 0}) == 201);
    CHECK(driver.cuCtxSetCurrent(nullptr) == 0);
  }).join();
}

TEST_CASE("contexts") {
  REQUIRE(driver.cuInit(0) == 0);
  cu::Context *primary = nullptr, *current = nullptr;
  unsigned flags = 0;
  int active = -1;
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 0);
  CHECK(driver.cuDevicePrimaryCtxRetain(&primary, 0) == 0);
  CHECK(driver.cuDevicePrimaryCtxRetain(&current, 0) == 0);
  CHECK(current == primary);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 1);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxRetain(&current, 1000) == 101);
  {
    Own own;
    CHECK(driver.cuCtxGetCurrent(&current) == 0);
    CHECK(current == own.context);
    CHECK(driver.cuCtxPushCurrent_v2(primary) == 0);
    CHECK(driver.cuCtxGetCurrent(&current) == 0);
    CHECK(current == primary);
    CHECK(driver.cuCtxPopCurrent_v2(&current) == 0);
    CHECK(current == primary);
    unsigned long long first = 0, second = 0;
    CHECK(driver.cuCtxGetId(own.context, &first) == 0);
    CHECK(driver.cuCtxGetId(primary, &second) == 0);
    CHECK(first != second);
    CHECK(driver.cuCtxDestroy_v2(primary) != 0);
  }
  CHECK(driver.cuCtxGetCurrent(&current) == 0);
  CHECK(current == nullptr);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 201);
  CHECK(driver.cuCtxDestroy_v2(nullptr) == 1);
}

TEST_CASE("memory") {
  Own own;
  cu::Pointer memory = 0, other = 0;
  CHECK(driver.cuMemAlloc_v2(&memory, 0) == 1);
  CHECK(driver.cuMemAlloc_v2(nullptr, 16) == 1);
  CHECK(driver.cuMemAlloc_v2(&memory, std::size_t(1) << 50) == 2);
  CHECK(driver.cuMemAlloc_v2(&memory, 4096) == 0);
  CHECK(memory % 256 == 0);
  CHECK(driver.cuMemAlloc_v2(&other, 4096) == 0);
  CHECK(driver.cuMemFree_v2(0) == 0);
  CHECK(driver.cuMemFree_v2(memory + 16) == 1);
  CHECK(driver.cuMemFree_v2(64) == 1);

  int values[] = {1, 2, 3, 4}, back[4] = {};
  CHECK(driver.cuMemcpyHtoD_v2(memory, values, 16) == 0);
  CHECK(driver.cuMemcpyDtoD_v2(other, memory, 16) == 0);
  CHECK(driver.cuMemcpyDtoH_v2(back, other, 16) == 0);
  CHECK(back[3] == 4);
  CHECK(driver.cuMemcpyHtoD_v2(64, values, 16) == 1);
  CHECK(driver.cuMemcpyDtoH_v2(back, 64, 16) == 1);
  CHECK(driver.cuMemcpyHtoD_v2(memory, values, 0) == 0);
  CHECK(driver.cuMemcpy(other, reinterpret_cast<cu::Pointer>(values), 8) == 0);

  CHECK(driver.cuMemsetD32_v2(memory, 0x01020304, 4) == 0);
  CHECK(driver.cuMemsetD16_v2(memory, 0x0506, 1) == 0);
  CHECK(driver.cuMemsetD8_v2(memory, 7, 1) == 0);
  CHECK(driver.cuMemcpyDtoH_v2(back, memory, 16) == 0);
  CHECK(back[0] == 0x01020507);
  CHECK(back[3] == 0x01020304);
  CHECK(driver.cuMemsetD32_v2(memory + 2, 0, 1) == 1);
  CHECK(driver.cuMemsetD16_v2(memory + 1, 0, 1) == 1);
  CHECK(driver.cuMemsetD8_v2(64, 0, 1) == 1);
  CHECK(driver.cuMemsetD8_v2(memory, 0, 0) == 0);
  CHECK(driver.cuMemsetD2D32_v2(memory, 64, 9, 2, 3) == 0);
  CHECK(driver.cuMemcpyDtoH_v2(back, memory + 128, 16) == 0);
  CHECK(back[1] == 9);

  std::size_t free = 0, total = 0;
  CHECK(driver.cuMemGetInfo_v2(&free, &total) == 0);
  CHECK(free < total);
  cu::Pointer base = 0;
  std::size_t bytes = 0;
  CHECK(driver.cuMemGetAddressRange_v2(&base, &bytes, memory + 100) == 0);
  CHECK(base == memory);
  CHECK(bytes == 4096);
  CHECK(driver.cuMemGetAddressRange_v2(&base, &bytes, 64) == 500);
  CHECK(driver.cuMemFree_v2(memory) == 0);
  CHECK(driver.cuMemFree_v2(memory) == 1);
}

TEST_CASE("pointers") {
  Own own;
  cu::Pointer memory = own.memory(4096);
  unsigned kind = 0;
  int ordinal = -1, on_stack = 0;
  cu::Context *context = nullptr;
  CHECK(driver.cuPointerGetAttribute(&kind, 2, memory + 10) == 0);
  CHECK(kind == 2);
  CHECK(driver.cuPointerGetAttribute(&context, 1, memory) == 0);
  CHECK(context == own.context);
  CHECK(driver.cuPointerGetAttribute(&ordinal, 9, memory) == 0);
  CHECK(ordinal == 0);
  auto host = reinterpret_cast<cu::Pointer>(&on_stack);
  CHECK(driver.cuPointerGetAttribute(&kind, 2, host) == 1);
  cu::Pointer begin = 0;
  CHECK(driver.cuPointerGetAttribute(&begin, 11, memory + 10) == 0);
  CHECK(begin == memory);
  void *pinned = nullptr;
  CHECK(driver.cuMemAllocHost_v2(&pinned, 4096) == 0);
  CHECK(driver.cuPointerGetAttribute(&kind, 2, reinterpret_cast<cu::Pointer>(pinned)) == 0);
  CHECK(kind == 1);
  cu::Pointer device = 0;
  CHECK(driver.cuMemHostGetDevicePointer_v2(&device, pinned, 0) == 0);
  CHECK(driver.cuMemHostGetDevicePointer_v2(&device, &on_stack, 0) == 1);
  CHECK(driver.cuMemFreeHost(pinned) == 0);
  CHECK(driver.cuMemFreeHost(&on_stack) == 1);
  int attributes[] = {2, 9};
  void *values[] = {&kind, &ordinal};
  CHECK(driver.cuPointerGetAttributes(2, attributes, values, host) == 0);
  CHECK(kind == 0);
  CHECK(ordinal == -2);
}

TEST_CASE("code") {
  Own own;
  cu::Library *library = load("add");
  cu::Kernel *kernel = nullptr, *function = nullptr;
  CHECK(driver.cuLibraryGetKernel(&kernel, library, "swim") == 500);
  CHECK(driver.cuLibraryGetKernel(&kernel, library, "add") == 0);
  CHECK(driver.cuKernelGetFunction(&function, kernel) == 0);
  int value = -1;
  CHECK(driver.cuKernelGetAttribute(&value, 0, kernel, 0) == 0);
  CHECK(value == 64);
  CHECK(driver.cuKernelGetAttribute(&value, 8, kernel, 0) == 0);
  CHECK(value == 49152);
  CHECK(driver.cuFuncGetAttribute(&value, 0, function) == 0);
  CHECK(value == 64);
  CHECK(driver.cuFuncGetAttribute(&value, 1, function) == 0);
  CHECK(value == 0);
  CHECK(driver.cuFuncGetAttribute(&value, 11, function) == 0);
  CHECK(value == 0);
  CHECK(driver.cuKernelGetAttribute(&value, 1000, kernel, 0) == 1);
  CHECK(driver.cuKernelGetAttribute(&value, 0, kernel, 1000) == 101);
  CHECK(driver.cuKernelSetAttribute(8, 232448, kernel, 0) == 0);
  CHECK(driver.cuKernelSetAttribute(8, 232449, kernel, 0) == 1);
  CHECK(driver.cuKernelSetAttribute(8, -1, kernel, 0) == 1);
  CHECK(driver.cuKernelSetAttribute(0, 1, kernel, 0) == 1);
  CHECK(driver.cuKernelGetAttribute(&value, 8, kernel, 0) == 0);
  CHECK(value == 232448);
  std::size_t offset = 0, bytes = 0;
  if (driver.cuKernelGetParamInfo) {
    CHECK(driver.cuKernelGetParamInfo(kernel, 2, &offset, &bytes) == 0);
    CHECK(offset == 16);
    CHECK(bytes == 4);
    CHECK(driver.cuKernelGetParamInfo(kernel, 3, &offset, &bytes) == 1);
  }
  cu::Pointer global = 0;
  CHECK(driver.cuLibraryGetGlobal(&global, &bytes, library, "swim") == 500);
  CHECK(driver.cuLibraryUnload(library) == 0);
  CHECK(driver.cuLibraryLoadData(nullptr, code_of("add"), nullptr, nullptr, 0, nullptr, nullptr,
                                 0) == 1);
  CHECK(driver.cuLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0) == 1);

  cu::Module *module = nullptr;
  CHECK(driver.cuModuleLoadData(&module, code_of("add")) == 0);
  CHECK(driver.cuModuleGetFunction(&function, module, "swim") == 500);
  CHECK(driver.cuModuleGetFunction(&function, module, "add") == 0);
  CHECK(driver.cuModuleGetGlobal_v2(&global, &bytes, module, "swim") == 500);
  CHECK(driver.cuModuleUnload(module) == 0);
  cu::Kernel *pairs = get_kernel("add_in_pairs");
  CHECK(driver.cuKernelGetAttribute(&value, 11, pairs, 0) == 0);
  CHECK(value == 2);
  CHECK(driver.cuKernelGetAttribute(&value, 12, pairs, 0) == 0);
  CHECK(value == 1);
  CHECK(driver.cuKernelSetAttribute(11, 4, pairs, 0) == 1); // it is compiled in
}

TEST_CASE("constant memory: each context has its own, as it was compiled until somebody fills it") {
  Own own;
  cu::Library *library = load("add");
  const char *const name = "tritonc_constants";
  cu::Pointer block = 0, again = 0;
  std::size_t bytes = 0;
  REQUIRE(driver.cuLibraryGetGlobal(&block, &bytes, library, name) == 0);
  CHECK(bytes == 32);
  CHECK(driver.cuLibraryGetGlobal(&again, nullptr, library, name) == 0);
  CHECK(again == block);
  CHECK(driver.cuLibraryGetGlobal(nullptr, &bytes, library, name) == 0);
  CHECK(driver.cuLibraryGetGlobal(&block, &bytes, library, nullptr) == 1);
  auto values = [&](cu::Pointer from) {
    std::vector<int> found(3);
    CHECK(driver.cuMemcpyDtoH_v2(found.data(), from, 12) == 0);
    return found;
  };
  CHECK(values(block) == std::vector<int>{7, 8, 0});
  cu::Stream *stream = own.stream();
  const int filled[] = {10, 11};
  CHECK(driver.cuMemcpyHtoDAsync_v2(block + 4, filled, 8, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(values(block) == std::vector<int>{7, 10, 11});

  cu::Module *module = nullptr;
  CHECK(driver.cuLibraryGetModule(&module, library) == 0);
  CHECK(driver.cuModuleGetGlobal_v2(&again, &bytes, module, name) == 0);
  CHECK(again == block);
  CHECK(bytes == 32);
  cu::Kernel *kernel = nullptr;
  CHECK(driver.cuLibraryGetKernel(&kernel, library, "add") == 0);
  {
    Own other; // a context of its own
    REQUIRE(driver.cuLibraryGetGlobal(&again, &bytes, library, name) == 0);
    CHECK(values(again) == std::vector<int>{7, 8, 0});
    CHECK(driver.cuMemcpyHtoD_v2(again, filled, 8) == 0);
  }
  CHECK(values(block) == std::vector<int>{7, 10, 11});

  // While a graph is captured on another stream, a thread that says it knows may ask and fill.
  cu::Stream *capturing = own.stream(1);
  int mode = 2;
  REQUIRE(driver.cuStreamBeginCapture_v2(capturing, 0) == 0);
  CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  CHECK(driver.cuLibraryGetGlobal(&again, &bytes, load("add"), name) == 0);
  CHECK(driver.cuMemcpyHtoDAsync_v2(again, filled, 8, stream) == 0);
  CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  cu::Graph *graph = nullptr;
  CHECK(driver.cuStreamEndCapture(capturing, &graph) == 0);
  CHECK(values(again) == std::vector<int>{10, 11, 0});
}

TEST_CASE("what a launch refuses, and that it harms nothing") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  Operands operands = {own.memory(64 * 4 * 4), own.memory(64 * 4 * 4)};
  auto with = [&](auto change) {
    Shape shape;
    change(shape);
    return launch(kernel, operands, nullptr, shape);
  };
  CHECK(with([](Shape &s) { s.grid[0] = 0; }) == 1);
  CHECK(with([](Shape &s) { s.grid[1] = 0; }) == 1);
  CHECK(with([](Shape &s) { s.block[0] = 0; }) == 1);
  CHECK(with([](Shape &s) { s.block[0] = 96; }) == 1); // more than the code is for
  CHECK(with([](Shape &s) { s.block[0] = 1056; }) == 1);
  CHECK(with([](Shape &s) { s.block[2] = 65; }) == 1);
  CHECK(with([](Shape &s) { s.grid[0] = 0x80000000; }) == 1);
  CHECK(with([](Shape &s) { s.grid[1] = 65536; }) == 1);
  CHECK(with([](Shape &s) { s.grid[2] = 65536; }) == 1);
  CHECK(with([](Shape &s) { s.shared_bytes = 49153; }) == 1);
  CHECK(with([](Shape &s) { s.shared_bytes = 49152; }) == 0);
  CHECK(driver.cuKernelSetAttribute(8, 100000, kernel, 0) == 0);
  CHECK(with([](Shape &s) { s.shared_bytes = 100000; }) == 0);
  CHECK(with([](Shape &s) { s.shared_bytes = 100001; }) == 1);
  CHECK(with([](Shape &s) { s.block[0] = 32; }) == (is_real ? 0 : 801)); // fewer
  CHECK(driver.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr) == 1);
  CHECK(driver.cuCtxSynchronize() == 0);
  CHECK(launch(kernel, operands) == 0);
  CHECK(driver.cuCtxSynchronize() == 0);
}

TEST_CASE("arguments in a packed buffer") {
  Own own;
  cu::Pointer source = own.memory(256), target = own.memory(256);
  struct {
    cu::Pointer source, target;
    int n;
  } packed = {source, target, 5};
  std::size_t bytes = 20; // to the end of the last
  void *extra[] = {reinterpret_cast<void *>(1), &packed, reinterpret_cast<void *>(2), &bytes,
                   nullptr};
  cu::Kernel *kernel = get_kernel();
  auto launch_packed = [&] {
    return driver.cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra);
  };
  CHECK(launch_packed() == 0);
  int back = 0;
  CHECK(driver.cuMemcpyDtoH_v2(&back, target, 4) == 0);
  CHECK(back == 5);
  bytes = sizeof packed;
  CHECK(launch_packed() == 701);
  bytes = 16;
  CHECK(launch_packed() == (is_real ? 0 : 701)); // it reads whatever is behind the buffer
}

TEST_CASE("clusters") {
  Own own;
  cu::Kernel *kernel = get_kernel(), *pairs = get_kernel("add_in_pairs");
  Operands operands = {own.memory(64 * 4 * 32), own.memory(64 * 4 * 32)};
  CHECK(launch_in_clusters(kernel, operands, 4, 1) == 0);
  // The emulator runs code in clusters only if it is compiled so.
  CHECK(launch_in_clusters(kernel, operands, 4, 2) == (is_real ? 0 : 801));
  CHECK(launch_in_clusters(kernel, operands, 8, 8) == (is_real ? 0 : 801));
  CHECK(launch_in_clusters(kernel, operands, 4, 3) == (is_real ? 912 : 801));   // does not divide
  CHECK(launch_in_clusters(kernel, operands, 16, 16) == (is_real ? 912 : 801)); // above 8
  CHECK(launch_in_clusters(pairs, operands, 4, 2) == 0);
  CHECK(launch_in_clusters(pairs, operands, 4, 4) == 912); // compiled for 2
  Shape shape;
  shape.grid[0] = 4;
  CHECK(launch(pairs, operands, nullptr, shape) == 0);
  shape.grid[0] = 3;
  CHECK(launch(pairs, operands, nullptr, shape) == 912); // does not divide
  CHECK(driver.cuCtxSynchronize() == 0);
}

TEST_CASE("a function belongs to its context, a kernel goes with the stream") {
  Own first;
  cu::Kernel *kernel = get_kernel(), *function = nullptr;
  CHECK(driver.cuKernelGetFunction(&function, kernel) == 0);
  Operands operands = {first.memory(256), first.memory(256)};
  cu::Stream *stream = first.stream();
  {
    Own second;
    CHECK(launch(kernel, operands, stream) == 0);
    cu::Stream *other = second.stream();
    CHECK(launch(function, operands, other) == 400);
    cu::Context *context = nullptr;
    CHECK(driver.cuStreamGetCtx(stream, &context) == 0);
    CHECK(context == first.context);
  }
  CHECK(launch(function, operands, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
}

TEST_CASE("a launch on a stream needs no current context, one on a default stream does") {
  Own own;
  cu::Kernel *kernel = get_kernel(), *function = nullptr;
  CHECK(driver.cuKernelGetFunction(&function, kernel) == 0);
  Operands operands = {own.memory(256), own.memory(256)};
  cu::Stream *stream = own.stream();
  std::thread([&] {
    cu::Context *context = nullptr;
    cu::Device device = -1;
    CHECK(launch(kernel, operands, stream) == 0);
    CHECK(launch(function, operands, stream) == 0);
    for (std::uintptr_t special : {0, 1, 2})
      CHECK(launch(kernel, operands, reinterpret_cast<cu::Stream *>(special)) == 201);
    CHECK(driver.cuStreamGetCtx(stream, &context) == 0);
    CHECK(context == own.context);
    if (driver.cuStreamGetDevice)
      CHECK(driver.cuStreamGetDevice(stream, &device) == 0);
    CHECK(driver.cuStreamSynchronize(stream) == 0);
    CHECK(driver.cuCtxGetCurrent(&context) == 0);
    CHECK(context == nullptr);
  }).join();
}

TEST_CASE("the primary context, reset") {
  REQUIRE(driver.cuInit(0) == 0);
  cu::Context *primary = nullptr, *again = nullptr, *popped = nullptr;
  cu::Kernel *kernel = get_kernel();
  cu::Device device = -1;
  unsigned flags = 0;
  int active = -1;
  unsigned long long before = 0, after = 0;
  Shape large;
  large.shared_bytes = 100000;
  auto launch_in = [&](cu::Context *context) {
    REQUIRE(driver.cuCtxPushCurrent_v2(context) == 0);
    CHECK(driver.cuCtxGetDevice(&device) == 0);
    int result = launch(kernel, {0, 0}, nullptr, large);
    REQUIRE(driver.cuCtxPopCurrent_v2(&popped) == 0);
    return result;
  };
  REQUIRE(driver.cuKernelSetAttribute(8, 100000, kernel, 0) == 0);
  REQUIRE(driver.cuDevicePrimaryCtxRetain(&primary, 0) == 0);
  CHECK(driver.cuCtxGetId(primary, &before) == 0);
  CHECK(driver.cuDevicePrimaryCtxReset_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 0);
  CHECK(driver.cuCtxGetId(primary, &after) == 709);
  CHECK(launch_in(primary) == 709);
  // It comes back under its old handle, for all who had it; and kernels keep their attributes.
  CHECK(driver.cuDevicePrimaryCtxRetain(&again, 0) == 0);
  CHECK(again == primary);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 1);
  CHECK(driver.cuCtxGetId(primary, &after) == 0);
  CHECK(after != before);
  cu::Pointer memory = 0;
  REQUIRE(driver.cuCtxPushCurrent_v2(primary) == 0);
  REQUIRE(driver.cuMemAlloc_v2(&memory, 256) == 0);
  REQUIRE(driver.cuMemsetD8_v2(memory, 0, 256) == 0);
  CHECK(launch(kernel, {memory, memory}, nullptr, large) == 0);
  CHECK(driver.cuCtxSynchronize() == 0);
  REQUIRE(driver.cuCtxPopCurrent_v2(&popped) == 0);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 1);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 0);
  CHECK(driver.cuDevicePrimaryCtxGetState(0, &flags, &active) == 0);
  CHECK(active == 0);
  CHECK(launch_in(primary) == 709);
  CHECK(driver.cuDevicePrimaryCtxRelease_v2(0) == 201);
}

TEST_CASE("interfaces of CUDA 12.5 and 13") {
  Own first;
  cu::Stream *stream = first.stream();
  Own second;
  cu::Context *context = nullptr;
  void *green = &green;
  cu::Device device = -1;
  if (driver.cuStreamGetCtx_v2) {
    CHECK(driver.cuStreamGetCtx_v2(stream, &context, &green) == 0);
    CHECK(context == first.context);
    CHECK(green == nullptr);
  }
  if (driver.cuCtxGetDevice_v2) {
    CHECK(driver.cuCtxGetDevice_v2(&device, first.context) == 0);
    CHECK(device == 0);
    CHECK(driver.cuCtxGetDevice_v2(&device, nullptr) == 0);
  }
  if (driver.cuCtxSynchronize_v2) {
    CHECK(driver.cuCtxSynchronize_v2(first.context) == 0);
    CHECK(driver.cuCtxSynchronize_v2(nullptr) == 0);
  }
}

TEST_CASE("streams and events") {
  Own own;
  cu::Stream *stream = own.stream(1);
  unsigned flags = 0;
  int priority = -1, least = -1, greatest = 1;
  unsigned long long id = 0, other = 0;
  CHECK(driver.cuStreamGetFlags(stream, &flags) == 0);
  CHECK(flags == 1);
  CHECK(driver.cuStreamGetPriority(stream, &priority) == 0);
  CHECK(priority == 0);
  CHECK(driver.cuCtxGetStreamPriorityRange(&least, &greatest) == 0);
  CHECK(least == 0);
  CHECK(greatest == -5);
  CHECK(driver.cuStreamGetId(stream, &id) == 0);
  CHECK(driver.cuStreamGetId(own.stream(), &other) == 0);
  CHECK(id != other);
  CHECK(driver.cuStreamCreate(&stream, 0x80) == 1);
  CHECK(driver.cuStreamQuery(stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);

  cu::Event *first = own.event(), *last = own.event(), *untimed = own.event(2);
  float milliseconds = -1;
  CHECK(driver.cuEventQuery(first) == 0); // not recorded
  CHECK(driver.cuEventSynchronize(first) == 0);
  CHECK(driver.cuEventElapsedTime(&milliseconds, first, last) == 400);
  CHECK(driver.cuEventRecord(first, stream) == 0);
  CHECK(driver.cuEventRecord(last, stream) == 0);
  CHECK(driver.cuEventRecord(untimed, stream) == 0);
  CHECK(driver.cuEventSynchronize(last) == 0);
  CHECK(driver.cuEventSynchronize(untimed) == 0);
  CHECK(driver.cuEventElapsedTime(&milliseconds, first, last) == 0);
  CHECK(milliseconds >= 0);
  CHECK(driver.cuEventElapsedTime(&milliseconds, first, untimed) == 400);
  CHECK(driver.cuEventCreate(&first, 0x80) == 1);
  CHECK(driver.cuStreamWaitEvent(stream, last, 0) == 0);
  CHECK(driver.cuEventDestroy_v2(last) == 0);

  static std::atomic<int> inner{-1};
  inner = -1;
  CHECK(driver.cuLaunchHostFunc(
            stream,
            [](void *) {
              cu::Pointer memory = 0;
              inner = driver.cuMemAlloc_v2(&memory, 16);
            },
            nullptr) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(inner == 800);
  CHECK(driver.cuLaunchHostFunc(stream, nullptr, nullptr) == 1);
  CHECK(driver.cuStreamDestroy_v2(stream) == 0);
}

TEST_CASE("memory in the order of a stream") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pointer memory = 0;
  int value = 0;
  CHECK(driver.cuMemAllocAsync(&memory, 4096, stream) == 0);
  CHECK(driver.cuMemsetD32Async(memory, 3, 4, stream) == 0);
  CHECK(driver.cuMemcpyDtoHAsync_v2(&value, memory, 4, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(value == 3);
  CHECK(driver.cuMemFreeAsync(memory, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
}

namespace {

cu::PoolProperties pool_properties() {
  cu::PoolProperties properties = {};
  properties.allocation = cu::pinned_allocation;
  properties.location = {cu::location_is_device, 0};
  return properties;
}

cu::Pool *make_pool() {
  cu::PoolProperties properties = pool_properties();
  cu::Pool *pool = nullptr;
  std::uint64_t everything = ~std::uint64_t(0);
  REQUIRE(driver.cuMemPoolCreate(&pool, &properties) == 0);
  REQUIRE(driver.cuMemPoolSetAttribute(pool, 4, &everything) == 0);
  return pool;
}

cu::Pointer allocated_in_order(cu::Stream *stream) {
  cu::Pointer memory = 0;
  REQUIRE(driver.cuMemAllocAsync(&memory, 256, stream) == 0);
  REQUIRE(driver.cuStreamSynchronize(stream) == 0);
  return memory;
}

} // namespace

TEST_CASE("a pool of one's own") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pool *pool = make_pool();
  Operands operands = {0, own.memory(256), 7};
  cu::Kernel *kernel = get_kernel();
  int value = 0;
  for (int round = 0; round < 3; round++) {
    CHECK(driver.cuMemAllocFromPoolAsync(&operands.source, 256, pool, stream) == 0);
    CHECK(operands.source % 256 == 0);
    CHECK(driver.cuMemsetD32Async(operands.source, 3, 64, stream) == 0);
    CHECK(launch(kernel, operands, stream) == 0);
    CHECK(driver.cuMemFreeAsync(operands.source, stream) == 0);
    CHECK(driver.cuMemcpyDtoHAsync_v2(&value, operands.target, 4, stream) == 0);
    CHECK(driver.cuStreamSynchronize(stream) == 0);
    CHECK(value == 10);
  }
  // Two at a time are apart.
  cu::Pointer one = 0, other = 0;
  CHECK(driver.cuMemAllocFromPoolAsync(&one, 4096, pool, stream) == 0);
  CHECK(driver.cuMemAllocFromPoolAsync(&other, 4096, pool, own.stream()) == 0);
  CHECK((one + 4096 <= other || other + 4096 <= one));
  CHECK(driver.cuMemFreeAsync(one, stream) == 0);
  CHECK(driver.cuMemFreeAsync(other, stream) == 0);
  CHECK(driver.cuMemAllocFromPoolAsync(&one, 16, pool, nullptr) == 0); // the legacy stream
  CHECK(driver.cuMemFreeAsync(one, nullptr) == 0);
  CHECK(driver.cuCtxSynchronize() == 0);
  CHECK(driver.cuMemPoolTrimTo(pool, 0) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("what was allocated from a pool outlives it") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pool *pool = make_pool();
  cu::Pointer memory = 0;
  int value = 0;
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 256, pool, stream) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
  CHECK(driver.cuMemsetD32Async(memory, 3, 4, stream) == 0);
  CHECK(driver.cuMemcpyDtoHAsync_v2(&value, memory, 4, stream) == 0);
  CHECK(driver.cuMemFreeAsync(memory, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(value == 3);
}

TEST_CASE("memory on a stream needs no current context, on a default stream it does") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pool *pool = make_pool();
  std::thread([&] {
    cu::Pointer memory = 0;
    CHECK(driver.cuMemAllocFromPoolAsync(&memory, 256, pool, stream) == 0);
    CHECK(driver.cuMemFreeAsync(memory, stream) == 0);
    CHECK(driver.cuMemAllocFromPoolAsync(&memory, 256, pool, nullptr) == 201);
    CHECK(driver.cuMemFreeAsync(memory, nullptr) == 201);
  }).join();
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("what pools refuse") {
  Own own;
  cu::Stream *stream = own.stream();
  cu::Pool *pool = nullptr, *default_pool = nullptr;
  cu::Pointer memory = 0;
  auto made_with = [&](auto change) {
    cu::PoolProperties properties = pool_properties();
    change(properties);
    return driver.cuMemPoolCreate(&pool, &properties);
  };
  using Properties = cu::PoolProperties;
  CHECK(made_with([](Properties &p) { p.allocation = 0; }) == 1);
  CHECK(made_with([](Properties &p) { p.reserved[53] = 1; }) == 1);
  CHECK(made_with([](Properties &p) { p.location.id = 1000; }) != 0);
  CHECK(made_with([](Properties &p) { p.location.kind = 0; }) != 0);
  CHECK(driver.cuDeviceGetDefaultMemPool(&default_pool, 0) == 0);
  CHECK(driver.cuMemPoolDestroy(default_pool) == 1);
  pool = make_pool();
  CHECK(driver.cuMemAllocFromPoolAsync(nullptr, 16, pool, stream) == 1);
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, std::size_t(1) << 50, pool, stream) == 2);
  CHECK(driver.cuMemFreeAsync(64, stream) == 1);
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 16, pool, stream) == 0); // harmed by none of it
  CHECK(driver.cuMemFreeAsync(memory, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("a pool outlives its device's contexts" * doctest::skip()) {
  cu::Pool *pool = nullptr;
  cu::Context *primary = nullptr, *popped = nullptr;
  auto use = [&] {
    cu::Pointer memory = 0;
    int value = 0;
    CHECK(driver.cuMemAllocFromPoolAsync(&memory, 4096, pool, nullptr) == 0);
    CHECK(driver.cuMemsetD32Async(memory, 3, 4, nullptr) == 0);
    CHECK(driver.cuMemcpyDtoHAsync_v2(&value, memory, 4, nullptr) == 0);
    CHECK(driver.cuMemFreeAsync(memory, nullptr) == 0);
    CHECK(driver.cuStreamSynchronize(nullptr) == 0);
    CHECK(value == 3);
  };
  {
    Own own;
    pool = make_pool();
    use();
  }
  {
    Own own;
    use();
  }
  for (int round = 0; round < 2; round++) {
    REQUIRE(driver.cuDevicePrimaryCtxRetain(&primary, 0) == 0);
    REQUIRE(driver.cuCtxPushCurrent_v2(primary) == 0);
    use();
    REQUIRE(driver.cuCtxPopCurrent_v2(&popped) == 0);
    REQUIRE(driver.cuDevicePrimaryCtxReset_v2(0) == 0);
  }
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("a process of its own for a pool that outlives contexts") {
  CHECK(holds_alone("a pool outlives its device's contexts"));
}

namespace {

constexpr int global = 0, thread_local_mode = 1, relaxed = 2;

struct Capture {
  explicit Capture(Own &own, int mode = global, unsigned flags = 0) : stream(own.stream(flags)) {
    REQUIRE(driver.cuStreamBeginCapture_v2(stream, mode) == 0);
  }
  int end() { return driver.cuStreamEndCapture(stream, &graph); }
  int status() {
    int result = -1;
    CHECK(driver.cuStreamIsCapturing(stream, &result) == 0);
    return result;
  }
  cu::Stream *stream;
  cu::Graph *graph = nullptr;
};

} // namespace

TEST_CASE("a graph does what was captured, as often as it is launched") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  Operands up = {own.memory(256), own.memory(256)}, back = {up.target, up.source};
  Capture capture(own);
  CHECK(capture.status() == 1);
  CHECK(launch(kernel, up, capture.stream) == 0);
  CHECK(launch(kernel, back, capture.stream) == 0);
  CHECK(driver.cuMemsetD32Async(up.target, 77, 1, capture.stream) == 0);
  CHECK(capture.end() == 0);
  REQUIRE(capture.graph);
  CHECK(capture.status() == 0);
  std::size_t nodes = 0;
  CHECK(driver.cuGraphGetNodes(capture.graph, nullptr, &nodes) == 0);
  CHECK(nodes == 3);
  int value = -1;
  CHECK(driver.cuMemcpyDtoH_v2(&value, up.source, 4) == 0);
  CHECK(value == 0); // nothing has run
  cu::GraphExec *exec = nullptr;
  CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, 0) == 0);
  CHECK(driver.cuGraphDestroy(capture.graph) == 0);
  for (int i = 0; i < 3; i++)
    CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
  CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
  CHECK(driver.cuMemcpyDtoH_v2(&value, up.source, 4) == 0);
  CHECK(value == 6);
  CHECK(driver.cuMemcpyDtoH_v2(&value, up.target, 4) == 0);
  CHECK(value == 77);
  CHECK(driver.cuGraphExecDestroy(exec) == 0);
}

TEST_CASE("memory in a graph has one address, and is there from node to node") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  cu::Pool *pool = make_pool();
  Operands operands = {0, own.memory(256), 7};
  int value = 0;
  for (bool from_pool : {false, true}) {
    CAPTURE(from_pool);
    CHECK(driver.cuMemsetD8_v2(operands.target, 0, 256) == 0);
    Capture capture(own);
    CHECK((from_pool ? driver.cuMemAllocFromPoolAsync(&operands.source, 256, pool, capture.stream)
                     : driver.cuMemAllocAsync(&operands.source, 256, capture.stream)) == 0);
    CHECK(operands.source % 256 == 0);
    CHECK(driver.cuMemsetD32Async(operands.source, 3, 64, capture.stream) == 0);
    CHECK(launch(kernel, operands, capture.stream) == 0);
    CHECK(driver.cuMemFreeAsync(operands.source, capture.stream) == 0);
    CHECK(driver.cuMemFreeAsync(operands.source, capture.stream) == 1); // once in a graph
    CHECK(capture.end() == 0);
    REQUIRE(capture.graph);
    std::size_t nodes = 0;
    CHECK(driver.cuGraphGetNodes(capture.graph, nullptr, &nodes) == 0);
    CHECK(nodes == 4);
    cu::GraphExec *exec = nullptr, *second = nullptr;
    CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, 0) == 0);
    CHECK(driver.cuGraphInstantiateWithFlags(&second, capture.graph, 0) != 0); // one at a time
    for (int i = 0; i < 2; i++) {
      CHECK(driver.cuMemsetD8_v2(operands.target, 0, 256) == 0);
      CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
      CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
      CHECK(driver.cuMemcpyDtoH_v2(&value, operands.target, 4) == 0);
      CHECK(value == 10);
    }
    CHECK(driver.cuGraphDestroy(capture.graph) == 0);
    CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
    CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
    CHECK(driver.cuGraphExecDestroy(exec) == 0);
  }
  CHECK(driver.cuMemPoolDestroy(pool) == 0);
}

TEST_CASE("memory that a graph does not free is there until somebody else does") {
  Own own;
  cu::Pointer memory = 0;
  Capture capture(own);
  CHECK(driver.cuMemAllocAsync(&memory, 256, capture.stream) == 0);
  CHECK(driver.cuMemsetD32Async(memory, 3, 64, capture.stream) == 0);
  CHECK(capture.end() == 0);
  cu::GraphExec *exec = nullptr;
  int value = 0;
  CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, 0) == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
    CHECK(driver.cuMemcpyDtoHAsync_v2(&value, memory, 4, capture.stream) == 0);
    CHECK(driver.cuMemFreeAsync(memory, capture.stream) == 0);
    CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
    CHECK(value == 3);
  }
  CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
  CHECK(driver.cuGraphLaunch(exec, capture.stream) != 0); // it is there already
  CHECK(driver.cuMemFreeAsync(memory, capture.stream) == 0);
  CHECK(driver.cuGraphExecDestroy(exec) == 0);
  CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, cu::free_on_launch) == 0);
  CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
  CHECK(driver.cuGraphLaunch(exec, capture.stream) == 0);
  CHECK(driver.cuMemFreeAsync(memory, capture.stream) == 0);
  CHECK(driver.cuStreamSynchronize(capture.stream) == 0);
}

TEST_CASE("a capture frees what a graph allocates, and that is no part of another graph") {
  Own own;
  cu::Pointer outside = 0, inside = 0;
  cu::Stream *stream = own.stream();
  SUBCASE("not what was allocated before") {
    CHECK(driver.cuMemAllocAsync(&outside, 256, stream) == 0);
    CHECK(driver.cuStreamSynchronize(stream) == 0);
    Capture capture(own);
    CHECK(driver.cuMemFreeAsync(outside, capture.stream) == 1);
    capture.end();
  }
  SUBCASE("nor is it launched into a capture") {
    Capture capture(own);
    CHECK(driver.cuMemAllocAsync(&inside, 256, capture.stream) == 0);
    CHECK(driver.cuMemFreeAsync(inside, capture.stream) == 0);
    CHECK(capture.end() == 0);
    cu::GraphExec *exec = nullptr;
    CHECK(driver.cuGraphInstantiateWithFlags(&exec, capture.graph, 0) == 0);
    Capture other(own);
    CHECK(driver.cuGraphLaunch(exec, other.stream) != 0);
    other.end();
  }
}

TEST_CASE("a launch that may start before the one in front of it is done") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  cu::Stream *stream = own.stream();
  Operands up = {own.memory(256), own.memory(256)}, back = {up.target, up.source};
  // These kernels do not wait for each other themselves; but then they do not let the next one
  // start, either, before they are done.
  auto launch_early = [&](const Operands &operands) {
    Operands values = operands;
    void *parameters[] = {&values.source, &values.target, &values.n};
    cu::LaunchAttribute attribute = {};
    attribute.id = cu::LaunchAttribute::programmatic_serialization;
    attribute.value.may_start_early = 1;
    cu::LaunchConfig config = {1, 1, 1, 64, 1, 1, 0, stream, &attribute, 1};
    return driver.cuLaunchKernelEx(&config, kernel, parameters, nullptr);
  };
  CHECK(launch_early(up) == 0);
  CHECK(launch_early(back) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
  int version = 0;
  REQUIRE(driver.cuDriverGetVersion(&version) == 0);
  if (version < 12030)
    return; // cannot be captured
  cu::Graph *graph = nullptr;
  cu::GraphExec *exec = nullptr;
  REQUIRE(driver.cuStreamBeginCapture_v2(stream, global) == 0);
  CHECK(launch_early(up) == 0);
  CHECK(launch_early(back) == 0);
  CHECK(driver.cuStreamEndCapture(stream, &graph) == 0);
  CHECK(driver.cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
  CHECK(driver.cuGraphLaunch(exec, stream) == 0);
  CHECK(driver.cuStreamSynchronize(stream) == 0);
}

TEST_CASE("what a capture does not allow") {
  Own own;
  cu::Pointer memory = 0;
  SUBCASE("allocating") {
    cu::Kernel *kernel = get_kernel();
    Capture capture(own);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 900);
    CHECK(capture.status() == 2);
    CHECK(launch(kernel, {0, 0}, capture.stream) == 901);
    CHECK(capture.end() == 901);
    CHECK(capture.graph == nullptr);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 0);
  }
  SUBCASE("allocating is allowed in the relaxed mode") {
    Capture capture(own, relaxed);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 0);
    CHECK(capture.end() == 0);
  }
  SUBCASE("or by a thread that says so") {
    Capture capture(own);
    int mode = relaxed;
    CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
    CHECK(mode == global);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == 0);
    CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
    CHECK(mode == relaxed);
    CHECK(capture.end() == 0);
  }
  SUBCASE("waiting for the stream") {
    Capture capture(own);
    CHECK(driver.cuStreamSynchronize(capture.stream) == 900);
    CHECK(capture.end() == 901);
  }
  SUBCASE("asking about the stream") {
    Capture capture(own, relaxed);
    CHECK(driver.cuStreamQuery(capture.stream) == 900);
    CHECK(capture.end() == 901);
  }
  SUBCASE("asking for the stream's device, but not for its context") {
    Capture capture(own, relaxed);
    cu::Context *context = nullptr;
    cu::Device device = -1;
    CHECK(driver.cuStreamGetCtx(capture.stream, &context) == 0);
    CHECK(context == own.context);
    bool may_ask = driver.cuStreamGetDevice != nullptr;
    if (may_ask)
      CHECK(driver.cuStreamGetDevice(capture.stream, &device) == 900);
    CHECK(capture.end() == (may_ask ? 901 : 0));
  }
  SUBCASE("waiting for the context") {
    Capture capture(own, relaxed);
    CHECK(driver.cuCtxSynchronize() == 900);
    CHECK(capture.end() == 901);
  }
  SUBCASE("using the legacy stream") {
    cu::Kernel *kernel = get_kernel();
    Operands operands = {own.memory(256), own.memory(256)};
    Capture capture(own);
    int status = -1;
    CHECK(driver.cuStreamIsCapturing(nullptr, &status) == 906);
    CHECK(capture.status() == 1); // asking is harmless
    CHECK(launch(kernel, operands) == 906);
    CHECK(capture.end() == 901);
  }
  SUBCASE("beside a stream that does not wait for the legacy stream it may be used") {
    cu::Kernel *kernel = get_kernel();
    Operands operands = {own.memory(256), own.memory(256)};
    Capture capture(own, global, 1);
    CHECK(launch(kernel, operands) == 0);
    CHECK(capture.end() == 0);
  }
  SUBCASE("copying at once") {
    cu::Pointer there = own.memory(256);
    Capture capture(own, relaxed);
    int value = 0;
    CHECK(driver.cuMemcpyHtoD_v2(there, &value, 4) == 906);
    CHECK(capture.end() == 901);
  }
  SUBCASE("capturing the legacy stream") {
    CHECK(driver.cuStreamBeginCapture_v2(nullptr, global) == 900);
  }
  SUBCASE("capturing twice, ending none") {
    Capture capture(own);
    CHECK(driver.cuStreamBeginCapture_v2(capture.stream, global) == 401);
    CHECK(capture.end() == 0);
    CHECK(capture.end() == 401);
    CHECK(driver.cuStreamBeginCapture_v2(capture.stream, 17) == 1);
  }
  SUBCASE("another thread allocates") {
    for (int mode : {global, thread_local_mode}) {
      CAPTURE(mode);
      Capture capture(own, mode);
      int result = -1;
      std::thread([&] {
        driver.cuCtxSetCurrent(own.context);
        result = driver.cuMemAlloc_v2(&memory, 16);
      }).join();
      CHECK(result == (mode == global ? 900 : 0));
      CHECK(capture.end() == (mode == global ? 901 : 0));
    }
  }
  SUBCASE("another thread ends it") {
    Capture capture(own, thread_local_mode);
    int result = -1;
    std::thread([&] {
      driver.cuCtxSetCurrent(own.context);
      result = driver.cuStreamEndCapture(capture.stream, &capture.graph);
    }).join();
    CHECK(result == 908);
    capture.end();
  }
}

TEST_CASE("which calls a capture in the strictest mode survives") {
  struct Scene {
    Own own;
    cu::Kernel *kernel = get_kernel();
    cu::Library *library = load("add");
    cu::Pointer memory = own.memory(256);
    cu::Stream *other = own.stream();
    cu::Event *event = own.event();
    int value = 0;
    std::size_t bytes = 0;
    void *host = nullptr;
    cu::Context *context = nullptr;
    cu::Module *module = nullptr;
    cu::Kernel *function = nullptr;
    cu::Graph *graph = nullptr;
    cu::Pool *pool = nullptr;
    cu::Pointer in_order = allocated_in_order(other);
  };
  const struct {
    const char *name;
    int result;
    int (*call)(Scene &);
  } rows[] = {
      {"cuLibraryLoadData", 0,
       [](Scene &s) {
         return driver.cuLibraryLoadData(&s.library, code_of("add"), nullptr, nullptr, 0, nullptr,
                                         nullptr, 0);
       }},
      {"cuLibraryGetKernel", 0,
       [](Scene &s) { return driver.cuLibraryGetKernel(&s.function, s.library, "add"); }},
      {"cuLibraryUnload", 900, [](Scene &s) { return driver.cuLibraryUnload(s.library); }},
      {"cuModuleLoadData", 0,
       [](Scene &s) { return driver.cuModuleLoadData(&s.module, code_of("add")); }},
      {"cuKernelGetFunction", 0,
       [](Scene &s) { return driver.cuKernelGetFunction(&s.function, s.kernel); }},
      {"cuKernelSetAttribute", 0,
       [](Scene &s) { return driver.cuKernelSetAttribute(8, 60000, s.kernel, 0); }},
      {"cuMemAllocHost", 900, [](Scene &s) { return driver.cuMemAllocHost_v2(&s.host, 64); }},
      {"cuMemFree", 900, [](Scene &s) { return driver.cuMemFree_v2(s.memory); }},
      {"cuMemGetInfo", 0, [](Scene &s) { return driver.cuMemGetInfo_v2(&s.bytes, &s.bytes); }},
      {"cuMemcpyHtoD", 906, [](Scene &s) { return driver.cuMemcpyHtoD_v2(s.memory, &s.value, 4); }},
      {"cuEventQuery", 900, [](Scene &s) { return driver.cuEventQuery(s.event); }},
      {"cuEventSynchronize", 900, [](Scene &s) { return driver.cuEventSynchronize(s.event); }},
      {"cuEventCreate", 0, [](Scene &s) { return driver.cuEventCreate(&s.event, 0); }},
      {"cuEventDestroy", 0, [](Scene &s) { return driver.cuEventDestroy_v2(s.event); }},
      {"cuEventRecord elsewhere", 0,
       [](Scene &s) { return driver.cuEventRecord(s.event, s.other); }},
      {"cuEventRecord on the legacy stream", 906,
       [](Scene &s) { return driver.cuEventRecord(s.event, nullptr); }},
      {"cuStreamQuery elsewhere", 900, [](Scene &s) { return driver.cuStreamQuery(s.other); }},
      {"cuStreamSynchronize elsewhere", 900,
       [](Scene &s) { return driver.cuStreamSynchronize(s.other); }},
      {"cuStreamSynchronize of the legacy stream", 906,
       [](Scene &) { return driver.cuStreamSynchronize(nullptr); }},
      {"cuCtxSynchronize", 900, [](Scene &) { return driver.cuCtxSynchronize(); }},
      {"cuStreamCreate", 0, [](Scene &s) { return driver.cuStreamCreate(&s.other, 0); }},
      {"cuStreamDestroy elsewhere", 0, [](Scene &s) { return driver.cuStreamDestroy_v2(s.other); }},
      {"cuStreamWaitEvent elsewhere", 0,
       [](Scene &s) { return driver.cuStreamWaitEvent(s.other, s.event, 0); }},
      {"cuGraphCreate", 0, [](Scene &s) { return driver.cuGraphCreate(&s.graph, 0); }},
      {"cuPointerGetAttribute", 0,
       [](Scene &s) { return driver.cuPointerGetAttribute(&s.value, 9, s.memory); }},
      {"cuCtxSetLimit", 900, [](Scene &) { return driver.cuCtxSetLimit(0, 2048); }},
      {"cuMemPoolCreate", 900,
       [](Scene &s) {
         cu::PoolProperties properties = pool_properties();
         return driver.cuMemPoolCreate(&s.pool, &properties);
       }},
      {"cuMemAllocAsync elsewhere", 900,
       [](Scene &s) { return driver.cuMemAllocAsync(&s.memory, 64, s.other); }},
      {"cuMemFreeAsync elsewhere", 900,
       [](Scene &s) { return driver.cuMemFreeAsync(s.in_order, s.other); }},
      {"cuMemAllocAsync on the legacy stream", 906,
       [](Scene &s) { return driver.cuMemAllocAsync(&s.memory, 64, nullptr); }},
      {"cuMemsetD8Async elsewhere", 0,
       [](Scene &s) { return driver.cuMemsetD8Async(s.memory, 0, 1, s.other); }},
  };
  // That code is loaded came with CUDA 12.3.
  for (auto &row : rows) {
    CAPTURE(std::string(row.name));
    Scene scene;
    Capture capture(scene.own);
    CHECK(row.call(scene) == row.result);
    CHECK(capture.end() == (row.result ? 901 : 0));
  }
}

TEST_CASE(
    "a thread that says it knows may allocate in the order of another stream than the captured") {
  Own own;
  cu::Stream *other = own.stream();
  cu::Pool *pool = make_pool();
  Capture capture(own);
  int mode = relaxed;
  CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  cu::Pointer memory = 0;
  CHECK(driver.cuMemAllocFromPoolAsync(&memory, 64, pool, other) == 0);
  CHECK(driver.cuMemFreeAsync(memory, other) == 0);
  CHECK(driver.cuThreadExchangeStreamCaptureMode(&mode) == 0);
  CHECK(capture.end() == 0);
  CHECK(driver.cuStreamSynchronize(other) == 0);
}

TEST_CASE("waiting for a captured event") {
  Own own;
  cu::Event *event = own.event();
  Capture capture(own, relaxed);
  CHECK(driver.cuEventRecord(event, capture.stream) == 0);
  CHECK(driver.cuEventSynchronize(event) == 907);
  CHECK(capture.end() == 901);
}

TEST_CASE("a capture spreads to other streams by events") {
  Own own;
  cu::Kernel *kernel = get_kernel();
  Operands operands = {own.memory(256), own.memory(256)};
  cu::Stream *side = own.stream();
  cu::Event *fork = own.event(2), *join = own.event(2);
  SUBCASE("and comes back") {
    Capture capture(own);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuStreamWaitEvent(side, fork, 0) == 0);
    int status = -1;
    CHECK(driver.cuStreamIsCapturing(side, &status) == 0);
    CHECK(status == 1);
    CHECK(launch(kernel, operands, side) == 0);
    CHECK(driver.cuEventRecord(join, side) == 0);
    CHECK(driver.cuStreamWaitEvent(capture.stream, join, 0) == 0);
    CHECK(capture.end() == 0);
    std::size_t nodes = 0;
    CHECK(driver.cuGraphGetNodes(capture.graph, nullptr, &nodes) == 0);
    CHECK(nodes == 1);
    CHECK(driver.cuStreamIsCapturing(side, &status) == 0);
    CHECK(status == 0);
  }
  SUBCASE("or doesn't") {
    Capture capture(own);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuStreamWaitEvent(side, fork, 0) == 0);
    CHECK(launch(kernel, operands, side) == 0);
    CHECK(capture.end() == 904);
  }
  SUBCASE("or is ended where it didn't begin") {
    Capture capture(own);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuStreamWaitEvent(side, fork, 0) == 0);
    cu::Graph *graph = nullptr;
    CHECK(driver.cuStreamEndCapture(side, &graph) == 903);
    CHECK(capture.end() == 901);
  }
  SUBCASE("or meets another one") {
    Capture capture(own), other(own);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuStreamWaitEvent(other.stream, fork, 0) == 902);
    CHECK(capture.end() == 901);
    CHECK(other.end() == 901);
  }
  SUBCASE("or work that it can't contain") {
    CHECK(driver.cuEventRecord(fork, side) == 0);
    Capture capture(own);
    CHECK(driver.cuStreamWaitEvent(capture.stream, fork, 0) == 905);
    CHECK(capture.end() == 901);
  }
  SUBCASE("and its events can't be waited for") {
    Capture capture(own, relaxed);
    CHECK(driver.cuEventRecord(fork, capture.stream) == 0);
    CHECK(driver.cuEventQuery(fork) == 907);
    CHECK(capture.end() == 901);
  }
}

TEST_CASE("tensor maps") {
  Own own;
  cu::Pointer memory = own.memory(1 << 16);
  static constexpr int f16 = 6, swizzle_128 = 3;
  std::uint64_t sizes[] = {64, 64}, strides[] = {128};
  std::uint32_t box[] = {64, 32}, steps[] = {1, 1};
  auto encode = [&](cu::Pointer address, int rank, int type = 6, int swizzle = 3, int fill = 0) {
    cu::TensorMapBytes map;
    return driver.cuTensorMapEncodeTiled(&map, type, std::uint32_t(rank),
                                         reinterpret_cast<void *>(address), sizes, strides, box,
                                         steps, 0, swizzle, 0, fill);
  };
  CHECK(encode(memory, 2) == 0);
  CHECK(encode(memory, 2, f16, 0) == 0);
  CHECK(encode(memory + 8, 2) == 1);
  CHECK(encode(0, 2) == 0);
  CHECK(encode(memory, 0) == 1);
  CHECK(encode(memory, 6) == 1);
  CHECK(encode(memory, 2, 99) == 1);
  CHECK(encode(memory, 2, f16, 9) == 1);
  CHECK(encode(memory, 2, f16, swizzle_128, 1) == 0);
  CHECK(encode(memory, 2, 2, swizzle_128, 1) == 1); // NaN for integers
  auto refused = [&](auto change) {
    change();
    int result = encode(memory, 2);
    sizes[0] = sizes[1] = 64;
    strides[0] = 128;
    box[0] = 64;
    box[1] = 32;
    steps[0] = steps[1] = 1;
    return result == 1;
  };
  CHECK(refused([&] { sizes[0] = 0; }));
  CHECK(refused([&] { sizes[1] = (std::uint64_t(1) << 32) + 1; }));
  CHECK(refused([&] { strides[0] = 120; }));
  CHECK(refused([&] { strides[0] = std::uint64_t(1) << 40; }));
  CHECK(refused([&] { box[0] = 0; }));
  CHECK(refused([&] { box[1] = 257; }));
  CHECK(refused([&] { box[0] = 128; })); // 256 bytes, swizzled by 128
  CHECK(refused([&] { box[0] = 4; }));   // 8 bytes
  CHECK(refused([&] { steps[0] = 0; }));
  CHECK(refused([&] { steps[1] = 9; }));
  CHECK(encode(memory, 2) == 0);
}

TEST_CASE("a context that another thread destroys") {
  Own own;
  cu::Pointer memory = own.memory(16);
  int alloc = -1, device = -1, get = -1, push = -1, set = -1, synchronize = -1;
  std::atomic<int> step{0};
  std::thread other([&] {
    cu::Context *current = nullptr;
    driver.cuCtxSetCurrent(own.context);
    step = 1;
    while (step != 2)
      std::this_thread::yield();
    get = driver.cuCtxGetCurrent(&current);
    cu::Device ordinal = 0;
    device = driver.cuCtxGetDevice(&ordinal);
    alloc = driver.cuMemAlloc_v2(&memory, 16);
    synchronize = driver.cuCtxSynchronize();
    set = driver.cuCtxSetCurrent(own.context);
    push = driver.cuCtxPushCurrent_v2(own.context);
  });
  while (step != 1)
    std::this_thread::yield();
  CHECK(driver.cuCtxDestroy_v2(own.context) == 0);
  step = 2;
  other.join();
  own.context = nullptr;
  CHECK(get == 0);
  CHECK(device == 0);
  CHECK(alloc == 709);
  CHECK(synchronize == 709);
  CHECK(set == 0);
  CHECK(push == 0);
}

TEST_CASE("code that is none") {
  Own own;
  cu::Library *library = nullptr;
  cu::Module *module = nullptr;
  static const char text[] = "swim backwards and nothing else";
  int result = driver.cuLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
  CHECK(result == (is_real ? 0 : 200)); // the driver looks at it later
  CHECK(driver.cuModuleLoadData(&module, text) == 200);
  static const char elf[256] = "\177ELF\2\1\1";
  CHECK(driver.cuModuleLoadData(&module, elf) == 200);
  result = driver.cuLibraryLoadData(&library, elf, nullptr, nullptr, 0, nullptr, nullptr, 0);
  CHECK(result == (is_real ? 0 : 200));
}

// ---- what ends in ruins ----

namespace {

/// All that still concerns the device says the same, for good.
void check_ruined(int fault, cu::Kernel *kernel, const Operands &operands, cu::Stream *stream,
                  cu::Event *event) {
  cu::Pointer memory = 0;
  int value = 0;
  void *host = nullptr;
  std::size_t bytes = 0;
  cu::Stream *other = nullptr;
  cu::Event *another = nullptr;
  cu::Context *context = nullptr;
  cu::Library *library = nullptr;
  cu::Module *module = nullptr;
  cu::Kernel *function = nullptr;
  float milliseconds = 0;
  for (int round = 0; round < 2; round++) {
    CHECK(driver.cuCtxSynchronize() == fault);
    CHECK(driver.cuStreamSynchronize(stream) == fault);
    CHECK(driver.cuStreamQuery(stream) == fault);
    CHECK(launch(kernel, operands) == fault);
    CHECK(driver.cuMemAlloc_v2(&memory, 16) == fault);
    CHECK(driver.cuMemFree_v2(operands.target) == fault);
    CHECK(driver.cuMemcpyDtoH_v2(&value, operands.target, 4) == fault);
    CHECK(driver.cuMemsetD8_v2(operands.target, 0, 4) == fault);
    CHECK(driver.cuMemsetD8Async(operands.target, 0, 4, stream) == fault);
    CHECK(driver.cuMemAllocHost_v2(&host, 16) == fault);
    CHECK(driver.cuMemGetInfo_v2(&bytes, &bytes) == fault);
    CHECK(driver.cuStreamCreate(&other, 0) == fault);
    CHECK(driver.cuEventCreate(&another, 0) == fault);
    CHECK(driver.cuEventRecord(event, stream) == fault);
    CHECK(driver.cuEventQuery(event) == fault);
    CHECK(driver.cuEventSynchronize(event) == fault);
    CHECK(driver.cuEventElapsedTime(&milliseconds, event, event) == fault);
    CHECK(driver.cuStreamWaitEvent(stream, event, 0) == fault);
    CHECK(driver.cuStreamBeginCapture_v2(stream, 0) == fault);
    CHECK(driver.cuModuleLoadData(&module, code_of("add")) == fault);
    CHECK(driver.cuKernelGetFunction(&function, kernel) == fault);
    CHECK(driver.cuStreamGetCtx(stream, &context) == fault);
    CHECK(driver.cuCtxCreate_v2(&context, 0, 0) == fault);
  }
  // What concerns it not goes on.
  CHECK(driver.cuCtxGetCurrent(&context) == 0);
  CHECK(driver.cuCtxGetDevice(&value) == 0);
  CHECK(driver.cuDeviceGetCount(&value) == 0);
  CHECK(driver.cuKernelGetAttribute(&value, 0, kernel, 0) == 0);
  CHECK(driver.cuKernelSetAttribute(8, 60000, kernel, 0) == 0);
  CHECK(driver.cuPointerGetAttribute(&value, 9, operands.target) == 0);
  CHECK(driver.cuLibraryLoadData(&library, code_of("add"), nullptr, nullptr, 0, nullptr, nullptr,
                                 0) == 0);
  CHECK(driver.cuLibraryUnload(library) == 0);
  CHECK(driver.cuEventDestroy_v2(event) == fault);
  CHECK(driver.cuStreamDestroy_v2(stream) == fault);
}

void ruin(int fault, std::size_t offset) {
  REQUIRE(driver.cuInit(0) == 0);
  cu::Context *context = nullptr;
  REQUIRE(driver.cuDevicePrimaryCtxRetain(&context, 0) == 0);
  REQUIRE(driver.cuCtxSetCurrent(context) == 0);
  cu::Kernel *kernel = get_kernel();
  cu::Stream *stream = nullptr;
  Operands operands = {0, 0};
  cu::Event *event = nullptr;
  REQUIRE(driver.cuStreamCreate(&stream, 0) == 0);
  REQUIRE(driver.cuEventCreate(&event, 0) == 0);
  REQUIRE(driver.cuMemAlloc_v2(&operands.source, 4096) == 0);
  REQUIRE(driver.cuMemAlloc_v2(&operands.target, 4096) == 0);
  REQUIRE(driver.cuMemsetD8_v2(operands.source, 0, 4096) == 0);
  REQUIRE(driver.cuCtxSynchronize() == 0);
  Operands wrong = operands;
  wrong.source = offset < 4096 ? operands.source + offset : offset;
  CHECK(launch(kernel, wrong) == 0); // it shows later
  CHECK(driver.cuCtxSynchronize() == fault);
  check_ruined(fault, kernel, operands, stream, event);
  CHECK(driver.cuCtxSetCurrent(nullptr) == 0);
  CHECK(driver.cuDevicePrimaryCtxReset_v2(0) == 0);
  int again = driver.cuDevicePrimaryCtxRetain(&context, 0);
  std::printf("retained after %d: %d\n", fault, again);
  CHECK(again != 0);
}

} // namespace

TEST_CASE("an address that there isn't" * doctest::skip()) { ruin(700, 1 << 20); }
TEST_CASE("an address that is not aligned" * doctest::skip()) { ruin(716, 2); }

TEST_CASE("the child of a fork" * doctest::skip()) {
  Own own;
  cu::Kernel *kernel = get_kernel();
  Operands operands = {own.memory(256), own.memory(256)};
  cu::Stream *stream = own.stream();
  REQUIRE(launch(kernel, operands, stream) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int count = 0;
    cu::Pointer memory = 0;
    cu::Device device = 0;
    bool refused = launch(kernel, operands, stream) == 3 && launch(kernel, operands) == 3 &&
                   driver.cuCtxGetDevice(&device) == 3 && driver.cuMemAlloc_v2(&memory, 16) == 3 &&
                   driver.cuDeviceGetCount(&count) == 3 && driver.cuInit(0) == 3;
    _exit(refused ? 0 : 1);
  }
  int state = -1;
  REQUIRE(waitpid(child, &state, 0) == child);
  CHECK(state == 0);
  own.memory(16);
}

TEST_CASE("what ends in ruins, each in a process of its own") {
  CHECK(holds_alone("an address that there isn't"));
  CHECK(holds_alone("an address that is not aligned"));
  CHECK(holds_alone("the child of a fork"));
}

int main(int count, char **arguments) {
  for (int i = 1; i < count; i++)
    is_real = is_real || std::strcmp(arguments[i], "--real") == 0;
  setenv("TRITONC_EMULATOR", "report=/dev/null", 0);
  const char *name = is_real ? "libcuda.so.1" : TRITONC_EMULATOR_LIBRARY;
  void *library = dlopen(name, RTLD_NOW);
  if (!library) {
    std::printf("[SKIP] %s\n", dlerror());
    return 77;
  }
#define FUNCTION(function, symbol, since, parameters)                                              \
  driver.symbol = reinterpret_cast<decltype(driver.symbol)>(dlsym(library, #symbol));
#include "emulator/driver/functions.def"
  int devices = 0;
  if (is_real && fork() == 0)
    _exit(driver.cuInit(0) == 0 && driver.cuDeviceGetCount(&devices) == 0 && devices > 0 ? 0 : 1);
  int state = 0;
  if (is_real && (wait(&state) < 0 || state != 0)) {
    std::printf("[SKIP] no device\n");
    return 77;
  }
  return doctest::Context(count, arguments).run();
}
