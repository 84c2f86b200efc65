#!/bin/bash
# Tests which steps a build repeats after a change, with the package of the build tree and kernels that compile fast. The
# generator Ninja also runs the tests that do not depend on the generator.
#
#   mechanics_test.sh <CMake generator> <our source folder> <our build folder> <folder to work in>
set -euo pipefail
export TRITONC_CACHE_DIR=off # a cache would skip compilations

generator=$1 source=$2 package=$3
work="$4/work"
project="$work/project"
build="$work/build"
log="$work/log"

fail() {
  echo "FAILED ($generator): $1" >&2
  [ -f "$log" ] && cat "$log" >&2
  exit 1
}

configure() { # <project> <build> <option>...
  cmake -S "$1" -B "$2" -G "$generator" -DCMAKE_BUILD_TYPE=Release "-DTritonC_DIR=$package" "${@:3}" \
    >"$log" 2>&1 || fail "cannot configure $1"
}

run_build() { # <build>
  cmake --build "$1" --config Release >"$log" 2>&1 || fail "the build of $1 fails"
}

says() { grep -q "$1" "$log" || fail "the build does not say '$1'"; }
says_not() { ! grep -q "$1" "$log" || fail "the build says '$1'"; }

nothing_to_do() { # <build>
  run_build "$1"
  for word in Compiling Building Linking; do says_not "$word"; done
}

program_of() { find "$1" -name app -type f -perm -u+x; }

. "$source/tests/package/let_time_pass.sh"

rm -rf "$work"
mkdir -p "$work"
cp -r "$source/tests/package/mechanics" "$project"

# The build only reads the source tree: it changes and adds no file.
listing() { (cd "$project" && find . -printf '%p %s %T@\n' | sort); }
listing >"$work/before"
chmod -R a-w "$project"
# (Like ccache, the launcher gets the whole command as arguments.)
printf '#!/bin/sh\necho "$@" >>"%s"\nexec "$@"\n' "$work/launched" >"$work/launcher"
chmod +x "$work/launcher"
configure "$project" "$build" "-DTritonC_LAUNCHER=$work/launcher"
run_build "$build"
[ "$(grep -c "tritonc compile" "$work/launched")" = 2 ] || fail "the launcher is not called twice"
says "Compiling kernels one"
says "Compiling kernels two"
listing | diff "$work/before" - || fail "the build writes into the source tree"
chmod -R u+w "$project"
"$(program_of "$build")" || fail "the program fails"
grep -q "sm_80 " "$(cat "$build/report_path")" || fail "no sm_80 in the report"
grep -q '"compute_80"' "$build/elsewhere/two.manifest.json" || fail "requested PTX is missing"
! grep -q '"compute_' "$build/one.kernels/one.manifest.json" || fail "unrequested PTX is present"
nothing_to_do "$build"
kept=$(cat "$build/kept_path")
[ -f "$build/made" ] || fail "the DEPENDS file was not built"
cc -std=c11 -fsyntax-only -x c "-I$source/runtime/include" "$build/elsewhere/include/in_c/two.h" >"$log" 2>&1 ||
  fail "the C header does not compile"
[ ! -e "$build/two.kernels" ] || fail "an output is not in OUTPUT_DIR"
grep -q -- '--werror --quiet --cache-dir off' "$work/launched" || fail "options do not reach the tool"
grep -l '\.loc' "$kept"/two-*.ptx | grep -q . || fail "no line of the source in the kept PTX"
grep -l __assertfail "$kept"/two-*.ptx | grep -q . || fail "no assertion in the kept PTX"
grep -q '"checks": true' "$build/elsewhere/two.manifest.json" || fail "no checks in the manifest"
for file in "$kept"/two-*.cubin; do
  grep -q "$(basename "$file")" "$kept/index.json" || fail "a kept file is not in its index"
done

# A touched include file rebuilds only the kernels that include it, and their stamp.
let_time_pass
touch "$project/factor.tch"
run_build "$build"
says "Compiling kernels one"
says_not "Compiling kernels two"
says_not "Building CXX"
nothing_to_do "$build"

# A changed kernel body: compiles the kernel and links, but compiles no C++.
let_time_pass
sed -i 's/FACTOR 3/FACTOR 5/' "$project/factor.tch"
run_build "$build"
says "Compiling kernels one"
says "Linking CXX executable"
says_not "Compiling kernels two"
says_not "Building CXX"
nothing_to_do "$build"

# The VARIANT_FILE is a dependency, like a source.
let_time_pass
echo '[{"TAG": [2, 3]}]' >"$project/two.json"
run_build "$build"
says "Compiling kernels two"
says_not "Compiling kernels one"
nothing_to_do "$build"

