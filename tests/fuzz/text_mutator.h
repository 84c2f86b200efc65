// Mutates a text by words and lines. The result is often well-formed, unlike a text with random bit
// flips.

#pragma once

#include "random_kernels/draw.h"

#include <string>
#include <string_view>
#include <vector>

namespace tritonc::fuzz {

class TextMutator {
public:
  /// `words`: words to insert, in addition to the words of the text.
  TextMutator(std::string_view text, uint64_t seed, std::vector<std::string> words = {});

  /// The text with 1 to 4 random changes, different for each call. Sometimes only the first line
  /// changes: GPU and schedule.
  std::string mutated();

private:
  enum class Kind : uint8_t { blank, name, number, mark };
  struct Word {
    Kind kind;
    std::string text;
  };
  using Line = std::vector<Word>;

  static Line read_line(std::string_view text);
  void change_gpu(std::vector<Line> &lines);
  void change(std::vector<Line> &lines);
  void change_word(std::vector<Line> &lines);
  void change_number(Word &word);
  void change_all(std::vector<Line> &lines);
  void change_lines(std::vector<Line> &lines);
  void rename_results(std::vector<Line> &lines, size_t first, size_t count);
  Word *any_word(std::vector<Line> &lines, Kind kind);

  random::Draw draw_;
  std::vector<Line> lines_;
  std::vector<std::string> words_;
};

} // namespace tritonc::fuzz
