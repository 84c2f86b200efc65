// Reads input files. See read_file.h.
//
// Tested by tests/unit/support/read_file_test.cpp.

#include "support/read_file.h"

#include "llvm/Support/MemoryBuffer.h"

namespace tritonc {

std::optional<Error> find_read_error(const std::string &path, uint64_t max_bytes) {
  FileProblem problem = problem_with(path, max_bytes);
  if (!problem.error.empty())
    return Error{Message::cannot_read, {path, problem.error}};
  if (!problem.kind.empty())
    return Error{Message::not_a_regular_file, {path, problem.kind}};
  if (problem.is_too_large)
    return Error{Message::file_too_large, {path, std::to_string(max_bytes >> 20)}};
  return std::nullopt;
}

Result<std::string> read_file(const std::string &path, uint64_t max_bytes) {
  if (std::optional<Error> error = find_read_error(path, max_bytes))
    return *error;
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return Error{Message::cannot_read, {path, buffer.getError().message()}};
  return (*buffer)->getBuffer().str();
}

} // namespace tritonc
