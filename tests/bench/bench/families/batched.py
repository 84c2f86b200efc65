"""matmul_batched: products of one size, with matrices that follow each other without gaps."""

from bench.families import product_parts as parts
from bench.families.product_parts import Operands


class MatmulBatched:
    name, unit = "matmul_batched", "TFLOP/s"
    types = ("half", "bfloat16", "float")

    def fixed(self):
        return parts.shapes(
            "BATCH M N K LAYOUT TYPE",
            "16 4096 4096 128 NT half", "64 1024 1024 64 NT half", "64 1024 64 1024 NN half",
            "128 512 2048 1024 NN half", "32 512 512 512 TN bfloat16", "384 197 197 64 NT half",
            "2048 49 49 32 NT half", "4096 64 64 64 NN half", "32 1 4096 128 NT bfloat16",
            "128 512 512 512 NN float")

    def external(self, record):
        kind = parts.RECORDS.get(record.get("dtype"))
        if record["op"] != "bmm" or kind not in self.types or record["batch"] > 65535:
            return []
        return [dict(BATCH=record["batch"], M=record["M"], N=record["N"], K=record["K"],
                     LAYOUT=record["layout"], TYPE=kind)]

    def random(self, sizes):
        m, n, k = (sizes.size(low, 2048) for low in (8, 16, 16))
        shape = dict(BATCH=round(2 ** sizes.choose(*(each / 2 for each in range(4, 25)))), M=m, N=n, K=k,
                     LAYOUT=sizes.choose(*parts.LAYOUTS), TYPE=sizes.choose(*self.types))
        elements = shape["BATCH"] * (m * k + k * n + m * n)
        return shape if parts.is_short(shape) and elements <= 2**29 else None

    def case(self, b, shape):
        operands = Operands(b, shape)
        m, n, k = operands.m, operands.n, operands.k
        batches = dict(batch_a=m * k, batch_b=k * n, batch_c=m * n)
        multiple = 16 // parts.BYTES[operands.kind]
        strides = [operands.lda, operands.ldb, operands.ldc, *batches.values()]
        promise = "aligned" if all(stride % multiple == 0 for stride in strides) else "any"
        kernel = b.kernel("_".join([self.name, operands.kind, *shape["LAYOUT"], promise]))
        return operands.case(b, [kernel.bind(**operands.arguments(i), BATCH=shape["BATCH"], **batches)
                                 for i in range(operands.sets)])


FAMILIES = [MatmulBatched()]
