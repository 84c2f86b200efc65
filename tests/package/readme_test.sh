#!/bin/bash
# The example of a README as its readers meet it: its blocks of C (scale.tc), CMake and C++, in that order, are a project, whose program
# prints on the emulator what a comment says after its last printf. Three arguments: the README, TritonC's build folder, where to work.
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
[ -n "$wanted" ] || { echo "$readme says nowhere what its program prints"; exit 1; }

cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTritonC_DIR="$tritonc" >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
said=$(TRITONC_DRIVER=$tritonc/lib/libtritonc_emulator.so "$work/build/app")
[ "$said" = "$wanted" ] || { echo "$readme: the program prints '$said', not '$wanted'"; exit 1; }
