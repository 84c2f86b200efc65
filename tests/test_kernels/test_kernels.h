// The list of test kernels: files, variants, and data.
//
// Every kernel has its own row, which gives its arguments and the expected results. The buffers
// have exactly the size of the kernel's contract. Gaps between rows are unwritten, and so is the
// output before the run.

#pragma once

#include "interpreter/interpreter.h"
#include "language/front_end.h"
#include "support/sample.h"

#include <functional>
#include <map>
#include <random>
#include <set>

namespace tritonc::test {

/// The macros of one variant, and its name in messages.
struct Variant {
  std::vector<Define> defines;
  std::string text; // "TYPE=half A=T B=N TM=32 TN=64 TK=8"

  /// The value of a macro; "" if it is not defined.
  std::string operator[](const std::string &name) const;
  int number(const std::string &name) const { return std::stoi((*this)[name]); }
  ir::Elem type() const;
};

/// One run of a kernel: the memory before it, and a check of the memory after it ("" or an error).
struct Run {
  std::string text; // "K=32"
  interpreter::Memory memory;
  interpreter::Launch launch;
  std::function<std::string(const interpreter::Memory &)> check;
};

/// The schedules of a kernel with tiles TM x TN x TK:
///
///     all    baseline, warp-specialized, and split-K over clusters or launches
///     plain  only the baseline
enum class Schedules { all, plain };

struct TestKernel {
  std::string file; // "kernels/matmul.tc", relative to the project's root
  /// The source loads past the end of its operands, and a pass removes these loads. Before that
  /// pass, out_of_bounds reports are ignored.
  bool fetches_past_the_end = false;
  /// One run per number of loop iterations. Kernels without such a loop return other runs.
  std::function<std::vector<Run>(const Variant &, std::mt19937 &, const std::vector<int> &steps)>
      runs_of;
  std::vector<int> steps; // used by all variants
  Schedules schedules = Schedules::all;
  size_t every = 1; // test only every n-th combination of the API's axes
  /// Programs synchronize by atomic operations. In the emulator these order nothing, so it would
  /// report races.
  bool locks = false;

  std::vector<Run> runs(const Variant &variant, std::mt19937 &random) const {
    return runs_of(variant, random, steps);
  }
};

/// All test kernels. The environment variable TRITONC_ONLY=transpose selects kernels by a part of
/// the file name, for development. Tests that count kernels then fail.
const std::vector<TestKernel> &test_kernels();

/// Every combination of the API's axes, each with one of three tiles in turn (with all three if
/// there are few combinations). `all`: also every combination of the other axes with small tiles.
std::vector<Variant> variants_of(const TestKernel &test_kernel, bool all);

/// For matmuls of 16-bit types or tf32: every combination of the API's axes, each with a tile that
/// a warp-specialized schedule supports. `test_kernel` is an element of test_kernels().
std::vector<Variant> variants_to_specialize(const TestKernel &test_kernel);

/// "kernels/matmul.tc [TYPE=half A=T ...]" for each variant.
std::vector<std::string> names_of(const TestKernel &test_kernel,
                                  const std::vector<Variant> &variants);

/// The GPUs for which to test a variant, by the variant's index in `names`. `sample` chooses among
/// all pairs of a variant and a GPU, and takes at least one.
std::map<size_t, std::vector<const char *>> gpus_by_variant(const std::vector<std::string> &names,
                                                            const std::vector<const char *> &gpus,
                                                            const Sample &sample);

/// The kernels with a variant that has a warp-specialized schedule.
std::set<std::string> files_to_specialize();

/// The kernels of files_to_specialize() that have split-K schedules.
std::set<std::string> files_to_divide();

/// Numbers of K iterations for these large variants. A block that runs two programs in sequence
/// goes more than once around a circular buffer of eight stages.
inline const std::vector<int> few_steps = {1, 5};

FrontEndInput input_of(const TestKernel &test_kernel, const Variant &variant);

} // namespace tritonc::test
