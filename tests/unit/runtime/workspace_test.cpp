// Tests runtime/src/launch/workspace.cpp: the workspace of a launch, or of a pair of launches that
// share the work.

#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

using namespace tritonc;
using abi::hidden_kind;
using abi::launch_part;

namespace {

/// The launches that ran, and the workspace address of each.
struct Ran {
  std::vector<std::string> schedules;
  std::vector<std::int64_t> memory;
};

std::mutex noting;
Ran ran;

void note(const NotedLaunch &given) {
  std::lock_guard lock(noting);
  if (!ran.schedules.empty() && ran.schedules.back() == given.schedule)
    return; // another thread of the same launch
  ran.schedules.push_back(given.schedule);
  ran.memory.push_back(given.hidden.empty() ? 0 : given.number(0));
}

struct Setting {
  explicit Setting(const std::vector<ConfigText> &schedules = pair_of_configs("n 4 *"),
                   const std::string &settings = "")
      : machine(Machine::as_driver, "workers=1," + settings), kernel(schedules) {
    ran = {};
    on_noted = note;
  }
  ~Setting() { on_noted = nullptr; }

  status launch(stream where = {}) {
    return machine.runtime().launch(kernel.kernel(), where, &args, nullptr, nullptr);
  }
  /// Launches and returns the schedules that ran, or the error.
  std::string outcome() {
    ran = {};
    status result = launch();
    std::string text = result.ok() ? "" : std::string(result.name()) + " " + result.argument();
    for (const std::string &schedule : ran.schedules)
      text += (text.empty() ? "" : ", ") + schedule;
    return text;
  }
  StandIn &driver() { return machine.driver(); }
  std::uint64_t bytes() { return driver().counters().bytes; }

  Machine machine;
  ConfigKernel kernel;
  ConfigArgs args = schedule_args();
};

std::vector<ConfigText> joined(std::vector<ConfigText> schedules,
                               const std::vector<ConfigText> &more) {
  schedules.insert(schedules.end(), more.begin(), more.end());
  return schedules;
}

/// One launch with workspace, as stream-K has it.
ConfigText alone(const std::string &workspace) {
  ConfigText schedule = {"alone", {}, "1"};
  schedule.workspace = workspace;
  schedule.hidden = {{hidden_kind::workspace, ""}};
  return schedule;
}

std::string outcome_of(const std::vector<ConfigText> &schedules, const std::string &settings = "") {
  Setting setting(schedules, settings);
  return setting.outcome();
}

} // namespace

TEST_CASE("pair: both launches run in order, each time") {
  Setting s(pair_of_configs(""));
  for (int round = 1; round <= 3; round++) {
    CHECK(s.outcome() == "first, rest");
    CHECK(s.driver().launches() == 2 * round);
    CHECK(s.driver().last_launch().grid[0] == 2);
  }
  CHECK(s.driver().calls("cuLibraryLoadData") == 2);
  CHECK(s.driver().calls("cuMemPoolCreate") == 0);
}

TEST_CASE("pair: neither launch runs alone") {
  std::vector<ConfigText> pair = pair_of_configs("", "1");
  CHECK(outcome_of({pair[1], {"plain", {}, "2"}}) == "plain");
  CHECK(outcome_of({pair[0], {"plain", {}, "2"}}) == "plain");
  CHECK(outcome_of({{"plain", {}, "2"}, pair[0]}) == "plain");
  CHECK(outcome_of({pair[0]}) == "invalid_argument schedules");
  pair[1].guards = {"n 3 =="};
  CHECK(outcome_of(pair) == "requirement_failed n 3 ==");
  CHECK(outcome_of(joined(pair, {{"plain", {}, "2"}})) == "plain");
}

TEST_CASE("workspace: both launches share it, then it is freed") {
  Setting s;
  std::int64_t before = 0;
  for (int round = 0; round < 3; round++) {
    CHECK(s.outcome() == "first, rest");
    REQUIRE(ran.memory.size() == 2);
    CHECK(ran.memory[0] != 0);
    CHECK(ran.memory[0] == ran.memory[1]);
    CHECK(ran.memory[0] != before); // the fake driver does not reuse memory so soon
    before = ran.memory[0];
    CHECK(s.bytes() == 0);
  }
  CHECK(s.driver().calls("cuMemPoolCreate") == 1);
  CHECK(s.driver().counters().pools == 1);
}

