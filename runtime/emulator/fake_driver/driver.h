// The state of the fake driver, and the code that each of its functions starts with.
//
// One mutex guards the state, also while a kernel runs. Enqueued work finishes before the call
// returns, so streams and events only enforce the ordering rules. A function has this form:
//
//     Result cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
//       return call("cuMemGetInfo", Needs::device, [&](Context &context) -> Result { ... });
//     }
//
// `call` does the common work. It counts the call, fails on request (`fail=`), refuses calls in the
// child of a fork and before cuInit, finds the thread's context, and returns the error of a device
// that an earlier kernel has put into a sticky error state.

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

// ---- the structs behind handles ----

struct Capture;

struct Stream {
  Context *context;
  unsigned flags = 0; // StreamFlag
  int priority = 0;
  std::uint64_t id = 0;
  Capture *capture = nullptr; // the capture that it takes part in
};

struct Context {
  Device device = 0;
  std::uint64_t id = 0;
  unsigned flags = 0;
  bool is_primary = false;
  std::atomic<bool> is_alive{true}; // never deleted, because it may be current in some thread
  Stream default_stream{this};      // handles 0 and 1
  std::map<std::thread::id, Stream> thread_streams; // handle 2
  std::map<int, std::size_t> limits;
  int cache_config = 0;
};

/// Progress within a capture: the number of nodes seen of each stream.
using Progress = std::map<const Stream *, std::size_t>;

struct Event {
  Context *context;
  unsigned flags = 0; // EventFlag
  bool is_recorded = false;
  std::chrono::steady_clock::time_point when{};
  std::uint64_t capture = 0; // id of the capture that it was recorded in; 0 = none
  Progress progress;         // in that capture
};

/// One operation of a stream, which a graph can repeat. A graph and its executable graphs share
/// nodes.
struct Node {
  enum class Kind { other, allocation, freeing };
  Kind kind = Kind::other;
  std::function<Result()> run;
  Pointer memory = 0;           // allocated or freed by the node
  std::uint64_t allocation = 0; // its id

  Node() = default;
  ~Node();
  Node(const Node &) = delete;
};

struct Graph {
  std::vector<std::shared_ptr<Node>> nodes; // in topological order
};
struct GraphExec {
  std::vector<std::shared_ptr<Node>> nodes;
  Context *context;
  bool frees_on_launch = false; // frees the last launch's unfreed allocations first
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
  Context *context = nullptr;                 // of a function; null = a kernel, for all contexts
  Kernel *kernel = nullptr;                   // of a function: its kernel
  std::map<Device, int> dynamic_shared_bytes; // raised limits
};

struct Module {
  Library *library;
  Context *context;
  bool owns_library; // true after cuModuleLoadData and similar calls
};

struct Library {
  const abi::host_code *code;
  abi::host_code copy;            // unless the caller preserves the code
  std::unique_ptr<Kernel> kernel; // host code has one kernel
  std::map<Context *, std::unique_ptr<Kernel>> functions;
  std::map<Context *, std::unique_ptr<Module>> modules;
  std::map<Context *, std::uintptr_t> constants; // addresses, for contexts that asked
};

struct Pool {
  Device device;
};

struct DeviceState {
  Gpu gpu;
  Context *primary = nullptr; // never changes once made, alive or not
  unsigned primary_uses = 0;
  unsigned primary_flags = 0;
  std::size_t used_bytes = 0;
  Result fault = success; // sticky error of an earlier kernel; all later calls return it
  Pool pool;

  bool has_primary() const { return primary && primary->is_alive; }
};

enum class AllocationKind { device, host, managed };

/// The state of memory that a graph allocates. Its address is fixed from the capture on.
struct GraphMemory {
  bool has_graph = true;      // the node that allocates it still exists
  bool has_free_node = false; // in that graph or in another graph
  bool is_there = false;      // allocated and not freed
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

/// The live handles. A stale handle is an error, never a crash.
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
  std::atomic<int> process{0}; // the process that called cuInit
  Settings settings;
  std::string wrong_setting; // error in TRITONC_EMULATOR; cuInit reports it