# A changed option compiles the kernel again, like a changed source.
let_time_pass
sed -i 's/SIZE=512/SIZE=1024/' "$project/CMakeLists.txt"
run_build "$build"
says "Compiling kernels one"
says_not "Compiling kernels two"
nothing_to_do "$build"

# Changed parameters: a new header. C++ code with the new header does not link with the old object.
let_time_pass
old=$(find "$build" -name libone.a)
cp "$old" "$work/old.a"
sed -i 's/float \*x, int n)/float *x, int n, int unused)/' "$project/one.tc"
run_build "$build"
says "Compiling kernels one"
says "Building CXX"
c++ -std=c++17 "-I$build/one.kernels/include" "-I$build/elsewhere/include" "-I$source/runtime/include" \
  -c "$project/main.cpp" -o "$work/main.o" >"$log" 2>&1 || fail "main.cpp does not compile"
two=$(find "$build" -name libtwo.a)
runtime=$package/runtime/libtritonc_runtime.a
c++ "$work/main.o" "$old" "$two" "$runtime" -ldl -lpthread -o "$work/fresh" >"$log" 2>&1 || fail "a fresh object does not link"
if c++ "$work/main.o" "$work/old.a" "$two" "$runtime" -ldl -lpthread -o "$work/stale" >"$log" 2>&1; then
  fail "an object from before the change links"
fi
says "undefined"
nothing_to_do "$build"

# A failed REQUIRE stops the build. The error names kernel, variant and measure.
let_time_pass
sed -i 's/"spills == 0"/"spills == 0" "threads < 1"/' "$project/CMakeLists.txt"
if cmake --build "$build" --config Release >"$log" 2>&1; then fail "the build continues after a failed REQUIRE"; fi
says '`one` for sm_80, SIZE=128: threads is [0-9]*.*but `threads < 1` is required'
sed -i 's/ "threads < 1"//' "$project/CMakeLists.txt"
run_build "$build"
nothing_to_do "$build"

# SHARDS 3: a change rebuilds each shard and the library, compiles each variant once, and gives the same object. The commands
# of shards have only relative paths.
cp "$build/one.kernels/one.o" "$work/whole.o"
sharded="$work/sharded"
: >"$work/launched"
configure "$project" "$sharded" "-DTritonC_LAUNCHER=$work/launcher" "-DONE_OPTIONS=SHARDS;3;INCLUDE_DIRECTORIES;$project"
run_build "$sharded"
says "Compiling kernels one for 80 90a, part 3 of 3"
cmp "$sharded/one.kernels/one.o" "$work/whole.o" || fail "the object of three shards differs"
"$(program_of "$sharded")" || fail "the program of three shards fails"
nothing_to_do "$sharded"
! sed 's/^[^ ]*tritonc compile//' "$work/launched" | grep -e '--shard' | grep -F "$work" || fail "the command of a shard has an absolute path"
let_time_pass
touch "$project/factor.tch"
run_build "$sharded"
says "Compiling kernels one for 80 90a, part 1 of 3"
says_not "Compiling kernels two"
says_not "Building CXX"
nothing_to_do "$sharded"

# Paths with special characters. (Not tested: `&` and quotes, which end a name in Ninja's depfiles. bad_use_test.cmake has the
# characters that are refused.)
names=('a b' 'a$b' 'a#b' 'aé(@)%b' '%d 100% @a@b [c]' "$(printf 'x%.0s' $(seq 250))")
strange="$work/strange"
mkdir -p "$strange"
cat >"$strange/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(strange LANGUAGES CXX)
find_package(TritonC REQUIRED)
END
[ "$generator" = "Unix Makefiles" ] || output_dir='OUTPUT_DIR "k%d"'
for i in "${!names[@]}"; do
  mkdir "$strange/${names[i]}"
  cp "$project/one.tc" "$project/factor.tch" "$strange/${names[i]}"
  echo "triton_add_kernels(k$i SOURCES [==[${names[i]}/one.tc]==] ARCHITECTURES 80 VARIANTS SIZE=128 ${output_dir-})" \
    >>"$strange/CMakeLists.txt"
  unset output_dir
done
configure "$strange" "$strange/build"
run_build "$strange/build"
nothing_to_do "$strange/build"
for i in "${!names[@]}"; do
  let_time_pass
  touch "$strange/${names[i]}/factor.tch"
  run_build "$strange/build"
  says "Compiling kernels k$i "
  [ "$(grep -c "Compiling kernels" "$log")" = 1 ] || fail "a change in ${names[i]} compiles other kernels"
done
nothing_to_do "$strange/build"

if [ "$generator" != Ninja ]; then
  rm -rf "$work"
  exit
fi

