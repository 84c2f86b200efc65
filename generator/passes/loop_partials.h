// The partials of a loop that blocks divide, in a workspace. store_loop_partials stores them in one
// launch, combine_loop_partials combines them in the next.
//
// A partial has the totals of one program, one tile after the other, each in row-major order. The
// partials of all programs follow one another, part by part. Totals of several types are stored as
// integers.

#pragma once

#include "analysis/associative_loop.h"
#include "ir/schedule.h"

namespace tritonc {

struct LoopPartials {
  /// i32, from the host: the number of parts, and iterations per part. The last part may have
  /// fewer.
  ir::Value *count, *steps;
  ir::Value *programs; // i64, from the host
  ir::Value *memory;   // the workspace
  ir::Value *count_on_host;
  ir::Elem elem;                // of the workspace
  int64_t elements;             // of a partial
  std::vector<int64_t> offsets; // elements from the start of a partial to each total

  /// As many parts as keep `blocks_per_sm` blocks of all SMs busy, but at least this many
  /// iterations each: with fewer, the second launch takes longer than the loop.
  static constexpr int64_t min_iterations = 4;
};

/// The elements of a partial.
int64_t elements_of_partial(const AssociativeLoop &found);

/// The parts that one iteration of the second launch combines.
int64_t parts_of_iteration(const AssociativeLoop &found);

/// Requires that the grid is still that of programs.
LoopPartials emit_loop_partials(ir::Builder &builder, const AssociativeLoop &found,
                                int blocks_per_sm);

/// The pointer to total `number` of a program, given its index in the grid, in part `part`; in
/// elements from the start of the workspace. All i64.
ir::Value *emit_offset(ir::Builder &builder, const LoopPartials &partials, ir::Value *part,
                       ir::Value *program, size_t number);

/// `value` with elements of type `elem`: the same bits.
ir::Value *emit_as(ir::Builder &builder, ir::Value *value, ir::Elem elem);

/// The index of the program in the grid, from its index along each axis (i32), as i64.
ir::Value *emit_program_index(ir::Builder &builder, ir::Value *const ids[3],
                              ir::Value *const programs[3]);

} // namespace tritonc
