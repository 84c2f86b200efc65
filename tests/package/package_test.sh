#!/bin/bash
# Installs TritonC and builds samples/matmul with few variants. Each build must do only the necessary steps.
#
#   package_test.sh <CMake generator> <our source folder> <our build folder> <folder to work in>
set -euo pipefail

generator=$1 source=$2 build=$3
work="$4/with a space, (an é) + @an@ %d 100%" # CMake and Ninja do not support quotes, &, # and \$ here
prefix="$work/prefix"
project="$work/project"
kernels="$prefix/share/tritonc/kernels"
log="$work/log"

fail() {
  echo "FAILED ($generator): $1" >&2
  [ -f "$log" ] && cat "$log" >&2
  exit 1
}

# build_and <expect|refuse> <pattern>...: builds. The output must (or must not) contain each pattern.
build_and() {
  local mode=$1 pattern
  shift
  cmake --build "$project/build" --config Release >"$log" 2>&1 || fail "the build fails"
  for pattern in "$@"; do
    if grep -q "$pattern" "$log"; then
      [ "$mode" = expect ] || fail "the build says '$pattern'"
    else
      [ "$mode" = refuse ] || fail "the build does not say '$pattern'"
    fi
  done
}

nothing_to_do() {
  build_and refuse "Compiling" "Building" "Linking"
}

. "$source/tests/package/let_time_pass.sh"

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$prefix" --strip >"$log" 2>&1 || fail "cannot install"
cp -r "$source/samples/matmul" "$project"

# The sample needs both types and all layouts. One tile size is enough for this test.
cmake -S "$project" -B "$project/build" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
  "-DCMAKE_PREFIX_PATH=$prefix" -DMATMUL_ARCHITECTURES=90a "-DMATMUL_VARIANTS=TM=64;TN=64;TK=32" \
  >"$log" 2>&1 || fail "cannot configure"
build_and expect "Compiling kernels gemm for 90a" "Linking"
program=$(find "$project/build" -name matmul -type f -perm -u+x)
nothing_to_do

"$program" >"$log" 2>&1 || fail "the program fails"

# The sample also has host code (EMULATE), which the emulator runs in place of the driver. One generator is enough.
emulator=$(find "$prefix" -name libtritonc_emulator.so)
if [ -n "$emulator" ] && [ "$generator" = Ninja ]; then
  TRITONC_DRIVER=$emulator "$program" >"$log" 2>&1 || fail "the program fails on the emulator"
  grep -q "TritonC emulator" "$log" || fail "the program did not run on the emulator"
fi
strange=$(ldd "$program" | awk '{print $1}' | grep -vE '^(linux-vdso|/lib.*/ld-linux|libc|libm|libdl|libstdc\+\+|libgcc_s)' || true)
[ -z "$strange" ] || fail "the program needs $strange"

let_time_pass
touch "$kernels/matmul_layouts.tch"
build_and expect "Compiling kernels gemm"
nothing_to_do

# A changed kernel body changes the program, but compiles no C++.
let_time_pass
sed -i 's/\*pc = sum;/*pc = sum * 2;/' "$kernels/matmul.tc"
build_and expect "Compiling kernels gemm" "Linking CXX executable"
if grep -q "Building CXX" "$log"; then fail "a kernel's body changed and C++ was compiled"; fi
nothing_to_do

# An error in a kernel stops the build and keeps the old outputs. After a fix, the build continues.
let_time_pass
cp "$kernels/matmul.tc" "$work/good.tc"
sed -i 's/USE_A @ USE_B/USE_A @ USE_C/' "$kernels/matmul.tc"
if cmake --build "$project/build" --config Release >"$log" 2>&1; then fail "the build accepts an error in a kernel"; fi
grep -q "matmul.tc:[0-9]*:[0-9]*: error:.*USE_C" "$log" || fail "the error is not reported"
"$program" >/dev/null || fail "a failed build removed the program"
let_time_pass
cp "$work/good.tc" "$kernels/matmul.tc"
build_and expect "Compiling kernels gemm"
nothing_to_do

# EMBED HEADER: an application without an object.
mkdir "$work/header"
cp "$source/tests/package/header_project/"* "$work/header"
cmake -S "$work/header" -B "$work/header/build" -G "$generator" "-DCMAKE_PREFIX_PATH=$prefix" >"$log" 2>&1 ||
  fail "cannot configure with EMBED HEADER"
cmake --build "$work/header/build" >"$log" 2>&1 || fail "cannot build with EMBED HEADER"
"$(find "$work/header/build" -name app -type f -perm -u+x)" >"$log" 2>&1 || fail "the program with EMBED HEADER fails"

rm -rf "$work"
