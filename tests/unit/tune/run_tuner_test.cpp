// Tests generator/tune/run_tuner.cpp: the output of tuners, launchers, and the tables.
// The tuners are shell scripts; tests/end_to_end/tuning runs a real tuner.

#include "tune/run_tuner.h"

#include "support/child_process.h"
#include "support/contains.h"
#include "support/temporary_folder.h"

#include "llvm/Support/JSON.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace tritonc;

namespace {

const std::string gpu = "gpu\tNVIDIA H200\t90\t132\n";

std::string problem(int n, const std::string &lines) {
  return "problem\tadd\tTYPE=half\ti32 n\tn=" + std::to_string(n) + "\twarm\n" + lines + "end\n";
}

// A tuner with one kernel. The script `measure` handles all calls except `describe`.
class Script {
public:
  explicit Script(const std::string &measure) {
    files.write("tuner", "#!/bin/sh\n"
                         "if [ \"$1\" = describe ]; then\n"
                         "  printf 'kernel\\tadd\\tTYPE=half\\ti32 n\\nvariant\\tSIZE=1\\n'\n"
                         "  exit\nfi\n" +
                             measure);
    options.tuner = files.path("tuner");
    std::filesystem::permissions(options.tuner, std::filesystem::perms::owner_all);
  }
  TemporaryFolder files;
  TuneOptions options;
};

// Answers each line of the plan. The schedule shows $PART and the arguments of the call.
const char *const answering = R"sh(
printf 'gpu\tNVIDIA H200\t90\t132\n'
while IFS="$(printf '\t')" read -r word kernel types name arguments; do
  printf 'problem\t%s\t%s\ti32 n\t%s\twarm\n' "$kernel" "$types" "$name"
  printf 'time\tSIZE=1\t%s\t-\t%s\nend\n' 7 "$PART $*"
done
)sh";

} // namespace

TEST_CASE("read_reports: reads times, choice and differences") {
  Result<std::vector<TunerReport>> reports = read_reports(
      "it",
      gpu +
          problem(64,
                  "time\tSIZE=512 B=2\t1500\t1400\t64x64x64 multistage\ntime\tSIZE=256\t1000\t-\t\n"
                  "refused\tSIZE=1024\tit does not fit\nchoice\tSIZE=256\n"
                  "differs\tSIZE=2048\t31.5\n"));
  REQUIRE(reports);
  REQUIRE(reports->size() == 1);
  const TunerReport &report = (*reports)[0];
  CHECK(report.entry.gpu == "NVIDIA H200");
  CHECK(report.entry.num_sms == 132);
  CHECK(report.entry.problem.at("n") == 64);
  CHECK(report.entry.times.size() == 2);
  CHECK(report.entry.times.at("B=2 SIZE=512").nanoseconds == 1500);
  CHECK(report.entry.times.at("B=2 SIZE=512").cost == 1400);
  CHECK(report.entry.times.at("B=2 SIZE=512").schedule == "64x64x64 multistage");
  CHECK(!report.entry.times.at("SIZE=256").cost);
  CHECK(report.choice == "SIZE=256");
  REQUIRE(differences_of(*reports).size() == 1);
  CHECK(text(differences_of(*reports)[0]) ==
        "error: `add TYPE=half` for n=64: SIZE=2048 differs from most variants by 31.5 times the "
        "error that rounding explains");
}

TEST_CASE("take_refused: removes the problems that no variant accepts, with a warning") {
  const std::string first = "refused\tSIZE=1\tthe arguments do not satisfy `n % 8 == 0`\n";
  auto warnings_of = [](std::vector<TunerReport> &reports) {
    std::string said;
    for (const Error &warning : take_refused(reports))
      said += text(warning) + "\n";
    return said;
  };
  Result<std::vector<TunerReport>> reports = read_reports(
      "it", gpu +
                problem(1, first + "refused\tSIZE=2\tthe arguments do not satisfy `n % 8 == 0`\n") +
                problem(2, "time\tSIZE=1\t5\t-\t\nchoice\tSIZE=1\n") +
                problem(3, first + "refused\tSIZE=2\ta\nrefused\tSIZE=4\tb\nrefused\tSIZE=8\tc\n"));
  REQUIRE(reports);
  CHECK(warnings_of(*reports) ==
        "warning: skipping `add TYPE=half` for n=1, which no variant accepts: the arguments do not "
        "satisfy `n % 8 == 0` [-Wproblem-refused]\n"
        "warning: skipping `add TYPE=half` for n=3, which no variant accepts: the arguments do not "
        "satisfy `n % 8 == 0`; a; b; and 1 more [-Wproblem-refused]\n");
  REQUIRE(reports->size() == 1);
  CHECK(text_of((*reports)[0].entry.problem) == "n=2");

  // Some variant accepts each of these problems. Older tuners print no `agrees`.
  for (const std::string &lines : {std::string(), first + "time\tSIZE=2\t5\t-\t\n",
                                   first + "agrees\tSIZE=2\n", first + "differs\tSIZE=2\t31.5\n",
                                   first + "choice\tSIZE=2\n", "agrees\tSIZE=2\n" + first}) {
    CAPTURE(lines);
    reports = read_reports("it", gpu + problem(1, lines));
    REQUIRE(reports);
    CHECK(warnings_of(*reports) == "");
    CHECK(reports->size() == 1);
  }
}

