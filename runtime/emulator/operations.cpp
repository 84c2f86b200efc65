// Builds the table of operations from target_ops.def. See operations.h.
//
// Tested by tests/unit/emulator/operations_test.cpp.

#include "operations.h"

#include "ops/barriers.h"
#include "ops/bulk_copies.h"
#include "ops/clusters.h"
#include "ops/copies.h"
#include "ops/device_printf_assert.h"
#include "ops/fences.h"
#include "ops/matrices.h"
#include "ops/mbarriers.h"
#include "ops/memory.h"
#include "ops/reductions.h"
#include "ops/shuffle.h"
#include "ops/signals.h"
#include "ops/special_registers.h"
#include "ops/tensor_copies.h"
#include "ops/warpgroups.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tritonc::emulator {
namespace {

// "ldmatrix_x4 v4i32(i32)" from the table's columns, as the preprocessor spells them.
std::string signature(const char *name, const char *result, const char *operands) {
  std::string text = std::string(name) + " ";
  for (const char *part : {result, operands})
    for (; *part; part++)
      if (*part != ' ')
        text += *part;
  return text;
}

struct Table {
  std::vector<std::string> signatures;
  std::vector<NamedOperation> operations;
  std::unordered_map<std::string_view, abi::host_operation> by_signature;
};

void fill(Table &table) {
  using namespace ops;
  std::vector<Operation> operations;
  auto add = [&](std::string name, Operation operation) {
    table.signatures.push_back(std::move(name));
    operations.push_back(operation);
  };
#define TARGET_OP(name, result, operands, effect, sm, nvptx, ...)                                  \
  add(signature(#name, #result, #operands), __VA_ARGS__);
#include "../../generator/backend/target_ops.def"
  for (auto [name, function] : std::initializer_list<std::pair<const char *, abi::host_operation>>{
           {"load_shared", load_shared},
           {"store_shared", store_shared},
           {"atomic_shared", atomic_shared},
           {"load_global", load_global},
           {"store_global", store_global},
           {"atomic_global", atomic_global},
           {"load_generic", load_generic},
           {"store_generic", store_generic},
           {"atomic_generic", atomic_generic},
           {"out_of_steps", out_of_steps}})
    add(name, {function, 0, 0});

  for (size_t i = 0; i < operations.size(); i++) {
    table.operations.push_back({table.signatures[i], operations[i]});
    table.by_signature[table.signatures[i]] = operations[i].function;
  }
}

const Table &table() {
  static const Table &all = *[] {
    auto *made = new Table; // never destroyed: a launch may run at exit
    fill(*made);
    return made;
  }();
  return all;
}

} // namespace

std::span<const NamedOperation> all_operations() { return table().operations; }

abi::host_operation find_operation(std::string_view signature) {
  auto found = table().by_signature.find(signature);
  return found == table().by_signature.end() ? nullptr : found->second;
}

} // namespace tritonc::emulator
