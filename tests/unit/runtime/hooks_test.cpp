// Tests runtime/src/load/hooks.cpp: which events each hook gets.

#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

using namespace tritonc;

namespace {

/// The events, one line each.
struct Log {
  std::vector<std::string> lines;
  void add(const std::string &line) { lines.push_back(line); }
};

void on_error(const status &what, void *data) {
  static_cast<Log *>(data)->add(std::string("error ") + what.name() + " " + what.argument());
}

void on_load(const load_event &what, void *data) {
  CHECK(what.nanoseconds >= 0);
  static_cast<Log *>(data)->add(std::string("load ") + what.kernel + " " + what.gpu + " " +
                                what.schedule + std::to_string(what.bytes));
}

void on_choice(const choice_event &what, void *data) {
  std::string line = std::string("choice ") + what.kernel + " <";
  for (std::int32_t value : what.variant)
    line += std::to_string(value);
  static_cast<Log *>(data)->add(line + "> " + what.gpu + " " + what.schedule +
                                std::to_string(what.programs.x));
}

void on_jit(const load_event &what, void *data) {
  static_cast<Log *>(data)->add(std::string("jit ") + what.kernel + " " + what.gpu);
}

struct Setting {
  explicit Setting(const std::string &settings = "") : machine(Machine::as_driver, settings) {
    machine.driver().new_context();
  }

  status launch() { return machine.runtime().launch(sample.kernel, {}, &args, nullptr, nullptr); }
  void tell(const hooks *who) { machine.runtime().set_hooks(who); }
  /// Returns the events since the last call.
  std::vector<std::string> events() {
    std::vector<std::string> lines;
    lines.swap(log.lines);
    return lines;
  }

  Machine machine;
  SampleKernel sample;
  SampleArgs args = good_args();
  Log log;
  const hooks all = {on_error, on_load, on_choice, on_jit, &log};
};

using Lines = std::vector<std::string>;

std::string load_of(const SampleKernel &sample) {
  return "load sample::copy sm_90a " +
         std::to_string(sample.bytes[1].size() - sizeof(abi::image_header));
}

} // namespace

TEST_CASE("hooks: first launch reports choice and load, repeat nothing") {
  Setting s;
  s.tell(&s.all);
  REQUIRE(s.launch().ok());
  CHECK(s.events() == Lines{"choice sample::copy <64> sm_90a 16", load_of(s.sample)});
  REQUIRE(s.launch().ok());
  CHECK(s.events() == Lines{});
  s.args.n = 64;
  REQUIRE(s.launch().ok());
  CHECK(s.events() ==
        Lines{"choice sample::copy <16> sm_90a 4",
              "load sample::copy sm_90a " +
                  std::to_string(s.sample.bytes[3].size() - sizeof(abi::image_header))});
}

TEST_CASE("hooks: on_jit runs once for PTX, never for machine code") {
  Setting s("gpu=100");
  s.sample.make_ptx();
  s.tell(&s.all);
  REQUIRE(s.launch().ok());
  Lines events = s.events();
  REQUIRE(events.size() == 3);
  CHECK(events[0] == "choice sample::copy <64> compute_80 16");
  CHECK(events[1].rfind("load sample::copy compute_80 ", 0) == 0);
  CHECK(events[2] == "jit sample::copy compute_80");
  s.args.n = 2 * 64 * 16;
  REQUIRE(s.launch().ok());
  CHECK(s.events() == Lines{"choice sample::copy <64> compute_80 32"});

  Setting older("gpu=86");
  older.sample.make_ptx();
  older.tell(&older.all);
  REQUIRE(older.launch().ok());
  events = older.events();
  REQUIRE(events.size() == 2);
  CHECK(events[0] == "choice sample::copy <64> sm_80 16");
}

