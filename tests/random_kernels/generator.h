// The state of the generator for one kernel. Private to the generator; one file per kind of
// construct.
//
// It generates statements top-down, and expressions top-down from their types. It tracks the range
// of every variable and expression (ranges.h). A variable's range never changes: assigned values
// are fitted to it.

#pragma once

#include "random_kernels/draw.h"
#include "random_kernels/policy.h"
#include "random_kernels/ranges.h"

#include <deque>
#include <functional>

namespace tritonc::random {

/// An expression and its range.
struct Made {
  Expr expr;
  Range range;
};

class Generator {
public:
  explicit Generator(uint64_t seed);
  Kernel run();
  const Policy &policy() const { return policy_; }

private:
  struct Known {
    Range range;           // of the elements, or of the elements that pointers point to
    bool is_fixed = false; // never assigned
    bool is_index = false; // an index for addresses; rarely used in arithmetic
    int loops = 0;         // number of loops around its declaration
    double room = 0;       // max sum that all iterations may still add
    bool may_read = false; // a pointer that may be loaded from
    int64_t key = 0;       // of an index: its identity
  };
  // An enclosing loop: its number of iterations, and its counter if the counter differs in every
  // iteration.
  struct Loop {
    double iterations;
    std::optional<Made> counter;
  };
  // A function: the ranges of its parameters and of its result.
  struct Callable {
    std::vector<Range> parameters;
    Range result;
  };
  // The addresses of a tile, and the indices of its elements for masks.
  struct Access {
    Expr pointers;
    std::vector<Made> coordinates;
  };

  // generate.cpp: variables and shapes
  int declare_new(const char *stem, Type type, Known known);
  int new_parameter(const char *stem, Type type, Parameter parameter, Known known);
  /// For features of only some policies: draws no random number if the percentage is 0.
  bool sometimes(int percentage) { return percentage > 0 && draw_.chance(percentage); }
  void emit(Stmt stmt) { lists_.back()->push_back(std::move(stmt)); }
  /// The statements that `fill` generates.
  std::vector<Stmt> collect(const std::function<void()> &fill);
  std::vector<int> visible(const std::function<bool(const Variable &, const Known &)> &wanted);
  Known &known(int variable) { return known_[size_t(variable)]; }
  const Type &type(int variable) const { return kernel_.type_of(variable); }
  int declare_value(const char *stem, Type type, Made value);
  Shape draw_shape();
  Scalar draw_scalar() { return draw_.pick(policy_.scalars); }
  double iterations() const;
  bool afford(int64_t elements);
  void store_results();

