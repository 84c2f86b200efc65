// Tests generator/jobs/kernel_cache.cpp: the class, and how `tritonc compile` uses the cache.

#include "jobs/kernel_cache.h"

#include "ir/parser.h"
#include "support/child_process.h"
#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"
#include "support/tool_run.h"
#include "unit/backend/fake_tool.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

namespace {

namespace fs = std::filesystem;

Toolchain tools() {
  Result<Toolchain> found = find_toolchain({});
  REQUIRE(found);
  return *found;
}

KernelCache open_cache(const std::string &directory) {
  Result<Cache> cache = Cache::open({.directory = directory});
  REQUIRE(cache);
  std::optional<KernelCache> kernels = KernelCache::open(*cache, tools());
  REQUIRE(kernels);
  return *kernels;
}

ir::Function function(const std::string &text) {
  ir::ParseResult result = ir::parse(text);
  REQUIRE_MESSAGE(result.function, result.error);
  return std::move(*result.function);
}

// A source, a cache, and a wrapper of ptxas that counts the assembled kernels.
class Project {
public:
  explicit Project(const std::string &source = scale_source)
      : ptxas("ptxas",
              "case \"$*\" in *--version*) ;; *) echo >>$(dirname $0)/runs ;; esac\nexec " +
                  tools().ptxas + " \"$@\"") {
    files.write("scale.tc", source);
  }

  struct Run : ToolRun {
    int assembled;
  };
  Run compile(std::vector<std::string> more = {}) const {
    std::vector<std::string> command = {TRITONC_TOOL,
                                        "compile",
                                        files.path("scale.tc"),
                                        "--arch",
                                        "80,90a",
                                        "--header",
                                        files.path("out.hpp"),
                                        "--object",
                                        files.path("out.o"),
                                        "--manifest",
                                        files.path("out.json"),
                                        "--fatbinary",
                                        tools().fatbinary,
                                        "--quiet"}; // a slow machine would show progress
    auto unless_given = [&](const char *option, const std::string &value) {
      if (std::find(more.begin(), more.end(), option) == more.end())
        more.insert(more.end(), {option, value});
    };
    unless_given("--ptxas", ptxas.path());
    unless_given("--cache-dir", files.path("cache"));
    command.insert(command.end(), more.begin(), more.end());
    for (const char *name : {"out.hpp", "out.o", "out.json"})
      fs::remove(files.path(name));
    fs::remove(ptxas.path("runs"));
    ToolRun run = run_program(command);
    std::ifstream runs(ptxas.path("runs"));
    return {run, int(std::count(std::istreambuf_iterator<char>(runs), {}, '\n'))};
  }
  std::string outputs() const {
    return files.read("out.hpp") + files.read("out.o") + files.read("out.json");
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> paths;
    for (const auto &entry : fs::directory_iterator(files.path("cache")))
      paths.push_back(entry.path());
    return paths;
  }

  TemporaryFolder files;
  FakeTool ptxas;
};

} // namespace

