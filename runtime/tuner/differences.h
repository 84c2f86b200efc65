// Compares the results of a kernel's variants with each other, element by element.
//
// The tuner does not know what a kernel computes, so it has no reference and does not know the
// lengths of sums. Right results of two variants may differ, because variants add in different
// orders, contract to fma, or use other instructions. The error bound must allow these differences
// for every kernel, but must not allow one wrong element.
//
// **The bound of an element.** A computed sum of n terms is the exact sum of terms that are changed
// by at most n u, with the accumulator's unit roundoff u (Higham, "Accuracy and Stability of
// Numerical Algorithms", second edition, sections 3.1 and 4.2). So rounding errors have the effect
// of small changes of the inputs. The tuner changes all inputs a little, launches the variant
// again, and measures how far each element moves:
//
//     bound = max distance over 17 changes of the inputs + rounding error of the element's type
//
// - 16 changes are random. They have the effect of rounding errors with random signs: softmax,
//   norms and sums that cancel get the bound that their condition requires.
// - One change makes all values larger. In a long sum of terms with equal signs, random changes
//   cancel, but truncation in tensor cores does not.
// - The changes are up to 2^-7 of a value, with f64 alone 2^-21. In sums of float (u = 2^-24), n u
//   is 2^-8 for n = 2^16. Errors with random signs grow only with sqrt(n), so the changes cover
//   longer sums, too. They also cover operands that only some variants round to tf32, and some
//   atomic additions to half. For the same with bfloat16, the changes are 2^-5.
// - 8-bit floats change to adjacent values. The bound is a part of the distance (Element::weight),
//   which covers their 14-bit accumulators.
// - An element of an integer type has no bound: it must be equal. So must every element, up to the
//   rounding error of its type, whose value does not depend on inputs of floating-point type.
//
// A matmul whose elements have the typical size s (the square root of the sum of squared terms)
// gets bounds of about 1 % of s for half and f32, 5 % for bf16, 6 % for 8-bit floats, and 6e-7 s
// for f64.
//
// **Races.** A variant with a race has other results in each launch, so its bounds are too large.
// Therefore the bounds are the smaller ones of two variants that agree.
//
// **Why not inputs with exact sums**, and equal results? No inputs make division and exp exact. And
// with few different values, many wrong elements are right by chance.
//
// **Limits.** A kernel that compares a rounded sum with a threshold may have elements that jump.
// An element next to a jump can be reported although both variants are right. The same holds for
// integers that a kernel rounds from inexact values, and for sums of more than about 20 terms that
// are rounded to half or bfloat16 after every addition.
#pragma once

#include "values.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tritonc::v1::tuner {

/// The memory of one pointer.
struct Buffer {
  const Element *element;
  std::size_t count; // elements
  bool is_written;   // else the kernel only reads it
};

/// The contents of all memory after a launch: one entry per pointer, empty for memory that the
/// kernel only reads.
using Results = std::vector<std::vector<char>>;

/// Launches a variant on the inputs with this number (see make_inputs).
using Launch = std::function<Results(std::size_t variant, int inputs)>;

/// Number of changes of the inputs.
constexpr int changes = 17;

/// The relative change of the inputs of a kernel with this memory.
double change_of(const std::vector<Buffer> &buffers);

/// Writes random values that depend only on the seed. `number` 0: the inputs to compare; 1 to
/// `changes`: the same, changed by up to `change` times the value. Integers do not change.
void make_inputs(const Buffer &buffer, void *to, std::uint64_t seed, int number, double change);

/// Returns the distance of each variant's results from the results of the largest group of
/// variants that agree: the max over all elements, as a multiple of the element's bound. It is 0
/// for the variants of that group, and greater than 1 for the others. Launches no changed inputs if
/// all results have equal bits.
std::vector<double> differences(std::size_t variants, const std::vector<Buffer> &buffers,
                                const Launch &launch);

} // namespace tritonc::v1::tuner
