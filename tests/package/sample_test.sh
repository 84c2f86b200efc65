#!/bin/bash
# A sample as its README says: configured by itself, built, and run where there is no GPU: first without anything to run on,
# then on the emulator. Three arguments: the sample's folder, TritonC's build folder, where to work.
set -euo pipefail

sample=$1 tritonc=$2 work=$3
rm -rf "$work"
cmake -S "$sample" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTritonC_DIR="$tritonc" >"$work.log" 2>&1 ||
  { cat "$work.log"; exit 1; }
cmake --build "$work"

# The one program that was built.
program=$(find "$work" -maxdepth 1 -type f -perm -u+x)
CUDA_VISIBLE_DEVICES= TRITONC_DRIVER=/nowhere "$program" | tee "$work/nothing.txt"
grep -q "no GPU here" "$work/nothing.txt"
TRITONC_DRIVER=$tritonc/lib/libtritonc_emulator.so "$program" | tee "$work/emulated.txt"
grep -q "TritonC emulator" "$work/emulated.txt"
if grep -q WRONG "$work/emulated.txt"; then exit 1; fi
