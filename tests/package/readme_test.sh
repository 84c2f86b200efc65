#!/bin/bash
# Runs the shell commands of a page as they stand there, in a folder with the files that the page shows: each line of an indented
# block or a block of `sh`, a line `run: ...` of a block of `yaml`, and words in backticks that start with a program. Then builds
# and runs the page's example. A block with a title, such as ```cpp title="main.cpp", is the file of this name.
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
# <command> is a pattern of the shell. An unused rule is an error.
set -euo pipefail

page=$1 source=$2 package=$3 work=$4
text="$source/$page"
project="$work/project"
log="$work/log"
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

# Writes the blocks with a title to the files of these names.
write_titled() {
  awk -v folder="$project" '
    /^```[a-z]+ title="[^"]+"$/ {
      split($0, part, "\"")
      file = folder "/" part[2]
      system("mkdir -p \"$(dirname \"" file "\")\"")
      printf "" >file
      inside = 1
      next
    }
    /^```$/ { if (inside) close(file); inside = 0 }
    inside { print >file }' "$text"
}

# A line for each command: `block` or `inline`, a tab, the command. Or `error` and a message.
commands() {
  awk '
    function line(kind, command) { gsub(/^ +| +$/, "", command); if (command != "") print kind "\t" command }
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
  for i in $(matching before "$1"); do used[i]=yes && "${rules[3 * i + 2]}"; done
  for i in $(matching change "$1"); do used[i]=yes && command=$(sed "${rules[3 * i + 2]}" <<<"$command"); done
  for i in $(matching emulate "$1"); do used[i]=yes && driver=$emulator; done
  echo "$command"
  (cd "$project" && TRITONC_DRIVER=$driver timeout 300 bash -euo pipefail -c "$command") >"$log" 2>&1 </dev/null || code=$?
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
  awk '/^```cmake$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$text" >>"$project/CMakeLists.txt"
}

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
    rule skip 'TRITONC_UPDATE=1 ctest *' "writes files of the source tree"
    rule change 'build/release/bin/tritonc doctor' 's|^|$HOME/tritonc/|'
    rule prints 'build/release/bin/tritonc doctor' 'ptxas'
    ;;
  docs/pages/contributing/architecture.md)
    rule prints 'tritonc compile sum.tc * --emit tile-ir *' '= add %19, %product'
    rule prints 'tritonc compile sum.tc * --print-after *' '= dot %11, %14, %19'
    rule prints 'tritonc compile sum.tc * --emit ptx -o -' 'mma.sync'
    rule change 'build/release/bin/test_passes *' 's|^|$HOME/tritonc/|'
    rule prints 'build/release/bin/test_passes *' 'SUCCESS'
    rule skip 'tests/run *' "builds and tests TritonC"
    ;;
  docs/pages/tutorial/matmul.md)
    rule prints 'tritonc compile * --explain' "128x256x64 warp-specialized: producer"
    rule prints 'TRITONC_DRIVER=*' "$wanted"
    ;;
  docs/pages/tutorial/prefetch.md) rule prints 'tritonc compile *' "// after unpipeline_loops" ;;
  docs/pages/tutorial/epilogue.md | docs/pages/tutorial/transposition.md)
    rule prints 'TRITONC_DRIVER=*' "$wanted"
    ;;
  docs/pages/tutorial/tuning.md) rule emulate 'tritonc tune *' ;;
  docs/pages/reference/schedules.md)
    rule before 'tritonc compile *' copy_matmul
    rule prints 'tritonc compile *' "warp-specialized, split-K"
    ;;
  docs/pages/performance.md)
    rule skip 'cmake *' "builds TritonC"
    rule skip 'ctest *' "needs a GPU"
    rule skip 'scp *' "needs another machine"
    rule skip 'ssh *' "needs another machine"
    rule change 'bench_matmul --list' 's|^|$HOME/tritonc/build/release/bin/|'
    rule prints 'bench_matmul --list' "big/half NN 16384"
    rule skip 'tests/bench/compile_time.py *' "takes minutes"
    ;;
  docs/pages/reference/emulator.md)
    rule fails 'TRITONC_DRIVER=*.so build/app' "error: race: "
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
    ;;
  docs/pages/how_to/deployment.md)
    rule change 'cmake -S app *' 's|$| -DTritonCRuntime_DIR=$HOME/.local/runtime|' # not installed here
    rule prints build/app/app "my::scale: cannot open"
    rule prints build/app/app 42
    rule skip 'cmake * build/runtime*' "package.install does the same"
    rule prints 'tritonc inspect *' compute_80
    ;;
  docs/pages/how_to/sharding.md)
    rule change 'cmake *launch_again*' 's|lib/cmake/TritonC/||' # not installed here
    rule skip 'salloc *' "needs Slurm"
    rule skip 'sbatch *' "needs Slurm"
    rule before 'tritonc cache *' use_small_cache
    rule prints 'tritonc verify *' "all valid"
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
    ;;
  docs/pages/how_to/testing.md)
    rule fails 'ctest * --output-on-failure' 'saxpy.tc:11:7: error: store of 4 bytes at byte 512 of `y`'
    rule prints 'TRITONC_DRIVER=*.so build/*' "all variants are right"
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

rm -rf "$work"
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
export PATH=$work/bin:$HOME/.local/bin:$package/bin:$PATH
if [[ $page == samples/* ]]; then
  cp -r "$source/$(dirname "$page")/." "$project"
else
  block cmake 'project(' >"$project/CMakeLists.txt"
  block cpp 'int main' >"$project/main.cpp"
  block c '#pragma tritonc' >"$project/scale.tc"
  write_titled
fi
if [[ $page == README.md || $page == docs/pages/index.md ]]; then # parts of a project
  cp "$source/tests/package/readme/example/"* "$project"
  block cmake find_package >>"$project/CMakeLists.txt"
  block cpp '#include' >"$project/launch.cpp"
fi

has_build=
while IFS=$'\t' read -r kind command; do
  [ "$kind" != error ] || fail "$command"
  [ "$kind" = block ] || is_program "$command" || continue
  plain=$(sed 's/  *#.*//' <<<"$command")
  if matching skip "$plain" >"$work/matches"; then
    for i in $(cat "$work/matches"); do used[i]=yes && echo "skipped: $plain: ${rules[3 * i + 2]}"; done
  elif [ "$kind" = block ] || ! is_mention "$command"; then
    run_command "$plain"
    [[ $plain != 'cmake --build'* ]] || has_build=yes
  fi
done < <(commands)
for i in "${!used[@]}"; do
  [ "${used[i]}" ] || fail "no command for the rule: ${rules[*]:3*i:3}"
done

# A page with an example and no commands: get_started.md has the commands.
if [ -s "$project/CMakeLists.txt" ] && [ -z "$has_build" ] && [[ $page != samples/* ]]; then
  [ -n "$wanted" ] || fail "expected a comment with the output after the last printf"
  sed -i 's/ARCHITECTURES 80 90a/& EMULATE ON/' "$project/CMakeLists.txt"
  rule prints 'TRITONC_DRIVER=*' "$wanted"
  run_command 'cmake -S . -B build -G Ninja -DCMAKE_PREFIX_PATH=$HOME/.local'
  run_command 'cmake --build build'
  run_command 'TRITONC_DRIVER=$HOME/.local/lib/libtritonc_emulator.so build/app'
fi
rm -rf "$work"
