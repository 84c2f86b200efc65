#!/bin/bash
# One version everywhere: `tritonc --version`, find_package() of both packages, the newest version in CHANGELOG.md, and the
# tag of the commit, if it has a tag.
#
#   version_test.sh <our source folder> <our build folder> <folder to work in>
set -euo pipefail

source=$1 build=$2 work=$3

fail() {
  echo "FAILED: $1" >&2
  exit 1
}

# The newest version of a changelog: its first heading with a number.
newest() { sed -n 's/^## \([0-9][^ ]*\) (.*/\1/p' "$1" | head -n 1; }

# Prints the names whose version is not the first argument. Succeeds if there is none.
different() { # <version> <name=version>...
  local expected=$1 pair found=0
  shift
  for pair in "$@"; do
    [ "${pair#*=}" = "$expected" ] || { echo "${pair%%=*} has version '${pair#*=}', not '$expected'" && found=1; }
  done
  return $found
}

rm -rf "$work"
mkdir -p "$work"
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(version LANGUAGES NONE)
find_package(TritonC ${wanted} EXACT REQUIRED)
file(WRITE "${CMAKE_BINARY_DIR}/versions" "TritonC=${TritonC_VERSION} TritonCRuntime=${TritonCRuntime_VERSION}\n")
END
configure() { # <wanted version>
  cmake -S "$work" -B "$work/$1" "-Dwanted=$1" "-DTritonC_DIR=$build" >"$work/log" 2>&1
}

version=$("$build/bin/tritonc" --version | sed -n 's/^tritonc \([^ ]*\).*/\1/p')
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "tritonc --version prints no version: '$version'"
configure "$version" || { cat "$work/log" >&2 && fail "find_package(TritonC $version EXACT) fails"; }
read -ra packages <"$work/$version/versions"
[ ${#packages[@]} = 2 ] || fail "not two packages: ${packages[*]}"
tags=()
while read -r tag; do
  tags+=("tag $tag=${tag#v}")
done < <(git -C "$source" tag --points-at HEAD --list 'v[0-9]*' 2>/dev/null)
different "$version" "${packages[@]}" "CHANGELOG.md=$(newest "$source/CHANGELOG.md")" "${tags[@]}" >"$work/different" ||
  fail "$(cat "$work/different")"

# Another version is noticed: by find_package(), and by this test.
! configure 99.0.0 || fail "find_package(TritonC 99.0.0 EXACT) succeeds"
printf '# Changelog\n\n## Unreleased\n\n## 99.0.0 (2026-01-31)\n\n## %s (2026-01-01)\n' "$version" >"$work/CHANGELOG.md"
[ "$(newest "$work/CHANGELOG.md")" = 99.0.0 ] || fail "the newest version of a changelog is not its first"
! different "$version" "a=$version" "CHANGELOG.md=99.0.0" >"$work/different" || fail "no difference from 99.0.0"
[ "$(cat "$work/different")" = "CHANGELOG.md has version '99.0.0', not '$version'" ] || fail "$(cat "$work/different")"
rm -rf "$work"
