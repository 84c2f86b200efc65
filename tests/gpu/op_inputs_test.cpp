// Tests op_inputs.cpp and op_compare.cpp: inputs are valid for their operations, and compare()
// finds every difference.

#include "op_compare.h"
#include "op_inputs.h"

#include "models/matrix_descriptor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>

using namespace tritonc::test;
namespace models = tritonc::emulator::models;

namespace {

// The same entries as op_kernels.cpp makes.
const OpEntry red_add = {.name = "red_add_f16x2",
                         .op = "red_add_f16x2",
                         .threads = 32,
                         .blocks = 1,
                         .memory_bytes = 256,
                         .operand_count = 2,
                         .operand_offsets = {0, 8},
                         .record_bytes = 16};
const OpEntry tma_store = {.name = "tma_store_3d",
                           .op = "tma_store_3d",
                           .threads = 32,
                           .blocks = 1,
                           .image_bytes = 16384,
                           .takes_map = true,
                           .operand_count = 5,
                           .operand_offsets = {0, 8, 12, 16, 20},
                           .record_bytes = 24};

OpEntry wgmma(unsigned registers, unsigned a_transposed, unsigned b_transposed) {
  return {.name = "wgmma_f16",
          .op = "wgmma_f16",
          .immediates = {registers, a_transposed, b_transposed},
          .threads = 128,
          .blocks = 1,
          .image_bytes = 320 * 128,
          .operand_count = 7,
          .operand_offsets = {0, 8, 16, 24, 28, 32, 36},
          .record_bytes = (36 + 8 * registers + 7) / 8 * 8,
          .result_bytes = 4 * registers};
}

template <typename T>
T operand(const OpEntry &entry, const Inputs &inputs, unsigned block, unsigned thread,
          unsigned index) {
  T value;
  std::memcpy(&value,
              inputs.in.data() + size_t(block) * entry.in_bytes() + entry.image_bytes +
                  entry.memory_bytes + thread * entry.record_bytes + entry.operand_offsets[index],
              sizeof value);
  return value;
}

} // namespace

TEST_CASE("op_inputs: a seed determines the inputs") {
  for (Mode mode : modes_of(red_add)) {
    Inputs a = make_inputs(red_add, mode, 3, 7), b = make_inputs(red_add, mode, 3, 7),
           c = make_inputs(red_add, mode, 3, 8);
    CHECK(hash_of(a) == hash_of(b));
    CHECK(hash_of(a) != hash_of(c));
  }
}

TEST_CASE("op_inputs: red_add threads get distinct words") {
  Inputs inputs = make_inputs(red_add, Mode::bits, 20, 1);
  for (unsigned block = 0; block < 20; block++) {
    std::set<uint64_t> places;
    for (unsigned thread = 0; thread < 32; thread++) {
      auto place = operand<uint64_t>(red_add, inputs, block, thread, 0);
      CHECK(place % 4 == 0);
      CHECK(place < red_add.memory_bytes);
      CHECK(places.insert(place).second);
    }
  }
}

TEST_CASE("op_inputs: wgmma matrices lie in the image, in every swizzle") {
  for (unsigned registers : {4u, 32u, 128u})
    for (unsigned transposed = 0; transposed < 4; transposed++)
      for (Mode mode : {Mode::bits, Mode::layouts}) {
        OpEntry entry = wgmma(registers, transposed & 1, transposed >> 1);
        std::set<models::Swizzle> swizzles;
        Inputs inputs = make_inputs(entry, mode, 64, registers + transposed);
        for (unsigned block = 0; block < 64; block++)
          for (unsigned which = 0; which < 2; which++) {
            unsigned rows = which == 0 ? 64 : 2 * registers;
            models::MatrixDescriptor descriptor;
            REQUIRE(models::decode_descriptor(descriptor, operand<uint64_t>(entry, inputs, block, 5,
                                                                            1 + which)) == nullptr);
            swizzles.insert(descriptor.swizzle);
            std::vector<uint32_t> addresses(2 * rows);
            models::chunk_addresses(
                addresses.data(), descriptor,
                entry.immediates[1 + which] ? models::Major::mn : models::Major::k, 0, rows);
            CHECK(*std::max_element(addresses.begin(), addresses.end()) + 16 <= entry.image_bytes);
          }
        CHECK(swizzles.size() == 4);
      }
}

TEST_CASE("op_inputs: tensors fit their memory, boxes fit the image") {
  Inputs inputs = make_inputs(tma_store, Mode::layouts, 400, 3);
  for (unsigned block = 0; block < 400; block++) {
    const Tensor &tensor = inputs.tensors[block];
    CAPTURE(text_of(tensor));
    alignas(64) std::byte bytes[128];
    models::TensorMap map;
    CHECK_FALSE(models::encode_tensor_map(bytes, tensor.arguments(inputs.tensor_memory.data())));
    REQUIRE_FALSE(models::decode_tensor_map(map, bytes));
    CHECK(operand<uint32_t>(tma_store, inputs, block, 0, 4) + map.box_bytes() <= 16384);
    uint64_t end = tensor.offset + tensor.sizes[0] * map.strides[0];
    for (unsigned i = 1; i < tensor.rank; i++)
      end += (tensor.sizes[i] - 1) * map.strides[i];
    CHECK(end + 16 <= tensor_bytes);
  }
}

TEST_CASE("op_compare: finds a changed bit and describes its place") {
  OpEntry entry = wgmma(4, 0, 0);
  Inputs inputs = make_inputs(entry, Mode::whole, 3, 1);
  Outputs expected = {inputs.out, {}, ""}, found = expected;
  CHECK(compare(entry, inputs, expected, found).blocks.empty());
  found.out[entry.out_bytes() + entry.image_bytes + 17 * entry.result_bytes + 8] ^= std::byte(1);
  Differences differences = compare(entry, inputs, expected, found);
  CHECK(differences.bytes == expected.out.size());
  CHECK(differences.blocks == std::vector<unsigned>{1});
  CHECK(differences.words == 1);
  REQUIRE(differences.texts.size() == 1);
  CHECK(differences.texts[0].starts_with("wgmma_f16, block 1, thread 17, result + 8: GPU 0x"));
  CHECK(hash_of(expected) != hash_of(found));
}

TEST_CASE("op_compare: finds a changed byte in tensor memory") {
  Inputs inputs = make_inputs(tma_store, Mode::bits, 2, 1);
  Outputs expected = {inputs.out, inputs.tensor_memory, ""}, found = expected;
  found.tensor_memory[tensor_bytes + 100] ^= std::byte(0x80);
  Differences differences = compare(tma_store, inputs, expected, found);
  CHECK(differences.blocks == std::vector<unsigned>{1});
  CHECK(differences.texts.at(0).starts_with("tma_store_3d, block 1, tensor memory + 100 of "));
}
