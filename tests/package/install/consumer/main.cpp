// The launch fails with null_pointer, so it needs no driver.
#include <my/product.hpp>

int main() {
  my::product::scale::args arguments{};
  arguments.n = 1;
  bool refused =
      my::product::scale::launch({}, arguments).code() == tritonc::status_code::null_pointer;
  return refused && my::product::scale::variants().size() == 2 ? 0 : 1;
}
