// Tests explain.cpp.

#include "explain.h"

#include "support/kernel_file.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;
using namespace tritonc::test;

namespace {

// What is said for `gpu` of a product whose operands are declared and loaded like this.
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
  INFO(result.diagnostics);
  REQUIRE(result.kernels.size() == 1);
  return explain(result.kernels[0], *find_gpu(gpu), " for sm_" + gpu + ":");
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

// The kernel's own line says that products of float are rounded.
std::string explained_tf32(const std::string &a, const std::string &b) {
  return explained("90a", "float",
                   "int K, int lda __multipleof(8), int ldb __multipleof(8), "
                   "int ldc __multipleof(8)",
                   a + b, "#pragma tritonc precision(tf32)\n");
}

const std::string promised =
    "int K, int lda __multipleof(8), int ldb __multipleof(8), int ldc __multipleof(8)";
const std::string loads = R"(half a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";

} // namespace

TEST_CASE("the structures of a kernel are said, the best one first") {
  std::string text = explained("90a", "half", promised, loads);
  CHECK(text.rfind("`f` for sm_90a:\n  note: 128x256x64 specialized: ", 0) == 0);
  CHECK(contains(text, "a block does 2 x 4 x 1 programs at a time\n"));
  CHECK(contains(
      text, "  note: 128x128x64 specialized, split 4: the same, but a cluster of 4 blocks does "
            "2 x 2 x 1 programs, each a part of the steps along K;"));
  CHECK(contains(text, "  note: 128x128x64 specialized, ping-pong: the same, but of the warps that "
                       "multiply there are two teams, each with 2 x 2 x 1 programs of its own:"));
  CHECK(
      contains(text, "  note: plain, for small products and for arguments of which no tensor map"));
  CHECK_FALSE(contains(text, "__multipleof"));
}

TEST_CASE("a kernel with an order of its own is plain, whatever it multiplies") {
  for (const char *own : {"atomic_add(C, 1.0f);", "__debug_barrier();"}) {
    std::string text = explained("90a", "half", promised, loads + own);
    CAPTURE(text);
    CHECK(contains(text, "plain: there are atomic operations or barriers of the kernel's own"));
    CHECK_FALSE(contains(text, "specialized"));
  }
}

TEST_CASE("so is one that says something about itself, where code for GPUs has that") {
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
  INFO(result.diagnostics);
  REQUIRE(result.kernels.size() == 1);
  std::string without = explain(result.kernels[0], *find_gpu("90a"), " for sm_90a:");
  CHECK(contains(without, "specialized"));
  CHECK_FALSE(contains(without, "assert"));
  CHECK(explain(result.checked[0], *find_gpu("90a"), " for sm_90a:") ==
        "`f` for sm_90a:\n  note: plain: the code has `assert` or `print`, so a block does one "
        "program, and all its warps do the same\n");
}

TEST_CASE("so is a bundle of programs where there is no wgmma") {
  std::string text = explained("80", "half", promised, loads);
  CHECK(text.rfind("`f` for sm_80:\n"
                   "  note: 128x256x64: a block does 2 x 4 x 1 programs at a time\n"
                   "  note: plain: sm_80 has no tensor maps",
                   0) == 0);
}

TEST_CASE("without wgmma warps multiply by mma what tensor maps bring, else all copy by cp.async") {
  for (const char *gpu : {"90", "100", "120a"}) {
    std::string text = explained(
        gpu, "half", "int K, int lda, int ldb __multipleof(8), int ldc __multipleof(8)", loads);
    CAPTURE(text);
    CHECK(contains(text, "specialized: a warp copies by tensor maps, the others multiply by mma; a "
                         "block does 2 x 4 x 1 programs at a time\n"));
    CHECK(contains(text,
                   "note: `lda` is not known to be a multiple of 8; where it is not, all warps "
                   "copy, by cp.async."));
    CHECK(contains(text,
                   "note: all warps copy, by cp.async, for small products and where no tensor "
                   "map can be made"));
    CHECK_FALSE(contains(text, "wgmma"));
    CHECK_FALSE(contains(text, "plain"));
  }
}

TEST_CASE("and what stands in the way of that") {
  const std::string gathered =
      R"(half a[64, 64] = *(A + (rm * rm)[:, newaxis] + (k + rk)[newaxis, :]);
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  std::string text = explained("90", "half", promised, gathered);
  CHECK(contains(text, "not TMA: the addresses in `A` are no sum of products"));
  CHECK_FALSE(contains(text, "nor do threads"));
  const std::string along_n =
      R"(float a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);
    float b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  text = explained("90", "float", promised, along_n, "#pragma tritonc precision(tf32)\n");
  CHECK(contains(text, "not TMA: mma takes operands of other than 16 bits as they come by tensor "
                       "maps only if neighbours in memory are neighbours along K; those of `B`"));
}

