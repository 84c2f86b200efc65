// Libraries and modules, their kernel, and its attributes.
//
// A program loads an abi::host_code instead of a cubin. It holds one kernel. Unless the caller
// preserves the code, the driver copies the struct, but not the data that it points to.

#include "library.h"

#include "../operations.h"

#include <cstring>
#include <string>
#include <utility>

namespace tritonc::emulator::driver {

namespace {

constexpr int shared_bytes_for_all = 48 * 1024;

enum FunctionAttribute {
  max_threads_per_block = 0,
  shared_size_bytes = 1,
  const_size_bytes = 2,
  local_size_bytes = 3,
  num_regs = 4,
  ptx_version = 5,
  binary_version = 6,
  cache_mode_ca = 7,
  max_dynamic_shared_size_bytes = 8,
  preferred_shared_memory_carveout = 9,
  cluster_size_must_be_set = 10,
  required_cluster_width = 11,
  required_cluster_height = 12,
  required_cluster_depth = 13,
  non_portable_cluster_size_allowed = 14,
  cluster_scheduling_policy_preference = 15,
  last_attribute = cluster_scheduling_policy_preference,
};

/// Describes data that is not host code, for the report.
std::string describe(const void *code) {
  const char *bytes = static_cast<const char *>(code);
  if (std::memcmp(bytes, "\177ELF", 4) == 0)
    return "a cubin";
  if (std::memcmp(bytes, "\x50\xed\x55\xba", 4) == 0 ||
      std::memcmp(bytes, "\xb1\x43\x62\x46", 4) == 0)
    return "a fat binary";
  return "code of an unknown format";
}

/// Checks that the emulator can run the code on some device; if not, writes the reason to the
/// report.
Result check(const void *bytes, const abi::host_code *&code) {
  if (!bytes)
    return invalid_value;
  if (std::memcmp(bytes, abi::host_code_magic, sizeof abi::host_code_magic) != 0) {
    report("tritonc emulator: cannot load " + describe(bytes) +
           ": compile the kernels with EMULATE ON");
    return invalid_image;
  }
  code = static_cast<const abi::host_code *>(bytes);
  if (code->version != abi::host_code_version) {
    report("tritonc emulator: cannot load host code of version " + std::to_string(code->version) +
           ": the emulator supports version " + std::to_string(abi::host_code_version));
    return invalid_image;
  }
  bool is_sane = code->entry && code->name && code->gpu && code->threads >= 1 &&
                 code->threads <= 1024 && code->cluster_size >= 1;
  if (!is_sane)
    return invalid_image;
  for (std::uint32_t i = 0; i < code->operation_count; i++) {
    if (find_operation(code->operations[i]))
      continue;
    report("tritonc emulator: `" + std::string(code->name) + "`: unknown operation `" +
           code->operations[i] +
           "`: use the emulator of the TritonC version that compiled the kernel");
    return unsupported_code_version;
  }
  return success;
}

bool is_for(const abi::host_code &code, Device device) {
  return !driver().settings.fixes_gpu ||
         runs_on(code.gpu, driver().devices[std::size_t(device)]->gpu);
}

Result refuse_foreign(const abi::host_code &code, Device device) {
  if (is_for(code, device))
    return success;
  report("tritonc emulator: `" + std::string(code.name) + "` is compiled for " + code.gpu +
         ", but the device is " + driver().devices[std::size_t(device)]->gpu.architecture() +
         " (gpu in TRITONC_EMULATOR)");
  return no_binary_for_gpu;
}

Result refuse_foreign_everywhere(const abi::host_code &code) {
  for (Device device = 0; device < driver().settings.devices; device++)
    if (is_for(code, device))
      return success;
  return refuse_foreign(code, 0);
}

/// Drivers before CUDA 12.3 cannot load code during a capture.
Result refuse_to_load() {
  return driver().settings.version < 12030 ? refuse_during_capture() : success;
}

Result load(const void *bytes, bool is_preserved, Library *&library) {
  const abi::host_code *code = nullptr;
  if (Result refused = refuse_to_load())
    return refused;
  if (Result wrong = check(bytes, code))
    return wrong;
  if (Result refused = refuse_foreign_everywhere(*code))
    return refused;
  auto made = std::make_unique<Library>();
  if (!is_preserved)
    made->copy = *code;
  code = is_preserved ? code : &made->copy;
  made->code = code;
  made->kernel = std::make_unique<Kernel>(Kernel{made.get(), code, nullptr, nullptr, {}});
  driver().kernels.insert(made->kernel.get());
  library = driver().libraries.add(std::move(made));
  return success;
}

void unload(Library *library) {
  for (auto &[context, function] : library->functions)
    driver().kernels.erase(function.get());
  for (auto &[context, begin] : library->constants)
    if (const Allocation *allocation = std::as_const(driver()).find(Pointer(begin)))
      driver().release(*allocation);
  driver().kernels.erase(library->kernel.get());
  driver().libraries.remove(library);
}

/// The address of the library's constant memory in the context; it is the only global variable. It
/// is allocated on the first query. Until then the kernel uses the compiled values.
Result find_global(Pointer *memory, std::size_t *bytes, Library &library, Context &context,
                   const char *name) {
  const abi::host_code &code = *library.code;
  if (std::strcmp(name, abi::constant_block) != 0 || code.constant_bytes == 0)
    return not_found;
  std::uintptr_t &begin = library.constants[&context];
  if (!begin) {
    if (Result failed = allocate(context, code.constant_bytes, AllocationKind::device, 0, begin))
      return failed;
    auto *block = reinterpret_cast<std::byte *>(begin);
    std::memcpy(block, code.constants, code.constant_bytes);
    driver().memory().mark_initialized(block, code.constant_bytes);
  }
  if (memory)
    *memory = begin;
  if (bytes)
    *bytes = code.constant_bytes;
  return success;
}

bool is_named(const Library &library, const char *name) {
  return std::strcmp(library.code->name, name) == 0;
}

Kernel *function_in(Context &context, Library &library) {
  std::unique_ptr<Kernel> &function = library.functions[&context];
  if (!function) {
    function = std::make_unique<Kernel>(
        Kernel{&library, library.code, &context, library.kernel.get(), {}});
    driver().kernels.insert(function.get());
  }
  return function.get();
}

Result load_module(std::string_view function, Module **module, const void *code) {
  return call(function, Needs::device, [&](Context &context) -> Result {
    Library *library = nullptr;
    if (!module)
      return invalid_value;
    if (Result failed = load(code, false, library))
      return failed;
    if (Result refused = refuse_foreign(*library->code, context.device)) {
      unload(library);
      return refused;
    }
    *module = driver().modules.add(std::make_unique<Module>(Module{library, &context, true}));
    return success;
  });
}

bool is_module(const Module *module) {
  if (driver().modules.has(module))
    return true;
  bool is_one = false;
  driver().libraries.for_each([&](Library &library) {
    for (auto &[context, own] : library.modules)
      is_one = is_one || own.get() == module;
  });
  return is_one;
}

Result get_attribute(int *value, int attribute, const Kernel &kernel, Device device) {
  const abi::host_code &code = *kernel.code;
  const Gpu &gpu = driver().devices[std::size_t(device)]->gpu;
  if (!value || attribute < 0 || attribute > last_attribute)
    return invalid_value;
  switch (attribute) {
  case max_threads_per_block:
    *value = int(code.threads);
    return success;
  case ptx_version:
    *value = versions_of(code.gpu, gpu).ptx;
    return success;
  case binary_version:
    *value = versions_of(code.gpu, gpu).binary;
    return success;
  case const_size_bytes:
    *value = int(code.constant_bytes);
    return success;
  case max_dynamic_shared_size_bytes:
    *value = max_dynamic_shared_bytes(kernel, device);
    return success;
  case preferred_shared_memory_carveout:
    *value = -1;
    return success;
  case required_cluster_width:
    *value = code.cluster_size > 1 ? int(code.cluster_size) : 0;
    return success;
  case required_cluster_height:
  case required_cluster_depth:
    *value = code.cluster_size > 1;
    return success;
  default: // registers and local memory: unknown for host code
    *value = 0;
    return success;
  }
}

Result set_attribute(int attribute, int value, Kernel &kernel, Device device) {
  const Gpu &gpu = driver().devices[std::size_t(device)]->gpu;
  switch (attribute) {
  case max_dynamic_shared_size_bytes:
    if (value < 0 || value > gpu.shared_bytes_of_block)
      return invalid_value;
    kernel.dynamic_shared_bytes[device] = value;
    return success;
  case preferred_shared_memory_carveout:
    return value >= -1 && value <= 100 ? success : invalid_value;
  case required_cluster_width:
  case required_cluster_height:
  case required_cluster_depth:
    return invalid_value; // fixed at compile time
  case cluster_size_must_be_set:
  case non_portable_cluster_size_allowed:
  case cluster_scheduling_policy_preference:
    return success;
  default:
    return invalid_value;
  }
}

/// Calls `ask` with a kernel of a library; `Needs::driver`, as kernels belong to no context.
template <typename Ask> Result about_kernel(std::string_view function, Kernel *handle, Ask ask) {
  return call(function, Needs::driver, [&]() -> Result {
    Kernel *kernel = find_kernel(handle);
    return kernel && !kernel->context ? ask(*kernel) : invalid_handle;
  });
}

template <typename Ask>
Result about_kernel(std::string_view function, Kernel *handle, Device device, Ask ask) {
  return about_kernel(function, handle, [&](Kernel &kernel) -> Result {
    return driver().find_device(device) ? ask(kernel) : invalid_device;
  });
}

/// Calls `ask` with a function and its device. A kernel counts as a function of the current
/// context, as in the driver.
template <typename Ask> Result about_function(std::string_view function, Kernel *handle, Ask ask) {
  return call(function, Needs::device, [&](Context &current) -> Result {
    Kernel *kernel = find_kernel(handle);
    if (!kernel)
      return invalid_handle;
    Context &context = kernel->context ? *kernel->context : current;
    return ask(*kernel, context);
  });
}

Result parameter_info(const Kernel &kernel, std::size_t index, std::size_t *offset,
                      std::size_t *bytes) {
  std::ptrdiff_t begin = parameter_offset(*kernel.code, index);
  if (!offset || begin < 0)
    return invalid_value;
  *offset = std::size_t(begin);
  if (bytes)
    *bytes = kernel.code->parameters[index].bytes;
  return success;
}

} // namespace

Kernel *find_kernel(Kernel *handle) { return driver().kernels.count(handle) ? handle : nullptr; }

int max_dynamic_shared_bytes(const Kernel &kernel, Device device) {
  for (const Kernel *asked : {&kernel, static_cast<const Kernel *>(kernel.kernel)}) {
    if (!asked)
      continue;
    auto raised = asked->dynamic_shared_bytes.find(device);
    if (raised != asked->dynamic_shared_bytes.end())
      return raised->second;
  }
  return shared_bytes_for_all;
}

const void *constants_in(const Context &context, const Kernel &kernel) {
  const auto &constants = kernel.library->constants;
  auto found = constants.find(const_cast<Context *>(&context));
  return found == constants.end() ? nullptr : reinterpret_cast<const void *>(found->second);
}

std::ptrdiff_t parameter_offset(const abi::host_code &code, std::size_t index) {
  if (index >= code.parameter_count)
    return -1;
  std::size_t offset = 0;
  for (std::size_t i = 0;; i++) {
    std::size_t bytes = code.parameters[i].bytes;
    std::size_t alignment = bytes == sizeof(TensorMapBytes) ? alignof(TensorMapBytes)
                            : bytes > 0 && bytes <= 16 && (bytes & (bytes - 1)) == 0 ? bytes
                                                                                     : 8;
    offset = (offset + alignment - 1) / alignment * alignment;
    if (i == index)
      return std::ptrdiff_t(offset);
    offset += bytes;
  }
}

bool runs_on(const Kernel &kernel, Device device) { return is_for(*kernel.code, device); }

extern "C" {

// ---- libraries ----

Result cuLibraryLoadData(Library **library, const void *code, int *, void **, unsigned,
                         int *options, void **values, unsigned count) {
  return call("cuLibraryLoadData", Needs::driver, [&]() -> Result {
    // HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE, BINARY_IS_PRESERVED
    constexpr int last_option = 1;
    bool is_preserved = false;
    if (!library || (count != 0 && (!options || !values)))
      return invalid_value;
    for (unsigned i = 0; i < count; i++) {
      if (options[i] < 0 || options[i] > last_option)
        return invalid_value;
      is_preserved = is_preserved || (options[i] == last_option && values[i]);
    }
    return load(code, is_preserved, *library); // needs no context, so no sticky error matters
  });
}

Result cuLibraryLoadFromFile(Library **, const char *, int *, void **, unsigned, int *, void **,
                             unsigned) {
  // Host code is part of a program, never a file.
  return call("cuLibraryLoadFromFile", Needs::driver, [&]() -> Result { return invalid_image; });
}

Result cuLibraryUnload(Library *library) {
  return call("cuLibraryUnload", Needs::driver, [&]() -> Result {
    if (!driver().libraries.has(library))
      return invalid_handle;
    if (Result refused = refuse_during_capture())
      return refused;
    unload(library);
    return success;
  });
}

Result cuLibraryGetKernel(Kernel **kernel, Library *library, const char *name) {
  return call("cuLibraryGetKernel", Needs::driver, [&]() -> Result {
    if (!kernel || !name)
      return invalid_value;
    if (!driver().libraries.has(library))
      return invalid_handle;
    if (!is_named(*library, name))
      return not_found;
    *kernel = library->kernel.get();
    return success;
  });
}

Result cuLibraryGetKernelCount(unsigned *count, Library *library) {
  return call("cuLibraryGetKernelCount", Needs::driver, [&]() -> Result {
    if (!count)
      return invalid_value;
    if (!driver().libraries.has(library))
      return invalid_handle;
    *count = 1;
    return success;
  });
}

Result cuLibraryEnumerateKernels(Kernel **kernels, unsigned count, Library *library) {
  return call("cuLibraryEnumerateKernels", Needs::driver, [&]() -> Result {
    if (!kernels)
      return invalid_value;
    if (!driver().libraries.has(library))
      return invalid_handle;
    if (count != 0)
      kernels[0] = library->kernel.get();
    return success;
  });
}

Result cuLibraryGetModule(Module **module, Library *library) {
  return call("cuLibraryGetModule", Needs::device, [&](Context &context) -> Result {
    if (!module)
      return invalid_value;
    if (!driver().libraries.has(library))
      return invalid_handle;
    if (Result refused = refuse_foreign(*library->code, context.device))
      return refused;
    std::unique_ptr<Module> &own = library->modules[&context];
    if (!own)
      own = std::make_unique<Module>(Module{library, &context, false});
    *module = own.get();
    return success;
  });
}

Result cuLibraryGetGlobal(Pointer *memory, std::size_t *bytes, Library *library, const char *name) {
  return call("cuLibraryGetGlobal", Needs::device, [&](Context &context) -> Result {
    if (!name || (!memory && !bytes))
      return invalid_value;
    if (!driver().libraries.has(library))
      return invalid_handle;
    if (Result refused = refuse_to_load())
      return refused;
    if (Result refused = refuse_foreign(*library->code, context.device))
      return refused;
    return find_global(memory, bytes, *library, context, name);
  });
}

// ---- kernels ----

Result cuKernelGetFunction(Kernel **function, Kernel *kernel) {
  return call("cuKernelGetFunction", Needs::device, [&](Context &context) -> Result {
    if (!function)
      return invalid_value;
    if (!find_kernel(kernel) || kernel->context)
      return invalid_handle;
    if (Result refused = refuse_to_load())
      return refused;
    if (Result refused = refuse_foreign(*kernel->code, context.device))
      return refused;
    *function = function_in(context, *kernel->library);
    return success;
  });
}

Result cuKernelGetLibrary(Library **library, Kernel *handle) {
  return about_kernel("cuKernelGetLibrary", handle, [&](Kernel &kernel) -> Result {
    if (!library)
      return invalid_value;
    *library = kernel.library;
    return success;
  });
}

Result cuKernelGetName(const char **name, Kernel *handle) {
  return about_kernel("cuKernelGetName", handle, [&](Kernel &kernel) -> Result {
    if (!name)
      return invalid_value;
    *name = kernel.code->name;
    return success;
  });
}

Result cuKernelGetParamInfo(Kernel *handle, std::size_t index, std::size_t *offset,
                            std::size_t *bytes) {
  return about_kernel("cuKernelGetParamInfo", handle,
                      [&](Kernel &kernel) { return parameter_info(kernel, index, offset, bytes); });
}

Result cuKernelGetAttribute(int *value, int attribute, Kernel *handle, Device device) {
  return about_kernel("cuKernelGetAttribute", handle, device, [&](Kernel &kernel) {
    return get_attribute(value, attribute, kernel, device);
  });
}

Result cuKernelSetAttribute(int attribute, int value, Kernel *handle, Device device) {
  return about_kernel("cuKernelSetAttribute", handle, device, [&](Kernel &kernel) {
    return set_attribute(attribute, value, kernel, device);
  });
}

Result cuKernelSetCacheConfig(Kernel *handle, int, Device device) {
  return about_kernel("cuKernelSetCacheConfig", handle, device,
                      [](Kernel &) -> Result { return success; });
}

// ---- modules ----

Result cuModuleLoad(Module **, const char *) {
  return call("cuModuleLoad", Needs::device, [](Context &) -> Result { return invalid_image; });
}

Result cuModuleLoadData(Module **module, const void *code) {
  return load_module("cuModuleLoadData", module, code);
}

Result cuModuleLoadDataEx(Module **module, const void *code, unsigned, int *, void **) {
  return load_module("cuModuleLoadDataEx", module, code);
}

Result cuModuleLoadFatBinary(Module **module, const void *code) {
  return load_module("cuModuleLoadFatBinary", module, code);
}

Result cuModuleUnload(Module *module) {
  return call("cuModuleUnload", Needs::device, [&](Context &) -> Result {
    if (!driver().modules.has(module))
      return invalid_handle;
    if (Result refused = refuse_during_capture())
      return refused;
    unload(module->library);
    driver().modules.remove(module);
    return success;
  });
}

Result cuModuleGetFunction(Kernel **function, Module *module, const char *name) {
  return call("cuModuleGetFunction", Needs::device, [&](Context &) -> Result {
    if (!function || !name)
      return invalid_value;
    if (!is_module(module))
      return invalid_handle;
    if (!is_named(*module->library, name))
      return not_found;
    *function = function_in(*module->context, *module->library);
    return success;
  });
}

Result cuModuleGetGlobal_v2(Pointer *memory, std::size_t *bytes, Module *module, const char *name) {
  return call("cuModuleGetGlobal", Needs::device, [&](Context &) -> Result {
    if (!name)
      return invalid_value;
    return is_module(module) ? find_global(memory, bytes, *module->library, *module->context, name)
                             : invalid_handle;
  });
}

Result cuModuleGetLoadingMode(int *mode) {
  return call("cuModuleGetLoadingMode", Needs::driver, [&]() -> Result {
    constexpr int lazy = 2;
    if (!mode)
      return invalid_value;
    *mode = lazy;
    return success;
  });
}

// ---- functions ----

Result cuFuncGetAttribute(int *value, int attribute, Kernel *handle) {
  return about_function("cuFuncGetAttribute", handle, [&](Kernel &kernel, Context &context) {
    return get_attribute(value, attribute, kernel, context.device);
  });
}

Result cuFuncSetAttribute(Kernel *handle, int attribute, int value) {
  return about_function("cuFuncSetAttribute", handle, [&](Kernel &kernel, Context &context) {
    return set_attribute(attribute, value, kernel, context.device);
  });
}

Result cuFuncSetCacheConfig(Kernel *handle, int) {
  return about_function("cuFuncSetCacheConfig", handle,
                        [](Kernel &, Context &) -> Result { return success; });
}

Result cuFuncGetModule(Module **module, Kernel *handle) {
  return about_function("cuFuncGetModule", handle, [&](Kernel &kernel, Context &context) -> Result {
    if (!module)
      return invalid_value;
    Module *found = nullptr;
    driver().modules.for_each([&](Module &own) {
      if (own.library == kernel.library)
        found = &own;
    });
    std::unique_ptr<Module> &shared = kernel.library->modules[&context];
    if (!found && !shared)
      shared = std::make_unique<Module>(Module{kernel.library, &context, false});
    *module = found ? found : shared.get();
    return success;
  });
}

Result cuFuncGetName(const char **name, Kernel *handle) {
  return about_function("cuFuncGetName", handle, [&](Kernel &kernel, Context &) -> Result {
    if (!name)
      return invalid_value;
    *name = kernel.code->name;
    return success;
  });
}

Result cuFuncGetParamInfo(Kernel *handle, std::size_t index, std::size_t *offset,
                          std::size_t *bytes) {
  return about_function("cuFuncGetParamInfo", handle, [&](Kernel &kernel, Context &) {
    return parameter_info(kernel, index, offset, bytes);
  });
}

Result cuFuncLoad(Kernel *handle) {
  return about_function("cuFuncLoad", handle, [](Kernel &, Context &) { return refuse_to_load(); });
}

Result cuFuncIsLoaded(int *state, Kernel *handle) {
  return about_function("cuFuncIsLoaded", handle, [&](Kernel &, Context &) -> Result {
    constexpr int loaded = 1;
    if (!state)
      return invalid_value;
    *state = loaded;
    return success;
  });
}

} // extern "C"

} // namespace tritonc::emulator::driver
