// Draws curves as SVG: small panels with the same axes.
#pragma once

#include <string>
#include <vector>

namespace bench {

struct Point {
  double x, y;
};
struct Curve {
  std::string name; // same names in all panels
  std::vector<Point> points;
};
struct Panel {
  std::string title;
  std::vector<Curve> curves;
};

/// `title` is above and `caption` below the panels. The x axis is logarithmic; the y axis begins at
/// 0.
std::string svg(const std::string &title, const std::string &caption,
                const std::vector<Panel> &panels);

/// The step between grid lines up to `largest`: 1, 2 or 5 times a power of ten. The grid has 4 to 8
/// lines.
double grid_step(double largest);

} // namespace bench
