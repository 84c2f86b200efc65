"""reduce, argmax, moments: the sum, mean, L2 norm, max or min along an axis of a tensor or of a vector; the index
of the max or min; the mean and the variance. cumulative_sum and top_k of rows; cumulative_sum_long of few rows."""

import math

from bench.families import Case, rows
from bench.families.rows import BYTES, RECORDED, TYPES, launches, sum_error

OPS = ("sum", "mean", "norm", "max", "min")


def axes(p, q, k):
    """The axes of a tensor P x K x Q (or Q x K), whose axis K is reduced. AXIS is the contiguous axis."""
    return dict(P=1, Q=p, K=k, AXIS="last") if q == 1 else dict(P=p, Q=q, K=k, AXIS="inner")


def axes_of(record):
    """The axes of a record of shapes/external.jsonl that reduces one axis; else None."""
    if record["op"] != "reduce" or "axes" in record or record["dtype"] not in RECORDED:
        return None
    return axes(record["outer"], record["inner"], record["reduced"])


def random_axes(sizes):
    if sizes.choose(True, False):
        found = axes(sizes.size(1, 1 << 20), 1, sizes.size(8, 1 << 20))
    else:
        found = axes(sizes.choose(1, 1, sizes.size(2, 1024)), sizes.size(8, 1 << 18), sizes.size(8, 1 << 18))
    return found if 2**16 <= found["P"] * found["Q"] * found["K"] <= 2**28 else None


def tensor(b, sets, shape):
    """Random tensors of the row's axes, and their reduced dimension."""
    p, q, k = shape["P"], shape["Q"], shape["K"]
    if shape["AXIS"] == "last":
        return b.random(sets, (p, q, k), shape["TYPE"]), 2
    return b.random(sets, (p, k, q), shape["TYPE"]), 1


def arguments(shape):
    """Our arguments for the tensors of tensor(). xp is not used if P is 1, and could be too large."""
    p, q, k = shape["P"], shape["Q"], shape["K"]
    xq, xk = (k, 1) if shape["AXIS"] == "last" else (1, q)
    return dict(P=p, Q=q, K=k, xp=q * k if p > 1 else 0, xq=xq, xk=xk, yp=q)


def error_of_sum(length):
    """The error of a sum of random numbers from -1 to 1, whose root mean square is 1 / sqrt(3).

    A program has at least 32 partial sums.
    """
    return sum_error(length, 32) * math.sqrt(length / 3)


def error_of_op(op, length):
    """The error of a sum, mean or norm before it is rounded. The norm divides the error of its sum of squares,
    length / 3 times the relative error of a sum of positive numbers, by 2 sqrt(length / 3)."""
    if op == "norm":
        return sum_error(length, 32) * math.sqrt(length / 3) / 2
    return error_of_sum(length) / (length if op == "mean" else 1)


def function_of(op):
    """PyTorch's function f(x, dim, keepdim, out, dtype)."""
    import torch

    def norm(x, dim, **options):
        return torch.linalg.vector_norm(x, 2, dim, **options)

    return {"sum": torch.sum, "mean": torch.mean, "norm": norm, "max": torch.amax, "min": torch.amin}[op]


def error_of_result(op, result, x, dim, length, keepdim=False):
    from bench import check

    if op in ("max", "min"):
        return check.difference(result, function_of(op)(x, dim, keepdim=keepdim))
    import torch
    right = function_of(op)(x, dim, keepdim=keepdim, dtype=torch.float64)
    return check.error(result, right, error_of_op(op, length))


def triton_reduce(b, op, x, z, last):
    from bench.peers import Absent, triton_reductions

    if op in ("mean", "norm"):
        raise Absent("the Triton kernel computes sums, max and min")
    return triton_reductions.reduce(b, op, x, z, last)


