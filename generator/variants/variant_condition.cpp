// Parses, checks and evaluates conditions. See variant_condition.h.
//
// Tested by tests/unit/variants/variant_condition_test.cpp.

#include "variants/variant_condition.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cctype>

namespace tritonc {
namespace {

// Operators by precedence, loosest first. All are left-associative.
const std::vector<std::vector<llvm::StringRef>> operators = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}};

// Max nesting depth, so that a condition cannot overflow the stack.
constexpr int deepest = 200;

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

const Axis *axis_named(const std::vector<Axis> &axes, const std::string &name) {
  auto found = llvm::find_if(axes, [&](const Axis &axis) { return axis.name == name; });
  return found == axes.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const Axis &axis) {
  std::vector<std::string> names;
  for (const AxisValue &value : axis.values)
    names.push_back(value.name);
  return names;
}

bool is_predefined(const std::string &name) { return name == "arch" || name == "kernel"; }

std::string nearest(llvm::StringRef word, const std::vector<std::string> &candidates) {
  auto distance = [&](const std::string &candidate) { return word.edit_distance(candidate); };
  return *std::min_element(
      candidates.begin(), candidates.end(),
      [&](const std::string &a, const std::string &b) { return distance(a) < distance(b); });
}

} // namespace

// --- Parser --------------------------------------------------------------------------------------

class Condition::Parser {
public:
  explicit Parser(Condition &condition) : condition_(condition), text_(condition.text_) {}

  std::optional<Error> parse() {
    infix(0);
    if (!failure_ && peek() != "")
      expected("an operator");
    return failure_;
  }

private:
  size_t add(Node node) {
    condition_.nodes_.push_back(std::move(node));
    return condition_.nodes_.size() - 1;
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      at_++;
  }

  // Returns the next word, number or operator without consuming it.
  llvm::StringRef peek() {
    skip_blanks();
    llvm::StringRef rest = text_.substr(at_);
    if (!rest.empty() && is_word_character(rest[0]))
      return rest.take_while(is_word_character);
    for (llvm::StringRef two : {"||", "&&", "==", "!=", "<=", ">="})
      if (rest.starts_with(two))
        return two;
    return rest.take_front(1);
  }

  void take(llvm::StringRef token) { at_ += token.size(); }

  size_t expected(const std::string &what) {
    if (!failure_) {
      llvm::StringRef found = peek();
      failure_ = Error{Message::condition_syntax,
                       {condition_.text_, std::to_string(at_ + 1), what,
                        found.empty() ? "the end" : "`" + found.str() + "`"}};
    }
    return 0;
  }

  size_t infix(size_t level) {
    if (level == operators.size())
      return operand();
    size_t left = infix(level + 1);
    while (!failure_ && llvm::is_contained(operators[level], peek())) {
      std::string op = peek().str();
      size_t column = at_ + 1;
      take(op);
      size_t right = infix(level + 1);
      left = add({Node::Kind::infix, op, 0, column, left, right});
    }
    return left;
  }

  size_t operand() {
    llvm::StringRef token = peek();
    size_t column = at_ + 1;
    if (depth_ == deepest)
      return expected("less nesting");
    depth_++;
    size_t result = 0;
    if (token == "!" || token == "-") {
      take(token);
      size_t right = operand();
      result = add({Node::Kind::prefix, token.str(), 0, column, 0, right});
    } else if (token == "(") {
      take(token);
      result = infix(0);
      if (!failure_ && peek() != ")")
        expected("`)`");
      take(")");
    } else if (!token.empty() && std::isdigit(static_cast<unsigned char>(token[0]))) {
      int64_t value = 0;
      if (token.getAsInteger(0, value))
        return expected("an integer");
      take(token);
      result = add({Node::Kind::integer, token.str(), value, column});
    } else if (!token.empty() && is_word_character(token[0])) {
      take(token);
      result = add({Node::Kind::name, token.str(), 0, column});
    } else {
      return expected("an axis, a value or `(`");
    }
    depth_--;
    return result;
  }

  Condition &condition_;
  llvm::StringRef text_;
  size_t at_ = 0;
  int depth_ = 0;
  std::optional<Error> failure_;
};

Result<Condition> Condition::parse(const std::string &text) {
  Condition condition;
  condition.text_ = text;
  if (std::optional<Error> failure = Parser(condition).parse())
    return *failure;
  return condition;
}

// --- Names ---------------------------------------------------------------------------------------

const Condition::Node *Condition::compared_with(size_t name) const {
  for (const Node &node : nodes_) {
    if (node.kind != Node::Kind::infix || (node.text != "==" && node.text != "!="))
      continue;
    if (node.left == name)
      return &nodes_[node.right];
    if (node.right == name)
      return &nodes_[node.left];
  }
  return nullptr;
}

bool Condition::mentions_missing_axis(const std::vector<Axis> &axes) const {
  for (size_t i = 0; i < nodes_.size(); i++) {
    const Node &node = nodes_[i];
    if (node.kind != Node::Kind::name || is_predefined(node.text) || axis_named(axes, node.text))
      continue;
    const Node *other = compared_with(i);
    bool is_word = other && other->kind == Node::Kind::name &&
                   (other->text == "kernel" || axis_named(axes, other->text));
    if (!is_word)
      return true;
  }
  return false;
}

