// Tests generator/tune/tuning_data.cpp: measurements as JSON, and as a part of a library.

#include "tune/tuning_data.h"

#include "emit/cpp/header.h"
#include "emit/cpp/registration.h"
#include "emit/tables.h"
#include "support/contains.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

namespace {

TuningEntry entry(int64_t n, std::map<std::string, TuningTime> times) {
  return {.kernel = "scale",
          .types = "TYPE=half",
          .gpu = "NVIDIA H200",
          .arch = 90,
          .num_sms = 132,
          .problem = {{"n", n}},
          .parameters = "const f16 *x, f16 *y, i32 n",
          .times = std::move(times)};
}

TuningData data(std::vector<TuningEntry> entries) {
  TuningData data;
  for (TuningEntry &one : entries)
    data.add(std::move(one));
  return data;
}

// scale<TYPE> with SIZE = 256, 1024.
Library library() {
  KernelEntry kernel;
  kernel.name = "scale";
  kernel.axes = {{"TYPE", false, {{"half", {}}, {"float", {}}}},
                 {"SIZE", true, {{"256", {}}, {"1024", {}}}}};
  for (int type : {0, 1})
    for (int size : {0, 1}) {
      std::string element = type ? "f32" : "f16";
      Variant variant;
      variant.values = {type, size};
      variant.plan.grid = {Expr::parameter(2)};
      variant.parameters = {
          {.name = "x", .element = element, .is_pointer = true, .read_only = true},
          {.name = "y", .element = element, .is_pointer = true},
          {.name = "n", .element = "i32"}};
      variant.preference = 1 - size;
      kernel.variants.push_back(variant);
    }
  return {.name = "k", .source_file = "k.tc", .tool = "tritonc", .kernels = {kernel}};
}

std::string attached(const TuningData &data, Library &to) {
  std::string said;
  for (const Error &failure : attach(data, to))
    said += text(failure) + "\n";
  return said;
}

} // namespace

TEST_CASE("read_tuning_data: reads what json wrote") {
  TuningEntry cold = entry(64, {{"SIZE=256", {1500, {}, ""}}});
  cold.is_cold = true;
  TuningData written = data({entry(4096, {{"SIZE=1024", {2100, 1900, "128x128 wgmma"}}}), cold});
  TemporaryFolder files;
  files.write("t.json", written.json());
  Result<TuningData> read = read_tuning_data(files.path("t.json"));
  REQUIRE(read);
  CHECK(read->json() == written.json());
  CHECK(contains(written.json(), "\"ns\":2100"));
  CHECK(contains(written.json(), "\"cost\":1900"));
  CHECK(contains(written.json(), "\"cache\":\"cold\""));
}

TEST_CASE("TuningData: json has one line per measurement, sorted") {
  std::string json = data({entry(4096, {{"SIZE=256", {3}}}), entry(512, {{"SIZE=256", {2}}}),
                           entry(64, {{"SIZE=256", {1}}})})
                         .json();
  CHECK(json.find("{\"n\":64}") < json.find("{\"n\":512}"));
  CHECK(json.find("{\"n\":512}") < json.find("{\"n\":4096}"));
  CHECK(std::count(json.begin(), json.end(), '\n') == 5);
}

TEST_CASE("find_unknown_kernels: names kernels that no source has") {
  TuningData tuning = data({entry(64, {{"SIZE=256", {1}}})});
  CHECK(find_unknown_kernels(tuning, {"scale", "other"}).empty());
  std::vector<Error> warnings = find_unknown_kernels(tuning, {"scael"});
  REQUIRE(warnings.size() == 1);
  CHECK(text(warnings[0]) ==
        "warning: tuning data contain the unknown kernel `scale`; known kernels: scael "
        "[-Wtuning-unknown-kernel]");
}

TEST_CASE("attach: names a problem that is not a parameter") {
  TuningEntry renamed = entry(64, {{"SIZE=256", {1}}});
  renamed.problem = {{"m", 64}};
  Library to = library();
  std::string said = attached(data({renamed}), to);
  CHECK(contains(said, "ignoring tuning data of `scale`: the problems name `m`, which is not a "
                       "parameter; parameters: "));
  CHECK(to.kernels[0].measurements.empty());
}

