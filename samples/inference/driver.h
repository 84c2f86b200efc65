// A stream, and a graph that is captured from it.
//
// Programs with the CUDA runtime use cudaStreamCreate, cudaStreamBeginCapture, cudaGraphInstantiate
// and cudaGraphLaunch. This sample calls the CUDA driver, so it needs no CUDA runtime.

#pragma once

struct CUstream_st;

/// A new stream in the current context.
class Stream {
public:
  Stream();
  ~Stream();
  Stream(const Stream &) = delete;
  CUstream_st *handle() const { return handle_; }

private:
  CUstream_st *handle_ = nullptr;
};

/// A graph of everything that `launches` enqueues on the stream.
class Graph {
public:
  template <typename Launches> Graph(const Stream &stream, Launches launches) : stream_(stream) {
    begin();
    launches();
    end();
  }
  ~Graph();
  Graph(const Graph &) = delete;

  void launch() const;

private:
  void begin();
  void end();

  const Stream &stream_;
  struct CUgraphExec_st *instance_ = nullptr;
};
