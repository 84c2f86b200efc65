#!/bin/bash
# Compiles and runs the example of each public header, which stands in the comment at its top.
#
#   header_examples_test.sh <our source folder> <our build folder> <folder to work in> <header>...
#
# The examples use vector_add of kernels/vector_add.tc, compiled as the library `vectors`. They run on the emulator. Each
# `printf(...); // text` must print this text.
set -euo pipefail

source=$1 build=$2 work=$3
shift 3
log="$work/log"

fail() {
  echo "FAILED ($header): $1" >&2
  [ -f "$log" ] && cat "$log" >&2
  exit 1
}

# The block between @code{.<language>} and @endcode before `#pragma once`.
example() { # <header> <language>
  awk -v begin="/// @code{.$2}" '
    /^#pragma once/ { exit }
    $0 == begin { inside = 1; next }
    $0 == "/// @endcode" { exit }
    inside { print substr($0, 5) }' "$1"
}

rm -rf "$work"
mkdir -p "$work"
header=vectors.hpp
"$build/bin/tritonc" compile "$source/kernels/vector_add.tc" --name vectors --variants TYPE=float --arch 90a --emulate 90a \
  --header "$work/vectors.hpp" --c-header "$work/vectors.h" --object "$work/vectors.o" --host-code "$work/libhost_code.a" \
  --registration "$work/registration.cpp" --quiet >"$log" 2>&1 || fail "cannot compile vector_add.tc"

warnings=(-Wall -Wextra -Wpedantic -Werror)
include=(-I "$source/runtime/include" -I "$work")
libraries=("$work/vectors.o" "$work/libhost_code.a" "$build/runtime/libtritonc_runtime.a" -ldl -lpthread)
for header; do
  name=$(basename "$header")
  program="$work/example_${name/./_}"
  if [[ $name == *.hpp ]]; then
    language=cpp command=("${CXX:-c++}" -std=c++20 "${warnings[@]}" "${include[@]}" "$program.cpp")
  else
    language=c command=("${CC:-cc}" -std=c11 "${warnings[@]}" "${include[@]}" "$program.c")
  fi
  if [ "$name" = tuner.hpp ]; then
    command+=(-include vectors.hpp "$work/registration.cpp" "$build/runtime/tuner/libtritonc_tuner_core.a")
  fi
  example "$header" $language >"$program.$language"
  [ -s "$program.$language" ] || fail "no example between @code{.$language} and @endcode"
  "${command[@]}" "${libraries[@]}" -o "$program" >"$log" 2>&1 || fail "the example does not compile"

  TRITONC_DRIVER="$build/lib/libtritonc_emulator.so" "$program" >"$log" 2>&1 || fail "the example fails"
  sed -n 's|.*printf(.*); *// *||p' "$program.$language" >"$program.expected"
  [ -s "$program.expected" ] || fail "no printf with its output in a comment"
  while read -r text; do
    grep -qF -e "$text" "$log" || fail "the example does not print '$text'"
  done <"$program.expected"
done
rm -rf "$work"
