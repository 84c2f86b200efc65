// Explains the chosen and the missed schedules of a kernel. See explain.h.
//
// Tested by tests/unit/tool/explain_test.cpp.

#include "diagnose/explain.h"
#include <algorithm>

#include "diagnostics/diagnostics.h"
#include "schedule/candidates.h"
#include "schedule/missed_schedule.h"

namespace tritonc {

namespace {

Message message_of(NoTensor why) {
  switch (why) {
  case NoTensor::not_affine:
    return Message::explain_not_affine;
  case NoTensor::not_a_parameter:
    return Message::explain_not_a_parameter;
  case NoTensor::no_contiguous:
    return Message::explain_no_contiguous;
  case NoTensor::strange_stride:
    return Message::explain_unsupported_stride;
  case NoTensor::strange_offset:
    return Message::explain_unsupported_offset;
  case NoTensor::strange_mask:
    return Message::explain_unsupported_mask;
  }
  return Message::explain_not_affine;
}

Message message_of(const MissedSchedule &missed, const Gpu &gpu) {
  switch (missed.kind) {
  case RejectReason::checks:
    return Message::explain_checks;
  case RejectReason::gpu:
    return Message::explain_gpu;
  case RejectReason::no_matmul:
    return Message::explain_no_matmul;
  case RejectReason::several_matmuls:
    return Message::explain_several_matmuls;
  case RejectReason::not_loaded:
    return Message::explain_not_loaded;
  case RejectReason::loops:
    return Message::explain_loops;
  case RejectReason::own_order:
    return Message::explain_own_order;
  case RejectReason::type:
    return Message::explain_type;
  case RejectReason::tile:
    return Message::explain_tile;
  case RejectReason::access:
    return message_of(missed.access);
  case RejectReason::not_along_k:
    return gpu.has_wgmma ? Message::explain_not_along_k : Message::explain_along_k_mma;
  case RejectReason::stored_to:
    return Message::explain_stored_to;
  case RejectReason::computed:
    return Message::explain_computed;
  case RejectReason::shared_memory:
    return Message::explain_shared_memory;
  case RejectReason::stores:
    return Message::explain_stores;
  case RejectReason::unlike:
    return Message::explain_unlike;
  }
  return Message::explain_no_matmul;
}

Message message_of(const Schedule &schedule, const Gpu &gpu) {
  switch (schedule.kind) {
  case Schedule::Kind::baseline:
    return schedule.cluster > 1  ? Message::explain_cluster
           : schedule.staged     ? Message::explain_staged
           : schedule.iterations ? Message::explain_iterations
                                 : Message::explain_baseline;
  case Schedule::Kind::multistage:
    return schedule.coarsening.empty() ? Message::explain_one_block_per_sm
                                       : Message::explain_coarsened;
  case Schedule::Kind::multistage_wgmma:
    return schedule.coarsening.empty() ? Message::explain_wgmma : Message::explain_multistage_wgmma;
  case Schedule::Kind::batched:
    return schedule.joined_rows ? Message::explain_joined_rows : Message::explain_batched;
  case Schedule::Kind::program_per_warp:
    return Message::explain_program_per_warp;
  case Schedule::Kind::split_loop:
    return schedule.is_first() ? Message::explain_loop_partials : Message::explain_loop_reduction;
  case Schedule::Kind::split_k_reduction:
    return Message::explain_split_k_reduction;
  case Schedule::Kind::warp_specialized:
    break;
  }
  if (schedule.work == Schedule::Work::partials)
    return schedule.partials ? Message::explain_split_k_partials : Message::explain_loop_partials;
  if (schedule.split_k > 1)
    return Message::explain_split_k_in_cluster;
  if (schedule.stream_k)
    return Message::explain_stream_k;
  if (schedule.multicast > 1)
    return Message::explain_multicast;
  if (schedule.consumer_groups > 1)
    return Message::explain_ping_pong;
  if (!gpu.has_wgmma)
    return Message::explain_specialized_mma;
  if (schedule.coarsening.empty())
    return Message::explain_specialized_loads;
  return schedule.producer_warps ? Message::explain_copied_by_threads
                                 : Message::explain_specialized;
}

// "1 x 2 x 1"
std::string text_of(const std::vector<int64_t> &counts) {
  std::string text;
  for (int64_t count : counts)
    text += (text.empty() ? "" : " x ") + std::to_string(count);
  return text;
}

} // namespace

std::optional<Error> reason_of_fallback(const ir::Function &fn, const Gpu &gpu) {
  std::optional<MissedSchedule> missed = find_missed_schedule(fn, gpu);
  return missed ? std::optional(
                      Error{message_of(*missed, gpu), {missed->operand, std::string(gpu.name)}})
                : std::nullopt;
}

std::string explain(const ir::Function &fn, const Gpu &gpu, const std::string &heading) {
  std::string text = "`" + fn.name + "`" + heading + "\n";
  auto say = [&](Message id, std::initializer_list<std::string> arguments) {
    text += "  " + message(id, arguments) + "\n";
  };
  bool by_maps = false, by_threads = false, by_all = false; // by_all: cp.async instead of TMA
  for (const Candidate &candidate : candidates_for_code(fn, gpu)) {
    const Schedule &schedule = candidate.schedule;
    if (schedule.is_baseline())
      continue;
    if (schedule.is_warp_specialized())
      (schedule.producer_warps ? by_threads : by_maps) = true;
    by_all |= schedule.kind == Schedule::Kind::multistage_wgmma && schedule.coarsening.empty();
    say(message_of(schedule, gpu),
        {text_of(schedule), text_of(schedule.coarsening),
         std::to_string(std::max(schedule.split_k, schedule.multicast))});
  }
  if (!by_maps)
    if (std::optional<MissedSchedule> missed = find_missed_schedule(fn, gpu)) {
      say(message_of(*missed, gpu), {missed->operand, std::string(gpu.name)});
      if (missed->kind == RejectReason::access && gpu.has_wgmma && !by_threads)
        say(Message::explain_nor_by_threads, {});
    }
  // Which schedule runs if a launch cannot make a tensor map: cp.async, producer warps or baseline.
  Message undeclared = !gpu.has_wgmma || by_all ? Message::explain_undeclared_async
                       : by_threads             ? Message::explain_undeclared_threads
                                                : Message::explain_undeclared;
  Message no_map = by_all           ? Message::explain_no_map_loads
                   : !gpu.has_wgmma ? Message::explain_no_map_async
                   : by_threads     ? Message::explain_no_map
                                    : Message::explain_baseline;
  if (by_maps)
    for (const auto &[parameter, multiple] : undeclared_multiples(fn))
      say(undeclared, {parameter, std::to_string(multiple)});
  if (by_maps)
    say(no_map, {});
  return text;
}

} // namespace tritonc
