// Hints about arguments. See argument_hints.h.
//
// Tested by tests/compile/argument_hints_test.cpp.

#include "argument_hints.h"

#include "ir/builder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>

namespace tritonc {
namespace {

constexpr int64_t largest_multiple = std::numeric_limits<int32_t>::max();

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_power_of_two(int64_t number) { return number > 0 && (number & (number - 1)) == 0; }

int index_of(const ir::Function &kernel, const std::string &parameter) {
  auto found = llvm::find_if(kernel.parameters,
                             [&](const ir::Parameter &other) { return other.name == parameter; });
  return found == kernel.parameters.end() ? -1 : int(found - kernel.parameters.begin());
}

// Which values a parameter of this type can have; nothing if it is no integer.
struct Values {
  int64_t least, most;
};

std::optional<Values> range_of(const ir::Parameter &parameter) {
  int bits = 0;
  switch (parameter.value->type.elem) {
  case ir::Elem::i1:
    return Values{0, 1};
  case ir::Elem::i8:
    bits = 8;
    break;
  case ir::Elem::i16:
    bits = 16;
    break;
  case ir::Elem::i32:
    bits = 32;
    break;
  case ir::Elem::i64:
    return Values{parameter.is_signed ? std::numeric_limits<int64_t>::min() : 0,
                  std::numeric_limits<int64_t>::max()};
  default:
    return std::nullopt;
  }
  int64_t half = int64_t(1) << (bits - 1);
  return parameter.is_signed ? Values{-half, half - 1} : Values{0, 2 * half - 1};
}

// The name that takes the fewest changes to become this one.
const std::string &nearest_to(const std::string &word, const std::vector<std::string> &names) {
  auto distance = [&](const std::string &name) {
    return llvm::StringRef(word).edit_distance(name);
  };
  return *std::min_element(names.begin(), names.end(),
                           [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
}

// The least common multiple of what is relied on and of the hint, if it is no too large number.
int64_t both_multiples(int64_t a, int64_t b) {
  int64_t multiple = std::lcm(a, b);
  return multiple <= largest_multiple ? multiple : 0;
}

} // namespace

// --- Reading -------------------------------------------------------------------------------------

class ArgumentHints::Parser {
public:
  explicit Parser(const std::string &text) : text_(text) {}

  Result<std::vector<Hint>> parse(std::string &kernel) {
    std::vector<Hint> hints;
    if (take("[")) {
      kernel = name("the name of a kernel").str();
      if (!take("]"))
        expected("`]`");
      if (!failure_ && peek() == "")
        return hints;
    }
    do {
      hints.push_back(hint());
    } while (!failure_ && take("&&"));
    if (!failure_ && peek() != "")
      expected("`&&`");
    if (failure_)
      return *failure_;
    return hints;
  }

private:
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      at_++;
  }

  // The next word, number or operator, not taken yet.
  llvm::StringRef peek() {
    skip_blanks();
    llvm::StringRef rest = text_.substr(at_);
    if (!rest.empty() && is_word_character(rest[0]))
      return rest.take_while(is_word_character);
    for (llvm::StringRef two : {"&&", "=="})
      if (rest.starts_with(two))
        return two;
    return rest.take_front(1);
  }

  bool take(llvm::StringRef token) {
    if (peek() != token)
      return false;
    at_ += token.size();
    return true;
  }

  void expected(const std::string &what) {
    if (failure_)
      return;
    llvm::StringRef found = peek();
    failure_ = Failure{Message::hint_syntax,
                       {text_.str(), std::to_string(at_ + 1), what,
                        found.empty() ? "its end" : "`" + found.str() + "`"}};
  }

  llvm::StringRef name(const char *what) {
    llvm::StringRef name = peek();
    if (name.empty() || !is_word_character(name[0]) || llvm::isDigit(name[0]))
      expected(what);
    else
      at_ += name.size();
    return name;
  }

  int64_t number() {
    bool is_negative = take("-");
    llvm::StringRef token = peek();
    int64_t value = 0;
    if (token.empty() || !llvm::isDigit(token[0]) || token.getAsInteger(0, value))
      expected("a number");
    else
      at_ += token.size();
    return is_negative ? -value : value;
  }

  Hint hint() {
    Hint hint;
    peek(); // behind blanks
    hint.column = at_ + 1;
    hint.parameter = name("the name of a parameter").str();
    hint.is_value = take("==");
    if (!hint.is_value && !take("%"))
      expected("`%` or `==`");
    if (!failure_)
      hint.number = number();
    if (failure_ || hint.is_value || !take("=="))
      return hint;
    if (number() != 0 && !failure_) {
      at_--; // to the last digit of the number
      expected("0, as in `" + hint.parameter + " % 8 == 0`");
    }
    return hint;
  }

  llvm::StringRef text_;
  size_t at_ = 0;
  std::optional<Failure> failure_;
};

std::string ArgumentHints::Hint::text() const {
  return parameter + (is_value ? " == " : " % ") + std::to_string(number);
}

Result<ArgumentHints> ArgumentHints::parse(const std::string &text) {
  ArgumentHints result;
  result.given_ = text;
  Result<std::vector<Hint>> hints = Parser(text).parse(result.kernel_);
  if (!hints)
    return hints.failure();
  result.hints_ = std::move(*hints);
  std::vector<std::string> texts;
  for (const Hint &hint : result.hints_) {
    auto bad = [&](const std::string &why) {
      return Failure{Message::hint_impossible, {text, std::to_string(hint.column), why}};
    };
    if (!hint.is_value && (hint.number < 2 || hint.number > largest_multiple))
      return bad("`" + hint.text() + "` says nothing; a multiple is one of 2 to " +
                 std::to_string(largest_multiple));
    for (const Hint &other : result.hints_) {
      if (&other == &hint)
        break;
      if (other.parameter != hint.parameter)
        continue;
      if (other.is_value == hint.is_value && other.number == hint.number)
        return bad("`" + hint.text() + "` is there twice");
      const Hint &value = hint.is_value ? hint : other, &rest = hint.is_value ? other : hint;
      if (value.is_value && (rest.is_value || value.number % rest.number != 0))
        return bad("`" + hint.text() + "` and `" + other.text() + "` are never both true");
    }
    texts.push_back(hint.text());
  }
  result.text_ = llvm::join(texts, " && ");
  return result;
}

Result<std::vector<ArgumentHints>> parse_hints(const std::vector<std::string> &texts) {
  std::vector<ArgumentHints> all;
  for (const std::string &text : texts) {
    Result<ArgumentHints> hints = ArgumentHints::parse(text);
    if (!hints)
      return hints.failure();
    for (const ArgumentHints &other : all) {
      bool is_same_kernel = other.kernel() == hints->kernel();
      if (is_same_kernel && other.text() == hints->text())
        return Failure{Message::hint_impossible, {text, "1", "the same hints are given before"}};
      if (is_same_kernel && (other.text().empty() || hints->text().empty()))
        return Failure{Message::hint_impossible,
                       {text, "1", "`" + hints->kernel() + "` has hints, and has none"}};
    }
    all.push_back(std::move(*hints));
  }
  return all;
}

bool has_others(const ir::Function &kernel, const ArgumentHints &hints,
                const std::vector<ArgumentHints> &all) {
  return hints.kernel().empty() &&
         llvm::any_of(all, [&](const auto &other) { return other.kernel() == kernel.name; });
}

// --- Kernels under hints -------------------------------------------------------------------------

bool ArgumentHints::is_about(const ir::Function &kernel) const {
  if (!kernel_.empty())
    return kernel_ == kernel.name;
  return llvm::all_of(hints_,
                      [&](const Hint &hint) { return index_of(kernel, hint.parameter) >= 0; });
}

std::optional<Failure> ArgumentHints::problem_with(const ir::Function &kernel) const {
  for (const Hint &hint : hints_) {
    if (index_of(kernel, hint.parameter) < 0)
      return unknown_to({&kernel});
    const ir::Parameter &parameter = kernel.parameters[size_t(index_of(kernel, hint.parameter))];
    const std::string name = "`" + hint.parameter + "` of kernel `" + kernel.name + "` ";
    auto bad = [&](const std::string &why) {
      return Failure{Message::hint_impossible, {given_, std::to_string(hint.column), name + why}};
    };
    if (parameter.value->type.is_pointer()) {
      if (hint.is_value)
        return bad("is a pointer, of which only how it is aligned can be said: `" + hint.parameter +
                   " % 16`");
      if (!is_power_of_two(hint.number))
        return bad("is a pointer, and " + std::to_string(hint.number) +
                   " bytes are no power of two");
      continue;
    }
    std::optional<Values> range = range_of(parameter);
    if (!range)
      return bad("is no integer and no pointer");
    if (!hint.is_value && range->most == 1)
      return bad("is a `bool`, and no multiple; say `" + hint.parameter + " == 1`");
    if (!hint.is_value && !both_multiples(parameter.multiple_of, hint.number))
      return bad("is a multiple of " + std::to_string(parameter.multiple_of) +
                 " by its `__multipleof`, and would be one of a number that is too large");
    if (hint.is_value && (hint.number < range->least || hint.number > range->most))
      return bad("is never " + std::to_string(hint.number) + ": its type has " +
                 std::to_string(range->least) + " to " + std::to_string(range->most));
    if (hint.is_value && hint.number % parameter.multiple_of != 0)
      return bad("is never " + std::to_string(hint.number) + ": it is declared `__multipleof(" +
                 std::to_string(parameter.multiple_of) + ")`");
  }
  return std::nullopt;
}

std::optional<ir::Function> ArgumentHints::apply_to(const ir::Function &kernel) const {
  ir::Function fn = ir::clone(kernel);
  bool is_changed = false;
  for (const Hint &hint : hints_) {
    const int index = index_of(fn, hint.parameter);
    ir::Parameter &parameter = fn.parameters[size_t(index)];
    if (parameter.value->type.is_pointer()) {
      is_changed |= hint.number > parameter.aligned_bytes;
      parameter.aligned_bytes = std::max(parameter.aligned_bytes, int(hint.number));
    } else if (!hint.is_value) {
      is_changed |= parameter.multiple_of % hint.number != 0;
      parameter.multiple_of = int(both_multiples(parameter.multiple_of, hint.number));
    } else {
      is_changed = true;
      ir::Builder first(fn, fn.body, 0);
      first.set_location(fn.location);
      ir::Value *number = first.constant(parameter.value->type, hint.number);
      ir::replace_uses(*fn.body, parameter.value, number);
      fn.plan.requirements.push_back(
          {Expr::binary(Expr::Kind::eq, Expr::parameter(index), Expr::constant(hint.number)),
           hint.text()});
    }
  }
  if (!is_changed)
    return std::nullopt;
  fn.plan.hints = text_;
  return fn;
}

Failure ArgumentHints::unknown_to(const std::vector<const ir::Function *> &kernels) const {
  std::vector<std::string> names, kernel_names;
  for (const ir::Function *kernel : kernels)
    kernel_names.push_back(kernel->name);
  if (!kernel_.empty() && !kernel_names.empty() && !llvm::is_contained(kernel_names, kernel_))
    return {Message::hint_impossible,
            {given_, "2",
             "there is no kernel `" + kernel_ + "`; did you mean `" +
                 nearest_to(kernel_, kernel_names) + "`?"}};
  const std::string which = kernel_.empty() ? "no kernel" : "`" + kernel_ + "`";
  for (const ir::Function *kernel : kernels)
    for (const ir::Parameter &parameter : kernel->parameters)
      names.push_back(parameter.name);
  for (const Hint &hint : hints_) {
    if (names.empty() || llvm::is_contained(names, hint.parameter))
      continue;
    return {Message::hint_impossible,
            {given_, std::to_string(hint.column),
             which + " has " + (kernel_.empty() ? "a" : "no") + " parameter `" + hint.parameter +
                 "`; did you mean `" + nearest_to(hint.parameter, names) + "`?"}};
  }
  return {Message::hint_impossible,
          {given_, "1", "no kernel has all of these parameters; give hints for each kernel"}};
}

} // namespace tritonc
