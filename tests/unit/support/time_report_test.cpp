// Tests generator/support/time_report.cpp.

#include "support/time_report.h"

#include "compile.h"
#include "support/contains.h"
#include "support/scale_source.h"
#include "support/temporary_folder.h"

#include <doctest/doctest.h>

#include <thread>

using namespace tritonc;

namespace {} // namespace

TEST_CASE("StepTimes: measures, adds and compares with ptxas") {
  auto sleep = [](int milliseconds) {
    return [=] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      return milliseconds;
    };
  };
  StepTimes one, other;
  CHECK(one.measure(Step::ptxas, sleep(40)) == 40); // returns the result of the work
  other.measure(Step::passes, sleep(20));
  other.measure(Step::passes, sleep(0));
  CHECK_FALSE(contains(other.report(), "times ptxas"));
  one.add(other);
  CHECK(one.count(Step::ptxas) == 1);
  CHECK(one.count(Step::passes) == 2);
  CHECK(one.count(Step::front_end) == 0);
  std::string report = one.report();
  CAPTURE(report);
  CHECK(contains(report, "passes"));
  CHECK(contains(report, "100.0         total of all jobs"));
  double ratio = 0;
  REQUIRE(std::sscanf(report.c_str() + report.find("; ") + 2, "%lf times ptxas", &ratio) == 1);
  CHECK(ratio > 1.1);
  CHECK(ratio < 3);
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
