// Tests runtime/src/select/schedule.cpp: the choice of the schedule, its hidden parameters, and the
// reject reasons.

#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace tritonc;
using abi::hidden_kind;

namespace {

/// A machine with a Hopper GPU and one kernel.
struct Setting {
  explicit Setting(const std::vector<ConfigText> &schedules, const std::string &settings = "")
      : machine(Machine::as_driver, settings), kernel(schedules) {}

  status launch() { return machine.runtime().launch(kernel.kernel(), {}, &args, nullptr, nullptr); }
  /// Launches and returns the schedule that ran, or the error.
  std::string outcome() {
    status result = launch();
    if (!result.ok())
      return std::string(result.name()) + " " + result.argument();
    return noted_launch().schedule;
  }
  StandIn &driver() { return machine.driver(); }
  int encoded() { return driver().calls("cuTensorMapEncodeTiled"); }

  Machine machine;
  ConfigKernel kernel;
  ConfigArgs args = schedule_args();
};

std::string outcome_of(const std::vector<ConfigText> &schedules, const std::string &settings = "") {
  Setting setting(schedules, settings);
  return setting.outcome();
}

ConfigText with_map(const TensorText &map) { return {"map", {}, "1", {}, 1, {map}}; }

/// The outcomes of a schedule with a tensor map, beside a baseline schedule and alone.
struct Outcomes {
  std::string beside_plain, alone;
};

std::string outcome_with(const std::vector<ConfigText> &schedules, void (*change)(ConfigArgs &)) {
  Setting setting(schedules);
  if (change)
    change(setting.args);
  return setting.outcome();
}

Outcomes outcomes(const TensorText &map, void (*change)(ConfigArgs &)) {
  return {outcome_with({with_map(map), {"plain"}}, change), outcome_with({with_map(map)}, change)};
}

void check_fits(const TensorText &map, void (*change)(ConfigArgs &) = nullptr) {
  Outcomes of = outcomes(map, change);
  CHECK(of.beside_plain == "map");
  CHECK(of.alone == "map");
}

void check_refused(const TensorText &map, void (*change)(ConfigArgs &) = nullptr) {
  Outcomes of = outcomes(map, change);
  CHECK(of.beside_plain == "plain");
  CHECK(of.alone == "unsuitable_tensor " + map.parameter);
}

} // namespace

TEST_CASE("schedule: sets blocks, cluster and hidden parameters") {
  TensorText source;
  TensorText target = {.parameter = "target",
                       .offset = "8",
                       .sizes = {"32", "n 2 /", "7"},
                       .strides = {"stride 2 *", "stride n *"},
                       .box = {16, 4, 2},
                       .data_type = 11,
                       .element_bytes = 4,
                       .swizzle = 2};
  Setting s(
      {{"schedule",
        {},
        "",
        {"programs0 sms min 2 *", "3"},
        2,
        {{hidden_kind::i32, "0 n -"}, source, {hidden_kind::i64, "n 1099511627776 *"}, target}}},
      "sms=6");
  REQUIRE(s.launch().ok());
  cu::LastLaunch launch = s.driver().last_launch();
  CHECK(launch.grid[0] == 12); // 16 programs, 6 SMs
  CHECK(launch.grid[1] == 3);
  CHECK(launch.grid[2] == 1);
  CHECK(launch.cluster[0] == 2);
  NotedLaunch given = noted_launch();
  CHECK(given.args.source == s.args.source);
  CHECK(given.args.target == s.args.target);
  CHECK(given.args.n == 1024);
  CHECK(given.args.stride == 64);
  REQUIRE(given.hidden.size() == 4);
  CHECK(given.number(0) == -1024);
  CHECK(given.number(2) == std::int64_t(1024) << 40);

  // The maps must equal the driver's encoding of these values.
  const std::uint32_t steps[] = {1, 1, 1};
  auto bytes_of = [&](int type, unsigned rank, const void *address,
                      std::vector<std::uint64_t> sizes, std::vector<std::uint64_t> strides,
                      std::vector<std::uint32_t> box, int swizzle) {
    cu::TensorMapBytes map;
    REQUIRE(s.driver().cuTensorMapEncodeTiled(&map, type, rank, const_cast<void *>(address),
                                              sizes.data(), strides.data(), box.data(), steps, 0,
                                              swizzle, 3, 0) == cu::success);
    return std::string(reinterpret_cast<const char *>(&map), sizeof map);
  };
  CHECK(given.hidden[1] == bytes_of(6, 2, s.args.source, {64, 1024}, {128}, {64, 8}, 3));
  CHECK(given.hidden[3] == bytes_of(11, 3, static_cast<char *>(s.args.target) + 32, {32, 512, 7},
                                    {512, 64 * 1024 * 4}, {16, 4, 2}, 2));
}

