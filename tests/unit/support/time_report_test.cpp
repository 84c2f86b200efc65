// Tests generator/support/time_report.cpp.

#include "support/time_report.h"

#include "compile.h"
#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

using namespace tritonc;

TEST_CASE("StepTimes: adds and compares with ptxas") {
  StepTimes one, other;
  one.add(Step::ptxas, 0.04);
  other.add(Step::passes, 0.02);
  other.add(Step::passes, 0);
  CHECK_FALSE(contains(other.report(), "times the time of ptxas"));
  one.add(other);
  CHECK(one.count(Step::ptxas) == 1);
  CHECK(one.count(Step::passes) == 2);
  CHECK(one.count(Step::front_end) == 0);
  std::string report = one.report();
  CAPTURE(report);
  CHECK(contains(report, "    0.020   33.3      2  passes\n"));
  CHECK(
      contains(report, "    0.060  100.0         total of all jobs; 1.50 times the time of ptxas"));
}

TEST_CASE("StepTimes: measure returns the result and counts the call") {
  StepTimes times;
  CHECK(times.measure(Step::ptxas, [] { return 40; }) == 40);
  CHECK(times.count(Step::ptxas) == 1);
  CHECK(times.count(Step::passes) == 0);
}

TEST_CASE("compile: result has the times of all steps") {
  TemporaryFolder files;
  std::string path = files.write("scale.tc", scale_source);
  CompileResult result = compile({.sources = {path}, .gpus = {find_gpu("80")}});
  REQUIRE_MESSAGE(result.code == ExitCode::ok, result.diagnostics_text);
  std::string report = result.times.report();
  CAPTURE(report);
  CHECK(contains(report, "times the time of ptxas"));
  for (const char *step : {"front end", "choosing schedules", "passes", "lowering to LLVM IR",
                           "LLVM, optimizing", "LLVM, PTX", "ptxas", "fatbinary"})
    CHECK(contains(report, std::string("      4  ") + step + "\n")); // once for each variant
  for (const char *step : {"front end", "LLVM, optimizing", "LLVM, PTX", "ptxas"})
    CHECK_FALSE(contains(report, std::string("    0.000    0.0      4  ") + step));
  CHECK(contains(report, "    0.000    0.0      0  host code"));
}
