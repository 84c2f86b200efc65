// Arithmetic on single elements: the semantics of ops.def for one element of each operand.
//
// A poison operand gives poison, unless the other operand alone determines the result (`and` with
// 0, `or` with all ones). An undefined result is poison: a division by zero, a shift by the width
// or more, a floating-point value outside the range of the integer type.

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
