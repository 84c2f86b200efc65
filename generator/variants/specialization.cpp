// Parses specializations and applies them to kernels. See specialization.h.
//
// Tested by tests/unit/variants/specialization_test.cpp.

#include "variants/specialization.h"

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

// The range of values of an integer parameter; range_of returns nullopt for other types.
struct Values {
  int64_t min_value, max_value;
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

// The name with the smallest edit distance to `word`.
const std::string &nearest_to(const std::string &word, const std::vector<std::string> &names) {
  auto distance = [&](const std::string &name) {
    return llvm::StringRef(word).edit_distance(name);
  };
  return *std::min_element(names.begin(), names.end(),
                           [&](const auto &a, const auto &b) { return distance(a) < distance(b); });
}

// The least common multiple of both multiples; 0 if it is too large.
int64_t both_multiples(int64_t a, int64_t b) {
  int64_t multiple = std::lcm(a, b);
  return multiple <= largest_multiple ? multiple : 0;
}

} // namespace

// --- Parser --------------------------------------------------------------------------------------

class Specialization::Parser {
public:
  explicit Parser(const std::string &text) : text_(text) {}

  Result<std::vector<Assumption>> parse(std::string &kernel) {
    std::vector<Assumption> assumptions;
    if (take("[")) {
      kernel = name("the name of a kernel").str();
      if (!take("]"))
        expected("`]`");
      if (!failure_ && peek() == "")
        return assumptions;
    }
    do {
      assumptions.push_back(assumption());
    } while (!failure_ && take("&&"));
    if (!failure_ && peek() != "")
      expected("`&&`");
    if (failure_)
      return *failure_;
    return assumptions;
  }

private:
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
    failure_ = Error{Message::specialization_syntax,
                     {text_.str(), std::to_string(at_ + 1), what,
                      found.empty() ? "the end" : "`" + found.str() + "`"}};
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

  Assumption assumption() {
    Assumption assumption;
    peek(); // skips blanks
    assumption.column = at_ + 1;
    assumption.parameter = name("the name of a parameter").str();
    assumption.is_value = take("==");
    if (!assumption.is_value && !take("%"))
      expected("`%` or `==`");
    if (!failure_)
      assumption.number = number();
    if (failure_ || assumption.is_value || !take("=="))
      return assumption;
    if (number() != 0 && !failure_) {
      at_--; // points to the last digit of the number
      expected("0, as in `" + assumption.parameter + " % 8 == 0`");
    }
    return assumption;
  }

  llvm::StringRef text_;
  size_t at_ = 0;
  std::optional<Error> failure_;
};

std::string Specialization::Assumption::text() const {
  return parameter + (is_value ? " == " : " % ") + std::to_string(number);
}

Result<Specialization> Specialization::parse(const std::string &text) {
  Specialization result;
  result.given_ = text;
  Result<std::vector<Assumption>> assumptions = Parser(text).parse(result.kernel_);
  if (!assumptions)
    return assumptions.error();
  result.assumptions_ = std::move(*assumptions);
  std::vector<std::string> texts;
  for (const Assumption &assumption : result.assumptions_) {
    auto bad = [&](const std::string &why) {
      return Error{Message::specialization_impossible,
                   {text, std::to_string(assumption.column), why}};
    };
    if (!assumption.is_value && (assumption.number < 2 || assumption.number > largest_multiple))
      return bad("`" + assumption.text() + "` has no effect; a multiple is in 2 to " +
                 std::to_string(largest_multiple));
    for (const Assumption &other : result.assumptions_) {
      if (&other == &assumption)
        break;
      if (other.parameter != assumption.parameter)
        continue;
      if (other.is_value == assumption.is_value && other.number == assumption.number)
        return bad("`" + assumption.text() + "` occurs twice");
      const Assumption &value = assumption.is_value ? assumption : other,
                       &rest = assumption.is_value ? other : assumption;
      if (value.is_value && (rest.is_value || value.number % rest.number != 0))
        return bad("`" + assumption.text() + "` and `" + other.text() + "` are never both true");
    }
    texts.push_back(assumption.text());
  }
  result.text_ = llvm::join(texts, " && ");
  return result;
}

Result<std::vector<Specialization>> parse_specializations(const std::vector<std::string> &texts) {
  std::vector<Specialization> all;
  for (const std::string &text : texts) {
    Result<Specialization> assumptions = Specialization::parse(text);
    if (!assumptions)
      return assumptions.error();
    for (const Specialization &other : all) {
      bool is_same_kernel = other.kernel() == assumptions->kernel();
      if (is_same_kernel && other.text() == assumptions->text())
        return Error{Message::specialization_impossible,
                     {text, "1", "an earlier specialization has the same assumptions"}};
      if (is_same_kernel && (other.text().empty() || assumptions->text().empty()))
        return Error{Message::specialization_impossible,
                     {text, "1",
                      "`" + assumptions->kernel() +
                          "` has a specialization with assumptions and one without"}};
    }
    all.push_back(std::move(*assumptions));
  }
  return all;
}

