#!/bin/bash
# Kernels in a bundle: it lies beside whatever links them, is put there again when it changes, and is told where it is missing
# or wrong.
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

let_time_pass() { sleep 1.1; }

emulator=$(find "$package" -name libtritonc_emulator.so | head -1)
[ -n "$emulator" ] || exit 0
expect() { # <program> <what it says>
  local said
  said=$(TRITONC_DRIVER="$emulator" "$1") || fail "$1 fails"
  [ "$said" = "$2" ] || fail "$1 says $said, not $2"
}

rm -rf "$work"
mkdir -p "$work"
cp -r "$source/tests/package/bundle" "$project"
cmake -S "$project" -B "$build" -G "$generator" -DCMAKE_BUILD_TYPE=Release "-DTritonC_DIR=$package" \
  -DCMAKE_INSTALL_LIBDIR=lib "-DCMAKE_INSTALL_PREFIX=$work/prefix" >"$log" 2>&1 || fail "cannot configure"
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
for bundle in "${bundles[@]}"; do cmp "$made" "$bundle" || fail "$bundle is another one"; done
size=$(stat -c %s "$made")
[ "$size" -gt 1000 ] || fail "there is too little in the bundle"
object=$(find "$build" -name scale.o -path '*scale.kernels*')
! grep -q 'TritonC$' "$object" || fail "there are images in the object"
"$package/bin/tritonc" verify "$object" --manifest "${object%.o}.manifest.json" >"$log" || fail "verify finds something"
nothing_to_do

# Only what needs them has them built.
rm -rf "$build"
cmake -S "$project" -B "$build" -G "$generator" -DCMAKE_BUILD_TYPE=Release "-DTritonC_DIR=$package" \
  -DCMAKE_INSTALL_LIBDIR=lib "-DCMAKE_INSTALL_PREFIX=$work/prefix" >"$log" 2>&1 || fail "cannot configure again"
run_build --target neither
says_not "Compiling kernels"
run_build --target static_app
expect "${programs[0]}" 42
run_build

# A changed kernel: a new object and a new bundle, beside everything.
let_time_pass
sed -i 's/\* factor;/* factor * 2;/' "$project/library/scale.tc"
run_build
says_not "Building CXX object CMakeFiles/static_app"
for program in "${programs[@]}"; do expect "$program" 84; done
nothing_to_do

# It takes the old one's place in one step: a program that starts meanwhile, and a target that puts it into the same folder, find the
# old one or the new one. (A large file takes the build long enough for someone to look.)
let_time_pass
size=$(stat -c %s "$made")
cp "$made" "$work/kept.tcb"
truncate -s 256M "$made"
run_build &
while kill -0 $! 2>/dev/null; do stat -c %s "${bundles[0]}" 2>&1 || true; done | sort -u >"$work/sizes"
wait $! || exit 1
[ "$(sort -n "$work/sizes" | tr '\n' ' ')" = "$size $((256 << 20)) " ] || fail "half a bundle lay there: $(head -3 "$work/sizes")"
[ -z "$(find "$build" -name 'scale.tcb.for_*' ! -name '*.stamp')" ] || fail "something unfinished is left"
let_time_pass
cp "$work/kept.tcb" "$made"
run_build
nothing_to_do

# Missing, cut off, of another build, and found elsewhere.
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
    fail "verify does not see that the bundle is another one"
  cp "$work/kept.tcb" "$(dirname "$object")/scale.tcb"
  mv "$work/kept.tcb" "$bundle"
  expect "${programs[i]}" 84
done

# Installed, and called by a link and from elsewhere.
cmake --install "$build" --config Release >"$log" 2>&1 || fail "cannot install"
[ -f "$work/prefix/share/product/product.tcb" ] || fail "the product's bundle is not installed"
rm -rf "$build"
ln -s "$work/prefix/bin/static_app" "$work/link"
for program in "$work/prefix/bin/static_app" "$work/prefix/bin/shared_app" "$work/link"; do expect "$program" 84; done
# Another project, which has no compiler: it takes the bundle from where it was installed.
cmake -S "$project/consumer" -B "$work/consumer" -G "$generator" -DCMAKE_BUILD_TYPE=Release \
  "-DTritonCRuntime_DIR=$package/runtime" "-DCMAKE_PREFIX_PATH=$work/prefix" >"$log" 2>&1 || fail "cannot configure the consumer"
cmake --build "$work/consumer" --config Release >"$log" 2>&1 || fail "cannot build the consumer"
consumer=$(find "$work/consumer" -name consumer -type f -perm -u+x)
expect "$consumer" no_host_code # there is none, but the bundle is
rm "$(dirname "$consumer")/product.tcb"
expect "$consumer" no_bundle
cd "$work/prefix/bin"
expect ./static_app 84
expect ./shared_app 84
rm -rf "$work"
