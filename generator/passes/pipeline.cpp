// The pipeline: tile IR as translated from the source in, tile IR that `lower/` can translate
// operation by operation out.
//
// This is the only place that knows the order of the passes, and the order is the order of the
// lines. Each paragraph says what it is for; the lines between them say what holds from there on.

#include "passes/pipeline.h"

#include "passes/add_parts.h"
#include "passes/allocate_shared.h"
#include "passes/assign_layouts.h"
#include "passes/bundle_programs.h"
#include "passes/choose_dots.h"
#include "passes/choose_residency.h"
#include "passes/close_inductions.h"
#include "passes/count_loops.h"
#include "passes/detach_sums.h"
#include "passes/form_views.h"
#include "passes/fuse_dots.h"
#include "passes/group_programs.h"
#include "passes/hint_copies.h"
#include "passes/insert_barriers.h"
#include "passes/load_ahead.h"
#include "passes/lower_cluster_sums.h"
#include "passes/lower_conversions.h"
#include "passes/lower_gathers.h"
#include "passes/narrow_steps.h"
#include "passes/overlap_launches.h"
#include "passes/persist_programs.h"
#include "passes/pipeline_loops.h"
#include "passes/preload_slices.h"
#include "passes/remove_dead_code.h"
#include "passes/share_results.h"
#include "passes/slice_dots.h"
#include "passes/specialize_warps.h"
#include "passes/split_sums.h"
#include "passes/spread_copies.h"
#include "passes/stage_operands.h"
#include "passes/stage_results.h"
#include "passes/start_products.h"
#include "passes/store_parts.h"
#include "passes/swap_factors.h"
#include "passes/unrotate_loops.h"
#include "passes/use_tensor_maps.h"
#include "passes/widen_steps.h"

namespace tritonc {

void canonicalize(PassRunner &run) {
  // Bring loops to one form: counted, no hand-made prefetching, nothing carried around that is a
  // formula of the counter. unrotate_loops compares conditions, so it comes before count_loops,
  // which replaces them by a number of trips.
  run("unrotate_loops", unrotate_loops);
  run("count_loops", count_loops);
  run("close_inductions", close_inductions);
  run("fuse_dots", fuse_dots);
  run("form_views", form_views);
  run("remove_dead_code", remove_dead_code);
}

ir::Function canonical_form(const ir::Function &fn) {
  ir::Function canonical = clone(fn);
  PassObserver nobody;
  PassRunner run(canonical, nobody);
  canonicalize(run);
  return canonical;
}

void run_pipeline(ir::Function &fn, const Gpu &gpu, const PassObserver &observe,
                  const Structure &structure) {
  PassRunner run(fn, observe);
  canonicalize(run);

  // From here on: every access that has an affine form goes through a view, and loops carry only
  // what really depends on the iteration before.

  // The source's tile is what a program means, not what a block does at a time: take shorter or
  // longer steps along K, and several programs at once. Blocks that run at one time get programs
  // that share operands.
  run("narrow_steps", narrow_steps, structure);
  run("widen_steps", widen_steps, structure);
  run("add_parts", add_parts, structure);
  run("bundle_programs", bundle_programs, structure);
  run("remove_dead_code", remove_dead_code);
  run("group_programs", group_programs, structure);

  // Choose the instruction for every contraction and with it the number of warps. Which factor
  // comes first is settled before, because rows and columns of a product are divided differently.
  run("swap_factors", swap_factors, structure);
  run("choose_dots", choose_dots, gpu, structure);

  // Where the structure says so, the copy engine brings the operands and takes the results away,
  // and warps of their own see to the former. Maps are made from the grid of programs, so they come
  // before persist_programs does away with it; which warp does what is settled for all loops at
  // once. After this the product is none that the next passes know.
  run("use_tensor_maps", use_tensor_maps, structure);
  run("hint_copies", hint_copies);
  run("store_parts", store_parts, structure);
  run("persist_programs", persist_programs, structure);
  run("split_sums", split_sums, structure);
  run("remove_dead_code", remove_dead_code);
  run("specialize_warps", specialize_warps, gpu, structure);
  run("stage_results", stage_results, structure);
  run("remove_dead_code", remove_dead_code);

  // Bring all other operands through shared memory, copied ahead of their use where the GPU can,
  // loaded ahead where it can't. pipeline_loops moves loads that have no other use, so the
  // transpositions that stage_operands has folded away must go before it. Then the loop is in
  // slices, between which there is room for what the next iterations need.
  run("stage_operands", stage_operands);
  run("remove_dead_code", remove_dead_code);
  run("pipeline_loops", pipeline_loops, gpu, structure);
  run("start_products", start_products);
  run("slice_dots", slice_dots, gpu, structure);
  run("load_ahead", load_ahead, gpu);
  run("spread_copies", spread_copies);
  run("preload_slices", preload_slices);
  run("detach_sums", detach_sums);
  run("remove_dead_code", remove_dead_code);

  // Decide which thread holds which element. lower_conversions turns the places where producer and
  // consumer disagree into trips through shared memory, and lower_gathers what threads take from
  // others at places that only they know, so both must come before allocate_shared.
  run("assign_layouts", assign_layouts);
  run("remove_dead_code", remove_dead_code);
  run("share_results", share_results);
  run("lower_conversions", lower_conversions);
  run("lower_gathers", lower_gathers);
  run("lower_cluster_sums", lower_cluster_sums);

  // From here on: every tile has a layout, and no pass adds an access to shared memory.

  // Give shared memory addresses, then make using it safe.
  run("allocate_shared", allocate_shared);
  run("insert_barriers", insert_barriers);

  // Let launches overlap, now that it is settled where memory is first and last read.
  run("overlap_launches", overlap_launches, gpu);

  // Divide the registers of a multiprocessor, now that it is known what else limits its programs.
  run("choose_residency", choose_residency, gpu, structure);
}

std::vector<std::string_view> pass_names() {
  return {"unrotate_loops",     "count_loops",      "close_inductions",  "fuse_dots",
          "form_views",         "remove_dead_code", "narrow_steps",      "widen_steps",
          "add_parts",          "bundle_programs",  "group_programs",    "swap_factors",
          "choose_dots",        "use_tensor_maps",  "hint_copies",       "store_parts",
          "persist_programs",   "split_sums",       "specialize_warps",  "stage_results",
          "stage_operands",     "pipeline_loops",   "start_products",    "slice_dots",
          "load_ahead",         "spread_copies",    "preload_slices",    "detach_sums",
          "assign_layouts",     "share_results",    "lower_conversions", "lower_gathers",
          "lower_cluster_sums", "allocate_shared",  "insert_barriers",   "overlap_launches",
          "choose_residency"};
}

} // namespace tritonc