TEST_CASE("schedule: baseline has one block per program, none hidden") {
  Setting s({{"plain"}});
  REQUIRE(s.launch().ok());
  CHECK(s.driver().last_launch().grid[0] == 16);
  CHECK(s.driver().last_launch().cluster[0] == 1);
  CHECK(noted_launch().hidden.empty());
  CHECK(s.encoded() == 0);
}

TEST_CASE("schedule: only a cluster size above 1 is an attribute") {
  // The fake driver refuses a cluster attribute if the code is not compiled for clusters.
  Setting two({{"schedule", {}, "", {"4"}, 2, {}, false}});
  CHECK(two.launch().cuda_result() == 801);
  Setting one({{"schedule", {}, "", {"4"}, 1, {}, false}});
  CHECK(one.launch().ok());
}

TEST_CASE("schedule: starts_early applies from CUDA 12.3") {
  auto schedule = [](bool starts_early, unsigned cluster) {
    ConfigText text = {"schedule", {}, "", {"4"}, cluster};
    text.starts_early = starts_early;
    return text;
  };
  for (unsigned cluster : {1, 2})
    for (bool starts_early : {false, true})
      for (const char *version : {"version=12020", "version=12030"}) {
        CAPTURE(cluster);
        CAPTURE(starts_early);
        CAPTURE(version);
        Setting s({schedule(starts_early, cluster)}, version);
        for (int round = 1; round <= 2; round++) { // the second launch is a repeat
          CHECK(s.outcome() == "schedule");
          CHECK(s.driver().launches() == round);
          CHECK(s.driver().last_launch().starts_early ==
                (starts_early && std::string(version) != "version=12020"));
          CHECK(s.driver().last_launch().cluster[0] == cluster);
        }
      }
  Setting plain({{"plain"}});
  CHECK(plain.outcome() == "plain");
  CHECK_FALSE(plain.driver().last_launch().starts_early);
}

TEST_CASE("schedule: starts_early is separate in a pair") {
  for (bool first : {false, true}) {
    CAPTURE(first);
    std::vector<ConfigText> pair = pair_of_configs("64");
    pair[0].starts_early = first;
    pair[1].starts_early = !first;
    Setting s(pair);
    for (int round = 0; round < 2; round++) {
      REQUIRE(s.launch().ok());
      CHECK(s.driver().last_launch().starts_early == !first);
    }
    s.driver().configure("fail=cuLaunchKernelEx:2:999"); // last_launch is the first of the pair
    CHECK_FALSE(s.launch().ok());
    CHECK(s.driver().last_launch().starts_early == first);
  }
}

TEST_CASE("choose_schedule: takes the lowest cost") {
  CHECK(outcome_of({{"dear", {}, "n 2 *"}, {"cheap", {}, "n"}}) == "cheap");
  CHECK(outcome_of({{"cheap", {}, "n"}, {"dear", {}, "n 2 *"}}) == "cheap");
  CHECK(outcome_of({{"first", {}, "n"}, {"second", {}, "n"}}) == "first"); // a tie
  CHECK(outcome_of({{"plain"}, {"with a cost", {}, "n"}}) == "with a cost");
  CHECK(outcome_of({{"plain"}, {"second", {}, "", {"1"}}}) == "plain");
  CHECK(outcome_of({{"negative", {}, "0 n -"}, {"zero", {}, "0"}}) == "negative");
  // A cost that cannot be computed is an unknown cost.
  CHECK(outcome_of({{"unknown", {}, "n 0 /"}, {"known", {}, "9223372036854775807"}}) == "known");
  CHECK(outcome_of({{"unknown", {}, "n 0 /"}, {"plain"}}) == "unknown");
}

TEST_CASE("choose_schedule: costs and guards use grid and SM count") {
  const std::vector<ConfigText> schedules = {{"waves", {}, "programs0 sms cdiv 10 *"},
                                             {"fixed", {}, "25"}};
  CHECK(outcome_of(schedules, "sms=16") == "waves");
  CHECK(outcome_of(schedules, "sms=6") == "fixed");
  Setting s({{"square", {"programs0 programs1 =="}, "1"}, {"plain"}});
  abi::kernel kernel = s.kernel.kernel();
  abi::variant variant = kernel.variants[0];
  variant.grid[0] = nullptr;
  kernel.variants = &variant;
  auto ran = [&](grid extent) {
    REQUIRE(s.machine.runtime().launch(kernel, {}, &s.args, nullptr, &extent).ok());
    return noted_launch().schedule;
  };
  CHECK(ran({3, 3, 2}) == "square");
  CHECK(s.driver().last_launch().grid[2] == 2);
  CHECK(ran({3, 4, 2}) == "plain");
}

