// Injects failures: each driver call of the runtime fails, at each of its uses, with each result
// that a driver may return. The status must report the failure, nothing may leak, and the next
// attempt must succeed.
//
// A run without failures finds the calls. The expected statuses are written here independently of
// the runtime's own table.

#include "load/driver.h"
#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace tritonc;

namespace {

const int results[] = {1,   2,   3,   4,   46,  100, 101, 200, 201, 209, 214, 220,
                       222, 226, 400, 500, 700, 702, 709, 710, 714, 715, 716, 717,
                       718, 719, 721, 800, 801, 802, 900, 901, 906, 999};

bool is_lasting_fault(int result) {
  static const std::set<int> codes = {46,  214, 220, 226, 700, 702, 710,
                                      714, 715, 716, 717, 718, 719, 721};
  return codes.count(result) != 0;
}

/// Calls whose failure the runtime tolerates and does not report.
bool is_tolerated(const std::string &function) {
  static const std::set<std::string> functions = {
      "cuCtxPopCurrent", "cuEventDestroy",    "cuThreadExchangeStreamCaptureMode",
      "cuStreamGetCtx",  "cuStreamGetDevice", "cuDevicePrimaryCtxGetState"};
  return functions.count(function) != 0;
}

/// A pair of launches with workspace, and a baseline schedule for drivers without workspace.
std::vector<ConfigText> pair_beside_plain() {
  std::vector<ConfigText> schedules = pair_of_configs("n 4 *", "1");
  schedules.push_back({"plain"});
  return schedules;
}

/// A machine in the state in which the operation begins.
struct Bench {
  explicit Bench(Machine::Kind kind, const std::string &settings = "") : machine(kind, settings) {}

  status launch(stream where = {}) {
    return machine.runtime().launch(sample.kernel, where, &args, nullptr, nullptr);
  }
  status launch_config() {
    return machine.runtime().launch(schedules.kernel(), {}, &schedule_args, nullptr, nullptr);
  }
  status launch_pair(cu::Stream *where = nullptr) {
    return machine.runtime().launch(pair.kernel(), as_stream(where), &schedule_args, nullptr,
                                    nullptr);
  }
  status make_ready(cu::Stream *where = nullptr) {
    return machine.runtime().prepare(pair.kernel(), as_stream(where), &schedule_args, nullptr,
                                     nullptr, ready);
  }
  status launch_ready(cu::Stream *where = nullptr) {
    return machine.runtime().launch_prepared(ready, as_stream(where), &schedule_args);
  }
  void allocate() {
    REQUIRE(machine.runtime().allocate(&memory, 64).ok());
    REQUIRE(machine.runtime().fill(memory, 1, 64).ok());
  }

