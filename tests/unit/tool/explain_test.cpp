// Tests generator/diagnose/explain.cpp.

#include "diagnose/explain.h"

#include "support/contains.h"
#include "support/kernel_file.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// The explanation for `gpu` of a matmul with these parameters and these loads of the operands.
std::string explained(const std::string &gpu, const std::string &type,
                      const std::string &parameters, const std::string &loads,
                      const std::string &pragma = "") {
  KernelFile kernel(pragma + "__global__ void f(" + type + " *A __readonly, " + type +
                    " *B __readonly, float *C, " + parameters + R"() {
  int rm[64] = get_program_id(0) * 64 + 0 ... 64;
  int rn[64] = get_program_id(1) * 64 + 0 ... 64;
  int rk[64] = 0 ... 64;
  float sum[64, 64] = 0;
  for (int k = 0; k < K; k += 64) {
    )" + loads + R"(
    sum += a @ b;
  }
  float *pc[64, 64] = C + rm[:, newaxis] * ldc + rn[newaxis, :];
  *pc = sum;
})");
  FrontEndResult result = translate_source(kernel.input);
  INFO(result.diagnostics_text);
  REQUIRE(result.kernels.size() == 1);
  return explain(result.kernels[0], *find_gpu(gpu), " for sm_" + gpu + ":");
}

// The pragma of the kernel rounds the operands of float matmuls to tf32.
std::string explained_tf32(const std::string &a, const std::string &b) {
  return explained("90a", "float",
                   "int K, int lda __multipleof(8), int ldb __multipleof(8), "
                   "int ldc __multipleof(8)",
                   a + b, "#pragma tritonc precision(tf32)\n");
}

const std::string declared =
    "int K, int lda __multipleof(8), int ldb __multipleof(8), int ldc __multipleof(8)";
const std::string loads = R"(half a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";

// The explanation of a matmul with other values of these macros.
std::string explained(const std::vector<Define> &changes, const std::string &gpu = "90a") {
  std::vector<Define> defines = {
      {"TM", "64"},
      {"TN", "64"},
      {"TK", "64"},
      {"BEFORE", ""},
      {"LENGTH", "K"},
      {"LOAD_A", "*(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :])"},
      {"MULTIPLY", "sum += a @ b"},
      {"BEHIND", ""},
  };
  for (const Define &change : changes) {
    auto same = [&](const Define &define) { return define.name == change.name; };
    auto define = std::find_if(defines.begin(), defines.end(), same);
    REQUIRE(define != defines.end());
    *define = change;
  }
  KernelFile kernel(R"(
__global__ void f(half *A, half *B, float *C, int *L, int K, int lda __multipleof(8),
                  int ldb __multipleof(8), int ldc __multipleof(8)) {
  int rm[TM] = get_program_id(0) * TM + 0 ... TM;
  int rn[TN] = get_program_id(1) * TN + 0 ... TN;
  int rk[TK] = 0 ... TK;
  float sum[TM, TN] = 0;
  BEFORE for (int k = 0; k < LENGTH; k += TK) {
    half a[TM, TK] = LOAD_A;
    half b[TK, TN] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);
    MULTIPLY;
  }
  BEHIND;
  *(C + rm[:, newaxis] * ldc + rn[newaxis, :]) = sum;
})",
                    defines);
  FrontEndResult result = translate_source(kernel.input);
  INFO(result.diagnostics_text);
  REQUIRE(result.kernels.size() == 1);
  return explain(result.kernels[0], *find_gpu(gpu), " for sm_" + gpu + ":");
}

const std::string by_wgmma =
    "  note: multistage wgmma: all warps copy with cp.async; each dot that "
    "fits is multiplied with wgmma\n";

// The text behind the heading, if it is one line, but for the schedule without a matmul loop.
std::string only_line(std::string text) {
  const std::string heading = "`f` for sm_90a:\n  note: ";
  if (size_t at = text.find(by_wgmma); at != std::string::npos)
    text.erase(at, by_wgmma.size());
  REQUIRE(text.rfind(heading, 0) == 0);
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  return text.substr(heading.size(), text.find('\n', heading.size()) - heading.size());
}

} // namespace

