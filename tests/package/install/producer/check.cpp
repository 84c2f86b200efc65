// Computes 21 * 2 = 42 with the driver of the environment.
#include <my/product.hpp>
#include <tritonc/device.hpp>

int main() {
  float numbers[100];
  for (float &number : numbers)
    number = 2;
  tritonc::buffer<float> x;
  if (!x.allocate(100).ok() || !x.copy_from(numbers).ok())
    return 1;
  my::product::scale::args arguments{};
  arguments.x = x.data();
  arguments.factor = 21;
  arguments.n = 100;
  if (!my::product::scale::launch({}, arguments).ok() || !x.copy_to(numbers).ok())
    return 2;
  for (float number : numbers)
    if (number != 42)
      return 3;
  return 0;
}
