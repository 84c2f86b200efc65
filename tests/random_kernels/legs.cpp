// Runs the legs of a case. See legs.h.
//
// Tested by tests/random_kernels/legs_test.cpp.

#include "random_kernels/legs.h"

#include "random_kernels/emulate.h"

#include "interpreter/interpreter.h"
#include "interpreter/numbers.h"
#include "ir/printer.h"
#include "ir/schedule.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "support/kernel_file.h"
#include "support/schedules.h"
#include "translate/translate.h"

#include <algorithm>
#include <set>

namespace tritonc::random {
namespace {

using Role = Parameter::Role;
using interpreter::Element;

ir::Elem elem_of(Scalar scalar) {
  switch (scalar) {
  case Scalar::bool_:
    return ir::Elem::i1;
  case Scalar::int8:
  case Scalar::uint8:
    return ir::Elem::i8;
  case Scalar::int16:
  case Scalar::uint16:
    return ir::Elem::i16;
  case Scalar::int32:
  case Scalar::uint32:
    return ir::Elem::i32;
  case Scalar::int64:
  case Scalar::uint64:
    return ir::Elem::i64;
  case Scalar::e4m3:
    return ir::Elem::e4m3;
  case Scalar::e5m2:
    return ir::Elem::e5m2;
  case Scalar::half:
    return ir::Elem::f16;
  case Scalar::bfloat16:
    return ir::Elem::bf16;
  case Scalar::float_:
    return ir::Elem::f32;
  default:
    return ir::Elem::f64;
  }
}

Element element_of(Scalar scalar, const DataValue &value) {
  return is_float(scalar)
             ? Element::of_number(value.real)
             : Element::of_integer(interpreter::wrapped(elem_of(scalar), value.integer));
}

// A case in the interpreter's memory.
struct Setting {
  interpreter::Memory memory;
  interpreter::Launch launch;
  std::vector<int> buffers; // per argument; -1 = scalar
};

Setting setting_of(const Case &tried) {
  Setting setting;
  setting.launch.grid = tried.grid;
  setting.launch.max_steps = 3'000'000;
  setting.launch.num_sms = tried.num_sms();
  setting.launch.turns = interpreter::Turns(tried.data_seed / 3 % 3);
  for (size_t i = 0; i < tried.arguments.size(); i++) {
    const Argument &argument = tried.arguments[i];
    if (argument.role == Role::number) {
      setting.buffers.push_back(-1);
      setting.launch.arguments.push_back(
          element_of(argument.scalar, {argument.integer, argument.real}));
      continue;
    }
    int buffer = setting.memory.add_unwritten(argument.name, elem_of(argument.scalar),
                                              size_t(argument.count));
    uint64_t stream = stream_of(tried.data_seed, argument.name);
    if (argument.role != Role::output)
      for (int64_t k = 0; k < argument.count; k++)
        setting.memory[buffer].elements[size_t(k)] =
            element_of(argument.scalar, value_of(argument.data, stream, k));
    setting.buffers.push_back(buffer);
    setting.launch.arguments.push_back(Element::pointer(buffer));
  }
  return setting;
}

// The interpreter's memory as the bytes in a GPU's memory.
std::vector<std::vector<uint8_t>> bytes_in(const interpreter::Memory &memory, const Case &tried,
                                           const Setting &setting) {
  std::vector<std::vector<uint8_t>> result(tried.arguments.size());
  for (size_t i = 0; i < tried.arguments.size(); i++) {
    const Argument &argument = tried.arguments[i];
    if (!argument.is_written())
      continue;
    std::vector<uint8_t> nothing = unwritten_bytes(argument.scalar, 1);
    for (const Element &element : memory[setting.buffers[i]].elements)
      if (element.poison)
        result[i].insert(result[i].end(), nothing.begin(), nothing.end());
      else
        append_bytes(argument.scalar, {element.integer, element.number}, result[i]);
  }
  return result;
}

// Sets `maps_fit` to false if one of `fns`, which share the work, cannot be launched.
std::optional<Failure> interpret(const std::vector<const ir::Function *> &fns, const Case &tried,
                                 const Setting &setting, const std::string &stage, bool &maps_fit) {
  interpreter::Memory memory = setting.memory;
  for (const ir::Function *fn : fns) {
    interpreter::Result result = interpreter::run(*fn, setting.launch, memory);
    for (const interpreter::Report &report : result.reports)
      if (report.kind == interpreter::Report::Kind::not_launched) {
        maps_fit = false;
        return std::nullopt;
      }
    if (!result.reports.empty())
      return Failure{Failure::Kind::report, stage, interpreter::text_of(result.reports[0])};
  }
  std::string text = difference(tried, bytes_in(memory, tried, setting));
  if (text.empty())
    return std::nullopt;
  return Failure{Failure::Kind::difference, stage, text};
}

// Takes one case through the compiler. A function whose printed IR was tested before is not tested
// again. This skips passes without changes and GPUs with the same code.
struct Trial {
  const Case &tried;
  const Legs &legs;
  Effort &effort;
  Setting setting = setting_of(tried);
  std::set<std::string> interpreted = {}, emulated = {}; // functions, as text