TEST_CASE("explain: lists the schedules, best first") {
  std::string text = explained("90a", "half", declared, loads);
  CHECK(text.rfind("`f` for sm_90a:\n  note: 128x256x64 warp-specialized: ", 0) == 0);
  CHECK(contains(text, "consumer warps multiply with wgmma; 2 x 4 x 1 programs per block\n"));
  CHECK(contains(
      text,
      "  note: 64x64x128 warp-specialized, split-K 4: split-K over a cluster of 4 blocks that "
      "computes 1 x 1 x 1 programs;"));
  CHECK(contains(
      text, "  note: 128x128x64 warp-specialized, ping-pong: ping-pong with two consumer groups of "
            "2 x 2 x 1 programs each;"));
  CHECK(contains(
      text,
      "  note: 64x128x64 warp-specialized, split-K partials: split-K of 1 x 2 x 1 programs over "
      "one block per SM, with partials in a workspace; for few tiles with very large K\n"
      "  note: 64x128x64 split-K reduction: a second launch adds the split-K partials in order "
      "and runs the epilogue\n"));
  CHECK_FALSE(contains(text, "multistage"));
  CHECK(contains(text, "  note: baseline: for small matmuls, and if a pointer or a row stride is"));
  CHECK_FALSE(contains(text, "__multipleof"));
}

TEST_CASE("explain: atomics and barriers allow only the baseline") {
  for (const char *own : {"atomic_add(C, 1.0f);", "__debug_barrier();"}) {
    std::string text = explained("90a", "half", declared, loads + own);
    CAPTURE(text);
    CHECK(contains(text, "no warp specialization: the kernel has atomics or barriers"));
    CHECK_FALSE(contains(text, "specialized"));
  }
}

TEST_CASE("explain: assert in GPU code allows only the baseline") {
  FrontEndResult result = translate_source(KernelFile(R"(
__global__ void f(half *A __readonly, half *B __readonly, float *C, int K, int lda __multipleof(8),
                  int ldb __multipleof(8), int ldc __multipleof(8)) {
  int r[64] = 0 ... 64;
  float sum[64, 64] = 0;
  assert(K > 0);
  for (int k = 0; k < K; k += 64)
    sum += *(A + r[:, newaxis] * lda + (k + r)[newaxis, :]) @
           *(B + (k + r)[:, newaxis] * ldb + r[newaxis, :]);
  *(C + r[:, newaxis] * ldc + r[newaxis, :]) = sum;
})",
                                                      {})
                                               .input);
  INFO(result.diagnostics_text);
  REQUIRE(result.kernels.size() == 1);
  std::string without = explain(result.kernels[0], *find_gpu("90a"), " for sm_90a:");
  CHECK(contains(without, "specialized"));
  CHECK_FALSE(contains(without, "assert"));
  CHECK(explain(result.checked[0], *find_gpu("90a"), " for sm_90a:") ==
        "`f` for sm_90a:\n  note: baseline: the code has `assert` or `print`, so a block does one "
        "program, and all its warps do the same\n");
}

TEST_CASE("explain: sm_80 has multistage and the baseline") {
  std::string text = explained("80", "half", declared, loads);
  CHECK(text.rfind("`f` for sm_80:\n"
                   "  note: 128x256x64 multistage: coarsened, 2 x 4 x 1 programs per block\n"
                   "  note: no warp specialization: sm_80 has no TMA",
                   0) == 0);
}

TEST_CASE("explain: without wgmma, TMA with mma or else cp.async") {
  for (const char *gpu : {"90", "100", "120a"}) {
    std::string text = explained(
        gpu, "half", "int K, int lda, int ldb __multipleof(8), int ldc __multipleof(8)", loads);
    CAPTURE(text);
    CHECK(contains(text, "specialized: a producer warp copies with TMA, consumer warps multiply "
                         "with mma; 2 x 4 x 1 programs per block\n"));
    CHECK(contains(text,
                   "note: `lda` is not known to be a multiple of 8; if it is not, all warps copy "
                   "with cp.async;"));
    CHECK(contains(text, "note: all warps copy with cp.async: for small matmuls, and if a pointer "
                         "or a row stride is"));
    CHECK_FALSE(contains(text, "wgmma"));
    CHECK_FALSE(contains(text, "baseline"));
  }
}

