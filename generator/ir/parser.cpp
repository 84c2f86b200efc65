// Reads the text form of tile IR by recursive descent, and stops at the first error.
//
// Tested by tests/unit/ir/text_test.cpp.

#include "ir/parser.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <map>

namespace tritonc::ir {
namespace {

const std::map<std::string_view, Opcode> &opcodes() {
  static const std::map<std::string_view, Opcode> map = {
#define OP(name, ...) {#name, Opcode::name##_},
#include "ir/ops.def"
  };
  return map;
}

const std::map<std::string_view, AttributeName> &attribute_names() {
  static const std::map<std::string_view, AttributeName> map = {
#define ATTRIBUTE(name, type, text) {#name, AttributeName::name##_},
#include "ir/attributes.def"
  };
  return map;
}

bool is_flag(AttributeName name) {
  switch (name) {
#define ATTRIBUTE(name, type, text)                                                                \
  case AttributeName::name##_:                                                                     \
    return std::is_same_v<type, Flag>;
#include "ir/attributes.def"
  }
  return false;
}

struct Parser {
  std::string_view text;
  size_t at = 0;
  Function fn;
  std::string error;
  std::map<std::string, Value *> values;
  std::vector<std::shared_ptr<const LinearLayout>> layouts;

  bool fail(const std::string &message) { return fail_at(at, message); }

  bool fail_at(size_t place, const std::string &message) {
    if (error.empty()) {
      size_t line = 1;
      for (size_t i = 0; i < place && i < text.size(); i++)
        line += text[i] == '\n';
      error = "line " + std::to_string(line) + ": " + message;
    }
    return false;
  }

  // Characters and words. A `//` comment reaches to the end of its line.

  void skip_blanks() {
    while (at < text.size()) {
      if (text.substr(at, 2) == "//")
        while (at < text.size() && text[at] != '\n')
          at++;
      else if (std::isspace(static_cast<unsigned char>(text[at])))
        at++;
      else
        return;
    }
  }

  bool next_is(std::string_view token) {
    skip_blanks();
    return text.substr(at, token.size()) == token;
  }

  bool accept(std::string_view token) {
    if (!next_is(token))
      return false;
    at += token.size();
    return true;
  }

  bool expect(std::string_view token) {
    return accept(token) || fail("expected `" + std::string(token) + "`");
  }

