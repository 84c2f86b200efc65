// Tests generator/tool/tune_command.cpp: the files, messages and exit codes of `tritonc tune`, `bench`
// and `check`. The tuners are shell scripts; tests/end_to_end/tuning runs a real tuner.

#include "support/contains.h"
#include "support/temporary_folder.h"
#include "support/tool_run.h"

#include "llvm/Support/JSON.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace tritonc;

namespace {

// Answers each line of the plan: SIZE=2 is faster, and a launch chooses SIZE=1.
const char *const answering = R"sh(
printf 'gpu\tNVIDIA H200\t90\t132\n'
while IFS="$(printf '\t')" read -r word kernel types name arguments; do
  printf 'problem\t%s\t%s\ti32 n\t%s\twarm\n' "$kernel" "$types" "$name"
  printf 'time\tSIZE=1\t3000\t-\tbaseline\ntime\tSIZE=2\t2000\t-\tbaseline\nchoice\tSIZE=1\nend\n'
done
)sh";

// Answers each line of the plan: the variants accept only multiples of 8.
const char *const refusing = R"sh(
printf 'gpu\tNVIDIA H200\t90\t132\n'
while IFS="$(printf '\t')" read -r word kernel types name arguments; do
  printf 'problem\t%s\t%s\ti32 n\t%s\twarm\n' "$kernel" "$types" "$name"
  case $(( ${name#n=} % 8 ))$1 in
    0check) printf 'agrees\tSIZE=1\nagrees\tSIZE=2\nchoice\tSIZE=1\nend\n' ;;
    0*) printf 'time\tSIZE=1\t3000\t-\tbaseline\nchoice\tSIZE=1\nend\n' ;;
    *) printf 'refused\tSIZE=1\tno multiple of 8\nrefused\tSIZE=2\tno multiple of 8\nend\n' ;;
  esac
done
)sh";

// The warning about a problem that `refusing` refuses.
std::string skips(int n) {
  return "warning: skipping `add TYPE=half` for n=" + std::to_string(n) +
         ", which no variant accepts: no multiple of 8 [-Wproblem-refused]\n";
}

const std::string all_refused = "error: no variant accepts any of the problems\n";

// What a tuner prints for n=`n`.
std::string measured(int n, const std::string &more = "") {
  return "gpu\tNVIDIA H200\t90\t132\nproblem\tadd\tTYPE=half\ti32 n\tn=" + std::to_string(n) +
         "\twarm\ntime\tSIZE=1\t3000\t-\tbaseline\nchoice\tSIZE=1\n" + more + "end\n";
}

// The message about differs("SIZE=4", "2.5") for n=`n`.
std::string differs(int n) {
  return "error: `add TYPE=half` for n=" + std::to_string(n) +
         ": SIZE=4 differs from most variants by 2.5 times the error that rounding explains\n";
}

// A folder with a tuner, whose script `measure` handles all calls except `describe`.
class Tuner {
public:
  explicit Tuner(const std::string &measure = answering) {
    files.write("tuner", "#!/bin/sh\n"
                         "if [ \"$1\" = describe ]; then\n"
                         "  printf 'kernel\\tadd\\tTYPE=half\\ti32 n\\nvariant\\tSIZE=1\\n'\n"
                         "  exit\nfi\n" +
                             measure);
    std::filesystem::permissions(files.path("tuner"), std::filesystem::perms::owner_all);
  }

  // Calls the tool in the folder.
  ToolRun run(const std::string &arguments) const {
    // --quiet: a slow machine would show progress
    return run_shell("cd '" + files.path() + "' && exec " TRITONC_TOOL " " + arguments +
                     " --quiet");
  }

  // The sizes n in out.json: "1 2 ".
  std::string sizes() const {
    llvm::Expected<llvm::json::Value> json = llvm::json::parse(files.read("out.json"));
    REQUIRE(bool(json));
    std::string sizes;
    for (const llvm::json::Value &entry : *json->getAsObject()->getArray("measurements"))
      sizes += std::to_string(*entry.getAsObject()->getObject("problem")->getInteger("n")) + " ";
    return sizes;
  }

  TemporaryFolder files;
};

} // namespace