class Reduce:
    name, unit = "reduce", "GB/s"

    def fixed(self):
        return [dict(**axes(p, q, k), OP=op, TYPE=kind) for p, q, k, op, kind in (
            (32768, 1, 4096, "sum", "half"), (131072, 1, 49, "sum", "half"),
            (4096, 1, 50257, "sum", "float"),
            (16, 1, 128256, "max", "bfloat16"), (1048576, 1, 64, "max", "half"),
            (8192, 1, 8191, "min", "bfloat16"), (128, 1, 1024, "sum", "float"),
            (1, 4096, 8192, "sum", "half"), (1, 768, 50176, "sum", "half"), (1, 1000, 64, "sum", "float"),
            (16, 4096, 1024, "sum", "bfloat16"), (7, 517, 1003, "sum", "float"),
            (32, 1024, 2048, "max", "half"), (64, 3136, 256, "min", "float"))]

    def external(self, record):
        found = axes_of(record)
        if found is None or record["kind"] not in OPS or found["P"] * found["Q"] == 1:
            return []
        return [dict(**found, OP=record["kind"], TYPE=RECORDED[record["dtype"]])]

    def random(self, sizes):
        found = random_axes(sizes)
        return found and dict(**found, OP=sizes.choose("sum", "sum", *OPS), TYPE=sizes.choose(*TYPES))

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch
        from bench.peers.verify import verified

        p, q, k, op, kind = (shape[name] for name in ("P", "Q", "K", "OP", "TYPE"))
        size = p * q * (k + 1) * BYTES[kind]
        sets = b.sets(size)
        x, dim = tensor(b, sets, shape)
        y, z = b.empty(sets, (p, q), kind), b.empty(sets, (p, q), kind)
        ours = launches(b, f"reduce_{kind}_{op}_{shape['AXIS']}", sets, X=x, Y=y, **arguments(shape))
        function = function_of(op)

        def error(result):
            return error_of_result(op, result, x[0], dim, k)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x, z: function(x, dim, out=z), x, z),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x: function(x, dim)), x),
            Triton=lambda: verified(triton_reduce(b, op, x, z, shape["AXIS"] == "last"), lambda: error(z[0])),
        )
        return Case(size, 0, sets, ours, peers,
                    lambda: error(y[0]), lambda: check.poison(y[0]))


class ReduceVector:
    name, unit = "reduce_vector", "GB/s"

    def fixed(self):
        return [dict(N=n, OP=op, TYPE=kind) for n, op, kind in (
            (1000, "sum", "float"), (4096, "sum", "half"), (65536, "max", "half"), (1 << 20, "sum", "half"),
            (1000003, "sum", "float"), (1 << 24, "sum", "float"), (1 << 24, "min", "bfloat16"),
            (50675456, "sum", "half"), (100000000, "max", "float"), (1 << 28, "sum", "half"))]

    def external(self, record):
        found = axes_of(record)
        if found is None or record["kind"] not in OPS or found["P"] * found["Q"] != 1:
            return []
        return [dict(N=found["K"], OP=record["kind"], TYPE=RECORDED[record["dtype"]])]

    def random(self, sizes):
        return dict(N=sizes.size(1024, 1 << 28), OP=sizes.choose(*OPS), TYPE=sizes.choose(*TYPES))

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch
        from bench.peers.verify import verified

        n, op, kind = shape["N"], shape["OP"], shape["TYPE"]
        size = (n + 1) * BYTES[kind]
        sets = b.sets(size)
        x, y, z = b.random(sets, (n,), kind), b.empty(sets, (1,), kind), b.empty(sets, (1,), kind)
        ours = launches(b, f"reduce_{kind}_{op}_last", sets, X=x, Y=y,
                        **arguments(dict(P=1, Q=1, K=n, AXIS="last")))
        function = function_of(op)

        def error(result):
            return error_of_result(op, result, x[0], 0, n, keepdim=True)

        def triton():
            launch = triton_reduce(b, op, [each.view(1, 1, n) for each in x], [each.view(1, 1) for each in z], True)
            return verified(launch, lambda: error(z[0]))

        def cub():
            from bench.peers import Absent, cub
            if op in ("mean", "norm"):
                raise Absent("CUB computes sums, max and min")
            return verified(cub.reduce(op, kind, x, z), lambda: error(z[0]))

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x, z: function(x, 0, keepdim=True, out=z), x, z),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x: function(x, 0)), x),
            Triton=triton, CUB=cub,
        )
        return Case(size, 0, sets, ours, peers, lambda: error(y[0]), lambda: check.poison(y[0]))


