// Tested by report_test.cpp.

#include "report.h"

#include "json.h"
#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>

namespace bench {

namespace {

const char *const state_names[] = {"measured", "not compiled", "no peer", "wrong", "failed"};

[[gnu::format(printf, 1, 2)]] std::string text(const char *format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

// "yes", "no", or "" if not measured.
const char *verdict(double value, double goal) {
  return std::isnan(value) ? "" : value >= goal ? "yes" : "no";
}

std::string cell(double value, int width, int digits) {
  return std::isnan(value) ? text("%*s", width, "-") : text("%*.*f", width, digits, value);
}

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

double ours(const Result &result) {
  return result.has_ours() ? result.teraflops(result.times.first) : nothing;
}
double peers(const Result &result) {
  return result.has_peer() ? result.teraflops(result.times.second) : nothing;
}
double ratio(const Result &result) {
  return result.state == Result::State::measured ? result.times.ratio : nothing;
}
// Triton's speed, rescaled to the process that measured ours.
double tritons(const Result &result, const TritonResults &triton) {
  const TritonRow *row = triton.find(result.row);
  return row ? peers(result) * row->ratio() : nothing;
}

std::string triton_line(const Report &report) {
  if (report.triton.rows.empty())
    return "ours / Triton: not measured" +
           (report.triton_note.empty() ? "" : " (" + report.triton_note + ")") + "\n";
  std::vector<double> ratios;
  const Result *least = nullptr;
  for (const Result &result : report.results) {
    double value = over_triton(result, report.triton);
    if (std::isnan(value))
      continue;
    ratios.push_back(value);
    if (!least || value < over_triton(*least, report.triton))
      least = &result;
  }
  if (!least)
    return "ours / Triton: no row has both\n";
  double mean = geometric_mean(ratios), worst = over_triton(*least, report.triton);
  return text("ours / Triton: geometric mean %.3f of %zu rows (goal %.2f: %s), least %.3f at %s "
              "(goal %.2f: %s)\n",
              mean, ratios.size(), triton_mean_goal, verdict(mean, triton_mean_goal), worst,
              name(least->row).c_str(), triton_each_goal, verdict(worst, triton_each_goal));
}

std::string launch_line(const LaunchCost &launch) {
  if (!launch.measured)
    return launch.note.empty() ? "" : "launch: not measured (" + launch.note + ")\n";
  double again = launch.ours - launch.bare_kernel, prepared = launch.prepared - launch.bare;
  return text("launch: again %.0f ns, bare cuLaunchKernelEx by the same CUkernel %.0f ns, %+.0f ns "
              "(goal +%.0f: %s); prepared %.0f ns, bare by the same CUfunction %.0f ns, %+.0f ns "
              "(goal +%.0f: %s); again beyond bare by CUfunction %+.0f ns, three in turn %+.0f ns; "
              "medians over %d launches\n",
              launch.ours, launch.bare_kernel, again, launch_goal,
              again <= launch_goal ? "yes" : "no", launch.prepared, launch.bare, prepared,
              launch_goal, prepared <= launch_goal ? "yes" : "no", launch.ours - launch.bare,
              launch.three - launch.bare, launch.launches);
}

void write_row(Json &json, const Result &result, const TritonResults &triton) {
  const Row &row = result.row;
  json.begin_object();
  json.field("name", name(row));
  json.field("group", row.group);
  json.field("type", name(row.type));
  json.field("layout", layout(row));
  json.field("m", row.m);
  json.field("n", row.n);
  json.field("k", row.k);
  json.field("state", state_names[int(result.state)]);
  json.field("peer", peer(row));
  json.field("goal", row.goal);
  if (result.has_ours()) {
    json.field("ours_ms", result.times.first);
    json.field("ours_tflops", ours(result));
    json.field("rounds", result.rounds);
    json.field("launches", result.launches);
    json.field("late_rounds", result.late_rounds);
  }
  if (result.has_peer()) {
    json.field("peer_ms", result.times.second);
    json.field("peer_tflops", peers(result));
  }
  if (result.state == Result::State::measured) {
    json.field("ratio", result.times.ratio);
    json.begin_array("ratio_quartiles");
    json.value(result.times.low);
    json.value(result.times.high);
    json.end();
    json.field("difference", result.difference);
    json.field("largest_difference", result.largest);
  }
  if (const TritonRow *peer = triton.find(row)) {
    json.field("triton_over_cublas", peer->ratio());
    json.field("triton_configuration", peer->configuration);
    json.field("ours_over_triton", over_triton(result, triton));
  }
  if (!result.note.empty())
    json.field("note", result.note);
  if (!result.tiles.empty()) {
    json.begin_object("tiles_ms");
    for (const auto &[tile, milliseconds] : result.tiles)
      json.field(tile, milliseconds);
    json.end();
  }
  json.end();
}

// Square baseline rows of one type and layout, by size.
std::vector<const Result *> squares(const Report &report, Type type, const std::string &layout_) {
  std::vector<const Result *> result;
  for (const Result &candidate : report.results) {
    const Row &row = candidate.row;
    if (row.form == Form::plain && row.type == type && layout(row) == layout_ && row.m == row.n &&
        row.m == row.k)
      result.push_back(&candidate);
  }
  std::sort(result.begin(), result.end(),
            [](const Result *a, const Result *b) { return a->row.m < b->row.m; });
  return result;
}

} // namespace

bool Result::has_peer() const {
  return state == State::measured || (state == State::not_compiled && times.second > 0);
}

double over_triton(const Result &result, const TritonResults &triton) {
  const TritonRow *row = triton.find(result.row);
  return row ? ratio(result) / row->ratio() : nothing;
}

std::string table_head() {
  const char *format = "%-34s %8s %8s %8s  %-15s %-8s %10s %8s  %-3s %11s\n";
  return text(format, "", "ours", "peer", "ours/", "(quartiles)", "goal", "Triton/", "ours/", ">=1",
              "differs by") +
         text(format, "product", "TFLOP/s", "TFLOP/s", "peer", "", "", "cuBLAS", "Triton", "", "");
}

std::string table_line(const Result &result, const TritonResults &triton) {
  const TritonRow *row = triton.find(result.row);
  bool both = result.state == Result::State::measured;
  double triton_ratio = over_triton(result, triton);
  std::string line =
      text("%-34s ", name(result.row).c_str()) + cell(ours(result), 8, 1) + " " +
      cell(peers(result), 8, 1) + " " + cell(ratio(result), 8, 3) + "  " +
      text("%-15s ", both ? text("(%.3f-%.3f)", result.times.low, result.times.high).c_str() : "") +
      text("%.2f %-3s ", result.row.goal, verdict(ratio(result), result.row.goal)) +
      cell(row ? row->ratio() : nothing, 10, 3) + " " + cell(triton_ratio, 8, 3) + "  " +
      text("%-3s ", verdict(triton_ratio, triton_each_goal)) +
      (both ? text("%11.1e", result.difference) : text("%11s", ""));
  if (result.state != Result::State::measured)
    line += std::string("  ") + state_names[int(result.state)];
  if (!result.note.empty())
    line += ": " + result.note;
  if (result.late_rounds > 0)
    line += text("  [the host was late in %d of %d rounds]", result.late_rounds, result.rounds);
  return line + "\n";
}

std::string summary(const Report &report) {
  int met = 0, measured = 0;
  for (const Result &result : report.results)
    if (result.state == Result::State::measured) {
      measured++;
      met += result.times.ratio >= result.row.goal;
    }
  return text("ours / peer: %d of %d goals are met; %zu rows\n", met, measured,
              report.results.size()) +
         triton_line(report) + launch_line(report.launch);
}

std::string json(const Report &report) {
  Json json;
  json.begin_object();
  json.field("device", report.machine.device);
  json.field("driver", report.machine.driver);
  json.field("cublas", report.machine.cublas);
  json.field("triton", report.triton.versions);
  json.field("date", report.machine.date);
  if (report.launch.measured) {
    json.begin_object("launch");
    json.field("ours_ns", report.launch.ours);
    json.field("bare_ns", report.launch.bare);
    json.field("bare_by_kernel_ns", report.launch.bare_kernel);
    json.field("three_in_turn_ns", report.launch.three);
    json.field("prepared_ns", report.launch.prepared);
    json.field("goal_ns_more", launch_goal);
    json.field("launches", report.launch.launches);
    json.end();
  }
  json.begin_array("rows");
  for (const Result &result : report.results)
    write_row(json, result, report.triton);
  json.end();
  json.end();
  return json.text();
}

std::vector<Panel> panels(const Report &report) {
  std::vector<Panel> result;
  for (Type type : {Type::float16, Type::bfloat16})
    for (const char *layout : {"NN", "NT", "TN", "TT"}) {
      Panel panel = {std::string(name(type)) + " " + layout,
                     {{"TritonC", {}}, {"cuBLAS", {}}, {"Triton", {}}}};
      for (const Result *square : squares(report, type, layout)) {
        double values[] = {ours(*square), peers(*square), tritons(*square, report.triton)};
        for (size_t i = 0; i < panel.curves.size(); i++)
          if (!std::isnan(values[i]))
            panel.curves[i].points.push_back({double(square->row.m), values[i]});
      }
      bool has_curve = std::any_of(panel.curves.begin(), panel.curves.end(),
                                   [](const Curve &curve) { return curve.points.size() >= 2; });
      if (has_curve)
        result.push_back(panel);
    }
  return result;
}

bool is_right(const Report &report) {
  return std::none_of(report.results.begin(), report.results.end(), [](const Result &result) {
    return result.state == Result::State::wrong || result.state == Result::State::failed;
  });
}

} // namespace bench
