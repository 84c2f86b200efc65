// Converts between interpreter memory and emulator memory. See tile_memory.h.

#include "support/tile_memory.h"

#include "interpreter/numbers.h"

#include <cstring>

namespace tritonc::test {

using interpreter::Buffer;
using interpreter::Element;

// Little-endian machines only; the emulator runs on no others.
TileMemory::TileMemory(const interpreter::Memory &memory) : shape_(memory) {
  for (int b = 0; b < shape_.size(); b++) {
    size_t bytes = shape_[b].elements.size() * size_t(ir::bytes_of(shape_[b].elem));
    buffers_.push_back(static_cast<std::byte *>(memory_.allocate(bytes)));
  }
  for (int b = 0; b < shape_.size(); b++) {
    const Buffer &buffer = shape_[b];
    size_t bytes = size_t(ir::bytes_of(buffer.elem));
    for (size_t i = 0; i < buffer.elements.size(); i++) {
      if (buffer.elements[i].poison)
        continue;
      uint64_t value = bits(ir::Type::scalar(buffer.elem), buffer.elements[i]);
      std::byte *at = buffers_[size_t(b)] + i * bytes;
      std::memcpy(at, &value, bytes);
      memory_.mark_initialized(at, bytes);
    }
  }
}

uint64_t TileMemory::bits(const ir::Type &type, const Element &element) const {
  if (!type.is_pointer() && element.buffer < 0)
    return interpreter::bits_of(type.elem, element);
  if (element.buffer < 0)
    return 0;
  const std::byte *begin = buffers_[size_t(element.buffer)];
  int64_t offset = type.is_pointer() ? element.integer * ir::bytes_of(type.elem) : 0;
  return uint64_t(uintptr_t(begin + offset));
}

std::optional<emulator::Launch> TileMemory::launch(const abi::host_code &code,
                                                   const ir::Function &fn,
                                                   const interpreter::Launch &launch) {
  values_.clear();
  arguments_.clear();
  std::vector<int64_t> for_host;
  for (size_t i = 0; i < fn.parameters.size(); i++) {
    const ir::Type &type = fn.parameters[i].value->type;
    const Element &argument = launch.arguments[i];
    values_.push_back(bits(type, argument));
    for_host.push_back(type.is_pointer() ? int64_t(values_.back()) : argument.integer);
  }
  host_.emplace(fn, for_host, launch.grid, launch.num_sms);
  if (!host_->fits())
    return std::nullopt;
  if (host_->workspace_bytes() && !workspace_)
    workspace_ = memory_.allocate(host_->workspace_bytes());
  host_->put_workspace_at(workspace_);
  for (uint64_t &value : values_)
    arguments_.push_back(&value);
  arguments_.insert(arguments_.end(), host_->hidden().begin(), host_->hidden().end());

  emulator::Launch result;
  auto [x, y, z] = host_->blocks();
  result.grid = {x, y, z};
  result.cluster = {host_->cluster(), 1, 1};
  result.threads = code.threads;
  result.shared_bytes = host_->shared_bytes().value_or(code.shared_bytes);
  result.starts_early = host_->starts_early();
  result.constants = launch.constants.empty() ? nullptr : launch.constants.data();
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
      const Element &before = shape_[b].elements[i];
      if (before.buffer >= 0 && bits == this->bits(ir::Type::scalar(buffer.elem), before))
        continue; // still the address of a buffer
      buffer.elements[i] = memory_.is_initialized(at, bytes)
                               ? interpreter::from_bits(buffer.elem, bits)
                               : Element::no_value();
    }
  }
  return memory;
}

} // namespace tritonc::test
