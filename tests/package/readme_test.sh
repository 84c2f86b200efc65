#!/bin/bash
# Runs the shell commands of a page as they stand there, in a folder with the files that the page shows: each line of an indented
# block or a block of `sh`, a line `run: ...` of a block of `yaml`, and words in backticks that start with a program. Then builds
# and runs the page's example. A block with a title, such as ```cpp title="main.cpp", is the file of this name. Later blocks with
# the same title are appended.
#
# Each block of c, cpp, cmake, sh, bash, json and yaml must be in use: a command runs it or reads its file, and a program launches
# its kernels. The file <folder to work in>.examples lists the blocks and commands. examples_test.sh counts them.
#
#   readme_test.sh <page, such as samples/c/README.md> <our source folder> <our build folder> <folder to work in>
#
# Each command must succeed. A command for which this is not enough, or too much, has a rule below:
#
#   rule prints  <command> <text>        its output has this text
#   rule fails   <command> <text>        it fails, and its output has this text
#   rule emulate <command>               it needs a GPU: here it gets the emulator
#   rule change  <command> <sed script>  a placeholder, or an example that takes too long here
#   rule before  <command> <function>    prepares what the text around the command says
#   rule skip    <command> <reason>      is not run
#
# Two rules are for blocks that the page's commands do not use:
#
#   rule launch  <file.tc> <problems>    `tritonc check` launches its kernels on the emulator. `arguments: problems` adds arguments
#                                        to triton_add_kernels()
#   rule part    <text> <function>       a part of a file: the function compiles it
#
# <command>, <file.tc> and <text> are patterns of the shell. An unused rule is an error.
set -euo pipefail

page=$1 source=$2 package=$3 work=$4
text="$source/$page"
project="$work/project"
log="$work/log"
used_blocks="$work/used_blocks" # line, file
commands_run="$work/commands_run"
commands_skipped="$work/commands_skipped" # reason, command
emulator="$package/lib/libtritonc_emulator.so"

fail() {
  echo "FAILED ($page): $1" >&2
  [ -f "$log" ] && cat "$log" >&2
  exit 1
}

rules=() # kind, command, argument, kind, ...
used=()
rule() {
  rules+=("$1" "$2" "${3-}")
  used+=("")
}

# Prints the arguments of the rules of this kind for a command, and succeeds if there are any.
matching() { # <kind> <command>
  local i found=1
  for i in "${!used[@]}"; do
    if [ "${rules[3 * i]}" = "$1" ] && [[ $2 == ${rules[3 * i + 1]} ]]; then
      echo "$i"
      found=0
    fi
  done
  return $found
}

