// The launch fails with null_pointer, so it needs no driver.
#include <my/product.hpp>

int main() {
  my::product::scale::args arguments{};
  arguments.n = 1;
  if (my::product::scale::launch({}, arguments).code() != tritonc::status_code::null_pointer)
    return 1;
  return my::product::scale::variants().size() == 2 ? 0 : 2;
}
