// Finds the order of keys. See key_order.h.
//
//     %closer = cmp %x, %key {pred = "gt"}        the keys are numbers in ascending order, and an
//     %number = cmp %x, %x {pred = "eq"}     =>   element that is greater replaces the key: max,
//     %none = cmp %key, %key {pred = "ne"}        the first of equal elements. A NaN never replaces
//     %next = (closer | none) & number            the key, and any number replaces a NaN.
//
// Method: the predicate is a formula of comparisons. The operands of the comparisons are the key,
// the element and constants, so its truth depends only on their order. The analysis evaluates it
// for every order: it places key and element between the constants, at them, and at NaN. Two places
// between adjacent constants suffice, since there are two variables. Conditions of the element that
// are no such comparison may have any truth: the analysis tries both.
//
// An element that cannot replace any key does not count. For all other elements, the predicate
// must be "greater than the key" or "less than the key". Whether an equal element replaces the key
// must not depend on anything.
//
// Tested by tests/unit/analysis/key_order_test.cpp.

#include "analysis/key_order.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tritonc {

using namespace ir;

namespace {

constexpr size_t max_conditions = 4;
constexpr int max_size = 32; // operations of a formula

bool compare(std::string_view pred, double a, double b) {
  if (pred[0] == 'u')
    pred.remove_prefix(1);
  return pred == "eq"   ? a == b
         : pred == "ne" ? a != b
         : pred == "lt" ? a < b
         : pred == "le" ? a <= b
         : pred == "gt" ? a > b
                        : a >= b;
}

bool is_logic(const Op &op) {
  return op.is(Opcode::and_) || op.is(Opcode::or_) || op.is(Opcode::xor_);
}

// A predicate as a formula of the places of key and element.
class Formula {
public:
  Formula(Block &body, const Value *predicate, const Value *key, const Value *element)
      : body_(body), predicate_(predicate), key_(key), element_(element) {
    is_known_ = collect(predicate);
    std::sort(constants_.begin(), constants_.end());
    constants_.erase(std::unique(constants_.begin(), constants_.end()), constants_.end());
    // The select uses the key, too.
    is_known_ &= count_uses(body, key) == uses_of_key_ + 1 && conditions_.size() <= max_conditions;
  }

  // Whether the formula has only comparisons of one order, and nothing else uses the key.
  bool is_known() const { return is_known_ && !(is_signed_ && is_unsigned_); }
  bool is_unsigned() const { return is_unsigned_; }
  size_t conditions() const { return conditions_.size(); }

  // The places of numbers, in groups: the places of a group have the same order to all constants.
  std::vector<std::vector<double>> places() const {
    std::vector<std::vector<double>> groups;
    for (size_t i = 0; i <= constants_.size(); i++) {
      if (i > 0)
        groups.push_back({double(3 * i - 1)});
      groups.push_back({double(3 * i), double(3 * i + 1)});
    }
    return groups;
  }

  // `truths`: a bit per condition.
  bool holds(double key, double element, unsigned truths) const {
    return holds(predicate_, key, element, truths);
  }

private:
  Block &body_;
  const Value *predicate_, *key_, *element_;
  bool is_known_ = true, is_signed_ = false, is_unsigned_ = false;
  int uses_of_key_ = 0, size_ = 0;
  std::vector<double> constants_;
  std::vector<const Value *> conditions_;

  bool is_operand(const Value *value) const {
    return value == key_ || value == element_ || number_of(value);
  }
  bool is_comparison(const Op &op) const {
    return op.is(Opcode::cmp_) && is_operand(op.operand(0)) && is_operand(op.operand(1));
  }

  // Returns false if the formula is too large, or if another operation uses a part of it that
  // depends on the key.
  bool collect(const Value *value) {
    const Op *op = value->op;
    if (constant_of(value))
      return true;
    if (++size_ > max_size)
      return false;
    const int before = uses_of_key_;
    if (op && is_logic(*op)) {
      if (!collect(op->operand(0)) || !collect(op->operand(1)))
        return false;
    } else if (op && is_comparison(*op)) {
      if (!collect_comparison(*op))
        return false;
    } else if (std::find(conditions_.begin(), conditions_.end(), value) == conditions_.end()) {
      conditions_.push_back(value);
    }
    return uses_of_key_ == before || value == predicate_ || count_uses(body_, value) == 1;
  }

