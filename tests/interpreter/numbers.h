// Numbers of every element type: rounding, wrapping, and the bits they have in memory.
//
// A floating-point number is kept as a double that its type can hold. The operations compute in
// double and round the result once more to the type. For + - * / and square roots that gives the
// correctly rounded result, because a double has more than twice the digits of the smaller types
// (53 >= 2 * 24 + 2).

#pragma once

#include "interpreter/memory.h"

namespace tritonc::interpreter {

/// `value` rounded to nearest, ties to even, for the types smaller than f32. Half and bfloat16
/// overflow to infinity; the 8-bit types stop at their largest number, as conversions on GPUs do.
double rounded_to_small(ir::Elem elem, long double value);

/// `value` rounded to nearest, ties to even.
inline double rounded(ir::Elem elem, double value) {
  if (elem == ir::Elem::f32)
    return float(value);
  return elem == ir::Elem::f64 ? value : rounded_to_small(elem, value);
}

/// An integer as a floating-point number, rounded once.
double rounded_integer(ir::Elem elem, int64_t value, bool is_unsigned);

/// `value` rounded to tf32 as tensor cores want it: 11 significant bits, ties away from zero.
double rounded_to_tf32(double value);

/// The same as TMA does it: ties to even.
double copied_to_tf32(double value);

/// The lowest bits of `value`, sign-extended; i1 is 0 or 1.
int64_t wrapped(ir::Elem elem, int64_t value);

/// The same bits read as an unsigned integer.
uint64_t as_unsigned(ir::Elem elem, int64_t value);

/// The bits of a number in memory, and back.
uint64_t bits_of(ir::Elem elem, const Element &element);
Element from_bits(ir::Elem elem, uint64_t bits);

/// "3", "-0.5", "poison".
std::string text_of(ir::Elem elem, const Element &element);

} // namespace tritonc::interpreter
