"""matmul_fused: c = f(a y + bias) + d."""

from bench.families import product_parts as parts
from bench.families.product_parts import Operands

EPILOGUES = (("column", "none", "none"), ("column", "gelu", "none"), ("column", "relu", "none"),
             ("none", "none", "add"), ("column", "gelu", "add"))


class MatmulFused:
    """BIAS, FUNCTION and RESIDUAL are the axes of the kernel. Weights are N x K (layout NT), as in models."""

    name, unit = "matmul_fused", "TFLOP/s"

    def fixed(self):
        return parts.shapes(
            "M N K LAYOUT TYPE BIAS FUNCTION RESIDUAL",
            "8192 16384 4096 NT half column gelu none", "8192 4096 16384 NT half column none add",
            "4096 4096 4096 NT half column none none", "4096 4096 4096 NN half column gelu add",
            "4096 4096 4096 NT bfloat16 none relu none", "1576 3072 768 NT half column gelu none",
            "512 3072 768 NT half column gelu none", "128 768 3072 NT half column none add",
            "16 16384 4096 NT half column gelu none", "1 4096 16384 NT half column none add",
            "1023 1021 1019 NT half column relu none")

    def external(self, record):
        return []  # the records of products have no epilogues

    def random(self, sizes):
        bias, function, residual = sizes.choose(*EPILOGUES)
        shape = dict(M=sizes.size(16, 16384), N=sizes.size(64, 16384), K=sizes.size(32, 16384), LAYOUT="NT",
                     TYPE=sizes.choose("half", "bfloat16"), BIAS=bias, FUNCTION=function, RESIDUAL=residual)
        return shape if parts.is_short(shape) else None

    def case(self, b, shape):
        import torch

        function = shape["FUNCTION"]
        operands = Operands(b, shape, multiple=8)
        kind, m, n = operands.kind, operands.m, operands.n
        bias = b.random(1, (n,), kind)[0] if shape["BIAS"] == "column" else None
        residual = None
        if shape["RESIDUAL"] == "add":
            residual = parts.matrices(b, operands.sets, (m, n), kind, multiple=8)
            operands.bytes += m * n * parts.BYTES[kind]

        apply = {"none": lambda x: x, "relu": torch.relu, "gelu": torch.nn.functional.gelu}[function]
        axes = [kind, *shape["LAYOUT"], shape["BIAS"], function, shape["RESIDUAL"]]
        kernel = b.kernel("_".join([self.name, *axes]))
        ours = [kernel.bind(**operands.arguments(i), bias=bias, D=residual[i] if residual else None,
                            ldd=operands.ldc) for i in range(operands.sets)]

        def finish(sum, rows=slice(None), columns=slice(None)):
            """The epilogue in the type of the sum, for a part of c of set 0."""
            result = apply(sum if bias is None else sum + bias[columns].to(sum.dtype))
            return result + residual[0][rows, columns].to(sum.dtype) if residual else result

        # gelu is at most 1.13 times as steep as its argument. Its error in float is far below the last term.
        before = 1.2 * parts.sum_error(operands.k) + 2e-6
        right = parts.sampled(operands.a[0], operands.y[0], lambda sum: finish(sum, parts.sample_of(m)))
        return operands.case(b, ours, peers(b, operands, bias, function, apply, residual), right,
                             lambda: operands.error(finish, before))


def peers(b, operands, bias, function, apply, residual):
    """The makers of peers. The function gelu of cuBLASLt is an approximation with tanh."""
    import torch

    def sequence(a, y, d):
        sum = torch.mm(a, y) if bias is None else torch.addmm(bias, a, y)
        return apply(sum) if d is None else apply(sum) + d

    d = residual or [None] * operands.sets

    def eager():
        from bench.peers import pytorch
        return pytorch.launches(sequence, operands.a, operands.y, d)

    def compiled():
        from bench.peers import pytorch
        return pytorch.launches(pytorch.compiled(sequence), operands.a, operands.y, d)

    def cublaslt():
        from bench.peers import cublaslt
        return cublaslt.product(b, operands.a, operands.y, operands.out, bias, function, residual)

    def triton():
        from bench.peers import triton_products
        return triton_products.product(b, operands.a, operands.y, operands.out, bias, function, residual)

    return dict(PyTorch=eager, PyTorch_compiled=compiled, cuBLASLt=cublaslt, Triton=triton)


FAMILIES = [MatmulFused()]
