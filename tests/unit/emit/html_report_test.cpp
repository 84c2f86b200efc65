// Tests emit/report/html_report.cpp, plots.cpp and svg.cpp: the page of `tritonc report`.

#include "emit/report/html_report.h"

#include "emit/report/svg.h"
#include "support/contains.h"
#include "unit/emit/sample_library.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc;

namespace {

int count(const std::string &text, const std::string &part) {
  int found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    found++;
  return found;
}

// A tile of 8 x 8. Each row belongs to 2 threads. 4 warps hold the same elements.
ir::LinearLayout thread_layout() {
  return {.shape = {8, 8}, .reg = {1, 2}, .lane = {4, 8, 16, 32, 0}, .warp = {0, 0}, .offset = {}};
}

// A row-major stage of 8 x 8 elements; the buffer has 2 stages.
ir::LinearLayout buffer_layout() {
  return {.shape = {8, 8}, .reg = {}, .lane = {}, .warp = {}, .offset = {1, 2, 4, 8, 16, 32}};
}

// schedules_library() with the same details for each image.
Library detailed_library() {
  Library library = schedules_library();
  ImageDetails details;
  details.instructions = {{"HMMA", 30}, {"LDS.128", 10}, {"LDL.32", 5}, {"other", 55}};
  details.places = {{"dot", "f32[8,8]", 12, 4, thread_layout()},
                    {"shared_alloc", "shared<f16>[2,8,8]", 13, 2, buffer_layout()}};
  details.accesses = {{"load", "f16[8,8]", 14, true, 16, 1}, {"store", "f16[8,8]", 0, false, 4, 2}};
  details.occupancy = {2, 8, 64, "shared memory"};
  for (Image &image : library.kernels[0].variants[0].images)
    image.details = details;
  return library;
}

} // namespace

TEST_CASE("report_page: shows each image with its details") {
  std::string page = report_page(detailed_library(), "");
  size_t images = detailed_library().kernels[0].variants[0].images.size();
  CHECK(page.rfind("<!DOCTYPE html>", 0) == 0);
  CHECK(count(page, "2, by shared memory") == int(images));
  CHECK(contains(page, "title=\"tensor cores: 30\""));
  CHECK(contains(page, "title=\"shared memory: 10\""));
  CHECK(contains(page, "title=\"spilled registers: 5\""));
  CHECK(contains(page, "<td class=\"text\">load f16[8,8], line 14</td>"));
  CHECK(contains(page, "matrices, rows of 16 bytes</td><td>none</td>"));
  CHECK(contains(page, "4 bytes</td><td class=\"bad\">2.0 times as long</td>"));
  // All images have the same layouts. The page draws each layout once.
  CHECK(count(page, "<figure ") == 2);
  CHECK(count(page, "<a href=\"#layout-1\">dot : f32[8,8]</a>, line 12") > 1);
}

TEST_CASE("report_page: shows only tables without details") {
  std::string page = report_page(sample_library(), "");
  CHECK(count(page, "<table>") == int(sample_library().kernels.size()));
  for (const char *other : {"<svg", "<figure", "<details", "<h2>Layouts", "<h2>Decisions"})
    CHECK_FALSE(contains(page, other));
}

TEST_CASE("report_page: contains no script and no external reference") {
  std::string page = report_page(detailed_library(), "");
  for (const char *other : {"<script", "http", "src=", "url(", "@import"})
    CHECK_FALSE(contains(page, other));
}

TEST_CASE("report_page: merges equal decisions of several variants") {
  std::string page = report_page(sample_library(), "`dot` for sm_80, TM=64\n  note: a\n  note: b\n"
                                                   "`dot` for sm_80, TM=32\n  note: a\n  note: b\n"
                                                   "`scale` for sm_80\n  note: c\n");
  CHECK(contains(page, "<summary>`dot` for sm_80, TM=64 and 1 more</summary>\n<pre>a\nb\n</pre>"));
  CHECK(contains(page, "<summary>`scale` for sm_80</summary>\n<pre>c\n</pre>"));
  CHECK(count(page, "<pre>a\nb\n") == 1);
}

