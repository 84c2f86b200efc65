// Implements the formats of the operations `print` and `assert`. See checks.h.
//
// Tested by tests/unit/ir/checks_test.cpp.

#include "ir/checks.h"

#include <functional>

namespace tritonc::ir {
namespace {

// Returns `text` with each place `{...}` replaced by `place(inside)`.
std::string replace_places(std::string_view text,
                           const std::function<std::string(std::string_view)> &place) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    size_t end = text[i] == '{' ? text.find('}', i) : text.npos;
    bool is_brace = text.substr(i, 2) == "{{" || text.substr(i, 2) == "}}";
    if (is_brace) {
      out += text.substr(i++, 2);
    } else if (end == text.npos) {
      out += text[i];
    } else {
      out += place(text.substr(i + 1, end - i - 1));
      i = end;
    }
  }
  return out;
}

std::string shape_text(const Shape &shape) {
  std::string out;
  for (int64_t extent : shape)
    out += (out.empty() ? "[" : ",") + std::to_string(extent);
  return out.empty() ? "" : out + "]";
}

} // namespace

bool has_checks(const Function &fn) {
  bool found = false;
  for_each_op(*fn.body, [&](Op &op) { found |= info(op.code).effect == Effect::io; });
  return found;
}

std::string without_places(std::string_view text) {
  std::string out;
  for (char c : text)
    out += std::string(c == '{' || c == '}' ? 2 : 1, c);
  return out;
}

size_t places_in(std::string_view text) {
  size_t count = 0;
  replace_places(text, [&](std::string_view) {
    count++;
    return "";
  });
  return count;
}

std::string print_format(const Op &print) {
  size_t next = 0;
  return replace_places(print.get(attr::text_), [&](std::string_view inside) {
    const Type &type = print.operand(next++)->type;
    std::string name(name_of(type.elem));
    if (inside == "u" && name[0] == 'i' && type.elem != Elem::i1)
      name[0] = 'u';
    return "{" + name + shape_text(type.shape) + "}";
  });
}

std::string assertion_format(const Op &assertion) {
  std::string text = without_places(assertion.get(attr::text_));
  const Type &type = assertion.operand(0)->type;
  return type.is_tile() ? text + ", at element {" + shape_text(type.shape) + "}" : text;
}

} // namespace tritonc::ir
