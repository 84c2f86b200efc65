// Runs host code as one thread, without the emulator. The test defines the operations.

#pragma once

#include "support/jit.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tritonc::test {

/// One call by host code.
struct HostCall {
  std::string name; // for example "tid_x"
  void *records;
  uint32_t count;
  unsigned line; // source line of its site
};

class HostMachine {
public:
  /// The operations by name, without types. Other operations do nothing.
  std::map<std::string, std::function<void(void *records, uint32_t count)>> does;
  abi::host_thread thread = {1000, 0x40000, 0};
  std::vector<HostCall> calls; // in order

  void run(const abi::host_code &code, std::vector<void *> arguments);

  /// The calls, with counts for operations: "tid_x ldmatrix_x4*2 load_shared".
  std::string text() const;
};

/// The host code of the LLVM IR kernel `text`, linked into this program.
LinkedHostCode host_code_of(const std::string &text);

/// Runs the code on values. The kernel's first parameter is a pointer to `Out`.
template <typename Out, typename... In>
Out computed(const abi::host_code &code, HostMachine &machine, In... in) {
  Out out = {};
  Out *place = &out;
  machine.run(code, {&place, &in...});
  return out;
}

} // namespace tritonc::test