TEST_CASE("tritonc tune: adds to the file, --anew overwrites it") {
  Tuner tuner;
  ToolRun run = tuner.run("tune ./tuner --problems n=1,2 -o out.json");
  CHECK(run.output == "");
  CHECK(run.code == 0);
  CHECK(tuner.sizes() == "1 2 ");
  CHECK(tuner.run("tune ./tuner --problems n=2,3 -o out.json").code == 0);
  CHECK(tuner.sizes() == "1 2 3 ");
  CHECK(tuner.run("tune ./tuner --problems n=4 --anew -o out.json").code == 0);
  CHECK(tuner.sizes() == "4 ");

  tuner.files.write("out.json", "{\"schema\": 1, \"measurements\": []}");
  run = tuner.run("tune ./tuner --problems n=5 -o out.json");
  CHECK(run.code == 2);
  CHECK(run.output == "error: cannot read tuning data from `out.json`: expected schema 2; measure "
                      "again with this tritonc\n");
  CHECK(tuner.files.read("out.json") == "{\"schema\": 1, \"measurements\": []}");
  CHECK(tuner.run("tune ./tuner --problems n=5 --anew -o out.json").code == 0);
  CHECK(tuner.sizes() == "5 ");
  CHECK(tuner.files.count() == 2);
}

TEST_CASE("tritonc tune: -o - prints the measurements") {
  Tuner tuner;
  ToolRun run = tuner.run("tune ./tuner --problems n=1 -o -");
  CHECK(run.code == 0);
  CHECK(run.output.rfind("{\"schema\": 2, \"measurements\": [\n{", 0) == 0);
  CHECK(tuner.files.count() == 1);
}

TEST_CASE("tritonc tune: a failed tuner is code 3, finished measurements stay") {
  Tuner late(std::string(answering) + "echo 'error: the GPU is gone' >&2; exit 3\n");
  ToolRun run = late.run("tune ./tuner --problems n=1,2 -o out.json");
  CHECK(run.code == 3);
  CHECK(run.output == "error: the tuner `./tuner` failed: error: the GPU is gone\n");
  CHECK(late.sizes() == "1 2 ");

  Tuner early("echo 'error: no GPU' >&2; exit 3\n");
  run = early.run("tune ./tuner --problems n=1,2 -o out.json");
  CHECK(run.code == 3);
  CHECK(run.output == "error: the tuner `./tuner` failed: error: no GPU\n");
  CHECK(early.files.count() == 1);
}

TEST_CASE("tritonc tune, bench, check: problems that fit no kernel are code 2") {
  Tuner tuner;
  for (const char *command : {"tune -o out.json", "tune --plan-to plan", "bench", "check"}) {
    CAPTURE(command);
    ToolRun run = tuner.run(std::string(command) + " ./tuner");
    CHECK(run.code == 2);
    CHECK(run.output == "error: no problem matches a kernel of `./tuner`\n");
    CHECK(tuner.files.count() == 1);
  }
}

TEST_CASE("tritonc tune, bench, check: --kernels and --types that match no kernel are code 2") {
  Tuner tuner;
  for (const char *command : {"tune -o out.json", "tune --plan-to plan", "bench", "check"})
    for (const char *option : {"--kernels sub", "--types TYPE=float"}) {
      CAPTURE(command);
      CAPTURE(option);
      ToolRun run = tuner.run(std::string(command) + " ./tuner --problems n=1 " + option);
      CHECK(run.code == 2);
      CHECK(run.output == "error: no kernel of `./tuner` matches --kernels and --types; kernels: "
                          "add TYPE=half\n");
      CHECK(tuner.files.count() == 1);
    }
  CHECK(tuner.run("bench ./tuner --problems n=1 --kernels add --types TYPE=half").code == 0);
}

TEST_CASE("tritonc tune: warns about problems that no variant accepts, writes the others") {
  Tuner tuner(refusing);
  ToolRun run = tuner.run("tune ./tuner --problems n=8,9,16,17 -o out.json");
  CHECK(run.output == skips(9) + skips(17));
  CHECK(run.code == 0);
  CHECK(tuner.sizes() == "8 16 ");
  run = tuner.run("tune ./tuner --problems n=24 -o out.json");
  CHECK(run.output == "");
  CHECK(run.code == 0);
  CHECK(tuner.sizes() == "8 16 24 ");

  // The same from files.
  tuner.files.write("one", measured(1));
  tuner.files.write("refused", "gpu\tNVIDIA H200\t90\t132\nproblem\tadd\tTYPE=half\ti32 n\tn=9\t"
                               "warm\nrefused\tSIZE=1\tno multiple of 8\nend\n");
  run = tuner.run("tune --from one --from refused --anew -o out.json");
  CHECK(run.output == skips(9));
  CHECK(run.code == 0);
  CHECK(tuner.sizes() == "1 ");
}

