// The number of GPUs, and a context and a stream for each GPU.
//
// Programs with the CUDA runtime use cudaGetDeviceCount, cudaSetDevice and cudaStreamCreate. This
// sample calls the CUDA driver, so it needs no CUDA runtime.

#pragma once

struct CUstream_st;

/// The number of visible GPUs. Requires a driver.
int gpu_count();

/// A GPU: its primary context, which the CUDA runtime and NCCL also use, and a stream in it.
class Gpu {
public:
  explicit Gpu(int number);
  ~Gpu();
  Gpu(const Gpu &) = delete;

  int number() const { return number_; }
  CUstream_st *stream() const { return stream_; }

  /// Makes the context current, to allocate and copy memory. A launch uses the context of its
  /// stream.
  void enter() const;

private:
  int number_;
  struct CUctx_st *context_ = nullptr;
  CUstream_st *stream_ = nullptr;
};