TEST_CASE("read_reports: skips an unfinished problem") {
  std::string whole = gpu + problem(64, "time\tSIZE=1\t5\t-\t\n");
  Result<std::vector<TunerReport>> reports =
      read_reports("it", whole + whole.substr(gpu.size(), whole.size() - gpu.size() - 4));
  REQUIRE(reports);
  CHECK(reports->size() == 1);
}

TEST_CASE("read_reports: rejects a malformed line") {
  for (const char *line : {"hello", "gpu\tNVIDIA\tninety\t132", "time\tSIZE=1\t0\t-\t",
                           "time\tSIZE=1\tfast\t-\t", "problem\tadd\t\t\tn=x\twarm"}) {
    CAPTURE(line);
    Result<std::vector<TunerReport>> reports = read_reports("it", line + std::string("\n"));
    REQUIRE(!reports);
    CHECK(contains(text(reports.error()), "error: unexpected output from tuner `it`: `"));
  }
}

TEST_CASE("describe_tuner: rejects a program without kernels") {
  TuneOptions options;
  options.tuner = "/bin/true";
  Result<std::vector<TunerKernel>> kernels = describe_tuner(options);
  REQUIRE(!kernels);
  CHECK(text(kernels.error()) ==
        "error: `/bin/true` is not a tuner: it describes no kernels; build "
        "tuners with triton_add_tuner()");
}

TEST_CASE("describe_tuner: stops a program that prints without end") {
  TuneOptions options;
  options.tuner = "/usr/bin/yes";
  Result<std::vector<TunerKernel>> kernels = describe_tuner(options);
  REQUIRE(!kernels);
  CHECK(contains(text(kernels.error()), "error: stopped `/usr/bin/yes`: it printed more than "));
}

TEST_CASE("bench_table: shows how much slower the choice is") {
  Result<std::vector<TunerReport>> reports = read_reports(
      "it", gpu + problem(1, "time\tSIZE=1\t1000\t-\t\ntime\tSIZE=2\t1210\t-\t\nchoice\tSIZE=2\n") +
                problem(2, "time\tSIZE=1\t1000\t-\t\nchoice\tSIZE=1\n") +
                problem(3, "time\tSIZE=1\t1000\t-\t\n"));
  std::string table = bench_table(*reports);
  CHECK(contains(table, "21.0 %"));
  CHECK(contains(table, "2 problems: slower than the best by 10.0 % (geometric mean), 21.0 % "
                        "(max)"));
  CHECK(bench_table({}) == "nothing was measured\n");
}

TEST_CASE("bench_json: has the slowdowns and all times") {
  Result<std::vector<TunerReport>> reports = read_reports(
      "it", gpu +
                problem(1, "time\tSIZE=1\t1000\t900\t64x64x64 multistage\ntime\tSIZE=2\t1210\t-\t\n"
                           "choice\tSIZE=2\ndiffers\tSIZE=4\t31.5\n") +
                problem(2, "time\tSIZE=1\t1000\t-\t\nchoice\tSIZE=1\n") +
                problem(3, "time\tSIZE=1\t1000\t-\t\n") + problem(4, "choice\tSIZE=1\n"));
  REQUIRE(reports);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(bench_json(*reports));
  REQUIRE(bool(json));
  const llvm::json::Object &all = *json->getAsObject();
  CHECK(all.getInteger("schema") == 1);
  const llvm::json::Object &slower = *all.getObject("slower");
  CHECK(slower.getNumber("worst") == doctest::Approx(1.21));
  CHECK(slower.getNumber("geometric_mean") == doctest::Approx(1.1));
  const llvm::json::Array &problems = *all.getArray("problems");
  REQUIRE(problems.size() == 4);
  const llvm::json::Object &first = *problems[0].getAsObject();
  CHECK(first.getString("kernel") == "add");
  CHECK(first.getObject("gpu")->getString("name") == "NVIDIA H200");
  CHECK(first.getObject("problem")->getInteger("n") == 1);
  CHECK(first.getString("choice") == "SIZE=2");
  CHECK(first.getString("best") == "SIZE=1");
  CHECK(first.getNumber("slower") == doctest::Approx(1.21));
  const llvm::json::Object &times = *first.getObject("times");
  CHECK(times.getObject("SIZE=1")->getInteger("ns") == 1000);
  CHECK(times.getObject("SIZE=1")->getString("schedule") == "64x64x64 multistage");
  CHECK(times.getObject("SIZE=2")->getInteger("ns") == 1210);
  CHECK((*first.getArray("differ"))[0].getAsString() == "SIZE=4");
  CHECK(problems[1].getAsObject()->getNumber("slower") == 1.0);
  for (size_t i : {2, 3}) // problems without a comparison
    for (const char *name : {"slower", "choice", "best", "differ"})
      CHECK(problems[i].getAsObject()->get(name) == nullptr);

  json = llvm::json::parse(bench_json({}));
  REQUIRE(bool(json));
  CHECK(json->getAsObject()->getArray("problems")->empty());
  CHECK(json->getAsObject()->get("slower") == nullptr);
}

