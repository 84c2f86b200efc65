"""matmul_glu: c = f(a g) * (a u), the first half of a feed-forward layer with SwiGLU or GeGLU."""

import functools

from bench.families import Case, glu, rows
from bench.families import product_parts as parts
from bench.families.product_parts import Operands


class MatmulGlu:
    """g and u have N columns each. They are the halves of one matrix, whose layout is the second of LAYOUT."""

    name, unit = "matmul_glu", "TFLOP/s"

    def fixed(self):
        return parts.shapes(
            "M N K LAYOUT FUNCTION TYPE",
            "4096 11008 4096 NT silu half", "2048 14336 4096 NT silu bfloat16", "512 14336 4096 NT silu bfloat16",
            "64 14336 4096 NT silu bfloat16", "16 11008 4096 NT silu half", "1 14336 4096 NT silu bfloat16",
            "2048 28672 8192 NT silu bfloat16", "16 28672 8192 NT silu half", "4096 18944 3584 NT silu bfloat16",
            "64 18944 3584 NT silu half", "2048 14336 4096 NN silu half", "512 11008 4096 NN silu bfloat16",
            "4096 14336 3584 NT gelu_tanh bfloat16")

    def external(self, record):
        return []  # the records of products have no gates

    def random(self, sizes):
        shape = dict(M=sizes.size(1, 16384), N=sizes.size(64, 16384), K=sizes.size(32, 16384),
                     LAYOUT=sizes.choose(*parts.LAYOUTS), FUNCTION=sizes.choose(*glu.FUNCTIONS),
                     TYPE=sizes.choose("half", "bfloat16"))
        return shape if parts.is_short(both(shape)) else None

    def case(self, b, shape):
        from bench import check

        m, n, k, layout, function, kind = shape.values()
        operands = Operands(b, both(shape))  # of the product that has the columns of g and of u
        a, sets = operands.a, operands.sets
        for y in operands.y:  # so that gates are about 1, as in a trained layer: no exp overflows
            y.mul_(k**-0.5)
        weights, c = glu.halves(operands.y), parts.results(b, sets, (m, n), kind)
        ours = rows.launches(b, "_".join([self.name, kind, function, *layout]), sets, A=a, G=weights[0],
                             U=weights[1], C=c, M=m, N=n, K=k, lda=operands.lda, ldb=operands.ldb, ldc=n)
        f = glu.activation(function)

        def right():
            gate, up = (parts.sampled(a[0], each[0][:, :n])() for each in weights)
            return f(gate) * up

        def error():
            in_double = [parts.in_double(each[0][:, :n]) for each in weights]

            def error_of(part):
                gate, up = (parts.in_double(a[0][part]) @ each for each in in_double)
                # No f is more than 1.2 times as steep as its argument. Its own error is as in glu.
                of_sum = parts.sum_error(k)
                before = 1.2 * of_sum * (gate.abs() + up.abs() + of_sum) + 48 * rows.UNIT * (gate * up).abs()
                return check.error(c[0][part], f(gate) * up, before)

            return rows.worst(m, max(n, k), error_of)

        out = [x[:, :n] for x in operands.out]
        peers = b.peers(**parts.agreeing(makers(b, operands, weights, out, function), out[0], right))
        size = parts.BYTES[kind] * (m * k + 2 * k * n + m * n)
        return Case(size, 2 * parts.flops(shape), sets, ours, peers, error, lambda: check.poison(c[0]))


def both(shape):
    """The shape of the product with g and u side by side. u begins at a multiple of 8, so that it is aligned."""
    return dict(shape, N=2 * parts.padded(shape["N"], 8))


def makers(b, operands, weights, out, function):
    """The makers of peers. "cuBLAS twice" has a product with g and one with u, cuBLAS and cuBLASLt one with both.
    The kernel of PyTorch compiled, which is the best peer of glu, follows."""
    a, products = operands.a, operands.c
    width, n = operands.n // 2, out[0].shape[1]

    @functools.cache
    def compiled():
        from bench.peers import pytorch
        return pytorch.compiled(glu.unit(function, width))

    def followed(*makers):
        def maker():
            launches, unit = [make() for make in makers], compiled()

            def launch(i):
                for each in launches:
                    each(i)
                return unit(products[i])[:, :n]

            return launch

        return maker

    def triton():
        from bench.peers import triton_gated
        return triton_gated.product(b, a, *([x[:, :n] for x in each] for each in weights), out, function)

    twice = [parts.makers(b, a, *each)["cuBLAS"] for each in zip(weights, glu.halves(products))]
    once = parts.makers(b, a, operands.y, products)
    return dict(cuBLAS_twice=followed(*twice), cuBLAS=followed(once["cuBLAS"]),
                cuBLASLt=followed(once["cuBLASLt"]), Triton=triton)


FAMILIES = [MatmulGlu()]
