// Reads the kernels of a self-contained header.
//
// header_data.cpp writes definitions with initializers: braces, numbers, strings and names of other
// definitions. The reader parses them into trees, and the trees into descriptors: the n-th part of
// an initializer is the n-th member. It supports no other C++ syntax.
//
// Tested by tests/unit/emit/read_library_test.cpp.

#include "emit/object/read_library.h"

#include <tritonc/descriptor.hpp>

#include "llvm/ADT/StringExtras.h"

#include <map>

namespace tritonc {

namespace {

struct Damage {
  std::string reason;
};

/// A part of an initializer.
struct Node {
  enum class Kind { number, text, name, list } kind = Kind::number;
  int64_t value = 0; // a number; for a name, the index of the element
  std::string text;  // a string or a name
  std::vector<Node> parts;

  const Node &operator[](size_t i) const {
    if (kind != Kind::list || i >= parts.size())
      throw Damage{"an initializer is too short"};
    return parts[i];
  }
  int64_t number() const {
    if (kind != Kind::number)
      throw Damage{"where a number should be is none"};
    return value;
  }
  const std::string &string() const {
    if (kind != Kind::text)
      throw Damage{"where a text should be is none"};
    return text;
  }
};

class Lexer {
public:
  Lexer(llvm::StringRef text, std::map<std::string, Node> &nodes) : rest_(text), nodes_(nodes) {}

  /// Parses all definitions, up to the end of their namespace.
  void definitions() {
    const llvm::StringRef start = "inline constexpr ";
    for (size_t at; (at = rest_.find(start)) != llvm::StringRef::npos;) {
      rest_ = rest_.drop_front(at + start.size());
      size_t equals = rest_.find('=');
      llvm::StringRef declarator = rest_.take_front(equals).rtrim();
      // The functions after the data have no `=`.
      if (equals == llvm::StringRef::npos || declarator.contains('('))
        continue;
      if (declarator.consume_back("]"))
        declarator = declarator.take_front(declarator.rfind('['));
      rest_ = rest_.drop_front(equals + 1);
      nodes_[declarator.substr(declarator.rfind(' ') + 1).str()] = node();
    }
  }

private:
  void skip_blanks() { rest_ = rest_.ltrim(); }

  bool take(char c) {
    skip_blanks();
    return rest_.consume_front(llvm::StringRef(&c, 1));
  }

  Node node() {
    skip_blanks();
    if (rest_.starts_with("\""))
      return {.kind = Node::Kind::text, .text = text()};
    if (take('{'))
      return list();
    if (take('\'')) {
      Node letter = {.value = rest_.empty() ? 0 : rest_.front()};
      rest_ = rest_.drop_front(std::min<size_t>(rest_.size(), 2));
      return letter;
    }
    rest_.consume_front("&");
    llvm::StringRef word = rest_.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == ':' || c == '-'; });
    if (word.empty())
      throw Damage{"an initializer is cut off"};
    rest_ = rest_.drop_front(word.size());
    if (take('(')) { // a conversion to an enumeration
      Node inner = node();
      if (!take(')'))
        throw Damage{"an initializer is cut off"};
      return inner;
    }
    int64_t element = 0;
    if (take('[') && (rest_.consumeInteger(10, element) || !take(']')))
      throw Damage{"an initializer is cut off"};
    int64_t value = 0;
    if (word == "INT64_MIN")
      return {.value = INT64_MIN};
    if (!word.getAsInteger(10, value))
      return {.value = value};
    return {.kind = Node::Kind::name, .value = element, .text = word.str()};
  }

  Node list() {
    Node result = {.kind = Node::Kind::list};
    while (!take('}')) {
      result.parts.push_back(node());
      if (!take(',') && !rest_.starts_with("}"))
        throw Damage{"an initializer is cut off"};
    }
    return result;
  }

  /// Concatenates adjacent string literals.
  std::string text() {
    std::string bytes;
    while (take('"')) {
      while (!rest_.empty() && rest_.front() != '"')
        bytes += character();
      if (!rest_.consume_front("\""))
        throw Damage{"a text has no end"};
      skip_blanks();
    }
    return bytes;
  }

  char character() {
    char c = rest_.front();
    rest_ = rest_.drop_front();
    if (c != '\\')
      return c;
    llvm::StringRef digits =
        rest_.take_front(3).take_while([](char c) { return c >= '0' && c <= '7'; });
    unsigned code = 0;
    if (!digits.getAsInteger(8, code)) {
      rest_ = rest_.drop_front(digits.size());
      return char(code);
    }
    if (rest_.empty())
      throw Damage{"a text has no end"};
    c = rest_.front();
    rest_ = rest_.drop_front();
    return c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }

  llvm::StringRef rest_;
  std::map<std::string, Node> &nodes_;
};

class HeaderReader {
public:
  explicit HeaderReader(llvm::StringRef text) { Lexer(text, nodes_).definitions(); }

