// Mutates a text by words and lines. See text_mutator.h.

#include "fuzz/text_mutator.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tritonc::fuzz {
namespace {

bool is_letter(char c) {
  return std::isalnum((unsigned char)c) || c == '_' || c == '%' || c == '@';
}

} // namespace

TextMutator::TextMutator(std::string_view text, uint64_t seed, std::vector<std::string> words)
    : draw_(seed), words_(std::move(words)) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    lines_.push_back(read_line(line));
  }
  if (lines_.empty())
    lines_.emplace_back();
}

TextMutator::Line TextMutator::read_line(std::string_view text) {
  Line line;
  while (!text.empty()) {
    size_t end = 1;
    Kind kind = Kind::mark;
    if (std::isspace((unsigned char)text[0])) {
      kind = Kind::blank;
      while (end < text.size() && std::isspace((unsigned char)text[end]))
        end++;
    } else if (std::isdigit((unsigned char)text[0])) {
      kind = Kind::number;
      while (end < text.size() &&
             (std::isalnum((unsigned char)text[end]) || (text[end] == '.' && text[end - 1] != '.')))
        end++;
    } else if (is_letter(text[0])) {
      kind = Kind::name;
      while (end < text.size() && is_letter(text[end]))
        end++;
    }
    line.push_back({kind, std::string(text.substr(0, end))});
    text.remove_prefix(end);
  }
  return line;
}

std::string TextMutator::mutated() {
  std::vector<Line> lines = lines_;
  if (draw_.chance(15))
    change_gpu(lines);
  else
    for (int64_t changes = draw_.chance(70) ? 1 : draw_.between(2, 4); changes > 0; changes--)
      change(lines);
  std::string text;
  for (const Line &line : lines) {
    for (const Word &word : line)
      text += word.text;
    text += '\n';
  }
  return text;
}

void TextMutator::change_gpu(std::vector<Line> &lines) {
  static const std::vector<std::string> gpus = {"75",  "80",  "89",   "90",
                                                "90a", "90a", "100a", "120"};
  bool is_there = lines[0].size() > 5 && lines[0][2].text == "!" && lines[0][4].text == "gpu";
  if (!is_there)
    lines.insert(lines.begin(), Line());
  std::string gpu = draw_.pick(gpus);
  int64_t schedule = draw_.chance(50) ? 0 : draw_.between(0, 40);
  lines[0] = {{Kind::mark, "//! gpu " + gpu + " " + std::to_string(schedule)}};
}

void TextMutator::change(std::vector<Line> &lines) {
  if (lines.empty())
    return;
  switch (draw_.weighted({6, 3, 3})) {
  case 0:
    return change_word(lines);
  case 1:
    return change_all(lines);
  default:
    return change_lines(lines);
  }
}

TextMutator::Word *TextMutator::any_word(std::vector<Line> &lines, Kind kind) {
  for (int tries = 0; tries < 40; tries++) {
    Line &line = lines[draw_.index(lines.size())];
    if (line.empty())
      continue;
    Word &word = line[draw_.index(line.size())];
    if (word.kind == kind)
      return &word;
  }
  return nullptr;
}

void TextMutator::change_number(Word &word) {
  static const std::vector<std::string> interesting = {"0",
                                                       "1",
                                                       "2",
                                                       "16",
                                                       "31",
                                                       "32",
                                                       "33",
                                                       "64",
                                                       "127",
                                                       "128",
                                                       "255",
                                                       "1024",
                                                       "65536",
                                                       "1048576",
                                                       "2147483647",
                                                       "2147483648",
                                                       "4294967295",
                                                       "9223372036854775807",
                                                       "9223372036854775808"};
  int64_t value = 0;
  const char *begin = word.text.data(), *end = begin + word.text.size();
  bool is_decimal = std::from_chars(begin, end, value).ptr == end;
  if (!is_decimal || value > int64_t(1) << 40 || draw_.chance(20)) {
    word.text = draw_.pick(interesting);
    return;
  }
  word.text = std::to_string(draw_.pick(
      {value + 1, value - 1, value * 2, value / 2, value * 4, value / 4, 3 - value, int64_t(-1)}));
}

void TextMutator::change_word(std::vector<Line> &lines) {
  Kind kind = draw_.pick({Kind::name, Kind::name, Kind::number, Kind::number, Kind::mark});
  Word *word = any_word(lines, kind);
  if (!word)
    return;
  if (kind == Kind::number && draw_.chance(60))
    return change_number(*word);
  switch (draw_.weighted({6, 1, 1, 2, words_.empty() ? 0 : 2})) {
  case 0:
    if (Word *other = any_word(lines, kind))
      word->text = std::string(other->text);
    return;
  case 1:
    word->text.clear();
    return;
  case 2:
    word->text += " " + word->text;
    return;
  case 3:
    if (Word *other = any_word(lines, kind))
      std::swap(word->text, other->text);
    return;
  default:
    word->text = draw_.pick(words_);
  }
}

// Replaces all uses of one word by another word, so that uses of a type or a name stay consistent.
void TextMutator::change_all(std::vector<Line> &lines) {
  Kind kind = draw_.pick({Kind::name, Kind::number});
  Word *word = any_word(lines, kind);
  if (!word)
    return;
  Word to = *word;
  if (kind == Kind::number)
    change_number(to);
  else if (Word *other = any_word(lines, kind))
    to = *other;
  if (!words_.empty() && draw_.chance(20))
    to.text = draw_.pick(words_);
  std::string from = word->text;
  for (Line &line : lines)
    for (Word &each : line)
      if (each.kind == kind && each.text == from)
        each.text = to.text;
}

// Gives new names to values that copied lines define, and renames their uses in the copied lines.
void TextMutator::rename_results(std::vector<Line> &lines, size_t first, size_t count) {
  for (size_t i = first; i < first + count; i++) {
    bool defines = std::any_of(lines[i].begin(), lines[i].end(),
                               [](const Word &word) { return word.text == "="; });
    auto at = std::find_if(lines[i].begin(), lines[i].end(),
                           [](const Word &word) { return word.kind != Kind::blank; });
    if (!defines || at == lines[i].end() || at->text[0] != '%')
      continue;
    std::string from = at->text, to = from + "_" + std::to_string(draw_.between(0, 99999));
    for (size_t k = i; k < first + count; k++)
      for (Word &word : lines[k])
        if (word.text == from)
          word.text = to;
  }
}

void TextMutator::change_lines(std::vector<Line> &lines) {
  size_t first = draw_.index(lines.size());
  size_t most = std::min<size_t>(lines.size() - first, draw_.chance(70) ? 1 : 8);
  size_t count = size_t(draw_.between(1, int64_t(most)));
  auto begin = lines.begin() + int64_t(first), end = begin + int64_t(count);
  std::vector<Line> some(begin, end);
  switch (draw_.weighted({3, 4, 2})) {
  case 0:
    lines.erase(begin, end);
    return;
  case 1: {
    if (lines.size() > 400)
      return;
    size_t to = draw_.chance(50) ? first + count : draw_.index(lines.size() + 1);
    lines.insert(lines.begin() + int64_t(to), some.begin(), some.end());
    return rename_results(lines, to, count);
  }
  default:
    lines.erase(begin, end);
    lines.insert(lines.begin() + int64_t(draw_.index(lines.size() + 1)), some.begin(), some.end());
  }
}

} // namespace tritonc::fuzz
