// Stream capture and graphs: records the operations of streams to run them later.
//
// The order of the calls respects all dependencies, so a graph is a list of nodes. A capture also
// tracks each stream's progress in the other streams, to find work that the capture's origin stream
// never waits for.

#include "driver.h"

#include <algorithm>

namespace tritonc::emulator::driver {

namespace {

thread_local int capture_mode = capture_global;

Capture *find_capture(std::uint64_t id) {
  for (auto &capture : driver().captures)
    if (capture->id == id)
      return capture.get();
  return nullptr;
}

void end(Capture &capture) {
  for (auto &[stream, progress] : capture.streams)
    stream->capture = nullptr;
  auto &all = driver().captures;
  all.erase(std::find_if(all.begin(), all.end(), [&](auto &c) { return c.get() == &capture; }));
}

/// Whether the origin stream has waited for all work of the other streams.
bool is_joined(Capture &capture) {
  Progress &seen = capture.streams[capture.origin];
  for (auto &[stream, progress] : capture.streams)
    if (seen[stream] < progress[stream])
      return false;
  return true;
}

Result begin_capture(Stream *handle, int mode) {
  return call("cuStreamBeginCapture", Needs::device, [&](Context &context) -> Result {
    Stream *stream = nullptr;
    if (Result refused = find_stream(handle, context, stream))
      return refused;
    if (mode < capture_global || mode > capture_relaxed)
      return invalid_value;
    if (stream == &stream->context->default_stream)
      return capture_unsupported;
    if (stream->capture)
      return illegal_state;
    auto capture = std::make_unique<Capture>();
    capture->id = ++driver().last_id;
    capture->origin = stream;
    capture->thread = std::this_thread::get_id();
    capture->mode = CaptureMode(mode);
    capture->graph = std::make_unique<Graph>();
    capture->streams[stream];
    stream->capture = capture.get();
    driver().captures.push_back(std::move(capture));
    return success;
  });
}

int status_of(const Stream &stream) {
  if (!stream.capture)
    return capture_none;
  return stream.capture->is_invalid ? capture_was_invalidated : capture_active;
}

/// A capture with a stream of the context that the legacy stream would wait for; null = none.
Capture *find_blocking_capture(const Context &context) {
  for (auto &capture : driver().captures)
    for (auto &[stream, progress] : capture->streams)
      if (stream->context == &context && !(stream->flags & stream_non_blocking))
        return capture.get();
  return nullptr;
}

template <typename Ask> Result ask_status(Stream *handle, std::string_view function, Ask ask) {
  return call(function, Needs::device, [&](Context &context) -> Result {
    Stream *stream = nullptr;
    if (Result refused = find_stream(handle, context, stream))
      return refused;
    if (stream == &stream->context->default_stream && find_blocking_capture(*stream->context))
      return capture_implicit; // a query does not invalidate the capture
    return ask(*stream);
  });
}

bool is_about_memory(const std::shared_ptr<Node> &node) { return node->kind != Node::Kind::other; }

bool has_memory(const std::vector<std::shared_ptr<Node>> &nodes) {
  return std::any_of(nodes.begin(), nodes.end(), is_about_memory);
}

/// A graph's memory has one fixed address, so only one executable graph of it may exist.
bool is_instantiated(const Graph &graph) {
  bool result = false;
  driver().executables.for_each([&](const GraphExec &exec) {
    auto is_same = [&](const std::shared_ptr<Node> &node) {
      return is_about_memory(node) &&
             std::find(graph.nodes.begin(), graph.nodes.end(), node) != graph.nodes.end();
    };
    result = result || std::any_of(exec.nodes.begin(), exec.nodes.end(), is_same);
  });
  return result;
}

Result instantiate(std::string_view function, GraphExec **exec, Graph *graph,
                   unsigned long long flags = 0) {
  return call(function, Needs::device, [&](Context &context) -> Result {
    if (!exec || !driver().graphs.has(graph))
      return invalid_value;
    if (has_memory(graph->nodes) && is_instantiated(*graph))
      return invalid_value;
    *exec = driver().executables.add(std::make_unique<GraphExec>(
        GraphExec{graph->nodes, &context, (flags & free_on_launch) != 0}));
    return success;
  });
}

/// The memory of a node; null if its context was destroyed.
Allocation *find_memory(Pointer memory, std::uint64_t id) {
  Allocation *allocation = driver().find(memory);
  return allocation && allocation->id == id ? allocation : nullptr;
}

/// Frees or rejects unfreed allocations of the graph's last launch, which block the next launch.
Result free_leftovers(const GraphExec &exec) {
  for (const std::shared_ptr<Node> &node : exec.nodes) {
    if (node->kind != Node::Kind::allocation)
      continue;
    Allocation *memory = find_memory(node->memory, node->allocation);
    if (!memory || !memory->graph->is_there)
      continue;
    if (!exec.frees_on_launch)
      return invalid_value;
    free(*memory);
  }
  return success;
}

/// Adds a node for the memory to the graph that the stream captures.
void add_node(Stream &stream, Node::Kind kind, const Allocation &allocation,
              std::function<Result()> run) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->memory = allocation.begin;
  node->allocation = allocation.id;
  node->run = std::move(run);
  stream.capture->graph->nodes.push_back(std::move(node));
  stream.capture->streams[&stream][&stream]++;
}

Result run_nodes(const std::vector<std::shared_ptr<Node>> &nodes, const Context &context) {
  for (const std::shared_ptr<Node> &node : nodes) {
    if (driver().device_of(context).fault)
      return success; // the next call returns the error, as after a launch
    if (Result result = node->run())
      return result;
  }
  return success;
}

} // namespace