TEST_CASE("choose_schedule: skips a schedule with a false guard") {
  ConfigText guarded = {"guarded", {"n 0 >", "n 128 % 0 =="}, "1"};
  SUBCASE("beside another schedule") {
    Setting s({guarded, {"plain"}});
    CHECK(s.outcome() == "guarded");
    s.args.n = 64;
    CHECK(s.outcome() == "plain");
  }
  SUBCASE("as the only schedule") {
    const std::vector<ConfigText> alone = {guarded};
    Setting s(alone);
    CHECK(s.outcome() == "guarded");
    s.args.n = 64;
    CHECK(s.outcome() == "requirement_failed n 128 % 0 ==");
    CHECK(s.driver().launches() == 1);
  }
  CHECK(outcome_of({{"schedule", {"n 0 / 1 =="}}}) == "invalid_argument n 0 / 1 ==");
  CHECK(outcome_of({{"schedule", {"n 0 / 1 =="}, "1"}, {"plain"}}) == "plain");
  // With several schedules, the last one's guard: schedules are ordered from strict to relaxed.
  CHECK(outcome_of({{"one", {"n 3 =="}}, {"other", {"n 5 =="}}}) == "requirement_failed n 5 ==");
}

TEST_CASE("choose_schedule: skips tensors that TMA cannot address") {
  TensorText half;
  check_fits(half);
  SUBCASE("address: multiple of 16 bytes, offset included") {
    auto skewed = [](ConfigArgs &args) {
      args.source = static_cast<const char *>(args.source) + 14;
    };
    check_refused(half, skewed);
    check_fits({.offset = "1"}, skewed);
    check_fits({.offset = "0 7 -"}, skewed);
    check_refused({.offset = "1"});
    check_fits({.offset = "n"});
    check_refused({.offset = "9223372036854775807"});
    check_refused({.offset = "n 0 /"});
  }
  SUBCASE("address: not null") {
    check_refused(half, [](ConfigArgs &args) { args.source = nullptr; });
  }
  SUBCASE("strides: multiples of 16 bytes from 0 to below 2^40") {
    auto strided = [](const char *stride) { return TensorText{.strides = {stride}}; };
    check_fits(strided("8"));
    check_fits(strided("0"));
    check_refused(strided("9"));
    check_refused(strided("0 8 -"));
    check_fits(strided("549755813880"));    // 2^40 - 16 bytes
    check_refused(strided("549755813888")); // 2^40
    check_refused(strided("4611686018427387904"));
    check_refused(strided("n 0 /"));
  }
  SUBCASE("sizes: 1 to 2^32") {
    auto sized = [](const char *size) { return TensorText{.sizes = {"64", size}}; };
    check_fits(sized("1"));
    check_refused(sized("0"));
    check_refused(sized("0 1 -"));
    check_fits(sized("4294967296"));
    check_refused(sized("4294967297"));
    check_refused(sized("n 0 /"));
  }
  SUBCASE("rank 1: no strides") { check_fits({.sizes = {"n"}, .strides = {}, .box = {64}}); }
  SUBCASE("rank 5: checks all axes") {
    TensorText five = {.sizes = {"64", "2", "2", "2", "2"},
                       .strides = {"64", "128", "256", "512"},
                       .box = {64, 1, 1, 1, 1}};
    check_fits(five);
    five.strides[3] = "513";
    check_refused(five);
    five.strides[3] = "512";
    five.sizes[4] = "0";
    check_refused(five);
  }
}

TEST_CASE("schedule: returns the driver's tensor map error") {
  Setting s({with_map({.box = {0, 8}})}); // an empty box: an error of the generator
  status result = s.launch();
  CHECK(result.cuda_result() == 1);
  CHECK(std::string(result.argument()) == "cuTensorMapEncodeTiled");
  CHECK(s.driver().launches() == 0);
}

TEST_CASE("choose_schedule: skips tensor maps, when unsupported") {
  const char *const settings = "missing=cuTensorMapEncodeTiled";
  CHECK(outcome_of({with_map({}), {"plain"}}, settings) == "plain");
  CHECK(outcome_of({{"number", {}, "1", {}, 1, {{hidden_kind::i32, "n"}}}}, settings) == "number");
  Setting alone({with_map({})}, settings);
  CHECK(alone.outcome() == "driver_too_old cuTensorMapEncodeTiled");
}

