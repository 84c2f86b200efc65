// Stream-ordered memory and memory pools.
//
// Enqueued operations run at once, also allocations and frees. Pools hold back no memory and have
// no size limit, so only the device of a pool matters. In a capture, allocations and frees are
// nodes of the graph (graph.cpp).

#include "driver.h"

#include <algorithm>
#include <iterator>

namespace tritonc::emulator::driver {

namespace {

/// Calls `enqueue` with the stream of the handle, whose context need not be current.
template <typename Enqueue>
Result in_order(std::string_view function, Stream *handle, Enqueue enqueue) {
  return call(function, Needs::driver, [&]() -> Result {
    Context none, *current = &none;
    Stream *stream = nullptr;
    if (is_default(handle)) {
      if (Result refused = find_context(Needs::device, current))
        return refused;
    }
    if (Result refused = find_stream(handle, *current, stream))
      return refused;
    if (Result fault = driver().device_of(*stream->context).fault)
      return fault;
    return enqueue(*stream);
  });
}

Result allocate_in_order(Stream &stream, std::size_t bytes, Pointer *memory) {
  if (!memory)
    return invalid_value;
  if (!driver().settings.pools)
    return not_supported;
  bytes = std::max(bytes, std::size_t(1)); // the driver accepts 0 bytes, too
  if (stream.capture)
    return capture_allocation(stream, bytes, *memory);
  return enqueue(stream, [&]() -> Result {
    if (Result refused = refuse_during_capture())
      return refused;
    std::uintptr_t begin = 0;
    Result result = allocate(*stream.context, bytes, AllocationKind::device, 0, begin);
    if (result == success)
      *memory = begin;
    return result;
  });
}

/// Returns null if the pool does not exist.
const Pool *find_pool(const Pool *handle) {
  if (driver().pools.has(handle))
    return handle;
  for (const std::unique_ptr<DeviceState> &device : driver().devices)
    if (&device->pool == handle)
      return handle;
  return nullptr;
}

/// Calls `ask` if the pool exists and the other arguments are complete.
template <typename Ask>
Result about(std::string_view function, const Pool *pool, bool is_complete, Ask ask) {
  return call(function, Needs::driver, [&]() -> Result {
    return is_complete && find_pool(pool) ? ask() : Result(invalid_value);
  });
}

constexpr int last_switch = 3; // attributes up to 3 are int, later attributes are 64-bit
constexpr int last_attribute = 8;

} // namespace

extern "C" {

Result cuMemAllocAsync(Pointer *memory, std::size_t bytes, Stream *handle) {
  return in_order("cuMemAllocAsync", handle,
                  [&](Stream &stream) { return allocate_in_order(stream, bytes, memory); });
}

Result cuMemAllocFromPoolAsync(Pointer *memory, std::size_t bytes, Pool *pool, Stream *handle) {
  return in_order("cuMemAllocFromPoolAsync", handle, [&](Stream &stream) -> Result {
    const Pool *from = find_pool(pool);
    if (!from)
      return invalid_value;
    if (from->device != stream.context->device)
      return not_supported; // memory of another device would need peer access
    return allocate_in_order(stream, bytes, memory);
  });
}

Result cuMemFreeAsync(Pointer memory, Stream *handle) {
  return in_order("cuMemFreeAsync", handle, [&](Stream &stream) -> Result {
    if (stream.capture)
      return capture_freeing(stream, memory);
    return enqueue(stream, [&]() -> Result {
      if (Result refused = refuse_during_capture())
        return refused;
      Allocation *allocation = driver().find(memory);
      if (!allocation || allocation->begin != memory || allocation->kind == AllocationKind::host)
        return invalid_value;
      return free(*allocation);
    });
  });
}

/// Supports only pools of device memory for this process: no host pools, no pools with handles for
/// other processes.
Result cuMemPoolCreate(Pool **pool, const PoolProperties *properties) {
  return call("cuMemPoolCreate", Needs::driver, [&]() -> Result {
    if (!pool || !properties)
      return invalid_value;
    bool is_reserved_zero =
        std::all_of(std::begin(properties->reserved), std::end(properties->reserved),
                    [](unsigned char byte) { return byte == 0; });
    if (properties->allocation != pinned_allocation || properties->security || !is_reserved_zero)
      return invalid_value;
    if (properties->location.kind != location_is_device || properties->handles != 0)
      return not_supported;
    if (!driver().find_device(properties->location.id))
      return invalid_value;
    if (!driver().settings.pools)
      return not_supported;
    if (Result refused = refuse_during_capture())
      return refused;
    *pool = driver().pools.add(std::make_unique<Pool>(Pool{properties->location.id}));
    return success;
  });
}

/// Memory allocated from the pool stays until it is freed. A device's default pool stays, too.
Result cuMemPoolDestroy(Pool *pool) {
  return call("cuMemPoolDestroy", Needs::driver, [&]() -> Result {
    if (!driver().pools.has(pool))
      return invalid_value;
    driver().pools.remove(pool);
    return success;
  });
}

Result cuMemPoolSetAttribute(Pool *pool, int attribute, void *value) {
  return about("cuMemPoolSetAttribute", pool, value, [&]() -> Result {
    return attribute >= 1 && attribute <= last_attribute ? success : invalid_value;
  });
}

Result cuMemPoolGetAttribute(Pool *pool, int attribute, void *value) {
  return about("cuMemPoolGetAttribute", pool, value, [&]() -> Result {
    if (attribute < 1 || attribute > last_attribute)
      return invalid_value;
    if (attribute <= last_switch)
      *static_cast<int *>(value) = 1;
    else
      *static_cast<std::uint64_t *>(value) = 0;
    return success;
  });
}

Result cuMemPoolTrimTo(Pool *pool, std::size_t) {
  return about("cuMemPoolTrimTo", pool, true, []() -> Result { return success; });
}

} // extern "C"

} // namespace tritonc::emulator::driver