  std::string word() {
    skip_blanks();
    size_t begin = at;
    while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) ||
                                text[at] == '_' || text[at] == '.'))
      at++;
    return std::string(text.substr(begin, at - begin));
  }

  bool name(std::string &result) {
    result = word();
    return !result.empty() || fail("expected a name");
  }

  bool integer(int64_t &value) {
    skip_blanks();
    auto [end, ec] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (ec != std::errc())
      return fail("expected an integer");
    at = size_t(end - text.data());
    return true;
  }

  bool integers(std::vector<int64_t> &list, std::string_view close) {
    if (accept(close))
      return true;
    do {
      int64_t value;
      if (!integer(value))
        return false;
      list.push_back(value);
    } while (accept(","));
    return expect(close);
  }

  // Types and layouts.

  bool type(Type &result) {
    std::string name = word();
    result = Type();
    if (name == "channel") {
      result.kind = Type::Kind::channel;
      return expect("[") && integers(result.shape, "]");
    }
    bool wrapped = true;
    if (name == "ptr")
      result.kind = Type::Kind::pointer;
    else if (name == "view")
      result.kind = Type::Kind::view;
    else if (name == "shared")
      result.kind = Type::Kind::shared;
    else if (name == "map")
      result.kind = Type::Kind::map;
    else
      wrapped = false;
    if (wrapped) {
      if (!expect("<"))
        return false;
      name = word();
    }
    std::optional<Elem> elem = elem_named(name);
    if (!elem)
      return fail("unknown type `" + name + "`");
    result.elem = *elem;
    if (wrapped && !expect(">"))
      return false;
    if (accept("[") && !integers(result.shape, "]"))
      return false;
    if (!accept("#"))
      return true;
    int64_t number;
    if (!integer(number))
      return false;
    if (number < 0 || size_t(number) >= layouts.size())
      return fail("unknown layout #" + std::to_string(number));
    result.layout = layouts[number];
    return true;
  }

  bool bases(const Shape &shape, std::vector<FlatIndex> &out) {
    while (accept("(")) {
      std::vector<int64_t> coordinates;
      if (!integers(coordinates, ")"))
        return false;
      if (coordinates.size() != shape.size())
        return fail("a basis needs one coordinate per axis");
      for (size_t d = 0; d < shape.size(); d++)
        if (coordinates[d] < 0 || coordinates[d] >= shape[d])
          return fail("a basis lies outside of the tile");
      out.push_back(flatten(shape, coordinates));
    }
    return true;
  }

  bool layout() {
    int64_t number;
    LinearLayout result;
    if (!expect("#") || !integer(number) || !expect("[") || !integers(result.shape, "]"))
      return false;
    if (number != int64_t(layouts.size()))
      return fail("layouts must be numbered in order");
    for (int64_t extent : result.shape)
      if (extent <= 0 || !std::has_single_bit(uint64_t(extent)))
        return fail("extents of a layout are powers of two");
    if (accept("reg")) {
      if (!bases(result.shape, result.reg) || !expect("lane") ||
          !bases(result.shape, result.lane) || !expect("warp") || !bases(result.shape, result.warp))
        return false;
    } else if (!expect("offset") || !bases(result.shape, result.offset)) {
      return false;
    }
    layouts.push_back(std::make_shared<const LinearLayout>(std::move(result)));
    return true;
  }

  // Values and operations.

  bool define(Value *value, std::string name, size_t place) {
    if (!values.emplace(name, value).second)
      return fail_at(place, "%" + name + " is defined twice");
    bool numbered = std::isdigit(static_cast<unsigned char>(name[0]));
    value->name = numbered ? "" : name;
    return true;
  }

  bool use(Value *&value) {
    if (!expect("%"))
      return false;
    std::string name;
    if (!this->name(name))
      return false;
    auto found = values.find(name);
    if (found == values.end())
      return fail("%" + name + " is not defined");
    value = found->second;
    return true;
  }

  // Reads a string literal up to and including the closing quote.
  bool quoted(std::string &result) {
    size_t begin = at;
    for (; at < text.size() && text[at] != '"'; at++) {
      if (text[at] != '\\') {
        result += text[at];
        continue;
      }
      std::string_view rest = text.substr(at + 1, 3);
      unsigned code = 0;
      bool is_code =
          rest.size() == 3 && rest[0] == 'x' &&
          std::from_chars(rest.data() + 1, rest.data() + 3, code, 16).ptr == rest.data() + 3;
      if (!is_code && !rest.starts_with('"') && !rest.starts_with('\\'))
        return fail("unknown escape in a string");
      result += is_code ? char(code) : rest[0];
      at += is_code ? 3 : 1;
    }
    return accept("\"") || fail_at(begin, "unterminated string");
  }

  bool floating(double &value) {
    skip_blanks();
    auto [stop, ec] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (ec != std::errc())
      return fail("expected a number");
    at = size_t(stop - text.data());
    return true;
  }

  // Reads constant memory, after the word `constants`.
  bool constant_memory() {
    if (!expect("("))
      return false;
    do {
      ConstantMemory &part = fn.constant_memory.emplace_back();
      if (!name(part.name) || !expect(":"))
        return false;
      std::string elem_name = word();
      std::optional<Elem> elem = elem_named(elem_name);
      if (!elem)
        return fail("unknown type `" + elem_name + "`");
      part.elem = *elem;
      if (!expect("[") || !integer(part.count) || !expect("]"))
        return false;
      part.is_signed = !accept("unsigned");
      if (!expect("at") || !integer(part.offset))
        return false;
      if (!accept("="))
        continue;
      if (!expect("["))
        return false;
      do {
        if (is_float(part.elem) ? !floating(part.floats.emplace_back())
                                : !integer(part.values.emplace_back()))
          return false;
      } while (accept(","));
      if (!expect("]"))
        return false;
    } while (accept(","));
    return expect(")");
  }

  bool attribute(Op &op) {
    std::string name;
    if (!this->name(name) || !expect("="))
      return false;
    auto known = attribute_names().find(name);
    if (known == attribute_names().end())
      return fail("unknown attribute `" + name + "`");
    AttributeName key = known->second;
    if (is_flag(key)) {
      op.set(key, Flag());
      return expect("1");
    }
    if (accept("\"")) {
      std::string value;
      if (!quoted(value))
        return false;
      op.set(key, std::move(value));
      return true;
    }
    if (accept("[")) {
      std::vector<int64_t> list;
      if (!integers(list, "]"))
        return false;
      op.set(key, std::move(list));
      return true;
    }
    skip_blanks();
    size_t end = text.find_first_of(",}", at);
    std::string_view number = text.substr(at, end - at);
    if (number.find_first_of(".einf") == std::string_view::npos) {
      int64_t value;
      if (!integer(value))
        return false;
      op.set(key, value);
      return true;
    }
    double value;
    if (!floating(value))
      return false;
    op.set(key, value);
    return true;
  }

  // Looks ahead whether the `{` starts attributes or a block: an attribute is a word and `=`.
  bool attributes_are_next() {
    size_t here = at;
    bool are_next = accept("{") && !word().empty() && next_is("=");
    at = here;
    return are_next;
  }

  bool op(Block &block) {
    std::vector<std::string> result_names;
    skip_blanks();
    size_t begin = at;
    if (next_is("%")) {
      do {
        if (!expect("%") || !this->name(result_names.emplace_back()))
          return false;
      } while (accept(","));
      if (!expect("="))
        return false;
    }
    std::string name = word();
    auto found = opcodes().find(name);
    if (found == opcodes().end())
      return fail("unknown operation `" + name + "`");
    Op *result = fn.new_op(found->second);
    result->parent = &block;
    // If the operation cannot have operands, a `%` belongs to the next line.
    if (info(found->second).max_operands != 0 && next_is("%"))
      do {
        Value *operand;
        if (!use(operand))
          return false;
        result->operands.push_back(operand);
      } while (accept(","));
    if (next_is("{") && (info(found->second).regions == 0 || attributes_are_next())) {
      expect("{");
      do
        if (!attribute(*result))
          return false;
      while (accept(","));
      if (!expect("}"))
        return false;
    }
    if (!result_names.empty()) {
      if (!expect(":"))
        return false;
      for (size_t i = 0; i < result_names.size(); i++) {
        Type result_type;
        if ((i && !expect(",")) || !type(result_type))
          return false;
        Value *value = fn.new_value(result_type);
        value->op = result;
        value->index = int(i);
        result->results.push_back(value);
      }
    }
    const int regions = info(found->second).regions;
    for (int i = 0; i < regions || (regions < 0 && (i == 0 || next_is("{"))); i++) {
      result->blocks.push_back(fn.new_block(result));
      if (!expect("{") || !this->block(*result->blocks.back()))
        return false;
    }
    // Define the results last: a block must not see the results of its own operation.
    for (size_t i = 0; i < result_names.size(); i++)
      if (!define(result->results[i], result_names[i], begin))
        return false;
    block.ops.push_back(result);
    return true;
  }

  bool block(Block &block) {
    if (accept("(")) {
      do {
        std::string name;
        Type argument_type;
        if (!expect("%") || !this->name(name) || !expect(":") || !type(argument_type))
          return false;
        Value *argument = fn.new_value(argument_type);
        argument->block = &block;
        argument->index = int(block.arguments.size());
        block.arguments.push_back(argument);
        if (!define(argument, name, at))
          return false;
      } while (accept(","));
      if (!expect(")"))
        return false;
    }
    while (!accept("}")) {
      if (at >= text.size())
        return fail("expected `}`");
      if (!op(block))
        return false;
    }
    return true;
  }

  bool parameter() {
    std::string name;
    Type parameter_type;
    if (!expect("%") || !this->name(name) || !expect(":") || !type(parameter_type))
      return false;
    if (!define(fn.add_parameter(name, parameter_type), name, at))
      return false;
    Parameter &p = fn.parameters.back();
    int64_t number;
    for (;;) {
      if (accept("aligned")) {
        if (!integer(number))
          return false;
        p.aligned_bytes = int(number);
      } else if (accept("multiple_of")) {
        if (!integer(number))
          return false;
        p.multiple_of = int(number);
      } else if (accept("unsigned")) {
        p.is_signed = false;
      } else if (accept("read_only")) {
        p.read_only = true;
      } else if (accept("write_only")) {
        p.write_only = true;
      } else if (accept("no_alias")) {
        p.no_alias = true;
      } else {
        return true;
      }
    }
  }

  bool function() {
    while (accept("layout"))
      if (!layout())
        return false;
    if (!expect("func") || !expect("@") || !name(fn.name) || !expect("("))
      return false;
    if (!accept(")")) {
      do
        if (!parameter())
          return false;
      while (accept(","));
      if (!expect(")"))
        return false;
    }
    if (accept("constants") && !constant_memory())
      return false;
    int64_t number;
    if (accept("warps")) {
      if (!integer(number))
        return false;
      fn.warps = int(number);
    }
    if (accept("shared")) {
      if (!integer(number))
        return false;
      fn.shared_bytes = int(number);
    }
    if (accept("blocks_per_sm")) {
      if (!integer(number))
        return false;
      fn.blocks_per_sm = int(number);
    }
    if (!expect("{") || !block(*fn.body))
      return false;
    skip_blanks();
    return at == text.size() || fail("expected the end");
  }
};

} // namespace

ParseResult parse(std::string_view text) {
  Parser parser;
  parser.text = text;
  ParseResult result;
  if (parser.function())
    result.function = std::move(parser.fn);
  else
    result.error = parser.error;
  return result;
}

} // namespace tritonc::ir