TEST_CASE("TuningData: add merges, later measurement wins") {
  TuningData first = data({entry(64, {{"SIZE=256", {10}}}), entry(128, {{"SIZE=256", {20}}})});
  TuningData second = data({entry(128, {{"SIZE=1024", {15}}}), entry(256, {{"SIZE=256", {30}}})});
  TuningData both = first;
  both.add(second);
  CHECK(both.entries().size() == 3);
  CHECK(contains(both.json(), "{\"SIZE=1024\":{\"ns\":15}}"));
  CHECK(!contains(both.json(), "\"ns\":20"));
  // The GPU and the types are part of the key.
  TuningEntry other = entry(64, {{"SIZE=256", {11}}});
  other.gpu = "NVIDIA H100";
  both.add(other);
  other.types = "TYPE=float";
  both.add(other);
  CHECK(both.entries().size() == 5);
}

TEST_CASE("read_tuning_data: rejects malformed files") {
  TemporaryFolder files;
  auto problem = [&](const std::string &contents) {
    files.write("t.json", contents);
    Result<TuningData> read = read_tuning_data(files.path("t.json"));
    REQUIRE(!read);
    return text(read.error());
  };
  CHECK(contains(problem("[1"), "cannot read tuning data from"));
  CHECK(contains(problem("{}"), "it has no measurements"));
  CHECK(contains(problem(R"({"schema": 1, "measurements": []})"),
                 "expected schema 2; measure again with this tritonc"));
  CHECK(
      contains(problem(R"({"schema": 2, "measurements": [3]})"), "measurement 1 lacks an object"));
  std::string one = data({entry(64, {{"SIZE=256", {10}}})}).json();
  for (const char *member : {"kernel", "types", "gpu", "name", "arch", "sms", "parameters", "cache",
                             "problem", "times", "ns"}) {
    CAPTURE(member);
    std::string broken = one;
    broken.replace(broken.find("\"" + std::string(member) + "\""), 2, "\"_");
    CHECK(contains(problem(broken), std::string("measurement 1 lacks ") + member));
  }
  CHECK(!read_tuning_data(files.path("nowhere.json")));
}

TEST_CASE("attach: adds measurements to the kernel with the types") {
  Library to = library();
  CHECK(attached(data({entry(64, {{"SIZE=256", {10, 9, "schedule"}}, {"SIZE=1024", {20}}})}), to) ==
        "");
  REQUIRE(to.kernels[0].measurements.size() == 1);
  const Measurement &measurement = to.kernels[0].measurements[0];
  CHECK(measurement.problem == std::vector<std::pair<int, int64_t>>{{2, 64}});
  REQUIRE(measurement.times.size() == 2);
  CHECK(measurement.times[0].variant == 0);
  CHECK(measurement.times[0].nanoseconds == 10);
  CHECK(measurement.times[0].schedule == "schedule");
  CHECK(measurement.times[1].variant == 1);
}

TEST_CASE("attach: ignores whether a pointer is nullable") {
  TuningEntry measured = entry(64, {{"SIZE=256", {10}}, {"SIZE=1024", {20}}});
  for (bool is_nullable : {false, true}) {
    Library to = library();
    for (Variant &variant : to.kernels[0].variants)
      variant.parameters[0].nullable = is_nullable;
    measured.parameters = signature_of(to.kernels[0].variants[0].parameters);
    for (Variant &variant : to.kernels[0].variants)
      variant.parameters[0].nullable = !is_nullable;
    CHECK(signature_of(to.kernels[0].variants[0].parameters) != measured.parameters);
    CHECK(attached(data({measured}), to) == "");
    CHECK(to.kernels[0].measurements.size() == 1);
  }
}

TEST_CASE("attach: skips other kernels and types without a warning") {
  Library to = library();
  TuningEntry kernel = entry(64, {{"SIZE=256", {10}}}), types = kernel;
  kernel.kernel = "add";
  types.types = "TYPE=double";
  CHECK(attached(data({kernel, types}), to) == "");
  CHECK(to.kernels[0].measurements.empty());
}

