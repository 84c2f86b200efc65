// Describes a kernel to the emulator, which runs it as host code.
//
// A buffer in shared memory has no name in the source. It gets the name of the parameter through
// which its contents were loaded, because users look there.
//
// Tested by tests/unit/lower/host_kernel_test.cpp.

#include "lower/host_kernel.h"

#include "analysis/launch_config.h"

namespace tritonc {

using namespace ir;

namespace {

// The name of `value`; without one, the name of the value that its first operands lead to.
std::string origin(const Value *value) {
  while (value->op && value->name.empty() && !value->op->operands.empty())
    value = value->op->operand(0);
  return value->name;
}

// The name of the parameter that a pointer or view points into.
std::string pointed_to(const Value *value) {
  while (value->op && !value->op->operands.empty())
    value = value->op->operand(0);
  return value->name;
}

std::string content(const Value *value) {
  while (value->op && !value->op->is(Opcode::load_) && !value->op->operands.empty())
    value = value->op->operand(0);
  return value->op && value->op->is(Opcode::load_) ? pointed_to(value->op->operand(0))
                                                   : origin(value);
}

// The name of the buffer's contents.
std::string name_of(const Function &fn, const Value *buffer) {
  std::string name = buffer->name;
  for_each_op(*fn.body, [&](const Op &op) {
    if (!name.empty())
      return;
    if (op.is(Opcode::async_copy_) && op.operand(1) == buffer)
      name = pointed_to(op.operand(0));
    if (op.is(Opcode::shared_store_) && op.operand(1) == buffer)
      name = content(op.operand(0));
  });
  return name;
}

} // namespace

HostKernel describe(const Function &fn, const Gpu &gpu) {
  HostKernel kernel = {.name = fn.name,
                       .gpu = std::string(gpu.name),
                       .threads = uint32_t(fn.threads()),
                       .shared_bytes = uint32_t(fn.shared_bytes_of_block()),
                       .cluster_size = uint32_t(launch_config(fn).cluster),
                       .blocks_per_sm = uint32_t(fn.blocks_per_sm)};
  for (const Parameter &parameter : fn.parameters)
    kernel.parameters.push_back({parameter.name, parameter.value->type.is_pointer()});
  for (const Op *hidden : hidden_parameters(fn))
    kernel.parameters.push_back({hidden->result()->name, false});
  for_each_op(*fn.body, [&](const Op &op) {
    if (info(op.code).effect != Effect::shared_alloc)
      return;
    const Type &type = op.result()->type;
    kernel.buffers.push_back({name_of(fn, op.result()), uint32_t(op.get(attr::address_)),
                              uint32_t(type.elements() * bytes_of(type.elem))});
  });
  return kernel;
}

} // namespace tritonc
