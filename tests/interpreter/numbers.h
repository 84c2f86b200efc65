// Values of every element type: rounding, wrapping, and their bits in memory.
//
// A floating-point value is stored as a double that is exact in its type. Operations compute in
// double and round the result to the type. For + - * / and square root, that is the correctly
// rounded result, because a double has more than twice the bits of the smaller types
// (53 >= 2 * 24 + 2).

#pragma once

#include "interpreter/memory.h"

namespace tritonc::interpreter {

/// `value` rounded to nearest, ties to even, for the types smaller than f32. f16 and bf16 overflow
/// to infinity; the 8-bit types saturate, as the GPU's conversions do.
double rounded_to_small(ir::Elem elem, long double value);

/// `value` rounded to nearest, ties to even.
inline double rounded(ir::Elem elem, double value) {
  if (elem == ir::Elem::f32)
    return float(value);
  return elem == ir::Elem::f64 ? value : rounded_to_small(elem, value);
}

/// An integer as a floating-point value, rounded once.
double rounded_integer(ir::Elem elem, int64_t value, bool is_unsigned);

/// `value` rounded to tf32 for tensor cores: 11 significant bits, ties away from zero.
double rounded_to_tf32(double value);

/// `value` rounded to tf32 as by TMA: ties to even.
double copied_to_tf32(double value);

/// The lowest bits of `value`, sign-extended; i1 is 0 or 1.
int64_t wrapped(ir::Elem elem, int64_t value);

/// The same bits read as an unsigned integer.
uint64_t as_unsigned(ir::Elem elem, int64_t value);

/// Convert a value to its bits in memory, and back.
uint64_t bits_of(ir::Elem elem, const Element &element);
Element from_bits(ir::Elem elem, uint64_t bits);

/// "3", "-0.5", "poison".
std::string text_of(ir::Elem elem, const Element &element);

} // namespace tritonc::interpreter
