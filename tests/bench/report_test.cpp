// Tests report.cpp.

#include "report.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace bench;

namespace {

Result square(int size, double ours_ms, double peer_ms) {
  Result result;
  result.row.group = "big";
  result.row.m = result.row.n = result.row.k = size;
  result.row.goal = 1.0;
  result.row.beside_triton = true;
  result.state = Result::State::measured;
  result.times = {ours_ms, peer_ms, peer_ms / ours_ms, peer_ms / ours_ms, peer_ms / ours_ms};
  result.rounds = 40;
  result.launches = 1;
  result.difference = 1e-4;
  return result;
}

TritonRow triton_at(int size, double triton, double cublas) {
  return {"half", "NN", size, size, size, triton, cublas, "a configuration"};
}

bool contains(const std::string &text, const std::string &part) {
  CAPTURE(text);
  CAPTURE(part);
  bool result = text.find(part) != std::string::npos;
  CHECK(result);
  return result;
}

} // namespace

TEST_CASE("ours over Triton is linked by the cuBLAS that both processes measured") {
  // There cuBLAS was slower than here; only ratios count.
  TritonResults triton = {"", "", {triton_at(1000, 5.0, 4.0)}};
  CHECK(over_triton(square(1000, 2.0, 2.2), triton) == doctest::Approx(1.1 / 0.8));
  CHECK(std::isnan(over_triton(square(500, 2.0, 2.2), triton)));
  Result failed = square(1000, 2.0, 2.2);
  failed.state = Result::State::failed;
  CHECK(std::isnan(over_triton(failed, triton)));
}

TEST_CASE("a line of the table") {
  TritonResults triton = {"", "", {triton_at(1000, 5.0, 4.0)}};
  std::string line = table_line(square(1000, 2.0, 2.2), triton);
  contains(line, "half NN 1000x1000x1000");
  contains(line, "1.0 "); // 2e9 operations in 2 ms are 1 TFLOP/s
  contains(line, "1.100  (1.100-1.100)");
  contains(line, "1.00 yes");
  contains(line, "0.800");
  contains(line, "1.375  yes");
  contains(table_line(square(1000, 2.2, 2.0), {}), "1.00 no");
}

TEST_CASE("lines of what was not measured say why") {
  Result result = square(1000, 0, 2);
  result.state = Result::State::not_compiled;
  std::string line = table_line(result, {});
  contains(line, "not compiled");
  contains(line, "1.0"); // the peer's
  result.state = Result::State::wrong;
  result.note = "differs";
  contains(table_line(result, {}), "wrong: differs");
}

TEST_CASE("rounds with a late host are told of") {
  Result result = square(1000, 2, 2);
  result.late_rounds = 3;
  contains(table_line(result, {}), "late in 3 of 40 rounds");
}

TEST_CASE("the summary: goals, the mean over Triton and its least, the launch") {
  Report report;
  report.results = {square(1000, 1.0, 1.2), square(2000, 1.0, 0.9)};
  report.triton.rows = {triton_at(1000, 1, 1), triton_at(2000, 1, 1)};
  report.launch = {true, 2100, 2050, 2080, 2110, 2165, 10000, ""};
  std::string text = summary(report);
  contains(text, "1 of 2 goals are met; 2 rows");
  contains(text, "geometric mean 1.039 of 2 rows (goal 1.10: no)");
  contains(text, "least 0.900 at half NN 2000x2000x2000 (goal 1.00: no)");
  contains(text, "again 2100 ns, bare cuLaunchKernelEx by the same CUkernel 2080 ns, +20 ns (goal "
                 "+100: yes); prepared 2165 ns, bare by the same CUfunction 2050 ns, +115 ns (goal "
                 "+100: no); again beyond bare by CUfunction +50 ns, three in turn +60 ns; medians "
                 "over 10000 launches");
  report.triton.rows.clear();
  report.triton_note = "see --triton";
  contains(summary(report), "ours / Triton: not measured (see --triton)");
}

TEST_CASE("only wrong and failed rows spoil a run") {
  Report report;
  report.results = {square(1000, 2, 1)}; // slow, but right
  CHECK(is_right(report));
  report.results.push_back(square(2000, 1, 1));
  report.results.back().state = Result::State::not_compiled;
  CHECK(is_right(report));
  report.results.back().state = Result::State::wrong;
  CHECK(!is_right(report));
}

TEST_CASE("JSON has what was measured, and nothing that was not") {
  Report report;
  report.results = {square(1000, 2.0, 2.2), square(2000, 0, 0)};
  report.results[1].state = Result::State::not_compiled;
  std::string text = json(report);
  contains(text, "\"name\": \"half NN 1000x1000x1000\"");
  contains(text, "\"ratio\": 1.1, \"ratio_quartiles\": [1.1, 1.1]");
  contains(text, "\"state\": \"not compiled\", \"peer\": \"cuBLAS\", \"goal\": 1}");
}

TEST_CASE("the plot has square products in the plain form, by size, Triton on our scale") {
  Report report;
  report.results = {square(2000, 4, 4), square(1000, 2, 1)};
  Result masked = square(3000, 1, 1);
  masked.row.form = Form::masked;
  report.results.push_back(masked);
  report.triton.rows = {triton_at(1000, 4, 2)};
  std::vector<Panel> drawn = panels(report);
  REQUIRE(drawn.size() == 1);
  CHECK(drawn[0].title == "half NN");
  REQUIRE(drawn[0].curves.size() == 3);
  REQUIRE(drawn[0].curves[0].points.size() == 2);
  CHECK(drawn[0].curves[0].points[0].x == 1000);
  CHECK(drawn[0].curves[0].points[0].y == doctest::Approx(1));
  REQUIRE(drawn[0].curves[2].points.size() == 1);
  CHECK(drawn[0].curves[2].points[0].y ==
        doctest::Approx(2 * 0.5)); // cuBLAS here, times its ratio there
}
