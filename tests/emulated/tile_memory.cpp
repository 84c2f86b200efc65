// The tile interpreter's memory as memory of the emulator. See tile_memory.h.

#include "emulated/tile_memory.h"

#include "analysis/launch_form.h"
#include "interpreter/numbers.h"
#include "models/tensor_map.h"

#include <doctest/doctest.h>

#include <cstring>

namespace tritonc::test {

using interpreter::Buffer;
using interpreter::Element;

// Little-endian machines only, as all that run the emulator are.
TileMemory::TileMemory(const interpreter::Memory &memory) : shape_(memory) {
  for (int b = 0; b < shape_.size(); b++) {
    const Buffer &buffer = shape_[b];
    size_t bytes = size_t(ir::bytes_of(buffer.elem));
    auto *begin = static_cast<std::byte *>(memory_.allocate(buffer.elements.size() * bytes));
    for (size_t i = 0; i < buffer.elements.size(); i++) {
      if (buffer.elements[i].poison)
        continue;
      uint64_t bits = interpreter::bits_of(buffer.elem, buffer.elements[i]);
      std::memcpy(begin + i * bytes, &bits, bytes);
      memory_.mark_initialized(begin + i * bytes, bytes);
    }
    buffers_.push_back(begin);
  }
}

uint64_t TileMemory::bits(const ir::Type &type, const Element &element) const {
  if (!type.is_pointer())
    return interpreter::bits_of(type.elem, element);
  if (element.buffer < 0)
    return 0;
  const std::byte *begin = buffers_[size_t(element.buffer)];
  return uint64_t(uintptr_t(begin + element.integer * ir::bytes_of(type.elem)));
}

// What expressions of a launch form are about.
struct TileMemory::Host {
  const ir::Function &fn;
  const interpreter::Launch &launch;
  int multiprocessors = 3; // blocks that go round

  int64_t value(const Expr &expr) const {
    auto operand = [&](size_t i) { return value(expr.operands[i]); };
    switch (expr.kind) {
    case Expr::Kind::constant:
      return expr.value;
    case Expr::Kind::parameter:
      return launch.arguments[size_t(expr.value)].integer;
    case Expr::Kind::programs:
      return launch.grid[size_t(expr.value)];
    case Expr::Kind::multiprocessors:
      return multiprocessors;
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
    default:
      FAIL("no launch form has this");
      return 0;
    }
  }
};

namespace {

emulator::models::DataType data_type(ir::Elem elem) {
  using emulator::models::DataType;
  switch (elem) {
  case ir::Elem::f16:
    return DataType::f16;
  case ir::Elem::bf16:
    return DataType::bf16;
  case ir::Elem::f32:
    return DataType::f32;
  default:
    FAIL("no tensor map has this");
    return DataType::u8;
  }
}

} // namespace

bool TileMemory::add_map(const TensorMap &map, const Host &host) {
  uint64_t bytes = uint64_t(ir::bytes_of(map.elem));
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box(map.box.begin(), map.box.end()), ones(map.box.size(), 1);
  for (const Expr &size : map.sizes)
    sizes.push_back(uint64_t(host.value(size)));
  for (const Expr &stride : map.strides)
    strides.push_back(uint64_t(host.value(stride)) * bytes);
  Element base = host.launch.arguments[size_t(map.parameter)];
  base.integer += host.value(map.offset);

  emulator::models::TensorMapArguments arguments;
  arguments.type = int(map.to_tf32 ? emulator::models::DataType::tf32 : data_type(map.elem));
  arguments.rank = uint32_t(sizes.size());
  arguments.address = this->bits(ir::Type::pointer(map.elem), base);
  arguments.sizes = sizes.data();
  arguments.strides = strides.data();
  arguments.box = box.data();
  arguments.element_strides = ones.data();
  arguments.swizzle = map.swizzle_bytes == 128  ? 3
                      : map.swizzle_bytes == 64 ? 2
                      : map.swizzle_bytes == 32 ? 1
                                                : 0;
  arguments_.push_back(&maps_.emplace_back());
  return !emulator::models::encode_tensor_map(arguments_.back(), arguments);
}

std::optional<emulator::Launch> TileMemory::launch(const abi::host_code &code,
                                                   const ir::Function &fn,
                                                   const interpreter::Launch &launch) {
  values_.clear();
  arguments_.clear();
  maps_.clear();
  for (size_t i = 0; i < fn.parameters.size(); i++)
    values_.push_back(bits(fn.parameters[i].value->type, launch.arguments[i]));
  LaunchForm form = launch_form(fn);
  Host host{fn, launch};
  for (const HiddenParameter &hidden : form.hidden)
    if (!hidden.map)
      values_.push_back(uint64_t(host.value(hidden.value)));
  size_t next = 0;
  for (; next < fn.parameters.size(); next++)
    arguments_.push_back(&values_[next]);
  for (const HiddenParameter &hidden : form.hidden) {
    if (!hidden.map)
      arguments_.push_back(&values_[next++]);
    else if (!add_map(*hidden.map, host))
      return std::nullopt;
  }

  emulator::Launch result;
  std::vector<uint32_t> blocks(launch.grid.begin(), launch.grid.end());
  for (size_t axis = 0; axis < 3 && !form.blocks.empty(); axis++)
    blocks[axis] = axis < form.blocks.size() ? uint32_t(host.value(form.blocks[axis])) : 1;
  result.grid = {blocks[0], blocks[1], blocks[2]};
  result.cluster = {uint32_t(form.cluster), 1, 1};
  result.threads = code.threads;
  result.shared_bytes = code.shared_bytes;
  result.arguments = arguments_.data();
  return result;
}

interpreter::Memory TileMemory::read() const {
  interpreter::Memory memory = shape_;
  for (int b = 0; b < memory.size(); b++) {
    Buffer &buffer = memory[b];
    size_t bytes = size_t(ir::bytes_of(buffer.elem));
    for (size_t i = 0; i < buffer.elements.size(); i++) {
      const std::byte *at = buffers_[size_t(b)] + i * bytes;
      uint64_t bits = 0;
      std::memcpy(&bits, at, bytes);
      buffer.elements[i] = memory_.is_initialized(at, bytes)
                               ? interpreter::from_bits(buffer.elem, bits)
                               : Element::no_value();
    }
  }
  return memory;
}

} // namespace tritonc::test