Node::~Node() {
  if (kind == Kind::other)
    return;
  Allocation *of = find_memory(memory, allocation);
  if (!of)
    return;
  if (kind == Kind::freeing) {
    of->graph->has_free_node = false;
    return;
  }
  of->graph->has_graph = false;
  if (!of->graph->is_there) // if allocated, it stays until the program frees it
    driver().release(*of);
}

Result enqueue(Stream &stream, std::function<Result()> run) {
  Capture *capture = stream.capture;
  if (!capture) {
    if (&stream == &stream.context->default_stream) {
      if (Result refused = refuse_on_legacy_stream(*stream.context))
        return refused;
    }
    return run();
  }
  if (capture->is_invalid)
    return capture_invalidated;
  auto node = std::make_shared<Node>();
  node->run = std::move(run);
  capture->graph->nodes.push_back(std::move(node));
  capture->streams[&stream][&stream]++;
  return success;
}

Result capture_allocation(Stream &stream, std::size_t bytes, Pointer &memory) {
  if (stream.capture->is_invalid)
    return capture_invalidated;
  std::uintptr_t begin = 0;
  if (Result refused = allocate(*stream.context, bytes, AllocationKind::device, 0, begin))
    return refused;
  Allocation &made = *driver().find(begin);
  made.graph.emplace();
  add_node(stream, Node::Kind::allocation, made, [begin, id = made.id]() -> Result {
    Allocation *allocation = find_memory(begin, id);
    if (!allocation || allocation->graph->is_there)
      return invalid_value;
    allocation->graph->is_there = true;
    driver().memory().mark_uninitialized(reinterpret_cast<void *>(begin), allocation->bytes);
    return success;
  });
  memory = begin;
  return success;
}

Result capture_freeing(Stream &stream, Pointer memory) {
  if (stream.capture->is_invalid)
    return capture_invalidated;
  Allocation *allocation = driver().find(memory);
  if (!allocation || allocation->begin != memory || !allocation->graph ||
      allocation->graph->has_free_node)
    return invalid_value;
  allocation->graph->has_free_node = true;
  add_node(stream, Node::Kind::freeing, *allocation, [memory, id = allocation->id]() -> Result {
    Allocation *freed = find_memory(memory, id);
    return freed ? free(*freed) : invalid_value;
  });
  return success;
}