TEST_CASE("KernelCache: find and find_code return what was kept") {
  TemporaryFolder files;
  KernelCache cache = open_cache(files.path("cache"));
  MachineCode code = {.resources = {.registers = 1,
                                    .spill_stores = 2,
                                    .spill_loads = 3,
                                    .stack_bytes = 4,
                                    .static_shared = 5,
                                    .advice = {"slow", ""}},
                      .cubin = "not kept",
                      .cubin_bytes = 6,
                      .image = std::string("\0image", 6),
                      .key = cache.key_of_code(*find_gpu("90a"), "bitcode")};
  CHECK_FALSE(cache.find_code(code.key));
  cache.keep_code(code);
  std::optional<MachineCode> found = cache.find_code(code.key);
  REQUIRE(found);
  CHECK(found->resources.registers == 1);
  CHECK(found->resources.spill_stores == 2);
  CHECK(found->resources.spill_loads == 3);
  CHECK(found->resources.stack_bytes == 4);
  CHECK(found->resources.static_shared == 5);
  CHECK(found->resources.advice == code.resources.advice);
  CHECK(found->cubin == "");
  CHECK(found->cubin_bytes == 6);
  CHECK(found->image == code.image);
  CHECK(found->key == code.key);

  Expr sum = Expr::binary(Expr::Kind::add, Expr::parameter(1), Expr::constant(-2));
  CachedKernel schedule = {.schedule = {.kind = Schedule::Kind::warp_specialized,
                                        .tile = {128, 256, 64},
                                        .producer_warps = 4,
                                        .consumer_groups = 2,
                                        .coarsening = {1, 2, 1},
                                        .division = {8, 1, 1},
                                        .k_tile = 64,
                                        .swap_operands = true,
                                        .split_k = 4,
                                        .multicast = 2,
                                        .cluster = 8,
                                        .stream_k = true,
                                        .work = Schedule::Work::partials,
                                        .partials = SplitKPartials{{1, 2, 1}, {1, 0}},
                                        .blocks_per_sm = 2,
                                        .staged = true,
                                        .iterations = 1,
                                        .joined_rows = true,
                                        .epilogue_stages = 1},
                           .warnings = {{{Message::spills, {"f", "sm_90a"}},
                                         7,
                                         {{{Message::takes_registers, {"`x`", "9"}}, 8}}}},
                           .image = {.gpu = "sm_90a",
                                     .sm = 90,
                                     .suffix = 'a',
                                     .threads = 384,
                                     .shared_bytes = 200000,
                                     .static_shared = 16,
                                     .registers = 168,
                                     .spill_stores = 1,
                                     .spill_loads = 2,
                                     .stack_bytes = 3,
                                     .cubin_bytes = 4,
                                     .host_symbol = "host",
                                     .host_object = "ELF"},
                           .code = code.key};
  LaunchConfig &launch = schedule.image.launch;
  launch.schedule = schedule.schedule;
  launch.guards = {{sum, "n - 2"}};
  launch.cost = sum;
  launch.blocks = {sum, Expr::constant(1)};
  launch.cluster = 2;
  TensorMap map = {.parameter = 3,
                   .offset = sum,
                   .elem = ir::Elem::bf16,
                   .to_tf32 = true,
                   .sizes = {sum, sum},
                   .strides = {sum},
                   .box = {64, 128},
                   .swizzle_bytes = 128};
  launch.hidden = {{.map = map}, {.elem = ir::Elem::i64, .value = sum}, {.is_workspace = true}};
  launch.workspace = sum;
  launch.shared_bytes = sum;
  launch.part = LaunchConfig::Part::first;
  launch.starts_early = true;

  CHECK_FALSE(cache.find(cache_key("x")));
  const CachedKernel left_out = {.schedule = {.kind = Schedule::Kind::multistage},
                                 .skip_reason = SkipReason::spills};
  cache.keep(cache_key("x"), {schedule, left_out});
  auto schedules = cache.find(cache_key("x"));
  REQUIRE(schedules);
  REQUIRE(schedules->size() == 2);
  CHECK((*schedules)[1].skip_reason == SkipReason::spills);
  CHECK((*schedules)[1].schedule == left_out.schedule);
  const CachedKernel &back = (*schedules)[0];
  CHECK(back.schedule == schedule.schedule);
  CHECK(back.skip_reason == SkipReason::none);
  REQUIRE(back.warnings.size() == 1);
  const Remark &warning = back.warnings[0];
  CHECK(text(warning.failure) == text(schedule.warnings[0].failure));
  CHECK(warning.origin == 7);
  REQUIRE(warning.notes.size() == 1);
  CHECK(text(warning.notes[0].failure) == text(schedule.warnings[0].notes[0].failure));
  CHECK(warning.notes[0].origin == 8);
  CHECK(back.image.bytes == code.image);
  CHECK(back.image.gpu == "sm_90a");
  CHECK(back.image.sm == 90);
  CHECK(back.image.suffix == 'a');
  CHECK(back.image.threads == 384);
  CHECK(back.image.shared_bytes == 200000);
  CHECK(back.image.static_shared == 16);
  CHECK(back.image.registers == 168);
  CHECK(back.image.spill_stores == 1);
  CHECK(back.image.spill_loads == 2);
  CHECK(back.image.stack_bytes == 3);
  CHECK(back.image.cubin_bytes == 4);
  CHECK(back.image.host_symbol == "host");
  CHECK(back.image.host_object == "ELF");
  // Compares all fields: after the header (56 bytes), equal schedules give equal bytes.
  cache.keep(cache_key("y"), {schedule, left_out});
  cache.keep(cache_key("z"), *schedules);
  std::string kept = files.read("cache/" + cache_key("y")),
              again = files.read("cache/" + cache_key("z"));
  CHECK(kept.substr(56) == again.substr(56));
  REQUIRE(back.image.launch.shared_bytes);
  CHECK(back.image.launch.shared_bytes->operands[1].value == -2);
  CHECK(back.image.launch.hidden[0].map->strides[0].operands[1].value == -2);

  // A variant without its code counts as missing.
  fs::remove(files.path("cache/" + code.key));
  CHECK_FALSE(cache.find(cache_key("x")));
}