TEST_CASE("run_tuner: runs the parts in parallel with a launcher") {
  Script script(answering);
  script.options.problems = {"n=1,2,3,4,5"};
  script.options.launcher = {"env", "PART=part {part}"};
  script.options.parts = 2;
  script.options.rounds = 3;
  Result<std::vector<std::string>> plan = plan_tuning(script.options);
  REQUIRE(plan);
  CHECK(plan->size() == 5);
  std::string progress_said;
  Progress progress(false, [&](const std::string &text) { progress_said += text; });
  script.options.progress = &progress;
  TunerReports reports = run_tuner(script.options, "measure", *plan);
  REQUIRE(!reports.failure);
  CHECK(progress_said == ""); // the run is short
  std::vector<std::string> said;
  for (const TunerReport &report : reports.reports)
    said.push_back(text_of(report.entry.problem) + ": " + report.entry.times.at("SIZE=1").schedule);
  std::string common = " measure - --rounds 3";
  CHECK(said == std::vector<std::string>{"n=1: part 0" + common, "n=3: part 0" + common,
                                         "n=5: part 0" + common, "n=2: part 1" + common,
                                         "n=4: part 1" + common});
}

TEST_CASE("plan_tuning: selects kernels and types") {
  Script script(answering);
  Result<std::vector<std::string>> none = plan_tuning(script.options);
  REQUIRE(!none);
  CHECK(text(none.error()) ==
        "error: no problem matches a kernel of `" + script.options.tuner + "`");
  script.options.problems = {"n=1"};
  script.options.types = {"TYPE=half"};
  CHECK(plan_tuning(script.options));
  script.options.kernels = {"add", "sub"};
  CHECK(plan_tuning(script.options));
  const std::string no_kernel = "error: no kernel of `" + script.options.tuner +
                                "` matches --kernels and --types; kernels: add TYPE=half";
  auto error_of = [&] {
    Result<std::vector<std::string>> plan = plan_tuning(script.options);
    return plan ? "none" : text(plan.error());
  };
  script.options.types = {"TYPE=float"};
  CHECK(error_of() == no_kernel);
  script.options.types = {};
  script.options.kernels = {"sub"};
  CHECK(error_of() == no_kernel);
  script.options.problems = {};
  CHECK(error_of() == no_kernel);
}

TEST_CASE("run_tuner: reports why a tuner failed") {
  auto failure = [](const std::string &measure, std::vector<std::string> launcher = {}) {
    Script script(measure);
    script.options.problems = {"n=1"};
    script.options.launcher = std::move(launcher);
    TunerReports reports = run_tuner(script.options, "measure", *plan_tuning(script.options));
    return reports.failure ? text(*reports.failure) : "none";
  };
  CHECK(contains(failure("echo 'error: no GPU' >&2; exit 3"), "failed: error: no GPU"));
  CHECK(contains(failure("exit 4"), "failed: exit code 4"));
  std::string crash = failure("kill -SEGV $$"), killed = failure("kill -KILL $$");
  CHECK(contains(crash, "failed: killed by signal 11"));
  CHECK_FALSE(contains(crash, "memory"));
  CHECK(contains(killed,
                 "failed: killed by signal 9, often because the memory is full; use smaller "
                 "problems"));
  CHECK(contains(failure("exit 4"), "error: the tuner `"));
  CHECK(contains(failure("echo nonsense"), "`: `nonsense`; build tuners with"));
  CHECK(contains(failure("", {"no_such_launcher"}), "cannot run `no_such_launcher`"));
  CHECK(failure("exit 1") == "none"); // variants differ: the output names them
}

