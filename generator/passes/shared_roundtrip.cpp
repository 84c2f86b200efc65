// Element types of tiles in shared memory. See shared_roundtrip.h.

#include "passes/shared_roundtrip.h"

namespace tritonc {

using namespace ir;

Value *as_stored(Builder &builder, Value *value) {
  if (value->type.is_pointer()) {
    Type type = Type::tile(Elem::i64, value->type.shape).with_layout(value->type.layout);
    return builder.create(Opcode::bitcast_, {value}, {type})->result();
  }
  return value->type.elem == Elem::i1 ? builder.cast(value, Elem::i8, true) : value;
}

Value *as_loaded(Builder &builder, Value *value, const Type &type) {
  if (type.is_pointer())
    return builder.create(Opcode::bitcast_, {value}, {type})->result();
  return type.elem == Elem::i1 ? builder.cast(value, Elem::i1, true) : value;
}

} // namespace tritonc
