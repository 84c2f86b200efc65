// The pass pipeline: lowers tile IR as translated from the source to tile IR that `lower/` can
// translate operation by operation.
//
// Only this file knows the order of the passes: the order of its lines. Each paragraph gives the
// purpose of its passes. A line "From here on" gives a property that holds for all later passes.

#include "passes/pipeline.h"

#include "passes/align_tiles.h"
#include "passes/allocate_shared.h"
#include "passes/assign_layouts.h"
#include "passes/assign_programs_to_warps.h"
#include "passes/avoid_register_bank_conflicts.h"
#include "passes/batch_programs.h"
#include "passes/broadcast_atomic_results.h"
#include "passes/choose_occupancy.h"
#include "passes/coarsen_programs.h"
#include "passes/collapse_loops.h"
#include "passes/combine_loop_partials.h"
#include "passes/expand_inductions.h"
#include "passes/fold_add_into_dot.h"
#include "passes/form_views.h"
#include "passes/group_loads.h"
#include "passes/hoist_loads.h"
#include "passes/insert_barriers.h"
#include "passes/insert_dependent_launch.h"
#include "passes/interleave_copies.h"
#include "passes/issue_wgmma_async.h"
#include "passes/join_rows.h"
#include "passes/lower_channels.h"
#include "passes/lower_cluster_reductions.h"
#include "passes/lower_gathers.h"
#include "passes/lower_layout_conversions.h"
#include "passes/lower_to_tma.h"
#include "passes/make_persistent.h"
#include "passes/order_programs.h"
#include "passes/overlap_dots.h"
#include "passes/pipeline_loops.h"
#include "passes/pipeline_wgmma.h"
#include "passes/precompute_reciprocals.h"
#include "passes/prefetch_dot_operands.h"
#include "passes/prefetch_loads.h"
#include "passes/prefetch_through_registers.h"
#include "passes/remove_dead_code.h"
#include "passes/rescale_per_thread.h"
#include "passes/select_mma.h"
#include "passes/set_k_tile.h"
#include "passes/share_comparisons.h"
#include "passes/specialize_warps.h"
#include "passes/split_dots_along_k.h"
#include "passes/split_k_in_cluster.h"
#include "passes/split_loop_at_condition.h"
#include "passes/split_loops_in_cluster.h"
#include "passes/split_reductions.h"
#include "passes/stage_epilogue.h"
#include "passes/stage_operands.h"
#include "passes/stage_repeated_loads.h"
#include "passes/store_loop_partials.h"
#include "passes/swap_operands.h"
#include "passes/swizzle_programs.h"
#include "passes/unpipeline_loops.h"
#include "passes/unroll_loops.h"
#include "passes/uplift_while_to_for.h"

#include "ir/parser.h"

#include <algorithm>
#include <utility>

