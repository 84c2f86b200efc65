// What `print` statements of a kernel say, put together from the elements that its threads hold.
//
// A program's threads execute the same print statements in the same order, but not at the same
// time, and each holds only some elements of a tile. So each hands over what it holds, and a line
// is complete when all of it is there. A format says where the values go and what they are:
//
//     x = {i32}, acc = {f32[2,2]}      =>      x = 7, acc = [[1, 2], [3, 4]]
//
// The types are those of tile IR (i1 to i64, f16, bf16, e4m3, e5m2, f32, f64), with u8 to u64 for
// unsigned integers; `{{` and `}}` are braces. A tile of more than 256 elements shows the first and
// the last three along each axis of more than six. Floating-point numbers have as many digits as it
// takes to tell them from other numbers of type float (or double).

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tritonc::emulator {

/// Which elements of a tile are shown: all of one that has no more than so many, and of a larger
/// one all along an axis that is no longer than this, else so many at each of its ends.
constexpr uint32_t most_elements_in_full = 256;
constexpr uint32_t longest_axis_in_full = 6;
constexpr uint32_t shown_at_each_end = 3;

/// A text in which some values have a place.
class PrintFormat {
public:
  explicit PrintFormat(const std::string &text);

  /// The elements of all values together: value 0 in row-major order, then value 1, ...
  uint32_t elements() const { return elements_; }

  /// Of which value `value` has `element`, in its own order; nothing where there is no such
  /// element.
  std::optional<uint32_t> element(uint32_t value, uint32_t element) const;

  /// The text with its values. `bits[i]` has the bits of element i at its lower end; "?" stands for
  /// elements that are not `there`.
  std::string text(const std::vector<uint64_t> &bits, const std::vector<bool> &there) const;

private:
  struct Value {
    std::string type;
    std::vector<uint32_t> shape;
    uint32_t first, count; // of its elements
  };
  struct Part {
    std::string text; // before the value
    int value = -1;   // -1: none
  };
  bool add_value(const std::string &type);

  std::vector<Part> parts_;
  std::vector<Value> values_;
  uint32_t elements_ = 0;
};

/// The lines of one program.
class Prints {
public:
  static constexpr uint32_t most_lines = 10'000; // further ones are only counted

  /// What the operation `print` does. `statement` is a number of its own for each statement of the
  /// kernel. Thread 0 says value -1 whenever it executes the statement; then (or before, in other
  /// threads) each element of each value comes once. The n-th call with the same statement and
  /// element belongs to the n-th time that the program executes the statement.
  void add(const char *format, uint32_t statement, int32_t value, uint32_t element, uint64_t bits);

  /// The lines so far, in the order in which the program executed the statements; where there are
  /// too many, the last one says how many more there would be.
  std::vector<std::string> lines() const;

private:
  struct Line {
    std::vector<uint64_t> bits;
    std::vector<bool> there;
    uint32_t missing;
    std::string text; // once nothing is missing
  };
  struct Statement {
    PrintFormat format;
    std::vector<uint32_t> calls; // per element
    uint32_t begun = 0;          // calls with value -1
    std::deque<Line> lines;
  };
  static Line &line(Statement &statement, uint32_t occurrence);

  std::map<uint32_t, Statement> statements_;
  std::vector<std::pair<uint32_t, uint32_t>> order_; // statement, occurrence
  uint64_t left_out_ = 0;
};

/// "program (1, 0, 0): acc = [[1, 2], [3, 4]]"
std::string print_line(uint32_t x, uint32_t y, uint32_t z, const std::string &text);

/// The text of a failed assertion: `{[4,8]}` becomes the coordinates of `element` in a tile of that
/// shape, "(1, 3)"; `{{` and `}}` become braces.
std::string assertion_text(const std::string &text, uint32_t element);

} // namespace tritonc::emulator
