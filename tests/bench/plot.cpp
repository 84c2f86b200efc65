// Tested by plot_test.cpp.

#include "plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>

namespace bench {

namespace {

// Pixels.
constexpr double panel_width = 300, panel_height = 220;
constexpr double left = 44, right = 12, top = 26, bottom = 40; // around a panel's plot
constexpr double head = 64, foot = 34, margin = 16;
constexpr size_t panels_per_line = 4;

const char *const colors[] = {"#0b62c4", "#555555", "#d9730d", "#2a8c55"};
// Distinguish the curves without colors.
const char *const dashes[] = {"", "6 3", "2 3", "8 3 2 3"};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::round(value * 100) / 100);
  return text;
}

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

std::string text_at(double x, double y, const std::string &text, const std::string &attributes) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" " + attributes + ">" +
         escaped(text) + "</text>\n";
}

std::string line(Point from, Point to, const std::string &attributes) {
  return "<line x1=\"" + number(from.x) + "\" y1=\"" + number(from.y) + "\" x2=\"" + number(to.x) +
         "\" y2=\"" + number(to.y) + "\" " + attributes + "/>\n";
}

std::string stroke(size_t curve) {
  size_t i = curve % std::size(colors);
  std::string result = std::string("fill=\"none\" stroke-width=\"2\" stroke=\"") + colors[i] + "\"";
  return dashes[i][0] ? result + " stroke-dasharray=\"" + dashes[i] + "\"" : result;
}

// The axes of all panels, which are equal for comparison.
struct Axes {
  std::set<double> sizes; // all values of x; each gets a tick
  double largest = 0;     // the top of y
  double step = 1;

  explicit Axes(const std::vector<Panel> &panels) {
    for (const Panel &panel : panels)
      for (const Curve &curve : panel.curves)
        for (const Point &point : curve.points) {
          sizes.insert(point.x);
          largest = std::max(largest, point.y);
        }
    if (largest == 0)
      largest = 1;
    step = grid_step(largest);
    largest = std::ceil(largest / step) * step;
  }

  Point place(Point value) const {
    double from = std::log2(*sizes.begin()), to = std::log2(*sizes.rbegin());
    double part = to > from ? (std::log2(value.x) - from) / (to - from) : 0.5;
    return {left + part * (panel_width - left - right),
            panel_height - bottom - value.y / largest * (panel_height - top - bottom)};
  }
};

std::string draw_grid(const Axes &axes) {
  std::string out;
  double y0 = panel_height - bottom, x1 = panel_width - right;
  for (double value = 0; value <= axes.largest * 1.0001; value += axes.step) {
    double y = axes.place({*axes.sizes.begin(), value}).y;
    out += line({left, y}, {x1, y}, value == 0 ? "stroke=\"#333\"" : "stroke=\"#ddd\"");
    out += text_at(left - 6, y + 4, number(value), "text-anchor=\"end\" fill=\"#444\"");
  }
  double free = -1e9; // end of the last label; omits labels that would overlap
  for (double size : axes.sizes) {
    double x = axes.place({size, 0}).x;
    out += line({x, y0}, {x, y0 + 4}, "stroke=\"#333\"");
    if (x - free < 32)
      continue;
    free = x;
    out += text_at(x, y0 + 17, number(size), "text-anchor=\"middle\" fill=\"#444\"");
  }
  return out;
}

std::string draw(const Panel &panel, const Axes &axes) {
  std::string out = text_at(left, 16, panel.title, "font-weight=\"bold\" fill=\"#222\"");
  out += draw_grid(axes);
  for (size_t i = panel.curves.size(); i-- > 0;) { // draws the first curve last, on top
    std::string points, marks;
    for (const Point &value : panel.curves[i].points) {
      Point at = axes.place(value);
      points += number(at.x) + "," + number(at.y) + " ";
      marks += "<circle cx=\"" + number(at.x) + "\" cy=\"" + number(at.y) + "\" r=\"2.6\" fill=\"" +
               colors[i % std::size(colors)] + "\"><title>" +
               escaped(panel.curves[i].name + " " + number(value.x) + ": " + number(value.y)) +
               "</title></circle>\n";
    }
    if (!points.empty())
      points.pop_back();
    if (!panel.curves[i].points.empty())
      out += "<polyline points=\"" + points + "\" " + stroke(i) + "/>\n" + marks;
  }
  return out;
}

std::string draw_legend(const Panel &panel) {
  std::string out;
  double x = margin + left;
  for (size_t i = 0; i < panel.curves.size(); i++) {
    out += "<polyline points=\"" + number(x) + ",46 " + number(x + 28) + ",46\" " + stroke(i) +
           "/>\n" + text_at(x + 34, 50, panel.curves[i].name, "fill=\"#222\"");
    x += 60 + 8 * double(panel.curves[i].name.size());
  }
  return out;
}

} // namespace

double grid_step(double largest) {
  double power = std::pow(10, std::floor(std::log10(largest / 4)));
  for (double step : {5 * power, 2 * power})
    if (largest / step >= 4)
      return step;
  return power;
}

std::string svg(const std::string &title, const std::string &caption,
                const std::vector<Panel> &panels) {
  size_t columns = std::clamp<size_t>(panels.size(), 1, panels_per_line);
  size_t lines = (panels.size() + columns - 1) / columns;
  double width = std::max(2 * margin + double(columns) * panel_width, 640.0);
  double height = head + double(lines) * panel_height + foot;
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) +
                    "\" height=\"" + number(height) + "\" viewBox=\"0 0 " + number(width) + " " +
                    number(height) +
                    "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  out += text_at(margin + left, 26, title, "font-size=\"16\" font-weight=\"bold\" fill=\"#111\"");
  if (!panels.empty())
    out += draw_legend(panels[0]);
  Axes axes(panels);
  for (size_t i = 0; i < panels.size(); i++) {
    double x = margin + double(i % columns) * panel_width;
    double y = head + double(i / columns) * panel_height;
    if (axes.sizes.empty())
      break;
    out += "<g transform=\"translate(" + number(x) + " " + number(y) + ")\">\n" +
           draw(panels[i], axes) + "</g>\n";
  }
  out += text_at(margin + left, height - 12, caption, "fill=\"#555\"");
  return out + "</svg>\n";
}

} // namespace bench
