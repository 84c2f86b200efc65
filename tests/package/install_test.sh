#!/bin/bash
# One project compiles, tests and installs kernels. Another project uses them without the compiler. A third project
# cross-compiles kernels for another processor.
#
#   install_test.sh <our source folder> <our build folder> <folder to work in>
set -euo pipefail
export TRITONC_CACHE_DIR=off # a cache would skip compilations

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

# Every link of an installed page leads to an installed file. So does every page and sample that the text names, unless the
# paragraph says that it is in the repository. (The paths of the glossary start at the repository root.)
linked() { awk '/^```/ { in_code = !in_code } in_code { next } { while (match($0, /\]\([^)#]+/)) { print substr($0, RSTART + 2, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH) } }' "$1"; }
named() {
  awk -v RS= '!/repository/ {
    while (match($0, /`(samples\/[^` ]*|[^` ]*\.md)`/)) { print substr($0, RSTART + 1, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH) }
  }' "$1"
}
manual=$(dirname "$(find "$prefix" -name CHANGELOG.md)")
while read -r page; do
  while read -r path; do
    [ -e "$(dirname "$page")/$path" ] || fail "$page has a link to $path, which is not installed"
  done < <(linked "$page")
  case $page in */glossary.md) continue ;; esac
  while read -r path; do
    [ -e "$(dirname "$page")/$path" ] || [ -e "$manual/$path" ] || fail "$page names $path, which is not installed"
  done < <(named "$page")
done < <(find "$prefix" -name '*.md')
for page in README.md docs/pages/glossary.md docs/pages/kernels.md docs/pages/reference/runtime.md docs/pages/language/index.md samples/c/main.c; do
  [ -f "$manual/$page" ] || fail "$page is not installed"
done
[ -f "$prefix/share/tritonc/kernels/matmul.tc" ] || fail "matmul.tc is not installed"

# The producer and its kernel tests, which must detect a changed object or manifest.
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
if [ -n "$emulator" ]; then # code for sm_80, or PTX for newer GPUs; sm_75 has neither
  for gpu in 80 89 90 120; do
    logged env "TRITONC_DRIVER=$emulator" "TRITONC_EMULATOR=gpu=$gpu" "$producer/checked_test_program" || fail "sm_$gpu does not run it"
  done
  ! logged env "TRITONC_DRIVER=$emulator" TRITONC_EMULATOR=gpu=75 "$producer/checked_test_program" || fail "sm_75 runs it"
fi
echo >>"$producer/kept.json"
! (cd "$producer" && logged ctest -R '^product_test_manifest$') || fail "the test accepts another manifest"
cp "$producer/product.kernels/product.o" "$work/product.o"
printf x >>"$producer/product.kernels/product.o"
! (cd "$producer" && logged ctest -R '^product_test$') || fail "the test accepts another object"
cp "$work/product.o" "$producer/product.kernels/product.o"

# The consumer has only the runtime and the product: no compiler, no ptxas, no CUDA.
logged cmake --install "$producer" || fail "cannot install the product"
[ -f "$work/product/include/my/product.h" ] || fail "the header for C is not installed"
mkdir -p "$work/runtime/lib/cmake" "$work/runtime/include"
cp "$prefix"/lib*/libtritonc_* "$work/runtime/lib"
cp -r "$prefix"/lib*/cmake/TritonCRuntime "$work/runtime/lib/cmake"
cp -r "$prefix/include/tritonc" "$work/runtime/include"
rm -rf "$producer"
mv "$prefix" "$work/gone"
logged env -u CUDA_HOME -u CUDA_PATH cmake -S "$work/projects/consumer" -B "$work/consumer" -G Ninja \
  "-DCMAKE_PREFIX_PATH=$work/runtime;$work/product" || fail "cannot configure the consumer"
logged cmake --build "$work/consumer" || fail "cannot build the consumer"
logged "$work/consumer/app" || fail "the consumer fails with exit code $?"
mv "$work/gone" "$prefix"

# Another processor: CMake must reject the runtime of this machine, and accept the runtime of the target. The object is for
# the target.
cross=(cmake -S "$work/projects/cross" -B "$work/cross" -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" -DCMAKE_SYSTEM_NAME=Linux
  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY)
! logged "${cross[@]}" || fail "CMake accepts a runtime for another processor"
grep -q "TritonCRuntime" "$log" || fail "CMake does not report the unsuitable runtime"
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
