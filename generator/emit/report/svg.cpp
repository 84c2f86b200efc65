// Draws layouts as SVG. See svg.h.
//
// Tested by tests/unit/emit/html_report_test.cpp.

#include "emit/report/svg.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

namespace tritonc {

using namespace ir;

namespace {

constexpr int64_t max_rows = 32;
constexpr int cell_height = 14, margin = 22; // pixels

// The field of one element. Adjacent fields with equal keys become one field.
struct Field {
  std::string key, text, says;
  int hue = 0, lightness = 0; // degrees, percent
};

// The part of a tile to draw (the tile may have one axis), and the width of an element.
struct Corner {
  int64_t rows, columns;
  int cell_width; // pixels
  Corner(const Shape &shape, int64_t max_columns, int cell_width)
      : rows(shape.size() < 2 ? 1 : std::min(shape[shape.size() - 2], max_rows)),
        columns(std::min(shape.back(), max_columns)), cell_width(cell_width) {}
};

FlatIndex index_at(const Shape &shape, int64_t row, int64_t column) {
  std::vector<int64_t> at(shape.size(), 0);
  if (shape.size() > 1)
    at[shape.size() - 2] = row;
  at.back() = column;
  return flatten(shape, at);
}

std::string number(int64_t value) { return std::to_string(value); }

std::string rectangle(int64_t row, int64_t first, int64_t last, const Field &field,
                      int cell_width) {
  int64_t x = margin + first * cell_width, y = margin + row * cell_height;
  int64_t width = (last - first + 1) * cell_width;
  std::string place =
      "row " + number(row) + ", column" +
      (last > first ? "s " + number(first) + " to " + number(last) : " " + number(first));
  return "<g><title>" + place + ": " + field.says + "</title><rect x=\"" + number(x) + "\" y=\"" +
         number(y) + "\" width=\"" + number(width) + "\" height=\"" + number(cell_height) +
         "\" fill=\"hsl(" + number(field.hue) + " 60% " + number(field.lightness) +
         "%)\"/><text x=\"" + number(x + width / 2) + "\" y=\"" + number(y + cell_height - 4) +
         "\">" + field.text + "</text></g>\n";
}

std::string picture(const Shape &shape, const Corner &corner,
                    const std::function<Field(FlatIndex)> &at) {
  const int cell_width = corner.cell_width;
  std::string svg = "<svg class=\"layout\" width=\"" +
                    number(margin + corner.columns * cell_width + 2) + "\" height=\"" +
                    number(margin + corner.rows * cell_height + 2) + "\">\n";
  for (int64_t column = 0; column < corner.columns; column += 8)
    svg += "<text x=\"" + number(margin + column * cell_width + cell_width / 2) + "\" y=\"" +
           number(margin - 6) + "\">" + number(column) + "</text>\n";
  for (int64_t row = 0; row < corner.rows; row++) {
    if (row % 8 == 0)
      svg += "<text x=\"" + number(margin / 2) + "\" y=\"" +
             number(margin + (row + 1) * cell_height - 4) + "\">" + number(row) + "</text>\n";
    for (int64_t first = 0, last = 0; first < corner.columns; first = last + 1) {
      Field field = at(index_at(shape, row, first));
      last = first;
      while (last + 1 < corner.columns && at(index_at(shape, row, last + 1)).key == field.key)
        last++;
      svg += rectangle(row, first, last, field, cell_width);
    }
  }
  return svg + "</svg>\n";
}

// The thread that holds an element (the first, if several do) and its register.
struct Holder {
  uint32_t warp, lane, reg;
};

std::map<FlatIndex, Holder> holders_of(const LinearLayout &layout, const Corner &corner) {
  std::map<FlatIndex, Holder> holders;
  for (uint32_t warp = 0; warp < uint32_t(layout.warps()); warp++)
    for (uint32_t lane = 0; lane < 32; lane++)
      for (uint32_t reg = 0; reg < uint32_t(layout.registers()); reg++) {
        FlatIndex index = layout.index(reg, lane, warp);
        std::vector<int64_t> at = unflatten(layout.shape, index);
        bool is_shown = at.back() < corner.columns;
        for (size_t d = 0; d + 1 < at.size(); d++)
          is_shown &= at[d] < (d + 2 == at.size() ? corner.rows : 1);
        if (is_shown)
          holders.insert({index, {warp, lane, reg}});
      }
  return holders;
}

} // namespace

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

std::string picture_of_threads(const LinearLayout &layout) {
  const Corner corner(layout.shape, 32, 18);
  std::map<FlatIndex, Holder> holders = holders_of(layout, corner);
  const int warps = layout.warps();
  return picture(layout.shape, corner, [&](FlatIndex index) -> Field {
    auto found = holders.find(index);
    if (found == holders.end())
      return {.key = "", .text = "", .says = "no thread", .hue = 0, .lightness = 50};
    auto [warp, lane, reg] = found->second;
    // Adjacent registers of one thread are one field. Its tooltip names the first register.
    return {.key = number(warp) + "." + number(lane),
            .text = number(lane),
            .says = "warp " + number(warp) + ", lane " + number(lane) + ", from register " +
                    number(reg) + " on",
            .hue = int(lane * 360 / 32),
            .lightness = 45 + int(warp) * 35 / std::max(warps, 1)};
  });
}

std::string picture_of_banks(const LinearLayout &layout, int element_bytes) {
  constexpr uint32_t banks = 32, bank_bytes = 4, chunk_bytes = 16;
  // 64 columns: a row of 128 bytes has 64 elements of 16 bits.
  const Corner corner(layout.shape, 64, 9);
  return picture(layout.shape, corner, [&](FlatIndex index) -> Field {
    uint32_t offset = layout.offset_of(index) * uint32_t(element_bytes);
    uint32_t chunk = offset / chunk_bytes, bank = offset / bank_bytes % banks;
    uint32_t first = chunk * chunk_bytes / bank_bytes % banks;
    bool is_wide = element_bytes >= int(bank_bytes);
    return {.key = is_wide ? number(offset) : number(chunk),
            .text = number(is_wide ? bank : first),
            .says = "from byte " + number(is_wide ? offset : chunk * chunk_bytes) +
                    " of the stage on, bank " + number(is_wide ? bank : first),
            .hue = int((is_wide ? bank : first) * 360 / banks),
            .lightness = 60};
  });
}

} // namespace tritonc
