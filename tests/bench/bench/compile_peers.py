"""Other compilers, for a comparison of the cost: Triton, nvcc, CUDA Tile C++. Pure Python.

    Triton           bench/peers/triton_*.py, compiled by bench/peers/triton_compile.py
    CUDA C++         compile_peers/*.cu, compiled by nvcc to a cubin
    CUDA Tile C++    bench/peers/tile_cpp/*.cu, compiled as in tile_cpp_build
"""

import dataclasses
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import tempfile

from bench.peers import Absent
from bench.process import Failed, run

BENCH = pathlib.Path(__file__).resolve().parent.parent
SOURCES = BENCH / "compile_peers"
FLAGS = ("-O3", "-arch=sm_90a", "-cubin")


@dataclasses.dataclass(frozen=True)
class Case:
    """A kernel in about the same configuration for each compiler. All elements are half."""

    variant: dict  # of TritonC
    tile: dict     # macros of CUDA Tile C++
    # triton_compile.py has the configuration of Triton, and compile_peers/*.cu that of CUDA C++.


CASES = {
    "matmul": Case(
        dict(TYPE="half", A="N", B="N", TM="128", TN="128", TK="64"),
        dict(TM=128, TN=128, TK=64, A_TRANSPOSED=0, Y_TRANSPOSED=0, ALIGNED_M=1, ALIGNED_N=8, ALIGNED_K=8,
             PERSISTENT=1, POINTERS=0, WARPS=4, CTAS=1, OCCUPANCY=1)),
    "softmax": Case(
        dict(TYPE="half", SIZE="1024"),
        dict(ROWS=1, BLOCK=1024, WARPS=4, OCCUPANCY=1, ALIGNED=8, LONG=0)),
    "layer_norm": Case(
        dict(TYPE="half", SIZE="1024"),
        dict(ROWS=1, BLOCK=1024, WARPS=4, OCCUPANCY=1, ALIGNED=8)),
    "attention": Case(
        dict(TYPE="half", D="64", SEEN="causal", TM="64", TN="64"),
        dict(DEPTH=64, BM=64, BN=128, CAUSAL=1, LOOPS=1, WARPS=4, OCCUPANCY=2)),
}


def peers(kernel, tools, folder):
    """Peer -> a function that compiles the kernel and returns the core-seconds, or the reason why not."""
    found = {}
    for name, make in {"Triton": triton, "CUDA C++": cuda, "CUDA Tile C++": tile}.items():
        try:
            found[name] = make(kernel, tools, folder)
        except Absent as absent:
            found[name] = str(absent)
    return found


def cuda(kernel, tools, folder):
    source = SOURCES / f"{kernel}.cu"
    if not source.exists():
        raise Absent("the benchmark has CUDA C++ of matmul and softmax only")
    if not tools.nvcc:
        raise Absent("nvcc is not installed")
    return lambda: run([tools.nvcc, *FLAGS, source, "-o", folder / "cuda.cubin"])[0]


def tile(kernel, tools, folder):
    if not tools.tile_nvcc:
        raise Absent("nvcc 13.5 is not installed: run tests/bench/tile_cpp_build")
    arguments = tile_cpp_build().command_of(kernel, "half", CASES[kernel].tile)
    return lambda: run([tools.tile_nvcc, *arguments, "-o", folder / "tile.cubin"])[0]


def tile_nvcc():
    """The path of nvcc for CUDA Tile C++; None if it is not installed."""
    build = tile_cpp_build()
    return build.installed(build.BUILD / "tile_cpp")


def tile_cpp_build():
    """The script, as a module."""
    name = "tile_cpp_build"
    loader = importlib.machinery.SourceFileLoader(name, str(BENCH / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def triton(kernel, tools, folder):
    if not triton_version(tools.python):
        raise Absent("Triton is not installed")

    def compile_it():
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            command = [tools.python, "-B", "-m", "bench.peers.triton_compile", kernel]
            return float(run(command, cwd=BENCH, env={**os.environ, "TRITON_CACHE_DIR": cache})[1])

    return compile_it


def triton_version(python):
    """The version of Triton in this Python; empty if it is not installed."""
    try:
        return run([python, "-c", "import importlib.metadata as m; print(m.version('triton'))"])[1].strip()
    except Failed:
        return ""


def version_of(tool):
    """The version of a tool of the CUDA Toolkit."""
    found = re.search(r"V(\d+\.\d+\.\d+)", run([tool, "--version"])[1])
    return found[1] if found else "unknown"
