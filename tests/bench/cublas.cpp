// cuBLAS by dlopen. The numbers below are those of cublas_api.h and library_types.h, which are part
// of the library's binary interface.

#include "cublas.h"

#include <dlfcn.h>
#include <glob.h>

#include <vector>

namespace {

constexpr int no_transpose = 0; // CUBLAS_OP_N
constexpr int real_16f = 2;     // CUDA_R_16F
constexpr int compute_32f = 68; // CUBLAS_COMPUTE_32F
constexpr int default_algorithm = -1;

std::vector<std::string> places(const std::string &path) {
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

} // namespace

Cublas::Cublas(const std::string &path) {
  void *library = nullptr;
  for (const std::string &place : places(path)) {
    library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    what_ = library ? place : "no cuBLAS found; name it with --cublas";
    if (library)
      break;
  }
  if (!library)
    return;
  auto create = reinterpret_cast<Create>(dlsym(library, "cublasCreate_v2"));
  gemm_ = reinterpret_cast<GemmEx>(dlsym(library, "cublasGemmEx"));
  if (!create || !gemm_ || create(&handle_) != 0) {
    handle_ = nullptr;
    what_ += " cannot be used";
  }
}

bool Cublas::multiply(const tritonc::half *a, const tritonc::half *b, tritonc::half *c, int m,
                      int n, int k) {
  // cuBLAS counts column by column, so it sees our matrices transposed: C^T = B^T A^T.
  float one = 1, zero = 0;
  return gemm_(handle_, no_transpose, no_transpose, n, m, k, &one, b, real_16f, n, a, real_16f, k,
               &zero, c, real_16f, n, compute_32f, default_algorithm) == 0;
}
