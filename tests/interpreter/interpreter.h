// The tile interpreter: executes tile IR in a slow and simple way. It is the oracle for all tests
// of semantics.
//
// It computes the results of a function before the passes, after them, and between any two. Values
// are whole tiles, and programs run one after another. It does not model threads: layouts,
// barriers, and shared memory addresses do not change a tile. (So it cannot find a missing barrier
// or overlapping buffers.) But it tracks where a value comes from:
//
//     - unwritten elements are poison;
//     - an asynchronous copy lands only at its wait;
//     - the result of an asynchronous wgmma exists only after its wait;
//     - accesses outside a buffer in global memory are reported.
//
// Of warps, it models only the partitions of a `warp_specialize`, which take turns. The blocks of a
// cluster take turns, too: each runs until it waits for the cluster.
//
//     interpreter::Memory memory;
//     int x = memory.add("x", ir::Elem::f32, {1, 2, 3});
//     int y = memory.add_unwritten("y", ir::Elem::f32, 3); // three elements without a value
//     interpreter::Launch launch;
//     launch.grid = {1, 1, 1};
//     launch.arguments = {Element::pointer(x), Element::pointer(y), Element::of_integer(3)};
//     interpreter::Result result = interpreter::run(fn, launch, memory);
//     for (const Report &report : result.reports)
//       std::cerr << text_of(report) << "\n";
//     ... memory[y].elements
//
// The function must satisfy ir/verifier.h. `run` always returns: errors become reports, and an
// endless loop ends at `max_steps`.

#pragma once

#include "interpreter/memory.h"
#include "ir/ir.h"

#include <array>

namespace tritonc::interpreter {

/// The interleaving of the parts of a `warp_specialize`: one part runs until it must wait, or each
/// runs one operation in turn.
enum class Turns : uint8_t { producer_first, workers_first, alternate };

struct Launch {
  std::array<int, 3> grid = {1, 1, 1}; // in programs
  int num_sms = 3;                     // SMs of the GPU
  Turns turns = Turns::producer_first;
  std::vector<Element> arguments;  // one per parameter
  std::vector<uint8_t> constants;  // filled by the host; empty = not filled
  int64_t max_steps = 100'000'000; // max operations executed by all programs
  size_t max_reports = 16;         // further reports are dropped
  size_t max_lines = 10'000;       // printed by all programs; further lines are dropped
};

struct Report {
  enum class Kind : uint8_t {
    out_of_bounds,     // an access to global memory outside of a buffer
    wrong_type,        // an access with another element type than the buffer's
    poison_address,    // an access with a poison pointer, mask, or stage
    poison_condition,  // a branch, loop, or assertion that depends on poison
    poison_store,      // a store of poison to global memory
    bad_slot,          // a stage index out of range for a buffer or mbarriers
    copy_not_awaited,  // a program ends while asynchronous copies are pending
    wgmma_not_awaited, // a program ends while wgmma are pending
    not_on_host,       // a host value that the host cannot compute
    bad_launch,        // an invalid number of blocks
    not_launched,      // a tensor map that the driver refuses, or a launch_requires that is false
    bad_box,           // coordinates at which TMA cannot copy the box
    not_fenced,        // an async read of a stage written after the last proxy_fence
    no_program,        // program_id after a launch_blocks
    wrong_warps,       // an operation that these warps may not execute
    bad_mbarrier,      // a phase with wrong numbers of arrivals or bytes
    bad_channel,       // a number of a channel that is not the next one
    deadlock,          // all partitions wait, and no copy is pending
    assertion_failed,  // an assert of the kernel failed
    too_many_steps,    // max_steps
    invalid_arguments, // wrong number of arguments, or wrong size of constants
  };
  Kind kind;
  std::string operation;           // as printed by the IR printer
  ir::Location location;           // of the operation in the source
  std::array<int, 3> program = {}; // program ids; with a launch_blocks, block ids
  int64_t element = -1;            // index in the accessed tile; -1 = none
  std::string text;                // the error
};

/// The constant memory of a function before the host fills it.
std::vector<uint8_t> initial_constants(const ir::Function &fn);

/// "program (1, 0, 0), element 5 of `%a = load %p : f32[8]`: reads x[8], which has 8 elements"
std::string text_of(const Report &report);

struct Result {
  std::vector<Report> reports;
  std::vector<std::string> printed; // "program (0, 0, 0): n = 3"; "?" = poison
  int64_t steps = 0;
};

/// Runs `fn` on `memory` for every program of the grid, or every block of its launch_blocks, one
/// after another, and the blocks of a cluster in turns. An operation that fails for many elements makes one report, about the first one.
/// A program ends early after a poison condition, a failed assertion, or a deadlock; the other
/// programs still run.
Result run(const ir::Function &fn, const Launch &launch, Memory &memory);

} // namespace tritonc::interpreter
