#!/bin/bash
# Tests EMBED BUNDLE: the build copies the bundle next to each program and library that needs it, and copies it again after
# a change. A launch reports a missing or wrong bundle.
#
#   bundle_test.sh <CMake generator> <our source folder> <our build folder> <folder to work in>
set -euo pipefail
export TRITONC_CACHE_DIR=off

generator=$1 source=$2 package=$3
work="$4/work"
project="$work/project"
build="$work/build"
log="$work/log"
unset TRITONC_BUNDLE_PATH

fail() {
  echo "FAILED ($generator): $1" >&2
  [ -f "$log" ] && cat "$log" >&2
  exit 1
}

run_build() {
  cmake --build "$build" --config Release "$@" >"$log" 2>&1 || fail "the build fails"
}

says_not() { ! grep -q "$1" "$log" || fail "the build says '$1'"; }

nothing_to_do() {
  run_build
  for word in Compiling Building Linking Putting; do says_not "$word"; done
}

. "$source/tests/package/let_time_pass.sh"

emulator=$package/lib/libtritonc_emulator.so # other tests have copies in the build folder, and remove them
[ -f "$emulator" ] || exit 0
expect() { # <program> <expected output>
  local said
  said=$(TRITONC_DRIVER="$emulator" "$1") || fail "$1 fails"
  [ "$said" = "$2" ] || fail "$1 prints $said instead of $2"
}

rm -rf "$work"
mkdir -p "$work"
cp -r "$source/tests/package/bundle" "$project"
cmake -S "$project" -B "$build" -G "$generator" -DCMAKE_BUILD_TYPE=Release "-DTritonC_DIR=$package" \
  -DCMAKE_INSTALL_LIBDIR=lib "-DCMAKE_INSTALL_PREFIX=$work/prefix" >"$log" 2>&1 || fail "cannot configure"

# The build compiles kernels only for targets that need them.
run_build --target neither
says_not "Compiling kernels"
run_build --target static_app
expect "$(find "$build" -name static_app -type f -perm -u+x)" 42
run_build
programs=() bundles=()
for name in static_app shared_app c_app; do
  program=$(find "$build" -name $name -type f -perm -u+x)
  programs+=("$program")
  expect "$program" 42
done
library=$(find "$build" -name libshared.so)
bundles=("$(dirname "${programs[0]}")/scale.tcb" "$(dirname "$library")/scale.tcb")
made=$(find "$build" -path '*scale.kernels/scale.tcb')
for bundle in "${bundles[@]}"; do cmp "$made" "$bundle" || fail "$bundle differs from $made"; done
size=$(stat -c %s "$made")
[ "$size" -gt 1000 ] || fail "the bundle is too small"
object=$(find "$build" -name scale.o -path '*scale.kernels*')
! grep -q 'TritonC$' "$object" || fail "the object contains images"
"$package/bin/tritonc" verify "$object" --manifest "${object%.o}.manifest.json" >"$log" || fail "verify finds something"
nothing_to_do

# A changed kernel: a new object, and a new bundle next to each program.
let_time_pass
sed -i 's/\* factor;/* factor * 2;/' "$project/library/scale.tc"
run_build
says_not "Building CXX object CMakeFiles/static_app"
for program in "${programs[@]}"; do expect "$program" 84; done
nothing_to_do

# The build replaces a bundle atomically: a program that starts during the build finds the old or the new bundle. (A large
# file makes the copy slow enough to observe.)
let_time_pass
size=$(stat -c %s "$made")
cp "$made" "$work/kept.tcb"
truncate -s 256M "$made"
run_build &
while kill -0 $! 2>/dev/null; do stat -c %s "${bundles[0]}" 2>&1 || true; done | sort -u >"$work/sizes"
wait $! || exit 1
[ "$(sort -n "$work/sizes" | tr '\n' ' ')" = "$size $((256 << 20)) " ] || fail "a partial bundle was visible: $(head -3 "$work/sizes")"
[ -z "$(find "$build" -name 'scale.tcb.for_*' ! -name '*.stamp')" ] || fail "a temporary file of the bundle is left"
let_time_pass
cp "$work/kept.tcb" "$made"
run_build
nothing_to_do

# Missing, truncated, of another build, and found in TRITONC_BUNDLE_PATH.
for i in 0 1; do
  bundle=${bundles[i]}
  mv "$bundle" "$work/kept.tcb"
  expect "${programs[i]}" no_bundle
  [ $i = 1 ] || expect "${programs[2]}" no_bundle
  (cd "$work" && cp kept.tcb scale.tcb && expect "${programs[i]}" no_bundle) # not from the current folder
  TRITONC_BUNDLE_PATH="/nowhere:$work" expect "${programs[i]}" 84
  head -c $((size / 2)) "$work/kept.tcb" >"$bundle"
  expect "${programs[i]}" corrupt_bundle
  : >"$bundle"
  expect "${programs[i]}" corrupt_bundle
  cp "$(find "$build" -path '*product.kernels/product.tcb')" "$bundle"
  expect "${programs[i]}" wrong_bundle
  TRITONC_BUNDLE_PATH="$(dirname "$bundle"):$work" expect "${programs[i]}" 84
  ! (cd "$(dirname "$bundle")" && cp "$bundle" "$(dirname "$object")/scale.tcb" && "$package/bin/tritonc" verify "$object") >"$log" 2>&1 ||
    fail "verify accepts the bundle of another build"
  cp "$work/kept.tcb" "$(dirname "$object")/scale.tcb"
  mv "$work/kept.tcb" "$bundle"
  expect "${programs[i]}" 84
done

# Installed programs, run directly, through a symbolic link and from another folder.
cmake --install "$build" --config Release >"$log" 2>&1 || fail "cannot install"
[ -f "$work/prefix/share/product/product.tcb" ] || fail "the product's bundle is not installed"
rm -rf "$build"
ln -s "$work/prefix/bin/static_app" "$work/link"
for program in "$work/prefix/bin/static_app" "$work/prefix/bin/shared_app" "$work/link"; do expect "$program" 84; done
# A consumer project without the compiler uses the installed bundle.
cmake -S "$project/consumer" -B "$work/consumer" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
  "-DTritonCRuntime_DIR=$package/runtime" "-DCMAKE_PREFIX_PATH=$work/prefix" >"$log" 2>&1 || fail "cannot configure the consumer"
cmake --build "$work/consumer" --config Release >"$log" 2>&1 || fail "cannot build the consumer"
consumer=$(find "$work/consumer" -name consumer -type f -perm -u+x)
expect "$consumer" no_host_code # no host code, but a bundle
rm "$(dirname "$consumer")/product.tcb"
expect "$consumer" no_bundle
cd "$work/prefix/bin"
expect ./static_app 84
expect ./shared_app 84
rm -rf "$work"
