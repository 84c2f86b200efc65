// Fuzz target `tile_ir`: tile IR through all passes. See targets.h.
//
// A pass must be correct for every valid function that satisfies its *Needs*. The whole pipeline
// needs a function like the result of `translate/`: without layouts, and without operations that
// only passes create.

#include "analysis/launch_config.h"
#include "fuzz/source_input.h"
#include "fuzz/targets.h"
#include "fuzz/text_mutator.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "support/schedules.h"

#include <cstdlib>
#include <set>

namespace tritonc::fuzz {
namespace {

using ir::Opcode;

bool is_made_by_passes(const ir::Op &op) {
  switch (ir::info(op.code).effect) {
  case ir::Effect::shared_alloc:
  case ir::Effect::shared_read:
  case ir::Effect::shared_write:
  case ir::Effect::host:
    return true;
  case ir::Effect::sync:
    return !op.is(Opcode::barrier_);
  default:
    break;
  }
  switch (op.code) {
  case Opcode::block_id_:
  case Opcode::num_blocks_:
  case Opcode::undef_:
  case Opcode::in_bounds_:
  case Opcode::no_hoist_:
  case Opcode::num_sms_:
  case Opcode::host_value_:
  case Opcode::tensor_map_:
  case Opcode::workspace_:
  case Opcode::extract_:
  case Opcode::copy_:
  case Opcode::view_:
  case Opcode::tma_load_:
  case Opcode::tma_store_:
  case Opcode::stage_index_:
  case Opcode::stage_phase_:
  case Opcode::convert_layout_:
  case Opcode::warp_specialize_:
  case Opcode::consumer_group_id_:
    return true;
  default:
    return false;
  }
}

bool is_set_by_passes(std::string_view attribute) {
  static const std::set<std::string_view> others = {
      "axis", "number", "op", "perm", "pred", "precision", "start", "text", "value", "unsigned"};
  return !others.count(attribute);
}

// Whether `translate/` could return this function.
bool is_as_translated(const ir::Function &fn) {
  bool is = fn.warps == 0 && fn.shared_bytes == 0 && fn.blocks_per_sm == 0;
  auto look_at = [&](const ir::Value *value) {
    const ir::Type &type = value->type;
    is &= !type.layout && !type.is_view() && !type.is_shared() && !type.is_map();
  };
  for (const ir::Parameter &parameter : fn.parameters) {
    look_at(parameter.value);
    is &= parameter.value->type.is_scalar() ||
          (parameter.value->type.is_pointer() && parameter.value->type.shape.empty());
  }
  ir::for_each_op(*fn.body, [&](const ir::Op &op) {
    is &= !is_made_by_passes(op);
    for (const auto &[name, attribute] : op.attributes)
      is &= !is_set_by_passes(ir::name_of(name));
    for (const ir::Value *result : op.results)
      look_at(result);
    for (const ir::Block *block : op.blocks)
      for (const ir::Value *argument : block->arguments)
        look_at(argument);
  });
  return is;
}

void parse_back(const ir::Function &fn) {
  std::string text = ir::print(fn);
  ir::ParseResult again = ir::parse(text);
  if (!again.function)
    fail("the parser refuses what the printer prints: " + again.error, text);
  if (std::string other = ir::print(*again.function); other != text)
    fail("the parser reads something else than the printer printed", text + other);
}

const std::vector<std::string> &tile_ir_words() {
  static const std::vector<std::string> words = {
#define OP(name, ...) #name,
#include "ir/ops.def"
      "i1",
      "i8",
      "i16",
      "i32",
      "i64",
      "e4m3",
      "e5m2",
      "f16",
      "bf16",
      "f32",
      "f64",
      "ptr",
      "unsigned",
      "read_only",
      "no_alias",
      "write_only",
      "multiple_of 16",
      "aligned 4",
      "tf32"};
  return words;
}

} // namespace

void tile_ir(std::string_view bytes) {
  ir::ParseResult parsed = ir::parse(bytes);
  if (!parsed.function) {
    if (parsed.error.empty())
      fail("refused without a message");
    return;
  }
  ir::Function &fn = *parsed.function;
  if (!ir::verify(fn).empty())
    return;
  parse_back(fn);
  if (!is_as_translated(fn))
    return;

  SourceInput options(bytes.substr(0, bytes.find('\n')));
  const Gpu *gpu = options.known_gpu();
  const Schedule schedule = options.chosen(test::schedules_for(fn, *gpu));
  // Verification after each pass doubles the time. So 3 of 4 inputs are verified only at the end.
  bool verifies_each =
      std::getenv("TRITONC_FUZZ_SHOW") || std::hash<std::string_view>()(bytes) % 4 == 0;
  run_pipeline(
      fn, *gpu,
      [&](std::string_view pass, ir::Function &now) {
        if (!verifies_each && pass != pass_names().back())
          return;
        if (std::string broken = ir::verify(now); !broken.empty())
          fail("after `" + std::string(pass) + "` for sm_" + std::string(gpu->name) + " " +
                   text_of(schedule) + ": " + broken,
               ir::print(now));
      },
      schedule);
  parse_back(fn);
  launch_config(fn);
  static Count count("functions that went through all passes");
  count += 1;
}

std::string mutate_tile_ir(std::string_view bytes, uint64_t seed) {
  TextMutator mutator(bytes, seed, tile_ir_words());
  std::string made;
  for (int tries = 0; tries < 16; tries++) {
    made = mutator.mutated();
    ir::ParseResult parsed = ir::parse(made);
    if (parsed.function && ir::verify(*parsed.function).empty())
      break;
  }
  return made;
}

} // namespace tritonc::fuzz
