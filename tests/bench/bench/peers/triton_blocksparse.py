"""A Triton kernel of a product with a block-sparse operand. Triton's package no longer has one."""

import triton
import triton.language as tl


@triton.jit
def blocksparse_kernel(a, blocks, c, first, rows, M, lda, ldc, TM: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(1)
    rm = tl.program_id(0) * TM + tl.arange(0, TM)
    in_block = tl.arange(0, BLOCK)
    pa = a + (rm % M)[:, None] * lda + in_block[None, :]
    pb = blocks + in_block[:, None] * BLOCK + in_block[None, :]
    sum = tl.zeros((TM, BLOCK), tl.float32)
    for i in range(tl.load(first + column), tl.load(first + column + 1)):
        of_a = tl.load(pa + tl.load(rows + i) * BLOCK)
        block = tl.load(pb + i * (BLOCK * BLOCK))
        sum = tl.dot(of_a, block, sum, input_precision="ieee")
    pc = c + rm[:, None] * ldc + (column * BLOCK + in_block)[None, :]
    tl.store(pc, sum.to(c.dtype.element_ty), mask=(rm < M)[:, None])


def product(b, a, blocks, c, first, rows):
    """c = a y, where y has the blocks, tuned over the height of tiles, warps and stages."""
    m, size = a[0].shape[0], blocks[0].shape[-1]

    def launch_of(height, warps, stages):
        grid = (triton.cdiv(m, height), c[0].shape[1] // size)

        def launch(i):
            blocksparse_kernel[grid](a[i], blocks[i], c[i], first, rows, m, a[i].stride(0), c[i].stride(0),
                                     TM=height, BLOCK=size, num_warps=warps, num_stages=stages)

        return launch

    heights = [height for height in (16, 32, 64, 128, 256) if height < 2 * max(m, 16)]
    return b.fastest(launch_of(height, warps, stages) for height in heights
                     for warps in (1, 2, 4, 8) if 256 <= height * size // warps <= 4096 for stages in (3, 5))
