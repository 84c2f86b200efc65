// Every kernel as its GPU's code is, thread by thread: the shipped ones and those of the forms,
// compiled to host code and run on the emulator.
//
// What comes out must be what the kernel's definition says, and bit for bit what the tile
// interpreter makes of the source; and the emulator, which looks for races, reads of what nobody
// wrote and accesses out of bounds, must find nothing, whoever runs first and whenever copies land.
// Code that two GPUs have in common is run once.
//
//     test_emulated_kernels              # a variant or so for each choice of types and layouts
//     test_emulated_kernels --no-skip    # all variants with tiles up to 64: many minutes

#include "emulated/tile_memory.h"
#include "interpreter/subjects.h"
#include "support/host_code.h"
#include "support/structures.h"

#include "ir/printer.h"
#include "passes/pipeline.h"
#include "translate/translate.h"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <optional>
#include <set>

using namespace tritonc;
using namespace tritonc::test;
using emulator::Async;
using emulator::Order;

namespace {

constexpr const char *gpus[] = {"75", "80", "90a"};

struct Mode {
  const char *name;
  Order order;
  Async async;
  uint64_t seed = 0;
};

// Every order and every way of copies, though not each with each.
const std::vector<Mode> modes = {
    {"forward, copies early", Order::forward, Async::early},
    {"reversed, copies late", Order::reversed, Async::late},
    {"random, copies at random times", Order::random, Async::random, 1},
    {"reversed, copies early", Order::reversed, Async::early},
    {"random, copies late", Order::random, Async::late, 2},
};

// What the interpreter makes of a run.
struct Expected {
  interpreter::Memory memory;
  std::vector<std::string> printed;
};

// A function as the GPU runs it.
struct Code {
  ir::Function fn;
  LinkedHostCode host;

  Code(ir::Function function, const Gpu &gpu)
      : fn(std::move(function)), host(host_code_of(fn, gpu)) {}
};

// What is wrong with a run, in which these are launched one after another; "" if nothing is.
// Nothing if it cannot be launched in this form.
std::optional<std::string> emulate(const std::deque<Code> &codes, const Run &run, const Mode &mode,
                                   const Expected &expected, bool looks_for_races) {
  TileMemory memory(run.memory);
  if (run.launch.grid[0] == 0) // nothing is launched, see abi::launch
    return run.check(memory.read());
  std::vector<std::string> printed;
  emulator::Options options;
  options.order = mode.order;
  options.async = mode.async;
  options.seed = mode.seed;
  options.workers = 1;
  options.races = looks_for_races;
  options.print = [&](std::string_view line) { printed.emplace_back(line); };
  std::string wrong;
  for (const Code &code : codes) {
    std::optional<emulator::Launch> launch = memory.launch(*code.host, code.fn, run.launch);
    if (!launch)
      return std::nullopt;
    emulator::Result result = emulator::launch(*code.host, *launch, options, memory.memory());
    for (const emulator::Finding &finding : result.findings)
      wrong += finding.text + "\n";
  }
  interpreter::Memory after = memory.read();
  wrong += run.check(after) + interpreter::difference(expected.memory, after);
  for (size_t i = 0; i < std::max(printed.size(), expected.printed.size()); i++) {
    std::string here = i < printed.size() ? printed[i] : "nothing";
    std::string there = i < expected.printed.size() ? expected.printed[i] : "nothing";
    if (here != there)
      return wrong + "prints " + here + "\ninstead of " + there + "\n";
  }
  return wrong;
}

// One variant of one kernel.
struct Trial {
  const Subject &subject;
  const Variant &variant;
  std::vector<Run> runs = {};
  std::vector<Expected> expected = {};
  std::set<std::string> done = {}; // functions emulated, as text
  size_t next_mode = 0;
  int emulated = 0;

