// Runs host code as one thread, with operations that the test gives: no emulator.

#pragma once

#include "support/jit.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tritonc::test {

/// One call that host code made.
struct HostCall {
  std::string name; // "tid_x"
  void *records;
  uint32_t count;
  unsigned line; // of its site
};

class HostMachine {
public:
  /// What an operation does, by its name without types; those not named here do nothing.
  std::map<std::string, std::function<void(void *records, uint32_t count)>> does;
  abi::host_thread thread = {1000, 0x40000, 0};
  std::vector<HostCall> calls; // all, in order

  void run(const abi::host_code &code, std::vector<void *> arguments);

  /// "tid_x ldmatrix_x4*2 load_shared": the calls, with their counts where they are operations.
  std::string text() const;
};

/// The host code of the kernel in LLVM IR `text`, as this program has it.
LinkedHostCode host_code_of(const std::string &text);

/// Runs it on values: the kernel has a pointer to `Out` as its first parameter.
template <typename Out, typename... In>
Out computed(const abi::host_code &code, HostMachine &machine, In... in) {
  Out out = {};
  Out *place = &out;
  machine.run(code, {&place, &in...});
  return out;
}

} // namespace tritonc::test
