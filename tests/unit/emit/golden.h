// Compares emitted texts with golden files, which a reviewer reads.

#pragma once

#include <string>

namespace tritonc::test {

/// Checks that the golden file `name` in the folder expected/ contains `text`. With TRITONC_UPDATE
/// in the environment, writes the file instead.
void check_expected(const std::string &name, const std::string &text);

} // namespace tritonc::test
