// Tests tests/bench/report.cpp.

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

bool check_contains(const std::string &text, const std::string &part) {
  CAPTURE(text);
  CAPTURE(part);
  bool result = text.find(part) != std::string::npos;
  CHECK(result);
  return result;
}

} // namespace

TEST_CASE("over_triton: links both ratios through cuBLAS") {
  // cuBLAS was slower in Triton's process. Only ratios count.
  TritonResults triton = {"", "", {triton_at(1000, 5.0, 4.0)}};
  CHECK(over_triton(square(1000, 2.0, 2.2), triton) == doctest::Approx(1.1 / 0.8));
  CHECK(std::isnan(over_triton(square(500, 2.0, 2.2), triton)));
  Result failed = square(1000, 2.0, 2.2);
  failed.state = Result::State::failed;
  CHECK(std::isnan(over_triton(failed, triton)));
}

TEST_CASE("table_line: shows speeds, ratios and verdicts") {
  TritonResults triton = {"", "", {triton_at(1000, 5.0, 4.0)}};
  std::string line = table_line(square(1000, 2.0, 2.2), triton);
  check_contains(line, "half NN 1000x1000x1000");
  check_contains(line, "1.0 "); // 2e9 operations in 2 ms are 1 TFLOP/s
  check_contains(line, "1.100  (1.100-1.100)");
  check_contains(line, "1.00 yes");
  check_contains(line, "0.800");
  check_contains(line, "1.375  yes");
  check_contains(table_line(square(1000, 2.2, 2.0), {}), "1.00 no");
}

TEST_CASE("table_line: shows why a row was not measured") {
  Result result = square(1000, 0, 2);
  result.state = Result::State::not_compiled;
  std::string line = table_line(result, {});
  check_contains(line, "not compiled");
  check_contains(line, "1.0"); // speed of the peer
  result.state = Result::State::wrong;
  result.note = "differs";
  check_contains(table_line(result, {}), "wrong: differs");
}

TEST_CASE("table_line: shows rounds with a late host") {
  Result result = square(1000, 2, 2);
  result.late_rounds = 3;
  check_contains(table_line(result, {}), "late in 3 of 40 rounds");
}

TEST_CASE("summary: shows goals, Triton ratios and launch cost") {
  Report report;
  report.results = {square(1000, 1.0, 1.2), square(2000, 1.0, 0.9)};
  report.triton.rows = {triton_at(1000, 1, 1), triton_at(2000, 1, 1)};
  report.launch = {true, 2100, 2050, 2080, 2110, 2165, 10000, ""};
  std::string text = summary(report);
  check_contains(text, "1 of 2 goals are met; 2 rows");
  check_contains(text, "geometric mean 1.039 of 2 rows (goal 1.10: no)");
  check_contains(text, "least 0.900 at half NN 2000x2000x2000 (goal 1.00: no)");
  check_contains(text,
                 "again 2100 ns, bare cuLaunchKernelEx by the same CUkernel 2080 ns, +20 ns (goal "
                 "+100: yes); prepared 2165 ns, bare by the same CUfunction 2050 ns, +115 ns (goal "
                 "+100: no); again beyond bare by CUfunction +50 ns, three in turn +60 ns; medians "
                 "over 10000 launches");
  report.triton.rows.clear();
  report.triton_note = "see --triton";
  check_contains(summary(report), "ours / Triton: not measured (see --triton)");
}

TEST_CASE("is_right: is false only for wrong and failed rows") {
  Report report;
  report.results = {square(1000, 2, 1)}; // slow but correct
  CHECK(is_right(report));
  report.results.push_back(square(2000, 1, 1));
  report.results.back().state = Result::State::not_compiled;
  CHECK(is_right(report));
  report.results.back().state = Result::State::wrong;
  CHECK(!is_right(report));
}

TEST_CASE("json: omits values that were not measured") {
  Report report;
  report.results = {square(1000, 2.0, 2.2), square(2000, 0, 0)};
  report.results[1].state = Result::State::not_compiled;
  std::string text = json(report);
  check_contains(text, "\"name\": \"half NN 1000x1000x1000\"");
  check_contains(text, "\"ratio\": 1.1, \"ratio_quartiles\": [1.1, 1.1]");
  check_contains(text, "\"state\": \"not compiled\", \"peer\": \"cuBLAS\", \"goal\": 1}");
}

TEST_CASE("panels: square baseline rows by size, Triton rescaled") {
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
        doctest::Approx(2 * 0.5)); // our cuBLAS speed * Triton / cuBLAS
}
