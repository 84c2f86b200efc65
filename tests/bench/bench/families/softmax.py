"""softmax: y = exp(x - max) / sum along rows; and its gradient."""

from bench.families import Case, rows

SHAPES = [("half", m, n) for m, n in
          ((1048576, 33), (401408, 49), (262144, 128), (65536, 1024), (32768, 4096), (16384, 8192),
           (16384, 8191), (4096, 65536), (512, 262144), (16, 128256))]
SHAPES += [("bfloat16", 32768, 2048), ("float", 32768, 2048)]


class Softmax(rows.Rows):
    name = operation = "softmax"
    shapes, columns, matrices = SHAPES, (9, 262144), 2

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = 2 * m * n * rows.BYTES[kind]
        sets = b.sets(size)
        x, y = b.random(sets, (m, n), kind, -4, 4), b.empty(sets, (m, n), kind)
        ours = rows.launches(b, f"softmax_{kind}", sets, x=x, y=y, M=m, N=n, ldx=n, ldy=n)
        # exp has an error of 2 + 1.3 * 8 units in the last place, in the numerator and in the sum.
        relative = rows.sum_error(n) + 4 * 12.4 * rows.UNIT

        def error_of(part):
            reference = torch.softmax(x[0][part].double(), 1)
            return check.error(y[0][part], reference, relative * reference)

        def error():
            return rows.worst(m, n, error_of)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x: torch.softmax(x, 1), x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x: torch.softmax(x, 1)), x),
            Triton=rows.triton("softmax", error, b, x, y),
            **rows.tile_cpp("softmax", error, b, x, y),
            QuACK=rows.verified("quack", "softmax", error, x, y),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


class SoftmaxBackward(rows.Rows):
    name, operation = "softmax_backward", "softmax"
    shapes, columns, matrices = SHAPES, (9, 262144), 3

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = 3 * m * n * rows.BYTES[kind]
        sets = b.sets(size)
        y, dy = b.random(sets, (m, n), kind, 0, 2 / n), b.random(sets, (m, n), kind)
        dx = b.empty(sets, (m, n), kind)
        ours = rows.launches(b, f"softmax_backward_{kind}", sets, y=y, dy=dy, dx=dx, M=m, N=n, ldy=n, lddy=n,
                             lddx=n)

        def error_of(part):
            p, g = y[0][part].double(), dy[0][part].double()
            products = p * g
            total = products.sum(1, keepdim=True)
            before = (rows.sum_error(n) * products.abs().sum(1, keepdim=True)
                      + 4 * rows.UNIT * (g.abs() + total.abs()))
            return check.error(dx[0][part], p * (g - total), p * before)

        def error():
            return rows.worst(m, n, error_of)

        def gradient(y, dy):
            return torch.ops.aten._softmax_backward_data(dy, y, 1, y.dtype)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(gradient, y, dy),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(gradient), y, dy),
            Triton=rows.triton("softmax_backward", error, b, y, dy, dx),
            QuACK=rows.verified("quack", "softmax_backward", error, y, dy, dx),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(dx[0]))


FAMILIES = [Softmax(), SoftmaxBackward()]
