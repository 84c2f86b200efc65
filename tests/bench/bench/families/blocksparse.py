"""matmul_blocksparse: c = a y, where y has only some blocks.

DENSITY is the number of the blocks relative to a dense y, in percent. Each column of blocks has as
many, at random places.
"""

import random

from bench.families import Case
from bench.families import product_parts as parts

BLOCKS = (16, 32, 64)


class MatmulBlocksparse:
    name, unit = "matmul_blocksparse", "TFLOP/s"
    types = ("half", "bfloat16", "float")

    def fixed(self):
        return parts.shapes(
            "M N K BLOCK DENSITY TYPE",
            "4096 4096 4096 64 10 half", "4096 4096 4096 32 10 half", "4096 4096 4096 16 10 half",
            "4096 4096 4096 64 50 half", "8192 16384 4096 64 5 bfloat16", "4096 4096 16384 32 20 half",
            "64 4096 4096 64 20 half", "1000 1024 1024 32 25 half", "2048 2048 2048 32 10 float")

    def external(self, record):
        return []

    def random(self, sizes):
        block = sizes.choose(*BLOCKS)
        n, k = (max(sizes.size(64, 16384) // block, 1) * block for _ in range(2))
        shape = dict(M=sizes.size(16, 16384), N=n, K=k, BLOCK=block, DENSITY=sizes.choose(2, 5, 10, 20, 50),
                     TYPE=sizes.choose(*self.types))
        return shape if parts.is_short(shape) and n * k <= 2**26 else None  # a dense y has to be short, too

    def case(self, b, shape):
        import torch

        m, n, k, size, kind = (shape[name] for name in ("M", "N", "K", "BLOCK", "TYPE"))
        in_column = max(1, round(k // size * shape["DENSITY"] / 100))
        count = n // size * in_column
        bytes = (m * k + count * size * size + m * n) * parts.BYTES[kind] + 4 * (count + n // size + 1)
        sets = b.sets(bytes)
        a = parts.matrices(b, sets, (m, k), kind, multiple=8)
        blocks = b.random(sets, (count, size, size), kind)
        draw = random.Random(str(shape))
        places = [sorted(draw.sample(range(k // size), in_column)) for _ in range(n // size)]
        rows = torch.tensor(places, dtype=torch.int32).flatten().to(a[0].device)
        first = torch.arange(0, count + 1, in_column, dtype=torch.int32, device=rows.device)
        c, out = (parts.results(b, sets, (m, n), kind, parts.padded(n, 8)) for _ in range(2))
        kernel = b.kernel(f"{self.name}_{kind}_{size}")
        ours = [kernel.bind(A=a[i], B=blocks[i], C=c[i], first=first, rows=rows, M=m, N=n, K=k,
                            lda=a[i].stride(0), ldc=c[i].stride(0)) for i in range(sets)]

        def dense(blocks):
            """y with all elements."""
            result = blocks.new_zeros((k, n))
            columns = torch.arange(n // size, device=rows.device).repeat_interleave(in_column)
            result.view(k // size, size, n // size, size).permute(0, 2, 1, 3)[rows.long(), columns] = blocks
            return result

        def cublas():
            from bench.peers import cublas
            return cublas.product(a, [dense(each) for each in blocks], out)

        def bsr():
            from bench.peers import pytorch
            return pytorch.block_sparse(a, blocks, first, rows, (n, k))

        def triton():
            from bench.peers import triton_blocksparse
            return triton_blocksparse.product(b, a, blocks, out, first, rows)

        def error():
            return parts.worst(c[0], a[0], dense(blocks[0]), parts.sum_error(in_column * size))

        def right():
            return parts.sampled(a[0], dense(blocks[0]))()

        makers = dict(cuBLAS_dense=cublas, PyTorch_BSR=bsr, Triton=triton)
        peers = b.peers(**parts.agreeing(makers, out[0], right))
        return Case(bytes, 2 * m * count * size * size, sets, lambda i: ours[i](), peers, error,
                    lambda: parts.poison(c[0]))


FAMILIES = [MatmulBlocksparse()]