# A launcher that loses its command and exits with 0: the build fails, although an old stamp exists. The next build continues.
printf '#!/bin/sh\n[ -e "%s" ] || exec "$@"\n' "$work/lose" >"$work/loser"
chmod +x "$work/loser"
lost="$work/lost"
for options in "" "SHARDS;3"; do
  rm -rf "$lost"
  configure "$project" "$lost" "-DTritonC_LAUNCHER=$work/loser" "-DONE_OPTIONS=$options"
  run_build "$lost"
  nothing_to_do "$lost"
  let_time_pass
  touch "$project/factor.tch" "$work/lose"
  if cmake --build "$lost" --config Release >"$log" 2>&1; then fail "the build succeeds although kernels are lost"; fi
  says "its command did not write"
  rm "$work/lose"
  run_build "$lost"
  says "Compiling kernels one"
  "$(program_of "$lost")" || fail "the program fails after a loss"
  nothing_to_do "$lost"
done

# TOOL with another name, RUNTIME, and a cache of the project, which a second build uses.
cp "$package/bin/tritonc" "$work/other_tritonc"
for build_of_cache in first second; do
  cached="$work/cached_$build_of_cache"
  : >"$work/launched"
  configure "$project" "$cached" "-DTritonC_LAUNCHER=$work/launcher" "-DTritonC_CACHE_DIR=$work/cache" -DTritonC_CACHE_LIMIT=100M \
    "-DONE_OPTIONS=TOOL;$work/other_tritonc;RUNTIME;TritonC::runtime"
  run_build "$cached"
  grep "other_tritonc compile" "$work/launched" | grep -q -- "--cache-dir $work/cache --cache-limit 100M" ||
    fail "the command has another tool or no cache options"
  "$(program_of "$cached")" || fail "the program of another tool fails"
  nothing_to_do "$cached"
  [ -n "$(find "$work/cache" -type f)" ] || fail "the cache is empty"
done
cmp "$work/cached_first/one.kernels/one.o" "$work/cached_second/one.kernels/one.o" || fail "the cache gives another object"
let_time_pass
touch "$work/other_tritonc"
run_build "$cached"
says "Compiling kernels one"
says_not "Compiling kernels two"

# An interrupted build leaves only complete files, and the next build continues. ptxas waits until the test has sent the
# signal.
tool=$("$package/bin/tritonc" doctor | sed -n 's/^ptxas *\([^ ]*\) (.*/\1/p')
cat >"$work/slow_ptxas" <<EOF
#!/bin/sh
case \$* in
*--version*) ;;
*)
  [ ! -e "$work/slow" ] || : >"$work/started"
  while [ -e "$work/slow" ]; do sleep 0.1; done
  ;;
esac
exec "$tool" "\$@"
EOF
chmod +x "$work/slow_ptxas"
for signal in INT TERM KILL; do
  let_time_pass
  mkdir -p "$work/tmp"
  rm -rf "$work/interrupted"
  configure "$project" "$work/interrupted" "-DTritonC_PTXAS=$work/slow_ptxas"
  rm -f "$work/started"
  touch "$work/slow"
  TMPDIR="$work/tmp" setsid cmake --build "$work/interrupted" --config Release >"$log" 2>&1 &
  child=$!
  until [ -e "$work/started" ]; do
    kill -0 $child 2>/dev/null || fail "the build was over before it was interrupted"
    sleep 0.1
  done
  kill -$signal -- -$child 2>/dev/null || fail "the build was over before it was interrupted"
  wait $child && fail "the interrupted build succeeds"
  [ -z "$(find "$work/interrupted" -name '*.stamp')" ] || fail "there is a stamp after SIG$signal"
  if [ $signal != KILL ]; then
    for ((i = 0; i < 300; i++)); do # tritonc tidies after the build has ended
      [ -n "$(ls "$work/tmp")" ] || break
      sleep 0.1
    done
    [ -z "$(ls "$work/tmp")" ] || fail "SIG$signal leaves $(ls "$work/tmp")"
  fi
  rm "$work/slow"
  run_build "$work/interrupted"
  "$(program_of "$work/interrupted")" || fail "the program fails after SIG$signal"
  nothing_to_do "$work/interrupted"
done

# Two concurrent builds in one folder: tritonc never fails, and the outputs are correct. (`ar` and the linker may read a file
# that the other build writes. Then the next build succeeds.)
let_time_pass
echo '#define FACTOR 7' >"$project/factor.tch"
cmake --build "$build" --config Release >"$work/first" 2>&1 &
first=$!
cmake --build "$build" --config Release >"$work/second" 2>&1 || true
wait $first || true
cat "$work/first" "$work/second" >"$log"
says_not '^error:'
run_build "$build"
"$(program_of "$build")" || fail "the program of two concurrent builds fails"
nothing_to_do "$build"

rm -rf "$work"
