// Reads the descriptors of a self-contained header.
//
// header_data.cpp writes definitions with initializers: braces, numbers, strings and names of other
// definitions. The reader parses them into trees, and lays the trees out in memory as a compiler
// does: the n-th part of an initializer is the n-th member. It supports no other C++ syntax.
//
// Tested by tests/unit/emit/read_library_test.cpp.

#include "emit/object/header_memory.h"

#include <tritonc/descriptor.hpp>

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <type_traits>

namespace tritonc {

namespace {

// ---- parsing ----

/// A part of an initializer.
struct Node {
  enum class Kind { number, text, name, list } kind = Kind::number;
  int64_t value = 0; // a number; for a name, the index of the element
  std::string text;  // a string or a name
  std::vector<Node> parts;

  const std::vector<Node> &list() const {
    if (kind != Kind::list)
      throw Damage{"expected a list in an initializer"};
    return parts;
  }
  int64_t number() const {
    static const std::map<std::string, int64_t> named = {
        {"false", 0},
        {"true", 1},
        {"tritonc::abi::launch_part::whole", int64_t(abi::launch_part::whole)},
        {"tritonc::abi::launch_part::first", int64_t(abi::launch_part::first)},
        {"tritonc::abi::launch_part::second", int64_t(abi::launch_part::second)}};
    if (kind == Kind::number)
      return value;
    auto found = named.find(kind == Kind::name ? text : "");
    if (found == named.end())
      throw Damage{"expected a number in an initializer"};
    return found->second;
  }
};

/// `inline constexpr TYPE NAME[] = VALUE;`
struct Definition {
  std::string type, name;
  bool is_array = false;
  Node value;
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : rest_(text) {}

  std::vector<Definition> definitions() {
    std::vector<Definition> found;
    const llvm::StringRef start = "inline constexpr ";
    for (size_t at; (at = rest_.find(start)) != llvm::StringRef::npos;) {
      rest_ = rest_.drop_front(at + start.size());
      size_t equals = rest_.find('=');
      if (equals == llvm::StringRef::npos)
        throw Damage{"an initializer is cut off"};
      llvm::StringRef declarator = rest_.take_front(equals).rtrim();
      rest_ = rest_.drop_front(equals + 1);
      Definition &definition = found.emplace_back();
      definition.is_array = declarator.consume_back("[]");
      size_t type = declarator.find_last_of(" *") + 1;
      definition.type = declarator.take_front(type).rtrim().str();
      definition.name = declarator.drop_front(type).str();
      definition.value = node(0);
      if (!take(';'))
        throw Damage{"an initializer is cut off"};
    }
    return found;
  }

private:
  // The descriptors need 3.
  static constexpr int max_depth = 8;

  void skip_blanks() { rest_ = rest_.ltrim(); }

  bool take(char c) {
    skip_blanks();
    return rest_.consume_front(llvm::StringRef(&c, 1));
  }

  Node node(int depth) {
    if (depth > max_depth)
      throw Damage{"an initializer is nested too deep"};
    skip_blanks();
    if (rest_.starts_with("\""))
      return {.kind = Node::Kind::text, .text = text()};
    if (take('{'))
      return list(depth);
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
      Node inner = node(depth + 1);
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
    if (uint64_t bits = 0; word.consume_front("0x") && !word.getAsInteger(16, bits))
      return {.value = int64_t(bits)};
    return {.kind = Node::Kind::name, .value = element, .text = word.str()};
  }

