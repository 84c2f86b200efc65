// The text of a schedule. See schedule.h.
//
// Tested by tests/unit/ir/schedule_test.cpp.

#include "ir/schedule.h"

namespace tritonc {

namespace {

std::string text_of(const BlockTile &tile) {
  return std::to_string(tile.m) + "x" + std::to_string(tile.n) + "x" + std::to_string(tile.k);
}

const char *name_of(Schedule::Kind kind) {
  switch (kind) {
  case Schedule::Kind::baseline:
    return "baseline";
  case Schedule::Kind::multistage:
    return "multistage";
  case Schedule::Kind::multistage_wgmma:
    return "multistage wgmma";
  case Schedule::Kind::warp_specialized:
    return "warp-specialized";
  case Schedule::Kind::batched:
    return "batched";
  case Schedule::Kind::program_per_warp:
    return "program per warp";
  case Schedule::Kind::split_loop:
    return "split loop";
  case Schedule::Kind::split_k_reduction:
    return "split-K reduction";
  }
  return "";
}

} // namespace

std::string text_of(const Schedule &schedule) {
  if (schedule.is_baseline())
    return name_of(schedule.kind);
  const std::string reuse = schedule.staged            ? "staged"
                            : schedule.iterations == 1 ? "one iteration"
                            : schedule.iterations > 1
                                ? std::to_string(schedule.iterations) + " iterations"
                                : "";
  if (schedule.kind == Schedule::Kind::baseline && schedule.cluster == 1)
    return reuse;
  if (schedule.kind == Schedule::Kind::baseline)
    return "cluster of " + std::to_string(schedule.cluster) + (reuse.empty() ? "" : ", " + reuse);
  if (schedule.kind == Schedule::Kind::batched)
    return std::to_string(schedule.coarsening[0]) + " programs per block" +
           (reuse.empty() ? "" : ", " + reuse) + (schedule.joined_rows ? ", joined rows" : "");
  if (schedule.kind == Schedule::Kind::program_per_warp)
    return name_of(schedule.kind) + (reuse.empty() ? "" : ", " + reuse);
  if (schedule.kind == Schedule::Kind::split_loop)
    return name_of(schedule.kind) + std::string(schedule.is_first() ? ", partials" : ", reduction");
  std::string text = name_of(schedule.kind);
  if (schedule.tile != BlockTile{})
    text = text_of(schedule.tile) + " " + text;
  if (schedule.split_k > 1)
    text += ", split-K " + std::to_string(schedule.split_k);
  if (schedule.multicast > 1)
    text += ", multicast " + std::to_string(schedule.multicast);
  if (schedule.consumer_groups > 1)
    text += ", ping-pong";
  if (schedule.producer_warps > 0)
    text += ", without TMA";
  if (schedule.is_warp_specialized() && schedule.blocks_per_sm > 1)
    text += ", " + std::to_string(schedule.blocks_per_sm) + " blocks per SM";
  if (schedule.stream_k)
    text += ", stream-K";
  if (schedule.work == Schedule::Work::partials)
    text += schedule.partials ? ", split-K partials" : ", split loop, partials";
  return text;
}

} // namespace tritonc