  std::vector<KernelContents> kernels() const {
    std::vector<KernelContents> kernels;
    for (size_t i = 0;; i++) {
      auto found = nodes_.find("kernel_" + std::to_string(i));
      if (found == nodes_.end())
        return kernels;
      kernels.push_back(kernel(found->second));
    }
  }

private:
  /// The definition of a name; an empty list for nullptr.
  const Node &behind(const Node &name) const {
    static const Node nothing = {.kind = Node::Kind::list};
    if (name.kind != Node::Kind::name)
      throw Damage{"where a name should be is none"};
    if (name.text == "nullptr")
      return nothing;
    auto found = nodes_.find(name.text);
    if (found == nodes_.end())
      throw Damage{"`" + name.text + "` is not there"};
    return found->second;
  }

  // The parts have the order of the members of abi::kernel; likewise for the other structs.
  KernelContents kernel(const Node &node) const {
    if (node[0].number() != abi::abi_version)
      throw Damage{"its descriptors have version " + std::to_string(node[0].number()) + ", not " +
                   std::to_string(abi::abi_version)};
    KernelContents result = {.name = node[2].string()};
    size_t variants = size_t(node[6].number()), axes = size_t(node[7].number());
    for (size_t i = 0; i < variants; i++) {
      const Node &general = behind(node[4])[i];
      size_t specialized = size_t(general[9].number());
      for (size_t j = 0; j <= specialized; j++) {
        result.variants.push_back(variant(j == specialized ? general : behind(general[8])[j]));
        for (size_t axis = 0; axis < axes; axis++)
          result.variants.back().choices.push_back(
              int32_t(behind(node[5])[i * axes + axis].number()));
      }
    }
    size_t tunings = size_t(node[9].number());
    for (size_t i = 0; i < tunings; i++)
      result.tunings.push_back(tuning(behind(node[10])[i], result));
    return result;
  }

  TuningContents tuning(const Node &node, const KernelContents &kernel) const {
    TuningContents result = {.gpu = node[0].string(),
                             .sm = int(node[1].number()),
                             .num_sms = int(node[2].number()),
                             .arguments = {},
                             .problems = size_t(node[10].number())};
    size_t axes = size_t(node[9].number());
    for (size_t i = 0; i < axes; i++) {
      size_t index = size_t(behind(node[3])[i].number());
      if (kernel.variants.empty() || index >= kernel.variants.front().parameters.size())
        throw Damage{"tuning data are about an argument that there is not"};
      result.arguments.push_back(kernel.variants.front().parameters[index].name);
    }
    return result;
  }

  VariantContents variant(const Node &node) const {
    VariantContents result = {.entry = node[0].string()};
    for (const Node &parameter : behind(node[3]).parts)
      result.parameters.push_back({parameter[0].string(), uint32_t(parameter[5].number())});
    for (const Node &constant : behind(node[11]).parts)
      result.constants.push_back(
          {constant[0].string(), uint32_t(constant[1].number()), uint32_t(constant[2].number())});
    size_t images = size_t(node[7].number());
    for (size_t i = 0; i < images; i++) {
      const Node &info = behind(node[5])[size_t(node[5].value) + i];
      result.images.push_back(image(behind(node[4])[i], info));
      result.specialization = info[10].string();
    }
    return result;
  }

  ImageContents image(const Node &node, const Node &info) const {
    auto fact = [&](size_t i) { return int(info[i].number()); };
    ImageContents result = {.gpu = info[0].string(),
                            .schedule = info[1].string(),
                            .threads = fact(2),
                            .registers = fact(3),
                            .shared_bytes = fact(4),
                            .static_shared = fact(5),
                            .spill_stores = fact(6),
                            .spill_loads = fact(7),
                            .stack_bytes = fact(8),
                            .cubin_bytes = fact(9)};
    const Node &launch = behind(node[6]);
    if (!launch.parts.empty())
      for (const Node &hidden : behind(launch[1]).parts)
        result.hidden.push_back(hidden_bytes(uint32_t(hidden[3].number())));
    const std::string &sealed = behind(node[0]).string();
    if (int64_t(sealed.size()) != node[1].number())
      throw Damage{"an image has " + std::to_string(sealed.size()) + " bytes, and should have " +
                   std::to_string(node[1].number())};
    result.sealed = sealed;
    return result;
  }

  std::map<std::string, Node> nodes_;
};

} // namespace

Result<std::vector<KernelContents>> read_header(const std::string &path, const std::string &text) {
  try {
    // Types and functions come before the data.
    size_t data = text.find("namespace data {");
    if (data == text.npos)
      return std::vector<KernelContents>();
    return HeaderReader(llvm::StringRef(text).drop_front(data)).kernels();
  } catch (const Damage &damage) {
    return Error{Message::file_damaged, {path, damage.reason}};
  }
}

} // namespace tritonc