TEST_CASE("KernelCache: find rejects an entry with other content") {
  TemporaryFolder files;
  KernelCache cache = open_cache(files.path("cache"));
  Result<Cache> plain = Cache::open({.directory = files.path("cache")});
  REQUIRE(plain);
  std::string key = cache_key("x"), huge(8, '\x7f');
  for (const std::string &content : {std::string(), std::string("text"), huge, huge + huge,
                                     std::string(8, '\0') + "more", std::string(200, '\xff')}) {
    plain->put(key, content);
    CHECK_FALSE(cache.find(key));
    CHECK_FALSE(cache.find_code(key));
  }
}

TEST_CASE("KernelCache: key depends on each input of the result") {
  TemporaryFolder files;
  KernelCache cache = open_cache(files.path("cache"));
  const char *text = "func @f(%n: i32) {\n  return\n}\n";
  const Gpu &gpu = *find_gpu("80");
  ir::Function plain = function(text);
  std::string key = cache.key_of(plain, gpu, "");
  CHECK(key == cache.key_of(function(text), gpu, ""));
  CHECK(key != cache.key_of(plain, *find_gpu("90"), ""));
  CHECK(key != cache.key_of(plain, gpu, "host"));
  CHECK(key != cache.key_of(function("func @g(%n: i32) {\n  return\n}\n"), gpu, ""));
  CHECK(key != cache.key_of(function("func @f(%n: i32 multiple_of 8) {\n  return\n}\n"), gpu, ""));
  ir::Function planned = function(text);
  planned.plan.grid = {Expr::parameter(0)};
  CHECK(key != cache.key_of(planned, gpu, ""));
  CHECK(cache.key_of_code(gpu, "x") != cache.key_of_code(gpu, "y"));
  CHECK(cache.key_of_code(gpu, "x") != cache.key_of_code(*find_gpu("90"), "x"));

  // Only host code depends on source locations: on the file and on each line.
  ir::Function moved = function(text);
  moved.file = "/somewhere/f.tc";
  moved.body->ops[0]->location = {3, 4};
  CHECK(key == cache.key_of(moved, gpu, ""));
  std::string places = KernelCache::places("library", "f.tc", plain);
  CHECK(places == KernelCache::places("library", "f.tc", plain));
  CHECK(places != KernelCache::places("other", "f.tc", plain));
  CHECK(places != KernelCache::places("library", "g.tc", plain));
  CHECK(places != KernelCache::places("library", "f.tc", moved));

  // Another ptxas gives another key, even if it prints the same version.
  FakeTool ptxas("ptxas", "exec " + tools().ptxas + " \"$@\"");
  Result<Cache> plain_cache = Cache::open({.directory = files.path("cache")});
  REQUIRE(plain_cache);
  Toolchain others = tools();
  others.ptxas = ptxas.path();
  auto with_other = KernelCache::open(*plain_cache, others);
  REQUIRE(with_other);
  CHECK(key != with_other->key_of(plain, gpu, ""));
  // The same ptxas with other options gives another key.
  for (auto change : {+[](Toolchain &tools) { tools.ptxas_options = {"-O2"}; },
                      +[](Toolchain &tools) { tools.compression = "size"; }}) {
    Toolchain asked = tools();
    change(asked);
    auto with_options = KernelCache::open(*plain_cache, asked);
    REQUIRE(with_options);
    CHECK(key != with_options->key_of(plain, gpu, ""));
  }
  others.ptxas = "/nowhere";
  CHECK_FALSE(KernelCache::open(*plain_cache, others));
}

