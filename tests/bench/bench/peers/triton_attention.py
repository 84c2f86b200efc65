"""Fused attention in Triton, in the manner of its tutorial: a program computes BM queries of a head.

Tensor descriptors copy the tiles of Q, K and V, which ends at the last query and the last key.
"""

import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from bench.peers import Absent
from bench.peers.verify import verified

SHARED_BYTES = 227 * 1024
LOG2_E = 1.4426950408889634


@triton.jit
def over_keys(acc, top, total, queries, k, v, head, last, begin, end, N, scale, MASKED: tl.constexpr,
              CAUSAL: tl.constexpr, D: tl.constexpr, BN: tl.constexpr):
    """One pass over the keys from `begin` to `end`. Query i sees the keys up to last[i].

    acc is the sum of the values with the weights 2^(score - top), total is the sum of the weights.
    """
    for first in tl.range(begin, end, BN):
        keys = k.load([head, first, 0]).reshape(BN, D)
        scores = tl.dot(queries, keys.T)
        if MASKED:
            key = first + tl.arange(0, BN)
            seen = key[None, :] < N
            if CAUSAL:
                seen = seen & (key[None, :] <= last[:, None])
            scores = tl.where(seen, scores, -float("inf"))
        larger = tl.maximum(top, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - larger[:, None])
        shrunk = tl.exp2(top - larger)
        total = total * shrunk + tl.sum(weights, 1)
        values = v.load([head, first, 0]).reshape(BN, D)
        acc = tl.dot(weights.to(values.dtype), values, acc * shrunk[:, None])
        top = larger
    return acc, top, total


@triton.jit(do_not_specialize=["M", "N", "group"])
def attention_kernel(q, k, v, o, scale, M, N, group, CAUSAL: tl.constexpr, WHOLE: tl.constexpr,
                     D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """WHOLE: N is a multiple of BN. `group` heads of q share a head of k and v."""
    tile = tl.program_id(0)
    if CAUSAL:
        tile = tl.num_programs(0) - 1 - tile  # the programs with the most keys first
    head, first = tl.program_id(1), tile * BM
    head_of_k = head // group
    row = first + tl.arange(0, BM)
    last = row + (N - M)
    queries = q.load([head, first, 0]).reshape(BM, D)
    top = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = N
    if CAUSAL:
        end = tl.minimum(first + BM + N - M, N)
    common = end // BN * BN
    if CAUSAL:
        common = tl.minimum(first + N - M + 1, N) // BN * BN  # all queries see the keys before it
    acc, top, total = over_keys(acc, top, total, queries, k, v, head_of_k, last, 0, common, N, scale,
                                False, CAUSAL, D, BN)
    acc, top, total = over_keys(acc, top, total, queries, k, v, head_of_k, last, common, end, N, scale,
                                True, CAUSAL, D, BN)
    places = o + (head.to(tl.int64) * M + row)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(places, (acc / total[:, None]).to(o.dtype.element_ty), mask=row[:, None] < M)


def configurations(rows, d):
    """(BM, BN, warps, stages). Shared memory holds Q, and K and V per stage."""
    tiles = [(64, 64, 4), (64, 128, 4), (128, 64, 4), (128, 128, 4), (128, 64, 8), (128, 128, 8)]
    tiles += [(16, 64, 4), (16, 128, 4)] * (rows <= 16)
    return [(bm, bn, warps, stages) for bm, bn, warps in tiles for stages in (2, 3, 4)
            if bm <= max(rows, 64) and 2 * d * (bm + 2 * stages * bn) <= SHARED_BYTES]


def attention(b, q, k, v, o, scale, causal, error):
    """The fastest configuration. `error` is a function of the output of set 0.

    q and o are B x H x M x D, k and v are B x KV x N x D. The kernel needs a key for each query.
    """
    (batches, heads, m, d), (_, shared, n, _) = q[0].shape, k[0].shape
    if causal and m > n:
        raise Absent("the kernel needs a key for each query")
    heads_of_k = batches * shared
    # Without a mask, the queries of all heads that share a head of k are queries of one head.
    rows = m if causal else m * heads // shared
    group = heads // shared if causal else 1
    if heads_of_k * group > 65535:
        raise Absent("the kernel has at most 65535 heads")

    def descriptors(tensors, length, block):
        return [TensorDescriptor.from_tensor(each.view(-1, length, d), [1, block, d]) for each in tensors]

    def launch_of(bm, bn, warps, stages):
        queries, keys, values = descriptors(q, rows, bm), descriptors(k, n, bn), descriptors(v, n, bn)

        def launch(i):
            attention_kernel[(triton.cdiv(rows, bm), heads_of_k * group)](
                queries[i], keys[i], values[i], o[i], scale * LOG2_E, rows, n, group, CAUSAL=causal,
                WHOLE=n % bn == 0, D=d, BM=bm, BN=bn, num_warps=warps, num_stages=stages)

        return launch

    best = b.fastest(launch_of(*each) for each in configurations(rows, d))
    return verified(best, lambda: error(o[0]), limit=2)
