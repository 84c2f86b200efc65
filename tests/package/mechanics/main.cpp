// The launches fail with null_pointer, so they need no driver. Also checks the variants.
#include <one.hpp>
#include <two.hpp>

int main() {
  one::one::args first{};
  two::two::args second{};
  first.n = second.n = 1024;
  bool refused = one::one::launch({}, first).code() == tritonc::status_code::null_pointer &&
                 two::two::launch({}, second).code() == tritonc::status_code::null_pointer;
  bool is_default = two::two::variants()[0].TAG == 2; // not the first value
  return is_default && refused && one::one::variants().size() == 2 ? 0 : 1;
}
