// Links objects of the generator into this process, in place of a linker.

#pragma once

#include <tritonc/descriptor.hpp>

#include <memory>
#include <string>

namespace tritonc::test {

/// The code of one object (backend/host_object.h), valid as long as this object. The constructor
/// throws if the object needs a symbol that this process lacks, so that the test fails.
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