TEST_CASE("explain: without wgmma, gives the reason against TMA") {
  const std::string gathered =
      R"(half a[64, 64] = *(A + (rm * rm)[:, newaxis] + (k + rk)[newaxis, :]);
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  std::string text = explained("90", "half", declared, gathered);
  CHECK(contains(text, "no TMA for `A`: its addresses are not affine in the indices"));
  CHECK_FALSE(contains(text, "element by element"));
  const std::string along_n =
      R"(float a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);
    float b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  text = explained("90", "float", declared, along_n, "#pragma tritonc precision(tf32)\n");
  CHECK(contains(text, "no TMA for `B`: except for 16-bit types, mma with TMA needs operands that "
                       "are contiguous along K"));
}

TEST_CASE("explain: names the multiple that a launch checks") {
  std::string text = explained(
      "90a", "half", "int K, int lda, int ldb __multipleof(8), int ldc __multipleof(8)", loads);
  CHECK(contains(text,
                 "note: `lda` is not known to be a multiple of 8; if it is not, producer warps "
                 "copy element by element;"));
  CHECK_FALSE(contains(text, "`ldb`"));
  CHECK(contains(text, "  note: 128x256x64 warp-specialized, without TMA: producer warps copy"));
  CHECK(contains(text, "  note: no TMA at launch if a pointer or a row stride is not a multiple"));
  CHECK_FALSE(contains(text, "note: baseline"));
  // float has no schedule without TMA.
  std::string tf32 =
      R"(float a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);
    float b[64, 64] = *(B + (k + rk)[:, newaxis] + rn[newaxis, :] * ldb);)";
  text = explained("90a", "float", "int K, int lda, int ldb __multipleof(8), int ldc", tf32,
                   "#pragma tritonc precision(tf32)\n");
  CHECK(contains(text, "note: `lda` is not known to be a multiple of 4; if it is not, the baseline "
                       "runs;"));
  CHECK_FALSE(contains(text, "element by element"));
}

TEST_CASE("explain: gives the reason if TMA is never possible, but threads can copy") {
  const std::string b_of_views =
      "half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);";
  struct {
    std::string a, text;
  } cases[] = {
      {"A + rm[:, newaxis] * lda + (k + rk)[newaxis, :] + get_program_id(2) * 3",
       "its tile offsets are not multiples of strides"},
      {"A + rm[:, newaxis] * lda + (k + rk)[newaxis, :] * 2",
       "adjacent elements of its tile are not"},
      {"A + (rm * rm)[:, newaxis] + (k + rk)[newaxis, :]",
       "its addresses are not affine in the indices"},
  };
  for (const auto &[a, expected] : cases) {
    CAPTURE(a);
    std::string text =
        explained("90a", "half", declared, "half a[64, 64] = *(" + a + ");\n    " + b_of_views);
    CAPTURE(text);
    CHECK(contains(text, "x64 warp-specialized, without TMA: producer warps copy"));
    CHECK(contains(text, "  note: no TMA for `A`: " + expected));
    CHECK_FALSE(contains(text, "__multipleof"));
    CHECK_FALSE(contains(text, "element by element either"));
  }
}

TEST_CASE("explain: gives the reject reason and nothing else") {
  const std::string float_loads =
      R"(float a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);
    float b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  const std::string added =
      R"(half a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]) + 1;
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  const std::string loaded =
      R"(int at[64] = *((int *)B + rm);
    half a[64, 64] = *(A + at[:, newaxis] + (k + rk)[newaxis, :]);
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  struct {
    std::string gpu, type, loads, text;
  } cases[] = {
      {"75", "half", loads, "no warp specialization: sm_75 has no TMA"},
      {"90a", "float", float_loads,
       "no warp specialization: producer warps copy only half, bfloat16, 8-bit types"},
      {"90a", "half", added,
       "no warp specialization: an operand of the matmul is computed after its load"},
      {"90a", "half", loaded, "no TMA for `A`: its addresses are not affine in the indices"},
  };
  for (const auto &[gpu, type, loads, expected] : cases) {
    CAPTURE(loads);
    std::string text = explained(gpu, type, declared, loads);
    CAPTURE(text);
    CHECK(contains(text, expected));
    CHECK_FALSE(contains(text, "warp-specialized"));
    CHECK(std::count(text.begin(), text.end(), '\n') ==
          (contains(text, "no TMA for") || contains(text, by_wgmma)
               ? 3
               : 2)); // and that no threads copy
    CHECK(contains(text, "element by element either") == contains(text, "no TMA for"));
  }
}