TEST_CASE("report_page: escapes names and values") {
  Library library = detailed_library();
  library.name = "<b>&\"x\"";
  library.kernels[0].variants[0].images[0].details->accesses[0].type = "</td><script>";
  std::string page = report_page(library, "<i>\n  note: <u>\n");
  CHECK(contains(page, "&lt;b&gt;&amp;&quot;x&quot;"));
  for (const char *tag : {"<b>&", "<script>", "<i>\n", "<u>"})
    CHECK_FALSE(contains(page, tag));
}

TEST_CASE("picture_of_threads: merges adjacent elements of a thread") {
  std::string svg = picture_of_threads(thread_layout());
  CHECK(count(svg, "<rect ") == 8 * 2);
  CHECK(contains(svg, "<title>row 0, columns 0 to 3: warp 0, lane 0, from register 0 on</title>"));
  CHECK(contains(svg, "<title>row 7, columns 4 to 7: warp 0, lane 15, from register 0 on</title>"));
  // Only the corner of a large tile is drawn.
  ir::LinearLayout large = {.shape = {64, 64},
                            .reg = {1, 2, 4, 8, 16, 32},
                            .lane = {64, 128, 256, 512, 1024},
                            .warp = {2048},
                            .offset = {}};
  CHECK(count(picture_of_threads(large), "<rect ") == 32);
}

TEST_CASE("picture_of_banks: shows bank and byte of each chunk") {
  std::string svg = picture_of_banks(buffer_layout(), 2);
  CHECK(count(svg, "<rect ") == 8); // a row is a chunk of 16 bytes
  CHECK(
      contains(svg, "<title>row 1, columns 0 to 7: from byte 16 of the stage on, bank 4</title>"));
  CHECK(contains(svg, "<title>row 7, columns 0 to 7: from byte 112 of the stage on, bank 28<"));
  // Each 4-byte element has its own bank.
  svg = picture_of_banks(buffer_layout(), 4);
  CHECK(count(svg, "<rect ") == 64);
  CHECK(contains(svg, "<title>row 4, column 1: from byte 132 of the stage on, bank 1</title>"));
}

TEST_CASE("report_page: plots measurements per C++ type and GPU") {
  Library library = sample_library();
  KernelEntry &kernel = library.kernels[0];
  CHECK(!contains(report_page(library, ""), "Measurements"));
  auto measured = [&](int64_t m, int64_t first, int64_t second) {
    Measurement measurement = {.gpu = "a <GPU>", .arch = 90, .num_sms = 132};
    measurement.problem = {{2, m}};
    measurement.times = {{0, first, {}, ""}, {1, second, {}, ""}};
    kernel.measurements.push_back(measurement);
  };
  REQUIRE(kernel.variants[0].parameters[2].name == "M");
  measured(4096, 9000, 3000);
  measured(64, 1000, 1500);
  std::string page = report_page(library, "");
  CHECK(count(page, "<h3>Measurements</h3>") == 1);
  CHECK(count(page, "<figcaption><b>dot TYPE=half A=N on a &lt;GPU&gt;, 132 SMs") == 1);
  CHECK(count(page, "<polyline ") == 2);
  CHECK(contains(page, "M=64: TM=32 1.50 us, 1.50 times the fastest"));
  CHECK(contains(page, "M=4096: TM=64 9.00 us, 3.00 times the fastest"));
  CHECK(contains(page, "TM=64 (1)")); // best in 1 of the 2 problems
  // A variant that never wins is a line without dots. The plot clips times above 4 times the best.
  kernel.measurements.clear();
  measured(64, 1000, 9000);
  page = report_page(library, "");
  CHECK(count(page, "<polyline ") == 2);
  CHECK(count(page, "<circle ") == 1);
  CHECK(contains(page, ",30.0\" fill=\"none\" stroke=\"#8886\""));
}
