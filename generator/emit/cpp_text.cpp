// Converts arbitrary text to C++ identifiers, string literals, comments and wrapped lines. See
// cpp_text.h.
//
// Tested by tests/unit/emit/cpp_text_test.cpp.

#include "emit/cpp_text.h"

#include <algorithm>

namespace tritonc {

namespace {

// Keywords up to C++26 and the alternative operator spellings; macro names of common headers and
// compilers; names that the generated headers use.
constexpr std::string_view reserved =
    " alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor "
    "bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield compl "
    "concept const const_cast consteval constexpr constinit continue contract_assert decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend "
    "goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq "
    "private protected public reflexpr register reinterpret_cast requires return short signed "
    "sizeof static static_assert static_cast struct switch synchronized template this thread_local "
    "throw true try typedef typeid typename typeof union unsigned using virtual void volatile "
    "wchar_t while xor xor_eq "
    "EOF FALSE I INFINITY NAN NULL TRUE assert complex errno far i386 imaginary linux near stderr "
    "stdin stdout unix "
    "std tritonc ";

bool contains_word(std::string_view list, std::string_view word) {
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    bool begins = at == 0 || list[at - 1] == ' ';
    bool ends = at + word.size() == list.size() || list[at + word.size()] == ' ';
    if (begins && ends)
      return true;
  }
  return false;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_printable(char c) { return c >= ' ' && c <= '~'; }

/// The shortest octal escape that a following digit cannot extend. 8 and 9 count as digits too,
/// because some assemblers accept them in octal escapes.
void append_escape(std::string &out, unsigned char byte, bool digit_follows) {
  char digits[3] = {char('0' + (byte >> 6)), char('0' + (byte >> 3 & 7)), char('0' + (byte & 7))};
  int skip = digit_follows || byte >= 64 ? 0 : byte >= 8 ? 1 : 2;
  out += '\\';
  out.append(digits + skip, 3 - skip);
}

// Bytes per literal. The strictest compiler has a limit of 16,380.
constexpr size_t piece = 4096;

constexpr size_t columns = 100;

} // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::string cpp_identifier(std::string_view name, std::string_view taken) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return !is_letter(c) && !is_digit(c); }, '_');
  if (out.empty() || is_digit(out[0]))
    out.insert(0, "_");
  while (contains_word(reserved, out) || contains_word(taken, out))
    out += '_';
  return out;
}

std::string string_literal(std::string_view bytes, std::string_view indent) {
  std::string out = "\"";
  for (size_t i = 0; i < bytes.size(); i++) {
    if (i > 0 && i % piece == 0)
      out += "\"\n" + std::string(indent) + "\"";
    char c = bytes[i];
    // `?` could begin a trigraph.
    if (is_printable(c) && c != '"' && c != '\\' && c != '?') {
      out += c;
      continue;
    }
    bool ends_piece = i + 1 == bytes.size() || (i + 1) % piece == 0;
    append_escape(out, static_cast<unsigned char>(c), !ends_piece && is_digit(bytes[i + 1]));
  }
  return out + '"';
}

std::string comment_text(std::string_view text) {
  std::string out;
  for (char c : text)
    out += !is_printable(c) ? '.' : c == '\\' ? '/' : c;
  // This trigraph is a backslash. At the end of the line it would continue the comment.
  for (size_t at; (at = out.find("?\?/")) != out.npos;)
    out.replace(at, 3, "...");
  return out;
}

std::string join(const std::vector<std::string> &parts, std::string_view separator) {
  std::string out;
  for (const std::string &part : parts)
    out += (out.empty() ? "" : std::string(separator)) + part;
  return out;
}

std::string wrapped(std::string first, const std::string &next,
                    const std::vector<std::string> &parts, std::string_view separator) {
  std::string out, line = std::move(first);
  bool is_fresh = true;
  for (size_t i = 0; i < parts.size(); i++) {
    std::string part = parts[i] + std::string(i + 1 < parts.size() ? separator : "");
    if (!is_fresh && line.size() + 1 + part.size() > columns) {
      out += line + "\n";
      line = next;
      is_fresh = true;
    }
    line += (is_fresh ? "" : " ") + part;
    is_fresh = false;
  }
  return out + line + "\n";
}

} // namespace tritonc
