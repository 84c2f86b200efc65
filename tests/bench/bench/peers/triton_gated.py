"""Triton kernels of two products with a gated activation, c = f(a g) * (a u), in the manner of triton_products."""

import dataclasses

import triton
import triton.language as tl

from bench.peers.triton_products import GROUP, TILES, Product, descriptors, fastest, load_block, place


@triton.jit
def gated(gate, up, FUNCTION: tl.constexpr):
    if FUNCTION == "silu":
        gate *= tl.sigmoid(gate)
    if FUNCTION == "gelu":
        gate *= 0.5 + 0.5 * tl.erf(gate * 0.7071067811865476)
    if FUNCTION == "gelu_tanh":
        gate *= tl.sigmoid(gate * (1.5957691216057308 + 0.07135481627159956 * gate * gate))
    return gate * up


@triton.jit(do_not_specialize=["M", "N", "K"])
def gated_blocks_kernel(a, g, u, c, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr,
                        GROUP: tl.constexpr, A_TRANSPOSED: tl.constexpr, Y_TRANSPOSED: tl.constexpr,
                        FUNCTION: tl.constexpr):
    rows, columns = tl.cdiv(M, TM), tl.cdiv(N, TN)
    steps = tl.cdiv(K, TK)
    stored = tl.program_id(0) - tl.num_programs(0)
    for tile in tl.range(tl.program_id(0), rows * columns, tl.num_programs(0), flatten=True):
        m, n = place(tile, rows, columns, GROUP)
        gate = tl.zeros((TM, TN), tl.float32)
        up = tl.zeros((TM, TN), tl.float32)
        for step in range(steps):
            of_a = load_block(a, 0, m * TM, step * TK, TM, TK, A_TRANSPOSED, False)
            of_g = load_block(g, 0, step * TK, n * TN, TK, TN, Y_TRANSPOSED, False)
            of_u = load_block(u, 0, step * TK, n * TN, TK, TN, Y_TRANSPOSED, False)
            gate = tl.dot(of_a, of_g, gate)
            up = tl.dot(of_a, of_u, up)

        stored += tl.num_programs(0)  # as in blocks_kernel
        m, n = place(stored, rows, columns, GROUP)
        c.store([m * TM, n * TN], gated(gate, up, FUNCTION).to(c.dtype))


@triton.jit
def gated_pointers_kernel(a, g, u, c, M, N, K, am, ak, yk, yn, cm, TM: tl.constexpr, TN: tl.constexpr,
                          TK: tl.constexpr, GROUP: tl.constexpr, FUNCTION: tl.constexpr):
    m, n = place(tl.program_id(0), tl.cdiv(M, TM), tl.cdiv(N, TN), GROUP)
    rm = m * TM + tl.arange(0, TM)
    rn = n * TN + tl.arange(0, TN)
    rk = tl.arange(0, TK)

    # Rows and columns outside of the matrices are others inside, so that only K needs a mask.
    pa = a + (rm % M)[:, None] * am + rk[None, :] * ak
    py = rk[:, None] * yk + (rn % N)[None, :] * yn
    gate = tl.zeros((TM, TN), tl.float32)
    up = tl.zeros((TM, TN), tl.float32)
    for k in range(0, K, TK):
        inside = rk < K - k
        of_a = tl.load(pa, mask=inside[None, :], other=0.0)
        gate = tl.dot(of_a, tl.load(g + py, mask=inside[:, None], other=0.0), gate)
        up = tl.dot(of_a, tl.load(u + py, mask=inside[:, None], other=0.0), up)
        pa += TK * ak
        py += TK * yk

    pc = c + rm[:, None] * cm + rn[None, :]
    tl.store(pc, gated(gate, up, FUNCTION).to(c.dtype.element_ty), mask=(rm < M)[:, None] & (rn < N)[None, :])


class Gated(Product):
    """A product with the columns of g and of u. A tile has half of its columns from each."""

    def __init__(self, a, g, u, c, function):
        super().__init__(a, g, c, None, function, None)
        self.u, self.function = u, function
        self.n *= 2
        tiles = (dataclasses.replace(tile, halves=False) for tile in TILES if tile.n >= 32)
        self.choices = list(dict.fromkeys(tiles))

    def matrices(self):
        return [*super().matrices(), self.u[0]]

    def shared_bytes(self, tile):
        return super().shared_bytes(dataclasses.replace(tile, halves=True))  # of c

    def splits(self, tile):
        return []

    def with_blocks(self, tile):
        """A launch of gated_blocks_kernel."""
        columns, grid = tile.n // 2, (self.programs(tile),)
        a, a_transposed = descriptors(self.a, tile.m, tile.k)
        (g, y_transposed), (u, _) = (descriptors(x, tile.k, columns) for x in (self.y, self.u))
        c, _ = descriptors(self.c, tile.m, columns)

        def launch(i):
            gated_blocks_kernel[grid](
                a[i], g[i], u[i], c[i], self.m, self.n // 2, self.k, TM=tile.m, TN=columns, TK=tile.k, GROUP=GROUP,
                A_TRANSPOSED=a_transposed, Y_TRANSPOSED=y_transposed, FUNCTION=self.function,
                num_warps=tile.warps, num_stages=tile.stages)

        return launch

    def with_pointers(self, tile, parts):
        """A launch of gated_pointers_kernel."""
        grid = (self.tiles(tile),)

        def launch(i):
            a, g, u, c = self.a[i], self.y[i], self.u[i], self.c[i]
            gated_pointers_kernel[grid](
                a, g, u, c, self.m, self.n // 2, self.k, *a.stride(), *g.stride(), c.stride(0), TM=tile.m,
                TN=tile.n // 2, TK=tile.k, GROUP=GROUP, FUNCTION=self.function, num_warps=tile.warps,
                num_stages=tile.stages)

        return launch


def product(b, a, g, u, c, function):
    """The fastest configuration for c = f(a g) * (a u), for lists of matrices."""
    return fastest(b, Gated(a, g, u, c, function))
