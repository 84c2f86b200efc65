// Loads cuBLAS with dlopen. The constants below are from cublas_api.h, cublasLt.h and
// library_types.h, and part of the library's binary interface.
//
// cuBLAS is column-major, so it sees our matrices transposed and computes C^T = B^T A^T: its A is
// our B, and its B is our A.

#include "cublas.h"

#include <tritonc/device.hpp>

#include <dlfcn.h>
#include <glob.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace bench {

namespace {

// cublasOperation_t
constexpr int no_transpose = 0, transpose = 1;
// cudaDataType
constexpr int real_32f = 0, real_64f = 1, real_16f = 2, real_8i = 3, real_32i = 10, real_16bf = 14,
              real_8f_e4m3 = 28;
// cublasComputeType_t
constexpr int compute_32f = 68, compute_64f = 70, compute_32i = 72, compute_32f_fast_tf32 = 77;
// cublasGemmAlgo_t
constexpr int default_algorithm = -1;

// The size that cuBLAS recommends for Hopper, and that PyTorch uses. With the same workspace, both
// choose the same algorithms.
constexpr std::size_t workspace_bytes = std::size_t(32) << 20;

struct Kinds {
  int operand, result, compute;
};

Kinds kinds_of(Type type) {
  switch (type) {
  case Type::float16:
    return {real_16f, real_16f, compute_32f};
  case Type::bfloat16:
    return {real_16bf, real_16bf, compute_32f};
  case Type::tf32:
    return {real_32f, real_32f, compute_32f_fast_tf32};
  case Type::float32:
    return {real_32f, real_32f, compute_32f};
  case Type::float64:
    return {real_64f, real_64f, compute_64f};
  case Type::e4m3:
    return {real_8f_e4m3, real_16f, compute_32f};
  case Type::int8:
    return {real_8i, real_32i, compute_32i};
  }
  return {};
}

// alpha or beta in the compute type.
struct Scalar {
  union {
    float f;
    double d;
    std::int32_t i;
  };

  Scalar(int compute, int value) {
    if (compute == compute_64f)
      d = value;
    else if (compute == compute_32i)
      i = value;
    else
      f = float(value);
  }
};

std::vector<std::string> paths(const std::string &path) {
  if (!path.empty())
    return {path};
  std::vector<std::string> result = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  for (const char *pattern :
       {"/usr/local/cuda*/lib64/libcublas.so.*", "/usr/lib/x86_64-linux-gnu/libcublas.so.*",
        "/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib/libcublas.so.*",
        "/usr/*/lib/python3*/*-packages/nvidia/*/lib/libcublas.so.*"}) {
    glob_t found;
    if (glob(pattern, 0, nullptr, &found) == 0)
      result.insert(result.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
  }
  return result;
}

void check(int status, const char *what) {
  if (status != 0)
    throw std::runtime_error(std::string(what) + " returned " + std::to_string(status));
}

} // namespace

Cublas::Cublas(const std::string &path) {
  for (const std::string &place : paths(path)) {
    library_ = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    what_ = library_ ? place : "none found; name it with --cublas";
    if (library_)
      break;
  }
  if (!library_)
    return;
  auto create = reinterpret_cast<Create>(dlsym(library_, "cublasCreate_v2"));
  auto set_workspace = reinterpret_cast<SetWorkspace>(dlsym(library_, "cublasSetWorkspace_v2"));
  auto get_version = reinterpret_cast<GetVersion>(dlsym(library_, "cublasGetVersion_v2"));
  gemm_ = reinterpret_cast<GemmEx>(dlsym(library_, "cublasGemmEx"));
  int version = 0;
  if (!create || !set_workspace || !get_version || !gemm_ || create(&handle_) != 0 ||
      !tritonc::allocate(&workspace_, workspace_bytes).ok() ||
      set_workspace(handle_, workspace_, workspace_bytes) != 0 ||
      get_version(handle_, &version) != 0) {
    handle_ = nullptr;
    what_ += " cannot be used";
    return;
  }
  what_ += " (" + std::to_string(version) + ")";
}

std::function<void()> Cublas::product(const Row &row, const void *a, const void *b, void *c) {
  if (row.type == Type::e4m3)
    return light_product(row, a, b, c);
  Kinds kinds = kinds_of(row.type);
  return [=, this] {
    Scalar one(kinds.compute, 1), zero(kinds.compute, 0);
    check(gemm_(handle_, row.b_transposed ? transpose : no_transpose,
                row.a_transposed ? transpose : no_transpose, row.n, row.m, row.k, &one, b,
                kinds.operand, row.ldb(), a, kinds.operand, row.lda(), &zero, c, kinds.result,
                row.ldc(), kinds.compute, default_algorithm),
          "cublasGemmEx");
  };
}

// --- cublasLt ------------------------------------------------------------------------------------
//
// The only interface with fp8 matmuls. It is installed with cuBLAS, which depends on it.

namespace {

// cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t
constexpr int operation_of_a = 3, operation_of_b = 4, fast_accumulation = 25;
constexpr int largest_workspace = 1;

struct Algorithm {
  std::uint64_t data[8];
};
struct HeuristicResult { // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct Light {
  int (*cublasLtCreate)(void **);
  int (*cublasLtMatmulDescCreate)(void **, int, int);
  int (*cublasLtMatmulDescSetAttribute)(void *, int, const void *, std::size_t);
  int (*cublasLtMatrixLayoutCreate)(void **, int, std::uint64_t, std::uint64_t, std::int64_t);
  int (*cublasLtMatmulPreferenceCreate)(void **);
  int (*cublasLtMatmulPreferenceSetAttribute)(void *, int, const void *, std::size_t);
  int (*cublasLtMatmulAlgoGetHeuristic)(void *, void *, void *, void *, void *, void *, void *, int,
                                        HeuristicResult *, int *);
  int (*cublasLtMatmul)(void *, void *, const void *, const void *, void *, const void *, void *,
                        const void *, const void *, void *, void *, void *, const Algorithm *,
                        void *, std::size_t, void *);

