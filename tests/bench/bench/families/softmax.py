"""softmax: y = exp(x - max) / sum along rows or columns; its logarithm, its gradient, and with a mask."""

from bench.families import Case, rows

SHAPES = [("half", m, n) for m, n in
          ((1048576, 33), (401408, 49), (262144, 128), (65536, 1024), (32768, 4096), (16384, 8192),
           (16384, 8191), (4096, 65536), (512, 262144), (16, 128256))]
SHAPES += [("bfloat16", 32768, 2048), ("float", 32768, 2048)]


def softmax_error(length):
    """exp has an error of 2 + 1.3 * 8 units in the last place, in the numerator and in the sum."""
    return rows.sum_error(length) + 4 * 12.4 * rows.UNIT


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
        relative = softmax_error(n)

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


class LogSoftmax(rows.Rows):
    name = operation = "log_softmax"
    shapes, columns, matrices = SHAPES, (9, 262144), 2

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = 2 * m * n * rows.BYTES[kind]
        sets = b.sets(size)
        x, y = b.random(sets, (m, n), kind, -4, 4), b.empty(sets, (m, n), kind)
        ours = rows.launches(b, f"log_softmax_{kind}", sets, x=x, y=y, M=m, N=n, ldx=n, ldy=n)

        def error_of(part):
            reference = torch.log_softmax(x[0][part].double(), 1)
            # exp has an error of 2 + 1.3 * 8 units in the last place, log one of 5.
            before = rows.sum_error(n) + 2 * 12.4 * rows.UNIT + 12 * rows.UNIT * reference.abs()
            return check.error(y[0][part], reference, before)

        def error():
            return rows.worst(m, n, error_of)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x: torch.log_softmax(x, 1), x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x: torch.log_softmax(x, 1)), x),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


class SoftmaxInner:
    """P x K x Q, along K."""

    name, unit = "softmax_inner", "GB/s"

    def fixed(self):
        return [dict(P=p, K=k, Q=q, TYPE=kind) for p, k, q, kind in (
            (1, 4096, 8192, "half"), (1, 768, 50176, "half"), (16, 1024, 4096, "bfloat16"),
            (64, 256, 3136, "float"), (8, 21, 262144, "half"), (4096, 64, 64, "bfloat16"),
            (7, 1003, 517, "float"))]

    def external(self, record):
        return []  # the records have no axes

    def random(self, sizes):
        p, k, q = sizes.choose(1, sizes.size(2, 4096)), sizes.size(8, 2**16), sizes.size(8, 2**18)
        return dict(P=p, K=k, Q=q, TYPE=sizes.choose(*rows.TYPES)) if 2**15 <= p * k * q <= 2**28 else None

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        p, k, q, kind = shape["P"], shape["K"], shape["Q"], shape["TYPE"]
        size = 2 * p * k * q * rows.BYTES[kind]
        sets = b.sets(size)
        x, y = b.random(sets, (p, k, q), kind, -4, 4), b.empty(sets, (p, k, q), kind)
        layer = k * q if p > 1 else 0  # not used for one layer, and could be too large
        ours = rows.launches(b, f"softmax_inner_{kind}", sets, x=x, y=y, P=p, K=k, Q=q, xp=layer, xk=q,
                             yp=layer, yk=q)

        def error_of(part):
            reference = torch.softmax(x[0][part].double(), 1)
            return check.error(y[0][part], reference, softmax_error(k) * reference)

        def error():
            return rows.worst(p, k * q, error_of)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x: torch.softmax(x, 1), x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x: torch.softmax(x, 1)), x),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


class SoftmaxMasked:
    """Scores of an attention, such as M = heads * queries. R rows of the mask are for all heads."""

    name, unit = "softmax_masked", "GB/s"
    scale = 0.5

    def fixed(self):
        return [dict(M=m, N=n, R=r, MASK=mask, TYPE=kind) for m, n, r, mask, kind in (
            (32768, 1024, 1024, "keep", "half"), (131072, 4096, 4096, "keep", "half"),
            (65536, 512, 512, "add", "bfloat16"), (98304, 2048, 2048, "add", "bfloat16"),
            (16384, 8191, 8191, "add", "half"), (32768, 4096, 1, "keep", "bfloat16"),
            (16384, 2048, 2048, "add", "float"), (100000, 197, 197, "keep", "half"),
            (65536, 2048, 2048, "causal", "bfloat16"), (16384, 4096, 1024, "causal", "half"))]

    def external(self, record):
        return []  # the records have no masks

    def random(self, sizes):
        m, n = sizes.size(1, 2**20), sizes.size(9, 65536)
        found = dict(M=m, N=n, R=sizes.choose(1, sizes.size(1, min(n, 4096))),
                     MASK=sizes.choose("add", "keep", "causal"), TYPE=sizes.choose(*rows.TYPES))
        return found if 2**15 <= m * n <= 2**28 else None

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, r, kind = shape["M"], shape["N"], shape["R"], shape["TYPE"]
        keeps, is_causal = shape["MASK"] != "add", shape["MASK"] == "causal"
        of_mask = 0 if is_causal else 1 if keeps else rows.BYTES[kind]
        size = 2 * m * n * rows.BYTES[kind] + min(m, r) * n * of_mask
        sets = b.sets(size)
        x, y = b.random(sets, (m, n), kind, -4, 4), b.empty(sets, (m, n), kind)
        if is_causal:  # only for the peers
            columns, queries = torch.arange(n, device="cuda"), torch.arange(r, device="cuda").view(-1, 1)
            mask = [(columns <= queries + n - r).to(torch.uint8)] * sets
        elif keeps:
            mask = b.random(sets, (r, n), "uint8", 0, 1)
            for each in mask:
                each[:, 0] = 1  # PyTorch's softmax of a hidden row is NaN
        else:
            mask = b.random(sets, (r, n), kind, -2, 2)
            for each in mask:
                each.masked_fill_(each < -1, float("-inf"))[:, 0] = 0
        ours = rows.launches(b, f"softmax_masked_{kind}_{shape['MASK']}", sets, x=x,
                             mask=None if is_causal else mask, y=y,
                             scale=self.scale, M=m, N=n, R=r, B=m, ldx=n, ldm=n, ldb=0, ldy=n)

        def scores(x, mask):
            if keeps:
                return (x * self.scale).masked_fill(mask == 0, float("-inf"))
            return x * self.scale + mask

        def error_of(part):
            numbers = torch.arange(m, device=x[0].device)[part] % r
            reference = torch.softmax(scores(x[0][part].double(), mask[0][numbers].double()), 1)
            # exp has an error of 2 + 1.3 * 8 units in the last place, in the numerator and in the sum.
            # Its argument is rounded, too.
            relative = rows.sum_error(n) + (4 * 12.4 + 32) * rows.UNIT
            return check.error(y[0][part], reference, relative * reference)

        def error():
            return rows.worst(m, n, error_of)

        def softmax(x, mask):
            if m % r == 0:
                return torch.softmax(scores(x.view(-1, r, n), mask), 2)
            return torch.softmax(scores(x, mask.repeat(-(-m // r), 1)[:m]), 1)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(softmax, x, mask),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(softmax), x, mask),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


FAMILIES = [Softmax(), SoftmaxBackward(), LogSoftmax(), SoftmaxInner(), SoftmaxMasked()]