TEST_CASE("choose_schedule: skips invalid block counts") {
  auto alone = [](const char *blocks, unsigned cluster = 1) {
    return outcome_of({{"schedule", {}, "1", {blocks}, cluster}});
  };
  CHECK(outcome_of({{"schedule", {}, "1", {"0"}}, {"plain"}}) == "plain");
  CHECK(alone("1") == "schedule");
  CHECK(alone("0") == "invalid_argument blocks");
  CHECK(alone("0 1 -") == "invalid_argument grid");
  CHECK(alone("2147483648") == "invalid_argument grid");
  CHECK(alone("n 0 /") == "invalid_argument grid");
  CHECK(alone("6", 2) == "schedule");
  CHECK(alone("7", 2) == "invalid_argument blocks");
  CHECK(alone("6", 0) == "invalid_argument blocks"); // a cluster has at least one block
  // Without blocks, one block per program: 16.
  CHECK(outcome_of({{"schedule", {}, "1", {}, 4}}) == "schedule");
  CHECK(outcome_of({{"schedule", {}, "1", {}, 3}}) == "invalid_argument blocks");
}

TEST_CASE("schedule: sets the shared memory of a block") {
  auto bytes_of = [](const std::string &bytes, const std::string &settings = "") {
    ConfigText text = {"schedule", {}, "1"};
    text.shared_bytes = bytes;
    text.image_shared_bytes = 100 * 1024; // above 48 KiB, so the runtime raises the limit
    Setting s({text}, settings);
    REQUIRE(s.launch().ok());
    CHECK(noted_launch().schedule == "schedule");
    CHECK(s.driver().calls("cuKernelSetAttribute") == 1);
    return s.driver().last_launch().shared_bytes;
  };
  CHECK(bytes_of("") == 100 * 1024);
  CHECK(bytes_of("0") == 0);
  CHECK(bytes_of("n 4 *") == 4096);
  CHECK(bytes_of("n 100 *") == 100 * 1024);
  CHECK(bytes_of("programs0 sms min 256 *", "sms=6") == 6 * 256);
}

TEST_CASE("schedule: shared memory is separate in a pair") {
  std::vector<ConfigText> pair = pair_of_configs("");
  pair[0].image_shared_bytes = pair[1].image_shared_bytes = 4096;
  auto last_bytes = [&] {
    Setting s(pair);
    REQUIRE(s.launch().ok());
    CHECK(s.driver().launches() == 2);
    return s.driver().last_launch().shared_bytes;
  };
  pair[0].shared_bytes = "n";
  CHECK(last_bytes() == 4096);
  pair[0].shared_bytes = "", pair[1].shared_bytes = "n";
  CHECK(last_bytes() == 1024);
  pair[1].shared_bytes = "4097"; // the second does not fit, so the first does not run
  CHECK(outcome_of(pair) == "invalid_argument shared memory");
}

TEST_CASE("choose_schedule: skips invalid sizes of shared memory") {
  auto with_bytes = [](const char *bytes) {
    ConfigText text = {"schedule", {}, "1"};
    text.shared_bytes = bytes;
    text.image_shared_bytes = 4096;
    return text;
  };
  for (const char *bytes :
       {"n 4 * 1 +", "0 1 -", "n 0 /", "9223372036854775807 1 +", "4294967296"}) {
    CAPTURE(bytes);
    CHECK(outcome_of({with_bytes(bytes)}) == "invalid_argument shared memory");
    CHECK(outcome_of({with_bytes(bytes), {"plain"}}) == "plain");
  }
  CHECK(outcome_of({with_bytes("n 4 *"), {"plain"}}) == "schedule");
  CHECK(outcome_of({with_bytes("0"), {"plain"}}) == "schedule");
}

TEST_CASE("choose_schedule: skips integers that overflow their type") {
  auto alone = [](hidden_kind kind, const char *value) {
    return outcome_of({{"schedule", {}, "1", {}, 1, {{kind, value}}}});
  };
  CHECK(alone(hidden_kind::i32, "2147483647") == "schedule");
  CHECK(alone(hidden_kind::i32, "2147483648") == "invalid_argument 2147483648");
  CHECK(alone(hidden_kind::i64, "2147483648") == "schedule");
  CHECK(alone(hidden_kind::i64, "n 0 /") == "invalid_argument n 0 /");
  CHECK(outcome_of({{"schedule", {}, "1", {}, 1, {{hidden_kind::i64, "n 0 /"}}}, {"plain"}}) ==
        "plain");
}

