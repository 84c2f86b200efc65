#!/bin/bash
# Kernels that one project compiles, tests and installs, and another uses without a compiler; and objects for another machine.
#
#   install_test.sh <our source folder> <our build folder> <folder to work in>
set -euo pipefail
export TRITONC_CACHE_DIR=off # or nothing would take time, or be compiled again

source=$1 build=$2
work="$3/work"
prefix="$work/prefix"
log="$work/log"

fail() {
  echo "FAILED: $1" >&2
  [ -f "$log" ] && cat "$log" >&2
  exit 1
}

logged() { "$@" >"$log" 2>&1; }

rm -rf "$work"
mkdir -p "$work"
logged cmake --install "$build" --prefix "$prefix" --strip || fail "cannot install"
cp -r "$source/tests/package/install" "$work/projects"

# The producer, its tests, and what they find.
producer="$work/producer"
logged cmake -S "$work/projects/producer" -B "$producer" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" \
  "-DCMAKE_INSTALL_PREFIX=$work/product" -DCMAKE_INSTALL_LIBDIR=lib || fail "cannot configure the producer"
logged cmake --build "$producer" || fail "cannot build the producer"
cp "$producer/product.kernels/product.manifest.json" "$producer/kept.json"
tests=(product_test product_test_manifest small_test checked_test)
emulator=$(find "$prefix" -name libtritonc_emulator.so)
[ -z "$emulator" ] || tests+=(checked_test_program)
for test in "${tests[@]}"; do
  (cd "$producer" && logged ctest -R "^$test\$" --no-tests=error) || fail "$test fails"
done
if [ -n "$emulator" ]; then # code for sm_80, or the PTX beside it, or neither
  for gpu in 80 89 90 120; do
    logged env "TRITONC_DRIVER=$emulator" "TRITONC_EMULATOR=gpu=$gpu" "$producer/checked_test_program" || fail "sm_$gpu does not run it"
  done
  ! logged env "TRITONC_DRIVER=$emulator" TRITONC_EMULATOR=gpu=75 "$producer/checked_test_program" || fail "sm_75 runs it"
fi
echo >>"$producer/kept.json"
! (cd "$producer" && logged ctest -R '^product_test_manifest$') || fail "another manifest is not noticed"
cp "$producer/product.kernels/product.o" "$work/product.o"
printf x >>"$producer/product.kernels/product.o"
! (cd "$producer" && logged ctest -R '^product_test$') || fail "another object is not noticed"
cp "$work/product.o" "$producer/product.kernels/product.o"

# The consumer has the runtime and the product, and nothing else of ours; no ptxas, no CUDA.
logged cmake --install "$producer" || fail "cannot install the product"
mkdir -p "$work/runtime/lib/cmake" "$work/runtime/include"
cp "$prefix"/lib*/libtritonc_* "$work/runtime/lib"
cp -r "$prefix"/lib*/cmake/TritonCRuntime "$work/runtime/lib/cmake"
cp -r "$prefix/include/tritonc" "$work/runtime/include"
rm -rf "$producer"
mv "$prefix" "$work/gone"
logged env -u CUDA_HOME -u CUDA_PATH cmake -S "$work/projects/consumer" -B "$work/consumer" -G Ninja \
  "-DCMAKE_PREFIX_PATH=$work/runtime;$work/product" || fail "cannot configure the consumer"
logged cmake --build "$work/consumer" || fail "cannot build the consumer"
"$work/consumer/app" || fail "the consumer fails"
mv "$work/gone" "$prefix"

# Another processor: this machine's runtime does not fit, and is not taken; that processor's is, and so is the object.
cross=(cmake -S "$work/projects/cross" -B "$work/cross" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" -DCMAKE_SYSTEM_NAME=Linux
  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY)
! logged "${cross[@]}" || fail "a runtime for another processor is taken"
grep -q "TritonCRuntime" "$log" || fail "it is not said that the runtime does not fit"
mkdir -p "$work/aarch64"
cat >"$work/aarch64/TritonCRuntimeConfig.cmake" <<END
add_library(TritonC::runtime INTERFACE IMPORTED)
END
logged "${cross[@]}" "-DTritonCRuntime_DIR=$work/aarch64" || fail "cannot configure for another processor"
logged cmake --build "$work/cross" || fail "cannot build for another processor"
[ "$(od -An -tu1 -j18 -N1 "$work/cross/product.kernels/product.o" | tr -d ' ')" = 183 ] || fail "the object is not for aarch64"
linker=$(command -v ld.lld-22 || command -v ld.lld || command -v aarch64-linux-gnu-ld) || linker=
[ -z "$linker" ] || logged "$linker" -m aarch64linux -shared --whole-archive "$work/cross/libproduct.a" -o "$work/product.so" ||
  fail "the object does not link"

rm -rf "$work"