std::optional<Error> Condition::check(const std::vector<Axis> &axes,
                                      const std::vector<std::string> &kernels) const {
  for (size_t i = 0; i < nodes_.size(); i++) {
    const Node &node = nodes_[i];
    if (node.kind != Node::Kind::name || is_predefined(node.text) || axis_named(axes, node.text))
      continue;
    std::string column = std::to_string(node.column);
    const Node *other = compared_with(i);
    const Axis *axis = nullptr;
    if (other && other->kind == Node::Kind::name)
      axis = axis_named(axes, other->text);
    if (axis || (other && other->text == "kernel")) {
      std::vector<std::string> values = axis ? names_of(*axis) : kernels;
      if (llvm::is_contained(values, node.text))
        continue;
      return Error{Message::condition_value,
                   {text_, column, "`" + other->text + "` is never `" + node.text + "`",
                    llvm::join(values, ", ")}};
    }
    std::vector<std::string> names = {"arch", "kernel"};
    for (const Axis &one : axes)
      names.push_back(one.name);
    return Error{Message::condition_name, {text_, column, node.text, nearest(node.text, names)}};
  }
  return std::nullopt;
}

// --- Evaluation ----------------------------------------------------------------------------------

class Condition::Evaluation {
public:
  Evaluation(const Condition &condition, const ConditionSubject &subject)
      : condition_(condition), subject_(subject) {}

  Result<int64_t> run() {
    int64_t value = integer(condition_.nodes_.size() - 1, "the condition");
    if (failure_)
      return *failure_;
    return value;
  }

private:
  // The value of a name in this variant: the value of the axis, or the word itself.
  std::string word(const Node &node) {
    if (node.text == "kernel")
      return subject_.kernel;
    return subject_.value_of(node.text).value_or(node.text);
  }

  int64_t fail(Message id, const Node &node, const std::string &what, const std::string &more) {
    if (!failure_)
      failure_ = Error{id, {condition_.text_, std::to_string(node.column), what, more}};
    return 0;
  }

  // `user` names, for messages, the operator that needs an integer.
  int64_t integer(size_t index, const std::string &user) {
    const Node &node = condition_.nodes_[index];
    switch (node.kind) {
    case Node::Kind::integer:
      return node.value;
    case Node::Kind::name: {
      if (node.text == "arch")
        return subject_.arch ? subject_.arch : fail(Message::condition_arch, node, "", "");
      int64_t value = 0;
      std::string text = word(node);
      if (llvm::StringRef(text).getAsInteger(0, value))
        return fail(Message::condition_type, node, user, text);
      return value;
    }
    case Node::Kind::prefix: {
      int64_t value = integer(node.right, "`" + node.text + "`");
      if (node.text == "!")
        return value == 0;
      int64_t result = 0;
      if (__builtin_sub_overflow(int64_t(0), value, &result))
        return fail(Message::condition_overflow, node, node.text, "");
      return result;
    }
    case Node::Kind::infix:
      return infix(node);
    }
    return 0;
  }

  // The operand's word; nullopt if the operand is an integer.
  std::optional<std::string> word_of(size_t index) {
    const Node &node = condition_.nodes_[index];
    if (node.kind != Node::Kind::name || node.text == "arch")
      return std::nullopt;
    int64_t ignored = 0;
    std::string text = word(node);
    return llvm::StringRef(text).getAsInteger(0, ignored) ? std::optional(text) : std::nullopt;
  }

  int64_t infix(const Node &node) {
    std::string user = "`" + node.text + "`";
    if (node.text == "==" || node.text == "!=") {
      std::optional<std::string> left = word_of(node.left), right = word_of(node.right);
      // A word never equals an integer. An axis may have both words and integers.
      if (left || right)
        return (left && right && *left == *right) == (node.text == "==");
    }
    int64_t left = integer(node.left, user);
    if (node.text == "||")
      return left != 0 || integer(node.right, user) != 0;
    if (node.text == "&&")
      return left != 0 && integer(node.right, user) != 0;
    int64_t right = integer(node.right, user);
    if (node.text == "==")
      return left == right;
    if (node.text == "!=")
      return left != right;
    if (node.text == "<")
      return left < right;
    if (node.text == "<=")
      return left <= right;
    if (node.text == ">")
      return left > right;
    if (node.text == ">=")
      return left >= right;
    int64_t result = 0;
    bool fails = false;
    if (node.text == "+")
      fails = __builtin_add_overflow(left, right, &result);
    else if (node.text == "-")
      fails = __builtin_sub_overflow(left, right, &result);
    else if (node.text == "*")
      fails = __builtin_mul_overflow(left, right, &result);
    else if (right == 0 || (left == INT64_MIN && right == -1))
      fails = true;
    else
      result = node.text == "/" ? left / right : left % right;
    if (fails && !failure_)
      return fail(Message::condition_overflow, node,
                  std::to_string(left) + " " + node.text + " " + std::to_string(right), "");
    return result;
  }

  const Condition &condition_;
  const ConditionSubject &subject_;
  std::optional<Error> failure_;
};

Result<int64_t> Condition::value(const ConditionSubject &subject) const {
  return Evaluation(*this, subject).run();
}

Result<bool> Condition::holds(const ConditionSubject &subject) const {
  Result<int64_t> result = value(subject);
  if (!result)
    return result.error();
  return *result != 0;
}

std::vector<std::string> Condition::names() const {
  std::vector<std::string> names;
  for (const Node &node : nodes_)
    if (node.kind == Node::Kind::name)
      names.push_back(node.text);
  return names;
}

} // namespace tritonc
