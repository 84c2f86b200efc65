// cuBLAS, found when the program runs: what the benchmark compares with.
#pragma once

#include "rows.h"

#include <functional>
#include <string>

namespace bench {

class Cublas {
public:
  /// Opens the library: `path` if it is not empty, else where the system and Python packages keep
  /// it. Needs a current context.
  explicit Cublas(const std::string &path);

  bool is_there() const { return handle_ != nullptr; }
  /// Why not, or which file it is, and its version.
  const std::string &what() const { return what_; }

  /// What enqueues the row's product on the default stream: sums in float, of double in double, of
  /// int8 in 32 bits. The matrices are as the row has them, without gaps; C is of half for e4m3,
  /// of int for int8. Throws std::runtime_error, now or then, if cuBLAS refuses.
  std::function<void()> product(const Row &row, const void *a, const void *b, void *c);

private:
  using Create = int (*)(void **);
  using SetWorkspace = int (*)(void *, void *, std::size_t);
  using GetVersion = int (*)(void *, int *);
  using GemmEx = int (*)(void *, int, int, int, int, int, const void *, const void *, int, int,
                         const void *, int, int, const void *, void *, int, int, int, int);

  std::function<void()> light_product(const Row &row, const void *a, const void *b, void *c);

  void *library_ = nullptr;
  void *handle_ = nullptr;
  void *workspace_ = nullptr;
  GemmEx gemm_ = nullptr;
  std::string what_;
};

} // namespace bench