TEST_CASE("attach: warns about measurements that no longer fit") {
  Library to = library();
  SUBCASE("other parameters") {
    TuningEntry one = entry(64, {{"SIZE=256", {10}}, {"SIZE=1024", {10}}});
    one.parameters = "const f16 *x, f16 *y, i64 n";
    std::string said = attached(data({one}), to);
    CHECK(contains(said, "warning: ignoring tuning data of `scale`: measured with parameters"));
    CHECK(contains(said, "`const f16 *x, f16 *y, i64 n`, but the kernel has "
                         "`const f16 *x, f16 *y, i32 n`"));
    CHECK(to.kernels[0].measurements.empty());
  }
  SUBCASE("unknown variants") {
    std::string said = attached(
        data({entry(64, {{"SIZE=256", {10}}, {"SIZE=1024", {10}}, {"SIZE=512", {1}}})}), to);
    CHECK(contains(said, "contain unknown variants: SIZE=512"));
    CHECK(to.kernels[0].measurements[0].times.size() == 2);
  }
  SUBCASE("variants without a measurement") {
    std::string said = attached(data({entry(64, {{"SIZE=256", {10}}})}), to);
    CHECK(contains(said, "tuning data of `scale` lack variants: SIZE=1024;"));
    CHECK(to.kernels[0].measurements.size() == 1);
  }
  SUBCASE("problems with different arguments") {
    TuningEntry one = entry(64, {{"SIZE=256", {10}}, {"SIZE=1024", {10}}}), other = one;
    other.problem = {};
    CHECK(contains(attached(data({one, other}), to), "the problems have different arguments"));
    CHECK(to.kernels[0].measurements.empty());
  }
}

TEST_CASE("make_tables: tuning tables follow the order of variants") {
  Library to = library();
  attached(data({entry(64, {{"SIZE=256", {1000}}, {"SIZE=1024", {2000}}}),
                 entry(4096, {{"SIZE=256", {4000}}, {"SIZE=1024", {1000}}})}),
           to);
  Result<Interface> interface = make_interface(to);
  REQUIRE(interface);
  Result<Tables> tables = make_tables(*interface);
  REQUIRE(tables);
  REQUIRE(tables->kernels[0].tunings.size() == 1);
  CHECK(tables->kernels[1].tunings.empty()); // float
  const TuningTable &tuning = tables->kernels[0].tunings[0];
  CHECK(tuning.arch == 90);
  CHECK(tuning.num_sms == 132);
  CHECK(tuning.axes == std::vector<int>{2});
  CHECK(tuning.problems == std::vector<int32_t>{6 * 1024, 12 * 1024});
  CHECK(tables->kernels[0].choices == std::vector<int32_t>{1024, 256}); // preferred first
  CHECK(tuning.times == std::vector<int16_t>{1024, 0, 0, 2048});
  CHECK(!tuning.beside_costs);
}

TEST_CASE("attach: specialized code of a variant has no measurements of its own") {
  Library to = library();
  std::vector<Variant> &variants = to.kernels[0].variants;
  for (size_t i = 0; i < variants.size(); i += 2) {
    Variant specialized = variants[i];
    specialized.plan.specialization = "n % 8";
    variants.insert(variants.begin() + std::ptrdiff_t(i), specialized);
  }
  CHECK(attached(data({entry(64, {{"SIZE=256", {}}, {"SIZE=1024", {}}})}), to) == "");
  REQUIRE(to.kernels[0].measurements.size() == 1);
  for (const Measurement::Time &time : to.kernels[0].measurements[0].times)
    CHECK(variants[time.variant].plan.specialization == "");
  Result<Interface> interface = make_interface(to);
  REQUIRE(interface);
  Result<Tables> tables = make_tables(*interface);
  REQUIRE(tables);
  CHECK(tables->kernels[0].tunings.size() == 1);
}

