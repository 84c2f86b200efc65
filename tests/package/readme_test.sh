#!/bin/bash
# Builds and runs the example of a README on the emulator. The first blocks of C (scale.tc), CMake and C++ are the project. The
# program must print the text in the comment after its last printf.
#
#   readme_test.sh <README> <our build folder> <folder to work in>
set -euo pipefail

readme=$1 tritonc=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
# The first block of a language.
block() { awk -v fence="\`\`\`$1" '$0 == fence { inside = 1; next } inside && /^```$/ { exit } inside' "$readme"; }
block cpp >"$work/main.cpp"
block cmake >"$work/CMakeLists.txt"
sed -i 's/ARCHITECTURES 80 90a/& EMULATE ON/' "$work/CMakeLists.txt"
if grep -q 'scale\.tc' "$work/CMakeLists.txt"; then block c >"$work/scale.tc"; fi
wanted=$(sed -n 's|.*printf(.*); *// *||p' "$work/main.cpp" | tail -n 1)
[ -n "$wanted" ] || { echo "$readme: expected a comment with the output after the last printf"; exit 1; }

cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTritonC_DIR="$tritonc" >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
said=$(TRITONC_DRIVER=$tritonc/lib/libtritonc_emulator.so "$work/build/app")
[ "$said" = "$wanted" ] || { echo "$readme: the program prints '$said' instead of '$wanted'"; exit 1; }