  std::optional<Failure> run() {
    FrontEndResult source = translated();
    if (source.errors > 0)
      return Failure{Failure::Kind::refused, "in the front end", source.diagnostics_text};
    const ir::Function &fn = source.kernels[0];
    if (std::string broken = ir::verify(fn); !broken.empty())
      return Failure{Failure::Kind::broken_rule, "as translated", broken};
    bool maps_fit = true;
    effort.interpreted++;
    if (auto failure = interpret({&fn}, tried, setting, "as translated", maps_fit))
      return failure;
    interpreted.insert(ir::print(fn));
    for (const std::string &gpu : legs.gpus)
      for (const Schedule &schedule : test::complete_schedules_for(fn, *find_gpu(gpu)))
        if (auto failure = compiled(fn, gpu, schedule))
          return failure;
    for (const std::string &gpu : legs.gpus)
      if (auto launches = test::partials_launches_for(fn, *find_gpu(gpu)))
        if (auto failure = compiled(fn, gpu, *launches))
          return failure;
    return std::nullopt;
  }

  FrontEndResult translated() const {
    TemporaryFolder folder;
    FrontEndInput input;
    input.path = folder.write("kernel.tc", tried.source);
    return translate_source(input);
  }

  // Reports only the first wrong pass; later passes would repeat the error.
  std::optional<Failure> compiled(const ir::Function &source, const std::string &gpu,
                                  const Schedule &schedule) {
    ir::Function fn = ir::clone(source);
    std::optional<Failure> failure;
    bool maps_fit = true;
    std::string where =
        " for sm_" + gpu + (schedule.is_warp_specialized() ? " " : "") + text_of(schedule);
    auto observe = [&](std::string_view pass, ir::Function &now) {
      if (!failure)
        failure = after_pass("after `" + std::string(pass) + "`" + where, now, maps_fit);
    };
    run_pipeline(fn, *find_gpu(gpu), observe, schedule);
    if (failure)
      return failure;
    if (fn.shared_bytes > find_gpu(gpu)->max_shared_bytes) {
      effort.too_large++; // a correct error message about the kernel's size
      return std::nullopt;
    }
    effort.specialized += schedule.is_warp_specialized() && maps_fit;
    effort.split_k += schedule.split_k > 1 && maps_fit;
    effort.batched += schedule.kind == Schedule::Kind::batched ||
                      schedule.kind == Schedule::Kind::program_per_warp;
    if (!legs.emulate || !emulated.insert(ir::print(fn)).second)
      return std::nullopt;
    return emulate({&fn}, tried, *find_gpu(gpu), where, legs.all_interleavings, effort);
  }