namespace tritonc {

void canonicalize(PassRunner &run) {
  // Canonical loops: counted, without software pipelining by hand, and without carried values that
  // are a formula of the counter. unpipeline_loops compares loop conditions, so it comes before
  // uplift_while_to_for, which replaces them by a number of iterations. collapse_loops needs loops
  // without dead operations, such as the counters of the source.
  run("unpipeline_loops", unpipeline_loops);
  run("uplift_while_to_for", uplift_while_to_for);
  run("expand_inductions", expand_inductions);
  run("fold_add_into_dot", fold_add_into_dot);
  run("form_views", form_views);
  run("remove_dead_code", remove_dead_code);
  run("collapse_loops", collapse_loops);
  run("remove_dead_code", remove_dead_code);
}

ir::Function canonical_form(const ir::Function &fn) {
  ir::Function canonical = clone(fn);
  PassObserver no_observer;
  PassRunner run(canonical, no_observer);
  canonicalize(run);
  return canonical;
}

void run_pipeline(ir::Function &fn, const Gpu &gpu, const PassObserver &observe,
                  const Schedule &schedule) {
  PassRunner run(fn, observe);
  canonicalize(run);

  // From here on: every load and store with an affine form goes through a view. Loops carry only
  // values that depend on the previous iteration.

  // Block tile: the tile of the source defines a program, not the work of a block. set_k_tile
  // changes the K tile, and coarsen_programs gives a block several programs, as one larger tile, or
  // a part of one. In the second launch of a split loop, combine_loop_partials replaces the loop.
  run("set_k_tile", set_k_tile, schedule);
  run("coarsen_programs", coarsen_programs, schedule);
  run("combine_loop_partials", combine_loop_partials, schedule);

  // TMA, where the schedule says so: TMA loads the operands and stores the output tiles.
  // lower_to_tma makes tensor maps from the grid of programs and the whole K loop, so it comes
  // before all passes that divide them.
  run("swap_operands", swap_operands, schedule);
  run("lower_to_tma", lower_to_tma, schedule);

  // Blocks and programs: store_loop_partials gives a program several blocks, in two launches.
  // Without a matmul, split_loops_in_cluster gives it a cluster of blocks, batch_programs gives a
  // block several programs side by side, and assign_programs_to_warps gives each warp of a block a
  // program. align_tiles makes loops over a row access whole vectors.
  // It comes before split_loops_in_cluster, which changes the counters of the loops, and before
  // unroll_loops, which removes the loops. Then join_rows moves the rows of a block's
  // programs as one range. swizzle_programs gives blocks that run at the same time programs that
  // share operands in the L2 cache. order_programs starts the longest programs first.
  run("store_loop_partials", store_loop_partials, schedule);
  run("batch_programs", batch_programs, schedule);
  run("assign_programs_to_warps", assign_programs_to_warps, schedule);
  run("align_tiles", align_tiles);
  run("split_loops_in_cluster", split_loops_in_cluster, schedule);
  run("unroll_loops", unroll_loops, schedule);
  run("join_rows", join_rows, schedule);
  run("remove_dead_code", remove_dead_code);
  run("swizzle_programs", swizzle_programs, schedule);
  run("order_programs", order_programs);

  // MMA: choose the instruction of every dot, and with it the number of warps. It comes after
  // swap_operands, because warps divide the rows of a matmul differently from its columns.
  run("select_mma", select_mma, gpu, schedule);

  // Warp specialization, where the schedule says so: producer warps run ahead of the consumer
  // warps, the kernel becomes persistent, and split_k_in_cluster divides the mainloop.
  //
  // In kernels with several dots, overlap_dots lets dots of two iterations overlap, and
  // split_loop_at_condition removes branches between dots and their results. specialize_warps assigns
  // warps in all loops at once, so it comes after the passes that change loops. The passes after it no
  // longer find a matmul loop. pipeline_wgmma leaves dots in flight from one iteration to the next.
  // issue_wgmma_async waits for the other dots late.
  // stage_epilogue sends the output tiles through shared memory.
  run("make_persistent", make_persistent, schedule);
  run("split_k_in_cluster", split_k_in_cluster, schedule);
  run("remove_dead_code", remove_dead_code);
  run("overlap_dots", overlap_dots, schedule);
  run("split_loop_at_condition", split_loop_at_condition, schedule);
  run("specialize_warps", specialize_warps, gpu, schedule);
  run("pipeline_wgmma", pipeline_wgmma, schedule);
  run("issue_wgmma_async", issue_wgmma_async);
  run("stage_epilogue", stage_epilogue, schedule);
  run("remove_dead_code", remove_dead_code);

  // Software pipelining of all other mainloops: operands go through shared memory. pipeline_loops
  // copies them ahead of their use by cp.async; on GPUs without it, prefetch_through_registers
  // loads them ahead.
  //
  // pipeline_loops moves only loads without another use. So remove_dead_code must first remove the
  // transposes that stage_operands has folded. split_dots_along_k cuts the matmul into slices along
  // K. The passes after it start copies and loads for later iterations between the slices.
  run("stage_operands", stage_operands);
  run("remove_dead_code", remove_dead_code);
  run("pipeline_loops", pipeline_loops, gpu, schedule);
  run("pipeline_wgmma", pipeline_wgmma, schedule);
  run("issue_wgmma_async", issue_wgmma_async);
  run("split_dots_along_k", split_dots_along_k, gpu, schedule);
  run("prefetch_through_registers", prefetch_through_registers, gpu);
  run("interleave_copies", interleave_copies);
  run("prefetch_dot_operands", prefetch_dot_operands);
  run("avoid_register_bank_conflicts", avoid_register_bank_conflicts);
  run("remove_dead_code", remove_dead_code);

  // Loops over the same tiles: loads them once, into shared memory, where the schedule says so.
  run("stage_repeated_loads", stage_repeated_loads, gpu, schedule);
  run("remove_dead_code", remove_dead_code);

  // Index arithmetic: the loops are final, so it is known which divisions they repeat.
  run("precompute_reciprocals", precompute_reciprocals);

  // Layouts: decide which thread holds which element. Before, rescale_per_thread lets a thread
  // rescale its sum once per iteration, prefetch_loads lets it load one iteration ahead, and
  // share_comparisons lets it compare once for the elements of a vector. hoist_loads issues loads
  // before reductions, which later passes make of shuffles and barriers. split_reductions makes the
  // conversions before reductions small. Then conversions between layouts, gathers, and reductions
  // over a cluster become accesses to shared memory. So these passes come before allocate_shared.
  run("rescale_per_thread", rescale_per_thread);
  run("prefetch_loads", prefetch_loads);
  run("share_comparisons", share_comparisons);
  run("assign_layouts", assign_layouts);
  run("hoist_loads", hoist_loads, gpu);
  run("split_reductions", split_reductions);
  run("remove_dead_code", remove_dead_code);
  run("broadcast_atomic_results", broadcast_atomic_results);
  run("lower_layout_conversions", lower_layout_conversions, gpu);
  run("lower_gathers", lower_gathers);
  run("lower_cluster_reductions", lower_cluster_reductions);

  // Channels between partitions become mbarriers.
  run("lower_channels", lower_channels);

  // From here on: every tile has a layout, and no pass adds an access to shared memory.

  // Shared memory: assign addresses, then insert barriers between conflicting accesses.
  run("allocate_shared", allocate_shared, gpu);
  run("insert_barriers", insert_barriers);

  // Programmatic dependent launch: consecutive launches may overlap. The pass comes this late
  // because it needs the first and the last access to global memory.
  run("insert_dependent_launch", insert_dependent_launch, gpu);

  // Instruction scheduling: group_loads issues the loads of an iteration together. The pass comes after
  // all passes that add operations with an effect, which end a group.
  run("group_loads", group_loads, gpu);

  // Occupancy: divide the registers of an SM among blocks. The pass comes last because it needs
  // every other limit on blocks per SM.
  run("choose_occupancy", choose_occupancy, gpu, schedule);
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  auto note = [&](std::string_view name, ir::Function &) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  ir::Function nothing = std::move(*ir::parse("func @nothing() {\n return\n}").function);
  run_pipeline(nothing, *find_gpu("80"), note);
  return names;
}

} // namespace tritonc
