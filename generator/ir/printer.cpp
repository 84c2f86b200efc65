// Prints the text form of tile IR. See printer.h.
//
// Tested by tests/unit/ir/text_test.cpp.

#include "ir/printer.h"

#include <charconv>
#include <map>
#include <set>

namespace tritonc::ir {
namespace {

std::string number_text(double value) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  // Without one of these characters, the parser would read an integer.
  return text.find_first_of(".einf") == std::string::npos ? text + ".0" : text;
}

// Escapes control characters, quotes and backslashes.
std::string quoted(const std::string &text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    unsigned char code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (code < 32 || code == 127)
      out += {'\\', 'x', digits[code / 16], digits[code % 16]};
    else
      out += c;
  }
  return out + "\"";
}

std::string text_of(const Attribute &attribute) {
  if (auto *i = std::get_if<int64_t>(&attribute))
    return std::to_string(*i);
  if (auto *d = std::get_if<double>(&attribute))
    return number_text(*d);
  if (auto *s = std::get_if<std::string>(&attribute))
    return quoted(*s);
  if (std::holds_alternative<Flag>(attribute))
    return "1";
  std::string out = "[";
  for (int64_t i : std::get<std::vector<int64_t>>(attribute))
    out += (out.size() > 1 ? "," : "") + std::to_string(i);
  return out + "]";
}

struct Printer {
  std::map<const Value *, std::string> names;
  std::set<std::string> taken;
  std::map<std::string, int> copies; // per name: the number of renamed values
  int next_number = 0;
  std::vector<std::shared_ptr<const LinearLayout>> layouts;
  std::string out;

  std::string name(const Value *value) {
    auto found = names.find(value);
    if (found != names.end())
      return found->second;
    std::string name = value->name;
    if (name.empty()) {
      name = std::to_string(next_number++);
    } else {
      while (taken.count(name))
        name = value->name + "." + std::to_string(++copies[value->name]);
    }
    taken.insert(name);
    return names[value] = "%" + name;
  }

  std::string type(const Type &type) {
    std::string text = text_of(type);
    if (!type.layout)
      return text;
    for (size_t i = 0; i < layouts.size(); i++)
      if (*layouts[i] == *type.layout)
        return text + " #" + std::to_string(i);
    layouts.push_back(type.layout);
    return text + " #" + std::to_string(layouts.size() - 1);
  }

  std::string line(const Op &op) {
    std::string text;
    for (const Value *result : op.results)
      text += (text.empty() ? "" : ", ") + name(result);
    if (!text.empty())
      text += " = ";
    text += info(op.code).name;
    for (size_t i = 0; i < op.operands.size(); i++)
      text += (i ? ", " : " ") + name(op.operands[i]);
    if (!op.attributes.empty()) {
      text += " {";
      for (size_t i = 0; i < op.attributes.size(); i++)
        text += (i ? ", " : "") + std::string(name_of(op.attributes[i].first)) + " = " +
                text_of(op.attributes[i].second);
      text += "}";
    }
    for (size_t i = 0; i < op.results.size(); i++)
      text += (i ? ", " : " : ") + type(op.results[i]->type);
    return text;
  }

  void block(const Block &block, int indent) {
    std::string blanks(indent, ' ');
    if (!block.arguments.empty()) {
      out += blanks + "(";
      for (size_t i = 0; i < block.arguments.size(); i++) {
        out += (i ? ", " : "") + name(block.arguments[i]);
        out += ": " + type(block.arguments[i]->type);
      }
      out += ")\n";
    }
    for (const Op *op : block.ops) {
      out += blanks + line(*op);
      for (const Block *inner : op->blocks) {
        out += " {\n";
        this->block(*inner, indent + 2);
        out += blanks + "}";
      }
      out += "\n";
    }
  }

  void constant_memory(const Function &fn) {
    for (const ConstantMemory &part : fn.constant_memory) {
      out += &part == &fn.constant_memory[0] ? " constants (" : ", ";
      out += part.name + ": " + name_of(part.elem) + "[" + std::to_string(part.count) + "]" +
             (part.is_signed ? "" : " unsigned") + " at " + std::to_string(part.offset);
      std::string values;
      for (int64_t value : part.values)
        values += (values.empty() ? "" : ", ") + std::to_string(value);
      for (double number : part.floats)
        values += (values.empty() ? "" : ", ") + number_text(number);
      out += values.empty() ? "" : " = [" + values + "]";
    }
    out += fn.constant_memory.empty() ? "" : ")";
  }

  void function(const Function &fn) {
    out += "func @" + fn.name + "(";
    for (size_t i = 0; i < fn.parameters.size(); i++) {
      const Parameter &p = fn.parameters[i];
      out += (i ? ", " : "") + name(p.value);
      out += ": " + type(p.value->type);
      if (p.value->type.is_pointer() && p.aligned_bytes != 16)
        out += " aligned " + std::to_string(p.aligned_bytes);
      if (p.multiple_of != 1)
        out += " multiple_of " + std::to_string(p.multiple_of);
      if (!p.is_signed)
        out += " unsigned";
      if (p.read_only)
        out += " read_only";
      if (p.write_only)
        out += " write_only";
      if (p.no_alias)
        out += " no_alias";
    }
    out += ")";
    constant_memory(fn);
    if (fn.warps)
      out += " warps " + std::to_string(fn.warps);
    if (fn.shared_bytes)
      out += " shared " + std::to_string(fn.shared_bytes);
    if (fn.blocks_per_sm)
      out += " blocks_per_sm " + std::to_string(fn.blocks_per_sm);
    out += " {\n";
    block(*fn.body, 2);
    out += "}\n";
  }

  std::string layout_lines() {
    std::string text;
    for (size_t i = 0; i < layouts.size(); i++) {
      text += "layout #" + std::to_string(i) + " [";
      for (size_t d = 0; d < layouts[i]->shape.size(); d++)
        text += (d ? "," : "") + std::to_string(layouts[i]->shape[d]);
      text += "] " + layouts[i]->text() + "\n";
    }
    return text;
  }
};

} // namespace

std::string print(const Function &fn) {
  Printer printer;
  printer.function(fn);
  return printer.layout_lines() + printer.out;
}

std::string print(const Op &op) {
  std::string text = Printer().line(op);
  return op.blocks.empty() ? text : text + " {...}";
}

} // namespace tritonc::ir
