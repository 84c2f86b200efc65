// Allocates memory and answers queries about pointers.
//
// All memory, including pinned and managed memory, is in one GlobalMemory. So kernels can access
// it, and the emulator checks every access. A device pointer is a pointer of this process. The fake
// does not detect that a kernel accesses memory of another device or context.

#include "driver.h"

namespace tritonc::emulator::driver {

namespace {

Result allocate(Context &context, std::size_t bytes, AllocationKind kind, unsigned flags,
                Pointer *memory) {
  if (!memory)
    return invalid_value;
  if (Result refused = refuse_during_capture())
    return refused;
  std::uintptr_t begin = 0;
  Result result = allocate(context, bytes, kind, flags, begin);
  if (result == success)
    *memory = begin;
  return result;
}

Result allocate_host(Context &context, std::size_t bytes, unsigned flags, void **memory) {
  if (!memory)
    return invalid_value;
  Pointer pointer = 0;
  Result result = allocate(context, bytes, AllocationKind::host, flags, &pointer);
  if (result == success)
    *memory = reinterpret_cast<void *>(pointer);
  return result;
}

Result free_beginning_at(Pointer memory, bool of_host) {
  Allocation *allocation = driver().find(memory);
  if (!allocation || allocation->begin != memory)
    return invalid_value;
  if ((allocation->kind == AllocationKind::host) != of_host)
    return invalid_value;
  return free(*allocation);
}

/// Reads a CUpointer_attribute.
Result read_attribute(void *value, int attribute, Pointer memory) {
  const Allocation *allocation = driver().find(memory);
  if (!value)
    return invalid_value;
  if (!allocation) {
    constexpr int device_ordinal = 9, is_mapped = 13;
    if (attribute == is_mapped) {
      *static_cast<bool *>(value) = false;
      return success;
    }
    if (attribute == device_ordinal)
      *static_cast<int *>(value) = -2; // CU_DEVICE_INVALID
    return invalid_value;
  }
  bool is_host = allocation->kind == AllocationKind::host;
  switch (attribute) {
  case 1:
    *static_cast<Context **>(value) = allocation->context;
    return success;
  case 2:
    *static_cast<unsigned *>(value) = is_host ? host_memory : device_memory;
    return success;
  case 3:
    *static_cast<Pointer *>(value) = memory;
    return success;
  case 4:
    if (allocation->kind == AllocationKind::device)
      return invalid_value;
    *static_cast<void **>(value) = reinterpret_cast<void *>(memory);
    return success;
  case 7:
    *static_cast<unsigned long long *>(value) = allocation->id;
    return success;
  case 8:
    *static_cast<bool *>(value) = allocation->kind == AllocationKind::managed;
    return success;
  case 9:
    *static_cast<int *>(value) = allocation->context->device;
    return success;
  case 10: // legacy IPC capable
    *static_cast<bool *>(value) = false;
    return success;
  case 11:
    *static_cast<Pointer *>(value) = allocation->begin;
    return success;
  case 12:
    *static_cast<std::size_t *>(value) = allocation->bytes;
    return success;
  case 13:
    *static_cast<bool *>(value) = true;
    return success;
  default:
    return not_supported;
  }
}

} // namespace

Result allocate(Context &context, std::size_t bytes, AllocationKind kind, unsigned flags,
                std::uintptr_t &begin) {
  if (bytes == 0)
    return invalid_value;
  DeviceState &device = driver().device_of(context);
  bool is_on_device = kind != AllocationKind::host;
  std::size_t limit = driver().settings.memory;
  if (is_on_device && (device.used_bytes > limit || bytes > limit - device.used_bytes))
    return out_of_memory;
  void *allocated = driver().memory().allocate(bytes);
  if (!allocated)
    return out_of_memory;
  if (kind != AllocationKind::device)
    driver().memory().mark_initialized(allocated, bytes); // the host may write it undetected
  begin = reinterpret_cast<std::uintptr_t>(allocated);
  driver().allocations[begin] = {begin, bytes, kind, flags, &context, ++driver().last_id, {}};
  if (is_on_device)
    device.used_bytes += bytes;
  return success;
}

Result free(Allocation &allocation) {
  if (!allocation.graph) {
    driver().release(allocation);
    return success;
  }
  if (!allocation.graph->is_there)
    return invalid_value;
  allocation.graph->is_there = false;
  if (!allocation.graph->has_graph)
    driver().release(allocation);
  else // a read of the freed or reallocated memory is uninitialized
    driver().memory().mark_uninitialized(reinterpret_cast<void *>(allocation.begin),
                                         allocation.bytes);
  return success;
}

extern "C" {

Result cuMemAlloc_v2(Pointer *memory, std::size_t bytes) {
  return call("cuMemAlloc", Needs::device, [&](Context &context) -> Result {
    return allocate(context, bytes, AllocationKind::device, 0, memory);
  });
}

Result cuMemAllocPitch_v2(Pointer *memory, std::size_t *pitch, std::size_t width,
                          std::size_t height, unsigned element_bytes) {
  return call("cuMemAllocPitch", Needs::device, [&](Context &context) -> Result {
    bool is_element = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
    std::size_t rounded = 0, bytes = 0;
    if (!pitch || !is_element || __builtin_add_overflow(width, std::size_t(511), &rounded))
      return invalid_value;
    rounded &= ~std::size_t(511);
    if (__builtin_mul_overflow(rounded, height, &bytes))
      return out_of_memory;
    Result result = allocate(context, bytes, AllocationKind::device, 0, memory);
    if (result == success)
      *pitch = rounded;
    return result;
  });
}

Result cuMemFree_v2(Pointer memory) {
  return call("cuMemFree", Needs::device, [&](Context &) -> Result {
    if (memory == 0)
      return success;
    if (Result refused = refuse_during_capture())
      return refused;
    return free_beginning_at(memory, false);
  });
}

Result cuMemAllocHost_v2(void **memory, std::size_t bytes) {
  return call("cuMemAllocHost", Needs::device,
              [&](Context &context) { return allocate_host(context, bytes, 0, memory); });
}

Result cuMemHostAlloc(void **memory, std::size_t bytes, unsigned flags) {
  return call("cuMemHostAlloc", Needs::device,
              [&](Context &context) { return allocate_host(context, bytes, flags, memory); });
}

Result cuMemFreeHost(void *memory) {
  return call("cuMemFreeHost", Needs::device, [&](Context &) -> Result {
    return free_beginning_at(reinterpret_cast<Pointer>(memory), true);
  });
}

Result cuMemHostGetDevicePointer_v2(Pointer *device, void *host, unsigned flags) {
  return call("cuMemHostGetDevicePointer", Needs::device, [&](Context &) -> Result {
    const Allocation *allocation = driver().find(reinterpret_cast<Pointer>(host));
    if (!device || flags != 0 || !allocation || allocation->kind != AllocationKind::host)
      return invalid_value;
    *device = reinterpret_cast<Pointer>(host);
    return success;
  });
}

Result cuMemHostGetFlags(unsigned *flags, void *host) {
  return call("cuMemHostGetFlags", Needs::device, [&](Context &) -> Result {
    const Allocation *allocation = driver().find(reinterpret_cast<Pointer>(host));
    if (!flags || !allocation || allocation->kind != AllocationKind::host)
      return invalid_value;
    *flags = allocation->flags;
    return success;
  });
}

/// Not supported: registered memory is outside GlobalMemory, so kernels could not access it.
Result cuMemHostRegister_v2(void *, std::size_t, unsigned) {
  return call("cuMemHostRegister", Needs::device,
              [](Context &) -> Result { return not_supported; });
}

Result cuMemHostUnregister(void *) {
  return call("cuMemHostUnregister", Needs::device, [](Context &) -> Result {
    constexpr Result host_memory_not_registered = 713;
    return host_memory_not_registered;
  });
}

Result cuMemAllocManaged(Pointer *memory, std::size_t bytes, unsigned flags) {
  return call("cuMemAllocManaged", Needs::device, [&](Context &context) -> Result {
    if (flags != 1 && flags != 2) // CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST
      return invalid_value;
    return allocate(context, bytes, AllocationKind::managed, flags, memory);
  });
}

Result cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
  return call("cuMemGetInfo", Needs::device, [&](Context &context) -> Result {
    if (!free || !total)
      return invalid_value;
    std::size_t used = driver().device_of(context).used_bytes;
    *total = driver().settings.memory;
    *free = used < *total ? *total - used : 0;
    return success;
  });
}

Result cuMemGetAddressRange_v2(Pointer *base, std::size_t *bytes, Pointer memory) {
  return call("cuMemGetAddressRange", Needs::device, [&](Context &) -> Result {
    const Allocation *allocation = driver().find(memory);
    if (!allocation)
      return not_found;
    if (base)
      *base = allocation->begin;
    if (bytes)
      *bytes = allocation->bytes;
    return success;
  });
}

Result cuPointerGetAttribute(void *value, int attribute, Pointer memory) {
  return call("cuPointerGetAttribute", Needs::driver,
              [&] { return read_attribute(value, attribute, memory); });
}

/// Unlike cuPointerGetAttribute, returns 0 without an error for attributes that a pointer lacks.
Result cuPointerGetAttributes(unsigned count, int *attributes, void **values, Pointer memory) {
  return call("cuPointerGetAttributes", Needs::driver, [&]() -> Result {
    if (!attributes || !values)
      return invalid_value;
    for (unsigned i = 0; i < count; i++) {
      bool is_flag = attributes[i] == 8 || attributes[i] == 10 || attributes[i] == 13;
      bool is_word = attributes[i] == 2 || attributes[i] == 9;
      if (!values[i])
        return invalid_value;
      if (read_attribute(values[i], attributes[i], memory) == success || attributes[i] == 9)
        continue;
      if (is_flag)
        *static_cast<bool *>(values[i]) = false;
      else if (is_word)
        *static_cast<unsigned *>(values[i]) = 0;
      else
        *static_cast<std::uint64_t *>(values[i]) = 0;
    }
    return success;
  });
}

} // extern "C"

} // namespace tritonc::emulator::driver