TEST_CASE("workspace: may be any of the hidden parameters") {
  std::vector<ConfigText> pair = pair_of_configs("64");
  for (ConfigText &schedule : pair) {
    schedule.hidden.push_back(TensorText());
    schedule.hidden.push_back({hidden_kind::i32, "n"});
    schedule.hidden.push_back({hidden_kind::workspace, ""}); // a second time
    schedule.hidden.push_back({hidden_kind::i64, "stride"});
  }
  Setting s(pair);
  for (int round = 0; round < 2; round++) {
    CHECK(s.outcome() == "first, rest");
    NotedLaunch given = noted_launch();
    REQUIRE(given.hidden.size() == 5);
    CHECK(given.number(0) == ran.memory[0]);
    CHECK(given.hidden[1].size() == 128);
    CHECK(given.number(2) == s.args.n);
    CHECK(given.number(3) == ran.memory[0]);
    CHECK(given.number(4) == s.args.stride);
  }
}

TEST_CASE("workspace: has the size that the schedule computes") {
  // 1024 * 4 bytes for the default arguments.
  CHECK(outcome_of(pair_of_configs("n 4 *"), "memory=4096") == "first, rest");
  CHECK(outcome_of(pair_of_configs("n 4 *"), "memory=4095") ==
        "out_of_memory cuMemAllocFromPoolAsync");
  // The size of the first launch counts.
  std::vector<ConfigText> pair = pair_of_configs("4096");
  pair[1].workspace = "1";
  CHECK(outcome_of(pair, "memory=4096") == "first, rest");
  CHECK(outcome_of(pair, "memory=4095") == "out_of_memory cuMemAllocFromPoolAsync");
}

TEST_CASE("workspace: schedule is skipped, when the size is invalid") {
  for (const char *bytes : {"0 1 -", "n 0 /", "9223372036854775807 1 +"}) {
    CAPTURE(bytes);
    CHECK(outcome_of(pair_of_configs(bytes, "1")) == "invalid_argument workspace");
    CHECK(outcome_of(joined(pair_of_configs(bytes, "1"), {{"plain"}})) == "plain");
    CHECK(outcome_of({alone(bytes)}) == "invalid_argument workspace");
    CHECK(outcome_of({alone(bytes), {"plain"}}) == "plain");
  }
  CHECK(outcome_of(pair_of_configs("1", "1")) == "first, rest");
}

TEST_CASE("workspace: one launch has its own, which is then freed") {
  Setting s({alone("n 4 *")});
  s.driver().new_context();
  std::int64_t before = 0;
  for (int round = 1; round <= 3; round++) {
    s.driver().forget_calls();
    CHECK(s.outcome() == "alone");
    CHECK(ran.memory[0] != 0);
    CHECK(ran.memory[0] != before);
    before = ran.memory[0];
    CHECK(s.bytes() == 0);
    CHECK(s.driver().calls("cuMemPoolCreate") == (round == 1));
    for (const char *call : {"cuMemAllocFromPoolAsync", "cuLaunchKernelEx", "cuMemFreeAsync"})
      CHECK(s.driver().calls(call) == 1);
    if (round > 1) // a repeated launch prepares nothing
      CHECK(s.driver().calls("cuLibraryLoadData") == 0);
  }
  CHECK(outcome_of({alone("4096")}, "memory=4096") == "alone");
  CHECK(outcome_of({alone("4096")}, "memory=4095") == "out_of_memory cuMemAllocFromPoolAsync");
}

TEST_CASE("workspace: one launch without a part of the memory fails, and may be retried") {
  Setting s({alone("64")});
  s.driver().new_context();
  for (bool is_again : {false, true})
    for (const char *call : {"cuMemAllocFromPoolAsync", "cuLaunchKernelEx", "cuMemFreeAsync"}) {
      CAPTURE(is_again);
      CAPTURE(call);
      s.args.n += 64; // a new launch
      if (is_again)
        REQUIRE(s.launch().ok());
      s.driver().configure("fail=" + std::string(call) + ":1:999");
      const status failed = s.launch();
      CHECK(failed.cuda_result() == 999);
      CHECK(std::string(failed.argument()) == call);
      s.driver().configure("fail=none");
      CHECK(s.outcome() == "alone");
    }
}

