// What this program needs of CUDA beside launches: a stream, and a graph that is captured from it.
//
// A program that uses CUDA's runtime has all of this already: cudaStreamCreate,
// cudaStreamBeginCapture, cudaGraphInstantiate, cudaGraphLaunch. This one does without, and asks
// the driver itself.

#pragma once

struct CUstream_st;

/// A stream of its own, in the context that is current.
class Stream {
public:
  Stream();
  ~Stream();
  Stream(const Stream &) = delete;
  CUstream_st *handle() const { return handle_; }

private:
  CUstream_st *handle_ = nullptr;
};

/// What is launched on a stream while `launches` runs, to be launched again as a whole.
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