class Argmax:
    name, unit = "argmax", "GB/s"

    def fixed(self):
        return [dict(**axes(p, q, k), OF=of, TYPE=kind) for p, q, k, of, kind in (
            (1, 1, 128256, "max", "bfloat16"), (64, 1, 128256, "max", "bfloat16"),
            (8192, 1, 32000, "max", "half"), (256, 1, 50257, "max", "float"),
            (16384, 1, 256, "max", "bfloat16"), (65536, 1, 1000, "max", "float"),
            (32768, 1, 8192, "min", "float"), (1000, 1, 10, "max", "float"),
            (16, 262144, 21, "max", "half"), (8, 16384, 150, "max", "float"),
            (4, 1001, 517, "min", "bfloat16"))]

    def external(self, record):
        found = axes_of(record)
        if found is None or record["kind"] not in ("argmax", "argmin"):
            return []
        return [dict(**found, OF=record["kind"].removeprefix("arg"), TYPE=RECORDED[record["dtype"]])]

    def random(self, sizes):
        found = random_axes(sizes)
        return found and dict(**found, OF=sizes.choose("max", "min"), TYPE=sizes.choose(*TYPES))

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import Absent, pytorch
        from bench.peers.verify import verified

        p, q, k, of, kind = (shape[name] for name in ("P", "Q", "K", "OF", "TYPE"))
        size = p * q * ((k + 1) * BYTES[kind] + 4)
        sets = b.sets(size)
        x, dim = tensor(b, sets, shape)
        y, index, z, place = (b.empty(sets, (p, q), each) for each in (kind, "int", kind, "int"))
        long = [torch.empty((p, q), dtype=torch.int64, device="cuda") for _ in range(sets)]  # PyTorch's type
        kernel = f"argmax_{kind}_{of}_{shape['AXIS']}"
        ours = launches(b, kernel, sets, X=x, Y=y, INDEX=index, **arguments(shape))
        function, places, extremum = {"max": (torch.max, torch.argmax, torch.amax),
                                      "min": (torch.min, torch.argmin, torch.amin)}[of]

        def error(values, indices):
            best = extremum(x[0], dim, keepdim=True)
            counted = torch.arange(k, dtype=torch.int32, device="cuda").view((-1, 1) if dim == 1 else (-1,))
            first = torch.where(x[0] == best, counted, k).amin(dim)
            return max(check.difference(values, best.squeeze(dim)), check.difference(indices, first))

        def triton():
            from bench.peers import triton_reductions
            launch = triton_reductions.argmax(b, of, x, z, place, shape["AXIS"] == "last")
            return verified(launch, lambda: error(z[0], place[0]))

        def cub():
            if p * q != 1:
                raise Absent("CUB's ArgMax and ArgMin reduce one vector")
            from bench.peers import cub
            return verified(cub.argmax(of, kind, x, z, place), lambda: error(z[0], place[0]))

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x, z, at: function(x, dim, out=(z, at)), x, z, long),
            PyTorch_argmax=lambda: pytorch.launches(lambda x, at: places(x, dim, out=at), x, long),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x: function(x, dim)), x),
            Triton=triton, CUB=cub,
        )
        return Case(size, 0, sets, ours, peers,
                    lambda: error(y[0], index[0]), lambda: check.poison(y[0], index[0]))


class Moments:
    """The variance is an estimate: the divisor is K - 1."""

    name, unit = "moments", "GB/s"

    def fixed(self):
        return [dict(**axes(p, q, k), TYPE=kind) for p, q, k, kind in (
            (32768, 1, 4096, "half"), (131072, 1, 64, "half"), (4096, 1, 50257, "float"),
            (8192, 1, 8191, "bfloat16"), (1, 4096, 8192, "half"), (1, 768, 50176, "half"),
            (16, 4096, 1024, "bfloat16"), (64, 3136, 256, "float"), (7, 517, 1003, "float"))]

    def external(self, record):
        return []  # the records have no variances

    def random(self, sizes):
        found = random_axes(sizes)
        return found and dict(**found, TYPE=sizes.choose(*TYPES))

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        p, q, k, kind = (shape[name] for name in ("P", "Q", "K", "TYPE"))
        size = p * q * (k * BYTES[kind] + 8)
        sets = b.sets(size)
        x, dim = tensor(b, sets, shape)
        mean, variance = b.empty(sets, (p, q), "float"), b.empty(sets, (p, q), "float")
        ours = launches(b, f"moments_{kind}_{shape['AXIS']}", sets, X=x, MEAN=mean, VARIANCE=variance,
                        correction=1, **arguments(shape))

        def error():
            right, center = torch.var_mean(x[0].double(), dim, correction=1)
            # The pivot is the mean of at least 16 of the numbers, so it is at most 0.6 away from 0. All
            # distances have this mean, so the at least 16 partial sums grow with the number of terms.
            of_growing = 8 * rows.UNIT * 0.6 * math.sqrt(k / 3) / 16
            of_mean = 2 * error_of_sum(k) / k + of_growing
            return max(check.error(mean[0], center, of_mean),
                       check.error(variance[0], right, (sum_error(k, 16) + 8 * rows.UNIT) * right + of_mean**2))

        def moments(x):
            return torch.var_mean(x, dim, correction=1)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(moments, x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(moments), x),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(mean[0], variance[0]))