TEST_CASE("what a launch has to look at can be promised") {
  std::string text = explained(
      "90a", "half", "int K, int lda, int ldb __multipleof(8), int ldc __multipleof(8)", loads);
  CHECK(contains(text,
                 "note: `lda` is not known to be a multiple of 8; where it is not, threads copy."));
  CHECK_FALSE(contains(text, "`ldb`"));
  CHECK(contains(text, "  note: 128x256x64 specialized, copied by threads: some warps copy"));
  CHECK(contains(text, "  note: threads copy where no tensor map can be made of the arguments"));
  CHECK_FALSE(contains(text, "note: plain"));
  // float has no such structure.
  std::string tf32 =
      R"(float a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);
    float b[64, 64] = *(B + (k + rk)[:, newaxis] + rn[newaxis, :] * ldb);)";
  text = explained("90a", "float", "int K, int lda, int ldb __multipleof(8), int ldc", tf32,
                   "#pragma tritonc precision(tf32)\n");
  CHECK(contains(text, "note: `lda` is not known to be a multiple of 4; where it is not, the plain "
                       "structure runs."));
  CHECK_FALSE(contains(text, "threads"));
}

TEST_CASE("why threads copy is said where there is never a tensor map") {
  std::string text =
      explained("90a", "half", promised,
                R"(half a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :] +
                      get_program_id(2) * 3);
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)");
  CHECK(text.rfind("`f` for sm_90a:\n  note: 128x256x64 specialized, copied by threads: ", 0) == 0);
  CHECK(contains(text, "  note: not TMA: where tiles of `A` start is no multiple of its strides"));
  CHECK_FALSE(contains(text, "__multipleof"));
}

TEST_CASE("what stands in the way is said, and nothing else") {
  const std::string float_loads =
      R"(float a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);
    float b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  const std::string added =
      R"(half a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]) + 1;
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  const std::string strided =
      R"(half a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :] * 2);
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  const std::string gathered =
      R"(half a[64, 64] = *(A + (rm * rm)[:, newaxis] + (k + rk)[newaxis, :]);
    half b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);)";
  struct {
    std::string gpu, type, loads, text;
  } cases[] = {
      {"75", "half", loads, "plain: sm_75 has no tensor maps"},
      {"90a", "float", float_loads,
       "plain: warps copy for others only half, bfloat16 and numbers of 8 bits"},
      {"90a", "half", added, "plain: an operand of the product is computed from what is loaded"},
      {"90a", "half", strided, "not TMA: neighbours in the tile of `A` are not neighbours"},
      {"90a", "half", gathered, "not TMA: the addresses in `A` are no sum of products"},
  };
  for (const auto &[gpu, type, loads, expected] : cases) {
    CAPTURE(loads);
    std::string text = explained(gpu, type, promised, loads);
    CAPTURE(text);
    CHECK(contains(text, expected));
    CHECK_FALSE(contains(text, "specialized"));
    CHECK(std::count(text.begin(), text.end(), '\n') ==
          (contains(text, "not TMA") ? 3 : 2)); // and that threads don't copy either
    CHECK(contains(text, "plain: nor do threads copy it") == contains(text, "not TMA"));
  }
}

TEST_CASE("of tf32 factors one may lie otherwise than along K, and is said if both do") {
  const std::string a = "float a[64, 64] = *(A + rm[:, newaxis] * lda + (k + rk)[newaxis, :]);\n",
                    a_along_m =
                        "float a[64, 64] = *(A + rm[:, newaxis] + (k + rk)[newaxis, :] * lda);\n",
                    b = "float b[64, 64] = *(B + (k + rk)[:, newaxis] + rn[newaxis, :] * ldb);\n",
                    b_along_n =
                        "float b[64, 64] = *(B + (k + rk)[:, newaxis] * ldb + rn[newaxis, :]);\n";
  CHECK(contains(explained_tf32(a, b), "note: 128x256x64 specialized"));
  CHECK(contains(explained_tf32(a, b_along_n), "note: 256x128x64 specialized"));
  CHECK(contains(explained_tf32(a_along_m, b), "note: 128x256x64 specialized"));
  std::string neither = explained_tf32(a_along_m, b_along_n);
  CAPTURE(neither);
  CHECK(contains(neither, "plain: wgmma takes only one operand whose neighbours"));
  CHECK(contains(neither, "`B`"));
  CHECK_FALSE(contains(neither, "specialized"));
}
