#!/bin/bash
# Configures and builds a sample as a separate project. Runs it first without a driver, then on the emulator.
#
#   sample_test.sh <folder of the sample> <our build folder> <folder to work in>
set -euo pipefail

sample=$1 tritonc=$2 work=$3
rm -rf "$work"
cmake -S "$sample" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTritonC_DIR="$tritonc" >"$work.log" 2>&1 ||
  { cat "$work.log"; exit 1; }
cmake --build "$work"

# The only program of the sample.
program=$(find "$work" -maxdepth 1 -type f -perm -u+x)
CUDA_VISIBLE_DEVICES= TRITONC_DRIVER=/nowhere "$program" | tee "$work/nothing.txt"
grep -q "no GPU here" "$work/nothing.txt"
TRITONC_DRIVER=$tritonc/lib/libtritonc_emulator.so "$program" | tee "$work/emulated.txt"
grep -q "TritonC emulator" "$work/emulated.txt"
if grep -q WRONG "$work/emulated.txt"; then exit 1; fi