TEST_CASE("choose_schedule: tries only the code that fits best") {
  const std::vector<ConfigText> schedules = {{"one", {}, "2"}, {"other", {}, "1"}};
  CHECK(outcome_of(schedules) == "other");
  CHECK(outcome_of(schedules, "gpu=80") == "for 80");
  // No schedule of the better code fits. The launch does not try code for an older GPU: the user
  // would not notice the lower speed.
  CHECK(outcome_of({{"one", {"n 3 =="}}}) == "requirement_failed n 3 ==");
}

TEST_CASE("launch: skips a variant without a fitting schedule") {
  Setting s({{"large", {"n 128 % 0 =="}, "1"}});
  s.kernel.add_variant(16, {{"small"}});
  CHECK(s.outcome() == "large");
  s.args.n = 64 * 17;
  CHECK(s.outcome() == "small");
  CHECK(s.driver().last_launch().grid[0] == 68);
  const std::int32_t choice = 64;
  status named = s.machine.runtime().launch(s.kernel.kernel(), {}, &s.args, &choice, nullptr);
  CHECK(named.code() == status_code::requirement_failed);
}

TEST_CASE("launch: a variant without a cost loses to one with a cost") {
  Setting s({{"large", {"n 128 % 0 =="}, "1"}, {"large without a cost"}}, "sms=10");
  s.kernel.add_variant(16, {{"small", {}, "1"}});
  s.args.n = 64 * 20;
  CHECK(s.outcome() == "large");
  s.args.n = 64 * 21;
  CHECK(s.outcome() == "small");
}

TEST_CASE("launch: without costs, the first variant that fills the device runs") {
  Setting s({{"large", {"n 128 % 0 =="}}, {"other"}}, "sms=10");
  s.kernel.add_variant(16, {{"small"}});
  s.args.n = 64 * 21;
  CHECK(s.outcome() == "other");
}

TEST_CASE("preload: loads all schedules for the device only") {
  Setting s({with_map({}), {"one", {"n 3 =="}}, {"plain"}});
  REQUIRE(s.machine.runtime().preload(s.kernel.kernel(), nullptr, abi::current).ok());
  CHECK(s.driver().counters().libraries == 3);
  CHECK(s.driver().calls("cuFuncLoad") == 3);
  CHECK(s.encoded() == 0);
  REQUIRE(s.launch().ok());
  CHECK(s.driver().calls("cuLibraryLoadData") == 3);
}

TEST_CASE("info: lists all schedules of all GPUs") {
  Machine machine(Machine::no_file);
  ConfigKernel kernel({with_map({}), {"128x256 wgmma"}});
  span<image_info> infos = machine.runtime().info(kernel.kernel(), nullptr);
  REQUIRE(infos.size() == 3);
  CHECK(std::string(infos[0].gpu) == "sm_80");
  CHECK(std::string(infos[1].gpu) == "sm_90a");
  CHECK(std::string(infos[1].schedule) == "map");
  CHECK(std::string(infos[2].gpu) == "sm_90a");
  CHECK(std::string(infos[2].schedule) == "128x256 wgmma");
}

TEST_CASE("launch: refuses wrong arguments before any schedule") {
  Setting s({with_map({})});
  s.kernel.parameters[0].nullable = false;
  s.args.source = nullptr;
  CHECK(s.outcome() == "null_pointer source");
  s.args = schedule_args();
  s.args.n = 0; // an empty grid
  CHECK(s.launch().ok());
  CHECK(s.driver().calls() == 0);
}

TEST_CASE("schedule: captured launch keeps its hidden parameters") {
  ConfigText schedule = with_map({});
  schedule.hidden.push_back({hidden_kind::i32, "n 3 *"});
  Setting s({schedule});
  s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream();
  REQUIRE(s.launch().ok());
  NotedLaunch first = noted_launch();
  REQUIRE(s.driver().cuStreamBeginCapture_v2(stream, 0) == cu::success);
  s.args.n = 64;
  REQUIRE(s.machine.runtime()
              .launch(s.kernel.kernel(), as_stream(stream), &s.args, nullptr, nullptr)
              .ok());
  s.args.n = 128;
  cu::Graph *graph = nullptr;
  cu::GraphExec *exec = nullptr;
  REQUIRE(s.driver().cuStreamEndCapture(stream, &graph) == cu::success);
  REQUIRE(s.driver().cuGraphInstantiateWithFlags(&exec, graph, 0) == cu::success);
  REQUIRE(s.launch().ok());
  CHECK(noted_launch().number(1) == 128 * 3);
  REQUIRE(s.driver().cuGraphLaunch(exec, stream) == cu::success);
  CHECK(noted_launch().number(1) == 64 * 3);
  CHECK(noted_launch().hidden[0] != first.hidden[0]);
}
