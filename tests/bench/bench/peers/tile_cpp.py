"""CUDA Tile C++: kernels that nvcc compiled ahead of time, see tests/bench/tile_cpp_build.

Loads the cubins with the CUDA driver, called with ctypes. Each function returns the launch of the fastest
configuration of those that fit the shape.
"""

import ctypes
import functools
import json
import math
import pathlib

import torch

from bench.build import TYPES, first_line
from bench.peers import Absent
from bench.peers.verify import verified

FOLDER = "tile_cpp"  # in the folder of the kernels
LONG_COLUMNS = 16384  # from this number of columns on, kernels that read a row twice are timed, too
LOG2_E = math.log2(math.e)
MISSING = "the cubins of CUDA Tile C++ were not built: run tests/bench/tile_cpp_build"


@functools.cache
def table(folder):
    """The entries of kernels.json, or None if there is no such file."""
    path = pathlib.Path(folder) / FOLDER / "kernels.json"
    return json.loads(path.read_text(encoding="utf-8"))["kernels"] if path.exists() else None


def entries(b, kernel, dtype, **macros):
    """The configurations of a kernel with these values of macros. Raises Absent if it is not built."""
    if b.prepares:
        raise Absent("the kernels are compiled ahead of time")
    found = table(str(b.library.folder))
    if found is None:
        raise Absent(MISSING)
    if torch.cuda.get_device_capability() != (9, 0):
        raise Absent("the cubins of CUDA Tile C++ are for Hopper GPUs only")
    kind = next(name for name, each in TYPES.items() if each == dtype)
    of_kernel = [each for each in found if (each["kernel"], each["type"]) == (kernel, kind)]
    if not of_kernel:
        raise Absent(f"the benchmark has no {kernel} of {kind} in CUDA Tile C++")
    return [each for each in of_kernel if all(each[name] == value for name, value in macros.items())]


@functools.cache
def driver():
    return ctypes.CDLL("libcuda.so.1")


def checked(name, *arguments):
    """Calls a function of the driver. Raises RuntimeError if it fails."""
    code = getattr(driver(), name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        driver().cuGetErrorName(code, ctypes.byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'').decode() or code}")


