// What this program needs of CUDA beside launches: how many GPUs there are, and on each a context
// and a stream.
//
// A program that uses CUDA's runtime has all of this already: cudaGetDeviceCount, cudaSetDevice,
// cudaStreamCreate. This one does without, and asks the driver itself.

#pragma once

struct CUstream_st;

/// There must be a driver.
int gpu_count();

/// The primary context of a GPU, which CUDA's runtime and NCCL use too, and a stream in it.
class Gpu {
public:
  explicit Gpu(int number);
  ~Gpu();
  Gpu(const Gpu &) = delete;

  int number() const { return number_; }
  CUstream_st *stream() const { return stream_; }

  /// Makes the context current: for memory, not for launches, which go where their stream is.
  void enter() const;

private:
  int number_;
  struct CUctx_st *context_ = nullptr;
  CUstream_st *stream_ = nullptr;
};
