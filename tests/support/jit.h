// Host code into this process: what a linker does with the objects that the generator writes.

#pragma once

#include <tritonc/descriptor.hpp>

#include <memory>
#include <string>

namespace tritonc::test {

/// The code of one object (backend/host_object.h), as long as this lives. Throws where the object
/// needs something that this process has not, so that a test fails.
class LinkedHostCode {
public:
  LinkedHostCode(const std::string &object, const std::string &symbol);
  ~LinkedHostCode();
  LinkedHostCode(LinkedHostCode &&) noexcept;

  const abi::host_code &operator*() const { return *code_; }
  const abi::host_code *operator->() const { return code_; }

private:
  struct Linker;
  std::unique_ptr<Linker> linker_;
  const abi::host_code *code_ = nullptr;
};

} // namespace tritonc::test