TEST_CASE("explain: one tf32 operand must be contiguous along K") {
  const std::string a = "float a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);\n",
                    a_along_m =
                        "float a[64, 64] = *(A + rm[:, newaxis] + (k + rk)[newaxis, :] * lda);\n",
                    b = "float b[64, 64] = *(B + (k + rk)[:, newaxis] + rn[newaxis, :] * ldb);\n",
                    b_along_n =
                        "float b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);\n";
  CHECK(contains(explained_tf32(a, b), "note: 128x256x64 warp-specialized"));
  CHECK(contains(explained_tf32(a, b_along_n), "note: 256x128x64 warp-specialized"));
  CHECK(contains(explained_tf32(a_along_m, b), "note: 128x256x64 warp-specialized"));
  std::string neither = explained_tf32(a_along_m, b_along_n);
  CAPTURE(neither);
  CHECK(contains(neither,
                 "no warp specialization: except for 16-bit types, wgmma takes only one operand"));
  CHECK(contains(neither, "`B`"));
  CHECK_FALSE(contains(neither, "specialized"));
}

TEST_CASE("explain: programs with a small tile have a schedule of all warps") {
  std::string text = explained({{"TM", "16"}});
  CHECK(contains(text, "  note: 128x256x64 warp-specialized: "));
  CHECK(contains(text, "  note: 128x256x64 warp-specialized, multicast 2: as without multicast, "));
  CHECK(contains(text, "  note: 16x64x128 multistage: one block per SM uses all shared memory for "
                       "more stages\n"));
  CHECK_FALSE(contains(text, "multistage wgmma"));
  text = explained({{"TN", "32"}});
  CHECK(contains(text, "  note: 128x256x64 warp-specialized: "));
  CHECK(contains(text, "  note: 64x32x128 multistage wgmma: all warps copy with cp.async and "
                       "multiply with wgmma; 1 x 1 x 1 programs per block\n"));
  CHECK_FALSE(contains(text, "multistage: "));
}

TEST_CASE("explain: says that wgmma multiplies dots of other loops") {
  const std::string loads = ": one thread loads the operands of all dots with TMA";
  const std::string no_map =
      "  note: all warps copy with cp.async: if a pointer or a row stride is ";
  for (const char *other : {"sum += a @ b; sum += a @ b", "sum = a @ b", "sum = sum * 2 + a @ b"}) {
    const std::string text = explained({{"MULTIPLY", other}});
    CHECK(contains(text, loads));
    CHECK(contains(text, by_wgmma));
    CHECK(contains(text, no_map));
  }
  CHECK_FALSE(contains(explained(std::vector<Define>{}), by_wgmma));
  CHECK_FALSE(contains(explained({{"MULTIPLY", "sum = a @ b"}, {"TM", "32"}}), by_wgmma));
}

TEST_CASE("explain: two launches for attention") {
  auto explained_attention = [](const std::string &gpu, const std::string &key = "larger") {
    KernelFile kernel(R"(
__global__ void f(half *Q __readonly, half *K __readonly, half *V __readonly, float *O,
                  float scale, int N, int ld __multipleof(8)) {
  int i[64] = get_program_id(0) * 64 + 0 ... 64;
  int j[64] = 0 ... 64;
  half q[64, 64] = *(Q + i[:, newaxis] * ld + j[newaxis, :]);
  float largest[64] = -F32_INFINITY, sum[64] = 0, weighted[64, 64] = 0;
  for (int n = 0; n < N; n += 64) {
    half k[64, 64] = *(K + (n + j)[newaxis, :] * ld + j[:, newaxis]);
    half v[64, 64] = *(V + (n + j)[:, newaxis] * ld + j[newaxis, :]);
    float score[64, 64] = q @ k;
    float larger[64] = max(largest, score[:, max]);
    float weight[64, 64] = exp2(scale * (score - KEY[:, newaxis]));
    float shrunk[64] = exp2(scale * (largest - larger));
    sum = sum * shrunk + weight[:, +];
    weighted = weighted * shrunk[:, newaxis];
    weighted += (half[64, 64])weight @ v;
    largest = larger;
  }
  *(O + i[:, newaxis] * ld + j[newaxis, :]) = weighted / sum[:, newaxis];
})",
                      {{"KEY", key}});
    FrontEndResult result = translate_source(kernel.input);
    INFO(result.diagnostics_text);
    REQUIRE(result.kernels.size() == 1);
    return explain(result.kernels[0], *find_gpu(gpu), " for sm_" + gpu + ":");
  };
  const std::string first =
      "  note: warp-specialized, 3 blocks per SM, split loop, partials: several blocks divide the "
      "loop of a program, with partials in a workspace; for few programs with many iterations\n";
  const std::string second = "  note: split loop, reduction: a second launch combines the partials "
                             "in order and runs the rest of the program\n";
  const std::string whole = "  note: warp-specialized, 3 blocks per SM: one thread loads the "
                            "operands of all dots with TMA";
  CHECK(contains(explained_attention("90a"), first + second + whole));
  CHECK_FALSE(contains(explained_attention("80"), "partials"));
  // These weights are no multiples of the factor of the sum.
  const std::string other = explained_attention("90a", "largest");
  CHECK(contains(other, whole));
  CHECK_FALSE(contains(other, "partials"));
}