@functools.cache
def function(path, name):
    """The function of a cubin, in PyTorch's context."""
    torch.cuda.current_stream().synchronize()  # creates the context of this thread
    module, found = ctypes.c_void_p(), ctypes.c_void_p()
    checked("cuModuleLoadData", ctypes.byref(module), pathlib.Path(path).read_bytes())
    checked("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
    return found


def launches(b, entry, grid, *arguments):
    """A launch per buffer set. An argument is a list of tensors, an integer (32 bits) or a float."""
    code = function(str(pathlib.Path(b.library.folder) / FOLDER / entry["file"]), entry["function"])
    sets = max(len(each) for each in arguments if isinstance(each, list))
    dimensions = [ctypes.c_uint(each) for each in (*grid, *[1] * (3 - len(grid)), 1, 1, 1, 0)]
    kept = []
    for i in range(sets):
        values = [ctypes.c_void_p(each[i].data_ptr()) if isinstance(each, list)
                  else ctypes.c_float(each) if isinstance(each, float) else ctypes.c_uint32(each)
                  for each in arguments]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        kept.append((pointers, values))
    call = driver().cuLaunchKernel

    def launch(i):
        if call(code, *dimensions, None, kept[i][0], None):
            checked("cuLaunchKernel", code, *dimensions, None, kept[i][0], None)

    launch.kept = kept, arguments
    return launch


def fastest(b, makers):
    """The fastest of launch(0), of functions that make a launch. A cubin that does not load is left out."""
    def made():
        for make in makers:
            try:
                yield make()
            except RuntimeError as error:
                failures.append(first_line(error))

    failures = []
    try:
        return b.fastest(made())
    except Absent:
        raise Absent(f"no configuration runs: {failures[0] if failures else 'each launch failed'}") from None


def is_dense(x):
    """Whether the matrix has no gaps, row by row or column by column."""
    return x.is_contiguous() or x.t().is_contiguous()


def fitting_products(found, m, n, k):
    """The configurations whose promises hold: those with all promises for TMA, or else all others."""
    sizes = dict(ALIGNED_M=m, ALIGNED_N=n, ALIGNED_K=k)
    holds = [each for each in found if all(size % each[name] == 0 for name, size in sizes.items())]
    most = max(each["ALIGNED_N"] for each in holds)
    return [each for each in holds if each["ALIGNED_N"] == most]


def product(b, a, y, c):
    """c = a y, for lists of matrices. c is row by row."""
    transposed = [int(x[0].stride(-1) != 1) for x in (a, y)]
    found = entries(b, "matmul", a[0].dtype, A_TRANSPOSED=transposed[0], Y_TRANSPOSED=transposed[1])
    if a[0].dim() != 2 or not all(is_dense(x[0]) for x in (a, y)) or not c[0].is_contiguous():
        raise Absent("the kernel multiplies matrices without gaps")
    (m, k), n = a[0].shape, y[0].shape[1]
    processors = torch.cuda.get_device_properties(0).multi_processor_count

    def launch_of(entry):
        blocks = -(-m // entry["TM"]) * -(-n // entry["TN"])
        if entry["PERSISTENT"]:  # the grid counts groups of CTAS
            blocks = min(blocks, processors * entry["OCCUPANCY"] // entry["CTAS"])
        return launches(b, entry, (blocks,), a, y, c, m, n, k)

    return fastest(b, [lambda entry=entry: launch_of(entry) for entry in fitting_products(found, m, n, k)])


def fitting_rows(found, columns, size):
    """The configurations for rows of so many columns, whose elements have `size` bytes."""
    aligned = 16 // size if columns * size % 16 == 0 else 1
    found = [each for each in found if each["ALIGNED"] == aligned]
    whole = [each for each in found if not each.get("LONG") and each["BLOCK"] >= columns]
    least = min((each["BLOCK"] for each in whole), default=0)
    long = [each for each in found if each.get("LONG") and columns >= LONG_COLUMNS]
    return [each for each in whole if each["BLOCK"] == least] + long


def of_rows(b, kernel, x, y, *arguments):
    rows, columns = x[0].shape
    found = fitting_rows(entries(b, kernel, x[0].dtype), columns, x[0].element_size())
    if not found:
        raise Absent("the kernel keeps a row in registers: at most 65536 columns")

    def launch_of(entry):
        return launches(b, entry, (-(-rows // entry["ROWS"]),), *arguments)

    best = fastest(b, [lambda entry=entry: launch_of(entry) for entry in found])
    y[0].fill_(float("nan"))  # for the test of the result
    return best


def softmax(b, x, y):
    return of_rows(b, "softmax", x, y, x, y, *x[0].shape)


def layer_norm(b, x, gain, bias, y, epsilon):
    return of_rows(b, "layer_norm", x, y, x, gain, bias, y, *x[0].shape, float(epsilon))


def fitting_attention(found, rows, keys):
    return [each for each in found if (each["LOOPS"] or keys % each["BN"] == 0)
            and (each["BM"] > 16 or rows <= 16) and each["BM"] <= max(rows, 64)]


def attention(b, q, k, v, o, scale, causal, error):
    """q and o are B x H x M x D, k and v are B x KV x N x D. `error` is a function of the output of set 0."""
    (batches, heads, m, d), (_, shared, n, _) = q[0].shape, k[0].shape
    found = entries(b, "attention", q[0].dtype, DEPTH=d, CAUSAL=int(causal))
    if causal and m > n:
        raise Absent("the kernel needs a key for each query")
    # Without a mask, the queries of all heads that share a head of k are queries of one head.
    rows, group = (m, heads // shared) if causal else (m * heads // shared, 1)
    if batches * shared * group > 65535:
        raise Absent("the kernel has at most 65535 heads")

    def launch_of(entry):
        grid = (-(-rows // entry["BM"]), batches * shared * group)
        return launches(b, entry, grid, q, k, v, o, grid[1], rows, n, group, scale * LOG2_E)

    best = fastest(b, [lambda entry=entry: launch_of(entry) for entry in fitting_attention(found, rows, n)])
    o[0].fill_(float("nan"))
    return verified(best, lambda: error(o[0]), limit=2)