bool has_others(const ir::Function &kernel, const Specialization &specialization,
                const std::vector<Specialization> &all) {
  return specialization.kernel().empty() &&
         llvm::any_of(all, [&](const auto &other) { return other.kernel() == kernel.name; });
}

// --- Specialized kernels -------------------------------------------------------------------------

bool Specialization::is_about(const ir::Function &kernel) const {
  if (!kernel_.empty())
    return kernel_ == kernel.name;
  return llvm::all_of(assumptions_, [&](const Assumption &assumption) {
    return index_of(kernel, assumption.parameter) >= 0;
  });
}

std::optional<Error> Specialization::problem_with(const ir::Function &kernel) const {
  for (const Assumption &assumption : assumptions_) {
    if (index_of(kernel, assumption.parameter) < 0)
      return unknown_to({&kernel});
    const ir::Parameter &parameter =
        kernel.parameters[size_t(index_of(kernel, assumption.parameter))];
    const std::string name = "`" + assumption.parameter + "` of kernel `" + kernel.name + "` ";
    auto bad = [&](const std::string &why) {
      return Error{Message::specialization_impossible,
                   {given_, std::to_string(assumption.column), name + why}};
    };
    if (parameter.value->type.is_pointer()) {
      if (assumption.is_value)
        return bad("is a pointer, which can only have an alignment: `" + assumption.parameter +
                   " % 16`");
      if (!is_power_of_two(assumption.number))
        return bad("is a pointer, but " + std::to_string(assumption.number) +
                   " bytes are not a power of two");
      continue;
    }
    std::optional<Values> range = range_of(parameter);
    if (!range)
      return bad("is neither an integer nor a pointer");
    if (!assumption.is_value && range->max_value == 1)
      return bad("is a `bool`, which has no multiples; write `" + assumption.parameter + " == 1`");
    if (!assumption.is_value && !both_multiples(parameter.multiple_of, assumption.number))
      return bad("is a multiple of " + std::to_string(parameter.multiple_of) +
                 " by its `__multipleof`; the combined multiple is too large");
    if (assumption.is_value &&
        (assumption.number < range->min_value || assumption.number > range->max_value))
      return bad("is never " + std::to_string(assumption.number) + ": the range of its type is " +
                 std::to_string(range->min_value) + " to " + std::to_string(range->max_value));
    if (assumption.is_value && assumption.number % parameter.multiple_of != 0)
      return bad("is never " + std::to_string(assumption.number) +
                 ": it is declared `__multipleof(" + std::to_string(parameter.multiple_of) + ")`");
  }
  return std::nullopt;
}

std::optional<ir::Function> Specialization::apply_to(const ir::Function &kernel) const {
  ir::Function fn = ir::clone(kernel);
  bool is_changed = false;
  for (const Assumption &assumption : assumptions_) {
    const int index = index_of(fn, assumption.parameter);
    ir::Parameter &parameter = fn.parameters[size_t(index)];
    if (parameter.value->type.is_pointer()) {
      is_changed |= assumption.number > parameter.aligned_bytes;
      parameter.aligned_bytes = std::max(parameter.aligned_bytes, int(assumption.number));
    } else if (!assumption.is_value) {
      is_changed |= parameter.multiple_of % assumption.number != 0;
      parameter.multiple_of = int(both_multiples(parameter.multiple_of, assumption.number));
    } else {
      is_changed = true;
      ir::Builder first(fn, fn.body, 0);
      first.set_location(fn.location);
      ir::Value *number = first.constant(parameter.value->type, assumption.number);
      ir::replace_uses(*fn.body, parameter.value, number);
      fn.plan.requirements.push_back(
          {Expr::binary(Expr::Kind::eq, Expr::parameter(index), Expr::constant(assumption.number)),
           assumption.text()});
    }
  }
  if (!is_changed)
    return std::nullopt;
  fn.plan.specialization = text_;
  return fn;
}

Error Specialization::unknown_to(const std::vector<const ir::Function *> &kernels) const {
  std::vector<std::string> names, kernel_names;
  for (const ir::Function *kernel : kernels)
    kernel_names.push_back(kernel->name);
  if (!kernel_.empty() && !kernel_names.empty() && !llvm::is_contained(kernel_names, kernel_))
    return {Message::specialization_impossible,
            {given_, "2",
             "unknown kernel `" + kernel_ + "`; did you mean `" +
                 nearest_to(kernel_, kernel_names) + "`?"}};
  const std::string which = kernel_.empty() ? "no kernel" : "`" + kernel_ + "`";
  for (const ir::Function *kernel : kernels)
    for (const ir::Parameter &parameter : kernel->parameters)
      names.push_back(parameter.name);
  for (const Assumption &assumption : assumptions_) {
    if (names.empty() || llvm::is_contained(names, assumption.parameter))
      continue;
    return {Message::specialization_impossible,
            {given_, std::to_string(assumption.column),
             which + " has " + (kernel_.empty() ? "a" : "no") + " parameter `" +
                 assumption.parameter + "`; did you mean `" +
                 nearest_to(assumption.parameter, names) + "`?"}};
  }
  return {
      Message::specialization_impossible,
      {given_, "1", "no kernel has all of these parameters; give one specialization per kernel"}};
}

} // namespace tritonc
