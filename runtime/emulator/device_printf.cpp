// Parses print formats and builds the printed lines. See device_printf.h.
//
// Tested by tests/unit/emulator/device_printf_test.cpp.

#include "device_printf.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace tritonc::emulator {
namespace {

// A floating-point format of up to 16 bits.
struct SmallFloat {
  int significand_bits; // stored bits
  int bias;
  bool has_infinity; // if false, only all ones is NaN
};

std::optional<SmallFloat> small_float(const std::string &type) {
  if (type == "f16")
    return SmallFloat{10, 15, true};
  if (type == "bf16")
    return SmallFloat{7, 127, true};
  if (type == "e4m3")
    return SmallFloat{3, 7, false};
  if (type == "e5m2")
    return SmallFloat{2, 15, true};
  return std::nullopt;
}

int bits_of(const std::string &type) {
  if (type == "e4m3" || type == "e5m2")
    return 8;
  size_t digits = type.find_first_of("0123456789");
  int bits = 0;
  if (digits != type.npos)
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  return bits;
}

bool is_type(const std::string &type) {
  for (const char *known : {"i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16",
                            "bf16", "e4m3", "e5m2", "f32", "f64"})
    if (type == known)
      return true;
  return false;
}

double value_of(const SmallFloat &format, int bits, uint64_t code) {
  uint64_t hidden = uint64_t(1) << format.significand_bits;
  uint64_t magnitude = code & ((uint64_t(1) << (bits - 1)) - 1);
  uint64_t highest = (uint64_t(1) << (bits - 1)) - hidden; // the highest exponent
  double sign = code >> (bits - 1) & 1 ? -1 : 1;
  if (format.has_infinity && magnitude == highest)
    return sign * std::numeric_limits<double>::infinity();
  if (format.has_infinity ? magnitude > highest : magnitude == (highest | (hidden - 1)))
    return std::numeric_limits<double>::quiet_NaN();
  int exponent = int(magnitude / hidden);
  uint64_t significand = magnitude % hidden + (exponent ? hidden : 0);
  return sign * std::ldexp(double(significand),
                           std::max(exponent, 1) - format.bias - format.significand_bits);
}

template <typename Number> std::string shortest(Number number) {
  if (std::isnan(number)) // of either sign
    return "nan";
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

std::string number_text(const std::string &type, uint64_t code) {
  int bits = bits_of(type);
  if (type == "i1")
    return code & 1 ? "true" : "false";
  if (type == "f64")
    return shortest(std::bit_cast<double>(code));
  if (type == "f32")
    return shortest(std::bit_cast<float>(uint32_t(code)));
  if (std::optional<SmallFloat> format = small_float(type))
    return shortest(float(value_of(*format, bits, code)));
  int unused = 64 - bits;
  return type[0] == 'u' ? std::to_string(code << unused >> unused)
                        : std::to_string(int64_t(code << unused) >> unused);
}

// Parses "4,8]", the rest of a shape after its bracket; nullopt if it is not a shape.
std::optional<std::vector<uint32_t>> shape_in(std::string_view text) {
  std::vector<uint32_t> shape;
  for (;;) {
    uint32_t extent = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent == 0)
      return std::nullopt;
    shape.push_back(extent);
    text.remove_prefix(size_t(end - text.data()));
    if (text == "]")
      return shape;
    if (!text.starts_with(","))
      return std::nullopt;
    text.remove_prefix(1);
  }
}

uint64_t product(const std::vector<uint32_t> &shape) {
  uint64_t count = 1;
  for (uint32_t extent : shape)
    count *= extent;
  return count;
}

// Reads a format from left to right: calls `place(inside)` for text in braces and
// `plain(character)` for other characters. If `place` returns false, the text in braces is plain,
// too.
template <typename Plain, typename Place>
void read_format(const std::string &text, Plain plain, Place place) {
  for (size_t i = 0; i < text.size(); i++) {
    bool is_brace = text[i] == '{' || text[i] == '}';
    if (is_brace && i + 1 < text.size() && text[i + 1] == text[i]) {
      plain(text[i++]);
      continue;
    }
    size_t end = text[i] == '{' ? text.find('}', i) : text.npos;
    if (end == text.npos || !place(text.substr(i + 1, end - i - 1)))
      plain(text[i]);
    else
      i = end;
  }
}

} // namespace

PrintFormat::PrintFormat(const std::string &text) {
  parts_.emplace_back();
  read_format(
      text, [&](char c) { parts_.back().text += c; },
      [&](const std::string &inside) { return add_value(inside); });
}

