// Compares the tool's output for a few kernels with the golden files in this folder. A change of
// code generation shows as a diff of these files, for the reviewer to read:
//
//   TRITONC_UPDATE=1 ctest -R golden     rewrites the golden files
//
// Tile IR is compared after translation and after the last pass. Headers are compared in full. PTX
// is compared as an outline: every instruction that accesses memory, synchronizes or multiplies,
// without operands. So a new LLVM version with other register numbers does not change the outline.

#include "compile.h"
#include "emit/cpp/header.h"
#include "emit/interface.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace tritonc;

namespace {

struct Case {
  const char *name; // base name of the golden files
  const char *source;
  const char *variant;
};

// One kernel per code generation path.
const Case cases[] = {
    {"vector_add", "vector_add.tc", "TYPE=float;SIZE=1024"},
    {"matmul_half", "matmul.tc", "A=N;B=N;TYPE=half;TM=64;TN=64;TK=32"},
    {"matmul_half_transposed", "matmul.tc", "A=T;B=T;TYPE=half;TM=64;TN=64;TK=32"},
    {"matmul_float", "matmul.tc", "A=N;B=N;TYPE=float;TM=64;TN=64;TK=16"},
    {"transpose", "transpose.tc", "TYPE=half;SIZES=aligned;TM=64;TN=64"},
    {"reduce", "reduce.tc", "TYPE=half;OP=sum;AXIS=last;TQ=8"},
};
const char *ptx_gpus[] = {"75", "80"};

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

void check_golden(const std::string &name, const std::string &text) {
  CAPTURE(name);
  std::string path = TRITONC_TESTS_DIR "/golden/" + name;
  const char *update = std::getenv("TRITONC_UPDATE");
  if (update && std::string(update) == "1" && read(path) != text)
    std::ofstream(path, std::ios::binary) << text;
  bool same = read(path) == text;
  CHECK_MESSAGE(same, "differs from the golden file; see TRITONC_UPDATE in golden_test.cpp");
}

CompileResult compile_case(const Case &one, const char *gpu, Stage stage,
                           const char *print_after = "") {
  CompileResult result = compile({.sources = {TRITONC_KERNELS_DIR "/" + std::string(one.source)},
                                  .variants = one.variant,
                                  .gpus = {find_gpu(gpu)},
                                  .stage = stage,
                                  .print_after = print_after});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  return result;
}

// The instruction of a PTX line, without operands; empty if the outline omits it.
std::string outlined(std::string line) {
  line.erase(0, line.find_first_not_of(" \t"));
  for (const char *kept : {".version", ".target", ".extern .shared", ".maxntid"})
    if (line.rfind(kept, 0) == 0)
      return line;
  if (line.rfind('@', 0) == 0) // predicate
    line.erase(0, line.find_first_not_of(" \t", line.find_first_of(" \t")));
  std::string instruction = line.substr(0, line.find_first_of(" \t;"));
  for (const char *kept : {"ld.global", "st.global", "ld.shared", "st.shared", "ldmatrix", "mma.",
                           "fma.", "cp.async", "bar", "shfl", "bra", "atom", "red"})
    if (instruction.rfind(kept, 0) == 0)
      return instruction;
  return "";
}

// Shows repeated lines once, with their count.
std::string outline_of(const std::string &ptx) {
  std::istringstream lines(ptx);
  std::string result, previous;
  int times = 0;
  auto flush = [&] {
    if (times)
      result += (times > 1 ? std::to_string(times) + " x " : "") + previous + "\n";
    times = 0;
  };
  for (std::string line; std::getline(lines, line);) {
    std::string shown = outlined(line);
    if (shown.empty())
      continue;
    if (shown != previous)
      flush();
    previous = shown;
    times++;
  }
  flush();
  return result;
}

} // namespace

TEST_CASE("golden: tile IR after translation") {
  for (const Case &one : cases)
    check_golden(one.name + std::string(".tir"),
                 compile_case(one, "80", Stage::tile_ir).stage_output);
}

TEST_CASE("golden: tile IR after the last pass") {
  for (const Case &one : cases)
    check_golden(one.name + std::string(".sm_80.tir"),
                 compile_case(one, "80", Stage::llvm, "insert_barriers").printed);
}

TEST_CASE("golden: PTX outlines") {
  for (const Case &one : cases)
    for (const char *gpu : ptx_gpus)
      check_golden(one.name + std::string(".sm_") + gpu + ".ptx",
                   outline_of(compile_case(one, gpu, Stage::ptx).stage_output));
}

TEST_CASE("golden: headers with and without an enum axis in the API") {
  for (const Case &one : {cases[0], cases[1]}) {
    CompileResult result = compile_case(one, "80", Stage::library);
    Result<Interface> interface = make_interface(result.library);
    REQUIRE_MESSAGE(interface, text(interface.error()));
    check_golden(one.name + std::string(".hpp"), object_mode_header(result.library, *interface));
  }
}