TEST_CASE("workspace: none, if the size is 0") {
  for (const std::string settings : {"", "pools=off"}) {
    CAPTURE(settings);
    Setting s({alone("n 1024 - 4 *")}, settings);
    for (int round = 0; round < 2; round++) {
      CHECK(s.outcome() == "alone");
      CHECK(ran.memory[0] == 0);
    }
    CHECK(s.driver().calls("cuMemAllocFromPoolAsync") == 0);
    CHECK(s.driver().calls("cuMemPoolCreate") == 0);
    CHECK(s.driver().calls("cuMemFreeAsync") == 0);
    s.args.n += 64;
    CHECK(s.outcome() == (settings.empty() ? "alone" : "driver_too_old cuMemPoolCreate"));
  }
}

TEST_CASE("workspace: a hidden parameter requires it, in the first launch of a pair") {
  CHECK(outcome_of({alone("")}) == "invalid_argument workspace");
  std::vector<ConfigText> pair = pair_of_configs("64");
  pair[0].workspace = "", pair[0].hidden = {};
  CHECK(outcome_of(pair) == "invalid_argument schedules");
  pair = pair_of_configs("64");
  pair[1].workspace = "";
  CHECK(outcome_of(pair) == "invalid_argument workspace");
  pair[1].hidden = {}; // the second launch does not use the workspace
  CHECK(outcome_of(pair) == "first, rest");
}

TEST_CASE("workspace: 600 launches leave no memory allocated") {
  Setting s;
  for (int i = 0; i < 600; i++) {
    s.args.n = 64 * (i % 100 + 1);
    REQUIRE(s.launch().ok());
  }
  CHECK(s.driver().launches() == 2 * 600);
  CHECK(s.driver().calls("cuMemAllocFromPoolAsync") == 600);
  CHECK(s.driver().calls("cuMemFreeAsync") == 600);
  CHECK(s.driver().counters().allocations == 0);
  CHECK(s.bytes() == 0);
}

TEST_CASE("workspace: repeat only allocates, launches and frees") {
  std::vector<ConfigText> pair = pair_of_configs("n 4 *");
  pair[0].hidden.push_back(TensorText());
  Setting s(pair);
  s.driver().new_context();
  stream where = as_stream(s.driver().new_stream());
  REQUIRE(s.launch(where).ok());
  auto again = [&] {
    s.driver().forget_calls();
    ran = {};
    CHECK(s.launch(where).ok());
    CHECK(ran.schedules == std::vector<std::string>{"first", "rest"});
    CHECK(ran.memory[0] == ran.memory[1]);
    CHECK(s.driver().calls("cuMemAllocFromPoolAsync") == 1);
    CHECK(s.driver().calls("cuLaunchKernelEx") == 2);
    CHECK(s.driver().calls("cuMemFreeAsync") == 1);
    CHECK(s.driver().calls("cuThreadExchangeStreamCaptureMode") == 4);
    CHECK(s.driver().calls() == 8);
    CHECK(s.bytes() == 0);
  };
  again();
  std::thread(again).join();
}

TEST_CASE("workspace: thread without a context repeats a launch") {
  std::vector<ConfigText> pair = pair_of_configs("n 4 *");
  pair[0].hidden.push_back(TensorText());
  Setting s(pair, "version=13000,devices=2");
  s.driver().new_context(1);
  stream where = as_stream(s.driver().new_stream());
  REQUIRE(s.launch(where).ok());
  CHECK(s.driver().calls("cuTensorMapEncodeTiled") == 1);
  ran = {};
  std::thread([&] { CHECK(s.launch(where).ok()); }).join();
  CHECK(ran.schedules == std::vector<std::string>{"first", "rest"});
  CHECK(s.driver().calls("cuTensorMapEncodeTiled") == 1); // not prepared again
  s.args.n += 64;
  std::thread([&] { CHECK(s.launch(where).ok()); }).join();
  CHECK(s.driver().calls("cuTensorMapEncodeTiled") == 2);
  CHECK(s.bytes() == 0);
}