# The first block of this language with this word.
block() { # <language> <word>
  awk -v fence="\`\`\`$1" -v word="$2" '
    $0 == fence { inside = 1; code = ""; next }
    /^```$/ { if (inside && index(code, word)) { printf "%s", code; exit } inside = 0 }
    inside { code = code $0 "\n" }' "$text"
}

# The block that begins at a line of the page.
block_at() { awk -v line="$1" 'NR > line && /^```$/ { exit } NR > line' "$text"; } # <line>

# Adds the first block of this language with this word to a file.
use_block() { # <language> <word> <file>
  awk -v fence="\`\`\`$1" -v word="$2" -v file="$3" '
    $0 == fence { inside = NR; code = ""; next }
    /^```$/ { if (inside && index(code, word)) { print inside "\t" file; exit } inside = 0 }
    inside { code = code $0 "\n" }' "$text" >>"$used_blocks"
  block "$1" "$2" >>"$3"
}

# Writes the blocks with a title to the files of these names.
write_titled() {
  awk -v folder="$project" -v used="$used_blocks" '
    /^```[a-z]+ title="[^"]+"$/ {
      split($0, part, "\"")
      file = folder "/" part[2]
      system("mkdir -p \"$(dirname \"" file "\")\"")
      print NR "\t" file >>used
      inside = 1
      next
    }
    /^```$/ { if (inside) close(file); inside = 0 }
    inside { print >>file }' "$text"
}

# A line for each command: `block` or `inline`, the line where its block begins, the command, with tabs between. Or `error`, 0 and
# a message.
commands() {
  awk '
    function line(kind, command) { gsub(/^ +| +$/, "", command); if (command != "") print kind "\t" fence + 0 "\t" command }
    function end_paragraph() {
      while (match(paragraph, /`[^`]+`/)) {
        line("inline", substr(paragraph, RSTART + 1, RLENGTH - 2))
        paragraph = substr(paragraph, RSTART + RLENGTH)
      }
      paragraph = ""
    }
    function add(command) {
      if (sub(/\\$/, "", command)) { begun = begun command; return }
      line("block", begun command)
      begun = ""
    }
    /^```/ {
      end_paragraph()
      in_fence = !in_fence
      fence = in_fence ? NR : 0
      if (in_fence && $0 == "```") line("error", "line " NR ": write the language of the block, such as ```text")
      in_shell = in_fence && /^```(sh|bash|console)$/
      in_yaml = in_fence && /^```yaml/
      next
    }
    in_shell { add($0) }
    in_yaml && sub(/^ *(- )?run: /, "") { add($0) }
    in_fence { next }
    /^    / && (after_blank || in_block) { end_paragraph(); in_block = 1; add(substr($0, 5)); next }
    { in_block = 0; after_blank = /^[ \t]*$/ }
    after_blank || /^\|/ { end_paragraph() }
    { paragraph = paragraph " " $0 }
    END { end_paragraph() }' "$text"
}

is_program() { # <words in backticks>: a program with arguments
  local -a words
  read -ra words <<<"$1"
  while [[ ${words[0]-} == *=* ]]; do words=("${words[@]:1}"); done
  [ ${#words[@]} -gt 1 ] || [[ ${words[0]-} == build/* && $1 == *=* ]] || return 1
  case ${words[0]} in
    tritonc | cmake | ctest | ninja | make | apt-get | pip | python3 | srun | sbatch | salloc | ncu | cuobjdump | [A-Za-z.~]*/*) ;;
    *) return 1 ;;
  esac
  [[ ${words[0]} != *[^A-Za-z0-9_./-]* ]]
}

# `tritonc bench --json` without operands names a command and its options. names_test.sh checks that they exist.
is_mention() { # <command>
  local -a words
  local word
  read -ra words <<<"$1"
  [[ ${words[0]} == tritonc && ${words[1]} != -* ]] || return 1
  for word in "${words[@]:2}"; do [[ $word == -* ]] || return 1; done
}

run_command() { # <command>
  local command=$1 i code=0 driver=/nowhere
  for i in $(matching before "$1"); do used[i]=yes && ${rules[3 * i + 2]}; done
  for i in $(matching change "$1"); do used[i]=yes && command=$(sed "${rules[3 * i + 2]}" <<<"$command"); done
  for i in $(matching emulate "$1"); do used[i]=yes && driver=$emulator; done
  echo "$command"
  echo "$command" >>"$commands_run"
  (cd "$project" && TRITONC_DRIVER=$driver timeout 1500 bash -euo pipefail -c "$command") >"$log" 2>&1 </dev/null || code=$?
  cat "$log" >>"$work/output"
  ! grep -q WRONG "$log" || fail "\`$1\` prints WRONG"
  local may_fail=
  for i in $(matching fails "$1"); do
    used[i]=yes
    may_fail=yes
    [ $code -ne 0 ] || fail "\`$1\` succeeds"
    grep -qF "${rules[3 * i + 2]}" "$log" || fail "\`$1\` does not print '${rules[3 * i + 2]}'"
  done
  [ $code -eq 0 ] || [ "$may_fail" ] || fail "\`$1\` fails with exit code $code"
  for i in $(matching prints "$1"); do
    used[i]=yes
    grep -qF "${rules[3 * i + 2]}" "$log" || fail "\`$1\` does not print '${rules[3 * i + 2]}'"
  done
}

emulate_kernels() { sed -i 's/ARCHITECTURES 80 90a/& EMULATE ON/' "$project/CMakeLists.txt"; }
use_small_cache() { export TRITONC_CACHE_DIR=$work/cache; } # keeps the developer's cache
carry_tuner() { cp "$project/build/scale_tuner" "$project"; }
copy_matmul() { cp "$source/kernels/matmul.tc" "$source/kernels/matmul_layouts.tch" "$project"; }
link_build_folder() { mkdir "$project/build" && ln -s "$package" "$project/build/release"; }

# All examples of the page in one project.
append_cmake() {
  awk -v used="$used_blocks" -v file="$project/CMakeLists.txt" '
    /^```cmake$/ { inside = 1; print NR "\t" file >>used; next } /^```$/ { inside = 0 } inside' "$text" >>"$project/CMakeLists.txt"
}

prepare() { (cd "$project" && "$@") >"$log" 2>&1 </dev/null || fail "\`$*\` fails"; } # <command>...

# Puts the calls of a block of cmake in place of the calls of the same function and target, or at the end. Then builds.
update() { # <word in the block> <build folder> <CMakeLists.txt>
  local file="$project/$3"
  rm -f "$work/part.txt"
  use_block cmake "$1" "$work/part.txt"
  sed -i "s|\t$work/part.txt$|\t$file|" "$used_blocks"
  awk '
    { call = call $0 "\n"; depth += gsub(/\(/, "(") - gsub(/\)/, ")") }
    depth == 0 {
      name = call
      sub(/[ )\n].*/, "", name)
      if (NR == FNR) { new[name] = call; names[++count] = name }
      else if (name != "" && name in new) { printf "%s", new[name]; placed[name] = 1 }
      else printf "%s", call
      call = ""
    }
    END { for (i = 1; i <= count; i++) if (!(names[i] in placed)) printf "%s", new[names[i]] }' "$work/part.txt" "$file" >"$work/new.txt"
  mv "$work/new.txt" "$file"
  prepare cmake --build "$2"
}

tune_by_cmake() {
  update PARTS build CMakeLists.txt
  prepare env "TRITONC_DRIVER=$emulator" cmake --build build --target tune_scale_tuner
}

# The program with all parts of docs/pages/how_to/deployment.md: a bundle, and a log.
deploy_bundle() {
  update my_kernels_test build/kernels kernels/CMakeLists.txt
  sed -i '/my_kernels SOURCES/ s/)$/ EMBED BUNDLE PTX AUTO)/' "$project/kernels/CMakeLists.txt"
  prepare cmake --build build/kernels
  prepare cmake --install build/kernels --prefix product
  sed -i 's/add_executable(app main.cpp)/add_executable(app main.cpp log.cpp)/' "$project/app/CMakeLists.txt"
  sed -i 's/^int main() {/void start_log();\n&\n  start_log();/' "$project/app/main.cpp"
  update triton_place_bundles build/app app/CMakeLists.txt
  [ -f "$project/build/app/my_kernels.tcb" ] || fail "no bundle next to the program"
  prepare build/app/app
  grep -qx '.*set TRITONC_DRIVER to the path of its library' "$log" || fail "no log"
}

# Compiles a part of a kernel between these declarations and statements. A line with a comment `error: text` or `warning: text` must
# have this message, and no other line has one.
compile_part() { # <part> <declarations> [<statements>]
  local number wanted
  printf '__global__ void part(%s\n%s\n%s\n}\n' "$2" "$1" "${3-}" >"$work/part.tc"
  tritonc compile "$work/part.tc" --arch 80 --emit tile-ir -o /dev/null --cache-dir off >"$log" 2>&1 || true
  while IFS=: read -r number wanted; do
    grep -F "part.tc:$number:" "$log" | grep -qF "$wanted" || fail "the compiler does not print '$wanted' in line $number"
  done < <(sed -n '/\/\/ \(error\|warning\): /{=;s|.*// ||p}' "$work/part.tc" | paste -d: - -)
  # Without the errors.
  sed '/\/\/ error: /d' "$work/part.tc" >"$work/right.tc"
  prepare tritonc compile "$work/right.tc" --arch 80 --emit tile-ir -o /dev/null --cache-dir off
  [ "$(grep -c 'right.tc:.* warning: ' "$log")" = "$(grep -c '// warning: ' "$work/part.tc")" ] || fail "warnings differ"
}
floats_part() { compile_part "$1" 'float *p, int n) {'; }
halves_part() { compile_part "$1" 'half *p, int ld __multipleof(8), half *q) {' '*(q + i[:, newaxis] * 16 + j[newaxis, :]) = slow + fast;'; }
no_parameters_part() { compile_part "$1" ') {'; }

# Launches the statements of docs/pages/how_to/testing.md. Their comments have the output.
run_statements() { # <part>
  local folder="$project/assert_print" line
  cp -r "$source/tests/package/readme/assert_print" "$project"
  printf '%s\n}\n' "$1" >>"$folder/part.tc"
  prepare cmake -S assert_print -B assert_print/build -G Ninja "-DCMAKE_PREFIX_PATH=$HOME/.local"
  prepare cmake --build assert_print/build
  prepare env "TRITONC_DRIVER=$emulator" assert_print/build/app
  while IFS= read -r line; do
    grep -qxF "$line" "$log" || fail "the kernel does not print: $line"
  done < <(sed -n 's|.*// \(program .*\)|\1|p' <<<"$1")
  awk '/^now/ { after = 1 } /whole tiles/ && after { fails++ } /whole tiles/ && !after { exit 1 } END { exit !fails }' "$log" ||
    fail "not the right assertions fail"
}

# The program that fills the constant memory of docs/pages/language/constant_memory.md.
fill_weights() { # <part>
  cp "$source/tests/package/readme/constant_memory/"* "$project"
  block c weights >"$project/filters.tc"
  echo "$1" >"$project/part.inc"
  prepare cmake -S . -B build -G Ninja "-DCMAKE_PREFIX_PATH=$HOME/.local"
  prepare cmake --build build
  prepare env "TRITONC_DRIVER=$emulator" build/app
  grep -qx '1 3 2 1' "$log" || fail "wrong sums"
}

# Launches the kernels of a file. No reference: `tritonc check` compares the variants.
launch_kernels() { # <file.tc> <problems>
  local arguments=
  [[ $2 != *:* ]] || arguments=${2%%:*}
  mkdir -p "$project/launch_$1"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(launch LANGUAGES CXX)' 'find_package(TritonC REQUIRED)' \
    "triton_add_kernels(kernels SOURCES \"$project/$1\" ARCHITECTURES 80 90a EMULATE ON $arguments)" \
    'triton_add_tuner(tuner FROM kernels)' >"$project/launch_$1/CMakeLists.txt"
  prepare cmake -S "launch_$1" -B "launch_$1/build" -G Ninja "-DCMAKE_PREFIX_PATH=$HOME/.local"
  prepare cmake --build "launch_$1/build"
  prepare env "TRITONC_DRIVER=$emulator" tritonc check "launch_$1/build/tuner" --problems "${2#*:}"
}

rm -rf "$work" "$work.examples"
wanted=$(block cpp 'int main' | sed -n 's|.*printf(.*); *// *||p' | tail -n 1)
case $page in
  README.md)
    wanted="42 42"
    rule skip samples/run "builds everything; the tests of the samples run the same commands"
    rule before 'cmake --install build/release *' link_build_folder
    ;;
  docs/pages/index.md) wanted="42 42" ;;
  docs/pages/get_started.md)
    rule skip 'samples/run*' "builds everything; the tests of the samples run the same commands"
    rule skip cmake/setup.sh "installs packages"
    rule skip 'cmake *--preset release*' "builds TritonC"
    rule skip 'tests/run*' "builds and tests TritonC"
    rule prints 'tritonc doctor' "ptxas"
    rule fails build/app "driver"
    rule prints 'TRITONC_DRIVER=* build/app' 42
    ;;
  docs/pages/contributing/index.md)
    rule skip cmake/setup.sh "installs packages"
    rule skip 'cmake *--preset release*' "builds TritonC"
    rule skip 'tests/run*' "builds and tests TritonC"
    rule skip 'TRITONC_UPDATE=1 tests/run *' "writes files of the source tree"
    rule change 'build/release/bin/tritonc doctor' 's|^|$HOME/tritonc/|'
    rule prints 'build/release/bin/tritonc doctor' 'ptxas'
    ;;
  docs/pages/contributing/architecture.md)
    rule launch sum.tc 'GRID 1: a,b,c=256'
    rule prints 'tritonc compile sum.tc * --emit tile-ir *' '= add %19, %product'
    rule prints 'tritonc compile sum.tc * --print-after *' '= dot %11, %14, %19'
    rule prints 'tritonc compile sum.tc * --emit ptx -o -' 'mma.sync'
    if [ -x "${package%/*}/checked/bin/test_passes" ]; then
      rule change 'build/checked/bin/test_passes *' "s|^build|${package%/*}|"
      rule prints 'build/checked/bin/test_passes *' 'SUCCESS'
    else
      rule skip 'build/checked/bin/test_passes *' "the preset checked is not built"
    fi
    rule skip 'tests/run *' "builds and tests TritonC"
    ;;
  docs/pages/tutorial/matmul.md)
    rule prints 'tritonc compile * --explain' "128x256x64 warp-specialized: producer"
    rule prints 'TRITONC_DRIVER=*' "$wanted"
    ;;
  docs/pages/tutorial/prefetch.md)
    rule prints 'tritonc compile *' "// after unpipeline_loops"
    rule launch prefetched.tc 'VARIANTS TYPE=half DEFINES TM=64 TN=64 TK=32: M,N=128; K,lda=96; ldb,ldc=N; A=M*K; B=K*N; C=M*N'
    ;;
  docs/pages/tutorial/epilogue.md)
    rule prints 'TRITONC_DRIVER=*' "$wanted"
    rule launch masked.tc 'VARIANTS TYPE=half: M=70; N=136; K=40; lda=K; ldb,ldr,ldc=N; A=M*K; B=K*N; scale=M; R,C=M*N'
    ;;
  docs/pages/tutorial/transposition.md) rule prints 'TRITONC_DRIVER=*' "$wanted" ;;
  docs/pages/tutorial/tuning.md) rule emulate 'tritonc tune *' ;;
  docs/pages/reference/schedules.md)
    rule before 'tritonc compile *' copy_matmul
    rule prints 'tritonc compile *' "warp-specialized, split-K"
    ;;
  docs/pages/performance.md)
    rule skip 'cmake *' "builds TritonC"
    rule skip 'rsync *' "needs another machine"
    rule skip 'ssh *' "needs another machine"
    rule change 'tests/bench/run list *' "s|^|PYTHONDONTWRITEBYTECODE=1 $source/|"
    rule prints 'tests/bench/run list *' "softmax/fixed/M="
    rule skip 'tests/bench/run compile *' "takes minutes"
    ;;
  docs/pages/reference/emulator.md)
    rule fails 'TRITONC_DRIVER=*.so build/app' "error: race: "
    rule change 'TRITONC_DRIVER=*.so build/app' 's|^|TRITONC_EMULATOR=workers=1 |' # prints the report of the page
    rule prints '* TRITONC_EMULATOR=races=off,workers=1 build/app' 100
    rule prints '* TRITONC_EMULATOR=order=* build/app' 100
    ;;
  docs/pages/reference/runtime.md)
    rule prints 'TRITONC_DRIVER=*' 1024
    rule skip '* driver_facts driver_facts_images' "needs a GPU"
    rule skip 'ctest -R driver_facts' "needs a GPU"
    rule skip 'ncu *' "needs a GPU and Nsight Compute"
    ;;
  docs/pages/how_to/ci.md)
    rule skip 'apt-get *' "installs packages"
    rule skip 'sh install_tritonc.sh' "builds TritonC"
    rule emulate build_gpu/scale_test_program
    rule before 'cp build/kernels.kernels/*' 'update MANIFEST build CMakeLists.txt'
    rule before 'cmake -S . -B build_gpu *' 'update sarif build CMakeLists.txt'
    ;;
  docs/pages/how_to/deployment.md)
    rule change 'cmake -S app *' 's|$| -DTritonCRuntime_DIR=$HOME/.local/runtime|' # not installed here
    rule prints build/app/app "my::scale: cannot open"
    rule prints build/app/app 42
    rule skip 'cmake * build/runtime*' "package.install does the same"
    rule before 'tritonc inspect *' deploy_bundle
    rule prints 'tritonc inspect *' compute_80
    ;;
  docs/pages/how_to/sharding.md)
    rule change 'cmake *launch_again*' 's|lib/cmake/TritonC/||' # not installed here
    rule skip 'salloc *' "needs Slurm"
    rule skip 'sbatch *' "needs Slurm"
    rule before 'tritonc cache *' use_small_cache
    rule prints 'tritonc verify *' "all valid"
    rule launch scale.tc 'VARIANTS TYPE=float SIZE=128,512: x,y=n; n=1000; factor=2'
    ;;
  docs/pages/how_to/tuning.md)
    rule before 'cmake -S *' emulate_kernels
    rule change 'tritonc * build/scale_tuner --problems *' 's/10000000/2000/' # slow on the emulator
    rule emulate 'tritonc * build/scale_tuner *'
    rule emulate build/app
    rule prints build/app "kernels::scale<float>: SIZE "
    rule prints 'tritonc bench build/scale_tuner *' "slower than the best by"
    rule before './scale_tuner *' carry_tuner
    rule emulate './scale_tuner *'
    rule prints 'tritonc inspect *' "problems of n"
    rule before 'tritonc report *' tune_by_cmake
    ;;
  docs/pages/how_to/testing.md)
    rule fails 'ctest * --output-on-failure' 'saxpy.tc:11:7: error: store of 16 bytes at byte 4 of `y`'
    rule prints 'TRITONC_DRIVER=*.so build/*' "all variants are right"
    rule before 'TRITONC_EMULATOR=order=*' 'update random_order build CMakeLists.txt'
    rule part '*print("step"*' run_statements
    rule fails 'TRITONC_EMULATOR=fail=*' "out of memory on the device (cuMemAlloc)"
    ;;
  docs/pages/reference/cmake.md)
    rule before 'cmake -S *' append_cmake
    rule prints 'ctest *' "100% tests passed"
    ;;
  docs/pages/reference/command_line.md)
    rule before 'tritonc cache *' use_small_cache
    rule before 'cmake -S *' emulate_kernels
    rule emulate 'tritonc * build/scale_tuner *'
    rule prints 'tritonc bench *' "slower than the best by"
    rule prints 'tritonc check *' "all variants agree"
    ;;
  docs/pages/reference/diagnostics.md)
    rule part '*slow*' halves_part
    rule part '*newaxis*' floats_part
    rule part '*64 / 2*' no_parameters_part
    ;;
  docs/pages/language/constant_memory.md) rule part '*set_weights*' fill_weights ;;
  samples/matmul/README.md)
    rule skip '*' "takes minutes; package.Ninja builds and runs it with fewer variants"
    ;;
  samples/*) rule prints 'TRITONC_DRIVER=*' "TritonC emulator" ;;
esac
case $page in
  samples/c/README.md | samples/inference/README.md) rule prints 'build/*' "no GPU here" ;;
  samples/tensor_parallel/README.md)
    rule prints 'build/*' "no GPU here"
    rule skip 'pip install *' "downloads a large package"
    ;;
  samples/tuning/README.md)
    rule prints '* && build/choices' "no GPU here"
    rule skip '* tune_softmax_tuner' "needs a GPU"
    ;;
esac

mkdir -p "$project" "$work/home/tritonc/build" "$work/bin"
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$HOME/.cache} # keep the cache of kernels
export HOME=$work/home CUDA_VISIBLE_DEVICES=
unset TRITONC_EMULATOR
ln -s "$package" "$HOME/tritonc/build/release"
# These pages install TritonC themselves. For other pages the build folder is as good.
[[ $page == README.md || $page == docs/pages/get_started.md ]] || ln -s "$package" "$HOME/.local"
# In place of Slurm: runs the command here.
printf '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n' >"$work/bin/srun"
chmod +x "$work/bin/srun"
touch "$used_blocks" "$commands_run" "$commands_skipped" "$work/output" "$work/lines_run" "$work/examples"
export PATH=$work/bin:$HOME/.local/bin:$package/bin:$PATH
if [[ $page == samples/* ]]; then
  cp -r "$source/$(dirname "$page")/." "$project"
else
  use_block cmake 'project(' "$project/CMakeLists.txt"
  use_block cpp 'int main' "$project/main.cpp"
  [[ $page == docs/pages/language/* ]] || use_block c '#pragma tritonc' "$project/scale.tc"
  write_titled
fi
if [[ $page == README.md || $page == docs/pages/index.md ]]; then # parts of a project
  cp "$source/tests/package/readme/example/"* "$project"
  use_block cmake find_package "$project/CMakeLists.txt"
  use_block cpp '#include' "$project/launch.cpp"
fi

has_build=
while IFS=$'\t' read -r kind line command; do
  [ "$kind" != error ] || fail "$command"
  [ "$kind" = block ] || is_program "$command" || continue
  plain=$(sed 's/  *#.*//' <<<"$command")
  if matching skip "$plain" >"$work/matches"; then
    for i in $(cat "$work/matches"); do used[i]=yes; done
    echo "skipped: $plain: ${rules[3 * i + 2]}"
    printf '%s\t%s\t%s\n' "$line" "${rules[3 * i + 2]}" "$plain" >>"$commands_skipped"
  elif [ "$kind" = block ] || ! is_mention "$command"; then
    run_command "$plain"
    echo "$line" >>"$work/lines_run"
    [[ $plain != 'cmake --build'* ]] || has_build=yes
  fi
done < <(commands)

# A page with an example and no commands: get_started.md has the commands.
if [ -s "$project/CMakeLists.txt" ] && [ -z "$has_build" ] && [[ $page != samples/* ]]; then
  [ -n "$wanted" ] || fail "expected a comment with the output after the last printf"
  sed -i 's/ARCHITECTURES 80 90a/& EMULATE ON/' "$project/CMakeLists.txt"
  rule prints 'TRITONC_DRIVER=*' "$wanted"
  run_command 'cmake -S . -B build -G Ninja -DCMAKE_PREFIX_PATH=$HOME/.local'
  run_command 'cmake --build build'
  run_command 'TRITONC_DRIVER=$HOME/.local/lib/libtritonc_emulator.so build/app'
fi

# ---- every block is in use ----

blocks() { # line, language
  awk '/^ *```/ {
    inside = !inside
    language = $0
    gsub(/^ *```| .*/, "", language)
    if (inside && language ~ /^(c|cpp|cmake|sh|bash|json|yaml)$/) print NR "\t" language }' "$text"
}

declare -A state is_reached # by line, by file
while IFS=$'\t' read -r line reason _; do state[$line]="not here: $reason"; done <"$commands_skipped"
while read -r line; do state[$line]=run; done <"$work/lines_run"

# Files that a command reads, and files that these files name.
reached="$work/reached" reached_programs="$work/reached_programs"
cp "$commands_run" "$reached"
touch "$reached_programs"
names_file() { # <text> <file>
  local folder
  folder=$(dirname "${2#"$project/"}")
  case $2 in
    */CMakeLists.txt) grep -qE -e "-S ${folder/#./\\.}( |$)" "$1" ;;
    *) grep -qwF "$(basename "$2")" "$1" ;;
  esac
}
changed=yes
while [ "$changed" ]; do
  changed=
  while IFS=$'\t' read -r line file; do
    [ -z "${is_reached[$file]-}" ] && names_file "$reached" "$file" || continue
    is_reached[$file]=yes changed=yes
    cat "$file" >>"$reached"
    [[ $file != *.cpp ]] || cat "$file" >>"$reached_programs"
  done <"$used_blocks"
done
while IFS=$'\t' read -r line file; do
  if [ "${is_reached[$file]-}" ]; then
    state[$line]=run
  elif [ -z "${state[$line]-}" ] && names_file "$commands_skipped" "$file"; then
    state[$line]="not here: $(grep -wF "$(basename "$file")" "$commands_skipped" | cut -f 2 | head -n 1)"
  fi
done <"$used_blocks"

for file in "${!is_reached[@]}"; do
  [[ $file == *.tc ]] || continue
  name=${file#"$project/"}
  if matching launch "$name" >"$work/matches"; then
    for i in $(cat "$work/matches"); do used[i]=yes && launch_kernels "$name" "${rules[3 * i + 2]}"; done
  elif ! grep -qE '^tritonc (tune|bench|check) ' "$commands_run"; then
    for kernel in $(sed -n 's/^__global__ void \([a-z_0-9]*\)(.*/\1/p' "$file"); do
      grep -qw "$kernel" "$reached_programs" || fail "nothing launches the kernel \`$kernel\` of $name"
    done
  fi
done

while IFS=$'\t' read -r line language; do
  if [ -z "${state[$line]-}" ]; then
    part=$(block_at "$line")
    if [[ $page == docs/pages/language/* && $language == c ]]; then
      state[$line]="run by end_to_end.language.emulated_language"
    elif matching part "$part" >"$work/matches"; then
      read -r i <"$work/matches"
      used[i]=yes
      "${rules[3 * i + 2]}" "$part"
      [[ ${rules[3 * i + 2]} == *_part ]] && state[$line]=compiled || state[$line]=run
    fi
  fi
  [ "${state[$line]-}" ] || fail "line $line: nothing uses this block of $language"
  printf 'block\t%s:%s\t%s\t%s\n' "$page" "$line" "$language" "${state[$line]}" >>"$work/examples"
done < <(blocks)

# Reports of the emulator are as the page's commands print them.
while IFS= read -r line; do
  grep -qxF -- "$line" "$work/output" || fail "no command prints: $line"
done < <(awk '/^```text$/ { inside = 1; report = ""; next }
  /^```$/ { if (inside && index(report, "[kernel ")) printf "%s", report; inside = 0 }
  inside { report = report $0 "\n" }' "$text")

for i in "${!used[@]}"; do
  [ "${used[i]}" ] || fail "no command for the rule: ${rules[*]:3*i:3}"
done

while read -r _; do printf 'command\t%s\tsh\trun\n' "$page"; done <"$work/lines_run" >>"$work/examples"
while IFS=$'\t' read -r _ reason _; do
  printf 'command\t%s\tsh\tnot here: %s\n' "$page" "$reason"
done <"$commands_skipped" >>"$work/examples"
mv "$work/examples" "$work.examples"
rm -rf "$work"
