// Why a kernel is compiled in the structures that it is. See explain.h.
//
// Tested by tests/compile/explain_test.cpp.

#include "explain.h"

#include "passes/obstacles.h"
#include "passes/structure.h"
#include "source/diagnostics.h"

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
    return Message::explain_strange_stride;
  case NoTensor::strange_offset:
    return Message::explain_strange_offset;
  case NoTensor::strange_mask:
    return Message::explain_strange_mask;
  }
  return Message::explain_not_affine;
}

Message message_of(const Obstacle &obstacle, const Gpu &gpu) {
  switch (obstacle.kind) {
  case ObstacleKind::checks:
    return Message::explain_checks;
  case ObstacleKind::gpu:
    return Message::explain_gpu;
  case ObstacleKind::no_product:
    return Message::explain_no_product;
  case ObstacleKind::several_products:
    return Message::explain_several_products;
  case ObstacleKind::not_loaded:
    return Message::explain_not_loaded;
  case ObstacleKind::loops:
    return Message::explain_loops;
  case ObstacleKind::own_order:
    return Message::explain_own_order;
  case ObstacleKind::type:
    return Message::explain_type;
  case ObstacleKind::tile:
    return Message::explain_tile;
  case ObstacleKind::access:
    return message_of(obstacle.access);
  case ObstacleKind::not_along_k:
    return gpu.has_wgmma ? Message::explain_not_along_k : Message::explain_along_k_mma;
  case ObstacleKind::stored_to:
    return Message::explain_stored_to;
  case ObstacleKind::computed:
    return Message::explain_computed;
  case ObstacleKind::shared_memory:
    return Message::explain_shared_memory;
  }
  return Message::explain_no_product;
}

Message message_of(const Structure &structure, const Gpu &gpu) {
  if (structure.share == Structure::Share::parts)
    return Message::explain_parts;
  if (structure.share == Structure::Share::sum_of_parts)
    return Message::explain_sum_of_parts;
  if (structure.splits > 1)
    return Message::explain_divided;
  if (structure.teams > 1)
    return Message::explain_in_turn;
  if (structure.specialized && !gpu.has_wgmma)
    return Message::explain_specialized_mma;
  if (structure.specialized)
    return structure.copying_warps ? Message::explain_copied_by_threads
                                   : Message::explain_specialized;
  if (structure.together)
    return Message::explain_together;
  return structure.bundle.empty() ? Message::explain_alone : Message::explain_bundled;
}

// "1 x 2 x 1"
std::string text_of(const std::vector<int64_t> &counts) {
  std::string text;
  for (int64_t count : counts)
    text += (text.empty() ? "" : " x ") + std::to_string(count);
  return text;
}

} // namespace

std::string explain(const ir::Function &fn, const Gpu &gpu, const std::string &heading) {
  std::string text = "`" + fn.name + "`" + heading + "\n";
  auto say = [&](Message id, std::initializer_list<std::string> arguments) {
    text += "  " + message(id, arguments) + "\n";
  };
  bool by_maps = false, by_threads = false;
  for (const Structure &structure : structures_for_code(fn, gpu)) {
    if (structure.name.empty())
      continue;
    if (structure.specialized)
      (structure.copying_warps ? by_threads : by_maps) = true;
    say(message_of(structure, gpu),
        {structure.name, text_of(structure.bundle), std::to_string(structure.splits)});
  }
  if (!by_maps)
    if (std::optional<Obstacle> obstacle = find_obstacle(fn, gpu)) {
      say(message_of(*obstacle, gpu), {obstacle->factor, std::string(gpu.name)});
      if (obstacle->kind == ObstacleKind::access && gpu.has_wgmma && !by_threads)
        say(Message::explain_nor_by_threads, {});
    }
  // Who copies where no tensor map can be made.
  Message unpromised = !gpu.has_wgmma ? Message::explain_unpromised_async
                       : by_threads   ? Message::explain_unpromised_threads
                                      : Message::explain_unpromised;
  Message no_map = !gpu.has_wgmma ? Message::explain_no_map_async
                   : by_threads   ? Message::explain_no_map
                                  : Message::explain_plain;
  if (by_maps)
    for (const auto &[parameter, multiple] : unpromised_multiples(fn))
      say(unpromised, {parameter, std::to_string(multiple)});
  if (by_maps)
    say(no_map, {});
  return text;
}

} // namespace tritonc
