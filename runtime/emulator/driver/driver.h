// The state of the stand-in driver, and how its functions begin.
//
// One mutex guards all of it, also while a kernel runs: what a thread enqueues is done when its
// call comes back, so streams and events only keep the rules of order. A function is
//
//     Result cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
//       return call("cuMemGetInfo", Needs::device, [&](Context &context) -> Result { ... });
//     }
//
// and `call` does what all have in common: it counts, fails where it was told to (`fail=`), refuses
// in the child of a fork and before cuInit, finds the thread's context, and reports a device that
// an earlier kernel has ruined.

#pragma once

#include "../global_memory.h"
#include "interface.h"
#include "settings.h"
#include "testing.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#define TRITONC_EXPORT __attribute__((visibility("default")))

namespace tritonc::emulator::driver {

extern "C" {
#define FUNCTION(name, symbol, since, parameters) TRITONC_EXPORT Result symbol parameters;
#include "functions.def"
}

// ---- what handles point to ----

struct Capture;

struct Stream {
  Context *context;
  unsigned flags = 0; // StreamFlag
  int priority = 0;
  std::uint64_t id = 0;
  Capture *capture = nullptr; // that it takes part in
};

struct Context {
  Device device = 0;
  std::uint64_t id = 0;
  unsigned flags = 0;
  bool is_primary = false;
  std::atomic<bool> is_alive{true}; // contexts are never deleted: some thread may have it current
  Stream default_stream{this};      // the one of handle 0 and 1
  std::map<std::thread::id, Stream> thread_streams; // those of handle 2
  std::map<int, std::size_t> limits;
  int cache_config = 0;
};

/// How far into each stream of a capture something has seen: the number of its nodes.
using Progress = std::map<const Stream *, std::size_t>;

struct Event {
  Context *context;
  unsigned flags = 0; // EventFlag
  bool is_recorded = false;
  std::chrono::steady_clock::time_point when{};
  std::uint64_t capture = 0; // the id of the capture that it was recorded in; 0: none
  Progress progress;         // there
};

/// What a stream does, so that a graph can do it again. A graph and what was made of it have the
/// same nodes.
struct Node {
  enum class Kind { other, allocation, freeing };
  Kind kind = Kind::other;
  std::function<Result()> run;
  Pointer memory = 0;           // that it allocates or frees
  std::uint64_t allocation = 0; // its id

  Node() = default;
  ~Node();
  Node(const Node &) = delete;
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes; // in an order that all dependencies allow
};
struct GraphExec {
  std::vector<std::shared_ptr<Node>> nodes;
  Context *context;
  bool frees_on_launch = false; // what its last launch allocated and nobody freed
};

struct Capture {
  std::uint64_t id;
  Stream *origin;
  std::thread::id thread;
  CaptureMode mode;
  bool is_invalid = false;
  std::unique_ptr<Graph> graph;
  std::map<Stream *, Progress> streams;
};

struct Kernel {
  Library *library;
  const abi::host_code *code;
  Context *context = nullptr;                 // of a function; null: a kernel, good in each context
  Kernel *kernel = nullptr;                   // that a function was got from
  std::map<Device, int> dynamic_shared_bytes; // raised limits
};

struct Module {
  Library *library;
  Context *context;
  bool owns_library; // loaded by cuModuleLoadData and the like
};

struct Library {
  const abi::host_code *code;
  abi::host_code copy;            // if it does not stay where it was
  std::unique_ptr<Kernel> kernel; // host code is one kernel
  std::map<Context *, std::unique_ptr<Kernel>> functions;
  std::map<Context *, std::unique_ptr<Module>> modules;
  std::map<Context *, std::uintptr_t> constants; // where contexts have it, if somebody asked
};

struct Pool {
  Device device;
};

struct DeviceState {
  Gpu gpu;
  Context *primary = nullptr; // once it was made, always the same one, alive or not
  unsigned primary_uses = 0;
  unsigned primary_flags = 0;
  std::size_t used_bytes = 0;
  Result fault = success; // what an earlier kernel did; nothing on the device works after it
  Pool pool;

  bool has_primary() const { return primary && primary->is_alive; }
};

enum class AllocationKind { device, host, managed };

/// What is said of memory that a graph allocates. It has its address from the capture on.
struct GraphMemory {
  bool has_graph = true;      // the node that allocates it still exists
  bool has_free_node = false; // in that graph or in another one
  bool is_there = false;      // allocated and not freed again
};

struct Allocation {
  std::uintptr_t begin;
  std::size_t bytes;
  AllocationKind kind;
  unsigned flags;
  Context *context;
  std::uint64_t id;
  std::optional<GraphMemory> graph;
};

/// Handles that are alive. A stale one is an error, never a crash.
template <typename T> class Handles {
public:
  T *add(std::unique_ptr<T> made) {
    std::unique_ptr<T> &place = alive_[made.get()];
    place = std::move(made);
    return place.get();
  }
  bool has(const T *handle) const { return alive_.count(handle) != 0; }
  void remove(const T *handle) { alive_.erase(handle); }
  template <typename Condition> void remove_if(Condition condition) {
    for (auto i = alive_.begin(); i != alive_.end();)
      i = condition(*i->second) ? alive_.erase(i) : std::next(i);
  }
  template <typename Visit> void for_each(Visit visit) {
    for (auto &[handle, made] : alive_)
      visit(*made);
  }
  std::size_t size() const { return alive_.size(); }
  void clear() { alive_.clear(); }

private:
  std::unordered_map<const T *, std::unique_ptr<T>> alive_;
};

// ---- the driver ----

struct Driver {
  std::mutex mutex;