TEST_CASE("tritonc tune: no problem that a variant accepts is code 2, the file stays") {
  Tuner tuner(refusing);
  ToolRun run = tuner.run("tune ./tuner --problems n=9,10 -o out.json");
  CHECK(run.output == skips(9) + skips(10) + all_refused);
  CHECK(run.code == 2);
  CHECK(tuner.files.count() == 1);
  CHECK(tuner.run("tune ./tuner --problems n=8 -o out.json").code == 0);
  CHECK(tuner.run("tune ./tuner --problems n=9 --anew -o out.json").code == 2);
  CHECK(tuner.sizes() == "8 ");

  Tuner failing(std::string(refusing) + "echo 'error: the GPU is gone' >&2; exit 3\n");
  run = failing.run("tune ./tuner --problems n=9 -o out.json");
  CHECK(run.output == skips(9) + "error: the tuner `./tuner` failed: error: the GPU is gone\n");
  CHECK(run.code == 3);
}

TEST_CASE("tritonc bench, check: problems that no variant accepts do not count") {
  Tuner tuner(refusing);
  for (const char *command : {"bench", "bench --json", "check"}) {
    CAPTURE(command);
    ToolRun run = tuner.run(std::string(command) + " ./tuner --problems n=9,10");
    CHECK(run.output == skips(9) + skips(10) + all_refused);
    CHECK(run.code == 2);
  }
  ToolRun run = tuner.run("check ./tuner --problems n=8,9,16");
  CHECK(run.output == skips(9) + "2 problems, all variants agree\n");
  CHECK(run.code == 0);
  run = tuner.run("check ./tuner --problems n=8,16");
  CHECK(run.output == "2 problems, all variants agree\n");
  CHECK(run.code == 0);
  run = tuner.run("bench ./tuner --problems n=8,9");
  CHECK(contains(run.output, skips(9)));
  CHECK(contains(run.output, "\n1 problems: slower than the best by 0.0 %"));
  CHECK(run.code == 0);
  run = tuner.run("bench ./tuner --problems n=8,9 --json 2>/dev/null");
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(run.output);
  REQUIRE(bool(json));
  CHECK(json->getAsObject()->getArray("problems")->size() == 1);
}

TEST_CASE("tritonc tune, check: -W disables the warning or makes it an error") {
  Tuner tuner(refusing);
  const std::string agrees = "1 problems, all variants agree\n";
  for (const char *option : {"-Wno-problem-refused", "-w", "-w -Werror"}) {
    CAPTURE(option);
    ToolRun run = tuner.run("check ./tuner --problems n=8,9 " + std::string(option));
    CHECK(run.output == agrees);
    CHECK(run.code == 0);
    run = tuner.run("check ./tuner --problems n=9 " + std::string(option));
    CHECK(run.output == all_refused);
    CHECK(run.code == 2);
  }
  for (const std::string option : {"-Werror", "-Werror=problem-refused"}) {
    CAPTURE(option);
    ToolRun run = tuner.run("tune ./tuner --problems n=8,9 --anew -o out.json " + option);
    CHECK(run.output == skips(9) + "error: " + option +
                            " treats warnings as errors (1 found); disable one kind with "
                            "-Wno-NAME\n");
    CHECK(run.code == 5);
    CHECK(tuner.sizes() == "8 ");
    run = tuner.run("check ./tuner --problems n=8 " + option);
    CHECK(run.output == agrees);
    CHECK(run.code == 0);
  }
  for (const char *command : {"tune -o out.json", "bench", "check"}) {
    CAPTURE(command);
    ToolRun run = tuner.run(std::string(command) + " ./tuner --problems n=8 -Wnonsense");
    CHECK(contains(run.output, "error: unknown warning `-Wnonsense`; known warnings: "));
    CHECK(run.code == 2);
  }
}

TEST_CASE("tritonc tune: --plan-to measures nothing") {
  Tuner tuner("touch measured\n");
  ToolRun run = tuner.run("tune ./tuner --problems n=1,2 --plan-to plan");
  CHECK(run.output == "");
  CHECK(run.code == 0);
  CHECK(tuner.files.read("plan") ==
        "problem\tadd\tTYPE=half\tn=1\tn=1\nproblem\tadd\tTYPE=half\tn=2\tn=2\n");
  CHECK(tuner.files.count() == 2);
}