TEST_CASE("--cache-dir: second run assembles nothing, same outputs") {
  Project project;
  Project::Run cold = project.compile();
  CHECK(cold.output == "");
  REQUIRE(cold.code == 0);
  CHECK(cold.assembled == 8);
  std::string outputs = project.outputs();
  Project::Run warm = project.compile();
  CHECK(warm.output == "");
  CHECK(warm.code == 0);
  CHECK(warm.assembled == 0);
  CHECK((project.outputs() == outputs));
  Project::Run without = project.compile({"--cache-dir", "off"});
  CHECK(without.assembled == 8);
  CHECK((project.outputs() == outputs));
}

TEST_CASE("--cache-dir: unchanged variants are not compiled again") {
  Project project;
  REQUIRE(project.compile().assembled == 8);
  std::string source = scale_source;
  project.files.write("scale.tc", "// A comment.\n" + source);
  CHECK(project.compile().assembled == 0);
  CHECK(project.compile({"--variants", "SIZE=128,512"}).assembled == 4);
  CHECK(project.compile({"--arch", "75"}).assembled == 4);
  source.insert(source.find("* factor"), "+ 1 ");
  project.files.write("scale.tc", source);
  CHECK(project.compile().assembled == 8);
}

TEST_CASE("--cache-dir: equal code of several variants is stored once") {
  std::string source = scale_source;
  source.insert(source.find("  float value"), "  int unused = OTHER;\n");
  Project project("#pragma tritonc variant(OTHER: 1, 2)\n" + source);
  CHECK(project.compile().assembled == 8);
  size_t others = 0; // digests of the tools, if the tools are old enough
  for (const fs::path &entry : project.entries())
    others += fs::file_size(entry) < 200;
  CHECK(project.entries().size() - others == 16 + 8); // 8 variants for 2 GPUs, 8 codes
}

TEST_CASE("--cache-dir: damaged entries are compiled again") {
  Project project;
  REQUIRE(project.compile().code == 0);
  std::string outputs = project.outputs();
  for (const fs::path &entry : project.entries()) {
    std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('?');
  }
  Project::Run again = project.compile();
  CHECK(again.output == "");
  CHECK(again.code == 0);
  CHECK(again.assembled == 8);
  CHECK((project.outputs() == outputs));
  CHECK(project.compile().assembled == 0);
}

TEST_CASE("--host-code: comes from the cache unless the lines moved") {
  Project project;
  auto compile = [&] {
    return project.compile(
        {"--emulate", "80", "--host-code", project.files.path("host.a"), "--time-report"});
  };
  Project::Run cold = compile();
  REQUIRE_MESSAGE(cold.code == 0, cold.output);
  CHECK(contains(cold.output, "      4  host code\n"));
  std::string outputs = project.outputs() + project.files.read("host.a");
  Project::Run warm = compile();
  CHECK(contains(warm.output, "      0  host code\n"));
  CHECK((project.outputs() + project.files.read("host.a") == outputs));
  project.files.write("scale.tc", "// A comment.\n" + std::string(scale_source));
  Project::Run moved = compile();
  CHECK(contains(moved.output, "      4  host code\n"));
  CHECK(moved.assembled == 0);
}

TEST_CASE("--line-info: has separate cache entries, follows the lines") {
  Project project;
  REQUIRE(project.compile().assembled == 8);
  CHECK(project.compile({"--line-info"}).assembled == 8);
  CHECK(project.compile({"--line-info"}).assembled == 0);
  CHECK(project.compile().assembled == 0);
  project.files.write("scale.tc", "// A comment.\n" + std::string(scale_source));
  CHECK(project.compile().assembled == 0);
  CHECK(project.compile({"--line-info"}).assembled == 8);
}

