// Runs the shipped kernels on the GPU: every compiled variant at several sizes, odd sizes too, on
// random inputs. Compares the results with double precision. device_test.cpp has more tiles of the
// matmuls.
//
//     ./kernels_test                      # all
//     ./kernels_test transpose softmax    # only these families
//     ./kernels_test -split               # all other families
//     ./kernels_test --seed 7             # other random inputs
//     ./kernels_test --small              # the emulator's sizes, for compute-sanitizer
//
// A family is a .cpp file in this folder; kernel_test.h shows how to write one. Prints one line per
// failure, and the number of passed cases per family. Exits with 77 without a GPU.

#include "kernel_test.h"

using namespace device_tests;

int main(int count, char **arguments) {
  std::vector<std::string> wanted, unwanted;
  for (int i = 1; i < count; i++)
    if (std::strcmp(arguments[i], "--seed") == 0 && i + 1 < count)
      generator.seed(std::strtoull(arguments[++i], nullptr, 10));
    else if (std::strcmp(arguments[i], "--small") == 0)
      only_small = true;
    else if (arguments[i][0] == '-')
      unwanted.push_back(arguments[i] + 1);
    else
      wanted.push_back(arguments[i]);
  if (!find_device())
    return 77;
  std::vector<const KernelTest *> tests = KernelTest::all();
  std::sort(tests.begin(), tests.end(), [](const KernelTest *a, const KernelTest *b) {
    return std::strcmp(a->name, b->name) < 0;
  });
  for (const KernelTest *test : tests) {
    auto has = [&](const std::vector<std::string> &names) {
      return std::find(names.begin(), names.end(), test->name) != names.end();
    };
    if ((!wanted.empty() && !has(wanted)) || has(unwanted))
      continue;
    int before = passed;
    test->run();
    std::printf("%s: %d passed\n", test->name, passed - before);
    std::fflush(stdout);
  }
  return report();
}