  ir::Function translated() const {
    FrontEndResult result = translate_source(input_of(subject, variant));
    INFO(subject.file, " [", variant.text, "]\n", result.diagnostics);
    REQUIRE(result.errors == 0);
    REQUIRE(result.checked.size() == 1);
    return std::move(result.checked[0]);
  }

  void interpret(const ir::Function &fn) {
    for (const Run &run : runs) {
      Expected &made = expected.emplace_back(Expected{run.memory, {}});
      made.printed = interpreter::run(fn, run.launch, made.memory).printed;
    }
  }

  void emulate_for(const char *name) {
    for (const Structure &structure : test::complete_structures_for(translated(), *find_gpu(name)))
      emulate_for(name, structure);
  }

  // Structures are many, and their tiles large: one mode for each but the plain one.
  std::vector<Mode> modes_for(const Structure &structure) {
    bool is_plain = structure.name.empty();
    return is_plain ? modes : std::vector{modes[next_mode++ % modes.size()]};
  }

  // In one structure, or two that share the work.
  void emulate_for(const char *name, const Structure &structure,
                   const Structure *second = nullptr) {
    const Gpu &gpu = *find_gpu(name);
    std::deque<Code> codes;
    for (const Structure *one : {&structure, second}) {
      if (!one)
        continue;
      ir::Function fn = translated();
      run_pipeline(fn, gpu, {}, *one);
      if (!done.insert(ir::print(fn)).second && !second)
        return;
      if (one->specialized && fn.shared_bytes > gpu.max_shared_bytes)
        return; // the compiler leaves it out
      codes.emplace_back(std::move(fn), gpu);
    }
    for (Run &run : runs) // few pieces, of which each team is to have one
      run.launch.multiprocessors = structure.teams > 1 ? 1 : 2;
    for (const Mode &mode : modes_for(structure))
      for (size_t i = 0; i < runs.size(); i++) {
        std::optional<std::string> wrong =
            emulate(codes, runs[i], mode, expected[i], !subject.locks);
        if (!wrong)
          continue;
        emulated++;
        CHECK_MESSAGE(wrong->empty(), subject.file, " [", variant.text, "] for sm_",
                      std::string(name), " ", structure.name, ", ", runs[i].text, ", ",
                      std::string(mode.name), ":\n", *wrong);
        if (!wrong->empty())
          return; // the others would only repeat it
      }
  }

  void run() {
    std::mt19937 random(1);
    runs = subject.runs(variant, random);
    interpret(translated());
    for (const char *gpu : gpus)
      emulate_for(gpu);
  }
};

void try_all(bool all_variants) {
  for (const Subject &subject : subjects()) {
    std::vector<Variant> variants = variants_of(subject, all_variants);
    CAPTURE(subject.file);
    REQUIRE_FALSE(variants.empty());
    for (const Variant &variant : variants) {
      Trial trial{subject, variant};
      trial.run();
      CHECK(trial.emulated > 0);
    }
  }
}

} // namespace

TEST_CASE("every kernel, thread by thread, is what the interpreter says") { try_all(false); }

TEST_CASE("every variant, thread by thread, is what the interpreter says" * doctest::skip()) {
  try_all(true);
}

