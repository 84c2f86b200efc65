// Compares emitted texts with golden files. See golden.h.

#include "unit/emit/golden.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

namespace tritonc::test {

void check_expected(const std::string &name, const std::string &text) {
  std::string path = std::string(TRITONC_TESTS_DIR) + "/unit/emit/expected/" + name;
  if (std::getenv("TRITONC_UPDATE")) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::string expected{std::istreambuf_iterator<char>(file), {}};
  INFO("if the change is right: TRITONC_UPDATE=1 ctest -R emit, and review the difference");
  CHECK_MESSAGE(text == expected, path);
}

} // namespace tritonc::test
