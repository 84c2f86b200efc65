// Translates kernels, parameters and blocks. See translator.h.
//
// Tested by tests/unit/translate/translate_test.cpp.

#include "translate/translator.h"

#include "analysis/parameter_accesses.h"
#include "translate/launch_plan.h"

#include <algorithm>

namespace tritonc {

ir::Elem elem_of(Scalar scalar) {
  switch (scalar) {
  case Scalar::bool_:
    return ir::Elem::i1;
  case Scalar::int8:
  case Scalar::uint8:
    return ir::Elem::i8;
  case Scalar::int16:
  case Scalar::uint16:
    return ir::Elem::i16;
  case Scalar::int64:
  case Scalar::uint64:
    return ir::Elem::i64;
  case Scalar::e4m3:
    return ir::Elem::e4m3;
  case Scalar::e5m2:
    return ir::Elem::e5m2;
  case Scalar::half:
    return ir::Elem::f16;
  case Scalar::bfloat16:
    return ir::Elem::bf16;
  case Scalar::float_:
    return ir::Elem::f32;
  case Scalar::double_:
    return ir::Elem::f64;
  default:
    return ir::Elem::i32;
  }
}

ir::Type type_of(const Type &type) {
  ir::Elem elem = elem_of(type.scalar);
  // A pointer to constant memory is an offset in bytes.
  if (type.to_constant)
    return ir::Type::tile(ir::Elem::i32, type.shape);
  return type.is_pointer() ? ir::Type::pointer(elem, type.shape) : ir::Type::tile(elem, type.shape);
}

ir::Function translate(const ast::Function &function, const ast::Program &program,
                       DiagnosticEngine &diagnostics) {
  return Translator(function, program, diagnostics).run();
}

ir::Function Translator::run() {
  fn_.name = source_.name;
  LineColumn at = diagnostics_.line_column(source_.at);
  fn_.location = {at.line, at.column};
  fn_.file = diagnostics_.file_of(source_.at);
  fn_.plan = launch_plan(source_);
  for (const ast::Declarator &declarator : source_.parameters)
    parameter(declarator);
  constant_memory();
  ir::Builder builder(fn_, fn_.body);
  build_ = &builder;
  if (reads_flag(source_.body->body, &Jumps::returns))
    frame_.alive = new_flag(builder.constant(ir::Type::scalar(ir::Elem::i1), 1));
  list(source_.body->body);
  builder.return_op();
  take_back_promises();
  return std::move(fn_);
}

void Translator::parameter(const ast::Declarator &declarator) {
  const Type &type = declarator.variable->type;
  values_[declarator.variable->index] = fn_.add_parameter(declarator.name, type_of(type));
  ir::Parameter &made = fn_.parameters.back();
  made.is_signed = !is_unsigned(type.scalar);
  LineColumn at = diagnostics_.line_column(declarator.at);
  made.location = {at.line, at.column};
  made.read_only = declarator.read_only;
  made.write_only = declarator.write_only;
  made.no_alias = declarator.no_alias;
  made.multiple_of = declarator.multiple_of_value;
  if (declarator.aligned_value > 0)
    made.aligned_bytes = declarator.aligned_value;
}

// Clears assumptions that the kernel breaks, such as a store through a read_only pointer. Old
// kernels have such stores, because the old compiler accepted them; LLVM would drop the store.
void Translator::take_back_promises() {
  if (std::none_of(fn_.parameters.begin(), fn_.parameters.end(),
                   [](const ir::Parameter &p) { return p.read_only || p.write_only; }))
    return;
  std::vector<ParameterAccess> accesses = parameter_accesses(fn_);
  for (size_t i = 0; i < accesses.size(); i++) {
    ir::Parameter &parameter = fn_.parameters[i];
    bool is_stored = parameter.read_only && accesses[i].stores;
    bool is_loaded = parameter.write_only && accesses[i].loads;
    if (!is_stored && !is_loaded)
      continue;
    const ast::Declarator &declarator = source_.parameters[i];
    diagnostics_.report(is_stored ? Message::stores_read_only : Message::loads_write_only,
                        declarator.at, {declarator.name});
    diagnostics_.report(Message::remove_attribute, declarator.at);
    parameter.read_only &= !is_stored;
    parameter.write_only &= !is_loaded;
  }
}

// Places the parts that the kernel uses, each at a multiple of 16 bytes, the maximum alignment of
// an access.
void Translator::constant_memory() {
  int64_t end = 0;
  for (int part : source_.constant_memory) {
    const ast::ConstantMemory &from = program_.constant_memory[size_t(part)];
    ir::ConstantMemory made;
    made.name = from.variable->name;
    made.elem = elem_of(from.scalar);
    made.is_signed = !is_unsigned(from.scalar);
    made.count = from.count;
    made.offset = (end + 15) / 16 * 16;
    made.values = from.integers;
    made.floats = from.reals;
    end = made.offset + made.bytes();
    constant_offsets_[part] = made.offset;
    fn_.constant_memory.push_back(std::move(made));
  }
}

// Code inlined from another file gets the location of the call, because locations have no file.
void Translator::set_location(Location at) {
  if (frame_.call && diagnostics_.file_of(at) != fn_.file)
    at = frame_.call;
  LineColumn place = diagnostics_.line_column(at);
  build_->set_location({place.line, place.column});
}

// --- Blocks. -------------------------------------------------------------------------------------

void Translator::in_block(ir::Block *block, const Fill &fill) {
  ir::Builder *outer = build_;
  ir::Builder inner(fn_, block);
  build_ = &inner;
  fill();
  build_ = outer;
}

void Translator::if_else(ir::Value *condition, const Fill &yes, const Fill &no) {
  ir::Op *op = build_->if_else(condition, {});
  Values before = values_;
  in_block(op->blocks[0], yes);
  Values after_yes = std::move(values_);
  values_ = before;
  in_block(op->blocks[1], no);
  Values after_no = std::move(values_);
  merge(op, before, after_yes, after_no);
}

// The value of one of two blocks.
ir::Value *Translator::choose(ir::Value *condition, const Make &yes, const Make &no) {
  int result = new_flag(nullptr);
  if_else(condition, [&] { values_[result] = yes(); }, [&] { values_[result] = no(); });
  ir::Value *chosen = values_.at(result);
  values_.erase(result);
  return chosen;
}

// Variables that differ after the two blocks become results. Variables declared in a block are
// dropped.
void Translator::merge(ir::Op *op, const Values &before, const Values &yes, const Values &no) {
  values_ = before;
  std::vector<ir::Value *> yields[2];
  for (auto &[variable, value] : values_) {
    ir::Value *a = yes.at(variable), *b = no.at(variable);
    if (a == b) {
      value = a;
      continue;
    }
    ir::Type type = a ? a->type : b->type;
    in_block(op->blocks[0], [&] { yields[0].push_back(known(a, type)); });
    in_block(op->blocks[1], [&] { yields[1].push_back(known(b, type)); });
    ir::Value *result = fn_.new_value(type, name_of(variable));
    result->op = op;
    result->index = int(op->results.size());
    op->results.push_back(result);
    value = result;
  }
  for (int i = 0; i < 2; i++)
    in_block(op->blocks[i], [&] { build_->yield(yields[i]); });
}

// The name of a variable; "" for a flag.
std::string Translator::name_of(int variable) const {
  return size_t(variable) < program_.variables.size() ? program_.variables[variable].name : "";
}

int Translator::new_flag(ir::Value *value) {
  values_[next_flag_] = value;
  return next_flag_++;
}

// The value, or zero for an unassigned variable.
ir::Value *Translator::known(ir::Value *value, const ir::Type &type) {
  if (value)
    return value;
  if (!type.is_pointer())
    return build_->filled(type, 0);
  // No access uses this pointer. A use before the first assignment is an error
  // (pointer_unassigned), except in loops, where an earlier iteration may assign.
  ir::Type pointer = type.with_shape({});
  ir::Value *zero = build_->constant(ir::Type::scalar(ir::Elem::i64), 0);
  return repeat_to(build_->create(ir::Opcode::bitcast_, {zero}, {pointer})->result(), type.shape);
}

} // namespace tritonc