Result refuse_during_capture() {
  if (capture_mode == capture_relaxed)
    return success;
  for (auto &capture : driver().captures) {
    if (capture->mode == capture_relaxed)
      continue;
    bool is_own = capture->thread == std::this_thread::get_id();
    bool is_global = capture_mode == capture_global && capture->mode == capture_global;
    if (!is_own && !is_global)
      continue;
    capture->is_invalid = true;
    return capture_unsupported;
  }
  return success;
}

Result refuse_on_legacy_stream(const Context &context) {
  Capture *capture = find_blocking_capture(context);
  if (!capture)
    return success;
  capture->is_invalid = true;
  return capture_implicit;
}

Result refuse_if_capturing(const Stream &stream) {
  if (!stream.capture)
    return success;
  stream.capture->is_invalid = true;
  return capture_unsupported;
}

Result refuse_captured_event(const Event &event) {
  if (Capture *capture = find_capture(event.capture))
    capture->is_invalid = true;
  return captured_event;
}

void drop_captures(const Context &context) {
  auto &all = driver().captures;
  for (std::size_t i = 0; i < all.size();) {
    bool goes = false;
    for (auto &[stream, progress] : all[i]->streams)
      goes = goes || stream->context == &context;
    if (goes)
      end(*all[i]);
    else
      i++;
  }
}

void record(Event &event, Stream &stream) {
  event.when = std::chrono::steady_clock::now();
  event.is_recorded = stream.capture == nullptr;
  event.capture = stream.capture ? stream.capture->id : 0;
  event.progress = stream.capture ? stream.capture->streams[&stream] : Progress();
}

Result join(Stream &stream, const Event &event) {
  Capture *capture = find_capture(event.capture);
  if (event.capture && !capture)
    return capture_isolation; // from a capture that has ended
  if (!capture) {
    // Outside a capture, all work has finished. A capture cannot contain the work of such an event.
    if (!stream.capture || !event.is_recorded)
      return success;
    stream.capture->is_invalid = true;
    return capture_isolation;
  }
  if (stream.capture && stream.capture != capture) {
    stream.capture->is_invalid = capture->is_invalid = true;
    return capture_merge;
  }
  if (&stream == &stream.context->default_stream) {
    capture->is_invalid = true;
    return capture_implicit;
  }
  stream.capture = capture;
  Progress &own = capture->streams[&stream];
  for (auto &[other, count] : event.progress)
    own[other] = std::max(own[other], count);
  return success;
}

