// Measures the speed of the emulator on compiled kernels: a 512 x 512 x 512 f16 matmul on two
// cores, with several tile sizes. Prints the times and checks no limit.

#include "emulator.h"
#include "global_memory.h"
#include "models/numbers.h"
#include "support/host_code.h"
#include "test_kernels/test_kernels.h"

#include "passes/pipeline.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <chrono>

using namespace tritonc;
using namespace tritonc::test;

namespace {

constexpr int size = 512;

float a_at(int i, int k) { return float((i * 7 + k * 3) % 9 - 4); }
float b_at(int k, int j) { return float((j * 5 + k) % 7 - 3); }

uint16_t *matrix(emulator::GlobalMemory &memory, float (*element)(int, int)) {
  size_t bytes = sizeof(uint16_t) * size * size;
  auto *begin = static_cast<uint16_t *>(memory.allocate(bytes));
  for (int i = 0; i < size * size; i++)
    begin[i] = emulator::models::to_half(element(i / size, i % size));
  memory.mark_initialized(begin, bytes);
  return begin;
}

struct BlockOfC {
  int m, n, k;
};

LinkedHostCode matmul_of(const BlockOfC &tile) {
  const TestKernel &test_kernel = test_kernels()[0];
  REQUIRE(test_kernel.file == "kernels/matmul.tc");
  Variant variant = variants_of(test_kernel, false)[0];
  for (auto [name, value] : {std::pair("TM", tile.m), {"TN", tile.n}, {"TK", tile.k}})
    for (Define &define : variant.defines)
      if (define.name == name)
        define.value = std::to_string(value);
  REQUIRE(variant.text.starts_with("TYPE=half A=N B=N"));
  FrontEndResult source = translate_source(input_of(test_kernel, variant));
  REQUIRE(source.errors == 0);
  const Gpu &gpu = *find_gpu("80");
  run_pipeline(source.checked[0], gpu, [](std::string_view, ir::Function &) {});
  return host_code_of(source.checked[0], gpu);
}

} // namespace

TEST_CASE("emulator: prints the time of a compiled matmul") {
  emulator::GlobalMemory memory;
  uint16_t *a = matrix(memory, a_at), *b = matrix(memory, b_at);
  auto *c = static_cast<uint16_t *>(memory.allocate(sizeof(uint16_t) * size * size));
  int n = size;
  void *arguments[] = {&a, &b, &c, &n, &n, &n, &n, &n, &n};
  for (const BlockOfC &tile : {BlockOfC{128, 128, 64}, {64, 64, 32}, {32, 32, 16}}) {
    LinkedHostCode code = matmul_of(tile);
    emulator::Launch launch;
    launch.grid = {uint32_t(size / tile.m), uint32_t(size / tile.n), 1};
    launch.threads = code->threads;
    launch.shared_bytes = code->shared_bytes;
    launch.arguments = arguments;
    std::string name =
        std::to_string(tile.m) + " x " + std::to_string(tile.n) + " x " + std::to_string(tile.k);
    for (bool races : {false, true}) {
      emulator::Options options;
      options.workers = 2;
      options.races = races;
      auto start = std::chrono::steady_clock::now();
      emulator::Result result = emulator::launch(*code, launch, options, memory);
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      CHECK(result.ok());
      MESSAGE("512 x 512 x 512 in tiles of " << name << std::string(races ? ", with races: " : ": ")
                                             << seconds.count() << " s");
    }
    for (int i = 0; i < size; i += 37)
      for (int j = 0; j < size; j += 11) {
        float sum = 0;
        for (int k = 0; k < size; k++)
          sum += a_at(i, k) * b_at(k, j);
        CHECK(c[i * size + j] == emulator::models::to_half(sum));
      }
  }
}
