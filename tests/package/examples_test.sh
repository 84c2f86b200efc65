#!/bin/bash
# Counts the code blocks and commands of all pages: how many readme_test.sh has run, and why it has not run the others. Fails if a
# page's test has not listed each block of c, cpp, cmake, sh, bash, json and yaml.
#
#   examples_test.sh <our source folder> <folder with the lists, page_*.examples>
set -euo pipefail

cd "$1"
lists=$2
rm -f "$lists/all_examples"
for page in README.md samples/*/README.md $(find docs/pages -name '*.md' | sort); do
  list="$lists/page_${page//[^A-Za-z0-9_]/_}.examples"
  [ -f "$list" ] || { echo "FAILED: no list of the examples of $page" >&2 && exit 1; }
  wanted=$(grep -cE '^ *```(c|cpp|cmake|sh|bash|json|yaml)( |$)' "$page" || true)
  found=$(grep -c '^block' "$list" || true)
  [ "$wanted" = "$found" ] || { echo "FAILED: the test of $page lists $found of $wanted blocks" >&2 && exit 1; }
  cat "$list" >>"$lists/all_examples"
done

count() { # <block or command> <state>
  awk -F '\t' -v kind="$1" -v state="$2" '$1 == kind && index($4, state) == 1 { count++ } END { print count + 0 }' "$lists/all_examples"
}
for kind in block command; do
  echo "${kind}s: $(count $kind run) of $(count $kind '') run, $(count $kind compiled) compiled, $(count $kind 'not here') not run here"
done
echo
echo "blocks per page:"
awk -F '\t' '$1 == "block" {
    sub(/:.*/, "", $2)
    all[$2]++
    run[$2] += $4 ~ /^run/
    elsewhere[$2] += $4 ~ /^run by/
  }
  END { for (page in all) print page ": " run[page] + 0 " of " all[page] " run" (elsewhere[page] ? ", " elsewhere[page] " by end_to_end.language" : "") }' \
  "$lists/all_examples" | sort
echo
echo "not run:"
grep -v '	run' "$lists/all_examples" | cut -f 1,2,4 | sort | uniq -c
rm "$lists/all_examples"
