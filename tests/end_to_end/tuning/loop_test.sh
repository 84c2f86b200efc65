#!/bin/bash
# Tests the tuning loop: measurements on the emulator, then a build that uses them.
#
#   loop_test.sh <project> <our build folder> <folder to work in>
set -euo pipefail

project=$1 package=$2 work=$3
tritonc=$package/bin/tritonc
build=$work/build
log=$work/log
export TRITONC_DRIVER=$package/lib/libtritonc_emulator.so
problems="n=100..3000; x,y=n; factor=2"

fail() {
  echo "FAILED: $1" >&2
  [ -f "$log" ] && cat "$log" >&2
  exit 1
}
says() { grep -qE -- "$1" "$log" || fail "it does not say '$1'"; }
says_not() { ! grep -qE -- "$1" "$log" || fail "it says '$1'"; }
configure() {
  cmake -S "$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DTritonC_DIR=$package" "$@" >"$log" 2>&1 ||
    fail "cannot configure"
}
run_build() { cmake --build "$build" >"$log" 2>&1 || fail "cannot build"; }
# ends CODE COMMAND...: the command must exit with CODE.
ends() {
  local code=$1 got=0
  shift
  "$@" >"$log" 2>&1 || got=$?
  [ "$got" = "$code" ] || fail "$* ends with $got"
}
bench() { ends 0 "$tritonc" bench "$build/tuner" --problems "$problems" --types TYPE=half --rounds 1; }
# Sets the measured time of SIZE=$1 to 1 ns, so that it is the fastest.
favor() { sed "s/\(\"SIZE=$1 WRONG=0\":{[^}]*\"ns\":\)[0-9]*}/\11}/g" "$work/measured.json" >"$work/tuning.json"; }

rm -rf "$work"
mkdir -p "$work"
configure
run_build

# describe needs no driver; tune does.
TRITONC_DRIVER=/nowhere ends 0 "$build/tuner" describe
says "^kernel	scale	TYPE=half	const f16 \*x, f16 \*y, f32 factor, i32 n$"
says "^variant	SIZE=512 WRONG=0$"
TRITONC_DRIVER=/nowhere ends 3 "$tritonc" tune "$build/tuner" --problems "$problems" -o "$work/none.json"
says "the tuner .* failed: error: .*driver"
[ ! -e "$work/none.json" ] || fail "a file without measurements"

# Without data, costs decide: the smallest tile holds 100 elements.
bench
says "n=100 +SIZE=128 WRONG=0"
cp "$log" "$work/untuned"

# Measurements in parts, through a launcher; then a second run that adds to the first.
ends 0 "$tritonc" tune "$build/tuner" --problems "$problems" --types TYPE=half --rounds 1 -o "$work/measured.json" \
  --launcher "env PART={part}" --parts 2
[ "$(grep -c '"kernel":"scale"' "$work/measured.json")" = 5 ] || fail "not all problems are there"
ends 0 "$tritonc" tune "$build/tuner" --problems "n=64; x,y=n; factor=2" --types TYPE=half --rounds 1 -o "$work/measured.json"
[ "$(grep -c '"kernel":"scale"' "$work/measured.json")" = 6 ] || fail "measurements do not add up"
grep -q '"parameters":"const f16 \*x, f16 \*y, f32 factor, i32 n","problem":{"n":64}' "$work/measured.json" ||
  fail "the data are not about n"
# The same by hand: copy a plan to another machine, and copy the tuner's output back.
ends 0 "$tritonc" tune "$build/tuner" --problems "n=64; x,y=n; factor=2" --types TYPE=half --plan-to "$work/plan"
"$build/tuner" measure "$work/plan" --rounds 1 >"$work/said"
ends 0 "$tritonc" tune --from "$work/said" -o "$work/other.json"
ends 0 "$tritonc" tune --from "$work/measured.json" --from "$work/other.json" -o "$work/both.json"
[ "$(grep -c '"kernel":"scale"' "$work/both.json")" = 6 ] || fail "a problem is there twice"

# Measurements with the CMake target, with the launcher before each part.
printf '#!/bin/sh\necho "$@" >>"%s"\nexec "$@"\n' "$work/launched" >"$work/launcher"
chmod +x "$work/launcher"
configure "-DTritonC_LAUNCHER=$work/launcher;env;PART={part}"
run_build
cmake --build "$build" --target tune_tuner >"$log" 2>&1 || fail "cannot tune by the target"
[ "$(grep -c '"kernel":"scale"' "$build/target.json")" = 10 ] || fail "the target does not measure both types"
for part in 0 1 2; do
  grep -q "^env PART=$part .*/tuner measure -" "$work/launched" || fail "part $part has no launcher"
done
configure -DTritonC_LAUNCHER=

# The next build uses the data and compiles no C++.
for size in 512 256; do
  favor $size
  configure "-DTUNING_DATA=$work/tuning.json"
  run_build
  says "Compiling kernels scales"
  [ "$size" = 512 ] || says_not "Building CXX object .*/tuner"
  says_not "warning"
  bench
  [ "$(grep -c "scale TYPE=half  n=[0-9]*   *SIZE=$size WRONG=0" "$log")" = 5 ] || fail "SIZE=$size is not what launches take"
