#!/bin/bash
# Compares the names on the pages with the names that exist: options of tritonc, warnings, environment variables, CMake functions
# and their keywords, functions of the C and C++ API. Each name on a page must exist. docs/pages/reference must have each option,
# warning, environment variable, CMake function and keyword.
#
#   names_test.sh <our source folder> <our build folder> <folder to work in>
#
# Tests itself: readme/names.md has a wrong name of each kind beside a right name, and the reference loses a name of each kind.
set -euo pipefail

work=$3
PATH=$2/bin:$PATH
rm -rf "$work"
mkdir -p "$work"
cd "$1"

# ---- the names that exist ----

words() { grep -rhoE "$@" | sort -u; } # <pattern> <file or folder>...
for command in $(tritonc --help | sed -n '/^Subcommands/,$s/^  \([a-z]*\) .*/\1/p'); do
  tritonc "$command" --help | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr , '\n' | sed "s/^/option $command /"
done >"$work/reference"
(tritonc compile none.tc -Wnone 2>&1 || true) | sed 's/.*known warnings: //; s/, /\n/g' | sed 's/^/warning /' >>"$work/reference"
words '"TRITONC_[A-Z_]+"' generator runtime | sed 's/"//g; s/^/variable /' >>"$work/reference"
awk '/^function\(triton_/ { sub(/.*\(/, ""); sub(/[ )].*/, ""); name = $0; print "function", name }
  /^ +"(flag|one|some|any) [A-Z_]+/ { sub(/^ *"[a-z]+ /, ""); sub(/[ ")].*/, ""); print "keyword", name, $0 }' \
  cmake/*.cmake runtime/*.cmake >>"$work/reference"
{
  cat "$work/reference"
  words 'TRITONC_[A-Z0-9_]+' runtime/include/tritonc/runtime.h cmake runtime/*.cmake | sed 's/^/variable /'
  words 'getenv\("TRITONC_[A-Z_]+' tests | sed 's/.*"/variable /'
  words 'TritonC_[A-Z_a-z]+' cmake runtime/*.cmake CMakeLists.txt tests --include=*.cmake* --include=CMakeLists.txt |
    sed 's/^/variable /'
  words 'tritonc_[a-z0-9_]+' runtime/include/tritonc/runtime.h cmake runtime tests --include=runtime.h --include=CMakeLists.txt |
    sed 's/^/api /'
  words '[a-z][a-z0-9_]*' runtime/include/tritonc/*.hpp | sed 's/^/api tritonc::/'
  words '"--[a-z-]+' tests/bench | sed 's/"/option tests\/bench\/run /'
  words '[A-Za-z_][A-Za-z0-9_]*' generator runtime cmake kernels samples | sed 's/^/word /'
  tritonc --help | sed -n 's/^  \(--[^ ]*\).*/option tritonc \1/p'
  # -Werror, other programs, examples, and a message that begins like a keyword.
  printf 'warning error\noption docker --gpus\noption srun --exact\nvariable TRITONC_REPOSITORY\ncommand tile\nkeyword LLVM\n'
  printf 'word %s\n' BLOCK_SIZE_K GROUP_SIZE_M CUDA_CACHE_PATH BINARY_VERSION PTX_VERSION atomic_add_float_64x64 \
    filters_filter_set_weights
} >"$work/known"

wrong_names() { awk -v known="$work/known" -f tests/package/names.awk "$@"; } # <page>...

# ---- the names that the reference has ----

missing_names() { # <folder of the reference>
  local kind of name
  while read -r kind of name; do
    case $kind in
      option) grep -qE "^\|[^|]*\`$name([ \`]|no-)" "$1/command_line.md" || echo "no row for option $name" ;;
      warning) grep -qE -e "-W(no-)?$of\b" "$1"/*.md || echo "no warning $of" ;;
      variable) grep -q "^| \`$of\`" "$1"/*.md || echo "no row for variable $of" ;;
      function) grep -q "^## \`$of()\`" "$1/cmake.md" || echo "no heading for $of" ;;
      keyword)
        awk -v heading="## \`$of()\`" -v row="| \`$name\` " '/^## / { inside = $0 == heading }
          inside && index($0, row) == 1 { found = 1 } END { exit !found }' "$1/cmake.md" || echo "no row for keyword $of $name"
        ;;
    esac
  done < <(grep -vE ' (-h|--help)$' "$work/reference" | sort -u) | sort -u
}

# ---- the test ----

failed=
expect() { # <file with the expected output> <description> <command>...
  local expected=$1 what=$2
  shift 2
  "$@" >"$work/found"
  diff "$expected" "$work/found" >&2 || { echo "FAILED: $what" >&2 && failed=yes; }
}
mapfile -t pages < <(printf '%s\n' README.md samples/*/README.md && find docs/pages -name '*.md' | sort)
expect /dev/null "the pages have these names, which do not exist" wrong_names "${pages[@]}"
expect /dev/null "docs/pages/reference lacks these names" missing_names docs/pages/reference

expect tests/package/readme/names.txt "the test must find these wrong names" wrong_names tests/package/readme/names.md
cp -r docs/pages/reference "$work/shorter"
sed -i -e '/^| `\(--seed N\|PARTS\|TRITONC_PTXAS\)`/d' -e 's/-W\(no-\)\?spills/-w/g' -e '/^## `triton_place_bundles()`/d' "$work/shorter"/*.md
printf '%s\n' "no heading for triton_place_bundles" "no row for keyword triton_add_tuner PARTS" "no row for option --seed" \
  "no row for variable TRITONC_PTXAS" "no warning spills" >"$work/lost"
expect "$work/lost" "the test must find these missing names" missing_names "$work/shorter"
[ -z "$failed" ] || exit 1
