"""Triton: reductions along an axis and their places, tuned over tiles and strips.

x[p, q, k] is at x + p * xp + q * xq + k * xk; k is the reduced axis. LAST: xk is 1. Otherwise xq is 1.
"""

import torch
import triton
import triton.language as tl

SMS = torch.cuda.get_device_properties(0).multi_processor_count if torch.cuda.is_available() else 132


@triton.jit
def load_tile(x, p, q, k, Q, end, xp, xq, xk, OTHER, LAST: tl.constexpr, WHOLE: tl.constexpr):
    """The elements (p, q, k), as float; OTHER outside. WHOLE: no k is outside. A mask along k would split
    the loads of a vector whose length is odd."""
    inside = (q[:, None] < Q) & (k[None, :] >= 0)
    if not WHOLE:
        inside = inside & (k[None, :] < end)
    if LAST:
        places = x + p.to(tl.int64) * xp + q.to(tl.int64)[:, None] * xq + k[None, :]
    else:
        places = x + p.to(tl.int64) * xp + k.to(tl.int64)[None, :] * xk + q[:, None]
    return tl.load(places, mask=inside, other=OTHER).to(tl.float32)


@triton.jit
def joined(result, value, OP: tl.constexpr):
    if OP == "sum":
        return result + value
    elif OP == "max":
        return tl.maximum(result, value)
    else:
        return tl.minimum(result, value)


@triton.jit
def reduce_kernel(x, y, Q, K, xp, xq, xk, yp, ys, strip, OP: tl.constexpr, LAST: tl.constexpr,
                  BQ: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    """Program (n, s, p) reduces strip s of BQ results: y[p * yp + s * ys + q]."""
    p, s = tl.program_id(2), tl.program_id(1)
    q = tl.program_id(0) * BQ + tl.arange(0, BQ)
    nothing = 0.0
    if OP == "max":
        nothing = -float("inf")
    if OP == "min":
        nothing = float("inf")
    result = tl.full([BQ, BK], nothing, tl.float32)
    k = tl.arange(0, BK)
    end = tl.minimum(s * strip + strip, K)
    whole = end - (end - s * strip) % BK
    for first in tl.range(s * strip, whole, BK, num_stages=STAGES):
        value = load_tile(x, p, q, first + k, Q, end, xp, xq, xk, nothing, LAST, True)
        result = joined(result, value, OP)
    if whole < end:
        value = load_tile(x, p, q, whole + k, Q, end, xp, xq, xk, nothing, LAST, False)
        result = joined(result, value, OP)
    if OP == "sum":
        along = tl.sum(result, axis=1)
    elif OP == "max":
        along = tl.max(result, axis=1)
    else:
        along = tl.min(result, axis=1)
    tl.store(y + p.to(tl.int64) * yp + s * ys + q, along.to(y.dtype.element_ty), mask=q < Q)


@triton.jit
def argmax_kernel(x, y, index, Q, K, xp, xq, xk, yp, OF: tl.constexpr, LAST: tl.constexpr,
                  BQ: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    """Program (n, p) finds BQ elements; of equal ones the first."""
    p = tl.program_id(1)
    q = tl.program_id(0) * BQ + tl.arange(0, BQ)
    nothing = -float("inf") if OF == "max" else float("inf")
    nowhere = 0x7FFFFFFF
    best = tl.full([BQ, BK], nothing, tl.float32)
    at = tl.full([BQ, BK], nowhere, tl.int32)
    for first in tl.range(0, K, BK, num_stages=STAGES):
        k = first + tl.arange(0, BK)
        value = load_tile(x, p, q, k, Q, K, xp, xq, xk, nothing, LAST, False)
        better = value > best if OF == "max" else value < best
        best = tl.where(better, value, best)
        at = tl.where(better, k[None, :], at)
    found = tl.max(best, axis=1) if OF == "max" else tl.min(best, axis=1)
    place = tl.min(tl.where(best == found[:, None], at, nowhere), axis=1)
    tl.store(y + p.to(tl.int64) * yp + q, found.to(y.dtype.element_ty), mask=q < Q)
    tl.store(index + p.to(tl.int64) * yp + q, place, mask=q < Q)


def tiles(last, q, k):
    """The tiles to try, as arguments of a kernel."""
    found = {}
    for area, warps, stages in ((1024, 4, 1), (4096, 4, 2), (8192, 8, 3)):
        for columns in (1, 4, 16, 64) if last else (32, 128, 512):
            bq = min(columns, triton.next_power_of_2(q))
            bk = min(area // bq, triton.next_power_of_2(k))
            found[bq, bk, warps] = dict(LAST=last, BQ=bq, BK=bk, STAGES=stages, num_warps=warps)
    return found.values()


def strips(programs, k, block):
    """The lengths of the strips of k to try: all of it, and such that there are enough programs."""
    lengths = {k}
    for wanted in (4 * SMS, 16 * SMS):
        count = min(-(-wanted // programs), k // (4 * block))
        if count > 1:
            lengths.add(-(-k // count // block) * block)
    return lengths


def strides(x, last):
    """(p, q, k) and the strides of x, which has the axes (P, Q, K) if `last`, else (P, K, Q).

    The stride of an axis of one element is 0: Triton then knows that all strides are aligned.
    """
    p, q, k = x.shape if last else (x.shape[0], x.shape[2], x.shape[1])
    xp, xq = q * k if p > 1 else 0, k if q > 1 else 0
    return (p, q, k), (xp, xq, 1) if last else (xp, 1, q)


def reduce(b, op, x, y, last):
    """y (P x Q) = the sum, max or min of x. In one pass, or in two: first strips, then their results."""
    (p, q, k), steps = strides(x[0], last)

    def launch_of(tile, strip):
        across, count = triton.cdiv(q, tile["BQ"]), triton.cdiv(k, strip)

        def one_pass(i):
            reduce_kernel[across, 1, p](x[i], y[i], q, k, *steps, q, 0, k, OP=op, **tile)

        if count == 1:
            return one_pass
        parts = torch.empty((p, count, q), dtype=torch.float32, device=x[0].device)
        bq = min(64, triton.next_power_of_2(q))
        bk = min(2048 // bq, triton.next_power_of_2(count))
        second = dict(OP=op, LAST=q == 1, BQ=bq, BK=bk, STAGES=1, num_warps=4)

        def two_passes(i):
            reduce_kernel[across, count, p](x[i], parts, q, k, *steps, count * q, q, strip, OP=op, **tile)
            results = triton.cdiv(q, bq)
            reduce_kernel[results, 1, p](parts, y[i], q, count, count * q, 1, q, q, 0, count, **second)

        return two_passes

    return b.fastest(launch_of(tile, strip) for tile in tiles(last, q, k)
                     for strip in strips(p * triton.cdiv(q, tile["BQ"]), k, tile["BK"]))


def argmax(b, of, x, y, index, last):
    """y and index (P x Q) = the max or min of x, and its place."""
    (p, q, k), steps = strides(x[0], last)

    def launch_of(tile):
        def launch(i):
            argmax_kernel[triton.cdiv(q, tile["BQ"]), p](x[i], y[i], index[i], q, k, *steps, q, OF=of, **tile)

        return launch

    return b.fastest(launch_of(tile) for tile in tiles(last, q, k))