done
run_build
says "no work to do"
ends 0 "$tritonc" bench "$build/tuner" --problems "$problems" --types TYPE=half --rounds 1 --json
[ "$(grep -c '"choice": "SIZE=256 WRONG=0"' "$log")" = 5 ] || fail "the JSON has other choices"
says '"geometric_mean": [1-9]' # of times on the emulator, so the value is arbitrary

# The library's manifest and its object both describe the tuning data.
for file in scales.kernels/scales.manifest.json whole.kernels/whole.manifest.json; do
  tr -d ' \n' <"$build/$file" >"$log"
  says '"tuning":\[\{"arguments":\["n"\],"files":\["tuning.json"\],"gpu":\{"arch":[0-9]+,[^}]*\},"problems":[56],"types":"TYPE=half","variants":[0-9]+\}\]'
done
ends 0 "$tritonc" inspect "$build/scales.kernels/scales.o" "$build/whole.kernels/include/whole.hpp"
[ "$(grep -cE '^  measured on .* \(sm_[0-9]+, [0-9]+ SMs\): [56] problems of n$' "$log")" = 2 ] ||
  fail "inspect does not say what was measured"
ends 0 "$tritonc" verify "$build/scales.kernels/scales.o"
ends 0 "$tritonc" verify "$build/whole.kernels/include/whole.hpp"
# float has no data, so its choices do not change.
ends 0 "$tritonc" bench "$build/tuner" --problems "$problems" --types TYPE=float --rounds 1
says_not "n=[0-9]* +SIZE=256 WRONG=0 .* SIZE"x
sed -i 's/"ns":1}/"ns":2}/g' "$work/tuning.json" # a change of the data alone
sleep 1.1
touch "$work/tuning.json"
run_build
says "Compiling kernels scales"

# The build warns about data that no longer fits, and ignores it.
sed -i 's/f32 factor, i32 n/f32 factor, i64 n/' "$work/tuning.json"
sleep 1.1
touch "$work/tuning.json"
run_build
says "warning: ignoring tuning data of .scale."
bench
grep -o "n=[0-9]* *SIZE=[0-9]*" "$log" >"$work/now"
grep -o "n=[0-9]* *SIZE=[0-9]*" "$work/untuned" | diff - "$work/now" || fail "data that do not fit are used"

# A variant with one wrong element does not win: it is not in the data, and the command fails.
ends 0 "$tritonc" check "$build/tuner" --problems "$problems"
says "10 problems, all variants agree"
# Without elements, the grid is empty, so no variant accepts the problem.
ends 0 "$tritonc" check "$build/tuner" --problems "n=0,100; x,y=100; factor=2" --types TYPE=half
says "warning: skipping .scale TYPE=half. for n=0, which no variant accepts: the grid is empty"
says "1 problems, all variants agree"
for command in check bench "tune -o $work/none.json"; do
  ends 2 "$tritonc" $command "$build/tuner" --problems "n=0; x,y=100; factor=2"
  says "error: no variant accepts any of the problems"
done
[ ! -e "$work/none.json" ] || fail "a file without measurements"
ends 6 "$tritonc" check "$build/wrong_tuner" --problems "$problems"
says "SIZE=256 WRONG=1 differs from most variants by .* times"
ends 6 "$tritonc" tune "$build/wrong_tuner" --problems "$problems" --rounds 1 -o "$work/wrong.json"
grep -q '"SIZE=256 WRONG=0"' "$work/wrong.json" || fail "right variants are missing"
! grep -q 'WRONG=1' "$work/wrong.json" || fail "a wrong variant was measured"

# Too much memory: the messages name the problem, its buffers and their bytes.
ends 3 "$tritonc" check "$build/tuner" --problems "n=4; x,y=200000000000; factor=2" --types TYPE=half
says "failed: error: scale TYPE=half for n=4: cannot allocate 400000000000 bytes for .x.: out of memory on the device"
ends 2 "$tritonc" check "$build/tuner" --problems "n=4; x,y=2000000000000; factor=2" --types TYPE=half
says "error: problems of .scale.: .x. cannot have 2000000000000 elements, only 0 to 1099511627776"
# run_with KIB COUNT: the process has this much virtual memory, the buffers this many elements.
run_with() {
  printf 'problem\tscale\tTYPE=half\tn=4\tx=%s y=%s n=4 factor=2\n' "$2" "$2" >"$work/plan"
  (ulimit -c 0 && ulimit -v "$1" && exec "$build/tuner" check "$work/plan") >"$log" 2>&1
}
low=0 high=$((1 << 40))
while [ $((high - low)) -gt 65536 ]; do # the emulator reserves many addresses
  middle=$(((low + high) / 2))
  if run_with $middle 1000; then high=$middle; else low=$middle; fi
done
code=0
run_with $high 1000000000 || code=$?
[ $code = 3 ] || fail "without host memory, the tuner ends with $code"
says "error: scale TYPE=half for n=4: the host has too little memory for copies of the buffers \(.x. 2000000000 bytes, .y. 2000000000 bytes\); use smaller problems"
