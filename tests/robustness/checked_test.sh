#!/bin/bash
# Builds the preset `checked` (assertions, AddressSanitizer, UndefinedBehaviorSanitizer) and runs its
# tests: the quick ones.
#
#     checked_test.sh SOURCE_FOLDER
#
# Exit code: 0 = passed, 1 = a failure, 77 = skipped (clang 22 with its sanitizers is not installed).
set -euo pipefail

cd "$1"
echo 'int main() { return 0; }' |
  clang++-22 -x c++ - -o /dev/null -fsanitize=fuzzer-no-link,address,undefined 2>/dev/null || {
  echo "skipped: clang++-22 with sanitizers is not installed (clang-22, libclang-rt-22-dev)"
  exit 77
}
cmake --preset checked >/dev/null
cmake --build --preset checked
ctest --preset checked -j "$(nproc)"