  Machine machine;
  SampleKernel sample;
  SampleArgs args = good_args();
  ConfigKernel schedules{
      {{"maps", {}, "1", {"4"}, 2, {TensorText(), TensorText{.parameter = "target"}}}, {"plain"}}};
  ConfigKernel pair{pair_beside_plain()};
  ConfigArgs schedule_args = tritonc::schedule_args();
  abi::prepared_launch ready;
  void *memory = nullptr;
  cu::Stream *stream = nullptr;
  char host[64] = {};
  float milliseconds = 0;
};

struct Operation {
  const char *name;
  std::function<void(Bench &)> prepare;
  std::function<status(Bench &)> run;
  Machine::Kind kind = Machine::as_driver;
  const char *settings = "";
  /// The operation's fast path makes the first calls of these functions. If one fails, the
  /// operation takes the slow path and succeeds.
  std::set<std::string> short_cut = {};
  bool is_again = false; // a repeated launch, which does not make its own context current
};

void open(Bench &bench) {
  device_info info;
  REQUIRE(bench.machine.runtime().current_device(info).ok());
}

void launch_once(Bench &bench) { REQUIRE(bench.launch().ok()); }

void launch_config_once(Bench &bench) { REQUIRE(bench.launch_config().ok()); }

void nothing(Bench &) {}

void in_another_context(Bench &bench) {
  bench.machine.driver().new_context();
  bench.stream = bench.machine.driver().new_stream();
  bench.machine.driver().new_context();
  REQUIRE(bench.launch().ok()); // on the default stream, so that the driver is open
}

void on_a_stream(Bench &bench) {
  bench.machine.driver().new_context();
  bench.stream = bench.machine.driver().new_stream();
  REQUIRE(bench.launch(as_stream(bench.stream)).ok());
}

void in_a_context(Bench &bench) {
  bench.machine.driver().new_context();
  REQUIRE(bench.launch().ok());
}

void on_a_stream_of_another_context(Bench &bench) {
  on_a_stream(bench);
  bench.machine.driver().new_context();
}

status launch_on_stream(Bench &bench) { return bench.launch(as_stream(bench.stream)); }

const Operation operations[] = {
    {"the first launch", nothing, [](Bench &b) { return b.launch(); }},
    {"the first launch in the emulator", nothing, [](Bench &b) { return b.launch(); },
     Machine::emulator},
    {"the first launch on an older driver", nothing, [](Bench &b) { return b.launch(); },
     Machine::as_driver, "version=12000"},
    {"a later launch without a context",
     launch_once,
     [](Bench &b) { return b.launch(); },
     Machine::as_driver,
     "",
     {"cuCtxGetDevice"}},
    {"a later launch",
     in_a_context,
     [](Bench &b) { return b.launch(); },
     Machine::as_driver,
     "",
     {"cuCtxGetDevice"},
     true},
    {"a later launch on a stream", on_a_stream, launch_on_stream, Machine::as_driver, "", {}, true},
    {"a later launch on one of two kinds of devices",
     in_a_context,
     [](Bench &b) { return b.launch(); },
     Machine::as_driver,
     "gpu=90a/80,version=13000",
     {"cuCtxGetDevice"},
     true},
    {"a later launch on a stream of one of two kinds of devices, of another context",
     on_a_stream_of_another_context,
     launch_on_stream,
     Machine::as_driver,
     "gpu=90a/80,version=13000",
     {"cuCtxGetCurrent"}},
    {"a later launch on a stream of one of two kinds of devices",
     on_a_stream,
     launch_on_stream,
     Machine::as_driver,
     "gpu=90a/80,version=13000",
     {"cuCtxGetCurrent", "cuCtxGetDevice"},
     true},
    {"a later launch on a stream of one of two devices that are alike, of another context",
     on_a_stream_of_another_context,
     launch_on_stream,
     Machine::as_driver,
     "devices=2,version=13000",
     {},
     true},
    {"a later launch after a reset",
     [](Bench &b) {
       launch_once(b);
       REQUIRE(b.machine.driver().cuDevicePrimaryCtxReset_v2(0) == cu::success);
     },
     [](Bench &b) { return b.launch(); },
     Machine::as_driver,
     "",
     {"cuCtxGetDevice"}},
    {"a launch in the context of its stream", in_another_context,
     [](Bench &b) { return b.launch(as_stream(b.stream)); }},
    {"a launch with much shared memory",
     [](Bench &b) {
       open(b);
       for (auto &infos : b.sample.infos)
         for (image_info &info : infos)
           info.shared_bytes = 60000;
     },
     [](Bench &b) { return b.launch(); },
     Machine::as_driver,
     "",
     {"cuCtxGetDevice"}},
    {"the first launch with tensor maps", nothing, [](Bench &b) { return b.launch_config(); }},
    {"a later launch with the same tensor maps",
     launch_config_once,
     [](Bench &b) { return b.launch_config(); },
     Machine::as_driver,
     "",
     {"cuCtxGetDevice"}},
    {"a later launch with other tensor maps",
     [](Bench &b) {
       launch_config_once(b);
       b.schedule_args.n++;
     },
     [](Bench &b) { return b.launch_config(); },
     Machine::as_driver,
     "",
     {"cuCtxGetDevice"}},
    {"the first launch with workspace", nothing, [](Bench &b) { return b.launch_pair(); }},
    {"a later launch with workspace",
     [](Bench &b) { REQUIRE(b.launch_pair().ok()); },
     [](Bench &b) { return b.launch_pair(); },
     Machine::as_driver,
     "",
     {"cuCtxGetDevice"}},
    {"a later launch with workspace on a stream",
     [](Bench &b) {
       b.machine.driver().new_context();
       b.stream = b.machine.driver().new_stream();
       REQUIRE(b.launch_pair(b.stream).ok());
     },
     [](Bench &b) { return b.launch_pair(b.stream); },
     Machine::as_driver,
     "",
     {},
     true},
    {"a launch with workspace made ready", nothing, [](Bench &b) { return b.make_ready(); }},
    {"a launch with workspace that was made ready",
     [](Bench &b) {
       b.machine.driver().new_context();
       b.stream = b.machine.driver().new_stream();
       REQUIRE(b.make_ready(b.stream).ok());
     },
     [](Bench &b) { return b.launch_ready(b.stream); },
     Machine::as_driver,
     "",
     {},
     true},
    {"a launch with workspace that was made ready, on a stream of one of two devices",
     [](Bench &b) {
       b.machine.driver().new_context(1);
       b.stream = b.machine.driver().new_stream();
       REQUIRE(b.make_ready(b.stream).ok());
     },
     [](Bench &b) { return b.launch_ready(b.stream); },
     Machine::as_driver,
     "devices=2,version=13000",
     {"cuCtxGetCurrent", "cuCtxGetDevice"},
     true},
    {"preload for a device", open,
     [](Bench &b) { return b.machine.runtime().preload(b.sample.kernel, nullptr, 1); },
     Machine::as_driver, "devices=2"},
    {"preload of schedules with workspace", open,
     [](Bench &b) { return b.machine.runtime().preload(b.pair.kernel(), nullptr, abi::current); }},
    {"preload", open,
     [](Bench &b) { return b.machine.runtime().preload(b.sample.kernel, nullptr, abi::current); }},
    {"current_device", nothing,
     [](Bench &b) {
       device_info info;
       return b.machine.runtime().current_device(info);
     }},
    {"allocate", open, [](Bench &b) { return b.machine.runtime().allocate(&b.memory, 16); }},
    {"release", &Bench::allocate,
     [](Bench &b) {
       status s = b.machine.runtime().release(b.memory);
       if (s.ok())
         b.memory = nullptr;
       return s;
     }},
    {"copy_to_device", &Bench::allocate,
     [](Bench &b) { return b.machine.runtime().copy_to_device(b.memory, b.host, 64); }},
    {"copy_to_host", &Bench::allocate,
     [](Bench &b) { return b.machine.runtime().copy_to_host(b.host, b.memory, 64); }},
    {"fill", &Bench::allocate, [](Bench &b) { return b.machine.runtime().fill(b.memory, 7, 64); }},
    {"synchronize", open, [](Bench &b) { return b.machine.runtime().synchronize({}); }},
    {"a timer", open, [](Bench &b) { return b.machine.runtime().time_nothing(b.milliseconds); }},
};

struct Calls {
  std::string function;
  int count;
};

/// Returns the driver calls of a run without failures.
std::vector<Calls> calls_of(const Operation &operation) {
  static const char *const names[] = {
#define FUNCTION(name, symbol, since, parameters) #name,
#include "emulator/fake_driver/functions.def"
  };
  Bench bench(operation.kind, operation.settings);
  operation.prepare(bench);
  bench.machine.driver().forget_calls();
  REQUIRE(operation.run(bench).ok());
  std::vector<Calls> calls;
  std::set<std::string> seen;
  for (const char *name : names) {
    int count = bench.machine.driver().calls(name);
    if (count != 0 && seen.insert(name).second)
      calls.push_back({name, count});
  }
  return calls;
}

// In the order in which the runtime requests them.
#define NAME(name, version, parameters) #name,
const char *const required[] = {TRITONC_REQUIRED_FUNCTIONS(NAME)};
const char *const optional[] = {TRITONC_OPTIONAL_FUNCTIONS(NAME)};
#undef NAME

/// Returns the function that the runtime requests with this call of cuGetProcAddress. `call` counts
/// from 1.
std::string looked_up(int call) {
  auto i = std::size_t(call - 1);
  return i < std::size(required) ? required[i] : optional[i - std::size(required)];
}

struct Expected {
  status_code code;
  bool lasts = false; // until the process ends
};

Expected expected(const Operation &operation, const std::string &function, int call, int result) {
  if (function == "cuGetProcAddress") {
    bool is_needed =
        call <= int(std::size(required)) ||
        (std::string(operation.name) == "current_device" && looked_up(call) == "cuDeviceGetName");
    return is_needed ? Expected{status_code::driver_too_old, true} : Expected{status_code::ok};
  }
  if (function == "cuDriverGetVersion")
    return {status_code::driver_too_old, true};
  if (function == "tritoncEmulatorVersion")
    return {status_code::wrong_emulator, true};
  if (function == "cuStreamIsCapturing")
    return {status_code::not_preloaded_in_capture};
  if (is_tolerated(function) || (call == 1 && operation.short_cut.count(function)))
    return {status_code::ok};
  bool may_lack_context = result == 201 || result == 400 || result == 709;
  bool is_first =
      call == 1 && (function == "cuLaunchKernelEx" || function == "cuMemAllocFromPoolAsync");
  if (operation.is_again && is_first && may_lack_context)
    return {status_code::ok};
  if (is_lasting_fault(result))
    return {status_code::device_lost};
  switch (result) {
  case 2:
    return {status_code::out_of_memory};
  case 100:
    return {status_code::no_device};
  case 209:
    return {status_code::no_image_for_device};
  case 222:
    return {operation.kind == Machine::emulator ? status_code::wrong_emulator
                                                : status_code::driver_too_old};
  default:
    return {status_code::cuda};
  }
}

/// Injects one failure into the operation on a new machine. Returns the errors in its behavior; "" if
/// there are none.
std::string judge(const Operation &operation, Bench &bench, const std::string &function, int call,
                  int result) {
  StandIn &driver = bench.machine.driver();
  operation.prepare(bench);
  auto before = driver.counters();
  driver.configure("fail=" + function + ":" + std::to_string(call) + ":" + std::to_string(result));
  status first = operation.run(bench);
  Expected wanted = expected(operation, function, call, result);
  std::string wrong;
  auto complain = [&](const std::string &text) { wrong += "; " + text; };
  if (first.code() != wanted.code)
    complain("the status is " + bench.machine.message(first));
  bool has_result = wanted.code == status_code::cuda || wanted.code == status_code::out_of_memory ||
                    wanted.code == status_code::device_lost;
  if (first.cuda_result() != (has_result ? result : 0))
    complain("it says " + std::to_string(first.cuda_result()));
  if (has_result && !*first.argument())
    complain("it names no call");

  driver.configure("fail=none");
  status second = operation.run(bench);
  if (second.code() != (wanted.lasts ? wanted.code : status_code::ok))
    complain("the second attempt: " + bench.machine.message(second));
  auto after = driver.counters();
  bool has_workspace = std::string(operation.name).find("workspace") != std::string::npos;
  bool preloads = std::string(operation.name).find("preload") == 0; // loads all variants, schedules
  std::uint64_t max_libraries = (preloads && has_workspace) ? 3 : preloads || has_workspace ? 2 : 1;
  if (after.libraries > before.libraries + max_libraries)
    complain(std::to_string(after.libraries - before.libraries) + " libraries are loaded");
  if (after.events != (function == "cuEventDestroy" ? 1u : 0u))
    complain(std::to_string(after.events) + " events are left");
  std::size_t most = before.depth + (function == "cuCtxPopCurrent") +
                     (std::string(operation.name) == "current_device");
  if (after.depth > most)
    complain(std::to_string(after.depth) + " contexts are on the thread's stack");
  if (after.captures != 0)
    complain("a capture is left");
  if (after.pools > (has_workspace ? 1 : 0))
    complain(std::to_string(after.pools) + " pools are there");
  bool allocates = std::string(operation.name) == "allocate" || function == "cuMemFreeAsync";
  if (!allocates && after.allocations > before.allocations)
    complain("memory is left");
  int mode = 0;
  if (driver.cuThreadExchangeStreamCaptureMode(&mode) == cu::success && mode != 0 &&
      function != "cuThreadExchangeStreamCaptureMode")
    complain("the capture mode has changed");
  if (wrong.empty())
    return "";
  return function + " call " + std::to_string(call) + " returns " + std::to_string(result) + wrong +
         "\n";
}

/// Runs `work` in a child process, with a copy of the machines of this process. That is faster than
/// to load new copies of driver and runtime.
std::string in_child(const std::function<std::string()> &work) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    close(ends[0]);
    std::string text;
    try {
      text = work();
    } catch (...) {
      text = "preparing it failed";
    }
    for (std::size_t done = 0; done < text.size();) {
      ssize_t written = write(ends[1], text.data() + done, text.size() - done);
      if (written <= 0)
        break;
      done += std::size_t(written);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t length; (length = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, std::size_t(length));
  close(ends[0]);
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  if (WIFSIGNALED(state))
    text += "killed by signal " + std::to_string(WTERMSIG(state));
  return text;
}

} // namespace

