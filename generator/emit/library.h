// The input of `emit/`: one library, the result of one run of the compiler, as plain data.
//
// The compile job fills it. The files of this folder write it as a header, an object, a manifest
// and a report. The object-mode header uses only facts from the front end (everything except
// `Variant::images`), so a change of code generation never changes the header.

#pragma once

#include "ir/launch_plan.h"
#include "ir/linear_layout.h"
#include "language/front_end.h" // Axis, AxisValue, Define
#include "language/variant_values.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tritonc {

/// A parameter of a kernel, in the order of its declaration.
struct Parameter {
  std::string name;
  std::string element; // the name from ir::name_of: "i1", "i32", "f16", "bf16", "f32", "e4m3", ...
  bool is_pointer = false;
  bool is_signed = true;   // integers
  bool read_only = false;  // pointers: becomes a pointer to const
  bool write_only = false; // pointers
  bool nullable = false;   // pointers: false = the launch rejects null
  int multiple_of = 1;     // integers: the launch rejects other values
  int aligned_bytes = 16;  // pointers: the launch rejects other addresses
};

/// A variable in constant memory, which the host fills.
struct Constant {
  std::string name;
  std::string element; // as in Parameter
  bool is_signed = true;
  int64_t count = 0;  // elements
  int64_t offset = 0; // bytes from the start of constant memory
  int64_t bytes = 0;
};

/// Further facts about an image, for tritonc report.
struct ImageDetails {
  /// The layout of a tile in registers, or of a buffer in shared memory.
  struct Place {
    std::string operation; // the operation that creates it: "dot"
    std::string type;      // "f32[128,256]"
    int line = 0;          // source line; 0 = none
    int element_bytes = 0;
    ir::LinearLayout layout;
  };
  /// A load or store of shared memory.
  struct Access {
    std::string operation, type;
    int line = 0;
    bool by_matrix = false;
    int bytes = 0;        // per lane, or per matrix row
    double conflicts = 1; // slowdown by bank conflicts; 1 = none
  };
  /// Blocks and warps per SM, and the resource that limits them.
  struct Occupancy {
    int blocks = 0, warps = 0, max_warps = 0;
    std::string limit; // "registers", "shared memory", "threads", "blocks"
  };
  std::map<std::string, int> instructions; // counts of machine instructions, by name
  std::vector<Place> places;
  std::vector<Access> accesses;
  Occupancy occupancy;
};

/// One variant compiled for one GPU.
struct Image {
  std::string gpu;      // "sm_90a"; for PTX "compute_80"
  int sm = 0;           // 90
  char suffix = 0;      // 'a', 'f' or 0; 'p' = PTX, for GPUs without another image
  std::string bytes;    // a fatbinary with one kernel
  int threads = 0;      // per block
  int shared_bytes = 0; // dynamic shared memory
  int static_shared = 0;
  int registers = 0;    // per thread
  int spill_stores = 0; // bytes
  int spill_loads = 0;  // bytes
  int stack_bytes = 0;
  int cubin_bytes = 0;     // before compression; for PTX, the size of the text
  bool has_checks = false; // the source has `assert` or `print`
  LaunchConfig launch;
  // Host code: the same kernel for this machine's CPU. Both empty unless requested.
  std::string host_symbol;             // symbol of its abi::host_code
  std::string host_object;             // the ELF object that defines the symbol
  std::optional<ImageDetails> details; // only if requested

  /// Whether the image is PTX. Then registers, spills and stack are those for the GPU `sm`.
  bool is_ptx() const { return suffix == 'p'; }
};

/// One value for every axis. A specialization (`plan.specialization`) is a variant with the same
/// values. It comes before the general variant, which always exists.
struct Variant {
  VariantValues values;        // one per axis of the kernel
  std::string entry;           // the kernel's symbol in its images
  std::vector<Define> defines; // its macros, for the manifest
  LaunchPlan plan;
  std::vector<Parameter> parameters;
  std::vector<Constant> constants;
  std::vector<Image> images; // grouped by GPU, same order in all variants; one image per schedule
  int preference = 0;        // the library tries lower values first
};

/// The times of a kernel's variants for one problem on one GPU.
struct Measurement {
  std::string gpu; // "NVIDIA H200"
  int arch = 0;    // 90
  int num_sms = 0;
  std::vector<std::pair<int, int64_t>> problem; // parameters and their values, in order
  struct Time {
    size_t variant = 0; // in KernelEntry::variants
    int64_t nanoseconds = 0;
    std::optional<int64_t> cost; // cost of the schedule at the time of the measurement
    std::string schedule;        // its name
  };
  std::vector<Time> times; // all for variants of one C++ type
  std::string file;        // name of its file, without folders
};

struct KernelEntry {
  std::string name;
  std::vector<Axis>
      axes; // the launch chooses the value of a `tuned` axis; other axes are part of the C++ type
  std::vector<Variant> variants;
  std::vector<Measurement> measurements; // all have the same problem parameters
};

struct Library {
  std::string name;        // the C++ namespace: "gemm", also "my::gemm"
  std::string source_file; // relative path from the command line; for comments and the manifest
  std::string tool;        // "tritonc 0.1.0"; for comments and the manifest
  std::vector<KernelEntry> kernels;
};

} // namespace tritonc