TEST_CASE("make_tables: beside_costs if all times have a cost") {
  Library to = library();
  attached(data({entry(64, {{"SIZE=256", {1000, 500, "a"}}, {"SIZE=1024", {2000, 2000, "b"}}})}),
           to);
  Result<Interface> interface = make_interface(to);
  REQUIRE(interface);
  const TuningTable tuning = (*make_tables(*interface)).kernels[0].tunings[0];
  CHECK(tuning.beside_costs);
  CHECK(tuning.times == std::vector<int16_t>{0, 1024});
  CHECK(tuning.schedule_names == std::vector<std::string>{"b", "a"});
  CHECK(tuning.schedules == std::vector<uint16_t>{0, 1});
}

TEST_CASE("make_tables: costs come from the current schedules") {
  Library to = library();
  auto formula = [](int64_t factor) {
    return Expr::binary(Expr::Kind::mul, Expr::parameter(2), Expr::constant(factor));
  };
  auto costs = [&](std::optional<int64_t> then) {
    Library measured = to;
    attached(data({entry(64, {{"SIZE=256", {1000, then, "baseline"}},
                              {"SIZE=1024", {2000, then, "baseline"}}})}),
             measured);
    Result<Interface> interface = make_interface(measured);
    REQUIRE(interface);
    return (*make_tables(*interface)).kernels[0].tunings[0].costs;
  };
  auto launch_of = [&](size_t variant) -> LaunchConfig & {
    return to.kernels[0].variants[variant].images[0].launch;
  };
  for (size_t variant : {0, 1}) { // SIZE=256, SIZE=1024
    to.kernels[0].variants[variant].images = {{.gpu = "sm_90a", .sm = 90, .suffix = 'a'}};
    launch_of(variant).cost = formula(variant == 0 ? 4 : 2);
  }
  const std::vector<int16_t> now{7 * 1024, 8 * 1024};
  CHECK(costs(std::nullopt) == now);
  CHECK(costs(4096) == now);
  SUBCASE("removed schedule keeps its measured cost") {
    launch_of(1).schedule = {.kind = Schedule::Kind::multistage, .tile = {1, 2, 3}};
    CHECK(costs(4096) == std::vector<int16_t>{12 * 1024, 8 * 1024});
    CHECK(costs(std::nullopt).empty()); // without this cost, there are no costs
  }
  SUBCASE("cost of an argument outside of the problem is kept") {
    launch_of(0).cost = Expr::parameter(0);
    CHECK(costs(4096) == std::vector<int16_t>{7 * 1024, 12 * 1024});
  }
  SUBCASE("code for another GPU is not used") {
    to.kernels[0].variants[0].images[0].sm = 100;
    CHECK(costs(4096) == std::vector<int16_t>{7 * 1024, 12 * 1024});
  }
  SUBCASE("closest code is used") {
    Image other = to.kernels[0].variants[0].images[0];
    other.suffix = 0;
    other.launch.cost = formula(1024);
    to.kernels[0].variants[0].images.push_back(other);
    CHECK(costs(4096) == now);
  }
}

TEST_CASE("self_contained_header: has tuning tables as constants") {
  Library to = library();
  attached(data({entry(64, {{"SIZE=256", {1000}}, {"SIZE=1024", {2000}}})}), to);
  Result<Interface> interface = make_interface(to);
  REQUIRE(interface);
  std::string header = self_contained_header(to, *interface, *make_tables(*interface));
  CHECK(contains(header, "inline constexpr std::int16_t times_0_0[] = {1024, 0};"));
  CHECK(contains(header, "inline constexpr std::int32_t problems_0_0[] = {6144};"));
  CHECK(contains(header, "inline constexpr tritonc::abi::tuning tunings_0[] = {"));
  CHECK(contains(header, "{\"NVIDIA H200\", 90, 132, tuned_axes_0_0, problems_0_0, times_0_0,"));
  // A header without code does not depend on tuning data.
  CHECK(object_mode_header(to, *interface) == [] {
    Library untuned = library();
    Result<Interface> its = make_interface(untuned);
    return object_mode_header(untuned, *its);
  }());
}