TEST_CASE("faults: each failed driver call is returned, leaks nothing") {
  int judged = 0;
  for (const Operation &operation : operations) {
    CAPTURE(std::string(operation.name));
    std::vector<Calls> calls = calls_of(operation);
    CHECK(!calls.empty());
    Bench bench(operation.kind, operation.settings);
    for (const Calls &of : calls) {
      CAPTURE(of.function);
      bool is_lookup = of.function == "cuGetProcAddress"; // only success or failure matters
      for (int call = 1; call <= of.count; call++)
        for (int result : results) {
          if (is_lookup && result != 1 && result != 500)
            continue;
          std::string wrong =
              in_child([&] { return judge(operation, bench, of.function, call, result); });
          CHECK(wrong == "");
        }
      judged += of.count * (is_lookup ? 2 : int(std::size(results)));
    }
  }
  MESSAGE(judged << " failures");
  CHECK(judged > 1000);
}

TEST_CASE("faults: a call that always fails fails the operation") {
  for (const Operation &operation : operations) {
    CAPTURE(std::string(operation.name));
    for (const Calls &of : calls_of(operation)) {
      if (is_tolerated(of.function))
        continue;
      CAPTURE(of.function);
      Bench bench(operation.kind, operation.settings);
      operation.prepare(bench);
      bench.machine.driver().configure("fail=" + of.function + ":*:999");
      for (int i = 0; i < 3; i++)
        CHECK_FALSE(operation.run(bench).ok());
    }
  }
}
