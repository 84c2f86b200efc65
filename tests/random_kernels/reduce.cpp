// Reduces a failing kernel. See reduce.h.
//
// An edit is a function of a kernel and a number n: it makes the n-th possible change, or returns
// that fewer changes exist. The reducer tries each kind of edit with all numbers. It keeps a change
// if the kernel is still valid and still fails. After that, the same number means another change.
//
// Tested by tests/random_kernels/reduce_test.cpp.

#include "random_kernels/reduce.h"

#include "random_kernels/print.h"

#include <algorithm>
#include <chrono>

namespace tritonc::random {
namespace {

using Edit = bool (*)(Kernel &, size_t);

// All statement lists, outermost first.
std::vector<std::vector<Stmt> *> lists_of(Kernel &kernel) {
  std::vector<std::vector<Stmt> *> lists;
  auto add = [&](std::vector<Stmt> &list) { lists.push_back(&list); };
  for_each_list(kernel.body, add);
  for (Function &function : kernel.functions)
    for_each_list(function.body, add);
  return lists;
}

// --- Statements. ---------------------------------------------------------------------------------

// Removes one of `parts` equal parts of a list, for every list and every part.
template <int parts> bool remove_part(Kernel &kernel, size_t number) {
  for (std::vector<Stmt> *list : lists_of(kernel)) {
    size_t count = std::min<size_t>(parts, list->size());
    if (parts > 1 && list->size() < parts)
      continue;
    if (number >= count) {
      number -= count;
      continue;
    }
    size_t from = list->size() * number / count, to = list->size() * (number + 1) / count;
    list->erase(list->begin() + int64_t(from), list->begin() + int64_t(to));
    return true;
  }
  return false;
}

bool remove_statement(Kernel &kernel, size_t number) {
  for (std::vector<Stmt> *list : lists_of(kernel)) {
    if (number >= list->size()) {
      number -= list->size();
      continue;
    }
    list->erase(list->begin() + int64_t(list->size() - 1 - number)); // uses before definitions
    return true;
  }
  return false;
}

// The statement lists that can replace a compound statement.
std::vector<std::vector<Stmt>> unwrapped(const Stmt &stmt) {
  std::vector<std::vector<Stmt>> ways;
  if (stmt.is(Stmt::Kind::branch) && !stmt.other.empty()) {
    ways.push_back(stmt.body);
    ways.push_back(stmt.other);
    Stmt without = stmt;
    without.other.clear();
    ways.push_back({without});
  } else if (!stmt.body.empty()) {
    std::vector<Stmt> once;
    if (!stmt.head.empty())
      once.push_back(stmt.head[0]);
    once.insert(once.end(), stmt.body.begin(), stmt.body.end());
    ways.push_back(std::move(once));
  }
  return ways;
}

bool unwrap(Kernel &kernel, size_t number) {
  for (std::vector<Stmt> *list : lists_of(kernel))
    for (size_t i = 0; i < list->size(); i++)
      for (std::vector<Stmt> &way : unwrapped((*list)[i])) {
        if (number-- > 0)
          continue;
        std::vector<Stmt> made = std::move(way);
        list->erase(list->begin() + int64_t(i));
        list->insert(list->begin() + int64_t(i), made.begin(), made.end());
        return true;
      }
  return false;
}

// Removes masks and hints of stores, and replaces `+=` by `=`.
bool simplify_statement(Kernel &kernel, size_t number) {
  bool is_done = false;
  for_each_stmt(kernel, [&](Stmt &stmt) {
    auto is_turn = [&] { return !is_done && number-- == 0; };
    if (stmt.is(Stmt::Kind::store) && stmt.value.size() == 3 && is_turn()) {
      stmt.value.pop_back();
      is_done = true;
    }
    if (stmt.hint != Hint::none && is_turn()) {
      stmt.hint = Hint::none;
      is_done = true;
    }
    bool has_op = stmt.is(Stmt::Kind::store) || stmt.is(Stmt::Kind::assign);
    if (!is_done && has_op && stmt.op != Op::none && is_turn()) {
      stmt.op = Op::none;
      is_done = true;
    }
  });
  return is_done;
}

// --- Expressions. --------------------------------------------------------------------------------

Expr constant(const Type &type, int64_t value) {
  Expr made = literal(type.scalar, value);
  return type.is_tile() ? cast({type.scalar, false, type.shape}, std::move(made)) : made;
}

bool is_constant(const Expr &expr) {
  return expr.is(Expr::Kind::literal) ||
         (expr.is(Expr::Kind::cast) && expr.operands[0].is(Expr::Kind::literal));
}

void add_same_type(const Expr &expr, const Type &type, int depth, std::vector<Expr> &found) {
  for (const Expr &operand : expr.operands) {
    if (operand.type == type)
      found.push_back(operand);
    if (depth > 0)
      add_same_type(operand, type, depth - 1, found);
  }
}

// Possible replacements of an expression, simplest first.
std::vector<Expr> simpler(const Expr &expr) {
  std::vector<Expr> found;
  if (is_constant(expr) || expr.is(Expr::Kind::program_id) || expr.is(Expr::Kind::range))
    return found;
  if (!expr.type.pointer) {
    found.push_back(constant(expr.type, 0));
    found.push_back(constant(expr.type, 1));
  }
  add_same_type(expr, expr.type, 2, found);
  if (expr.is(Expr::Kind::load) && expr.operands.size() == 2)
    found.push_back(load(expr.operands[0]));
  if (expr.hint != Hint::none) {
    found.push_back(expr);
    found.back().hint = Hint::none;
  }
  return found;
}

bool simplify_expression(Kernel &kernel, size_t number) {
  bool is_done = false;
  for_each_stmt(kernel, [&](Stmt &stmt) {
    for (Expr &value : stmt.value)
      for_each_expr(value, [&](Expr &expr) {
        if (is_done)
          return;
        std::vector<Expr> ways = simpler(expr);
        if (number < ways.size()) {
          Expr made = std::move(ways[number]);
          expr = std::move(made);
          is_done = true;
        } else {
          number -= ways.size();
        }
      });
  });
  return is_done;
}

// --- Shapes, numbers, parameters. ----------------------------------------------------------------

// Calls visit(int64_t &) for every explicit extent.
template <typename Visit> void for_each_extent(Kernel &kernel, const Visit &visit) {
  auto shape = [&](Shape &shape) {
    for (int64_t &extent : shape)
      visit(extent);
  };
  for (Variable &variable : kernel.variables)
    shape(variable.type.shape);
  for (Function &function : kernel.functions)
    shape(function.result.shape);
  for_each_stmt(kernel, [&](Stmt &stmt) {
    for (Expr &value : stmt.value)
      for_each_expr(value, [&](Expr &expr) { shape(expr.type.shape); });
  });
}

// Halves every extent of one size; for odd `number`, also every literal.
bool halve_extents(Kernel &kernel, size_t number) {
  int64_t size = int64_t(1024) >> (number / 2);
  if (size < 2)
    return false;
  for_each_extent(kernel, [&](int64_t &extent) { extent = extent == size ? size / 2 : extent; });
  if (number % 2 == 0)
    return true;
  for_each_stmt(kernel, [&](Stmt &stmt) {
    for (Expr &value : stmt.value)
      for_each_expr(value, [&](Expr &expr) {
        if (expr.is(Expr::Kind::literal) && expr.integer == size && is_integer(expr.type.scalar))
          expr.integer = size / 2;
      });
  });
  for (Parameter &parameter : kernel.parameters)
    if (parameter.integer == size)
      parameter.integer = size / 2;
  return true;
}

bool shrink_grid(Kernel &kernel, size_t number) {
  for (int &extent : kernel.grid)
    for (int smaller : {1, extent - 1})
      if (smaller >= 1 && smaller < extent && number-- == 0) {
        extent = smaller;
        return true;
      }
  return false;
}

bool shrink_number(Kernel &kernel, size_t number) {
  for (Parameter &parameter : kernel.parameters)
    for (int64_t smaller : {int64_t(0), int64_t(1), parameter.integer / 2, parameter.integer - 1})
      if (parameter.role == Parameter::Role::number && smaller >= 0 &&
          smaller < parameter.integer && number-- == 0) {
        parameter.integer = smaller;
        parameter.multiple_of = 0;
        return true;
      }
  return false;
}

bool simplify_parameter(Kernel &kernel, size_t number) {
  for (Parameter &parameter : kernel.parameters) {
    auto is_turn = [&] { return number-- == 0; };
    for (bool Parameter::*promise :
         {&Parameter::read_only, &Parameter::write_only, &Parameter::no_alias})
      if (parameter.*promise && is_turn()) {
        parameter.*promise = false;
        return true;
      }
    for (int Parameter::*promise : {&Parameter::multiple_of, &Parameter::aligned})
      if (parameter.*promise && is_turn()) {
        parameter.*promise = 0;
        return true;
      }
    bool is_read =
        parameter.role == Parameter::Role::input || parameter.role == Parameter::Role::both;
    for (Data data : {Data{1, 1}, Data{0, 1}, Data{0, 3}})
      if (is_read && parameter.data.high - parameter.data.low > data.high - data.low && is_turn()) {
        parameter.data = data;
        return true;
      }
  }
  if (!kernel.tf32 || number > 0)
    return false;
  kernel.tf32 = false;
  return true;
}

bool is_used(Kernel &kernel, int variable) {
  bool found = false;
  for_each_stmt(kernel, [&](Stmt &stmt) {
    found |= stmt.variable == variable;
    for (Expr &value : stmt.value)
      for_each_expr(value, [&](Expr &expr) {
        found |= expr.is(Expr::Kind::variable) && expr.integer == variable;
      });
  });
  return found;
}

// Removes first all unused parameters, then one parameter at a time.
bool remove_parameters(Kernel &kernel, size_t number) {
  auto is_unused = [&](const Parameter &parameter) { return !is_used(kernel, parameter.variable); };
  std::vector<Parameter> &all = kernel.parameters;
  if (number == 0)
    return std::erase_if(all, is_unused) > 0;
  for (size_t i = all.size(); i-- > 0;)
    if (is_unused(all[i]) && --number == 0) {
      all.erase(all.begin() + int64_t(i));
      return true;
    }
  return false;
}

// Removes a function that is never called.
bool remove_function(Kernel &kernel, size_t number) {
  for (size_t i = 0; i < kernel.functions.size(); i++) {
    bool is_called = false;
    auto for_each_call = [&](const auto &visit) {
      for_each_stmt(kernel, [&](Stmt &stmt) {
        for (Expr &value : stmt.value)
          for_each_expr(value, [&](Expr &expr) {
            if (expr.is(Expr::Kind::call))
              visit(expr);
          });
      });
    };
    for_each_call([&](Expr &call) { is_called |= call.integer == int64_t(i); });
    if (is_called || number-- > 0)
      continue;
    kernel.functions.erase(kernel.functions.begin() + int64_t(i));
    for_each_call([&](Expr &call) { call.integer -= call.integer > int64_t(i); });
    return true;
  }
  return false;
}

constexpr Edit edits[] = {
    remove_part<2>,    remove_part<4>,     remove_part<8>, remove_statement,    unwrap,
    remove_parameters, simplify_statement, shrink_grid,    simplify_expression, remove_statement,
    halve_extents,     remove_parameters,  shrink_number,  simplify_parameter,  remove_function,
};

// All parts of a kernel that edits change, as text.
std::string text_of(const Kernel &kernel) {
  std::string text = source_of(kernel);
  for (int extent : kernel.grid)
    text += " " + std::to_string(extent);
  for (const Parameter &parameter : kernel.parameters)
    for (int64_t number : {parameter.integer, parameter.data.low, parameter.data.high})
      text += " " + std::to_string(number);
  return text;
}

using Clock = std::chrono::steady_clock;

class Reducer {
public:
  Reducer(Kernel kernel, const StillFails &still_fails, int seconds)
      : kernel_(std::move(kernel)), still_fails_(still_fails),
        end_(Clock::now() + std::chrono::seconds(seconds)) {}

  Kernel run() {
    while (std::count_if(std::begin(edits), std::end(edits), [&](Edit e) { return helps(e); })) {
    }
    return std::move(kernel_);
  }

private:
  bool helps(Edit edit) {
    bool has_helped = false;
    for (size_t number = 0; Clock::now() < end_;) {
      Kernel changed = kernel_;
      if (!edit(changed, number))
        break;
      // An edit without an effect must not count as progress, or the loop would never end.
      std::string text = text_of(changed);
      if (text != text_ && is_good(changed)) {
        kernel_ = std::move(changed);
        text_ = std::move(text);
        has_helped = true;
      } else {
        number++;
      }
    }
    return has_helped;
  }

  bool is_good(Kernel &changed) const {
    if (!settle(changed))
      return false;
    Evaluation evaluation = evaluate(changed);
    return evaluation.invalid.empty() && still_fails_(changed, evaluation);
  }

  Kernel kernel_;
  std::string text_ = text_of(kernel_);
  const StillFails &still_fails_;
  Clock::time_point end_;
};

} // namespace

Kernel reduced(Kernel kernel, const StillFails &still_fails, int seconds) {
  return Reducer(std::move(kernel), still_fails, seconds).run();
}

} // namespace tritonc::random
