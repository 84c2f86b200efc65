// Copies and fills of memory.
//
// The functions check every byte of a range in a context's memory. Any other address is a host
// address and is not checked. Copies also copy the initialization state: unwritten bytes stay
// unwritten.

#include "driver.h"

#include <algorithm>
#include <cstring>

namespace tritonc::emulator::driver {

namespace {

enum class Side { host, device, either };

/// Checks that the bytes may be copied from or to.
Result check(Pointer address, std::size_t bytes, Side side) {
  const Allocation *allocation = driver().find(address);
  if (allocation)
    return bytes <= allocation->bytes - (address - allocation->begin) ? success : invalid_value;
  // Freed memory and the gaps between allocations belong to no allocation.
  if (driver().memory().contains(reinterpret_cast<void *>(address)))
    return invalid_value;
  return side == Side::device || address == 0 ? invalid_value : success;
}

struct Copy {
  Pointer to;
  Pointer from;
  std::size_t bytes;
  Side to_side;
  Side from_side;

  Result check() const {
    if (bytes == 0)
      return success;
    if (Result wrong = driver::check(to, bytes, to_side))
      return wrong;
    return driver::check(from, bytes, from_side);
  }
};

/// Copies the initialization state from source to target.
void copy_marks(std::byte *target, const std::byte *source, std::size_t bytes) {
  GlobalMemory &memory = driver().memory();
  if (memory.is_initialized(source, bytes)) {
    memory.mark_initialized(target, bytes);
    return;
  }
  if (bytes == 1) {
    memory.mark_uninitialized(target, bytes);
    return;
  }
  copy_marks(target, source, bytes / 2);
  copy_marks(target + bytes / 2, source + bytes / 2, bytes - bytes / 2);
}

Result run(const Copy &copy) {
  if (Result wrong = copy.check())
    return wrong;
  auto *target = reinterpret_cast<std::byte *>(copy.to);
  auto *source = reinterpret_cast<const std::byte *>(copy.from);
  if (copy.bytes == 0)
    return success;
  std::memmove(target, source, copy.bytes);
  if (!driver().find(copy.to))
    return success;
  if (driver().find(copy.from))
    copy_marks(target, source, copy.bytes);
  else
    driver().memory().mark_initialized(target, copy.bytes);
  return success;
}

/// A fill of a rectangle of elements.
struct Fill {
  Pointer to;
  std::size_t pitch; // bytes from row to row
  unsigned value;
  std::size_t element_bytes;
  std::size_t width; // elements
  std::size_t height;

  Result check() const {
    std::size_t row = 0, before = 0;
    if (to % element_bytes != 0 || (height > 1 && pitch % element_bytes != 0) ||
        __builtin_mul_overflow(width, element_bytes, &row))
      return invalid_value;
    if (row == 0 || height == 0)
      return success;
    std::size_t all = 0;
    if (height > 1 && pitch < row)
      return invalid_value;
    if (__builtin_mul_overflow(pitch, height - 1, &before) ||
        __builtin_add_overflow(before, row, &all))
      return invalid_value;
    return driver::check(to, all, Side::device);
  }
};

Result run(const Fill &fill) {
  if (Result wrong = fill.check())
    return wrong;
  if (fill.width == 0 || fill.height == 0)
    return success;
  for (std::size_t y = 0; y < fill.height; y++) {
    auto *row = reinterpret_cast<std::byte *>(fill.to + y * fill.pitch);
    for (std::size_t x = 0; x < fill.width; x++)
      std::memcpy(row + x * fill.element_bytes, &fill.value, fill.element_bytes);
    driver().memory().mark_initialized(row, fill.width * fill.element_bytes);
  }
  return success;
}

/// Runs work on the legacy stream, synchronously.
template <typename Work> Result at_once(std::string_view function, const Work &work) {
  return call(function, Needs::device, [&](Context &context) -> Result {
    if (Result refused = refuse_on_legacy_stream(context))
      return refused;
    if (Result refused = refuse_during_capture())
      return refused;
    return run(work);
  });
}

template <typename Work>
Result in_order(std::string_view function, const Work &work, Stream *handle) {
  return call(function, Needs::device, [&](Context &context) -> Result {
    Stream *stream = nullptr;
    if (Result refused = find_stream(handle, context, stream))
      return refused;
    if (Result wrong = work.check())
      return wrong;
    return enqueue(*stream, [work] { return run(work); });
  });
}

Pointer address(const void *memory) { return reinterpret_cast<Pointer>(memory); }

Copy to_device(Pointer to, const void *from, std::size_t bytes) {
  return {to, address(from), bytes, Side::device, Side::either};
}
Copy to_host(void *to, Pointer from, std::size_t bytes) {
  return {address(to), from, bytes, Side::either, Side::device};
}
Copy on_device(Pointer to, Pointer from, std::size_t bytes) {
  return {to, from, bytes, Side::device, Side::device};
}
Copy anywhere(Pointer to, Pointer from, std::size_t bytes) {
  return {to, from, bytes, Side::either, Side::either};
}
Fill row(Pointer to, unsigned value, std::size_t element_bytes, std::size_t count) {
  return {to, 0, value, element_bytes, count, 1};
}

/// One copy per row.
struct Rectangle {
  Copy first; // row
  std::size_t to_pitch, from_pitch, height;
  bool is_right = true;