TEST_CASE("explain: gives the reason against the matmul, and nothing else") {
  const std::string multiply = "sum += a @ b";
  struct {
    std::vector<Define> changes;
    std::string text;
  } cases[] = {
      {{{"MULTIPLY", "sum = (float)(a + b)"}},
       "no warp specialization: no loop accumulates a matmul (`sum += a @ b`)"},
      {{{"MULTIPLY", "sum = a @ b"}, {"TM", "32"}},
       "no warp specialization: the results of the matmuls have unlike numbers of rows, or sizes "
       "that "
       "wgmma does not have"},
      {{{"MULTIPLY", multiply + "; " + multiply}, {"TM", "32"}},
       "no warp specialization: the results of the matmuls have unlike numbers of rows, or sizes "
       "that "
       "wgmma does not have"},
      {{{"BEFORE", "if (K > 64)"}},
       "no warp specialization: the matmul is inside control flow other than loops with a known "
       "iteration count"},
      {{{"BEHIND", "*(A + rm[:, newaxis] * lda + rn[newaxis, :]) = (half)sum"}},
       "no warp specialization: the kernel also stores through `A`, or through a pointer that may "
       "alias it"},
      {{{"BEHIND", "*(B + rm[:, newaxis] * lda + rn[newaxis, :]) = (half)sum"}},
       "no warp specialization: the kernel also stores through `B`, or through a pointer that may "
       "alias it"},
      {{{"BEFORE", "int n = *L;"}, {"LENGTH", "n"}},
       "no warp specialization: the address of an operand depends on values that the kernel "
       "computes or loads"},
      {{{"TK", "512"}},
       "no warp specialization: shared memory cannot hold two stages of the operands"},
      {{{"TM", "256"}, {"TN", "256"}},
       "no warp specialization: no block tile fits the program's tile, or programs cannot share a "
       "block"},
  };
  for (const auto &[changes, expected] : cases)
    CHECK(only_line(explained(changes)) == expected);
  // Without a matmul, the loop may have another schedule.
  std::string text = explained({{"MULTIPLY", "sum += (float)(a + b)"}});
  CHECK(contains(
      text, "  note: no warp specialization: no loop accumulates a matmul (`sum += a @ b`)\n"));
  CHECK_FALSE(contains(text, "specialized"));
  CHECK(contains(explained(std::vector<Define>{}), "  note: 128x256x64 warp-specialized: "));
}

