// Changes a text by whole words and whole lines, so that what comes out is often well formed: what
// bytes that are flipped at random seldom are.

#pragma once

#include "random/draw.h"

#include <string>
#include <string_view>
#include <vector>

namespace tritonc::fuzz {

class TextMutator {
public:
  /// `words`: what may be put in, besides what the text has already.
  TextMutator(std::string_view text, uint64_t seed, std::vector<std::string> words = {});

  /// The text with one change or a few; another one each time. Sometimes only the first line
  /// changes, in which it says what it is for.
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
