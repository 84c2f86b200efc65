// Gives a kernel that divides its program id one axis of the grid per result.
//
//     grid(a * b)                              grid(a, b)
//     %p = program_id {axis = 0}         =>
//     %row = div %p, %b                        %row = program_id {axis = 0}
//     %column = rem %p, %b                     %column = program_id {axis = 1}
//
// Schedules of a matmul need the axes: which programs share a tile of A or B, and how many there
// are of each. They have an order of their own for the L2 cache. So this also undoes the order of
// Triton's tutorial, in which the programs of `size` rows come column by column:
//
//     %group = mul (div %p, G * b), G    %size = min (sub a, %group), G    %q = rem %p, G * b
//     %row = add %group, (rem %q, %size)       %column = div %q, %size
//
// The columns get axis 1. The later axes, such as that of a batch, move up by one.
//
// Method: tries these forms in a copy. The copy counts if nothing else in it needs the program id.
// In both forms, the pairs of row and column are those of the grid, each once. In the second, %row
// may also come from rem %p, %size: with each column it takes the same rows, in another order.
// Needs: a dot. Other schedules do not ask for the axes, and a grid has at most 65,535 programs along
// axes 1 and 2: the matrix of a copy may have more columns of tiles.
// Limits: so a matmul has at most 65,535 columns of tiles.
//
// Tested by tests/unit/translate/delinearize_grid_test.cpp.

#include "translate/delinearize_grid.h"

#include "analysis/launch_config.h"
#include "ir/builder.h"

#include <algorithm>

namespace tritonc {

using namespace ir;

namespace {

// `expr` with one form for cdiv(a, b), which is (a + b - 1) / b with a constant b.
Expr normal_form(Expr expr) {
  for (Expr &operand : expr.operands)
    operand = normal_form(std::move(operand));
  if (expr.kind != Expr::Kind::div || expr.operands[1].kind != Expr::Kind::constant)
    return expr;
  const Expr &sum = expr.operands[0], &divisor = expr.operands[1];
  auto is_constant = [](const Expr &e) { return e.kind == Expr::Kind::constant; };
  if (sum.kind == Expr::Kind::add && is_constant(sum.operands[1]) &&
      sum.operands[1].value == divisor.value - 1)
    return Expr::binary(Expr::Kind::ceil_div, sum.operands[0], divisor);
  if (sum.kind == Expr::Kind::sub && is_constant(sum.operands[1]) && sum.operands[1].value == 1 &&
      sum.operands[0].kind == Expr::Kind::add && is_constant(sum.operands[0].operands[1]) &&
      sum.operands[0].operands[1].value == divisor.value)
    return Expr::binary(Expr::Kind::ceil_div, sum.operands[0].operands[0], divisor);
  return expr;
}

const Value *without_casts(const Value *value) {
  while (value->op && value->op->is(Opcode::cast_))
    value = value->op->operand(0);
  return value;
}

const Op *made_by(const Value *value, Opcode code) {
  const Op *op = without_casts(value)->op;
  return op && op->is(code) ? op : nullptr;
}

std::optional<Expr> on_host(const Value *value) {
  std::optional<Expr> expr = host_expression(without_casts(value));
  return expr ? std::optional(normal_form(std::move(*expr))) : std::nullopt;
}

struct Recovery {
  Function &fn;
  Expr grid; // the size of axis 0
  Expr rows = {}, columns = {};
  bool has_sizes = false;

  bool is_id(const Value *value) const {
    const Op *op = made_by(value, Opcode::program_id_);
    return op && op->get(attr::axis_) == 0;
  }

  // Whether the grid has `number` columns, as far as is known. Sets `rows` and `columns`.
  bool have_columns(const Expr &number) {
    if (grid.kind != Expr::Kind::mul)
      return false;
    for (size_t i : {0, 1})
      if (normal_form(grid.operands[i]) == number) {
        Expr others = normal_form(grid.operands[1 - i]);
        if (has_sizes && (others != rows || number != columns))
          return false;
        rows = std::move(others);
        columns = number;
        has_sizes = true;
        return true;
      }
    return false;
  }

  // The operand of `op` (div or rem) that divides the program id.
  const Value *divisor_of_id(const Op *op) const {
    return op && is_id(op->operand(0)) ? op->operand(1) : nullptr;
  }

  // The number of columns, if `divisor` is constant * columns; the constant goes to `constant`.
  std::optional<Expr> columns_of_group(const Value *divisor, int64_t &constant) const {
    const Op *mul = made_by(divisor, Opcode::mul_);
    for (size_t i : {0, 1})
      if (std::optional<int64_t> factor =
              mul ? constant_of(without_casts(mul->operand(i))) : std::nullopt) {
        constant = *factor;
        return on_host(mul->operand(1 - i));
      }
    return std::nullopt;
  }

