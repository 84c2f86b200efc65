// Tests runtime/src/form.cpp: which form of a variant runs, what it is given, and why not.

#include "runtime/form_kernel.h"
#include "runtime/machine.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace tritonc;
using abi::hidden_kind;

namespace {

/// A Hopper machine with one kernel.
struct Setting {
  explicit Setting(const std::vector<FormText> &forms, const std::string &settings = "")
      : machine(Machine::as_driver, settings), kernel(forms) {}

  status launch() { return machine.runtime().launch(kernel.kernel(), {}, &args, nullptr, nullptr); }
  /// The form that ran, or what the launch said.
  std::string outcome() {
    status result = launch();
    if (!result.ok())
      return std::string(result.name()) + " " + result.subject();
    return noted_form().form;
  }
  StandIn &driver() { return machine.driver(); }
  int encoded() { return driver().calls("cuTensorMapEncodeTiled"); }

  Machine machine;
  FormKernel kernel;
  FormArgs args = form_args();
};

std::string outcome_of(const std::vector<FormText> &forms, const std::string &settings = "") {
  Setting setting(forms, settings);
  return setting.outcome();
}

FormText with_map(const TensorText &map) { return {"map", {}, "1", {}, 1, {map}}; }

/// What the form with this map comes to where there is a plain one, too, and where there is none.
struct Outcomes {
  std::string beside_plain, alone;
};

std::string outcome_with(const std::vector<FormText> &forms, void (*change)(FormArgs &)) {
  Setting setting(forms);
  if (change)
    change(setting.args);
  return setting.outcome();
}

Outcomes outcomes(const TensorText &map, void (*change)(FormArgs &)) {
  return {outcome_with({with_map(map), {"plain"}}, change), outcome_with({with_map(map)}, change)};
}

void check_fits(const TensorText &map, void (*change)(FormArgs &) = nullptr) {
  Outcomes of = outcomes(map, change);
  CHECK(of.beside_plain == "map");
  CHECK(of.alone == "map");
}

void check_refused(const TensorText &map, void (*change)(FormArgs &) = nullptr) {
  Outcomes of = outcomes(map, change);
  CHECK(of.beside_plain == "plain");
  CHECK(of.alone == "unsuitable_tensor " + map.parameter);
}

} // namespace

TEST_CASE("a form says blocks, cluster and what the kernel is given behind its arguments") {
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
      {{"form",
        {},
        "",
        {"programs0 multiprocessors min 2 *", "3"},
        2,
        {{hidden_kind::i32, "0 n -"}, source, {hidden_kind::i64, "n 1099511627776 *"}, target}}},
      "multiprocessors=6");
  REQUIRE(s.launch().ok());
  cu::LastLaunch launch = s.driver().last_launch();
  CHECK(launch.grid[0] == 12); // 16 programs, 6 multiprocessors
  CHECK(launch.grid[1] == 3);
  CHECK(launch.grid[2] == 1);
  CHECK(launch.cluster[0] == 2);
  NotedForm given = noted_form();
  CHECK(given.args.source == s.args.source);
  CHECK(given.args.target == s.args.target);
  CHECK(given.args.n == 1024);
  CHECK(given.args.stride == 64);
  REQUIRE(given.hidden.size() == 4);
  CHECK(given.number(0) == -1024);
  CHECK(given.number(2) == std::int64_t(1024) << 40);

  // The maps are what the driver makes of these.
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

TEST_CASE("the plain form is given the arguments alone, and a block for each program") {
  Setting s({{"plain"}});
  REQUIRE(s.launch().ok());
  CHECK(s.driver().last_launch().grid[0] == 16);
  CHECK(s.driver().last_launch().cluster[0] == 1);
  CHECK(noted_form().hidden.empty());
  CHECK(s.encoded() == 0);
}

TEST_CASE("a cluster is an attribute of the launch, and no cluster is none") {
  // The stand-in refuses clusters that it is told of, and the code does not know.
  Setting two({{"form", {}, "", {"4"}, 2, {}, false}});
  CHECK(two.launch().cuda_result() == 801);
  Setting one({{"form", {}, "", {"4"}, 1, {}, false}});
  CHECK(one.launch().ok());
}