TEST_CASE("--checks: has separate cache entries, follows the lines") {
  std::string source = scale_source;
  source.insert(source.rfind('}'), "  assert(n > 0);\n");
  Project project(source);
  REQUIRE(project.compile().assembled == 8);
  CHECK(project.compile({"--checks"}).assembled == 8);
  std::string outputs = project.outputs();
  CHECK(project.compile({"--checks"}).assembled == 0);
  CHECK((project.outputs() == outputs));
  CHECK(project.compile().assembled == 0);
  CHECK((project.outputs() != outputs));
  project.files.write("scale.tc", "// A comment.\n" + source);
  CHECK(project.compile().assembled == 0);
  CHECK(project.compile({"--checks"}).assembled == 8);
}

TEST_CASE("--checks: no new cache entry for a kernel without checks") {
  Project project;
  REQUIRE(project.compile().assembled == 8);
  std::string outputs = project.outputs();
  CHECK(project.compile({"--checks"}).assembled == 0);
  CHECK((project.outputs() == outputs));
}

TEST_CASE("--print-after: prints passes even if the code is cached") {
  Project project;
  REQUIRE(project.compile().code == 0);
  Project::Run run = project.compile({"--print-after", "assign_layouts"});
  CHECK(contains(run.output, "// after assign_layouts for sm_80, TYPE=half SIZE=128"));
}

TEST_CASE("--cache-dir: unusable directory gives only a warning") {
  Project project;
  std::string file = project.files.write("file", "");
  Project::Run run = project.compile({"--cache-dir", file});
  CHECK(run.output ==
        "warning: compiling without the cache `" + file +
            "`: Not a directory; set another directory with --cache-dir, or use --cache-dir off "
            "[-Wcache-left-out]\n");
  CHECK(run.code == 0);
  CHECK(project.files.exists("out.o"));
  run = project.compile({"--cache-limit", "much"});
  CHECK(run.output == "error: `much` is not a size in bytes, such as 500M or 2G\n");
  CHECK(run.code == 2);
}

TEST_CASE("--cache-dir: failed compilations are not stored") {
  Project project;
  FakeTool ptxas("ptxas",
                 "case \"$*\" in *--version*) echo 'release 13.0, V13.0.88'; exit 0;; esac\n"
                 "echo 'ptxas fatal: no'; exit 1");
  for (int i = 0; i < 2; i++) {
    Project::Run run = project.compile({"--ptxas", ptxas.path()});
    CHECK(run.code == 4);
    CHECK(contains(run.output, "ptxas fatal: no"));
  }
  for (const fs::path &entry : project.entries())
    CHECK(fs::file_size(entry) < 200); // digests of the tools
}

TEST_CASE("--cache-limit: a build trims the cache to the limit") {
  Project project;
  REQUIRE(project.compile({"--cache-limit", "20K"}).code == 0);
  uint64_t bytes = 0;
  for (const fs::path &entry : project.entries())
    bytes += fs::file_size(entry);
  CHECK(bytes > 5000);
  CHECK(bytes <= 20 * 1024);
}

TEST_CASE("tritonc cache: output and exit codes") {
  Project project;
  REQUIRE(project.compile().code == 0);
  auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {TRITONC_TOOL, "cache"});
    ChildResult child = run_child(arguments, "/tmp");
    return std::to_string(child.code) + " " + child.output;
  };
  std::string directory = project.files.path("cache");
  CHECK(contains(run({"status", "--cache-dir", directory}), "0 directory   " + directory));
  CHECK(contains(run({"trim", "--cache-dir", directory, "--cache-limit", "3M"}),
                 "limit       3.0 MiB"));
  CHECK(contains(run({"clear", "--cache-dir", directory}), "entries     0\n"));
  CHECK(project.entries().empty());
  CHECK(run({"status", "--cache-dir", "off"}) == "0 cache       off\n");
  CHECK(contains(run({"status", "--cache-dir", "/dev/null"}), "3 error: cannot use the cache"));
  CHECK(contains(run({"nonsense"}), "2 error: "));
  CHECK(contains(run({}), "2 error: "));
}