class CumulativeSum(rows.Rows):
    name = "cumulative_sum"
    shapes = [("half", m, n) for m, n in
              ((65536, 1024), (32768, 4096), (4096, 32768), (131072, 128), (4097, 3001))]
    shapes += [("bfloat16", 8192, 8192), ("float", 32768, 4096), ("float", 16, 1048576)]
    columns, matrices = (64, 262144), 2

    def workspace(self, m, n):
        return {}

    def external(self, record):
        if record["op"] != "cumsum" or record["kind"] != "sum" or record["dtype"] not in RECORDED:
            return []
        return [dict(M=record["rows"], N=record["columns"], TYPE=RECORDED[record["dtype"]])]

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = 2 * m * n * BYTES[kind]
        sets = b.sets(size)
        x, y = b.random(sets, (m, n), kind), b.empty(sets, (m, n), kind)
        ours = launches(b, f"{self.name}_{kind}", sets, x=x, y=y, M=m, N=n, ldx=n, ldy=n, **self.workspace(m, n))

        def error_of(part):
            values = x[0][part].double()
            before = sum_error(n, 128) * values.square().cumsum(1).sqrt()
            return check.error(y[0][part], values.cumsum(1), before)

        def error():
            return rows.worst(m, n, error_of)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x: torch.cumsum(x, 1), x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x: torch.cumsum(x, 1)), x),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


class CumulativeSumLong(CumulativeSum):
    """PyTorch's sums of one row are CUB's DeviceScan."""

    name = "cumulative_sum_long"
    shapes = [("half", 1, 1 << 28), ("float", 1, 1 << 26), ("float", 1, 10000003), ("half", 1, 1 << 20),
              ("float", 16, 1048576), ("bfloat16", 4, 16000000), ("half", 64, 262144)]

    def workspace(self, m, n):
        import torch

        return dict(words=torch.zeros(2 + 256 * m * -(-n // 31744), dtype=torch.int64, device="cuda"))

    def external(self, record):
        return []  # those of cumulative_sum

    def random(self, sizes):
        m, n = sizes.size(1, 64), sizes.size(65536, 1 << 28)
        return dict(M=m, N=n, TYPE=sizes.choose(*TYPES)) if m * n <= 2**28 else None


class TopK:
    """Of equal elements, the first has the lower rank. A peer may choose another."""

    name, unit = "top_k", "GB/s"

    def fixed(self):
        return [dict(M=m, N=n, K=k, TYPE=kind) for m, n, k, kind in (
            (65536, 256, 8, "float"), (16384, 128, 8, "bfloat16"), (65536, 64, 2, "float"),
            (32, 128256, 8, "half"), (4096, 4096, 4, "half"), (1000, 1001, 1, "float"),
            (32, 128256, 50, "bfloat16"), (1, 151936, 64, "float"), (8192, 256, 64, "float"),
            (1024, 32000, 40, "half"))]

    def external(self, record):
        if record["op"] != "other" or record.get("kind") != "topk" or record["dtype"] not in RECORDED:
            return []
        return [dict(M=record["rows"], N=record["columns"], K=record["k"], TYPE=RECORDED[record["dtype"]])]

    def random(self, sizes):
        m, n, k = sizes.size(1, 2**18), sizes.size(16, 2**18), sizes.size(1, 64)
        found = dict(M=m, N=n, K=k, TYPE=sizes.choose(*TYPES))
        return found if 2**14 <= m * n <= 2**26 and k <= n else None

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, k, kind = (shape[name] for name in ("M", "N", "K", "TYPE"))
        size = m * n * BYTES[kind] + m * k * (BYTES[kind] + 4)
        sets = b.sets(size)
        x = b.random(sets, (m, n), kind)
        values, indices = b.empty(sets, (m, k), kind), b.empty(sets, (m, k), "int")
        ours = launches(b, f"top_k_{kind}", sets, x=x, values=values, indices=indices, M=m, N=n, K=k, ldx=n,
                        ldv=k, ldi=k)

        def error():
            right, places = torch.sort(x[0], dim=1, descending=True, stable=True)
            return max(check.difference(values[0], right[:, :k]),
                       check.difference(indices[0], places[:, :k].int()))

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x: torch.topk(x, k, 1), x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x: torch.topk(x, k, 1)), x),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(values[0], indices[0]))


FAMILIES = [Reduce(), ReduceVector(), Argmax(), Moments(), CumulativeSum(), CumulativeSumLong(), TopK()]