  Copy at(std::size_t y) const {
    Copy copy = first;
    copy.to += y * to_pitch;
    copy.from += y * from_pitch;
    return copy;
  }
  Result check() const {
    if (!is_right)
      return invalid_value;
    for (std::size_t y = 0; y < height; y++)
      if (Result wrong = at(y).check())
        return wrong;
    return success;
  }
};

Result run(const Rectangle &rectangle) {
  for (std::size_t y = 0; y < rectangle.height; y++)
    if (Result wrong = run(rectangle.at(y)))
      return wrong;
  return success;
}

Rectangle rectangle_of(const Copy2D *copy) {
  Rectangle result = {};
  result.is_right = false;
  if (!copy)
    return result;
  bool is_known = true;
  auto side = [&](int kind, const void *host, Pointer device, Pointer &begin, Side &where) {
    is_known = is_known && (kind == host_memory || kind == device_memory || kind == unified_memory);
    where = kind == device_memory ? Side::device : Side::either;
    begin = kind == host_memory ? address(host) : device;
  };
  Copy &first = result.first;
  side(copy->target_kind, copy->target_host, copy->target_device, first.to, first.to_side);
  side(copy->source_kind, copy->source_host, copy->source_device, first.from, first.from_side);
  result.to_pitch = copy->target_pitch ? copy->target_pitch : copy->width;
  result.from_pitch = copy->source_pitch ? copy->source_pitch : copy->width;
  result.height = copy->height;
  first.to += copy->target_y * result.to_pitch + copy->target_x;
  first.from += copy->source_y * result.from_pitch + copy->source_x;
  first.bytes = copy->width;
  bool rows_fit = result.to_pitch >= copy->width && result.from_pitch >= copy->width;
  result.is_right = is_known && (copy->height <= 1 || rows_fit);
  return result;
}

} // namespace

extern "C" {

Result cuMemcpy(Pointer to, Pointer from, std::size_t bytes) {
  return at_once("cuMemcpy", anywhere(to, from, bytes));
}
Result cuMemcpyAsync(Pointer to, Pointer from, std::size_t bytes, Stream *stream) {
  return in_order("cuMemcpyAsync", anywhere(to, from, bytes), stream);
}
Result cuMemcpyHtoD_v2(Pointer to, const void *from, std::size_t bytes) {
  return at_once("cuMemcpyHtoD", to_device(to, from, bytes));
}
Result cuMemcpyHtoDAsync_v2(Pointer to, const void *from, std::size_t bytes, Stream *stream) {
  return in_order("cuMemcpyHtoDAsync", to_device(to, from, bytes), stream);
}
Result cuMemcpyDtoH_v2(void *to, Pointer from, std::size_t bytes) {
  return at_once("cuMemcpyDtoH", to_host(to, from, bytes));
}
Result cuMemcpyDtoHAsync_v2(void *to, Pointer from, std::size_t bytes, Stream *stream) {
  return in_order("cuMemcpyDtoHAsync", to_host(to, from, bytes), stream);
}
Result cuMemcpyDtoD_v2(Pointer to, Pointer from, std::size_t bytes) {
  return at_once("cuMemcpyDtoD", on_device(to, from, bytes));
}
Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, std::size_t bytes, Stream *stream) {
  return in_order("cuMemcpyDtoDAsync", on_device(to, from, bytes), stream);
}
Result cuMemcpyPeer(Pointer to, Context *, Pointer from, Context *, std::size_t bytes) {
  return at_once("cuMemcpyPeer", on_device(to, from, bytes));
}
Result cuMemcpyPeerAsync(Pointer to, Context *, Pointer from, Context *, std::size_t bytes,
                         Stream *stream) {
  return in_order("cuMemcpyPeerAsync", on_device(to, from, bytes), stream);
}

Result cuMemcpy2D_v2(const Copy2D *copy) { return at_once("cuMemcpy2D", rectangle_of(copy)); }
Result cuMemcpy2DUnaligned_v2(const Copy2D *copy) {
  return at_once("cuMemcpy2DUnaligned", rectangle_of(copy));
}
Result cuMemcpy2DAsync_v2(const Copy2D *copy, Stream *stream) {
  return in_order("cuMemcpy2DAsync", rectangle_of(copy), stream);
}

Result cuMemsetD8_v2(Pointer memory, unsigned char value, std::size_t count) {
  return at_once("cuMemsetD8", row(memory, value, 1, count));
}
Result cuMemsetD16_v2(Pointer memory, unsigned short value, std::size_t count) {
  return at_once("cuMemsetD16", row(memory, value, 2, count));
}
Result cuMemsetD32_v2(Pointer memory, unsigned value, std::size_t count) {
  return at_once("cuMemsetD32", row(memory, value, 4, count));
}
Result cuMemsetD8Async(Pointer memory, unsigned char value, std::size_t count, Stream *stream) {
  return in_order("cuMemsetD8Async", row(memory, value, 1, count), stream);
}
Result cuMemsetD16Async(Pointer memory, unsigned short value, std::size_t count, Stream *stream) {
  return in_order("cuMemsetD16Async", row(memory, value, 2, count), stream);
}
Result cuMemsetD32Async(Pointer memory, unsigned value, std::size_t count, Stream *stream) {
  return in_order("cuMemsetD32Async", row(memory, value, 4, count), stream);
}
Result cuMemsetD2D8_v2(Pointer memory, std::size_t pitch, unsigned char value, std::size_t width,
                       std::size_t height) {
  return at_once("cuMemsetD2D8", Fill{memory, pitch, value, 1, width, height});
}
Result cuMemsetD2D16_v2(Pointer memory, std::size_t pitch, unsigned short value, std::size_t width,
                        std::size_t height) {
  return at_once("cuMemsetD2D16", Fill{memory, pitch, value, 2, width, height});
}
Result cuMemsetD2D32_v2(Pointer memory, std::size_t pitch, unsigned value, std::size_t width,
                        std::size_t height) {
  return at_once("cuMemsetD2D32", Fill{memory, pitch, value, 4, width, height});
}

} // extern "C"

} // namespace tritonc::emulator::driver
