// The passes by name. See run_pass.h.

#include "unit/passes/run_pass.h"

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

#include <functional>
#include <map>
#include <utility>

namespace tritonc::test {

namespace {

using Run = std::function<void(ir::Function &, const Gpu &, const Schedule &)>;

// One overload per list of parameters that a pass may have.
Run as_run(void (*pass)(ir::Function &)) {
  return [pass](ir::Function &fn, const Gpu &, const Schedule &) { pass(fn); };
}
Run as_run(void (*pass)(ir::Function &, const Gpu &)) {
  return [pass](ir::Function &fn, const Gpu &gpu, const Schedule &) { pass(fn, gpu); };
}
Run as_run(void (*pass)(ir::Function &, const Schedule &)) {
  return [pass](ir::Function &fn, const Gpu &, const Schedule &schedule) { pass(fn, schedule); };
}
Run as_run(void (*pass)(ir::Function &, const Gpu &, const Schedule &)) { return pass; }

// Tested for completeness by tir_files_test.cpp.
const std::map<std::string_view, Run> &passes() {
#define PASS(name) std::pair(std::string_view(#name), as_run(name))
  static const std::map<std::string_view, Run> table = {
      PASS(align_tiles),
      PASS(allocate_shared),
      PASS(assign_layouts),
      PASS(avoid_register_bank_conflicts),
      PASS(batch_programs),
      PASS(assign_programs_to_warps),
      PASS(broadcast_atomic_results),
      PASS(choose_occupancy),
      PASS(coarsen_programs),
      PASS(collapse_loops),
      PASS(combine_loop_partials),
      PASS(expand_inductions),
      PASS(fold_add_into_dot),
      PASS(form_views),
      PASS(group_loads),
      PASS(hoist_loads),
      PASS(insert_barriers),
      PASS(insert_dependent_launch),
      PASS(interleave_copies),
      PASS(issue_wgmma_async),
      PASS(join_rows),
      PASS(lower_channels),
      PASS(lower_cluster_reductions),
      PASS(lower_gathers),
      PASS(lower_layout_conversions),
      PASS(lower_to_tma),
      PASS(make_persistent),
      PASS(order_programs),
      PASS(overlap_dots),
      PASS(pipeline_loops),
      PASS(pipeline_wgmma),
      PASS(precompute_reciprocals),
      PASS(prefetch_dot_operands),
      PASS(prefetch_loads),
      PASS(prefetch_through_registers),
      PASS(unroll_loops),
      PASS(remove_dead_code),
      PASS(rescale_per_thread),
      PASS(select_mma),
      PASS(set_k_tile),
      PASS(share_comparisons),
      PASS(specialize_warps),
      PASS(split_dots_along_k),
      PASS(split_k_in_cluster),
      PASS(split_loop_at_condition),
      PASS(split_loops_in_cluster),
      PASS(split_reductions),
      PASS(stage_epilogue),
      PASS(stage_operands),
      PASS(stage_repeated_loads),
      PASS(store_loop_partials),
      PASS(swap_operands),
      PASS(swizzle_programs),
      PASS(unpipeline_loops),
      PASS(uplift_while_to_for),
  };
#undef PASS
  return table;
}

} // namespace

bool run_pass(std::string_view name, ir::Function &fn, const Gpu &gpu, const Schedule &schedule) {
  auto found = passes().find(name);
  if (found == passes().end())
    return false;
  found->second(fn, gpu, schedule);
  return true;
}

} // namespace tritonc::test
