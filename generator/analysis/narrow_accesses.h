// Finds loads and stores that would move more elements at a time if parameters were multiples.

#pragma once

#include "ir/ir.h"

namespace tritonc {

/// The axis that is contiguous if all integer parameters of `access` are multiples, and the number
/// of elements that the widest access of 16 bytes moves along it; nullopt and 1 if there is no such
/// axis. Changes `kernel` temporarily and restores it.
struct WidestAccess {
  std::optional<int> axis;
  int64_t elements = 1;
};
WidestAccess widest_access(const ir::Op &access, ir::Function &kernel);

/// What may be assumed about the parameters of an access: multiples of the integers in its address;
/// or also of those in its mask's limits, and the alignment of its pointer.
enum class Assumable { address, all };

/// The parameters that must be multiples of `elements`, or a pointer to memory aligned to 16 bytes,
/// so that a load or store moves `elements` elements at a time. Empty: it already does, or the
/// assumptions do not suffice. Changes `kernel` temporarily and restores it.
std::vector<const ir::Parameter *> parameters_that_widen(const ir::Op &access, int64_t elements,
                                                         Assumable assumable, ir::Function &kernel);

/// A parameter, and the number that should divide it; for a pointer, its alignment in bytes.
struct Divisor {
  std::string parameter;
  int64_t number;
};

/// The divisors under which the loads and stores are as wide as possible. Leaves out accesses of
/// less than a sixteenth of the bytes that the kernel moves, because a launch with other arguments
/// would lose all wide accesses. Empty if the accesses that become wider move less than a quarter
/// of the bytes. An access in a loop is estimated to happen 16 times.
///
/// Operands of dots that TMA can copy do not count as bytes: TMA copies masked tiles, too. If other accesses
/// become wider, the divisors of these loads are added, because schedules without TMA then copy
/// whole vectors asynchronously. A matmul has many images, so there a pointer that the source
/// declares as unaligned stays so.
///
/// Requires the canonical form (passes/pipeline.h), in which carried values that are a formula of
/// the counter are that formula. Changes `kernel` temporarily and restores it.
std::vector<Divisor> widening_divisors(ir::Function &kernel);

} // namespace tritonc
