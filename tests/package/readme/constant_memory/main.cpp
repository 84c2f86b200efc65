// Launches the first kernel of docs/pages/language/constant_memory.md, after the statements that
// the page shows, which readme_test.sh writes to part.inc.

#include <filters.hpp>
#include <tritonc/device.hpp>

#include <cstdio>
#include <vector>

static tritonc::status run(std::vector<float> &sums) {
  tritonc::stream stream = {};
#include "part.inc"
  const std::vector<float> numbers = {1, 0, 0, 1, 0, 0};
  tritonc::buffer<float> x, y;
  if (status.ok())
    status = x.allocate(numbers.size());
  if (status.ok())
    status = y.allocate(sums.size());
  if (status.ok())
    status = x.copy_from(numbers.data());
  if (status.ok())
    status = filters::filter::launch(stream, {1, 1, 1}, {.x = x.data(), .y = y.data()});
  return status.ok() ? y.copy_to(sums.data()) : status;
}

int main() {
  std::vector<float> sums(4);
  if (tritonc::status status = run(sums); !status.ok())
    return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
  std::printf("%g %g %g %g\n", sums[0], sums[1], sums[2], sums[3]);
}
