#!/bin/bash
# Builds the documentation site, which must load nothing from the network, and must mark its tables
# of text for narrow screens. Then breaks a copy, which must stop the build: a link of a page, and a
# public function without a comment.
#
#   docs_test.sh SOURCE_FOLDER WORK_FOLDER
#
# Exit code: 0 = passed, 1 = a failure, 77 = skipped (MkDocs or Doxygen is missing).
set -euo pipefail

source=$1 work=$2
fail() {
  echo "FAILED: $1" >&2
  exit 1
}

"$source/docs/build"
! grep -rnoE '(src|<link[^>]* href)="https?:[^"]*"' "$source/build/site" --include='*.html' ||
  fail "pages load files from the network"
grep -q 'data-heading="Cure: "' "$source/build/site/reference/diagnostics.html" ||
  fail "the cells of a table of text have no headings"
! grep -q 'data-heading="Half of the processes: "' "$source/build/site/performance.html" ||
  fail "the cells of a table of numbers have headings"

rm -rf "$work"
mkdir -p "$work/build"
cp -r "$source/docs" "$work"
ln -s "$source/build/docs" "$work/build/docs" # MkDocs
mkdir "$work/runtime"
cp -r "$source/runtime/include" "$work/runtime" # the API pages show the public headers
echo "[broken](missing.md)" >>"$work/docs/pages/glossary.md"
! "$work/docs/build" 2>"$work/log" || fail "a broken link does not stop the build"
grep -q "missing.md" "$work/log" || fail "the message does not name the link: $(cat "$work/log")"

cp "$source/docs/pages/glossary.md" "$work/docs/pages"
echo "void tritonc_undocumented(void);" >>"$work/runtime/include/tritonc/runtime.h"
! "$work/docs/build" 2>"$work/log" || fail "a function without a comment does not stop the build"
grep -q "tritonc_undocumented" "$work/log" || fail "the message does not name the function: $(cat "$work/log")"
rm -rf "$work"