TEST_CASE("workspace: launches on two devices use two pools") {
  Setting s(pair_of_configs("n 4 *"), "devices=2");
  cu::Context *contexts[] = {s.driver().new_context(0), s.driver().new_context(1)};
  std::vector<cu::Stream *> streams;
  for (cu::Context *context : contexts) {
    s.driver().make_current(context);
    for (int i = 0; i < 2; i++)
      streams.push_back(s.driver().new_stream());
  }
  for (int round = 0; round < 2; round++)
    for (std::size_t i = 0; i < streams.size(); i++) {
      ran = {};
      REQUIRE(s.launch(as_stream(streams[i])).ok());
      CHECK(ran.memory[0] == ran.memory[1]);
      CHECK(s.driver().last_launch().stream == streams[i]);
      CHECK(s.driver().last_launch().context == contexts[i / 2]);
    }
  CHECK(s.driver().counters().pools == 2);
  CHECK(s.bytes() == 0);
}

TEST_CASE("workspace: finds the device with each driver version") {
  for (const char *settings : {"version=13000,devices=2", "version=12040,devices=2",
                               "version=13000,devices=2,fail=cuStreamGetCtx:*:801"}) {
    CAPTURE(std::string(settings));
    Setting s(pair_of_configs("n 4 *"), settings);
    cu::Context *second = s.driver().new_context(1);
    cu::Stream *of_second = s.driver().new_stream();
    s.driver().new_context(0);
    cu::Stream *of_first = s.driver().new_stream();
    for (int round = 0; round < 3; round++)
      for (cu::Stream *where : {of_first, of_second}) {
        ran = {};
        REQUIRE(s.launch(as_stream(where)).ok());
        CHECK(ran.memory[0] == ran.memory[1]);
        CHECK((s.driver().last_launch().context == second) == (where == of_second));
      }
    CHECK(s.driver().counters().pools == 2);
    CHECK(s.bytes() == 0);
  }
}

namespace {

/// Maps a thread's `source` argument to its workspace, from the first launch to the second.
std::map<const void *, std::int64_t> in_use;
std::atomic<int> wrong{0};

void watch(const NotedLaunch &given) {
  std::lock_guard lock(noting);
  std::int64_t memory = given.number(0);
  if (given.schedule == "rest") {
    wrong += in_use[given.args.source] != memory;
    return;
  }
  for (auto &[source, used] : in_use)
    wrong += source != given.args.source && used == memory;
  in_use[given.args.source] = memory;
}

} // namespace