TEST_CASE("a launch may start early if its form says so, with drivers from 12.3 on") {
  auto form = [](bool starts_early, unsigned cluster) {
    FormText text = {"form", {}, "", {"4"}, cluster};
    text.starts_early = starts_early;
    return text;
  };
  for (unsigned cluster : {1, 2})
    for (bool starts_early : {false, true})
      for (const char *version : {"version=12020", "version=12030"}) {
        CAPTURE(cluster);
        CAPTURE(starts_early);
        CAPTURE(version);
        Setting s({form(starts_early, cluster)}, version);
        for (int round = 1; round <= 2; round++) { // the second is the same again
          CHECK(s.outcome() == "form");
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

TEST_CASE("of two launches that share the work each says for itself whether it starts early") {
  for (bool first : {false, true}) {
    CAPTURE(first);
    std::vector<FormText> pair = pair_of_forms("64");
    pair[0].starts_early = first;
    pair[1].starts_early = !first;
    Setting s(pair);
    for (int round = 0; round < 2; round++) {
      REQUIRE(s.launch().ok());
      CHECK(s.driver().last_launch().starts_early == !first);
    }
    s.driver().configure("fail=cuLaunchKernelEx:2:999"); // the first is the last, then
    CHECK_FALSE(s.launch().ok());
    CHECK(s.driver().last_launch().starts_early == first);
  }
}

TEST_CASE("the form that costs least runs") {
  CHECK(outcome_of({{"dear", {}, "n 2 *"}, {"cheap", {}, "n"}}) == "cheap");
  CHECK(outcome_of({{"cheap", {}, "n"}, {"dear", {}, "n 2 *"}}) == "cheap");
  CHECK(outcome_of({{"first", {}, "n"}, {"second", {}, "n"}}) == "first"); // a tie
  CHECK(outcome_of({{"plain"}, {"with a cost", {}, "n"}}) == "with a cost");
  CHECK(outcome_of({{"plain"}, {"second", {}, "", {"1"}}}) == "plain");
  CHECK(outcome_of({{"negative", {}, "0 n -"}, {"zero", {}, "0"}}) == "negative");
  // What cannot be computed is as good as no cost.
  CHECK(outcome_of({{"unknown", {}, "n 0 /"}, {"known", {}, "9223372036854775807"}}) == "known");
  CHECK(outcome_of({{"unknown", {}, "n 0 /"}, {"plain"}}) == "unknown");
}

TEST_CASE("costs and guards know the grid and the device") {
  const std::vector<FormText> forms = {{"waves", {}, "programs0 multiprocessors cdiv 10 *"},
                                       {"fixed", {}, "25"}};
  CHECK(outcome_of(forms, "multiprocessors=16") == "waves");
  CHECK(outcome_of(forms, "multiprocessors=6") == "fixed");
  Setting s({{"square", {"programs0 programs1 =="}, "1"}, {"plain"}});
  abi::kernel kernel = s.kernel.kernel();
  abi::variant variant = kernel.variants[0];
  variant.grid[0] = nullptr;
  kernel.variants = &variant;
  auto ran = [&](grid extent) {
    REQUIRE(s.machine.runtime().launch(kernel, {}, &s.args, nullptr, &extent).ok());
    return noted_form().form;
  };
  CHECK(ran({3, 3, 2}) == "square");
  CHECK(s.driver().last_launch().grid[2] == 2);
  CHECK(ran({3, 4, 2}) == "plain");
}

TEST_CASE("a form whose guard does not hold is passed over, and without another one named") {
  FormText guarded = {"guarded", {"n 0 >", "n 128 % 0 =="}, "1"};
  SUBCASE("beside another one") {
    Setting s({guarded, {"plain"}});
    CHECK(s.outcome() == "guarded");
    s.args.n = 64;
    CHECK(s.outcome() == "plain");
  }
  SUBCASE("alone") {
    const std::vector<FormText> alone = {guarded};
    Setting s(alone);
    CHECK(s.outcome() == "guarded");
    s.args.n = 64;
    CHECK(s.outcome() == "requirement_failed n 128 % 0 ==");
    CHECK(s.driver().launches() == 1);
  }
  CHECK(outcome_of({{"form", {"n 0 / 1 =="}}}) == "invalid_argument n 0 / 1 ==");
  CHECK(outcome_of({{"form", {"n 0 / 1 =="}, "1"}, {"plain"}}) == "plain");
  // Of several, the last: they come from demanding to modest.
  CHECK(outcome_of({{"one", {"n 3 =="}}, {"other", {"n 5 =="}}}) == "requirement_failed n 5 ==");
}

TEST_CASE("a tensor that the copy engine cannot take is another form's") {
  TensorText half;
  check_fits(half);
  SUBCASE("its address is a multiple of 16 bytes, offset included") {
    auto skewed = [](FormArgs &args) { args.source = static_cast<const char *>(args.source) + 14; };
    check_refused(half, skewed);
    check_fits({.offset = "1"}, skewed);
    check_fits({.offset = "0 7 -"}, skewed);
    check_refused({.offset = "1"});
    check_fits({.offset = "n"});
    check_refused({.offset = "9223372036854775807"});
    check_refused({.offset = "n 0 /"});
  }
  SUBCASE("there is one") {
    check_refused(half, [](FormArgs &args) { args.source = nullptr; });
  }
  SUBCASE("its strides are positive multiples of 16 bytes below 2^40") {
    auto strided = [](const char *stride) { return TensorText{.strides = {stride}}; };
    check_fits(strided("8"));
    check_refused(strided("0"));
    check_refused(strided("9"));
    check_refused(strided("0 8 -"));
    check_fits(strided("549755813880"));    // 2^40 - 16 bytes
    check_refused(strided("549755813888")); // 2^40
    check_refused(strided("4611686018427387904"));
    check_refused(strided("n 0 /"));
  }
  SUBCASE("its sizes are from 1 to 2^32") {
    auto sized = [](const char *size) { return TensorText{.sizes = {"64", size}}; };
    check_fits(sized("1"));
    check_refused(sized("0"));
    check_refused(sized("0 1 -"));
    check_fits(sized("4294967296"));
    check_refused(sized("4294967297"));
    check_refused(sized("n 0 /"));
  }
  SUBCASE("with one axis it has no strides") {
    check_fits({.sizes = {"n"}, .strides = {}, .box = {64}});
  }
  SUBCASE("with five all count") {
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

TEST_CASE("what the driver refuses all the same is its status") {
  Setting s({with_map({.box = {0, 8}})}); // a box of nothing: a mistake of the generator
  status result = s.launch();
  CHECK(result.cuda_result() == 1);
  CHECK(std::string(result.subject()) == "cuTensorMapEncodeTiled");
  CHECK(s.driver().launches() == 0);
}

TEST_CASE("a driver without tensor maps runs forms without them") {
  const char *const settings = "missing=cuTensorMapEncodeTiled";
  CHECK(outcome_of({with_map({}), {"plain"}}, settings) == "plain");
  CHECK(outcome_of({{"number", {}, "1", {}, 1, {{hidden_kind::i32, "n"}}}}, settings) == "number");
  Setting alone({with_map({})}, settings);
  CHECK(alone.outcome() == "driver_too_old cuTensorMapEncodeTiled");
}

TEST_CASE("blocks that the driver would refuse are another form's") {
  auto alone = [](const char *blocks, unsigned cluster = 1) {
    return outcome_of({{"form", {}, "1", {blocks}, cluster}});
  };
  CHECK(outcome_of({{"form", {}, "1", {"0"}}, {"plain"}}) == "plain");
  CHECK(alone("1") == "form");
  CHECK(alone("0") == "invalid_argument blocks");
  CHECK(alone("0 1 -") == "invalid_argument grid");
  CHECK(alone("2147483648") == "invalid_argument grid");
  CHECK(alone("n 0 /") == "invalid_argument grid");
  CHECK(alone("6", 2) == "form");
  CHECK(alone("7", 2) == "invalid_argument blocks");
  // Without blocks of its own, those of the grid: 16 programs.
  CHECK(outcome_of({{"form", {}, "1", {}, 4}}) == "form");
  CHECK(outcome_of({{"form", {}, "1", {}, 3}}) == "invalid_argument blocks");
}

TEST_CASE("a number that its type cannot hold is another form's") {
  auto alone = [](hidden_kind kind, const char *value) {
    return outcome_of({{"form", {}, "1", {}, 1, {{kind, value}}}});
  };
  CHECK(alone(hidden_kind::i32, "2147483647") == "form");
  CHECK(alone(hidden_kind::i32, "2147483648") == "invalid_argument 2147483648");
  CHECK(alone(hidden_kind::i64, "2147483648") == "form");
  CHECK(alone(hidden_kind::i64, "n 0 /") == "invalid_argument n 0 /");
  CHECK(outcome_of({{"form", {}, "1", {}, 1, {{hidden_kind::i64, "n 0 /"}}}, {"plain"}}) ==
        "plain");
}

TEST_CASE("forms are of the code that fits the device, not of other code") {
  const std::vector<FormText> forms = {{"one", {}, "2"}, {"other", {}, "1"}};
  CHECK(outcome_of(forms) == "other");
  CHECK(outcome_of(forms, "gpu=80") == "for 80");
  // No form of the better code fits: code for an older GPU is not tried, it would be slow
  // unnoticed.
  CHECK(outcome_of({{"one", {"n 3 =="}}}) == "requirement_failed n 3 ==");
}

TEST_CASE("a variant none of whose forms fits is passed over") {
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

TEST_CASE("preload loads all forms for the device, and no others") {
  Setting s({with_map({}), {"one", {"n 3 =="}}, {"plain"}});
  REQUIRE(s.machine.runtime().preload(s.kernel.kernel(), nullptr, abi::current).ok());
  CHECK(s.driver().counters().libraries == 3);
  CHECK(s.driver().calls("cuFuncLoad") == 3);
  CHECK(s.encoded() == 0);
  REQUIRE(s.launch().ok());
  CHECK(s.driver().calls("cuLibraryLoadData") == 3);
}

TEST_CASE("info lists all forms of all GPUs") {
  Machine machine(Machine::no_file);
  FormKernel kernel({with_map({}), {"128x256 wgmma"}});
  span<image_info> infos = machine.runtime().info(kernel.kernel(), nullptr);
  REQUIRE(infos.size() == 3);
  CHECK(std::string(infos[0].gpu) == "sm_80");
  CHECK(std::string(infos[1].gpu) == "sm_90a");
  CHECK(std::string(infos[1].form) == "map");
  CHECK(std::string(infos[2].gpu) == "sm_90a");
  CHECK(std::string(infos[2].form) == "128x256 wgmma");
}

TEST_CASE("wrong arguments are refused before any form is looked at, without a driver") {
  Setting s({with_map({})});
  s.kernel.parameters[0].nullable = false;
  s.args.source = nullptr;
  CHECK(s.outcome() == "null_pointer source");
  s.args = form_args();
  s.args.n = 0; // an empty grid
  CHECK(s.launch().ok());
  CHECK(s.driver().calls() == 0);
}

TEST_CASE("a captured launch runs with the maps and numbers of its capture") {
  FormText form = with_map({});
  form.hidden.push_back({hidden_kind::i32, "n 3 *"});
  Setting s({form});
  s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream();
  REQUIRE(s.launch().ok());
  NotedForm first = noted_form();
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
  CHECK(noted_form().number(1) == 128 * 3);
  REQUIRE(s.driver().cuGraphLaunch(exec, stream) == cu::success);
  CHECK(noted_form().number(1) == 64 * 3);
  CHECK(noted_form().hidden[0] != first.hidden[0]);
}
