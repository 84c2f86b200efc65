// The launch fails with null_pointer, so it needs no driver.
#include <my/vectors.hpp>

int variants_seen_elsewhere();

int main() {
  using add = my::vectors::vector_add<float>;
  add::args arguments{};
  arguments.n = 1;
  bool refused = add::launch({}, arguments).code() == tritonc::status_code::null_pointer;
  return refused && variants_seen_elsewhere() == 1 ? 0 : 1;
}
