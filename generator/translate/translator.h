// Translates a checked kernel to tile IR.
//
// Variables become values. `values_` has the current value of each variable. After a branch or a
// loop, a variable has a result of that operation. The translator keeps nothing in memory.
//
// break, continue and return become flags: bools that are true until a jump. The statements after a
// statement that may jump go into an `if_else` on its flag:
//
//     while (c) {                     while (running && c) {
//       if (x) break;         =>        if (x) running = false;
//       rest;                           if (running) rest;
//     }                               }
//
// If one arm of an `if` always jumps and the other never does, the rest goes into the other arm and
// needs no flag. A function has only flags that are read.
//
// Functions are inlined: each call translates the function again, with new flags. The result of a
// function is stored like a flag.
//
// The conditions around an arm of `?:`, `&&` and `||` mask its loads. If the condition is a scalar
// and the arm assigns, the arm becomes a block of an `if_else`.

#pragma once

#include "ir/builder.h"
#include "language/ast.h"

#include <functional>
#include <map>
#include <set>

namespace tritonc {

ir::Function translate(const ast::Function &function, const ast::Program &program,
                       DiagnosticEngine &diagnostics);

ir::Elem elem_of(Scalar scalar);
ir::Type type_of(const Type &type);

class Translator {
public:
  Translator(const ast::Function &function, const ast::Program &program,
             DiagnosticEngine &diagnostics)
      : source_(function), program_(program), diagnostics_(diagnostics),
        next_flag_(int(program.variables.size())) {}

  ir::Function run();

private:
  using Values = std::map<int, ir::Value *>; // by index of the variable or flag
  using Fill = std::function<void()>;
  using Make = std::function<ir::Value *()>;

  void parameter(const ast::Declarator &declarator);
  void constant_memory();
  void take_back_promises();

  // Statements: translate_statement.cpp.
  struct Jumps { // jumps of a statement to outside itself
    bool breaks = false, continues = false, returns = false;
    void add(const Jumps &other);
  };
  static Jumps jumps_of(const ast::Stmt &stmt);
  static bool always_jumps(const ast::Stmt &stmt);
  static bool takes_rest(const ast::Stmt &stmt);
  static bool reads_flag(const std::vector<ast::StmtPtr> &list, bool Jumps::*kind);
  static bool reads_flag(const ast::Stmt &stmt, bool Jumps::*kind);
  static bool returns_early(const ast::Stmt &body);
  void list(const std::vector<ast::StmtPtr> &list, size_t first = 0);
  void scope(const Fill &fill);
  void statement(const ast::Stmt &stmt);
  void declaration(const ast::Stmt &stmt);
  void assertion(const ast::Stmt &stmt);
  void print(const ast::Stmt &stmt);
  void branch(const ast::Stmt &stmt, const Fill &rest);
  void choice(const ast::Stmt &stmt);
  static bool needs_flag(const ast::Stmt &choice);
  void alternatives(const ast::Stmt &choice, ir::Value *chooses);
  void known_choice(const ast::Stmt &choice, int64_t value);
  ir::Value *is_chosen(ir::Value *value, const ast::Stmt &choice, const ast::Stmt &alternative);
  void loop(const ast::Stmt &stmt);
  void repeat(const ast::Stmt &stmt, bool tests_in_body, bool has_running);
  ir::Value *test(const ast::Stmt &stmt);
  void if_running(const ast::Stmt &stmt, const Fill &fill);
  void body_and_step(const ast::Stmt &stmt);
  std::set<int> assigned_in(const ast::Stmt &stmt) const;
  void jump(const ast::Stmt &stmt);
  ir::Value *flags_for(const Jumps &jumps);

  // Blocks.
  void in_block(ir::Block *block, const Fill &fill);
  void if_else(ir::Value *condition, const Fill &yes, const Fill &no);
  ir::Value *choose(ir::Value *condition, const Make &yes, const Make &no);
  void merge(ir::Op *op, const Values &before, const Values &yes, const Values &no);
  std::string name_of(int variable) const;
  int new_flag(ir::Value *value);
  ir::Value *known(ir::Value *value, const ir::Type &type);

