// cuBLAS, the peer of the benchmark, loaded at run time.
#pragma once

#include "rows.h"

#include <functional>
#include <string>

namespace bench {

class Cublas {
public:
  /// Opens the library `path`; if empty, searches the folders of the system and of Python packages.
  /// Needs a current context.
  explicit Cublas(const std::string &path);

  bool is_there() const { return handle_ != nullptr; }
  /// File and version, or why no library is open.
  const std::string &what() const { return what_; }

  /// Returns a function that enqueues the row's GEMM on the default stream.
  ///
  ///     type     accumulator  C
  ///     double   double       double
  ///     int8     int32        int32
  ///     e4m3     float        half
  ///     others   float        the type
  ///
  /// The matrices have no gaps. Both functions throw std::runtime_error if cuBLAS fails.
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
