// Tests results.cpp: results as lines, explanations, the summary.

#include "mutate/results.h"

#include <doctest/doctest.h>

using namespace tritonc::mutate;

namespace {

Result result(const std::string &file, Outcome outcome, const std::string &by = "") {
  return {"name", file + ":2:12: comparison: `<` -> `<=`", "- a < 4;\n+ a <= 4;\n", outcome, by, 7};
}

const char *explained_text = "# comment\n"
                             "p/x.cpp\n"
                             "- a < 4;\n"
                             "+ a <= 4;\n"
                             "The value is\n"
                             "never 4.\n"
                             "\n"
                             "p/y.cpp\n"
                             "- b\n"
                             "+ c\n"
                             "Speed only.\n";

} // namespace

TEST_CASE("json_of: read_results reads it back") {
  Result written = result("p/x.cpp", Outcome::caught, "test_x (time limit)");
  written.diff = "- say(\"\\n\");\n+ (void)0;\n";
  auto results = read_results(json_of(written) + "\n");
  REQUIRE(results.size() == 1);
  const Result &read = results.begin()->second;
  CHECK(results.begin()->first == written.name);
  CHECK(read.mutant == written.mutant);
  CHECK(read.diff == written.diff);
  CHECK(read.outcome == Outcome::caught);
  CHECK(read.by == "test_x (time limit)");
  CHECK(read.seconds == 7);
}

TEST_CASE("read_results: the last line of a mutant counts") {
  auto results = read_results(json_of(result("p/x.cpp", Outcome::survived)) + "\n" +
                              json_of(result("p/x.cpp", Outcome::caught, "test_x")) + "\n");
  REQUIRE(results.size() == 1);
  CHECK(results.begin()->second.outcome == Outcome::caught);
}

TEST_CASE("read_results: ignores an incomplete line") {
  std::string line = json_of(result("p/x.cpp", Outcome::survived));
  CHECK(read_results(line + "\n" + line.substr(0, 20)).size() == 1);
  CHECK(read_results("{}\n[1]\n{\"name\": \"x\", \"outcome\": \"lost\"}\n").empty());
}

TEST_CASE("read_explanations: file, lines and reason of each paragraph") {
  std::vector<Explanation> explanations = read_explanations(explained_text);
  REQUIRE(explanations.size() == 2);
  CHECK(explanations[0].file == "p/x.cpp");
  CHECK(explanations[0].diff == "- a < 4;\n+ a <= 4;\n");
  CHECK(explanations[0].reason == "The value is never 4.");
  CHECK(explanations[1].reason == "Speed only.");
}

TEST_CASE("reason_for: needs the same file and the same lines") {
  std::vector<Explanation> explanations = read_explanations(explained_text);
  Result survivor = result("p/x.cpp", Outcome::survived);
  CHECK(reason_for(survivor, explanations) == "The value is never 4.");
  CHECK(reason_for(result("p/y.cpp", Outcome::survived), explanations) == "");
  survivor.diff = "- a < 5;\n+ a <= 5;\n";
  CHECK(reason_for(survivor, explanations) == "");
}

TEST_CASE("summary_of: counts outcomes, tests and folders") {
  std::string summary = summary_of(
      {result("p/x.cpp", Outcome::caught, "test_p"), result("p/z.cpp", Outcome::caught, "test_p"),
       result("q/z.cpp", Outcome::caught, "test_q"), result("p/x.cpp", Outcome::survived),
       result("p/x.cpp", Outcome::invalid), result("p/x.cpp", Outcome::equivalent)},
      read_explanations(explained_text));
  CHECK(summary == "4 mutants planted: 3 caught (75 %), 1 survived, of which 1 are explained\n"
                   "not planted: 1 do not compile, 1 compile to the same code\n"
                   "  caught by test_p: 2\n"
                   "  caught by test_q: 1\n"
                   "  p: 2 of 3 caught\n"
                   "  q: 1 of 1 caught\n");
}

TEST_CASE("summary_of: prints survivors in the format of explained.txt") {
  std::string summary = summary_of({result("p/z.cpp", Outcome::survived)}, {});
  size_t at = summary.find("\n# ");
  REQUIRE(at != std::string::npos);
  CHECK(summary.substr(at) == "\n# p/z.cpp:2:12: comparison\np/z.cpp\n- a < 4;\n+ a <= 4;\n");
  std::vector<Explanation> copied = read_explanations(summary.substr(at) + "A reason.\n");
  CHECK(reason_for(result("p/z.cpp", Outcome::survived), copied) == "A reason.");
}

TEST_CASE("summary_of: no mutants") {
  CHECK(summary_of({}, {}).rfind("0 mutants planted: 0 caught (0 %)", 0) == 0);
}
