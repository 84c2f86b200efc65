// Decodes and encodes matrix descriptors. See matrix_descriptor.h.

#include "matrix_descriptor.h"

namespace tritonc::emulator::models {

namespace {

constexpr uint64_t field(uint64_t bits, int at, int width) {
  return bits >> at & ((uint64_t(1) << width) - 1);
}

constexpr uint64_t reserved = ~(uint64_t(0x3fff) | uint64_t(0x3fff) << 16 | uint64_t(0x3fff) << 32 |
                                uint64_t(7) << 49 | uint64_t(3) << 62);

// Indexed by the field: 1 is 128 bytes, 2 is 64, 3 is 32.
constexpr Swizzle swizzles[] = {Swizzle::none, Swizzle::span128, Swizzle::span64, Swizzle::span32};

} // namespace

const char *decode_descriptor(MatrixDescriptor &result, uint64_t bits) {
  result.start = uint32_t(field(bits, 0, 14) << 4);
  result.leading = uint32_t(field(bits, 16, 14) << 4);
  result.stride = uint32_t(field(bits, 32, 14) << 4);
  result.base_offset = unsigned(field(bits, 49, 3));
  result.swizzle = swizzles[field(bits, 62, 2)];
  if ((bits & reserved) != 0)
    return "reserved bits are not 0";
  return nullptr;
}

uint64_t encode_descriptor(const MatrixDescriptor &descriptor) {
  uint64_t mode = 0;
  while (swizzles[mode] != descriptor.swizzle)
    mode++;
  auto address = [](uint32_t bytes) { return uint64_t(bytes & 0x3ffff) >> 4; };
  return address(descriptor.start) | address(descriptor.leading) << 16 |
         address(descriptor.stride) << 32 | uint64_t(descriptor.base_offset & 7) << 49 | mode << 62;
}

void chunk_addresses(uint32_t *result, const MatrixDescriptor &descriptor, Major major,
                     unsigned begin, unsigned rows) {
  const auto &[start, leading, stride, base_offset, swizzle] = descriptor;
  unsigned span = span_of(swizzle);
  // Bytes from a multiple of 1024 to the start of the pattern.
  uint32_t pattern = 128 * base_offset;
  auto place = [=, mode = swizzle](uint32_t at) { return swizzled(mode, at - pattern) + pattern; };
  if (major == Major::k) {
    uint32_t row_bytes = span ? span : 16, chunk = span ? 16 : leading;
    for (unsigned r = begin; r < begin + rows; r++) {
      uint32_t at = start + r % 8 * row_bytes + r / 8 * stride;
      *result++ = place(at);
      *result++ = place(at + chunk);
    }
    return;
  }
  unsigned in_span = span ? span / 16 : 1;
  uint32_t next_span = span ? leading : stride, next_8 = span ? stride : leading;
  uint32_t column_bytes = span ? span : 16;
  for (unsigned k = 0; k < 16; k++)
    for (unsigned j = begin / 8; j < (begin + rows) / 8; j++)
      *result++ = place(start + k % 8 * column_bytes + k / 8 * next_8 + j % in_span * 16 +
                        j / in_span * next_span);
}

} // namespace tritonc::emulator::models
