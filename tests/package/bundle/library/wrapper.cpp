// Returns "42" (21 * 2), or the name of the failure.
#include <scale.hpp>
#include <tritonc/device.hpp>

const char *run() {
  static tritonc::status status;
  float numbers[100];
  for (float &number : numbers)
    number = 2;
  tritonc::buffer<float> x;
  status = x.allocate(100);
  if (status.ok())
    status = x.copy_from(numbers);
  scale::scale::args arguments{};
  arguments.x = x.data();
  arguments.factor = 21;
  arguments.n = 100;
  if (status.ok())
    status = scale::scale::launch({}, arguments);
  if (status.ok())
    status = x.copy_to(numbers);
  if (!status.ok())
    return status.name();
  return numbers[99] == 42 ? "42" : numbers[99] == 84 ? "84" : "wrong";
}