  std::atomic<bool> is_initialized{false};
  std::atomic<int> process{0}; // that called cuInit
  Settings settings;
  std::string wrong_setting; // of TRITONC_EMULATOR; cuInit says it

  std::vector<std::unique_ptr<DeviceState>> devices;
  std::vector<std::unique_ptr<Context>> contexts; // dead ones too
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Library> libraries;
  Handles<Module> modules; // those that own their library
  Handles<Graph> graphs;
  Handles<GraphExec> executables;
  Handles<Pool> pools; // but for those that devices come with
  std::vector<std::unique_ptr<Capture>> captures;
  std::unordered_set<const Kernel *> kernels; // and functions
  std::unique_ptr<GlobalMemory> global_memory;
  std::map<std::uintptr_t, Allocation> allocations;
  LastLaunch last_launch = {};
  std::uint64_t last_id = 0;

  DeviceState &device_of(const Context &context) { return *devices[std::size_t(context.device)]; }
  DeviceState *find_device(Device device);

  /// Memory of all devices, made when something is first allocated or launched: its addresses take
  /// a good part of what a process has.
  GlobalMemory &memory();
  /// The allocation that holds the address; null: it is the host's own.
  const Allocation *find(Pointer address) const;
  Allocation *find(Pointer address) {
    return const_cast<Allocation *>(std::as_const(*this).find(address));
  }
  void release(const Allocation &allocation);

  /// A new context, alive.
  Context *make_context(Device device, unsigned flags);
  /// Its memory, streams, events and functions go with it.
  void destroy(Context &context);
  /// A destroyed one as if it were new, under the same handle.
  void revive(Context &context, unsigned flags);
};

/// The one of this process (of this copy of the library). It is never destroyed.
Driver &driver();

// ---- contexts of the calling thread ----

/// The current context; null if there is none.
Context *current_context();
std::size_t depth_of_contexts();

// ---- how functions begin ----

enum class Needs {
  nothing, // works before cuInit
  driver,  // cuInit
  context, // a current context
  device,  // a current context, on a device that no kernel has ruined
};

/// What comes before the mutex is taken: counters, `fail=`, fork, cuInit. Whether the function goes
/// on; if not, it returns `result`, which a test may want to be `success`.
bool enter(std::string_view function, Needs needs, Result &result);

void set_in_callback(bool is_in_one);

/// Runs a function of the program on its own thread. It must not call the driver: each call in it
/// is `not_permitted`.
template <typename Function> void call_back(Function function) {
  struct Callback {
    Callback() { set_in_callback(true); }
    ~Callback() { set_in_callback(false); }
  } callback;
  function();
}

/// Under the mutex: the current context, as far as it is needed.
Result find_context(Needs needs, Context *&context);

template <typename Body> Result guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return out_of_memory;
  } catch (...) {
    return unknown_error;
  }
}

/// Runs a function's body under the mutex. A body without parameter needs no context.
template <typename Body> Result call(std::string_view function, Needs needs, Body body) noexcept {
  return guarded([&]() -> Result {
    Result result = success;
    if (!enter(function, needs, result))
      return result;
    std::lock_guard lock(driver().mutex);
    if constexpr (std::is_invocable_v<Body, Context &>) {
      Context *context = nullptr;
      if (Result refused = find_context(needs, context))
        return refused;
      return body(*context);
    } else {
      return body();
    }
  });
}

/// Where something is enqueued. Handles 0 and 1 mean the context's legacy stream, 2 that of the
/// thread. `invalid_handle` for what is no stream, `context_is_destroyed` if its context is.
Result find_stream(Stream *handle, Context &current, Stream *&stream);
bool is_default(const Stream *handle);

// ---- memory: memory.cpp ----

/// Neither looks for captures.
Result allocate(Context &context, std::size_t bytes, AllocationKind kind, unsigned flags,
                std::uintptr_t &begin);
Result free(Allocation &allocation);

// ---- enqueueing: graph.cpp ----

/// Runs what a stream is given, at once; or adds it to the graph that is being captured there.
Result enqueue(Stream &stream, std::function<Result()> run);

/// The same for memory, where the stream is captured: a node allocates it, or frees it, each time
/// that the graph is launched.
Result capture_allocation(Stream &stream, std::size_t bytes, Pointer &memory);
Result capture_freeing(Stream &stream, Pointer memory);

/// What must not happen while some graph is captured (allocating, loading, waiting): refuses it
/// where the rules of capture modes do, and spoils the capture.
Result refuse_during_capture();
/// The same for what the legacy stream does: it would wait for the capturing streams of its
/// context.
Result refuse_on_legacy_stream(const Context &context);
/// The same for waiting on this stream.
Result refuse_if_capturing(const Stream &stream);
/// The same for waiting for an event that was recorded in a capture.
Result refuse_captured_event(const Event &event);
/// All captures of the context end without a graph.
void drop_captures(const Context &context);

/// Lets a stream wait for an event, in or out of a capture.
Result join(Stream &stream, const Event &event);
void record(Event &event, Stream &stream);

// ---- reports ----

/// A line or more for whoever develops the program.
void report(std::string_view text);

} // namespace tritonc::emulator::driver
