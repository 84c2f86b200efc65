// Tests print and assert end to end: from the source through the passes, LLVM, and host code to the
// emulator. It must report the same as the tile interpreter does for the translated tile IR.

#include "passes/pipeline.h"
#include "support/host_code.h"
#include "support/kernel_file.h"
#include "support/tile_memory.h"
#include "translate/translate.h"
#include "unit/emulator/modes.h"

#include <doctest/doctest.h>

using namespace tritonc;
using namespace tritonc::test;
using ir::Elem;

namespace {

using Lines = std::vector<std::string>;

// A kernel and its launch, which both the interpreter and the emulator can run.
struct TestKernel {
  ir::Function fn;
  interpreter::Memory memory;
  interpreter::Launch launch;

  explicit TestKernel(const std::string &source) {
    FrontEndResult result = translate_source(KernelFile(source, {}).input);
    REQUIRE_MESSAGE(result.errors == 0, result.diagnostics_text);
    fn = std::move(result.checked.at(0));
  }

  void add(Elem elem, const std::vector<double> &values) {
    std::string name = "x" + std::to_string(memory.size());
    launch.arguments.push_back(interpreter::Element::pointer(memory.add(name, elem, values)));
  }
  void add(int value) { launch.arguments.push_back(interpreter::Element::of_integer(value)); }

  Lines interpreted() {
    interpreter::Memory copy = memory;
    interpreter::Result result = interpreter::run(fn, launch, copy);
    for (const interpreter::Report &report : result.reports)
      FAIL(interpreter::text_of(report));
    return result.printed;
  }
};

struct Emulated {
  Lines lines;
  emulator::Result result;

  Emulated(const TestKernel &test_kernel, const Gpu &gpu, emulator::Options options) {
    ir::Function fn = ir::clone(test_kernel.fn);
    run_pipeline(fn, gpu, [](std::string_view, ir::Function &) {});
    LinkedHostCode code = host_code_of(fn, gpu);
    TileMemory memory(test_kernel.memory);
    options.print = [&](std::string_view line) { lines.emplace_back(line); };
    result = emulator::launch(*code, *memory.launch(*code, fn, test_kernel.launch), options,
                              memory.memory());
  }
};

const char *const gpus[] = {"75", "80"};

void check_all(TestKernel test_kernel) {
  Lines expected = test_kernel.interpreted();
  CHECK_FALSE(expected.empty());
  for (const char *gpu : gpus)
    for (const emulator::Options &options : emulator::test::all_modes()) {
      Emulated emulated(test_kernel, *find_gpu(gpu), options);
      CAPTURE(gpu);
      CAPTURE(emulator::test::name_of(options));
      CAPTURE(emulated.result.ok() ? "" : emulated.result.reports[0].text);
      CHECK(emulated.result.ok());
      CHECK(emulated.lines == expected);
    }
}

std::vector<double> numbers(int count) {
  std::vector<double> values;
  for (int i = 0; i < count; i++)
    values.push_back(i % 7 - 3);
  return values;
}

} // namespace

TEST_CASE("print: scalars and tiles of every type, all interleavings") {
  TestKernel test_kernel(R"(
    __global__ void f(half *h, float *x, int8 *b, bfloat16 *w, double *d, int n, unsigned u) {
      int i[64] = 0 ... 64;
      print("start of", get_program_id(0), "of", get_num_programs(0));
      print(n, u, n < 0, i < 5);
      print("h", *(h + i), "x", *x, "{} and", *(x + i)[:, newaxis] + *(x + (0 ... 2)));
      if (get_program_id(0) == 1)
        print("only program 1");
      print(*(b + i), *(w + (0 ... 4)), *d);
    })");
  test_kernel.add(Elem::f16, numbers(64));
  test_kernel.add(Elem::f32, numbers(64));
  test_kernel.add(Elem::i8, numbers(64));
  test_kernel.add(Elem::bf16, numbers(64));
  test_kernel.add(Elem::f64, {0.1});
  test_kernel.add(-5);
  test_kernel.add(-5);
  test_kernel.launch.grid = {3, 1, 1};
  check_all(std::move(test_kernel));
}