  Node list(int depth) {
    Node result = {.kind = Node::Kind::list};
    while (!take('}')) {
      result.parts.push_back(node(depth + 1));
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
};

// ---- layout ----

/// A member of a struct: `length` elements of `bytes` bytes.
struct Member {
  size_t offset, bytes, length;
  bool is_pointer;
};

template <typename T> Member member_of(size_t offset) {
  using Element = std::remove_extent_t<T>;
  return {offset, sizeof(Element), std::max<size_t>(std::extent_v<T>, 1),
          std::is_pointer_v<Element>};
}

struct Layout {
  size_t bytes;
  std::vector<Member> members;
  bool is_struct;
};

template <typename T> Layout scalar() { return {sizeof(T), {member_of<T>(0)}, false}; }

const Layout &layout_of(const std::string &type) {
#define MEMBER(S, name) member_of<decltype(S::name)>(offsetof(S, name))
  using abi::constant, abi::hidden_parameter, abi::image, abi::kernel, abi::launch_config,
      abi::parameter, abi::requirement, abi::tensor_map, abi::tuning, abi::variant;
  static const std::map<std::string, Layout> layouts = {
      {"std::int16_t", scalar<int16_t>()},
      {"std::uint16_t", scalar<uint16_t>()},
      {"std::int32_t", scalar<int32_t>()},
      {"std::uint32_t", scalar<uint32_t>()},
      {"std::int64_t", scalar<int64_t>()},
      {"const char *", scalar<const char *>()},
      {"tritonc::abi::parameter",
       {sizeof(parameter),
        {MEMBER(parameter, name), MEMBER(parameter, offset), MEMBER(parameter, aligned),
         MEMBER(parameter, kind), MEMBER(parameter, nullable), MEMBER(parameter, bytes),
         MEMBER(parameter, padding)},
        true}},
      {"tritonc::abi::constant",
       {sizeof(constant),
        {MEMBER(constant, name), MEMBER(constant, offset), MEMBER(constant, bytes)},
        true}},
      {"tritonc::abi::requirement",
       {sizeof(requirement), {MEMBER(requirement, condition), MEMBER(requirement, text)}, true}},
      {"tritonc::abi::tensor_map",
       {sizeof(tensor_map),
        {MEMBER(tensor_map, parameter), MEMBER(tensor_map, data_type),
         MEMBER(tensor_map, element_bytes), MEMBER(tensor_map, swizzle), MEMBER(tensor_map, rank),
         MEMBER(tensor_map, offset), MEMBER(tensor_map, size), MEMBER(tensor_map, stride),
         MEMBER(tensor_map, box), MEMBER(tensor_map, reserved)},
        true}},
      {"tritonc::abi::hidden_parameter",
       {sizeof(hidden_parameter),
        {MEMBER(hidden_parameter, value), MEMBER(hidden_parameter, text),
         MEMBER(hidden_parameter, map), MEMBER(hidden_parameter, kind),
         MEMBER(hidden_parameter, reserved)},
        true}},
      {"tritonc::abi::launch_config",
       {sizeof(launch_config),
        {MEMBER(launch_config, guards), MEMBER(launch_config, hidden), MEMBER(launch_config, cost),
         MEMBER(launch_config, blocks), MEMBER(launch_config, workspace),
         MEMBER(launch_config, shared_bytes), MEMBER(launch_config, guard_count),
         MEMBER(launch_config, hidden_count), MEMBER(launch_config, cluster),
         MEMBER(launch_config, part), MEMBER(launch_config, starts_early),
         MEMBER(launch_config, reserved)},
        true}},
      {"tritonc::abi::image",
       {sizeof(image),
        {MEMBER(image, bytes), MEMBER(image, size), MEMBER(image, state), MEMBER(image, sm),
         MEMBER(image, suffix), MEMBER(image, host), MEMBER(image, launch), MEMBER(image, bundle),
         MEMBER(image, offset)},
        true}},
      {"tritonc::image_info",
       {sizeof(image_info),
        {MEMBER(image_info, gpu), MEMBER(image_info, schedule), MEMBER(image_info, threads),
         MEMBER(image_info, registers), MEMBER(image_info, shared_bytes),
         MEMBER(image_info, static_shared_bytes), MEMBER(image_info, spill_stores),
         MEMBER(image_info, spill_loads), MEMBER(image_info, stack_bytes),
         MEMBER(image_info, cubin_bytes), MEMBER(image_info, specialization)},
        true}},
      {"tritonc::abi::variant",
       {sizeof(variant),
        {MEMBER(variant, entry), MEMBER(variant, grid), MEMBER(variant, requirements),
         MEMBER(variant, parameters), MEMBER(variant, images), MEMBER(variant, infos),
         MEMBER(variant, requirement_count), MEMBER(variant, image_count),
         MEMBER(variant, specialized), MEMBER(variant, specialized_count),
         MEMBER(variant, constant_count), MEMBER(variant, constants)},
        true}},
      {"tritonc::abi::tuning",
       {sizeof(tuning),
        {MEMBER(tuning, gpu), MEMBER(tuning, sm), MEMBER(tuning, num_sms), MEMBER(tuning, axes),
         MEMBER(tuning, problems), MEMBER(tuning, times), MEMBER(tuning, costs),
         MEMBER(tuning, schedules), MEMBER(tuning, schedule_names), MEMBER(tuning, axis_count),
         MEMBER(tuning, problem_count), MEMBER(tuning, schedule_name_count),
         MEMBER(tuning, beside_costs)},
        true}},
      {"tritonc::abi::kernel",
       {sizeof(kernel),
        {MEMBER(kernel, version), MEMBER(kernel, parameter_count), MEMBER(kernel, name),
         MEMBER(kernel, gpus), MEMBER(kernel, variants), MEMBER(kernel, choices),
         MEMBER(kernel, variant_count), MEMBER(kernel, axis_count), MEMBER(kernel, argument_bytes),
         MEMBER(kernel, tuning_count), MEMBER(kernel, tunings), MEMBER(kernel, states),
         MEMBER(kernel, checksum)},
        true}},
  };
#undef MEMBER
  auto found = layouts.find(type);
  if (found == layouts.end())
    throw Damage{"`" + type + "` is not the type of a descriptor"};
  return found->second;
}

/// Lays out definitions in memory, each before the definitions that refer to it.
class HeaderLayout {
public:
  /// `states` is the length of the array of image states.
  explicit HeaderLayout(uint64_t states) {
    places_["states"] = {take(states * sizeof(abi::image_state)), sizeof(abi::image_state), states};
  }

  void add(const Definition &definition) {
    auto [place, is_new] = places_.try_emplace(definition.name);
    if (!is_new)
      throw Damage{"`" + definition.name + "` is there twice"};
    if (definition.type == "char") {
      place->second = {own(text_of(definition.value)), 1, definition.value.text.size()};
      return;
    }
    const Layout &layout = layout_of(definition.type);
    std::vector<const Node *> elements;
    if (definition.is_array)
      for (const Node &part : definition.value.list())
        elements.push_back(&part);
    else
      elements = {&definition.value};
    std::string bytes(elements.size() * layout.bytes, '\0');
    uint64_t address = take(bytes.size());
    for (size_t i = 0; i < elements.size(); i++)
      lay_out(*elements[i], layout, address, i * layout.bytes, bytes);
    memory_.own(address, std::move(bytes));
    place->second = {address, layout.bytes, elements.size()};
    if (definition.type == "tritonc::abi::kernel")
      add_kernel(definition.name, address);
  }

  DescriptorMemory finish() { return std::move(memory_); }

private:
  struct Place {
    uint64_t address = 0, bytes_each = 0, length = 0;
  };

  void add_kernel(const std::string &name, uint64_t address) {
    std::string expected = "kernel_" + std::to_string(memory_.kernels.size());
    if (name != expected)
      throw Damage{"`" + expected + "` is not there"};
    memory_.kernels.push_back(address);
  }

  /// Lays out one element at bytes[begin]; `bytes` will be at `address`.
  void lay_out(const Node &node, const Layout &layout, uint64_t address, size_t begin,
               std::string &bytes) {
    if (layout.is_struct && node.list().size() != layout.members.size())
      throw Damage{"an initializer has " + std::to_string(node.parts.size()) + " parts, not " +
                   std::to_string(layout.members.size())};
    for (size_t i = 0; i < layout.members.size(); i++) {
      const Member &member = layout.members[i];
      const Node &part = layout.is_struct ? node.parts[i] : node;
      if (member.length == 1) {
        lay_out(part, member, address, begin + member.offset, bytes);
        continue;
      }
      if (part.list().size() > member.length) // absent elements are zero, as in C++
        throw Damage{"an initializer is too long"};
      for (size_t element = 0; element < part.parts.size(); element++)
        lay_out(part.parts[element], member, address,
                begin + member.offset + element * member.bytes, bytes);
    }
  }

  void lay_out(const Node &value, const Member &member, uint64_t address, size_t at,
               std::string &bytes) {
    if (member.is_pointer)
      return memory_.set_pointer(address + at, target_of(value));
    int64_t number = value.number();
    if (member.bytes < 8) {
      int64_t limit = int64_t(1) << (8 * member.bytes);
      if (number < -limit / 2 || number >= limit)
        throw Damage{"`" + std::to_string(number) + "` is too large for its type"};
    }
    std::memcpy(bytes.data() + at, &number, member.bytes);
  }

  uint64_t target_of(const Node &value) {
    if (value.kind == Node::Kind::text)
      return own(value.text + '\0');
    if (value.kind != Node::Kind::name)
      throw Damage{"expected a name in an initializer"};
    if (value.text == "nullptr")
      return 0;
    auto found = places_.find(value.text);
    if (found == places_.end())
      throw Damage{"`" + value.text + "` is not there"};
    const Place &place = found->second;
    if (uint64_t(value.value) >= place.length)
      throw Damage{"`" + value.text + "` has only " + std::to_string(place.length) + " elements"};
    return place.address + uint64_t(value.value) * place.bytes_each;
  }

  static const std::string &text_of(const Node &value) {
    if (value.kind != Node::Kind::text)
      throw Damage{"expected a string in an initializer"};
    return value.text;
  }

  uint64_t own(std::string bytes) {
    uint64_t address = take(bytes.size());
    memory_.own(address, std::move(bytes));
    return address;
  }

  /// Reserves addresses. The gap behind them makes a read past the end an error.
  uint64_t take(uint64_t size) {
    uint64_t address = next_;
    next_ = (next_ + size + 64) / 64 * 64 + 64;
    return address;
  }

  DescriptorMemory memory_;
  std::map<std::string, Place> places_;
  uint64_t next_ = 4096;
};

// ---- the text around the definitions ----

/// The text between two marks, and then the rest; Damage without the second mark.
llvm::StringRef take_until(llvm::StringRef &rest, llvm::StringRef mark) {
  size_t end = rest.find(mark);
  if (end == llvm::StringRef::npos)
    throw Damage{"`" + mark.str() + "` is not there"};
  llvm::StringRef before = rest.take_front(end);
  rest = rest.drop_front(end + mark.size());
  return before;
}

uint64_t length_of_states(llvm::StringRef data) {
  uint64_t length = 0;
  take_until(data, "inline tritonc::abi::image_state states[");
  if (data.consumeInteger(10, length) || length > UINT32_MAX)
    throw Damage{"`states` has no length"};
  return length;
}

/// The functions after the data return the kernels in order, each once.
void check_functions(llvm::StringRef functions, size_t kernels) {
  const llvm::StringRef returns = "return data::kernel_";
  size_t found = 0;
  for (size_t at; (at = functions.find(returns)) != llvm::StringRef::npos; found++) {
    functions = functions.drop_front(at + returns.size());
    size_t number = 0;
    if (functions.consumeInteger(10, number) || number != found)
      break;
  }
  if (found != kernels)
    throw Damage{"its functions do not return one kernel each"};
}

} // namespace

DescriptorMemory header_memory(const std::string &text) {
  // Types come before the data, functions after them.
  llvm::StringRef rest = text;
  size_t begin = rest.find("namespace data {");
  if (begin == llvm::StringRef::npos)
    return {};
  rest = rest.drop_front(begin);
  llvm::StringRef data = take_until(rest, "} // namespace data");
  std::vector<Definition> definitions = Lexer(data).definitions();
  // Another version may have other structs, so this comes before their layout.
  for (const Definition &definition : definitions)
    if (definition.type == "tritonc::abi::kernel" && !definition.value.list().empty())
      require_abi_version(uint64_t(definition.value.parts[0].number()));
  HeaderLayout layout(length_of_states(data));
  for (const Definition &definition : definitions)
    layout.add(definition);
  DescriptorMemory memory = layout.finish();
  check_functions(rest, memory.kernels.size());
  return memory;
}

} // namespace tritonc