TEST_CASE("hooks: on_error gets each returned error") {
  Setting s;
  s.tell(&s.all);
  s.args.n = 17;
  CHECK_FALSE(s.launch().ok());
  CHECK(s.events() == Lines{"error requirement_failed n % 16 == 0"});
  abi::prepared_launch ready;
  CHECK_FALSE(s.machine.runtime().launch_prepared(ready, {}, &s.args).ok());
  CHECK_FALSE(
      s.machine.runtime().prepare(s.sample.kernel, {}, &s.args, nullptr, nullptr, ready).ok());
  std::int32_t unknown = 5;
  CHECK_FALSE(s.machine.runtime().preload(s.sample.kernel, &unknown, abi::current).ok());
  CHECK(s.events() ==
        Lines{"error not_prepared ", "error requirement_failed n % 16 == 0", "error no_variant "});
  s.args.n = 64 * 16;
  REQUIRE(s.launch().ok());
  s.events();
  s.machine.driver().configure("fail=cuLaunchKernelEx:1:2");
  CHECK_FALSE(s.launch().ok()); // a repeated launch
  CHECK(s.events() == Lines{"error out_of_memory cuLaunchKernelEx"});
}

TEST_CASE("hooks: preload and prepare report, launch_prepared does not") {
  Setting s;
  s.tell(&s.all);
  REQUIRE(s.machine.runtime().preload(s.sample.kernel, nullptr, abi::current).ok());
  CHECK(s.events().size() == 2);
  abi::prepared_launch ready;
  REQUIRE(s.machine.runtime().prepare(s.sample.kernel, {}, &s.args, nullptr, nullptr, ready).ok());
  CHECK(s.events() == Lines{"choice sample::copy <64> sm_90a 16"});
  REQUIRE(s.machine.runtime().launch_prepared(ready, {}, &s.args).ok());
  CHECK(s.events() == Lines{});
}

TEST_CASE("hooks: events name the specialization") {
  Setting s;
  s.sample.specialize();
  static std::string specialization;
  const hooks telling = {nullptr,
                         [](const load_event &what, void *) {
                           specialization += std::string("load [") + what.specialization + "] ";
                         },
                         [](const choice_event &what, void *) {
                           specialization += std::string("choice [") + what.specialization + "] " +
                                             std::to_string(what.variant[0]) + " ";
                         },
                         nullptr};
  s.tell(&telling);
  REQUIRE(s.launch().ok());
  CHECK(specialization == "choice [n % 64] 16 load [n % 64] ");
  specialization = "";
  s.args.n = 16;
  REQUIRE(s.launch().ok());
  CHECK(specialization == "choice [] 16 load [] ");
}

TEST_CASE("hooks: null hooks and null members get no events") {
  Setting s;
  REQUIRE(s.launch().ok());
  CHECK(s.events() == Lines{});
  const hooks none = {}, errors = {on_error, nullptr, nullptr, nullptr, &s.log};
  std::deque<SampleKernel> kernels; // descriptors keep their addresses
  for (const hooks *who : {&none, &errors, (const hooks *)nullptr}) {
    SampleKernel &another = kernels.emplace_back();
    s.tell(who);
    REQUIRE(s.machine.runtime().launch(another.kernel, {}, &s.args, nullptr, nullptr).ok());
    SampleArgs wrong = s.args;
    wrong.n = 17;
    CHECK_FALSE(s.machine.runtime().launch(another.kernel, {}, &wrong, nullptr, nullptr).ok());
    CHECK(s.events().size() == (who == &errors ? 1u : 0u));
  }
}

TEST_CASE("hooks: a hook may launch a kernel") {
  static Setting *setting = nullptr;
  static int depth = 0;
  Setting s;
  setting = &s;
  SampleKernel inner;
  static SampleKernel *other = nullptr;
  other = &inner;
  auto launch_another = [](const load_event &, void *) {
    if (depth++ == 0)
      CHECK(setting->machine.runtime()
                .launch(other->kernel, {}, &setting->args, nullptr, nullptr)
                .ok());
  };
  const hooks launching = {nullptr, launch_another, nullptr, nullptr, nullptr};
  s.tell(&launching);
  CHECK(s.launch().ok());
  CHECK(depth == 2);
  CHECK(s.machine.driver().launches() == 2);
}

TEST_CASE("hooks: 64 threads report their errors and one load") {
  Setting s;
  static std::atomic<int> errors{0}, loads{0};
  const hooks counting = {[](const status &, void *) { errors++; },
                          [](const load_event &, void *) { loads++; }, nullptr, nullptr, nullptr};
  s.tell(&counting);
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; i++)
    threads.emplace_back([&, i] {
      SampleArgs args = s.args;
      args.n = i % 2 ? 17 : 64 * 16;
      (void)s.machine.runtime().launch(s.sample.kernel, {}, &args, nullptr, nullptr);
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(errors == 32);
  CHECK(loads == 1);
}
