#include <cstdio>
#include <product.hpp>
#include <tritonc/device.hpp>

int main() {
  tritonc::buffer<float> x;
  tritonc::status status = x.allocate(100);
  product::scale::args arguments{};
  arguments.x = x.data();
  arguments.n = 100;
  if (status.ok())
    status = product::scale::launch({}, arguments);
  std::puts(status.name());
}
