// The source of a small kernel, for tests of the tool.
#pragma once

namespace tritonc {

/// y = factor * x, in tiles of SIZE elements.
inline const char *scale_source = R"(
#pragma tritonc variant(TYPE: half, float)
#pragma tritonc tune(SIZE: 128, 256)
#pragma tritonc grid(n / SIZE)
__global__ void scale(TYPE *x __readonly, TYPE *y, int n, float factor) {
  int i[SIZE] = get_program_id(0) * SIZE + 0 ... SIZE;
  TYPE *px[SIZE] = x + i;
  TYPE *py[SIZE] = y + i;
  float value[SIZE] = *px;
  *py = value * factor;
}
)";

} // namespace tritonc