  std::vector<std::unique_ptr<DeviceState>> devices;
  std::vector<std::unique_ptr<Context>> contexts; // also destroyed contexts
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Library> libraries;
  Handles<Module> modules; // modules that own their library
  Handles<Graph> graphs;
  Handles<GraphExec> executables;
  Handles<Pool> pools; // without the devices' default pools
  std::vector<std::unique_ptr<Capture>> captures;
  std::unordered_set<const Kernel *> kernels; // and functions
  std::unique_ptr<GlobalMemory> global_memory;
  std::map<std::uintptr_t, Allocation> allocations;
  LastLaunch last_launch = {};
  std::uint64_t last_id = 0;

  DeviceState &device_of(const Context &context) { return *devices[std::size_t(context.device)]; }
  DeviceState *find_device(Device device);

  /// The memory of all devices. Made on the first allocation or launch, because it reserves a large
  /// part of the process's address space.
  GlobalMemory &memory();
  /// The allocation that contains the address; null = host memory.
  const Allocation *find(Pointer address) const;
  Allocation *find(Pointer address) {
    return const_cast<Allocation *>(std::as_const(*this).find(address));
  }
  void release(const Allocation &allocation);

  /// Makes a new live context.
  Context *make_context(Device device, unsigned flags);
  /// Destroys a context with its memory, streams, events, and functions.
  void destroy(Context &context);
  /// Makes a destroyed context new again, with the same handle.
  void revive(Context &context, unsigned flags);
};

/// The driver of this process (of this copy of the library). Never destroyed.
Driver &driver();

// ---- contexts of the calling thread ----

/// The current context; null = none.
Context *current_context();
std::size_t depth_of_contexts();

// ---- the start of each function ----

enum class Needs {
  nothing, // works before cuInit
  driver,  // cuInit
  context, // a current context
  device,  // a current context, on a device without a sticky error
};

/// The work before taking the mutex: counters, `fail=`, fork, cuInit. If it returns false, the
/// function must return `result`, which may be `success` on a test's request.
bool enter(std::string_view function, Needs needs, Result &result);

void set_in_callback(bool is_in_one);

/// Runs a function of the program on the calling thread. It must not call the driver: each call in
/// it returns `not_permitted`.
template <typename Function> void call_back(Function function) {
  struct Callback {
    Callback() { set_in_callback(true); }
    ~Callback() { set_in_callback(false); }
  } callback;
  function();
}

/// Finds the current context, if `needs` asks for one. The caller holds the mutex.
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

/// Runs a function's body under the mutex. A body without a parameter needs no context.
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

/// Finds the stream of a handle. Handles 0 and 1 are the context's legacy stream, 2 is the thread's
/// stream. Returns `invalid_handle` for an unknown handle, and `context_is_destroyed` if the
/// stream's context was destroyed.
Result find_stream(Stream *handle, Context &current, Stream *&stream);
bool is_default(const Stream *handle);

// ---- memory: memory.cpp ----

/// Neither function checks for captures.
Result allocate(Context &context, std::size_t bytes, AllocationKind kind, unsigned flags,
                std::uintptr_t &begin);
Result free(Allocation &allocation);

// ---- enqueueing: graph.cpp ----

/// Runs an operation at once, or adds it to the graph if the stream is capturing.
Result enqueue(Stream &stream, std::function<Result()> run);

/// Add an allocation or a free to a capturing stream: the graph allocates or frees the memory on
/// each launch.
Result capture_allocation(Stream &stream, std::size_t bytes, Pointer &memory);
Result capture_freeing(Stream &stream, Pointer memory);

/// For operations that are unsafe during a capture (allocate, load, wait): returns an error and
/// invalidates the capture, where the capture modes require that.
Result refuse_during_capture();
/// The same for operations on the legacy stream, which would wait for the context's capturing
/// streams.
Result refuse_on_legacy_stream(const Context &context);
/// The same for waiting on this stream.
Result refuse_if_capturing(const Stream &stream);
/// The same for waiting for an event that was recorded in a capture.
Result refuse_captured_event(const Event &event);
/// Ends all captures of the context without a graph.
void drop_captures(const Context &context);

/// Makes a stream wait for an event, inside or outside a capture.
Result join(Stream &stream, const Event &event);
void record(Event &event, Stream &stream);

// ---- reports ----

/// Writes one or more lines for the developer of the program.
void report(std::string_view text);

} // namespace tritonc::emulator::driver
