"""Triton kernels of products, with an epilogue: c = f(a y + bias) + d.

blocks_kernel      persistent, with tensor descriptors (TMA), for matrices that are 16-byte aligned
pointers_kernel    with pointers and masks, for any strides; also split-K, which sum_kernel completes

Both order the tiles in groups of rows, in the manner of Triton's tutorials. The configurations that fit
a shape best by a simple model are timed.
"""

import dataclasses

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from bench.peers import Absent

GROUP = 8  # rows of tiles
KEPT = 12  # configurations to time
SHARED_BYTES = 227 << 10  # of an SM, for the programs that it runs at one time

SUMS = {torch.float64: torch.float64, torch.int8: torch.int32}  # of the other types: float32


@dataclasses.dataclass(frozen=True)
class Tile:
    m: int
    n: int
    k: int       # for elements of 2 bytes; twice as many of 1 byte
    warps: int
    stages: int
    halves: bool = False  # stores the tile in two halves, which need less shared memory


TILES = [
    Tile(128, 256, 64, 8, 3), Tile(128, 256, 64, 8, 3, True), Tile(128, 256, 64, 8, 4, True),
    Tile(256, 128, 64, 8, 3), Tile(256, 128, 64, 8, 3, True), Tile(256, 128, 64, 8, 4, True),
    Tile(128, 128, 64, 4, 4), Tile(128, 128, 64, 8, 4), Tile(128, 128, 128, 8, 2),
    Tile(64, 256, 64, 4, 4), Tile(128, 64, 64, 4, 4), Tile(128, 64, 128, 4, 3),
    Tile(64, 128, 64, 4, 4), Tile(64, 128, 128, 4, 3), Tile(64, 64, 64, 4, 6), Tile(64, 64, 128, 4, 4),
    Tile(128, 32, 128, 4, 4), Tile(64, 32, 128, 4, 4), Tile(64, 16, 128, 4, 5), Tile(32, 128, 128, 4, 4),
    Tile(32, 64, 128, 4, 4), Tile(32, 32, 128, 2, 4), Tile(16, 128, 128, 4, 4), Tile(16, 64, 128, 4, 5),
    Tile(16, 32, 256, 4, 4), Tile(16, 16, 128, 1, 4)]
SCALAR_TILES = [  # of float, which has no tensor cores without tf32, and of double
    Tile(128, 128, 16, 8, 2), Tile(128, 128, 16, 8, 3), Tile(128, 64, 16, 8, 3), Tile(64, 128, 16, 8, 3),
    Tile(64, 64, 16, 4, 3), Tile(64, 64, 32, 8, 2), Tile(32, 64, 32, 4, 3), Tile(64, 32, 32, 4, 3),
    Tile(32, 32, 32, 4, 3), Tile(16, 64, 32, 4, 3), Tile(64, 16, 32, 4, 3), Tile(16, 16, 64, 2, 3)]


@triton.jit
def place(tile, rows, columns, GROUP: tl.constexpr):
    first = tile // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    in_group = tile % (GROUP * columns)
    return first + in_group % height, in_group // height


