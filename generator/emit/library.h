// What `emit/` writes down: one library, the result of one call of the tool, as plain data.
//
// `compile.cpp` fills it and the files of this folder turn it into a header, an object, a manifest
// and a report. Nothing here knows how a kernel was compiled. The header in object mode reads only
// what the front end knew (everything but `Variant::images`), so that a change of code generation
// never changes the header.

#pragma once

#include "ir/launch_plan.h"
#include "ir/linear_layout.h"
#include "language/front_end.h" // Axis, AxisValue, Define

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tritonc {

/// A parameter of a kernel, in the order of its declaration.
struct Parameter {
  std::string name;
  std::string element; // as ir::name_of says it: "i1", "i32", "f16", "bf16", "f32", "e4m3", ...
  bool is_pointer = false;
  bool is_signed = true;   // of integers
  bool read_only = false;  // pointers: becomes a pointer to const
  bool write_only = false; // pointers
  bool nullable = false;   // pointers: null is refused unless set
  int multiple_of = 1;     // integers: the stub refuses other values
  int aligned_bytes = 16;  // pointers: the stub refuses other addresses
};

/// A part of constant memory, which the host fills.
struct Constant {
  std::string name;
  std::string element; // as of a Parameter
  bool is_signed = true;
  int64_t count = 0;  // of elements
  int64_t offset = 0; // in bytes, from the beginning of all constant memory
  int64_t bytes = 0;
};

/// What tritonc report shows of an image besides.
struct ImageDetails {
  /// A tile that threads hold, or a buffer in shared memory, and where its elements are.
  struct Place {
    std::string operation; // that makes it: "dot"
    std::string type;      // "f32[128,256]"
    int line = 0;          // of the source; 0: none
    int element_bytes = 0;
    ir::LinearLayout layout;
  };
  /// A load or store of shared memory.
  struct Access {
    std::string operation, type;
    int line = 0;
    bool by_matrix = false;
    int bytes = 0;        // at each of its places
    double conflicts = 1; // how many times as long it takes for its bank conflicts
  };
  /// How many blocks a multiprocessor runs at once, and what keeps it from running more.
  struct Occupancy {
    int blocks = 0, warps = 0, most_warps = 0;
    std::string limit; // "registers", "shared memory", "threads", "blocks"
  };
  std::map<std::string, int> instructions; // of the machine code, by name
  std::vector<Place> places;
  std::vector<Access> accesses;
  Occupancy occupancy;
};

/// One variant compiled for one GPU.
struct Image {
  std::string gpu;      // "sm_90a"; of PTX "compute_80"
  int sm = 0;           // 90
  char suffix = 0;      // 'a', 'f' or 0; 'p': it is PTX, for GPUs that no other image is for
  std::string bytes;    // a fatbinary that holds one kernel
  int threads = 0;      // per block
  int shared_bytes = 0; // dynamic: said at the launch
  int static_shared = 0;
  int registers = 0;    // per thread
  int spill_stores = 0; // bytes
  int spill_loads = 0;  // bytes
  int stack_bytes = 0;
  int cubin_bytes = 0;     // before compression; of PTX, the text's
  bool has_checks = false; // `assert` or `print` of its source
  LaunchForm form;
  // The same kernel for this machine's CPU; both empty unless it was asked for.
  std::string host_symbol;             // of its abi::host_code
  std::string host_object;             // the ELF object that defines the symbol
  std::optional<ImageDetails> details; // if they were asked for

  /// Its registers, spills and stack are then those of the GPU that it begins with.
  bool is_ptx() const { return suffix == 'p'; }
};

/// One choice of a value for every axis. What is compiled under hints besides (`plan.hints`) is a
/// variant of the same values, in front of the general one, which is always there.
struct Variant {
  std::vector<int> values;     // index into axes[i].values, one per axis
  std::string entry;           // the kernel's symbol in its images
  std::vector<Define> defines; // the macros that made it, for the manifest
  LaunchPlan plan;
  std::vector<Parameter> parameters;
  std::vector<Constant> constants;
  std::vector<Image> images; // by GPU, in one order for all variants; a GPU's forms one by one
  int preference = 0;        // lower is tried first when the library chooses
};

/// How long variants of a kernel took for one problem on one GPU.
struct Measurement {
  std::string gpu; // "NVIDIA H200"
  int arch = 0;    // 90
  int multiprocessors = 0;
  std::vector<std::pair<int, int64_t>> problem; // parameters and what they were, in their order
  struct Time {
    size_t variant = 0; // in KernelEntry::variants
    int64_t nanoseconds = 0;
    std::optional<int64_t> cost; // as the form of the launch reckoned it then
    std::string form;            // its name
  };
  std::vector<Time> times; // of variants of one C++ type
  std::string file;        // that it was read from, without folders
};

struct KernelEntry {
  std::string name;
  std::vector<Axis>
      axes; // `tuned` ones are chosen at the launch, the others are part of the C++ type
  std::vector<Variant> variants;
  std::vector<Measurement> measurements; // of all kernels the same parameters make up a problem
};

struct Library {
  std::string name;        // the C++ namespace: "gemm", also "my::gemm"
  std::string source_file; // as given, relative; for comments and the manifest
  std::string tool;        // "tritonc 0.1.0"; for comments and the manifest
  std::vector<KernelEntry> kernels;
};

} // namespace tritonc
