// Arithmetic on single elements: what the operations of ops.def mean for one element of each
// operand.
//
// Poison in, poison out, except where the other operand alone decides (`and` with 0, `or` with all
// bits). An operation without a result gives poison: a quotient by zero, a shift by the width or
// more, a floating-point number that no integer of the type comes near.

#pragma once

#include "interpreter/memory.h"
#include "ir/ir.h"

namespace tritonc::interpreter {

/// add to ushr of ops.def, and pow.
Element binary(ir::Opcode code, ir::Elem elem, const Element &a, const Element &b);

/// neg to trunc.
Element unary(ir::Opcode code, ir::Elem elem, const Element &a);

/// fma.
Element fma(ir::Elem elem, const Element &a, const Element &b, const Element &c);

/// cmp. Pointers are compared by their addresses.
Element compare(std::string_view pred, const ir::Type &type, const Element &a, const Element &b);

/// cast.
Element convert(ir::Elem from, ir::Elem to, bool is_unsigned, const Element &a);

/// bitcast: the element types are the same size; a pointer has 64 bits.
Element reinterpret(const ir::Type &from, const ir::Type &to, const Element &a);

} // namespace tritonc::interpreter
