// Conversions for passes that send tiles through shared memory: i1 is stored as i8, a pointer as
// i64.

#pragma once

#include "ir/builder.h"
#include "ir/ir.h"

namespace tritonc {

/// `value` in an element type that shared memory can hold.
ir::Value *as_stored(ir::Builder &builder, ir::Value *value);

/// The inverse: `value`, as loaded, converted to `type`.
ir::Value *as_loaded(ir::Builder &builder, ir::Value *value, const ir::Type &type);

} // namespace tritonc
