"""glu: y = f(gate) * up with the activation f, which is SwiGLU or GeGLU; and its gradients."""

from bench.families import Case, rows

SHAPES = [("bfloat16", m, n, function) for m, n, function in
          ((8192, 14336, "silu"), (4096, 11008, "silu"), (16384, 4864, "silu"), (32, 14336, "silu"),
           (1, 28672, "silu"), (8192, 16384, "gelu_tanh"), (8192, 3072, "gelu"), (4097, 5461, "silu"))]
SHAPES += [("half", 8192, 11008, "silu"), ("half", 16384, 3072, "gelu"), ("float", 8192, 4096, "silu")]
FUNCTIONS = ("silu", "gelu", "gelu_tanh")
OF_RECORDS = {"swiglu": "silu", "geglu": "gelu_tanh"}  # Liger's geglu has tanh
COLUMNS = 11008  # of the external records, which have no rows


def activation(function):
    """The activation as a function of PyTorch."""
    from torch.nn import functional

    return {"silu": functional.silu, "gelu": functional.gelu,
            "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh")}[function]


def unit(function, n):
    """glu of a matrix whose rows are gate and up with n columns each, as a function of PyTorch."""
    f = activation(function)
    return lambda x: f(x[:, :n]) * x[:, n:]


def halves(x):
    """gate and up: the halves of the rows of the matrices in a list."""
    n = x[0].shape[1] // 2
    return [each[:, :n] for each in x], [each[:, n:] for each in x]


class Glu:
    """gate and up are the halves of the rows of a matrix with 2 N columns."""

    name, unit, matrices = "glu", "GB/s", 3

    def fixed(self):
        return [dict(M=m, N=n, FUNCTION=function, TYPE=kind) for kind, m, n, function in SHAPES]

    def external(self, record):
        if record["op"] != "elementwise" or record.get("kind") not in OF_RECORDS or record["dtype"] != "bf16":
            return []
        m = max(1, record["elements"] // COLUMNS)
        if self.matrices * m * COLUMNS * 2 > rows.KEPT_BYTES // 2:
            return []
        return [dict(M=m, N=COLUMNS, FUNCTION=OF_RECORDS[record["kind"]], TYPE="bfloat16")]

    def random(self, sizes):
        m, n = sizes.size(1, 2**18), sizes.size(16, 65536)
        found = dict(M=m, N=n, FUNCTION=sizes.choose(*FUNCTIONS), TYPE=sizes.choose(*rows.TYPES))
        return found if 2**15 <= m * n <= 2**27 else None

    def case(self, b, shape):
        from bench import check
        from bench.peers import pytorch

        m, n, function, kind = (shape[name] for name in ("M", "N", "FUNCTION", "TYPE"))
        size = 3 * m * n * rows.BYTES[kind]
        sets = b.sets(size)
        x, y = b.random(sets, (m, 2 * n), kind, -4, 4), b.empty(sets, (m, n), kind)
        gate, up = halves(x)
        ours = rows.launches(b, f"glu_{kind}_{function}", sets, gate=gate, up=up, y=y, M=m, N=n, ldx=2 * n,
                             ldy=n)
        f = activation(function)

        def error_of(part):
            before, other = gate[0][part].double(), up[0][part].double()
            # Of f, exp, erf and tanh have errors of a few units in the last place of a number up to 1.
            return check.error(y[0][part], f(before) * other, 32 * rows.UNIT * (before * other).abs())

        def error():
            return rows.worst(m, n, error_of)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(unit(function, n), x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(unit(function, n)), x),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


class GluBackward(Glu):
    name, matrices = "glu_backward", 5

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, function, kind = (shape[name] for name in ("M", "N", "FUNCTION", "TYPE"))
        size = 5 * m * n * rows.BYTES[kind]
        sets = b.sets(size)
        x, dy = b.random(sets, (m, 2 * n), kind, -4, 4), b.random(sets, (m, n), kind)
        dx = b.empty(sets, (m, 2 * n), kind)
        (gate, up), (dgate, dup) = halves(x), halves(dx)
        ours = rows.launches(b, f"glu_backward_{kind}_{function}", sets, gate=gate, up=up, dy=dy, dgate=dgate,
                             dup=dup, M=m, N=n, ldx=2 * n, lddy=n, lddx=2 * n)
        aten = torch.ops.aten
        f, backward = activation(function), {
            "silu": aten.silu_backward, "gelu": aten.gelu_backward,
            "gelu_tanh": lambda dy, x: aten.gelu_backward(dy, x, approximate="tanh")}[function]

        def error_of(part):
            before, other, g = gate[0][part].double(), up[0][part].double(), dy[0][part].double()
            of_gate = backward(g * other, before)
            size = g.abs() * 64 * rows.UNIT
            return max(check.error(dup[0][part], f(before) * g, size * before.abs()),
                       check.error(dgate[0][part], of_gate, size * other.abs() * (1 + before.square())))

        def error():
            return rows.worst(m, n, error_of)

        def gradients(x, dy):
            gate, up = x[:, :n], x[:, n:]
            return torch.cat((backward(dy * up, gate), f(gate) * dy), 1)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(gradients, x, dy),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(gradients), x, dy),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(dx[0]))


FAMILIES = [Glu(), GluBackward()]