bool PrintFormat::add_value(const std::string &inside) {
  size_t bracket = inside.find('[');
  Value value{inside.substr(0, bracket), {}, elements_, 1};
  if (!is_type(value.type))
    return false;
  if (bracket != inside.npos) {
    auto shape = shape_in(std::string_view(inside).substr(bracket + 1));
    if (!shape)
      return false;
    value.shape = *shape;
  }
  value.count = uint32_t(product(value.shape));
  elements_ += value.count;
  parts_.back().value = int(values_.size());
  values_.push_back(std::move(value));
  parts_.emplace_back();
  return true;
}

namespace {

// A value as text: brackets around each axis, "..." for omitted elements.
template <typename ElementText> struct TileText {
  const std::vector<uint32_t> &shape;
  ElementText element; // by index
  bool in_full = product(shape) <= max_elements_in_full;

  std::string text(size_t axis, uint32_t first) const {
    if (axis == shape.size())
      return element(first);
    uint32_t inner = 1;
    for (size_t d = axis + 1; d < shape.size(); d++)
      inner *= shape[d];
    uint32_t extent = shape[axis];
    bool all = in_full || extent <= longest_axis_in_full;
    std::string out = "[";
    for (uint32_t i = 0; i < extent; i++) {
      out += i ? ", " : "";
      if (!all && i == shown_at_each_end) {
        out += "..., ";
        i = extent - shown_at_each_end;
      }
      out += text(axis + 1, first + i * inner);
    }
    return out + "]";
  }
};

template <typename ElementText>
std::string tile_text(const std::vector<uint32_t> &shape, uint32_t first, ElementText element) {
  return TileText<ElementText>{shape, element}.text(0, first);
}

} // namespace

std::string PrintFormat::text(const std::vector<uint64_t> &bits,
                              const std::vector<bool> &there) const {
  std::string out;
  for (const Part &part : parts_) {
    out += part.text;
    if (part.value < 0)
      continue;
    const Value &value = values_[size_t(part.value)];
    out += tile_text(value.shape, value.first, [&](uint32_t i) {
      return there[i] ? number_text(value.type, bits[i]) : std::string("?");
    });
  }
  return out;
}

Prints::Line &Prints::line(Statement &statement, uint32_t occurrence) {
  uint32_t elements = statement.format.elements();
  while (statement.lines.size() <= occurrence)
    statement.lines.push_back({std::vector<uint64_t>(elements), std::vector<bool>(elements),
                               elements, elements ? "" : statement.format.text({}, {})});
  return statement.lines[occurrence];
}

std::optional<uint32_t> PrintFormat::element(uint32_t value, uint32_t element) const {
  if (value >= values_.size() || element >= values_[value].count)
    return std::nullopt;
  return values_[value].first + element;
}

void Prints::add(const char *format, uint32_t number, int32_t value, uint32_t element,
                 uint64_t bits) {
  auto found = statements_.find(number);
  if (found == statements_.end()) {
    Statement made{PrintFormat(format), {}, 0, {}};
    made.calls.resize(made.format.elements());
    found = statements_.emplace(number, std::move(made)).first;
  }
  Statement &statement = found->second;
  if (value < 0 && order_.size() == max_lines) {
    left_out_++;
    return;
  }
  if (value < 0) {
    order_.emplace_back(number, statement.begun);
    line(statement, statement.begun++);
    return;
  }
  std::optional<uint32_t> found_element = statement.format.element(uint32_t(value), element);
  if (!found_element || statement.calls[*found_element] == max_lines)
    return;
  uint32_t i = *found_element;
  Line &of = line(statement, statement.calls[i]++);
  of.bits[i] = bits;
  of.there[i] = true;
  if (--of.missing > 0)
    return;
  of.text = statement.format.text(of.bits, of.there);
  of.bits = {};
  of.there = {};
}

std::vector<std::string> Prints::lines() const {
  std::vector<std::string> lines;
  for (auto [number, occurrence] : order_) {
    const Statement &statement = statements_.at(number);
    const Line &line = statement.lines[occurrence];
    lines.push_back(line.missing ? statement.format.text(line.bits, line.there) : line.text);
  }
  if (left_out_)
    lines.push_back("... and " + std::to_string(left_out_) + " more lines");
  return lines;
}

std::string print_line(uint32_t x, uint32_t y, uint32_t z, const std::string &text) {
  return "program (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) +
         "): " + text;
}

std::string assertion_text(const std::string &text, uint32_t element) {
  std::string out;
  auto coordinates = [&](const std::string &inside) {
    if (!inside.starts_with("["))
      return false;
    auto shape = shape_in(std::string_view(inside).substr(1));
    if (!shape)
      return false;
    std::string all;
    uint32_t rest = element;
    for (size_t d = shape->size(); d-- > 0;) {
      all = std::to_string(rest % (*shape)[d]) + (all.empty() ? "" : ", ") + all;
      rest /= (*shape)[d];
    }
    out += "(" + all + ")";
    return true;
  };
  read_format(text, [&](char c) { out += c; }, coordinates);
  return out;
}

} // namespace tritonc::emulator
