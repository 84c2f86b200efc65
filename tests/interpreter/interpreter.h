// The tile interpreter: tile IR executed slowly and obviously, the oracle of all tests of meaning.
//
// It says what a function computes, before the passes, after them and between any two. Values are
// whole tiles, programs run one after another, and nothing is known of threads: layouts, barriers
// and addresses in shared memory do not change what a tile is. (So it does not find a missing
// barrier or buffers that overlap.) What it does know is where a value may come from: elements that
// nobody wrote are poison, a copy in the background lands only when it is waited for, a product in
// the background is there only when it is, and buffers in global memory end where they end. Of
// warps it knows the two parts of a `specialize`, which take turns; of clusters, the one place
// where their blocks meet, cluster_reduce.
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
// Needs a function that keeps the rules of ir/verifier.h. Whatever that function does at run time,
// `run` comes back: mistakes are reports, and an endless loop ends at `max_steps`.

#pragma once

#include "interpreter/memory.h"
#include "ir/ir.h"

#include <array>

namespace tritonc::interpreter {

/// Who goes on where both parts of a `specialize` can: one of them until it must wait, or each for
/// one operation in turn.
enum class Turns : uint8_t { producer_first, workers_first, alternate };

struct Launch {
  std::array<int, 3> grid = {1, 1, 1}; // of programs
  int multiprocessors = 3;             // of the GPU
  Turns turns = Turns::producer_first;
  std::vector<Element> arguments;  // one per parameter
  std::vector<uint8_t> constants;  // what the host has put there; empty: nothing
  int64_t max_steps = 100'000'000; // operations executed, by all programs together
  size_t max_reports = 16;         // further ones are not kept
  size_t max_lines = 10'000;       // printed by all programs; further ones are not kept
};

struct Report {
  enum class Kind : uint8_t {
    out_of_bounds,     // global memory is accessed outside of a buffer
    wrong_type,        // a buffer is accessed as another element type than it has
    poison_address,    // an access whose pointer, mask or slot is poison
    poison_condition,  // a branch or a loop that depends on poison
    poison_store,      // poison is stored to global memory
    bad_slot,          // a slot that the buffer, or the mbarriers, do not have
    copy_not_awaited,  // a program ends while copies in the background are under way
    wgmma_not_awaited, // or products
    not_on_host,       // the host is to compute what it cannot
    bad_launch,        // no such number of blocks can be launched
    bad_map,           // a tensor map that the driver refuses
    bad_box,           // a place in a tensor that TMA cannot copy, or not all of
    not_fenced,        // a slot is copied out that was written since the last proxy_fence
    no_program,        // program_id where blocks are not programs
    wrong_warps,       // an operation that these warps cannot do
    bad_mbarrier,      // arrivals or bytes of a phase that are not those it expects
    deadlock,          // all wait for mbarriers, and nothing is under way
    assertion_failed,  // an assert of the kernel does not hold
    too_many_steps,    // max_steps
    invalid_arguments, // there are more or fewer than parameters, or not its constants
  };
  Kind kind;
  std::string operation;           // as the printer prints it
  ir::Location location;           // of the operation in the source
  std::array<int, 3> program = {}; // its ids; with a launch_blocks, those of the block
  int64_t element = -1;            // of the tile that the operation accesses; -1: not about one
  std::string text;                // what happened
};

/// The constant memory of a function before the host fills it.
std::vector<uint8_t> initial_constants(const ir::Function &fn);

/// "program (1, 0, 0), element 5 of `%a = load %p : f32[8]`: reads x[8], which has 8 elements"
std::string text_of(const Report &report);

struct Result {
  std::vector<Report> reports;
  std::vector<std::string> printed; // "program (0, 0, 0): n = 3", "?" where there is no value
  int64_t steps = 0;
};

/// Runs `fn` for every program of the grid, or every block that its launch_blocks wants, one after
/// another, on `memory`. An operation that is at fault for many elements is one report, about the
/// first of them. A program that depends on a poison condition, whose assertion fails, or that can
/// go on no more, ends there; the others still run.
Result run(const ir::Function &fn, const Launch &launch, Memory &memory);

} // namespace tritonc::interpreter
