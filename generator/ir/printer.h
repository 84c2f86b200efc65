// Prints tile IR as text, for tests, for users and for --print-after.
//
//     layout #0 [64,64] reg (0,1) (8,0) lane (0,2) (0,4) (1,0) (2,0) (4,0) warp (16,0)
//     func @scale(%x: ptr<f32> aligned 16, %n: i32 multiple_of 8) warps 2 {
//       %p = program_id {axis = 0} : i32
//       %sum = for_loop %n, %zero : f32[64,64] #0 {
//         (%t: i32, %acc: f32[64,64] #0)
//         ...
//         yield %next
//       }
//       return
//     }
//
// Constant memory follows the parameters, with its initial values: `constants (t: f32[64] at 0 =
// [0.5, 1.0], n: i32[1] unsigned at 256)`.
//
// One operation per line: results, name, operands, attributes, result types, blocks. Values keep
// their source names, made unique; all other values have numbers. In string literals, `\"`, `\\`
// and `\x0a` each stand for one character.

#pragma once

#include "ir/ir.h"

namespace tritonc::ir {

std::string print(const Function &fn);

/// Prints one operation on one line (blocks as `{...}`), for messages.
std::string print(const Op &op);

} // namespace tritonc::ir