extern "C" {

Result cuStreamBeginCapture(Stream *stream) { return begin_capture(stream, capture_global); }
Result cuStreamBeginCapture_v2(Stream *stream, int mode) { return begin_capture(stream, mode); }

Result cuStreamEndCapture(Stream *handle, Graph **graph) {
  return call("cuStreamEndCapture", Needs::device, [&](Context &context) -> Result {
    Stream *stream = nullptr;
    if (Result refused = find_stream(handle, context, stream))
      return refused;
    if (!graph)
      return invalid_value;
    *graph = nullptr;
    Capture *capture = stream->capture;
    if (!capture)
      return illegal_state;
    if (stream != capture->origin) {
      capture->is_invalid = true;
      return capture_unmatched;
    }
    if (capture->mode != capture_relaxed && capture->thread != std::this_thread::get_id())
      return capture_wrong_thread;
    Result result = capture->is_invalid    ? capture_invalidated
                    : !is_joined(*capture) ? capture_unjoined
                                           : success;
    if (result == success)
      *graph = driver().graphs.add(std::move(capture->graph));
    end(*capture);
    return result;
  });
}

Result cuStreamIsCapturing(Stream *handle, int *status) {
  return ask_status(handle, "cuStreamIsCapturing", [&](Stream &stream) -> Result {
    if (!status)
      return invalid_value;
    *status = status_of(stream);
    return success;
  });
}

Result cuStreamGetCaptureInfo(Stream *handle, int *status, std::uint64_t *id) {
  return cuStreamGetCaptureInfo_v2(handle, status, id, nullptr, nullptr, nullptr);
}

Result cuStreamGetCaptureInfo_v2(Stream *handle, int *status, std::uint64_t *id, Graph **graph,
                                 Node *const **dependencies, std::size_t *count) {
  return ask_status(handle, "cuStreamGetCaptureInfo", [&](Stream &stream) -> Result {
    if (!status)
      return invalid_value;
    *status = status_of(stream);
    if (*status != capture_active)
      return success;
    if (id)
      *id = stream.capture->id;
    if (graph)
      *graph = stream.capture->graph.get();
    if (dependencies)
      *dependencies = nullptr;
    if (count)
      *count = 0;
    return success;
  });
}

Result cuStreamGetCaptureInfo_v3(Stream *handle, int *status, std::uint64_t *id, Graph **graph,
                                 Node *const **dependencies, const void **edges,
                                 std::size_t *count) {
  if (edges)
    *edges = nullptr;
  return cuStreamGetCaptureInfo_v2(handle, status, id, graph, dependencies, count);
}

Result cuThreadExchangeStreamCaptureMode(int *mode) {
  return call("cuThreadExchangeStreamCaptureMode", Needs::driver, [&]() -> Result {
    if (!mode || *mode < capture_global || *mode > capture_relaxed)
      return invalid_value;
    std::swap(*mode, capture_mode);
    return success;
  });
}

Result cuGraphCreate(Graph **graph, unsigned flags) {
  return call("cuGraphCreate", Needs::driver, [&]() -> Result {
    if (!graph || flags != 0)
      return invalid_value;
    *graph = driver().graphs.add(std::make_unique<Graph>());
    return success;
  });
}

Result cuGraphDestroy(Graph *graph) {
  return call("cuGraphDestroy", Needs::driver, [&]() -> Result {
    if (!driver().graphs.has(graph))
      return invalid_value;
    driver().graphs.remove(graph);
    return success;
  });
}

Result cuGraphGetNodes(Graph *graph, Node **nodes, std::size_t *count) {
  return call("cuGraphGetNodes", Needs::driver, [&]() -> Result {
    if (!driver().graphs.has(graph) || !count)
      return invalid_value;
    std::size_t there = graph->nodes.size();
    if (nodes) {
      for (std::size_t i = 0; i < *count; i++)
        nodes[i] = i < there ? graph->nodes[i].get() : nullptr;
    }
    *count = nodes ? std::min(*count, there) : there;
    return success;
  });
}

Result cuGraphInstantiate(GraphExec **exec, Graph *graph, Node **, char *, std::size_t) {
  return instantiate("cuGraphInstantiate", exec, graph);
}
Result cuGraphInstantiate_v2(GraphExec **exec, Graph *graph, Node **, char *, std::size_t) {
  return instantiate("cuGraphInstantiate", exec, graph);
}
Result cuGraphInstantiateWithFlags(GraphExec **exec, Graph *graph, unsigned long long flags) {
  return instantiate("cuGraphInstantiateWithFlags", exec, graph, flags);
}

Result cuGraphExecDestroy(GraphExec *exec) {
  return call("cuGraphExecDestroy", Needs::driver, [&]() -> Result {
    if (!driver().executables.has(exec))
      return invalid_value;
    driver().executables.remove(exec);
    return success;
  });
}

Result cuGraphUpload(GraphExec *exec, Stream *handle) {
  return call("cuGraphUpload", Needs::device, [&](Context &context) -> Result {
    Stream *stream = nullptr;
    if (!driver().executables.has(exec))
      return invalid_value;
    return find_stream(handle, context, stream);
  });
}

Result cuGraphLaunch(GraphExec *exec, Stream *handle) {
  return call("cuGraphLaunch", Needs::device, [&](Context &context) -> Result {
    Stream *stream = nullptr;
    if (!driver().executables.has(exec))
      return invalid_value;
    if (Result refused = find_stream(handle, context, stream))
      return refused;
    if (stream->capture && has_memory(exec->nodes))
      return not_supported; // a graph with memory nodes cannot be a child graph
    if (Result refused = free_leftovers(*exec))
      return refused;
    return enqueue(*stream,
                   [nodes = exec->nodes, in = stream->context] { return run_nodes(nodes, *in); });
  });
}

} // extern "C"

} // namespace tritonc::emulator::driver