  // Whether `first` is id / (group * columns) * group. Sets `group`.
  bool is_first_row(const Value *first, int64_t &group) {
    const Op *mul = made_by(first, Opcode::mul_);
    for (size_t i : {0, 1}) {
      const Value *divisor = mul ? divisor_of_id(made_by(mul->operand(i), Opcode::div_)) : nullptr;
      std::optional<int64_t> factor =
          divisor ? constant_of(without_casts(mul->operand(1 - i))) : std::nullopt;
      std::optional<Expr> number = divisor ? columns_of_group(divisor, group) : std::nullopt;
      if (factor && number && *factor == group && group > 0 && have_columns(*number))
        return true;
    }
    return false;
  }

  // Whether `size` is min(rows - first row, group). Sets `group`.
  bool is_group_size(const Value *size, int64_t &group) {
    const Op *min = made_by(size, Opcode::min_);
    for (size_t i : {0, 1}) {
      const Op *left = min ? made_by(min->operand(i), Opcode::sub_) : nullptr;
      std::optional<int64_t> most =
          left ? constant_of(without_casts(min->operand(1 - i))) : std::nullopt;
      std::optional<Expr> number = left ? on_host(left->operand(0)) : std::nullopt;
      if (most && number && is_first_row(left->operand(1), group) && *most == group &&
          *number == rows)
        return true;
    }
    return false;
  }

  // Whether `value` is the number of the program in its group.
  bool is_in_group(const Value *value, int64_t group) {
    const Value *divisor = divisor_of_id(made_by(value, Opcode::rem_));
    int64_t factor = 0;
    std::optional<Expr> number = divisor ? columns_of_group(divisor, factor) : std::nullopt;
    return number && factor == group && *number == columns;
  }

  bool is_row(const Op &op) {
    if (op.is(Opcode::div_) && divisor_of_id(&op)) {
      std::optional<Expr> number = on_host(op.operand(1));
      return number && have_columns(*number);
    }
    if (!op.is(Opcode::add_))
      return false;
    for (size_t i : {0, 1}) {
      const Op *rem = made_by(op.operand(1 - i), Opcode::rem_);
      int64_t first = 0, group = 0;
      if (rem && is_group_size(rem->operand(1), group) && is_first_row(op.operand(i), first) &&
          (is_id(rem->operand(0)) || is_in_group(rem->operand(0), group)))
        return true;
    }
    return false;
  }

  bool is_column(const Op &op) {
    if (op.is(Opcode::rem_) && divisor_of_id(&op)) {
      std::optional<Expr> number = on_host(op.operand(1));
      return number && have_columns(*number);
    }
    int64_t group = 0;
    return op.is(Opcode::div_) && is_group_size(op.operand(1), group) &&
           is_in_group(op.operand(0), group);
  }

  void replace(Op &op, int64_t by_axis) {
    Builder builder = Builder::before(fn, &op);
    builder.set_location(op.location);
    Value *id = builder.program_id(int(by_axis));
    if (op.result()->type != id->type)
      id = builder.cast(id, op.result()->type.elem);
    id->name = op.result()->name;
    replace_uses(*fn.body, op.result(), id);
    erase(&op);
  }

  // Whether something with an effect still depends on the old program id.
  bool uses_id(const std::vector<const Op *> &ids) const {
    std::set<const Op *> needed;
    for_each_op(*fn.body, [&](const Op &op) {
      if (info(op.code).effect != Effect::pure)
        add_with_operands(&op, needed);
    });
    return std::any_of(ids.begin(), ids.end(), [&](const Op *id) { return needed.count(id); });
  }

  bool run() {
    std::vector<const Op *> ids;
    std::vector<std::pair<Op *, int64_t>> found;
    for_each_op(*fn.body, [&](Op &op) {
      if (op.is(Opcode::program_id_) && op.get(attr::axis_) == 0)
        ids.push_back(&op);
      else if (op.is(Opcode::program_id_))
        op.set(attr::axis_, op.get(attr::axis_) + 1);
      if (is_row(op))
        found.push_back({&op, 0});
      else if (is_column(op))
        found.push_back({&op, 1});
    });
    for (auto [op, by_axis] : found)
      replace(*op, by_axis);
    return !found.empty() && !uses_id(ids);
  }
};

bool contains(const Function &fn, Opcode code) {
  bool found = false;
  for_each_op(*fn.body, [&](const Op &op) { found |= op.is(code); });
  return found;
}

} // namespace

void delinearize_grid(Function &fn) {
  const size_t axes = fn.plan.grid.size();
  if (axes == 0 || axes == 3 || !contains(fn, Opcode::dot_) || contains(fn, Opcode::num_programs_))
    return;
  Function changed = clone(fn);
  Recovery recovery{changed, fn.plan.grid[0]};
  if (!recovery.run())
    return;
  changed.plan.grid[0] = recovery.rows;
  changed.plan.grid.insert(changed.plan.grid.begin() + 1, recovery.columns);
  fn = std::move(changed);
}

} // namespace tritonc