  // Expressions: translate_expression.cpp.
  ir::Value *value(const ast::Expr &expr);
  ir::Value *constant(const ast::Expr &expr, const Type &type);
  ir::Value *read(const ast::Expr &expr);
  bool is_unassigned_here(ir::Value *value) const;
  void warn_unassigned(const ast::Variable &variable, Location at);
  ir::Value *unary(const ast::Expr &expr);
  ir::Value *binary(const ast::Expr &expr);
  static ir::Value *wrapping(ir::Value *result);
  ir::Value *pointer_sum(const ast::Expr &expr);
  ir::Value *constant_sum(const ast::Expr &expr);
  ir::Value *logical(const ast::Expr &expr);
  ir::Value *matmul(const ast::Expr &expr, ir::Value *accumulator);
  ir::Value *dot(const ast::Expr &expr, ir::Value *a, ir::Value *b, ir::Value *accumulator);
  ir::Value *conditional(const ast::Expr &expr);
  ir::Value *assign(const ast::Expr &expr);
  ir::Value *atomic(const ast::Expr &expr);
  ir::Value *convert(const ast::Expr &expr);
  ir::Value *cast(const ast::Expr &expr);
  ir::Value *subscript(const ast::Expr &expr);
  ir::Value *reduced(const ast::Expr &expr, ir::Value *tile);
  ir::Value *call(const ast::Expr &expr);
  ir::Value *inlined(const ast::Expr &expr);
  ir::Value *convert_elements(ir::Value *value, Scalar from, Scalar to);
  ir::Value *convert_pointers(ir::Value *value, const Type &from, const Type &to);
  ir::Value *pointer_difference(const ast::Expr &expr);
  ir::Value *repeat_to(ir::Value *value, const Extents &shape);

  // Random numbers: translate_random.cpp.
  ir::Value *random(const ast::Expr &expr);

  // Operations that become several operations on tiles: translate_tiles.cpp.
  ir::Value *batched_matmul(const ast::Expr &expr, ir::Value *a, ir::Value *b,
                            ir::Value *accumulator);
  ir::Value *matrix_of(ir::Value *tile, ir::Value *chosen);
  ir::Value *in_batch(const Extents &shape, const Extents &index);
  ir::Value *indices_along(int axis, const Extents &shape);
  ir::Value *elements_at(const ast::Expr &expr, ir::Value *tile);
  void check_index(const ast::Subscript &subscript, ir::Value *indices, int64_t extent,
                   const ast::Expr &expr);
  ir::Value *index_of_best(ir::Value *tile, int axis, const std::string &how);
  ir::Value *negation(ir::Value *condition);

  // Memory.
  struct Access {
    ir::Value *pointers = nullptr, *mask = nullptr;
    std::string hint = {}; // the attribute {cache}
    const Type *type = nullptr;
  };
  Access access(const ast::Expr &deref);
  ir::Value *load(const ast::Expr &deref, ir::Value *other = nullptr);
  ir::Value *load(const Access &access, ir::Value *other);
  ir::Value *both(ir::Value *a, ir::Value *b, const Extents &shape);
  ir::Value *masked(ir::Value *mask, bool gives_zero, const ast::Expr &arm);

  void set_location(Location at);

  const ast::Function &source_;
  const ast::Program &program_;
  DiagnosticEngine &diagnostics_;
  ir::Function fn_;
  ir::Builder *build_ = nullptr; // the current place
  Values values_;
  int next_flag_;
  std::map<int, int64_t> constant_offsets_; // of the parts of constant memory, in bytes
  std::set<const ast::Variable *> warned_;  // variables with a warning
  std::map<const ir::Value *, const ir::Block *>
      unassigned_; // loop-start values of unassigned variables, and their block
  int arms_ = 0;   // number of arms of `?:`, `&&` and `||` around
  struct InArm {
    explicit InArm(int &arms) : arms(arms) { arms++; }
    ~InArm() { arms--; }
    int &arms;
  };

  // The flags that jumps clear; -1: no such flag, because nothing reads it. A `switch` counts as a
  // loop here: `break` leaves it, but `continue` applies to the loop around it.
  struct Loop {
    int running = -1, proceeding = -1;
    bool is_choice = false;
  };
  // The current function: the kernel, or an inlined function.
  struct Frame {
    std::vector<Loop> loops = {};
    int alive = -1;
    int result = -1;    // index of the result in `values_`
    Location call = {}; // in the kernel; none: this is the kernel itself
  };
  Frame frame_;

  struct Mask {
    ir::Value *value;
    bool gives_zero; // masked-off lanes read zero
  };
  std::vector<Mask> masks_;          // of the arms around
  std::vector<ir::Value *> current_; // values of `current` nodes
};

} // namespace tritonc
