"""Triton kernels of rows, in the manner of its tutorials and of Liger.

softmax: one program takes rows in turns. Gradients of softmax, and norms: a program has a tile of
whole rows in registers. Gradients of weights: programs add parts of a column, and a second kernel adds
the parts. Cross-entropy: one program reads a row in blocks.

Each function returns the launch of the fastest configuration. Matrices have no gaps.
"""

import torch
import triton
import triton.language as tl

from bench.peers import Absent

MAX_COLUMNS = 65536  # of a row in the registers of one program
SMS = 132


@triton.jit
def softmax_kernel(y, x, rows, columns, ldx, ldy, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        values = tl.load(x + row.to(tl.int64) * ldx + offsets, mask=inside, other=-float("inf"))
        values = values.to(tl.float32)
        exponentials = tl.exp(values - tl.max(values, axis=0))
        result = exponentials / tl.sum(exponentials, axis=0)
        tl.store(y + row.to(tl.int64) * ldy + offsets, result.to(y.dtype.element_ty), mask=inside)


def softmax(b, x, y):
    """The fused softmax of Triton's tutorial, tuned over warps, stages and programs."""
    rows, columns = x[0].shape
    block = width_of(columns)

    def launch_of(warps, stages, programs):
        def launch(i):
            softmax_kernel[(min(rows, programs),)](y[i], x[i], rows, columns, x[i].stride(0), y[i].stride(0),
                                                   BLOCK=block, STAGES=stages, num_warps=warps)

        return launch

    return b.fastest(launch_of(warps, stages, programs) for warps in warps_for(block)
                     for stages, programs in ((1, rows), (2, SMS * 4), (4, SMS * 2)))


def width_of(columns):
    """The width of a tile of whole rows."""
    if columns > MAX_COLUMNS:
        raise Absent(f"the tutorials' kernels keep a row in registers: at most {MAX_COLUMNS} columns")
    return triton.next_power_of_2(columns)


def warps_for(elements):
    """The numbers of warps that have 4 to 64 elements of a tile per thread; 1 for a smaller tile."""
    return [warps for warps in (1, 2, 4, 8, 16, 32) if 4 <= elements // (32 * warps) <= 64] or [1]


def whole_rows(b, kernel, tensors, **constants):
    """The kernel on tiles of whole rows, tuned over the rows per tile and warps.

    `tensors`: per argument a list, or None. The first has the shape of the matrices.
    """
    rows, columns = tensors[0][0].shape
    block = width_of(columns)

    def launch_of(height, warps):
        def launch(i):
            kernel[(triton.cdiv(rows, height),)](*(each and each[i] for each in tensors), rows, columns,
                                                 **constants, ROWS=height, BLOCK=block, num_warps=warps)

        return launch

    heights = [height for height in (1, 4, 16) if height == 1 or height * block <= 16384]
    return b.fastest(launch_of(height, warps) for height in heights for warps in warps_for(height * block))


@triton.jit
def softmax_backward_kernel(dx, y, dy, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < columns)
    place = row.to(tl.int64) * columns + column
    probability = tl.load(y + place, mask=inside, other=0).to(tl.float32)
    gradient = tl.load(dy + place, mask=inside, other=0).to(tl.float32)
    total = tl.sum(probability * gradient, axis=1, keep_dims=True)
    tl.store(dx + place, (probability * (gradient - total)).to(dx.dtype.element_ty), mask=inside)


def softmax_backward(b, y, dy, dx):
    return whole_rows(b, softmax_backward_kernel, (dx, y, dy))


@triton.jit
def norm_kernel(y, x, gain, bias, rows, columns, epsilon, CENTERED: tl.constexpr, ROWS: tl.constexpr,
                BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < columns)
    place = row.to(tl.int64) * columns + column
    value = tl.load(x + place, mask=inside, other=0).to(tl.float32)
    if CENTERED:
        value = tl.where(inside, value - tl.sum(value, axis=1, keep_dims=True) / columns, 0)
    factor = 1 / tl.sqrt(tl.sum(value * value, axis=1, keep_dims=True) / columns + epsilon)
    result = value * factor * tl.load(gain + column, mask=column < columns, other=0).to(tl.float32)
    if CENTERED:
        result += tl.load(bias + column, mask=column < columns, other=0).to(tl.float32)
    tl.store(y + place, result.to(y.dtype.element_ty), mask=inside)


def norm(b, x, gain, bias, y, epsilon):
    """Layer norm; without a bias, RMS norm."""
    centered = bias[0] is not None
    tensors = (y, x, gain, bias if centered else None)
    return whole_rows(b, norm_kernel, tensors, epsilon=epsilon, CENTERED=centered)


@triton.jit
def norm_backward_kernel(dx, x, gain, dy, mean, factor, rows, columns, CENTERED: tl.constexpr,
                         ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < columns)
    place = row.to(tl.int64) * columns + column
    scale = tl.load(factor + row, mask=row < rows, other=0)
    normal = tl.load(x + place, mask=inside, other=0).to(tl.float32)
    if CENTERED:
        normal -= tl.load(mean + row, mask=row < rows, other=0)
    normal *= scale
    gradient = tl.load(dy + place, mask=inside, other=0).to(tl.float32)
    gradient *= tl.load(gain + column, mask=column < columns, other=0).to(tl.float32)
    result = gradient - normal * (tl.sum(normal * gradient, axis=1, keep_dims=True) / columns)
    if CENTERED:
        result -= tl.sum(gradient, axis=1, keep_dims=True) / columns
    tl.store(dx + place, (result * scale).to(dx.dtype.element_ty), mask=inside)


def norm_backward(b, x, gain, dy, mean, factor, dx):
    """The gradient for x of layer norm; without a mean, of RMS norm."""
    return whole_rows(b, norm_backward_kernel, (dx, x, gain, dy, mean, factor), CENTERED=mean is not None)


@triton.jit
def weight_parts_kernel(gains, biases, x, dy, mean, factor, rows, columns, CENTERED: tl.constexpr,
                        ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gain_sums = tl.zeros((ROWS, BLOCK), tl.float32)
    bias_sums = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(tl.program_id(1) * ROWS, rows, tl.num_programs(1) * ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (column < columns)[None, :]
        place = row.to(tl.int64)[:, None] * columns + column[None, :]
        normal = tl.load(x + place, mask=inside, other=0).to(tl.float32)
        gradient = tl.load(dy + place, mask=inside, other=0).to(tl.float32)
        if CENTERED:
            normal -= tl.load(mean + row, mask=row < rows, other=0)[:, None]
            bias_sums += gradient
        gain_sums += gradient * normal * tl.load(factor + row, mask=row < rows, other=0)[:, None]
    place = tl.program_id(1) * columns + column
    tl.store(gains + place, tl.sum(gain_sums, axis=0), mask=column < columns)
    if CENTERED:
        tl.store(biases + place, tl.sum(bias_sums, axis=0), mask=column < columns)


@triton.jit
def reduce_partials_kernel(dgain, dbias, gains, biases, parts, columns, CENTERED: tl.constexpr, ROWS: tl.constexpr,
                     BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gain_sums = tl.zeros((ROWS, BLOCK), tl.float32)
    bias_sums = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(0, parts, ROWS):
        part = first + tl.arange(0, ROWS)
        inside = (part < parts)[:, None] & (column < columns)[None, :]
        place = part[:, None] * columns + column[None, :]
        gain_sums += tl.load(gains + place, mask=inside, other=0)
        if CENTERED:
            bias_sums += tl.load(biases + place, mask=inside, other=0)
    tl.store(dgain + column, tl.sum(gain_sums, axis=0).to(dgain.dtype.element_ty), mask=column < columns)
    if CENTERED:
        tl.store(dbias + column, tl.sum(bias_sums, axis=0).to(dbias.dtype.element_ty), mask=column < columns)


def norm_backward_weights(b, x, dy, mean, factor, dgain, dbias):
    """The gradients for gain and bias of layer norm; without a mean, for gain of RMS norm."""
    rows, columns = x[0].shape
    centered = mean is not None

    def launch_of(height, width, warps, waves):
        blocks = triton.cdiv(columns, width)
        parts = max(1, min(triton.cdiv(rows, height), SMS * waves // blocks))
        gains = torch.empty((parts, columns), dtype=torch.float32, device=x[0].device)
        biases = torch.empty_like(gains)

        def launch(i):
            weight_parts_kernel[(blocks, parts)](gains, biases, x[i], dy[i], mean and mean[i], factor[i],
                                                 rows, columns, CENTERED=centered, ROWS=height, BLOCK=width,
                                                 num_warps=warps)
            reduce_partials_kernel[(triton.cdiv(columns, 32),)](dgain[i], dbias[i], gains, biases, parts, columns,
                                                          CENTERED=centered, ROWS=32, BLOCK=32, num_warps=4)

        return launch

    return b.fastest(launch_of(*tile, waves)
                     for tile in ((64, 32, 4), (32, 64, 4), (16, 128, 4), (8, 256, 4), (32, 128, 8))
                     for waves in (2, 4, 8))


@triton.jit
def store_gradient(dx, x, label, log_sum, factor, columns, BLOCK: tl.constexpr):
    """The gradient of the cross-entropy of the row at x."""
    for first in range(0, columns, BLOCK):
        column = first + tl.arange(0, BLOCK)
        value = tl.load(x + column, mask=column < columns, other=-float("inf")).to(tl.float32)
        result = (tl.exp(value - log_sum) - tl.where(column == label, 1.0, 0.0)) * factor
        tl.store(dx + column, result.to(dx.dtype.element_ty), mask=column < columns)


@triton.jit
def cross_entropy_kernel(loss, log_sums, dx, x, labels, dloss, columns, GRADIENT: tl.constexpr,
                         BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x += row * columns
    largest = -float("inf")
    total = 0.0
    for first in range(0, columns, BLOCK):
        column = first + tl.arange(0, BLOCK)
        value = tl.load(x + column, mask=column < columns, other=-float("inf")).to(tl.float32)
        larger = tl.maximum(largest, tl.max(value, axis=0))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(value - larger), axis=0)
        largest = larger
    log_sum = largest + tl.log(total)
    label = tl.load(labels + row)
    tl.store(loss + row, log_sum - tl.load(x + label).to(tl.float32))
    tl.store(log_sums + row, log_sum)
    if GRADIENT:
        store_gradient(dx + row * columns, x, label, log_sum, tl.load(dloss + row), columns, BLOCK)


@triton.jit
def cross_entropy_backward_kernel(dx, x, labels, log_sums, dloss, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    store_gradient(dx + row * columns, x + row * columns, tl.load(labels + row), tl.load(log_sums + row),
                   tl.load(dloss + row), columns, BLOCK)


def in_blocks(b, kernel, rows, columns, arguments_of, **constants):
    """The kernel with a program per row, which reads the row in blocks; tuned over blocks and warps."""
    def launch_of(block, warps):
        def launch(i):
            kernel[(rows,)](*arguments_of(i), columns, **constants, BLOCK=block, num_warps=warps)

        return launch

    blocks = sorted({min(triton.next_power_of_2(columns), block) for block in (1024, 4096, 16384, 32768)})
    return b.fastest(launch_of(block, warps) for block in blocks for warps in warps_for(block))


def cross_entropy(b, x, labels, loss, log_sums):
    return in_blocks(b, cross_entropy_kernel, *x[0].shape,
                     lambda i: (loss[i], log_sums[i], None, x[i], labels[i], None), GRADIENT=False)


def cross_entropy_backward(b, x, labels, log_sums, dloss, dx, with_loss):
    """The gradient for x. With the loss: one kernel computes the loss and the gradient, as in Liger."""
    if not with_loss:
        return in_blocks(b, cross_entropy_backward_kernel, *x[0].shape,
                         lambda i: (dx[i], x[i], labels[i], log_sums[i], dloss[i]))
    loss, sums = torch.empty_like(dloss[0]), torch.empty_like(dloss[0])
    return in_blocks(b, cross_entropy_kernel, *x[0].shape,
                     lambda i: (loss, sums, dx[i], x[i], labels[i], dloss[i]), GRADIENT=True)


@triton.jit
def dropout_kernel(y, x, rate, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0).to(tl.float32)
    result = tl.where(tl.rand(seed, i) >= rate, value / (1 - rate), 0)
    tl.store(y + i, result.to(y.dtype.element_ty), mask=i < n)


def dropout(b, x, y, rate, seed):
    """The seeded dropout of Triton's tutorial, tuned over blocks and warps."""
    n, = x[0].shape

    def launch_of(block, warps):
        def launch(i):
            dropout_kernel[(triton.cdiv(n, block),)](y[i], x[i], rate, seed, n, BLOCK=block, num_warps=warps)

        return launch

    return b.fastest(launch_of(block, warps) for block in (256, 512, 1024, 2048, 4096) for warps in (2, 4, 8)
                     if block >= 32 * warps)
