// Calls the function in README.md, which readme_test.sh writes to launch.cpp.

#include <tritonc/device.hpp>

#include <cstdio>
#include <vector>

tritonc::status scale_by_21(tritonc::stream stream, const float *x, float *y, int n);

int main() {
  std::vector<float> numbers(1000, 2.0f);
  tritonc::buffer<float> x, y;
  tritonc::status status = x.allocate(numbers.size());
  if (status.ok())
    status = y.allocate(numbers.size());
  if (status.ok())
    status = x.copy_from(numbers.data());
  if (status.ok())
    status = scale_by_21({}, x.data(), y.data(), 1000);
  if (status.ok())
    status = y.copy_to(numbers.data());
  if (!status.ok())
    return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  std::printf("%g %g\n", numbers[0], numbers[999]);
}
