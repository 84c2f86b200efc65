// See agreement.h.

#define DOCTEST_CONFIG_IMPLEMENT
#include "unit/fake_driver/agreement/agreement.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tritonc::agreement {

bool is_real = false;
cu::Functions driver;

namespace {

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

} // namespace

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

cu::Kernel *get_kernel(const char *name) {
  cu::Kernel *kernel = nullptr;
  REQUIRE(driver.cuLibraryGetKernel(&kernel, load(name), name) == 0);
  return kernel;
}

int launch(cu::Kernel *kernel, const Operands &operands, cu::Stream *stream, const Shape &shape) {
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

bool holds_alone(const char *name) {
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

} // namespace tritonc::agreement

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
#include "emulator/fake_driver/functions.def"
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
