// Launches the kernel in part.tc: once with whole tiles, and once without.

#include <kernels.hpp>
#include <tritonc/device.hpp>

#include <cstdio>
#include <vector>

static tritonc::status run(int m) {
  const std::vector<int> numbers = {1, 2, 3, 4};
  tritonc::buffer<int> x;
  tritonc::status status = x.allocate(numbers.size());
  if (status.ok())
    status = x.copy_from(numbers.data());
  if (status.ok())
    status = kernels::part::launch({}, {1, 2, 1}, {.x = x.data(), .M = m, .k = 16});
  std::vector<int> result(numbers.size());
  return status.ok() ? x.copy_to(result.data()) : status; // waits for the kernel
}

int main() {
  if (tritonc::status status = run(4); !status.ok())
    return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  std::printf("now with a part of a tile\n");
  return run(3).ok();
}