TEST_CASE("explain: loops over the same tiles load them once") {
  KernelFile kernel(R"(
__global__ void f(float *x __readonly, float *y, int n) {
  int i[4096] = 0 ... 4096;
  float sum[4096] = 0;
  for (int k = 0; k < n; k += 4096)
    sum += *?(i < n - k)(x + k + i);
  float total = sum[+];
  for (int k = 0; k < n; k += 4096)
    *?(i < n - k)(y + k + i) = *?(i < n - k)(x + k + i) / total;
})",
                    {});
  FrontEndResult result = translate_source(kernel.input);
  INFO(result.diagnostics_text);
  REQUIRE(result.kernels.size() == 1);
  CHECK(
      explain(result.kernels[0], *find_gpu("80"), " for sm_80:") ==
      "`f` for sm_80:\n"
      "  note: one iteration: for launches whose loops have this number of iterations; then "
      "several "
      "loops share the tiles that they load\n"
      "  note: staged: tiles that several loops load stay in shared memory, if it has room for all "
      "iterations\n"
      "  note: no warp specialization: sm_80 has no TMA\n");
  CHECK(
      explain(result.kernels[0], *find_gpu("90a"), " for sm_90a:") ==
      "`f` for sm_90a:\n"
      "  note: one iteration: for launches whose loops have this number of iterations; then "
      "several "
      "loops share the tiles that they load\n"
      "  note: staged: tiles that several loops load stay in shared memory, if it has room for all "
      "iterations\n"
      "  note: cluster of 4, staged: the blocks of a cluster divide the loops of a program, and "
      "send each other their totals; for programs with many iterations\n"
      "  note: cluster of 8, staged: the blocks of a cluster divide the loops of a program, and "
      "send each other their totals; for programs with many iterations\n"
      "  note: cluster of 8: the blocks of a cluster divide the loops of a program, and send each "
      "other their totals; for programs with many iterations\n"
      "  note: no warp specialization: no loop accumulates a matmul (`sum += a @ b`)\n");
}

TEST_CASE("explain: programs with few elements run side by side") {
  auto explained = [](const std::string &size, const std::string &statement) {
    KernelFile kernel(R"(
__global__ void f(float *x __readonly, float *y, int ld) {
  long row = get_program_id(0);
  int i[SIZE] = 0 ... SIZE;
  float a[SIZE] = *(x + row * ld + i);
  STATEMENT;
})",
                      {{"SIZE", size}, {"STATEMENT", statement}});
    FrontEndResult result = translate_source(kernel.input);
    INFO(result.diagnostics_text);
    REQUIRE(result.kernels.size() == 1);
    return explain(result.kernels[0], *find_gpu("90a"), " for sm_90a:");
  };
  const std::string
      sum = "*(y + row) = a[+]",
      heading = "`f` for sm_90a:\n",
      baseline = "  note: no warp specialization: no loop accumulates a matmul (`sum += a @ b`)\n";
  CHECK(explained("64", sum) == heading +
                                    "  note: 64 programs per block: side by side, because a "
                                    "program has few elements\n" +
                                    baseline);
  CHECK(contains(explained("256", sum), "note: program per warp: the warps of a block share"));
  CHECK(explained("4096", sum) == heading + baseline);
  CHECK(explained("64", "*(y + row * ld + i) = a") == heading + baseline);
}

TEST_CASE("explain: gives the reason against TMA for each kind of address") {
  const std::string nor =
      "  note: nor without TMA: producer warps cannot copy it element by element either";
  struct {
    std::vector<Define> changes;
    std::string text;
  } cases[] = {
      {{{"BEFORE", "int ld = *L;"},
        {"LOAD_A", "*(A + rm[:, newaxis] * ld + (k + rk)[newaxis, :])"}},
       "no TMA for `A`: the host cannot compute its row stride"},
      {{{"LOAD_A", "*?(*((bool *)L + rm[:, newaxis] + (k + rk)[newaxis, :]))(A + "
                   "rm[:, newaxis] * lda + (k + rk)[newaxis, :])"}},
       "no TMA for `A`: its mask is not a comparison of indices with values that the host knows"},
  };
  for (const auto &[changes, expected] : cases) {
    std::string text = explained(changes);
    CAPTURE(text);
    CHECK(text.rfind("`f` for sm_90a:\n  note: " + expected + "\n" + nor, 0) == 0);
    CHECK_FALSE(contains(text, "specialized"));
  }
  // A mask that the host knows.
  CHECK(contains(explained({{"LOAD_A", "*?(rm[:, newaxis] < K)(A + rm[:, newaxis] * lda + "
                                       "(k + rk)[newaxis, :])"}}),
                 "  note: 128x256x64 warp-specialized: "));
}

TEST_CASE("explain: producer warps copy through one of two pointers") {
  std::string text = explained({{"BEFORE", "half *P = K > 100 ? A : B;"},
                                {"LOAD_A", "*(P + rm[:, newaxis] * lda + (k + rk)[newaxis, :])"}});
  CAPTURE(text);
  CHECK(contains(text, "warp-specialized, without TMA: producer warps copy element by element"));
  CHECK(contains(
      text, "  note: no TMA: an operand is loaded through a pointer that is not a parameter\n"));
  CHECK_FALSE(contains(text, "element by element either"));
}
