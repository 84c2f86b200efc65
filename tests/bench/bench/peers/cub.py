"""CUB: reductions of one vector. nvcc compiles cub.cu at the first use."""

import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess

import torch

from bench.build import first_line
from bench.peers import Absent

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
USUAL = "/usr/local/cuda/bin/nvcc"


@functools.cache
def built():
    """The library, or the reason why there is none. ~/.cache keeps it, because the build takes a minute."""
    nvcc = shutil.which("nvcc") or (USUAL if os.path.exists(USUAL) else None)
    if nvcc is None:
        return "there is no nvcc to compile CUB"
    gpu = "%d%d" % torch.cuda.get_device_capability()
    version = subprocess.run([nvcc, "--version"], capture_output=True).stdout
    digest = hashlib.sha256(SOURCE.read_bytes() + version).hexdigest()[:16]
    path = pathlib.Path.home() / ".cache" / "tritonc-bench" / f"cub-{gpu}-{digest}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        command = [nvcc, "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", draft, SOURCE]
        compiler = subprocess.run(command, capture_output=True, text=True)
        if compiler.returncode:
            return f"nvcc cannot compile CUB: {first_line(compiler.stderr)}"
        os.replace(draft, path)
    return ctypes.CDLL(str(path))


def launches(function, arguments, length):
    """A launch of function(storage, size, tensor ..., length, stream) with temporary storage."""
    library = built()
    if isinstance(library, str):
        raise Absent(library)
    call = getattr(library, f"cub_{function}")
    call.restype = ctypes.c_int
    call.argtypes = [*[ctypes.c_void_p] * (2 + len(arguments)), ctypes.c_int, ctypes.c_void_p]
    size = ctypes.c_size_t()

    def run(storage, pointers):
        error = call(storage, ctypes.byref(size), *pointers, length, None)
        if error:
            raise RuntimeError(f"CUB's error {error}")

    pointers = [tuple(each.data_ptr() for each in tensors) for tensors in zip(*arguments)]
    run(None, pointers[0])
    storage = torch.empty(size.value, dtype=torch.uint8, device="cuda")
    kept = arguments  # the tensors must stay alive

    def launch(i):
        run(storage.data_ptr(), pointers[i])

    launch.kept = kept
    return launch


def reduce(op, kind, x, y):
    """y = the sum, max or min of x."""
    return launches(f"{op}_{kind}", (x, y), x[0].numel())


def argmax(of, kind, x, y, index):
    """y = the max or min of x, and its index (int32)."""
    return launches(f"arg{of}_{kind}", (x, y, index), x[0].numel())