  explicit Light(void *library) {
    find(library, "cublasLtCreate", cublasLtCreate);
    find(library, "cublasLtMatmulDescCreate", cublasLtMatmulDescCreate);
    find(library, "cublasLtMatmulDescSetAttribute", cublasLtMatmulDescSetAttribute);
    find(library, "cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutCreate);
    find(library, "cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate);
    find(library, "cublasLtMatmulPreferenceSetAttribute", cublasLtMatmulPreferenceSetAttribute);
    find(library, "cublasLtMatmulAlgoGetHeuristic", cublasLtMatmulAlgoGetHeuristic);
    find(library, "cublasLtMatmul", cublasLtMatmul);
  }

private:
  template <typename Function>
  static void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function)
      throw std::runtime_error(std::string("cuBLAS has no ") + name);
  }
};

// A matmul with a plan of cublasLt. Its handles are never destroyed.
struct LightMatmul {
  Light light;
  void *handle = nullptr, *description = nullptr, *preference = nullptr;
  void *first = nullptr, *second = nullptr, *result = nullptr; // layouts
  HeuristicResult choice = {};

  explicit LightMatmul(void *library) : light(library) {}

  void describe(const Row &row) {
    Kinds kinds = kinds_of(row.type);
    check(light.cublasLtCreate(&handle), "cublasLtCreate");
    check(light.cublasLtMatmulDescCreate(&description, kinds.compute, real_32f),
          "cublasLtMatmulDescCreate");
    std::int32_t of_first = row.b_transposed ? transpose : no_transpose;
    std::int32_t of_second = row.a_transposed ? transpose : no_transpose;
    std::int8_t fast = 1;
    set(operation_of_a, of_first);
    set(operation_of_b, of_second);
    set(fast_accumulation, fast);
    // The layouts as stored, in column-major order.
    auto n = std::uint64_t(row.n), m = std::uint64_t(row.m), k = std::uint64_t(row.k);
    lay_out(first, kinds.operand, row.b_transposed ? k : n, row.b_transposed ? n : k, row.ldb());
    lay_out(second, kinds.operand, row.a_transposed ? m : k, row.a_transposed ? k : m, row.lda());
    lay_out(result, kinds.result, n, m, row.ldc());
  }

  void plan() {
    check(light.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    check(light.cublasLtMatmulPreferenceSetAttribute(preference, largest_workspace,
                                                     &workspace_bytes, sizeof workspace_bytes),
          "cublasLtMatmulPreferenceSetAttribute");
    int found = 0;
    check(light.cublasLtMatmulAlgoGetHeuristic(handle, description, first, second, result, result,
                                               preference, 1, &choice, &found),
          "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0)
      throw std::runtime_error("cublasLt has no such product");
  }

private:
  template <typename T> void set(int attribute, T value) {
    check(light.cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
  void lay_out(void *&layout, int kind, std::uint64_t rows, std::uint64_t columns, int ld) {
    check(light.cublasLtMatrixLayoutCreate(&layout, kind, rows, columns, ld),
          "cublasLtMatrixLayoutCreate");
  }
};

} // namespace

std::function<void()> Cublas::light_product(const Row &row, const void *a, const void *b, void *c) {
  auto product = std::make_shared<LightMatmul>(library_);
  product->describe(row);
  product->plan();
  return [=, this] {
    float one = 1, zero = 0;
    check(product->light.cublasLtMatmul(
              product->handle, product->description, &one, b, product->first, a, product->second,
              &zero, c, product->result, c, product->result, &product->choice.algorithm, workspace_,
              workspace_bytes, nullptr),
          "cublasLtMatmul");
  };
}

} // namespace bench
