// Compares outputs. See op_compare.h.

#include "op_compare.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace tritonc::test {

namespace {

constexpr size_t max_texts = 6;

std::string format(const char *text, auto... values) {
  char buffer[300];
  std::snprintf(buffer, sizeof buffer, text, values...);
  return buffer;
}

// Describes byte `at` of a block's region of `out`.
std::string place_in_out(const OpEntry &entry, size_t at) {
  if (at < entry.image_bytes)
    return format("image + %zu", at);
  at -= entry.image_bytes;
  if (at < entry.memory_bytes)
    return format("memory + %zu", at);
  at -= entry.memory_bytes;
  return format("thread %zu, result + %zu", at / entry.result_bytes, at % entry.result_bytes);
}

uint32_t word_at(const std::vector<std::byte> &bytes, size_t at) {
  uint32_t word;
  std::memcpy(&word, bytes.data() + at, 4);
  return word;
}

} // namespace

Differences compare(const OpEntry &entry, const Inputs &inputs, const Outputs &expected,
                    const Outputs &found) {
  Differences result;
  // Compares `bytes` bytes from `begin` on. place(i) describes byte begin + i.
  auto differ = [&](const auto &a, const auto &b, size_t begin, size_t bytes, auto place) {
    result.bytes += bytes;
    if (bytes == 0 || std::memcmp(a.data() + begin, b.data() + begin, bytes) == 0)
      return false;
    for (size_t at = 0; at < bytes; at += 4) {
      uint32_t x = word_at(a, begin + at), y = word_at(b, begin + at);
      if (x == y)
        continue;
      result.words++;
      if (result.texts.size() < max_texts)
        result.texts.push_back(std::string(entry.name) + ", " + place(at) +
                               format(": GPU 0x%08x, emulator 0x%08x (%.9g, %.9g)", x, y,
                                      double(std::bit_cast<float>(x)),
                                      double(std::bit_cast<float>(y))));
    }
    return true;
  };
  for (unsigned block = 0; block < inputs.blocks; block++) {
    std::string where = format("block %u, ", block);
    bool differs =
        differ(expected.out, found.out, size_t(block) * entry.out_bytes(), entry.out_bytes(),
               [&](size_t at) { return where + place_in_out(entry, at); });
    if (entry.takes_map && differ(expected.tensor_memory, found.tensor_memory, block * tensor_bytes,
                                  tensor_bytes, [&](size_t at) {
                                    return where + format("tensor memory + %zu", at) + " of " +
                                           text_of(inputs.tensors[block]);
                                  }))
      differs = true;
    if (differs)
      result.blocks.push_back(block);
  }
  return result;
}

std::string text_of(const Tensor &tensor) {
  std::ostringstream text;
  auto list = [&](const char *name, const auto *numbers, unsigned n) {
    text << " " << name;
    for (unsigned i = 0; i < n; i++)
      text << (i ? "," : " ") << numbers[i];
  };
  text << models::name_of(models::DataType(tensor.type)) << " rank " << tensor.rank << " at +"
       << tensor.offset;
  list("sizes", tensor.sizes, tensor.rank);
  list("strides", tensor.strides, tensor.rank > 0 ? tensor.rank - 1 : 0);
  list("box", tensor.box, tensor.rank);
  list("element strides", tensor.element_strides, tensor.rank);
  text << " swizzle " << tensor.swizzle << " L2 promotion " << tensor.l2_promotion << " fill "
       << tensor.fill;
  return text.str();
}

uint64_t hash_of(const std::vector<std::byte> &bytes, uint64_t hash) {
  for (size_t at = 0; at < bytes.size(); at += 4) {
    hash = (hash ^ word_at(bytes, at)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

uint64_t hash_of(const Inputs &inputs) {
  uint64_t hash = hash_of(inputs.tensor_memory, hash_of(inputs.out, hash_of(inputs.in, 1)));
  for (const Tensor &tensor : inputs.tensors)
    for (char c : text_of(tensor))
      hash = (hash ^ uint64_t(c)) * 0x9e3779b97f4a7c15;
  return hash;
}

uint64_t hash_of(const Outputs &outputs) {
  return hash_of(outputs.tensor_memory, hash_of(outputs.out, 1));
}

} // namespace tritonc::test
