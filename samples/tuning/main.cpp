// Launches a softmax for several sizes, and prints the variant that each launch chooses.
//
// Exit code: 0 = all results are right, or there is no GPU; 1 = a wrong result or an error.

#include <kernels.hpp>
#include <tritonc/device.hpp>
#include <tritonc/hooks.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using softmax = kernels::softmax<tritonc::half>;

void require(tritonc::status status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "choices: %s\n", status.message().c_str());
  std::exit(1);
}

/// The hook: stores the SIZE that a launch chose.
void note_size(const tritonc::choice_event &choice, void *size) {
  *static_cast<int *>(size) = choice.variant[0];
}

/// Whether the sum of each row is 1.
bool is_right(const std::vector<tritonc::half> &y, int rows, int columns) {
  bool right = true;
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int column = 0; column < columns; ++column)
      sum += float(y[std::size_t(row) * columns + column]);
    right = right && std::fabs(sum - 1) < 1e-2;
  }
  return right;
}

bool run(int rows, int columns, const int &size) {
  std::size_t count = std::size_t(rows) * columns;
  std::vector<tritonc::half> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = tritonc::half(float(i % 17) / 8);
  tritonc::buffer<tritonc::half> x, y;
  require(x.allocate(count));
  require(y.allocate(count));
  require(x.copy_from(numbers.data()));
  require(softmax::launch(
      {}, {.x = x.data(), .y = y.data(), .M = rows, .N = columns, .ldx = columns, .ldy = columns}));
  require(y.copy_to(numbers.data()));
  bool right = is_right(numbers, rows, columns);
  std::printf("%5d x %-5d  SIZE %-4d %s\n", rows, columns, size, right ? "" : "WRONG");
  return right;
}

} // namespace

int main() {
  tritonc::device_info device;
  tritonc::status found = tritonc::current_device(device);
  if (found.code() == tritonc::status_code::no_driver ||
      found.code() == tritonc::status_code::no_device) {
    std::printf("choices: no GPU here (%s), so nothing was run\n", found.message().c_str());
    return 0;
  }
  require(found);
  std::printf("%s, compute capability %d.%d\n\n", device.name, device.major, device.minor);

  static int size = 0;
  static const tritonc::hooks hooks = {.on_choice = note_size, .data = &size};
  tritonc::set_hooks(&hooks);
  bool all_right = true;
  for (int columns : {64, 300, 1000, 3000, 8000})
    all_right = run(device.emulated ? 4 : 1024, columns, size) && all_right;
  return all_right ? 0 : 1;
}