TEST_CASE("tritonc tune: --from reads a tuner's output and JSON") {
  Tuner tuner;
  tuner.files.write("one", measured(1));
  tuner.files.write("two", measured(2));
  CHECK(tuner.run("tune --from one --from two -o out.json").code == 0);
  CHECK(tuner.sizes() == "1 2 ");
  std::filesystem::rename(tuner.files.path("out.json"), tuner.files.path("both.json"));
  CHECK(tuner.run("tune ./tuner --problems n=3 --from both.json -o out.json").code == 0);
  CHECK(tuner.sizes() == "1 2 3 ");

  std::filesystem::remove(tuner.files.path("out.json"));
  tuner.files.write("none", "");
  CHECK(tuner.run("tune --from none -o out.json").code == 0);
  CHECK(tuner.sizes() == "");

  std::filesystem::remove(tuner.files.path("out.json"));
  tuner.files.write("wrong", "hello\n");
  ToolRun run = tuner.run("tune --from one --from wrong -o out.json");
  CHECK(run.code == 3);
  CHECK(run.output == "error: unexpected output from tuner `wrong`: `hello`; build tuners with "
                      "triton_add_tuner()\n");
  tuner.files.write("wrong", "{");
  run = tuner.run("tune --from one --from wrong -o out.json");
  CHECK(run.code == 2);
  CHECK(run.output.rfind("error: cannot read tuning data from `wrong`: ", 0) == 0);
  CHECK_FALSE(tuner.files.exists("out.json"));
}

TEST_CASE("tritonc tune: names differing variants of each source, code 6") {
  const std::string difference = "differs\tSIZE=4\t2.5\n";
  Tuner tuner("printf '" + measured(3, difference) + "'; exit 1\n");
  tuner.files.write("one", measured(1, difference));
  tuner.files.write("two", measured(2, difference));
  tuner.files.write("good", measured(4));
  ToolRun run =
      tuner.run("tune ./tuner --problems n=3 --from one --from two --from good -o out.json");
  CHECK(run.code == 6);
  CHECK(run.output == differs(1) + differs(2) + differs(3));
  CHECK(tuner.sizes() == "1 2 3 4 "); // the times are valid
}

TEST_CASE("tritonc bench: prints a table or JSON") {
  Tuner tuner;
  ToolRun run = tuner.run("bench ./tuner --problems n=1,2");
  CHECK(run.code == 0);
  CHECK(contains(run.output, "add TYPE=half  n=1      SIZE=1  SIZE=2  3.00     2.00     50.0 %\n"));
  CHECK(contains(run.output,
                 "\n2 problems: slower than the best by 50.0 % (geometric mean), 50.0 % "
                 "(max)\n"));
  run = tuner.run("bench ./tuner --problems n=1 --json");
  CHECK(run.code == 0);
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(run.output);
  REQUIRE(bool(json));
  CHECK(json->getAsObject()->getArray("problems")->size() == 1);

  tuner.files.write("one", measured(1));
  CHECK(contains(tuner.run("bench --from one").output,
                 "\n1 problems: slower than the best by 0.0 %"));
  run = tuner.run("bench ./tuner --problems n=2 --from one");
  CHECK(contains(run.output, "\n2 problems: slower than the best by "));
  tuner.files.write("one", "");
  run = tuner.run("bench --from one");
  CHECK(run.code == 0);
  CHECK(run.output == "nothing was measured\n");
  tuner.files.write("one", "hello\n");
  run = tuner.run("bench --from one");
  CHECK(run.code == 3);
  CHECK(run.output == "error: unexpected output from tuner `one`: `hello`; build tuners with "
                      "triton_add_tuner()\n");
}

TEST_CASE("tritonc bench, check: a failed tuner is code 3, no table") {
  Tuner tuner(std::string(answering) + "echo 'error: the GPU is gone' >&2; exit 3\n");
  for (const char *command : {"bench", "bench --json", "check"}) {
    CAPTURE(command);
    ToolRun run = tuner.run(std::string(command) + " ./tuner --problems n=1");
    CHECK(run.code == 3);
    CHECK(run.output == "error: the tuner `./tuner` failed: error: the GPU is gone\n");
  }
}

TEST_CASE("tritonc check: names differing variants, code 6") {
  Tuner good;
  ToolRun run = good.run("check ./tuner --problems n=1,2");
  CHECK(run.code == 0);
  CHECK(run.output == "2 problems, all variants agree\n");
  Tuner bad("printf '" + measured(1, "differs\\tSIZE=4\\t2.5\\n") + "'; exit 1\n");
  run = bad.run("check ./tuner --problems n=1");
  CHECK(run.code == 6);
  CHECK(run.output == differs(1));
  run = bad.run("bench ./tuner --problems n=1"); // the table and the error
  CHECK(run.code == 6);
  CHECK(contains(run.output, "\n1 problems: slower than the best by 0.0 %"));
  CHECK(contains(run.output, differs(1)));
}