@triton.jit
def finish(sum, bias, rn, N, BIAS: tl.constexpr, FUNCTION: tl.constexpr):
    if BIAS:
        sum += tl.load(bias + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    if FUNCTION == "relu":
        sum = tl.maximum(sum, 0.0)
    if FUNCTION == "gelu":
        sum = 0.5 * sum * (1.0 + tl.erf(sum * 0.7071067811865476))
    return sum


@triton.jit
def load_block(x, batch, row, column, ROWS: tl.constexpr, COLUMNS: tl.constexpr, TRANSPOSED: tl.constexpr,
               BATCHED: tl.constexpr):
    if BATCHED:
        if TRANSPOSED:
            block = x.load([batch, column, row]).reshape(COLUMNS, ROWS).T
        else:
            block = x.load([batch, row, column]).reshape(ROWS, COLUMNS)
    else:
        if TRANSPOSED:
            block = x.load([column, row]).T
        else:
            block = x.load([row, column])
    return block


@triton.jit
def store_block(c, d, bias, sum, batch, row, column, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
                BATCHED: tl.constexpr, BIAS: tl.constexpr, FUNCTION: tl.constexpr, RESIDUAL: tl.constexpr):
    result = finish(sum, bias, column + tl.arange(0, COLUMNS), N, BIAS, FUNCTION)
    if RESIDUAL:
        result += load_block(d, batch, row, column, ROWS, COLUMNS, False, BATCHED).to(tl.float32)
    result = result.to(c.dtype)
    if BATCHED:
        c.store([batch, row, column], result.reshape(1, ROWS, COLUMNS))
    else:
        c.store([row, column], result)


@triton.jit(do_not_specialize=["BATCHES", "M", "N", "K"])
def blocks_kernel(a, y, c, d, bias, BATCHES, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
                  GROUP: tl.constexpr, SUM: tl.constexpr, A_TRANSPOSED: tl.constexpr,
                  Y_TRANSPOSED: tl.constexpr, BATCHED: tl.constexpr, HALVES: tl.constexpr,
                  BIAS: tl.constexpr, FUNCTION: tl.constexpr, RESIDUAL: tl.constexpr):
    rows, columns = tl.cdiv(M, TM), tl.cdiv(N, TN)
    steps = tl.cdiv(K, TK)
    stored = tl.program_id(0) - tl.num_programs(0)
    count = BATCHES * rows * columns
    for tile in tl.range(tl.program_id(0), count, tl.num_programs(0), flatten=True):
        batch = tile // (rows * columns)
        m, n = place(tile % (rows * columns), rows, columns, GROUP)
        sum = tl.zeros((TM, TN), SUM)
        for step in range(steps):
            of_a = load_block(a, batch, m * TM, step * TK, TM, TK, A_TRANSPOSED, BATCHED)
            of_y = load_block(y, batch, step * TK, n * TN, TK, TN, Y_TRANSPOSED, BATCHED)
            sum = tl.dot(of_a, of_y, sum, out_dtype=SUM)

        # The place again, from another variable: so the loads of the next tile do not wait for this store.
        stored += tl.num_programs(0)
        batch = stored // (rows * columns)
        m, n = place(stored % (rows * columns), rows, columns, GROUP)
        row, column = m * TM, n * TN
        if HALVES:
            left, right = tl.split(sum.reshape(TM, 2, TN // 2).permute(0, 2, 1))
            store_block(c, d, bias, left, batch, row, column, N, TM, TN // 2, BATCHED, BIAS, FUNCTION,
                        RESIDUAL)
            store_block(c, d, bias, right, batch, row, column + TN // 2, N, TM, TN // 2, BATCHED, BIAS,
                        FUNCTION, RESIDUAL)
        else:
            store_block(c, d, bias, sum, batch, row, column, N, TM, TN, BATCHED, BIAS, FUNCTION, RESIDUAL)


@triton.jit
def pointers_kernel(a, y, c, d, bias, M, N, K, am, ak, yk, yn, cm, cn, dm, batch_a, batch_y, batch_c,
                    TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr,
                    SUM: tl.constexpr, PARTS: tl.constexpr, WHOLE_K: tl.constexpr, BIAS: tl.constexpr,
                    FUNCTION: tl.constexpr, RESIDUAL: tl.constexpr):
    m, n = place(tl.program_id(0), tl.cdiv(M, TM), tl.cdiv(N, TN), GROUP)
    batch, part = tl.program_id(1).to(tl.int64), tl.program_id(2)
    rm = m * TM + tl.arange(0, TM)
    rn = n * TN + tl.arange(0, TN)
    length = tl.cdiv(tl.cdiv(K, TK), PARTS) * TK
    first = part * length
    end = min(first + length, K)
    rk = first + tl.arange(0, TK)

    # Rows and columns outside of the matrices are others inside, so that only K needs a mask.
    pa = a + batch * batch_a + (rm % M)[:, None] * am + rk[None, :] * ak
    py = y + batch * batch_y + rk[:, None] * yk + (rn % N)[None, :] * yn
    sum = tl.zeros((TM, TN), SUM)
    for k in range(first, end, TK):
        if WHOLE_K:
            of_a = tl.load(pa)
            of_y = tl.load(py)
        else:
            inside_k = k + tl.arange(0, TK) < end
            of_a = tl.load(pa, mask=inside_k[None, :], other=0.0)
            of_y = tl.load(py, mask=inside_k[:, None], other=0.0)
        sum = tl.dot(of_a, of_y, sum, input_precision="ieee", out_dtype=SUM)
        pa += TK * ak
        py += TK * yk

    inside = (rm < M)[:, None] & (rn < N)[None, :]
    result = finish(sum, bias, rn, N, BIAS, FUNCTION)
    if RESIDUAL:
        result += tl.load(d + rm[:, None] * dm + rn[None, :], mask=inside, other=0.0).to(tl.float32)
    pc = c + (batch + part) * batch_c + rm[:, None] * cm + rn[None, :] * cn
    tl.store(pc, result.to(c.dtype.element_ty), mask=inside)


@triton.jit
def sum_kernel(partials, c, d, bias, M, N, cm, dm, TN: tl.constexpr, SUM: tl.constexpr, PARTS: tl.constexpr,
               BIAS: tl.constexpr, FUNCTION: tl.constexpr, RESIDUAL: tl.constexpr):
    m = tl.program_id(0)
    rn = tl.program_id(1) * TN + tl.arange(0, TN)
    sum = tl.zeros((1, TN), SUM)
    for part in range(PARTS):
        sum += tl.load(partials + (part * M + m).to(tl.int64) * N + rn, mask=rn < N, other=0.0)[None, :]
    result = finish(sum, bias, rn, N, BIAS, FUNCTION)
    if RESIDUAL:
        result += tl.load(d + m * dm + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    tl.store(c + m * cm + rn[None, :], result.to(c.dtype.element_ty), mask=(rn < N)[None, :])


class Product:
    """The operands, and launches of the kernels in one configuration."""

    def __init__(self, a, y, c, bias, function, residual):
        self.a, self.y, self.c, self.bias, self.residual = a, y, c, bias, residual
        self.m, self.k = a[0].shape[-2:]
        self.n = y[0].shape[-1]
        self.batches = a[0].shape[0] if a[0].dim() == 3 else 1
        self.is_batch = a[0].dim() == 3
        self.bytes = a[0].element_size()
        self.is_scalar = a[0].dtype in (torch.float32, torch.float64)
        self.choices = SCALAR_TILES if self.is_scalar else TILES
        self.sum_type = SUMS.get(a[0].dtype, torch.float32)
        self.sum = getattr(tl, str(self.sum_type).removeprefix("torch."))
        self.epilogue = dict(BIAS=bias is not None, FUNCTION=function, RESIDUAL=residual is not None)
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count

    def matrices(self):
        """Those of the first set."""
        return [x[0] for x in (self.a, self.y, self.c, self.residual) if x]

    def tiles(self, tile):
        return self.batches * triton.cdiv(self.m, tile.m) * triton.cdiv(self.n, tile.n)

    def step(self, tile):
        return tile.k if self.is_scalar else tile.k * 2 // self.bytes

    def shared_bytes(self, tile):
        """The shared memory of blocks_kernel: the stages of a and y, and the blocks of c and the residual."""
        stages = tile.stages * (tile.m + tile.n) * self.step(tile) * self.bytes
        block = tile.m * tile.n // (2 if tile.halves else 1) * self.c[0].element_size()
        return stages + block * (2 if self.residual else 1)

    def programs(self, tile):
        """The programs of blocks_kernel: those that run at one time."""
        per_processor = max(1, min(16 // tile.warps, SHARED_BYTES // self.shared_bytes(tile)))
        return min(self.tiles(tile), self.processors * per_processor)

    def with_blocks(self, tile):
        """A launch of blocks_kernel."""
        step, columns = self.step(tile), tile.n // 2 if tile.halves else tile.n
        a, a_transposed = descriptors(self.a, tile.m, step)
        y, y_transposed = descriptors(self.y, step, tile.n)
        c, _ = descriptors(self.c, tile.m, columns)
        d = descriptors(self.residual, tile.m, columns)[0] if self.residual else c
        grid = (self.programs(tile),)

        def launch(i):
            blocks_kernel[grid](
                a[i], y[i], c[i], d[i], self.bias, self.batches, self.m, self.n, self.k, TM=tile.m, TN=tile.n,
                TK=step, GROUP=GROUP, SUM=self.sum, A_TRANSPOSED=a_transposed, Y_TRANSPOSED=y_transposed,
                BATCHED=self.is_batch, HALVES=tile.halves, num_warps=tile.warps, num_stages=tile.stages,
                **self.epilogue)

        return launch

    def with_pointers(self, tile, parts):
        """A launch of pointers_kernel. With several parts of K, sum_kernel adds them."""
        step = self.step(tile)
        grid = (self.tiles(tile) // self.batches, self.batches, parts)
        none = dict(BIAS=False, FUNCTION="none", RESIDUAL=False)
        c = self.c
        if parts > 1:
            c = [self.c[0].new_empty((parts, self.m, self.n), dtype=self.sum_type)] * len(self.c)
        d = self.residual or self.c
        batch_c = c[0].stride(0) if c[0].dim() == 3 else 0

        def launch(i):
            a, y = self.a[i], self.y[i]
            pointers_kernel[grid](
                a, y, c[i], d[i], self.bias, self.m, self.n, self.k, *a.stride()[-2:], *y.stride()[-2:],
                *c[i].stride()[-2:], d[i].stride(-2), a.stride(0) if self.is_batch else 0,
                y.stride(0) if self.is_batch else 0, batch_c, TM=tile.m, TN=tile.n, TK=step, GROUP=GROUP,
                SUM=self.sum, PARTS=parts, WHOLE_K=self.k % step == 0, num_warps=tile.warps,
                num_stages=tile.stages, **(self.epilogue if parts == 1 else none))
            if parts > 1:
                block = min(1024, triton.next_power_of_2(self.n))
                sum_kernel[(self.m, triton.cdiv(self.n, block))](
                    c[i], self.c[i], d[i], self.bias, self.m, self.n, self.c[i].stride(-2), d[i].stride(-2),
                    TN=block, SUM=self.sum, PARTS=parts, **self.epilogue)

        return launch

    def cost(self, tile, parts=1):
        """A model of the time, to choose the configurations that are timed."""
        waves = triton.cdiv(self.tiles(tile) * parts, self.processors)
        area, loads = tile.m * tile.n, tile.m + tile.n
        return waves * ((self.k / parts + 64) * (area + 40 * loads) + (32 * area if parts > 1 else 0))

    def splits(self, tile):
        """Numbers of parts of K that give more programs than one per tile."""
        if self.is_batch or self.c[0].stride(-1) != 1:
            return []
        return [parts for parts in (2, 4, 8, 16, 32) if self.k >= 256 * parts
                and self.tiles(tile) * parts <= 4 * self.processors and self.m * self.n * parts <= 2**26]


def descriptors(matrices, rows, columns):
    """Tensor descriptors with blocks of rows x columns, and whether the matrices are column by column."""
    transposed = matrices[0].stride(-1) != 1
    block = [columns, rows] if transposed else [rows, columns]
    if matrices[0].dim() == 3:
        block = [1, *block]
    views = [x.transpose(-1, -2) if transposed else x for x in matrices]
    return [TensorDescriptor.from_tensor(x, block) for x in views], transposed


def has_descriptor(x):
    """Whether TMA supports the matrix or batch."""
    along, *others = sorted(x.stride()[-2:])
    others += x.stride()[:-2]
    return (along == 1 and x.data_ptr() % 16 == 0
            and all(stride > 0 and stride * x.element_size() % 16 == 0 for stride in others))


def product(b, a, y, c, bias=None, function="none", residual=None):
    """The fastest configuration for c = f(a y + bias) + residual, for lists of matrices or batches."""
    return fastest(b, Product(a, y, c, bias, function, residual))


def fastest(b, product):
    """The fastest configuration of a Product."""
    matrices = product.matrices()
    if any(sum((size - 1) * abs(stride) for size, stride in zip(x.shape[-2:], x.stride()[-2:])) >= 2**31
           for x in matrices):
        raise Absent("the kernel's offsets have 32 bits")
    with_blocks = not product.is_scalar and product.c[0].stride(-1) == 1 and all(map(has_descriptor, matrices))
    with_pointers = [tile for tile in product.choices if not tile.halves]
    fitting = [tile for tile in product.choices if product.shared_bytes(tile) <= SHARED_BYTES]
    whole = sorted(fitting if with_blocks else with_pointers, key=product.cost)[:KEPT]
    split = sorted(((tile, parts) for tile in with_pointers for parts in product.splits(tile)),
                   key=lambda each: product.cost(*each))[:KEPT // 2]

    def launches():
        for tile in whole:
            yield product.with_blocks(tile) if with_blocks else product.with_pointers(tile, 1)
        for tile, parts in split:
            yield product.with_pointers(tile, parts)

    return b.fastest(launches())
