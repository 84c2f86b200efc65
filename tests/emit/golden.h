// Texts that we emit, compared with files that a reviewer reads.

#pragma once

#include <string>

namespace tritonc::test {

/// Checks that tests/emit/expected/`name` says the same. With TRITONC_UPDATE=1 in the environment,
/// writes it instead.
void check_expected(const std::string &name, const std::string &text);

} // namespace tritonc::test