TEST_CASE("print: in a pipelined matmul loop with barriers") {
  TestKernel test_kernel(R"(
    __global__ void f(half *A, half *B, float *C, int K) {
      int r[32] = 0 ... 32, k[16] = 0 ... 16;
      half *pa[32, 16] = A + r[:, newaxis] * K + k[newaxis, :];
      half *pb[16, 32] = B + k[:, newaxis] * 32 + r[newaxis, :];
      float sum[32, 32] = 0;
      for (int done = 0; done < K; done += 16) {
        sum += *pa @ *pb;
        print("after", done, sum, sum[max, :]);
        assert(done + k < K);
        pa += 16;
        pb += 16 * 32;
      }
      assert(sum == sum, "not NaN");
      *(C + r[:, newaxis] * 32 + r[newaxis, :]) = sum;
      print("end", sum[+, +]);
    })");
  test_kernel.add(Elem::f16, numbers(32 * 64));
  test_kernel.add(Elem::f16, numbers(32 * 64));
  test_kernel.add(Elem::f32, numbers(32 * 32));
  test_kernel.add(64);
  check_all(std::move(test_kernel));
}

TEST_CASE("assert: reports line, text and element, ends the launch") {
  TestKernel test_kernel("__global__ void f(int *x, int n) {\n"
                         "  int i[4, 16] = (0 ... 4)[:, newaxis] * 16 + 0 ... 16;\n"
                         "  print(\"before\");\n"
                         "  assert(*(x + i) < n, \"too large\");\n"
                         "  print(\"after\");\n"
                         "}");
  std::vector<double> values(64, 1);
  values[37] = 9;
  test_kernel.add(Elem::i32, values);
  test_kernel.add(5);
  for (const emulator::Options &options : emulator::test::all_modes()) {
    CAPTURE(emulator::test::name_of(options));
    Emulated emulated(test_kernel, *find_gpu("80"), options);
    REQUIRE(emulated.result.reports.size() == 1);
    const emulator::Report &report = emulated.result.reports[0];
    CHECK(report.kind == emulator::Report::Kind::assertion);
    CHECK(report.site.line == 4);
    CHECK(report.text.find("assertion `*(x + i) < n` failed: too large, at element (2, 5)") !=
          std::string::npos);
  }
}

TEST_CASE("assert: masked-out elements do not matter") {
  TestKernel test_kernel("__global__ void f(int *x, int n) {\n"
                         "  int i[32] = 0 ... 32;\n"
                         "  int y[32] = i < n ? *(x + i) : 7;\n"
                         "  assert(y == 7 || i < n);\n"
                         "  print(y[+]);\n"
                         "}");
  test_kernel.add(Elem::i32, numbers(20));
  test_kernel.add(20);
  check_all(std::move(test_kernel));
}

TEST_CASE("gather: an index out of the tile ends the launch") {
  struct {
    const char *statement, *said;
  } cases[] = {
      {"*(x + i) = t[gather(i + n)];",
       "`gather` index out of range for an axis of extent 32, at element (27)"},
      {"*x = t[n + 30];", "index out of range for an axis of extent 32"},
      {"*x = t[n - 6];", "index out of range for an axis of extent 32"},
  };
  for (auto [statement, said] : cases) {
    CAPTURE(statement);
    TestKernel test_kernel("__global__ void f(int *x, int n) {\n"
                           "  int i[32] = 0 ... 32, t[32] = *(x + i);\n  " +
                           std::string(statement) + "\n}");
    test_kernel.add(Elem::i32, numbers(32));
    test_kernel.add(5);
    Emulated emulated(test_kernel, *find_gpu("80"), {});
    REQUIRE(emulated.result.reports.size() == 1);
    const emulator::Report &report = emulated.result.reports[0];
    CHECK(report.kind == emulator::Report::Kind::assertion);
    CHECK(report.site.line == 3);
    CHECK(report.text.find(said) != std::string::npos);
  }
}

TEST_CASE("gather: accepts in-bounds and masked-out indices") {
  TestKernel test_kernel("__global__ void f(int *x, int n) {\n"
                         "  int i[32] = 0 ... 32, t[32] = *(x + i);\n"
                         "  int j[32] = i < n ? *(x + 32 + i) : 0;\n"
                         "  int a[32] = j >= 0 && j < 32 ? t[gather(j)] : -1;\n"
                         "  int b[32] = i < n ? t[gather(*(x + 32 + i) & 31)] : 0;\n"
                         "  int c = n > 31 ? t[n] : t[n - 1];\n"
                         "  print(a[+], b[+], c, t[gather(31 - i)][+], t[31]);\n"
                         "}");
  std::vector<double> values = numbers(42);
  for (size_t at = 32; at < 42; at++)
    values[at] = double(at * 5) - 170; // from -10 to 35
  test_kernel.add(Elem::i32, values);
  test_kernel.add(10);
  check_all(std::move(test_kernel));
}