  bool collect_comparison(const Op &op) {
    const std::string_view pred = op.get(attr::pred_);
    const bool is_integers = is_integer(op.operand(0)->type.elem);
    if (is_integers && pred != "eq" && pred != "ne")
      (pred[0] == 'u' ? is_unsigned_ : is_signed_) = true;
    for (const Value *operand : op.operands) {
      uses_of_key_ += operand == key_;
      std::optional<double> number = number_of(operand);
      if (!number || std::isnan(*number))
        continue;
      constants_.push_back(*number);
      is_signed_ |= is_integers && *number < 0; // -1 is the greatest unsigned number
      if (is_integers && std::abs(*number) >= 0x1p53)
        return false; // may be rounded
    }
    return true;
  }

  double place_of(const Value *value, double key, double element) const {
    if (value == key_ || value == element_)
      return value == key_ ? key : element;
    const double number = *number_of(value);
    auto found = std::lower_bound(constants_.begin(), constants_.end(), number);
    return std::isnan(number) ? number : double(3 * (found - constants_.begin()) + 2);
  }

  bool holds(const Value *value, double key, double element, unsigned truths) const {
    if (std::optional<int64_t> constant = constant_of(value))
      return *constant != 0;
    const Op *op = value->op;
    if (op && is_logic(*op)) {
      const bool a = holds(op->operand(0), key, element, truths);
      const bool b = holds(op->operand(1), key, element, truths);
      return op->is(Opcode::and_) ? a && b : op->is(Opcode::or_) ? a || b : a != b;
    }
    if (op && is_comparison(*op))
      return compare(op->get(attr::pred_), place_of(op->operand(0), key, element),
                     place_of(op->operand(1), key, element));
    auto condition = std::find(conditions_.begin(), conditions_.end(), value);
    return truths >> (condition - conditions_.begin()) & 1;
  }
};

// Decides for one direction: `is_max`, or min.
class Decision {
public:
  Decision(const Formula &formula, bool is_float, bool key_may_be_nan, bool is_max)
      : formula_(formula), is_max_(is_max) {
    for (const std::vector<double> &group : formula.places())
      keys_.insert(keys_.end(), group.begin(), group.end());
    if (key_may_be_nan)
      keys_.push_back(nan);
    for (unsigned truths = 0; truths < 1u << formula.conditions(); truths++) {
      for (const std::vector<double> &group : formula.places())
        decide(group, truths);
      if (is_float)
        decide({nan}, truths);
    }
  }

  // Whether some elements count, and all of these replace the keys that they should.
  bool is_order() const { return is_consistent_ && some_count_; }
  bool takes_last() const { return replaces_equal_ == true; }

private:
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const Formula &formula_;
  const bool is_max_;
  std::vector<double> keys_;
  bool is_consistent_ = true, some_count_ = false;
  std::optional<bool> replaces_equal_;

  void decide(const std::vector<double> &elements, unsigned truths) {
    bool counts = false;
    for (double element : elements)
      for (double key : keys_)
        counts |= formula_.holds(key, element, truths);
    some_count_ |= counts;
    for (double element : elements)
      for (double key : keys_)
        if (counts)
          is_consistent_ &= is_right(key, element, formula_.holds(key, element, truths));
  }

  bool is_right(double key, double element, bool replaces) {
    if (std::isnan(element))
      return false;
    if (key == element && !replaces_equal_)
      replaces_equal_ = replaces;
    const bool is_better = std::isnan(key) || (is_max_ ? element > key : element < key);
    return replaces == (key == element ? *replaces_equal_ : is_better);
  }
};

} // namespace

std::optional<KeyOrder> find_key_order(Block &body, const Value *predicate, const Value *key,
                                       const Value *element, const Value *start) {
  const Formula formula(body, predicate, key, element);
  if (!formula.is_known())
    return std::nullopt;
  const bool is_float = ir::is_float(key->type.elem);
  const std::optional<double> first = number_of(start);
  const bool starts_at_nan = is_float && first && std::isnan(*first);
  for (bool is_max : {true, false}) {
    const Decision decision(formula, is_float, is_float && (!first || starts_at_nan), is_max);
    // The start of a later part must not replace an element of an earlier part.
    if (decision.is_order() && (starts_at_nan || !decision.takes_last()))
      return KeyOrder{std::string(formula.is_unsigned() ? "u" : "") + (is_max ? "max" : "min"),
                      decision.takes_last()};
  }
  return std::nullopt;
}

} // namespace tritonc
