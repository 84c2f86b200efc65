// The kernels that the oracle test runs: which files, in which variants, on which data.
//
// Every kernel has its own line here that says what its arguments are, and what they must give. The
// buffers are exactly as large as the kernel's contract says: rows further apart than they are long
// leave elements between them that have no value, and the output has none at all before the run.

#pragma once

#include "interpreter/interpreter.h"
#include "language/front_end.h"

#include <functional>
#include <random>
#include <set>

namespace tritonc::test {

/// The macros of one variant, and what they are called in messages.
struct Variant {
  std::vector<Define> defines;
  std::string text; // "TYPE=half A=T B=N TM=32 TN=64 TK=8"

  /// The value of a macro; "" if it is not defined.
  std::string operator[](const std::string &name) const;
  int number(const std::string &name) const { return std::stoi((*this)[name]); }
  ir::Elem type() const;
};

/// One run of a kernel: memory before it, and a check of memory after it ("" or what is wrong).
struct Run {
  std::string text; // "K=32"
  interpreter::Memory memory;
  interpreter::Launch launch;
  std::function<std::string(const interpreter::Memory &)> check;
};

/// Which schedules a kernel of tiles TM x TN x TK has: also those in which blocks or launches
/// divide its sums among them; only others, of specialized warps; of these only those whose blocks
/// do one program; none but the plain one.
enum class Schedules { all, undivided, of_one_program, plain };

struct TestKernel {
  std::string file; // "kernels/matmul.tc", from the project's folder on
  /// The source loads past its operands, and only the passes put that right: what is out of bounds
  /// does not count before.
  bool fetches_past_the_end = false;
  /// Runs whose loops make so many steps, one for each number. Kernels without such a loop have
  /// runs of their own instead.
  std::function<std::vector<Run>(const Variant &, std::mt19937 &, const std::vector<int> &steps)>
      runs_of;
  std::vector<int> steps; // that all go through
  Schedules schedules = Schedules::all;
  size_t every = 1; // only every so-many-th choice from the API's axes goes through
  /// Programs order what they do by atomic operations. Of that the emulator knows nothing, and
  /// would take it for races.
  bool locks = false;

  std::vector<Run> runs(const Variant &variant, std::mt19937 &random) const {
    return runs_of(variant, random, steps);
  }
};

/// All, or those whose file has what the environment says in its name: TRITONC_ONLY=transpose,
/// while one is being written. Tests that count kernels then fail.
const std::vector<TestKernel> &test_kernels();

/// Every choice from the API's axes, each with one of three tiles in turn (with all three where
/// there are few choices); or (`all`) with every choice from the other axes too, as far as tiles
/// stay small.
std::vector<Variant> variants_of(const TestKernel &test_kernel, bool all);

/// Of products of 16-bit numbers or tf32, every choice from the API's axes, each with one of some
/// tiles that specialized warps can multiply. `test_kernel` is one of test_kernels().
std::vector<Variant> variants_to_specialize(const TestKernel &test_kernel);

/// The kernels of which some variant then has a specialized schedule.
std::set<std::string> files_to_specialize();

/// Those of them that have schedules in which a sum is divided.
std::set<std::string> files_to_divide();

/// For these, which are large. A block that does two programs in turn goes more than once around a
/// ring of eight slots.
inline const std::vector<int> few_steps = {1, 5};

FrontEndInput input_of(const TestKernel &test_kernel, const Variant &variant);

} // namespace tritonc::test
