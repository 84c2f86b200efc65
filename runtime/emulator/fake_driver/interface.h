// The types of the CUDA driver's interface that the fake supports.
//
// They are separate definitions with the driver's layout, so that building needs no cuda.h. Handles
// that are opaque to callers point to the structs of driver.h.
// tests/unit/fake_driver/interface_test.cpp compares these types with cuda.h if it is installed.

#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonc::emulator::driver {

using Result = int; // CUresult
using Device = int; // CUdevice: 0, 1, ...
using Pointer = unsigned long long;

struct Context;   // CUcontext
struct Stream;    // CUstream
struct Event;     // CUevent
struct Library;   // CUlibrary
struct Module;    // CUmodule
struct Kernel;    // CUkernel, and CUfunction: a kernel in a context
struct Graph;     // CUgraph
struct GraphExec; // CUgraphExec
struct Node;      // CUgraphNode
struct Pool;      // CUmemoryPool

/// The errors that the fake returns; errors.cpp has the names of all errors.
enum : Result {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  unsupported_limit = 215,
  peer_access_unsupported = 217,
  unsupported_code_version = 222,
  file_not_found = 301,
  invalid_handle = 400,
  illegal_state = 401,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  primary_context_active = 708,
  context_is_destroyed = 709,
  assertion_failed = 710,
  misaligned_address = 716,
  launch_failed = 719,
  cooperative_launch_too_large = 720,
  not_permitted = 800,
  not_supported = 801,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_merge = 902,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
  capture_wrong_thread = 908,
  invalid_cluster_size = 912,
  unknown_error = 999,
};

struct Uuid {
  char bytes[16];
};

/// One attribute of a launch.
struct LaunchAttribute {
  enum : int { cooperative = 2, cluster_dimension = 4, programmatic_serialization = 6 };
  int id;
  char padding[4];
  union {
    char bytes[64];
    int cooperative_launch;
    unsigned cluster[3];
    int may_start_early; // before the previous launch has finished
  } value;
};

struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Stream *stream;
  LaunchAttribute *attributes;
  unsigned attribute_count;
};

/// CUmemPoolProps.
struct PoolProperties {
  int allocation; // AllocationType
  int handles;    // handle types for other processes; 0 = none
  struct {
    int kind; // LocationKind
    int id;
  } location;
  void *security; // only on Windows
  std::size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
};

struct Copy2D {
  std::size_t source_x, source_y;
  int source_kind; // MemoryKind
  const void *source_host;
  Pointer source_device;
  void *source_array;
  std::size_t source_pitch;
  std::size_t target_x, target_y;
  int target_kind;
  void *target_host;
  Pointer target_device;
  void *target_array;
  std::size_t target_pitch;
  std::size_t width, height; // bytes, rows
};

enum MemoryKind { host_memory = 1, device_memory = 2, array_memory = 3, unified_memory = 4 };
enum AllocationType { pinned_allocation = 1 };
enum LocationKind { location_is_device = 1 };
enum InstantiateFlag { free_on_launch = 1 };
enum CaptureMode { capture_global = 0, capture_thread_local = 1, capture_relaxed = 2 };
enum CaptureStatus { capture_none = 0, capture_active = 1, capture_was_invalidated = 2 };
enum StreamFlag { stream_non_blocking = 1 };
enum EventFlag { event_blocking_sync = 1, event_disable_timing = 2, event_interprocess = 4 };

using StreamCallback = void (*)(Stream *, Result, void *);
using HostFunction = void (*)(void *);
using SharedBytesOfBlock = std::size_t (*)(int threads);

/// The 128 bytes of a CUtensorMap.
struct alignas(64) TensorMapBytes {
  std::uint64_t words[16];
};

} // namespace tritonc::emulator::driver
