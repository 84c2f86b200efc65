"""cuBLAS through PyTorch: the algorithm is cuBLAS's own choice for the shape."""

import torch

from bench.peers import Absent
from bench.peers.pytorch import launches

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def product(a, y, c):
    """c = a y, for lists of matrices, or of batches of matrices."""
    if a[0].dtype in FLOAT8:
        return float8(a, y, c)
    if a[0].dtype == torch.uint8:
        raise Absent("cuBLAS has no product of unsigned 8-bit integers")
    multiply = torch._int_mm if a[0].dtype == torch.int8 else torch.bmm if a[0].dim() == 3 else torch.mm
    return launches(lambda a, y, c: multiply(a, y, out=c), a, y, c)


def float8(a, y, c):
    """The product with the fast sums of the tensor cores, which our kernel uses, too."""
    if a[0].dtype == torch.float8_e5m2:
        raise Absent("cuBLAS has no product of two matrices of e5m2")
    if a[0].stride(-1) != 1 or y[0].stride(0) != 1:
        raise Absent("cuBLAS multiplies 8-bit floats on Hopper only if both operands are contiguous along K")
    one = torch.ones((), device=a[0].device)

    def multiply(a, y, c):
        return torch._scaled_mm(a, y, one, one, out_dtype=c.dtype, use_fast_accum=True, out=c)

    return launches(multiply, a, y, c)