TEST_CASE("run_tuner: keeps the results from before a failure") {
  Script script(std::string(answering) + "echo 'error: the GPU is gone' >&2; exit 3\n");
  script.options.problems = {"n=1,2,3"};
  TunerReports reports = run_tuner(script.options, "measure", *plan_tuning(script.options));
  CHECK(reports.reports.size() == 3);
  REQUIRE(reports.failure);
  CHECK(contains(text(*reports.failure), "failed: error: the GPU is gone"));
}

TEST_CASE("tritonc tune: a signal stops all tuners, writes no file") {
  Script script("echo $$ >>\"$MARKS\"; exec sleep 100\n");
  script.options.problems = {"n=1"};
  auto add_script = [&](const std::string &name, const std::string &text) {
    script.files.write(name, "#!/bin/sh\n" + text);
    std::filesystem::permissions(script.files.path(name), std::filesystem::perms::owner_all);
    return script.files.path(name);
  };
  // Like srun: starts its process outside of the process group, and forwards SIGTERM to it. The trap
  // is there before the process, because the signal comes as soon as the process runs.
  std::string elsewhere = add_script("elsewhere", "trap 'kill -TERM $!; wait $!; exit 143' TERM\n"
                                                  "setsid \"$@\" & wait $!\n");
  std::string stubborn = add_script("stubborn", "trap '' TERM; \"$@\" & wait; wait\n");
  struct Case {
    const char *signal;
    std::string options, ends_with;
  };
  for (const Case &each : {Case{"TERM", "", "143"}, Case{"INT", "--parts 3", "130"},
                           Case{"HUP", "--parts 2 --launcher " + elsewhere, "129"},
                           Case{"INT", "--launcher " + elsewhere, "130"},
                           Case{"TERM", "--launcher " + stubborn, "143"}}) {
    CAPTURE(each.signal);
    CAPTURE(each.options);
    script.files.write("before.json", "{\"schema\": 2, \"measurements\": [\n]}\n");
    const size_t files_before = script.files.count();
    std::string folder = script.files.path("");
    // Each part writes its process id. The shell waits until all parts have done so.
    std::string parts = each.options.rfind("--parts ", 0) == 0 ? each.options.substr(8, 1) : "1";
    ChildResult child = run_child(
        {"/bin/sh", "-c",
         "cd '" + folder + "'; export MARKS='" + folder + "marks' TMPDIR='" + folder +
             "tmp'; mkdir tmp; : >marks\n" TRITONC_TOOL " tune ./tuner --problems n=1 " +
             each.options +
             " -o before.json & child=$!\n"
             "for i in $(seq 200); do [ $(wc -l <marks) -ge " +
             parts +
             " ] && break; sleep 0.05; done\n"
             "kill -" +
             each.signal +
             " $child; { wait $child; code=$?; } 2>/dev/null; echo ended with $code\n"
             "is_alive() { [ -d /proc/$1 ] && ! grep -q ' Z ' /proc/$1/stat 2>/dev/null; }\n"
             "for pid in $(cat marks); do\n" // SIGKILL has been sent, but may not have arrived
             "  for i in $(seq 200); do is_alive $pid || break; sleep 0.05; done\n"
             "  ! is_alive $pid || echo $pid is alive\n"
             "done\n"
             "echo $(wc -l <marks) parts; ls tmp; rm -r marks tmp\n"},
        "/tmp", {.time = std::chrono::seconds(60)});
    CHECK(child.output == "ended with " + each.ends_with + "\n" + parts + " parts\n");
    CHECK(script.files.read("before.json") == "{\"schema\": 2, \"measurements\": [\n]}\n");
    CHECK(script.files.count() == files_before);
  }
}

TEST_CASE("run_tuner: reports the progress") {
  Script script(R"sh(
printf 'gpu\tNVIDIA H200\t90\t132\n'
while read -r line; do
  printf 'problem\tadd\t\ti32 n\tn=1\twarm\nend\n'
  sleep 0.2
done
)sh");
  script.options.problems = {"n=1,2,3"};
  std::string said;
  Progress::Time time{};
  // Each call of the clock advances it by 10 s.
  Progress progress(
      false, [&](const std::string &text) { said += text; },
      [&] { return time += std::chrono::seconds(10); });
  progress.set_words("measured", "problems");
  script.options.progress = &progress;
  CHECK(run_tuner(script.options, "measure", *plan_tuning(script.options)).reports.size() == 3);
  CHECK(contains(said, "measured 1 of 3 problems, about "));
}
