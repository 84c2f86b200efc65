// Does the host's work before a launch on the emulator. See host_side.h.

#include "support/host_side.h"

#include "analysis/launch_config.h"
#include "models/tensor_map.h"

#include <algorithm>
#include <cassert>

namespace tritonc::test {

namespace {

// The values that a schedule's launch expressions use.
struct Host {
  const std::vector<int64_t> &arguments;
  const std::array<int, 3> &grid;
  int num_sms;

  int64_t value(const Expr &expr) const {
    auto operand = [&](size_t i) { return value(expr.operands[i]); };
    switch (expr.kind) {
    case Expr::Kind::constant:
      return expr.value;
    case Expr::Kind::parameter:
      return arguments[size_t(expr.value)];
    case Expr::Kind::programs:
      return grid[size_t(expr.value)];
    case Expr::Kind::num_sms:
      return num_sms;
    case Expr::Kind::neg:
      return -operand(0);
    case Expr::Kind::add:
      return operand(0) + operand(1);
    case Expr::Kind::sub:
      return operand(0) - operand(1);
    case Expr::Kind::mul:
      return operand(0) * operand(1);
    case Expr::Kind::div:
      return operand(0) / operand(1);
    case Expr::Kind::rem:
      return operand(0) % operand(1);
    case Expr::Kind::min:
      return std::min(operand(0), operand(1));
    case Expr::Kind::max:
      return std::max(operand(0), operand(1));
    case Expr::Kind::le:
      return operand(0) <= operand(1);
    case Expr::Kind::eq:
      return operand(0) == operand(1);
    default:
      assert(false && "no launch form has this");
      return 0;
    }
  }
};

emulator::models::DataType data_type(ir::Elem elem) {
  using emulator::models::DataType;
  switch (elem) {
  case ir::Elem::i1:
  case ir::Elem::i8:
  case ir::Elem::e4m3:
  case ir::Elem::e5m2:
    return DataType::u8;
  case ir::Elem::i16:
    return DataType::u16;
  case ir::Elem::i32:
    return DataType::s32;
  case ir::Elem::i64:
    return DataType::s64;
  case ir::Elem::f16:
    return DataType::f16;
  case ir::Elem::bf16:
    return DataType::bf16;
  case ir::Elem::f32:
    return DataType::f32;
  case ir::Elem::f64:
    return DataType::f64;
  }
  assert(false && "every element has a type");
  return DataType::u8;
}

// Writes the bytes of a map. Returns false if the driver would refuse it.
bool encode(void *bytes, const TensorMap &map, const Host &host) {
  int64_t element = ir::bytes_of(map.elem);
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box(map.box.begin(), map.box.end()), ones(map.box.size(), 1);
  for (const Expr &size : map.sizes)
    sizes.push_back(uint64_t(host.value(size)));
  for (const Expr &stride : map.strides)
    strides.push_back(uint64_t(host.value(stride) * element));

  emulator::models::TensorMapArguments arguments;
  arguments.type = int(map.to_tf32 ? emulator::models::DataType::tf32 : data_type(map.elem));
  arguments.rank = uint32_t(sizes.size());
  arguments.address =
      uint64_t(host.arguments[size_t(map.parameter)] + host.value(map.offset) * element);
  arguments.sizes = sizes.data();
  arguments.strides = strides.data();
  arguments.box = box.data();
  arguments.element_strides = ones.data();
  arguments.swizzle = map.swizzle_bytes == 128  ? 3
                      : map.swizzle_bytes == 64 ? 2
                      : map.swizzle_bytes == 32 ? 1
                                                : 0;
  return !emulator::models::encode_tensor_map(bytes, arguments);
}

} // namespace

HostSide::HostSide(const ir::Function &fn, const std::vector<int64_t> &arguments,
                   const std::array<int, 3> &grid, int num_sms)
    : blocks_{uint32_t(grid[0]), uint32_t(grid[1]), uint32_t(grid[2])} {
  LaunchConfig form = launch_config(fn);
  Host host{arguments, grid, num_sms};
  for (const HiddenParameter &hidden : form.hidden)
    if (hidden.map) {
      hidden_.push_back(&maps_.emplace_back());
      fits_ &= encode(hidden_.back(), *hidden.map, host);
    } else if (hidden.is_workspace) {
      hidden_.push_back(&workspace_);
    } else {
      hidden_.push_back(&values_.emplace_back(host.value(hidden.value)));
    }
  for (const Requirement &guard : form.guards)
    fits_ &= host.value(guard.condition) != 0;
  for (size_t axis = 0; axis < 3 && !form.blocks.empty(); axis++)
    blocks_[axis] = axis < form.blocks.size() ? uint32_t(host.value(form.blocks[axis])) : 1;
  cluster_ = uint32_t(form.cluster);
  starts_early_ = form.starts_early;
  if (form.workspace)
    workspace_bytes_ = size_t(host.value(*form.workspace));
  if (form.shared_bytes) {
    int64_t bytes = host.value(*form.shared_bytes);
    fits_ &= bytes >= 0 && bytes <= fn.shared_bytes;
    shared_bytes_ = uint32_t(bytes);
  }
}

} // namespace tritonc::test
