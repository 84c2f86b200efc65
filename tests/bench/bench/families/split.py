"""matmul_split: c = a y by split-K, for large K and few results."""

from bench.families import product_parts as parts
from bench.families.product_parts import Operands

SMALLEST = 32          # tile of c of the kernel, which sets the number of counts
TILE = 64              # tile of c that the number of parts assumes
TERMS = 256            # of a program, at least


class MatmulSplit:
    """The caller chooses `parts`. Here they give one program per SM with tiles of 64 x 64."""

    name, unit = "matmul_split", "TFLOP/s"
    types = ("half", "bfloat16", "float")

    def fixed(self):
        return parts.shapes(
            "M N K TYPE",
            "64 64 65536 half", "128 128 16384 half", "256 256 16384 half", "512 512 8192 bfloat16",
            "1 4096 14336 bfloat16", "16 4096 16384 half", "100 300 20000 half", "127 127 32767 half",
            "256 256 524288 half", "64 64 65536 float")

    def external(self, record):
        kind = parts.RECORDS.get(record.get("dtype"))
        if record["op"] != "gemm" or kind not in self.types or record["layout"] != "NN":
            return []
        m, n, k = record["M"], record["N"], record["K"]
        return [dict(M=m, N=n, K=k, TYPE=kind)] if m * n <= 2**18 and k >= 4096 else []

    def random(self, sizes):
        shape = dict(M=sizes.size(16, 1024), N=sizes.size(16, 1024), K=sizes.size(4096, 2**19),
                     TYPE=sizes.choose(*self.types))
        is_large = (shape["M"] + shape["N"]) * shape["K"] > 2**28
        return shape if shape["M"] * shape["N"] <= 2**18 and parts.is_short(shape) and not is_large else None

    def case(self, b, shape):
        import torch

        operands = Operands(b, shape, multiple=8)
        m, n, k = operands.m, operands.n, operands.k
        programs = torch.cuda.get_device_properties(0).multi_processor_count
        count = max(1, min(programs // (tiles(m, TILE) * tiles(n, TILE)), k // TERMS))
        # The launches follow each other on one stream, so they can share the sums and the counts.
        sums = b.empty(1, (m, n), "float")[0].zero_()
        counts = b.empty(1, (tiles(m, SMALLEST) * tiles(n, SMALLEST),), "int")[0].zero_()
        kernel = b.kernel(f"{self.name}_{operands.kind}")
        return operands.case(b, [kernel.bind(**operands.arguments(i), sums=sums, counts=counts, parts=count)
                                 for i in range(operands.sets)])


def tiles(size, tile):
    return -(-size // tile)


FAMILIES = [MatmulSplit()]
