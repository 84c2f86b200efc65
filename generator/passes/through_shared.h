// What passes share that bring tiles of any type through shared memory: i1 travels as i8, a pointer
// as i64.

#pragma once

#include "ir/builder.h"

namespace tritonc {

/// `value` as numbers that shared memory can hold.
ir::Value *as_stored(ir::Builder &builder, ir::Value *value);

/// The other way round: `value` as `type`.
ir::Value *as_loaded(ir::Builder &builder, ir::Value *value, const ir::Type &type);

} // namespace tritonc
