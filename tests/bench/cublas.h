// cuBLAS, found when the program runs: what the benchmark compares with.
#pragma once

#include <tritonc/numbers.hpp>

#include <string>

class Cublas {
public:
  /// Opens the library: `path` if it is not empty, else where the system and Python packages keep
  /// it. Needs a current context.
  explicit Cublas(const std::string &path);

  bool is_there() const { return handle_ != nullptr; }
  /// Why not, or which file it is.
  const std::string &what() const { return what_; }

  /// Enqueues C = A B on the default stream; all three row by row without gaps, sums in float.
  bool multiply(const tritonc::half *a, const tritonc::half *b, tritonc::half *c, int m, int n,
                int k);

private:
  using Create = int (*)(void **);
  using GemmEx = int (*)(void *, int, int, int, int, int, const void *, const void *, int, int,
                         const void *, int, int, const void *, void *, int, int, int, int);

  void *handle_ = nullptr;
  GemmEx gemm_ = nullptr;
  std::string what_;
};
