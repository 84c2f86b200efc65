// Builds the lines of a kernel's `print` statements from the elements that its threads hold.
//
// A program's threads execute the same print statements in the same order, but not at the same
// time. Each thread holds only some elements of a tile and adds its own. A line is complete when it
// has all its elements. A format gives the position and the type of each value:
//
//     x = {i32}, acc = {f32[2,2]}      =>      x = 7, acc = [[1, 2], [3, 4]]
//
// The types are the types of tile IR (i1 to i64, f16, bf16, e4m3, e5m2, f32, f64), and u8 to u64
// for unsigned integers. `{{` and `}}` are braces. A tile with more than 256 elements shows only
// the first and the last three elements along each axis longer than six. A floating-point value has
// the fewest digits that distinguish it from other values of type float (or double).

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tritonc::emulator {

/// The elements that a line shows: all, if the tile has at most max_elements_in_full. A larger tile
/// shows all elements along an axis of at most longest_axis_in_full, and shown_at_each_end elements
/// at each end of a longer axis.
constexpr uint32_t max_elements_in_full = 256;
constexpr uint32_t longest_axis_in_full = 6;
constexpr uint32_t shown_at_each_end = 3;

/// A parsed format: text with placeholders for values.
class PrintFormat {
public:
  explicit PrintFormat(const std::string &text);

  /// Number of elements of all values: value 0 in row-major order, then value 1, ...
  uint32_t elements() const { return elements_; }

  /// The index, over all values, of element `element` of value `value`; nullopt if it does not
  /// exist.
  std::optional<uint32_t> element(uint32_t value, uint32_t element) const;

  /// The text with its values. `bits[i]` holds the bits of element i in its low bits. An element
  /// that is not `there` prints as "?".
  std::string text(const std::vector<uint64_t> &bits, const std::vector<bool> &there) const;

private:
  struct Value {
    std::string type;
    std::vector<uint32_t> shape;
    uint32_t first, count; // its elements
  };
  struct Part {
    std::string text; // before the value
    int value = -1;   // -1 = none
  };
  bool add_value(const std::string &type);

  std::vector<Part> parts_;
  std::vector<Value> values_;
  uint32_t elements_ = 0;
};

/// The lines of one program.
class Prints {
public:
  static constexpr uint32_t max_lines = 10'000; // further lines are only counted

  /// The operation `print`. `statement` is a unique number per print statement of the kernel.
  /// Thread 0 passes value -1 each time it executes the statement. Some thread passes each element
  /// of each value once, before or after that. The n-th call with the same statement and element
  /// belongs to the n-th execution of the statement by the program.
  void add(const char *format, uint32_t statement, int32_t value, uint32_t element, uint64_t bits);

  /// The lines so far, in the order in which the program executed the statements. Beyond max_lines,
  /// the last line gives the number of lines left out.
  std::vector<std::string> lines() const;

private:
  struct Line {
    std::vector<uint64_t> bits;
    std::vector<bool> there;
    uint32_t missing;
    std::string text; // set when nothing is missing
  };
  struct Statement {
    PrintFormat format;
    std::vector<uint32_t> calls; // per element
    uint32_t begun = 0;          // executions: calls with value -1
    std::deque<Line> lines;
  };
  static Line &line(Statement &statement, uint32_t occurrence);

  std::map<uint32_t, Statement> statements_;
  std::vector<std::pair<uint32_t, uint32_t>> order_; // statement, occurrence
  uint64_t left_out_ = 0;
};

/// "program (1, 0, 0): acc = [[1, 2], [3, 4]]"
std::string print_line(uint32_t x, uint32_t y, uint32_t z, const std::string &text);

/// The text of a failed assertion. `{[4,8]}` becomes the coordinates of `element` in a tile of
/// shape [4,8]: "(1, 3)". `{{` and `}}` become braces.
std::string assertion_text(const std::string &text, uint32_t element);

} // namespace tritonc::emulator