  // generate_numbers.cpp: expressions
  Made number(Scalar scalar, const Shape &shape, int depth);
  /// An expression of any type that converts to `to`, within its range.
  Made convertible(const Type &to, int depth);
  std::optional<Made> try_number(Scalar scalar, const Shape &shape, int depth);
  Made leaf(Scalar scalar, const Shape &shape);
  Made literal_of(Scalar scalar);
  std::optional<Made> read_variable(Scalar scalar, const Shape &shape);
  std::optional<Made> truth(const Shape &shape, int depth);
  std::optional<Made> arithmetic(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> one_operand(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> quotient(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> guarded_quotient(Op op, Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> choice(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> moved(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> reduced(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> casted(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> rounded_function(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> dot_of(const Shape &shape, int depth);
  std::optional<Made> other_dot(Scalar scalar, const Shape &shape, int depth);
  Made factor(Scalar scalar, const Shape &shape, double max_value, int depth);
  bool has_tile_arm() const;
  Shape operand_shape(const Shape &shape);
  Scalar operand_scalar(Scalar scalar);

  // generate_elements.cpp: expressions along an axis, math functions, random numbers
  std::optional<Made> at_positions(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> gathered(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> single_element(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> along_axis(Scalar scalar, const Shape &shape, Position how, int depth);
  std::optional<Made> function_of_numbers(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> random_number(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> random_truth(const Shape &shape, int depth);
  Made position(const Shape &shape, int64_t extent, int depth);
  Made any_integer(const Shape &shape, int depth);

  // generate_functions.cpp
  std::optional<Made> called(Scalar scalar, const Shape &shape, int depth);
  int new_function(const Type &result);
  void statement_of_function(int nesting);
  void return_statement();
  void check_statement();

  // generate_atomics.cpp
  void atomic_statement();
  void atomic_in_any_order();
  void atomic_exchange();

  // The same with ranges.
  Made of(int variable) { return {random::variable(kernel_, variable), known(variable).range}; }
  Made number_literal(Scalar scalar, double value);
  std::optional<Made> join(Op op, Made a, Made b);
  Made clamped(Made value, double low, double high);
  Made converted(Scalar scalar, Made value); // by a cast, if needed
  Made fitted(Scalar scalar, Made value, const Range &range);
  Made repeated(Made value, const Shape &shape);

  // generate_memory.cpp: loads and stores
  std::optional<Made> load_number(Scalar scalar, const Shape &shape, int depth);
  std::optional<Made> try_load(Scalar scalar, const Shape &shape, int depth);
  Made loaded_through(Access access, Range range, const Shape &shape, int depth);
  int input_of(Scalar scalar);
  Data draw_data(Scalar scalar);
  Made bound_parameter(int64_t value, const char *stem);
  std::optional<Made> load_constant(Scalar scalar, const Shape &shape, int depth);
  Hint load_hint();
  Hint store_hint();
  std::optional<Access> formula(Expr base, const Shape &shape, bool is_output);
  std::optional<Access> gather(Expr base, const Shape &shape, int depth);
  Made coordinate(int64_t extent, int program_axis, bool is_output);
  Made placed(Made coordinate, size_t axis, size_t rank);
  Made scaled(Made index, int64_t stride);
  Made mask_for(const Access &access, const Shape &shape, int depth);
  void store_value(Made value, const Type &type);
  void store_masked();
  void store_in_place();
  void declare_pointer();

  // generate_statements.cpp
  void statements(int count, int nesting);
  void statement(int nesting);
  void declaration();
  void late_declaration(int nesting);
  void assignment();
  void accumulation();
  void branch_statement(int nesting);
  void counted_loop(int nesting);
  void other_loop(int nesting);
  void loop_body(int nesting, Loop loop, std::vector<Stmt> &body);
  void jump_statement();
  void walk_pointers();
  Made condition(int depth);

  // generate_matmul.cpp: dots in loops, in the styles of kernel authors
  struct Matmul;
  struct MatmulOperand;
  void matmul_loop();
  bool choose_matmul(Matmul &p);
  void add_operand(Matmul &p, MatmulOperand &f, bool is_a, int64_t extent);
  void declare_accumulators(Matmul &p);
  Expr load_operand(const MatmulOperand &f, const Expr *extra_mask, const Expr &pointers);
  int declare_tile(const Matmul &p, const MatmulOperand &f);
  Expr use_of(const Matmul &p, const MatmulOperand &f, Expr tile);
  void start_matmul(Matmul &p);
  void advance_pointers(Matmul &p);
  std::vector<Expr> load_operands(Matmul &p);
  void prefetch_operands(Matmul &p);
  void accumulate(const Matmul &p, const std::vector<Expr> &uses);
  void matmul_body(Matmul &p);
  void emit_matmul_loop(Matmul &p);
  void finish_matmul(const Matmul &p);

  // generate_rows.cpp: reductions of rows, and loops that use them, as in softmax
  struct Row;
  struct RowSearch;
  struct RowExponentials;
  struct RowTotal;
  struct RowView;
  void row_kernel();
  void choose_row(Row &row, bool has_one_loop);
  void number_rows(Row &row);
  void number_places(Row &row);
  void describe_rows(Row &row);
  Made index_of_row(Made index, Scalar scalar);
  Made in_tile(const Row &row, Made value);
  Made loaded_for_rows(const Row &row, int input);
  int matrix_of_rows(Scalar scalar, Parameter::Role role);
  RowView view_of_rows(const Row &row, int base, int64_t length);
  RowView view_of_rows_again(const Row &row);
  Expr pointers_in_row(Row &row, RowView &view);
  int new_carried(const char *stem, Type type);
  void load_element(Row &row);
  std::optional<Made> inside_row(const Row &row, bool is_counted_down);
  void walk_row(Row &row, const std::function<void()> &fill);
  Made operand_for_row(Row &row, Scalar scalar);
  Made changed_element(Row &row, Made value);
  void choose_total(Row &row, RowTotal &total);
  bool fits_sum(Made &value, double count);
  Made start_of_total(const Row &row, RowTotal &total, const Range &values);
  void add_to_total(Row &row);
  void emit_total(const Row &row, const RowTotal &total, Expr value);
  void add_search(Row &row);
  void add_exponentials(Row &row);
  Made along_rows(const Row &row, Made value, Position how);
  void finish_total(Row &row, const RowTotal &total);
  void finish_search(Row &row, const RowSearch &search);
  void finish_exponentials(Row &row, const RowExponentials &found);
  void derive_result(Row &row);
  void load_label(Row &row);
  void store_result_of_row(Row &row, const Made &value);
  void reduce_row(Row &row);
  void rewrite_row(Row &row, bool is_in_place);
  void change_tile(Row &row);

  Draw draw_;
  Policy policy_;
  Kernel kernel_;
  std::deque<Known> known_;
  std::vector<int> visible_;
  std::vector<std::vector<Stmt> *> lists_;
  std::vector<Loop> loops_;
  std::vector<Shape> shapes_;       // the usual tile shapes
  double work_ = 0;                 // elements computed so far
  std::optional<int> partial_mask_; // loads may have undefined elements where this mask is off
  std::vector<Shape> arms_;         // shapes of enclosing conditions, which loads must have
  int nested_loads_ = 0;            // depth of loads for the address or mask of a load
  std::vector<Callable> callables_; // one per function of the kernel
  Callable *in_bounds_ = nullptr;   // the function being generated: has no loads or stores
  Type returns_;                    // its result
  double calls_ = 1;                // its number of calls at the point of generation
};

} // namespace tritonc::random
