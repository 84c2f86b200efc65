"""cuBLASLt, called with ctypes: of its first heuristics for a shape, the fastest.

cuBLASLt's matrices are column by column. A matrix that is row by row is its transpose there, so these
functions compute c^T = y^T a^T.
"""

import ctypes
import functools
import math

import torch

from bench.peers import Absent

LIBRARY = "libcublasLt.so.13"  # PyTorch has loaded it
HEURISTICS = 16
WORKSPACE_BYTES = 32 << 20

# Values of library_types.h, cublas_api.h and cublasLt.h.
TYPES = {torch.float32: 0, torch.float64: 1, torch.float16: 2, torch.int8: 3, torch.int32: 10,
         torch.bfloat16: 14, torch.float8_e4m3fn: 28, torch.float8_e5m2: 29}
COMPUTE_32F, COMPUTE_64F, COMPUTE_32I = 68, 70, 72
DESC_TRANSA, DESC_TRANSB, DESC_EPILOGUE, DESC_BIAS_POINTER, DESC_FAST_ACCUM = 3, 4, 7, 8, 25
LAYOUT_BATCH_COUNT, LAYOUT_BATCH_OFFSET = 5, 6
PREFERENCE_WORKSPACE, PREFERENCE_ALIGNMENT = 1, (5, 6, 7, 8)  # of A, B, C, D
EPILOGUE_BIAS = 4
EPILOGUES = {"none": 0, "relu": 2, "gelu": 32}  # without a bias, "none" is 1
OP_T = 1
NOT_SUPPORTED = 15  # CUBLAS_STATUS_NOT_SUPPORTED


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t"""

    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace_bytes", ctypes.c_size_t),
                ("state", ctypes.c_int), ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


@functools.cache
def library():
    code = ctypes.CDLL(LIBRARY)
    code.cublasLtMatmul.argtypes = [ctypes.c_void_p] * 14 + [ctypes.c_size_t, ctypes.c_void_p]
    return code


def call(name, *arguments):
    status = getattr(library(), name)(*arguments)
    if status:
        raise RuntimeError(f"{name} returned status {status}")


def created(kind, *arguments):
    """A new object of cuBLASLt. It lives until the process ends."""
    result = ctypes.c_void_p()
    call(f"cublasLt{kind}Create", ctypes.byref(result), *arguments)
    return result


def set_attribute(kind, target, attribute, value):
    size = ctypes.c_size_t(ctypes.sizeof(value))
    call(f"cublasLt{kind}SetAttribute", target, attribute, ctypes.byref(value), size)


@functools.cache
def handle():
    return created("")


@functools.cache
def workspace():
    return torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")


def layout(x):
    """The layout in memory, column by column, and whether a product must transpose it to use x^T."""
    rows, columns = x.shape[-2:]
    if x.stride(-1) == 1:
        height, width, distance, transpose = columns, rows, x.stride(-2), False
    elif x.stride(-2) == 1:
        height, width, distance, transpose = rows, columns, x.stride(-1), True
    else:
        raise Absent("cuBLASLt needs matrices with adjacent elements along a row or a column")
    result = created("MatrixLayout", ctypes.c_int(TYPES[x.dtype]), ctypes.c_uint64(height),
                     ctypes.c_uint64(width), ctypes.c_int64(max(distance, height)))
    if x.dim() == 3:
        set_attribute("MatrixLayout", result, LAYOUT_BATCH_COUNT, ctypes.c_int32(x.shape[0]))
        set_attribute("MatrixLayout", result, LAYOUT_BATCH_OFFSET, ctypes.c_int64(x.stride(0)))
    return result, transpose


def alignment(tensors):
    """The alignment of all matrices in bytes, at most 256."""
    places = [x.data_ptr() for x in tensors]
    if tensors[0].dim() == 3:
        places.append(tensors[0].stride(0) * tensors[0].element_size())
    return math.gcd(256, *places)


def product(b, a, y, c, bias=None, function="none", residual=None):
    """c = f(a y + bias) + residual, for lists of matrices, or of batches of matrices.

    The function "gelu" is cuBLASLt's approximation with tanh. cuBLASLt adds the residual before the
    function. With both, PyTorch adds the residual in a second kernel.
    """
    kind = a[0].dtype
    if kind not in TYPES:
        raise Absent(f"cuBLASLt has no product of {kind}")
    compute, scale, number = {torch.float64: (COMPUTE_64F, torch.float64, ctypes.c_double),
                              torch.int8: (COMPUTE_32I, torch.int32, ctypes.c_int32)}.get(
        kind, (COMPUTE_32F, torch.float32, ctypes.c_float))
    added, after = (residual, None) if function == "none" else (None, residual)

    operation = created("MatmulDesc", ctypes.c_int(compute), ctypes.c_int(TYPES[scale]))
    (first, transpose_first), (second, transpose_second) = layout(y[0]), layout(a[0])
    (result, by_columns), source = layout(c[0]), layout((added or c)[0])[0]
    if by_columns:
        raise Absent("this peer writes c row by row only")
    for attribute, transpose in ((DESC_TRANSA, transpose_first), (DESC_TRANSB, transpose_second)):
        if transpose:
            set_attribute("MatmulDesc", operation, attribute, ctypes.c_int32(OP_T))
    epilogue = EPILOGUES[function] | (EPILOGUE_BIAS if bias is not None else 0) or 1
    set_attribute("MatmulDesc", operation, DESC_EPILOGUE, ctypes.c_int32(epilogue))
    if bias is not None:
        set_attribute("MatmulDesc", operation, DESC_BIAS_POINTER, ctypes.c_void_p(bias.data_ptr()))
    if kind in (torch.float8_e4m3fn, torch.float8_e5m2):
        set_attribute("MatmulDesc", operation, DESC_FAST_ACCUM, ctypes.c_int8(1))

    preference = created("MatmulPreference")
    set_attribute("MatmulPreference", preference, PREFERENCE_WORKSPACE, ctypes.c_uint64(WORKSPACE_BYTES))
    for attribute, tensors in zip(PREFERENCE_ALIGNMENT, (y, a, added or c, c)):
        set_attribute("MatmulPreference", preference, attribute, ctypes.c_uint32(alignment(tensors)))
    found, count = (Heuristic * HEURISTICS)(), ctypes.c_int()
    status = library().cublasLtMatmulAlgoGetHeuristic(handle(), operation, first, second, source, result,
                                                      preference, HEURISTICS, found, ctypes.byref(count))
    usable = [each for each in found[:count.value] if each.state == 0]
    if status not in (0, NOT_SUPPORTED):
        raise RuntimeError(f"cublasLtMatmulAlgoGetHeuristic returned status {status}")
    if not usable:
        raise Absent("cuBLASLt has no algorithm for these types, layouts and epilogue")

    one, beta = number(1), number(1 if added else 0)
    pointers = [[x.data_ptr() for x in tensors] for tensors in (y, a, added or c, c)]
    kept = (a, y, c, bias, residual)  # the tensors must stay alive

    def launch_of(heuristic):
        multiply, space, algorithm = library().cublasLtMatmul, workspace().data_ptr(), heuristic.algorithm

        def launch(i):
            status = multiply(handle(), operation, ctypes.byref(one), pointers[0][i], first, pointers[1][i],
                              second, ctypes.byref(beta), pointers[2][i], source, pointers[3][i], result,
                              ctypes.byref(algorithm), space, WORKSPACE_BYTES, 0)
            if status:
                raise RuntimeError(f"cublasLtMatmul returned status {status}")
            if after:
                c[i].add_(after[i])

        launch.kept = kept
        return launch

    return b.fastest(launch_of(each) for each in usable)
