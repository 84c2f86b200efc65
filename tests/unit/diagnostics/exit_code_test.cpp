// Tests diagnostics/exit_code.cpp: scripts depend on the exit codes of the errors.

#include "diagnostics/exit_code.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

int code_of(Message id) { return int(exit_code_of(id)); }

} // namespace

TEST_CASE("exit_code_of: each kind of error has its code") {
  CHECK(code_of(Message::undeclared) == 1); // in a kernel
  CHECK(code_of(Message::cannot_read) == 2);
  CHECK(code_of(Message::usage) == 2);
  CHECK(code_of(Message::one_variant_wanted) == 2);
  CHECK(code_of(Message::tool_missing) == 3);
  CHECK(code_of(Message::cannot_write) == 3);
  CHECK(code_of(Message::out_of_memory) == 3);
  CHECK(code_of(Message::tool_failed) == 4);
  CHECK(code_of(Message::llvm_failed) == 4);
  CHECK(code_of(Message::warned) == 5);
  CHECK(code_of(Message::requirement_unmet) == 5);
  CHECK(code_of(Message::variants_differ) == 6);
  CHECK(code_of(Message::file_damaged) == 6);
  CHECK(code_of(Message::internal_error) == 70);
}

TEST_CASE("exit_code_of: the messages beside an error keep their own codes") {
  // cannot_use_cache is an error of the environment; the warnings behind it are not.
  CHECK(code_of(Message::cannot_use_cache) == 3);
  CHECK(severity_of(Message::cache_not_written) == Severity::warning);
  CHECK(code_of(Message::cache_not_written) == 1);
  CHECK(code_of(Message::no_temporary_directory) == 3);
}