TEST_CASE("products in other structures than the plain one, thread by thread, are what the "
          "interpreter says") {
  size_t next_mode = 0; // goes on where the last kernel ended
  std::set<std::string> files, divided, in_parts, together, alone;
  std::set<std::string> expected = files_to_specialize(), expected_divided = files_to_divide();
  for (const Subject &subject : subjects())
    for (const Variant &variant : variants_to_specialize(subject)) {
      Trial trial{subject, variant};
      trial.next_mode = next_mode;
      std::mt19937 random(1);
      trial.runs.push_back(subject.runs_of(variant, random, few_steps).back());
      trial.interpret(trial.translated());
      for (const Structure &structure :
           test::complete_structures_for(trial.translated(), *find_gpu("90a"))) {
        if (structure.name.empty())
          continue; // the plain one
        int before = trial.emulated;
        trial.emulate_for("90a", structure);
        if (trial.emulated == before)
          continue;
        (structure.splits > 1 ? divided
         : structure.together ? together
         : structure.alone    ? alone
                              : files)
            .insert(subject.file);
      }
      if (auto launches = divided_launches_for(trial.translated(), *find_gpu("90a"))) {
        int before = trial.emulated;
        trial.emulate_for("90a", launches->first, &launches->second);
        if (trial.emulated > before)
          in_parts.insert(subject.file);
      }
      next_mode = trial.next_mode;
    }
  // With its checks, it uses what it loads in other ways too.
  for (std::set<std::string> *all : {&expected, &expected_divided})
    all->erase("tests/interpreter/forms/checked_product.tc");
  CHECK(files == expected);
  CHECK(divided == expected_divided);
  CHECK(in_parts == expected_divided);
  // Of tiles that are small enough, which not every kernel has its turn with.
  CHECK(together.size() >= 4);
  CHECK(alone.size() >= 2);
}

TEST_CASE("products by mma beside a warp that copies, thread by thread, are what the interpreter "
          "says") {
  size_t next_mode = 0;
  std::map<std::string, std::set<std::string>> files;
  for (const Subject &subject : subjects())
    for (const Variant &variant : variants_to_specialize(subject))
      // With a deep ring, and with one of three slots beside a place for one piece of results.
      for (const char *gpu : {"90", "120"}) {
        Trial trial{subject, variant};
        Structure structure = structures_for(trial.translated(), *find_gpu(gpu))[0];
        if (!structure.specialized)
          continue;
        trial.next_mode = next_mode++;
        std::mt19937 random(1);
        trial.runs.push_back(subject.runs_of(variant, random, few_steps).back());
        trial.interpret(trial.translated());
        trial.emulate_for(gpu, structure);
        if (trial.emulated > 0)
          files[gpu].insert(subject.file);
      }
  std::set<std::string> expected = files_to_divide();
  // With its checks, it uses what it loads in other ways too.
  expected.erase("tests/interpreter/forms/checked_product.tc");
  // What it loads behind the product finds no place beside the ring.
  expected.erase("tests/device/forms/fused_result.tc");
  CHECK(files["90"] == expected);
  CHECK(files["120"] == expected);
}

TEST_CASE("a kernel without one of its barriers is not") {
  const Subject &subject = subjects()[0];
  Variant variant = variants_of(subject, false)[0];
  FrontEndResult source = translate_source(input_of(subject, variant));
  REQUIRE(source.errors == 0);
  const Gpu &gpu = *find_gpu("80");
  run_pipeline(source.checked[0], gpu, [](std::string_view, ir::Function &) {});
  std::mt19937 random(1);
  Run run = subject.runs(variant, random).back();
  size_t barriers = 0;
  ir::for_each_op(*source.checked[0].body,
                  [&](const ir::Op &op) { barriers += op.is(ir::Opcode::barrier_); });
  REQUIRE(barriers > 0);
  for (size_t left_out = 0; left_out < barriers; left_out++) {
    ir::Function fn = ir::clone(source.checked[0]);
    std::vector<ir::Op *> found;
    ir::for_each_op(*fn.body, [&](ir::Op &op) {
      if (op.is(ir::Opcode::barrier_))
        found.push_back(&op);
    });
    ir::erase(found[left_out]);
    LinkedHostCode code = host_code_of(fn, gpu);
    TileMemory memory(run.memory);
    emulator::Result result = emulator::launch(*code, *memory.launch(*code, fn, run.launch),
                                               emulator::Options(), memory.memory());
    REQUIRE_FALSE(result.findings.empty());
    CHECK(result.findings[0].kind == emulator::Finding::Kind::race);
    CHECK(std::string(result.findings[0].site.file).find("matmul.tc") != std::string::npos);
    CHECK(result.findings[0].site.line > 0);
  }
}