  // Two launches that share the work. The passes treat them like other functions, so only the final
  // IR is tested.
  std::optional<Failure> compiled(const ir::Function &source, const std::string &gpu,
                                  const test::PartialsLaunches &launches) {
    ir::Function first = ir::clone(source), second = ir::clone(source);
    std::string where = " for sm_" + gpu + " " + text_of(launches.first);
    run_pipeline(first, *find_gpu(gpu), {}, launches.first);
    run_pipeline(second, *find_gpu(gpu), {}, launches.second);
    for (const ir::Function *fn : {&first, &second})
      if (std::string broken = ir::verify(*fn); !broken.empty())
        return Failure{Failure::Kind::broken_rule, "after all passes" + where, broken};
    if (first.shared_bytes > find_gpu(gpu)->max_shared_bytes)
      return std::nullopt;
    bool maps_fit = true;
    effort.interpreted++;
    if (auto failure =
            interpret({&first, &second}, tried, setting, "after all passes" + where, maps_fit))
      return failure;
    effort.in_parts += maps_fit;
    if (!legs.emulate || !maps_fit)
      return std::nullopt;
    return emulate({&first, &second}, tried, *find_gpu(gpu), where, legs.all_interleavings, effort);
  }

  std::optional<Failure> after_pass(const std::string &stage, const ir::Function &fn,
                                    bool &maps_fit) {
    if (std::string broken = ir::verify(fn); !broken.empty())
      return Failure{Failure::Kind::broken_rule, stage, broken};
    if (!legs.interpret || !interpreted.insert(ir::print(fn)).second)
      return std::nullopt;
    effort.interpreted++;
    return interpret({&fn}, tried, setting, stage, maps_fit);
  }
};

} // namespace

const char *name_of(Failure::Kind kind) {
  static constexpr const char *names[] = {"refused",    "broken rule", "report",
                                          "difference", "crash",       "timeout"};
  return names[int(kind)];
}

std::string text_of(const Failure &failure) {
  return std::string(name_of(failure.kind)) + " " + failure.stage + ": " + failure.text;
}

namespace {

// The stage without the GPU.
std::string without_gpu(const std::string &stage) {
  return stage.substr(0, stage.find(" for sm_"));
}

// The first words, without numbers, which differ between kernels.
std::string gist(const std::string &text) {
  std::string gist;
  for (char c : text.substr(text.rfind("error: ") == text.npos ? 0 : text.rfind("error: "), 40))
    if (std::isalpha((unsigned char)c) || c == ' ')
      gist += c;
  return gist;
}

} // namespace

bool is_alike(const Failure &a, const Failure &b) {
  if (a.kind != b.kind || without_gpu(a.stage) != without_gpu(b.stage))
    return false;
  bool says_what = a.kind == Failure::Kind::refused || a.kind == Failure::Kind::crash;
  return !says_what || gist(a.text) == gist(b.text);
}

void Effort::add(const Effort &other) {
  interpreted += other.interpreted;
  emulated += other.emulated;
  too_large += other.too_large;
  specialized += other.specialized;
  split_k += other.split_k;
  in_parts += other.in_parts;
  batched += other.batched;
}

std::optional<Failure> run_legs(const Case &tried, const Legs &legs, Effort &effort) {
  Trial trial{tried, legs, effort};
  return trial.run();
}

std::optional<Case> recorded(Case tried, std::string &problem) {
  test::KernelFile file(tried.source);
  FrontEndResult source = translate_source(file.input);
  problem = source.diagnostics_text;
  if (source.errors > 0)
    return std::nullopt;
  Setting setting = setting_of(tried);
  interpreter::Memory memory = setting.memory;
  interpreter::Result result = interpreter::run(source.kernels[0], setting.launch, memory);
  if (!result.reports.empty()) {
    problem = interpreter::text_of(result.reports[0]);
    return std::nullopt;
  }
  std::vector<std::vector<uint8_t>> buffers = bytes_in(memory, tried, setting);
  for (size_t i = 0; i < buffers.size(); i++)
    if (Argument &argument = tried.arguments[i]; argument.is_written()) {
      argument.has_hash = true;
      argument.hash = hash_of(argument.scalar, buffers[i]);
    }
  return tried;
}

Legs legs_for(const Failure &failure, const Legs &legs) {
  Legs fewer = legs;
  size_t at = failure.stage.find(" for sm_");
  if (at == failure.stage.npos)
    return fewer;
  std::string gpu = failure.stage.substr(at + 8);
  fewer.gpus = {gpu.substr(0, gpu.find_first_of(", "))};
  fewer.emulate = legs.emulate && failure.stage.rfind("emulated", 0) == 0;
  return fewer;
}

} // namespace tritonc::random