TEST_CASE("workspace: threads have separate memory and share one pool") {
  for (int round = 0; round < 4; round++) { // which thread creates the pool is random
    Setting s;
    in_use.clear();
    wrong = 0;
    on_noted = watch;
    s.driver().new_context();
    cu::Context *context = s.driver().current();
    alignas(16) static char sources[16 * 8];
    const abi::kernel &kernel = s.kernel.kernel();
    std::atomic<int> succeeded{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
      threads.emplace_back([&, t] {
        s.driver().make_current(context);
        stream where = as_stream(s.driver().new_stream());
        ConfigArgs args = schedule_args();
        args.source = sources + 16 * t;
        for (int i = 0; i < 50; i++) {
          args.n = 64 * (i % 5 + 1);
          succeeded += s.machine.runtime().launch(kernel, where, &args, nullptr, nullptr).ok();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    CHECK(succeeded == 8 * 50);
    CHECK(wrong == 0);
    CHECK(s.driver().counters().pools == 1);
    CHECK(s.bytes() == 0);
  }
}

// ---- without pools ----

TEST_CASE("workspace: schedule is skipped, when pools are missing") {
  const std::vector<ConfigText> alone = pair_of_configs("64", "1");
  const std::vector<ConfigText> beside = joined(alone, {{"plain", {}, "2"}});
  CHECK(outcome_of(beside) == "first, rest");
  CHECK(outcome_of(pair_of_configs(""), "pools=off") == "first, rest"); // no workspace
  for (const char *settings : {"pools=off", "missing=cuMemPoolCreate", "missing=cuMemPoolDestroy",
                               "missing=cuMemPoolSetAttribute", "missing=cuMemAllocFromPoolAsync",
                               "missing=cuMemFreeAsync"}) {
    CAPTURE(settings);
    CHECK(outcome_of(beside, settings) == "plain");
    Setting s(alone, settings);
    CHECK(s.outcome() == "driver_too_old cuMemPoolCreate");
    CHECK(s.driver().launches() == 0);
    CHECK(s.machine.runtime().preload(s.kernel.kernel(), nullptr, abi::current).ok());
    CHECK(s.driver().calls("cuMemPoolCreate") == 0);
  }
}

// ---- failures ----

TEST_CASE("workspace: failure leaves no memory, retry succeeds") {
  const struct {
    const char *call;
    int number;   // the call that fails
    int launched; // number of launches before it
  } rows[] = {
      {"cuMemAllocFromPoolAsync", 1, 0}, {"cuLaunchKernelEx", 1, 0}, {"cuLaunchKernelEx", 2, 1}};
  Setting s;
  for (bool is_again : {false, true})
    for (auto &row : rows)
      for (int result : {1, 2, 999}) {
        CAPTURE(is_again);
        CAPTURE(row.call);
        CAPTURE(row.number);
        CAPTURE(result);
        s.args.n += 64; // a new launch
        if (is_again)
          REQUIRE(s.launch().ok());
        int before = s.driver().launches();
        s.driver().configure("fail=" + std::string(row.call) + ":" + std::to_string(row.number) +
                             ":" + std::to_string(result));
        status failed = s.launch();
        CHECK(failed.code() == (result == 2 ? status_code::out_of_memory : status_code::cuda));
        CHECK(failed.cuda_result() == result);
        CHECK(std::string(failed.argument()) == row.call);
        CHECK(s.driver().launches() - before == row.launched);
        CHECK(s.bytes() == 0);
        s.driver().configure("fail=none");
        CHECK(s.outcome() == "first, rest");
        CHECK(s.bytes() == 0);
      }
}

TEST_CASE("pair: context error retries, unless a part is launched") {
  Setting s;
  s.driver().new_context();
  REQUIRE(s.launch().ok());
  for (int result : {201, 400, 709}) {
    CAPTURE(result);
    auto failing = [&](const char *call, int number) {
      s.driver().configure("fail=none,fail=" + std::string(call) + ":" + std::to_string(number) +
                           ":" + std::to_string(result));
      int before = s.driver().launches();
      status outcome = s.launch();
      CHECK(outcome.cuda_result() == (outcome.ok() ? 0 : result));
      return (outcome.ok() ? 0 : 10) + s.driver().launches() - before;
    };
    CHECK(failing("cuMemAllocFromPoolAsync", 1) == 2);
    CHECK(failing("cuLaunchKernelEx", 1) == 2);
    CHECK(failing("cuLaunchKernelEx", 2) == 11);
    CHECK(s.bytes() == 0);
  }
}

TEST_CASE("workspace: returns a failed free after the launches") {
  Setting s;
  s.driver().new_context();
  for (bool is_again : {false, true})
    for (int result : {1, 201, 400, 709}) {
      CAPTURE(is_again);
      CAPTURE(result);
      s.args.n += 64;
      if (is_again)
        REQUIRE(s.launch().ok());
      s.driver().configure("fail=cuMemFreeAsync:1:" + std::to_string(result));
      int before = s.driver().launches();
      status failed = s.launch();
      CHECK(failed.cuda_result() == result);
      CHECK(std::string(failed.argument()) == "cuMemFreeAsync");
      CHECK(s.driver().launches() - before == 2);
      s.driver().configure("fail=none");
    }
}

TEST_CASE("workspace: next launch recreates a pool whose setup failed") {
  Setting s;
  s.driver().configure("fail=cuMemPoolSetAttribute:1:1");
  status failed = s.launch();
  CHECK(failed.cuda_result() == 1);
  CHECK(std::string(failed.argument()) == "cuMemPoolSetAttribute");
  CHECK(s.driver().counters().pools == 0);
  CHECK(s.outcome() == "first, rest");
  CHECK(s.driver().counters().pools == 1);
}

TEST_CASE("workspace: pool outlives contexts") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  CHECK(s.outcome() == "first, rest");
  REQUIRE(s.driver().cuCtxDestroy_v2(context) == cu::success);
  CHECK(s.outcome() == "first, rest"); // in the primary context
  REQUIRE(s.driver().cuDevicePrimaryCtxReset_v2(0) == cu::success);
  CHECK(s.outcome() == "first, rest");
  CHECK(s.driver().counters().pools == 1);
}

// ---- captured ----

namespace {

/// A captured launch and its graph.
struct Captured {
  explicit Captured(Setting &of) : s(of), stream(of.driver().new_stream()) {
    REQUIRE(s.driver().cuStreamBeginCapture_v2(stream, 0) == cu::success);
    launched = s.launch(as_stream(stream));
    ended = s.driver().cuStreamEndCapture(stream, &graph);
  }
  void instantiate() {
    REQUIRE(s.driver().cuGraphInstantiateWithFlags(&exec, graph, 0) == cu::success);
  }
  Setting &s;
  cu::Stream *stream;
  cu::Graph *graph = nullptr;
  cu::GraphExec *exec = nullptr;
  status launched;
  int ended;
};

} // namespace

TEST_CASE("workspace: a captured graph owns it at a fixed address") {
  Setting s;
  s.driver().new_context();
  SUBCASE("first launch") {}
  SUBCASE("later launch") { REQUIRE(s.launch().ok()); }
  ran = {};
  Captured captured(s);
  CHECK(captured.launched.ok());
  REQUIRE(captured.ended == cu::success);
  CHECK(ran.schedules.empty());
  std::size_t nodes = 0;
  CHECK(s.driver().cuGraphGetNodes(captured.graph, nullptr, &nodes) == cu::success);
  CHECK(nodes == 4); // allocation, two kernels, free
  captured.instantiate();
  std::int64_t memory = 0;
  for (int round = 0; round < 5; round++) {
    ran = {};
    CHECK(s.driver().cuGraphLaunch(captured.exec, captured.stream) == cu::success);
    CHECK(s.driver().cuStreamSynchronize(captured.stream) == cu::success);
    CHECK(ran.schedules == std::vector<std::string>{"first", "rest"});
    CHECK(ran.memory[0] == ran.memory[1]);
    CHECK((round == 0 || ran.memory[0] == memory));
    memory = ran.memory[0];
    REQUIRE(s.launch().ok()); // between graph launches, not captured
  }
  cu::Pointer begin = 0;
  std::size_t bytes = 0;
  CHECK(s.driver().cuMemGetAddressRange_v2(&begin, &bytes, cu::Pointer(memory)) == cu::success);
  CHECK(begin == cu::Pointer(memory));
  CHECK(bytes == 4096);
  CHECK(s.bytes() == 4096);
  CHECK(s.driver().cuGraphDestroy(captured.graph) == cu::success);
  CHECK(s.bytes() == 4096);
  CHECK(s.driver().cuGraphExecDestroy(captured.exec) == cu::success);
  CHECK(s.bytes() == 0);
}

TEST_CASE("workspace: failed capture leaves nothing") {
  for (const char *call : {"cuMemAllocFromPoolAsync:1", "cuLaunchKernelEx:1", "cuLaunchKernelEx:2",
                           "cuMemFreeAsync:1"}) {
    CAPTURE(call);
    Setting s;
    s.driver().new_context();
    s.driver().configure("fail=" + std::string(call) + ":999");
    Captured captured(s);
    CHECK(captured.launched.cuda_result() == 999);
    CHECK(captured.ended == cu::success);
    CHECK(s.driver().cuGraphDestroy(captured.graph) == cu::success);
    CHECK(s.bytes() == 0);
    CHECK(s.driver().counters().captures == 0);
  }
}

TEST_CASE("workspace: launch does not disturb another capture") {
  Setting s;
  s.driver().new_context();
  SUBCASE("first launch") {}
  SUBCASE("later launch") { REQUIRE(s.launch().ok()); }
  cu::Stream *captured = s.driver().new_stream(), *other = s.driver().new_stream();
  REQUIRE(s.driver().cuStreamBeginCapture_v2(captured, 0) == cu::success);
  CHECK(s.launch(as_stream(other)).ok());
  cu::Graph *graph = nullptr;
  CHECK(s.driver().cuStreamEndCapture(captured, &graph) == cu::success);
}

TEST_CASE("workspace: not used on drivers before CUDA 12.3") {
  Setting s(pair_of_configs("64"), "version=12020");
  s.driver().new_context();
  status refused = s.launch();
  CHECK(refused.code() == status_code::driver_too_old);
  CHECK(s.machine.runtime().preload(s.kernel.kernel(), nullptr, abi::current).ok());
  CHECK(s.driver().calls("cuMemPoolCreate") == 0);
}
