#!/bin/bash
# Installs the missing build dependencies of TritonC. Prints nothing if none is missing. You can run
# it again at any time.
#
#   Debian packages    with apt-get, as root or with sudo
#   ptxas, fatbinary   if there is no CUDA Toolkit: NVIDIA's wheel from PyPI, unpacked to build/cuda
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages=(g++ make cmake ninja-build ccache lld-22 llvm-22-dev llvm-22-tools libclang-22-dev clang-format-22
  clang-22 libclang-rt-22-dev python3-venv doxygen
  libboost-context-dev libzstd-dev zlib1g-dev libcli11-dev doctest-dev libjemalloc-dev)
cuda_wheel='nvidia-cuda-nvcc==13.0.*'

fail() {
  echo "setup: $1" >&2
  exit 3
}

missing_packages() {
  local installed package
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qx "$package installed" <<<"$installed" || echo "$package"
  done
}

install_packages() {
  local missing as_root=()
  command -v dpkg-query >/dev/null ||
    fail "this is not a Debian system; install the equivalents of: ${packages[*]}"
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "run this as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get -qq update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null ||
    fail "apt-get could not install ${missing[*]}; LLVM 22 comes from Debian 12's security updates or from apt.llvm.org"
}

# Searches the same folders as tritonc.
has_cuda_program() {
  local folder
  for folder in "${CUDA_HOME:+$CUDA_HOME/bin}" "${CUDA_PATH:+$CUDA_PATH/bin}" /usr/local/cuda/bin "$root/build/cuda/bin"; do
    [ -n "$folder" ] && [ -x "$folder/$1" ] && return
  done
  command -v "$1" >/dev/null
}

fetch_cuda_programs() {
  if [ -n "${TRITONC_PTXAS:-}" ] || { has_cuda_program ptxas && has_cuda_program fatbinary; }; then
    return
  fi
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3 python3-pip
  echo "setup: no CUDA Toolkit found, fetching ptxas and fatbinary from PyPI ($cuda_wheel)"
  local unpacked=$root/build/cuda/unpacked
  rm -rf "$unpacked"
  mkdir -p "$unpacked" "$root/build/cuda/bin"
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$unpacked" "$cuda_wheel" ||
    fail "PyPI could not be reached; install the CUDA Toolkit 12.4 or later, or set CUDA_HOME to where it is"
  python3 -m zipfile -e "$unpacked"/*.whl "$unpacked"
  local program
  for program in ptxas fatbinary; do
    chmod +x "$unpacked/nvidia/cu13/bin/$program"
    mv "$unpacked/nvidia/cu13/bin/$program" "$root/build/cuda/bin/$program"
  done
  rm -rf "$unpacked"
}

install_packages "${packages[@]}"
fetch_cuda_programs
