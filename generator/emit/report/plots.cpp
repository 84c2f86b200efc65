// Draws the measured times of a kernel's variants as SVG curves. See plots.h.
//
// The x axis has the problems, from fast to slow. The y axis has the time of a variant divided by
// the time of the fastest variant. A variant has a color if it is the fastest for some problem.
//
// Tested by tests/unit/emit/html_report_test.cpp.

#include "emit/report/plots.h"

#include "emit/report/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

namespace tritonc {

namespace {

constexpr double width = 1000, height = 260, margin = 30; // pixels
constexpr double max_times = 4;                           // max time / fastest time; clips the rest

std::string number(double value, int places = 1) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

// The measurements of one C++ type on one GPU, sorted from fast to slow.
struct Group {
  std::string title;
  std::vector<const Measurement *> measurements;
};

int64_t fastest(const Measurement &measurement) {
  int64_t min_value = INT64_MAX;
  for (const Measurement::Time &time : measurement.times)
    min_value = std::min(min_value, time.nanoseconds);
  return min_value;
}

std::vector<Group> groups_of(const KernelEntry &kernel) {
  std::vector<Group> groups;
  for (const Measurement &measurement : kernel.measurements) {
    std::string types =
        kernel.variants[measurement.times.front().variant].values.type_text(kernel.axes);
    std::string title = kernel.name + (types.empty() ? "" : " " + types) + " on " +
                        measurement.gpu + ", " + std::to_string(measurement.num_sms) + " SMs";
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const Group &group) { return group.title == title; });
    if (found == groups.end())
      found = groups.insert(groups.end(), {title, {}});
    found->measurements.push_back(&measurement);
  }
  for (Group &group : groups)
    std::stable_sort(
        group.measurements.begin(), group.measurements.end(),
        [](const Measurement *a, const Measurement *b) { return fastest(*a) < fastest(*b); });
  return groups;
}

std::string text_of(const KernelEntry &kernel, const Measurement &measurement) {
  const std::vector<Parameter> &parameters =
      kernel.variants[measurement.times.front().variant].parameters;
  std::string text;
  for (const auto &[parameter, value] : measurement.problem)
    text += (text.empty() ? "" : " ") + parameters[size_t(parameter)].name + "=" +
            std::to_string(value);
  return text;
}

class Chart {
public:
  Chart(const KernelEntry &kernel, const Group &group) : kernel_(kernel), group_(group) {}

  std::string text() {
    for (size_t i = 0; i < group_.measurements.size(); i++)
      for (const Measurement::Time &time : group_.measurements[i]->times) {
        double times = double(time.nanoseconds) / double(fastest(*group_.measurements[i]));
        Curve &curve = curves_[time.variant];
        curve.points.push_back({i, times, time.nanoseconds});
        curve.wins += times == 1;
      }
    std::string lines, key = "<div class=\"key\">";
    for (bool has_color : {false, true}) // draws the colored curves last, on top
      for (const auto &[variant, curve] : curves_)
        if ((curve.wins != 0) == has_color)
          lines += line_of(variant, curve);
    for (const auto &[variant, curve] : curves_)
      if (curve.wins)
        key += "<span><i style=\"background:" + color_of(variant) + "\"></i>" +
               escaped(name_of(variant)) + " (" + std::to_string(curve.wins) + ")</span>";
    return "<figure><figcaption><b>" + escaped(group_.title) +
           "</b>: " + std::to_string(group_.measurements.size()) +
           " problems; how many times as long as the fastest variant each takes</figcaption>\n"
           "<svg class=\"curves\" viewBox=\"0 0 " +
           number(width, 0) + " " + number(height, 0) + "\" width=\"" + number(width, 0) + "\">\n" +
           grid() + lines + "</svg>\n" + key + "</div></figure>\n";
  }

private:
  struct Point {
    size_t problem;
    double times;
    int64_t nanoseconds;
  };
  struct Curve {
    std::vector<Point> points;
    int wins = 0; // number of problems for which it is the fastest
  };

  double x_of(size_t problem) const {
    double last = std::max<double>(1, double(group_.measurements.size()) - 1);
    return margin + (width - 2 * margin) * double(problem) / last;
  }
  static double y_of(double times) {
    return height - margin -
           (height - 2 * margin) * std::log(std::min(times, max_times)) / std::log(max_times);
  }

  std::string name_of(size_t variant) const {
    return kernel_.variants[variant].values.tuned_text(kernel_.axes);
  }
  std::string color_of(size_t variant) const {
    size_t place = 0, count = 0;
    for (const auto &[other, curve] : curves_) {
      place += curve.wins && other < variant;
      count += curve.wins != 0;
    }
    return "hsl(" + std::to_string(360 * place / std::max<size_t>(count, 1)) + " 70% 45%)";
  }

  static std::string grid() {
    std::string text;
    for (double times : {1.0, 1.5, 2.0, 3.0, 4.0}) {
      std::string y = number(y_of(times));
      text += "<line x1=\"" + number(margin) + "\" x2=\"" + number(width - margin) + "\" y1=\"" +
              y + "\" y2=\"" + y + "\"/><text x=\"" + number(margin - 4) + "\" y=\"" + y + "\">" +
              number(times) + "</text>\n";
    }
    return text;
  }

  std::string line_of(size_t variant, const Curve &curve) const {
    std::string color = curve.wins ? color_of(variant) : "#8886";
    std::string points, dots;
    for (const Point &point : curve.points) {
      std::string x = number(x_of(point.problem)), y = number(y_of(point.times));
      points += (points.empty() ? "" : " ") + x + "," + y;
      if (curve.wins)
        dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3\" fill=\"" + color + "\"><title>" +
                escaped(text_of(kernel_, *group_.measurements[point.problem]) + ": " +
                        name_of(variant) + " " + number(double(point.nanoseconds) / 1000, 2) +
                        " us, " + number(point.times, 2) + " times the fastest") +
                "</title></circle>\n";
    }
    return "<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" + color + "\"><title>" +
           escaped(name_of(variant)) + "</title></polyline>\n" + dots;
  }

  const KernelEntry &kernel_;
  const Group &group_;
  std::map<size_t, Curve> curves_; // by variant
};

} // namespace

std::string section_of_measurements(const KernelEntry &kernel) {
  if (kernel.measurements.empty())
    return "";
  std::string text =
      "<h3>Measurements</h3>\n<p>From left to right problems, by how long they take; "
      "in brackets, for how many of them a variant is the fastest. Point at a dot "
      "for more.</p>\n";
  for (const Group &group : groups_of(kernel))
    text += Chart(kernel, group).text();
  return text;
}

} // namespace tritonc
