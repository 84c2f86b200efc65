// Curves as SVG: small panels side by side, each with the same axes.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct Point {
  double x, y;
};
struct Curve {
  std::string name; // the same in all panels
  std::vector<Point> points;
};
struct Panel {
  std::string title;
  std::vector<Curve> curves;
};

/// `title` and `caption` stand above and below. x is drawn by its logarithm, y from zero.
std::string svg(const std::string &title, const std::string &caption,
                const std::vector<Panel> &panels);

/// Distances between lines of a grid that reaches to `largest`: 1, 2 or 5 times a power of ten,
/// four to eight lines.
double grid_step(double largest);

} // namespace bench
