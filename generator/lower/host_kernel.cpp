// What whoever runs a kernel as host code is told of it.
//
// A buffer in shared memory has no name in the source. It is called after the parameter that what
// it holds was loaded through, since that is where a person would look.
//
// Tested by tests/lower/host_kernel_test.cpp.

#include "lower/host_kernel.h"

#include "analysis/launch_form.h"

namespace tritonc {

using namespace ir;

namespace {

// The parameter that `value` was made from, following first operands; else what it is called.
std::string origin(const Value *value) {
  while (value->op && value->name.empty() && !value->op->operands.empty())
    value = value->op->operand(0);
  return value->name;
}

// The parameter that a pointer or view points into.
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

// What is in the buffer.
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
                       .shared_bytes = uint32_t(fn.shared_bytes),
                       .cluster_size = uint32_t(launch_form(fn).cluster)};
  for (const Parameter &parameter : fn.parameters)
    kernel.parameters.push_back({parameter.name, parameter.value->type.is_pointer()});
  for (const Op *hidden : hidden_parameters(fn))
    kernel.parameters.push_back({hidden->result()->name, false});
  for_each_op(*fn.body, [&](const Op &op) {
    if (info(op.code).effect != Effect::shared_alloc)
      return;
    const Type &type = op.result()->type;
    kernel.buffers.push_back({name_of(fn, op.result()), uint32_t(op.integer("address")),
                              uint32_t(type.elements() * bytes_of(type.elem))});
  });
  return kernel;
}

} // namespace tritonc
