// Where the result of a matmul is used.

#pragma once

#include "analysis/matmul_loop.h"

namespace tritonc {

/// Whether the program uses no element of the result that a row of A (`number` 0) or a column of B
/// (1) outside of its mask contributes to: the result is computed further element by element, and
/// each store of it is off where the row or column is off. Then what is loaded there may be
/// anything.
bool is_clipped_to_operand(ir::Function &fn, const MatmulLoop &matmul, int number);

} // namespace tritonc
