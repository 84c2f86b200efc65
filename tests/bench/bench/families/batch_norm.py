"""batch_norm with a known mean and variance, batch_norm_training, batch_norm_backward.

Tensors are N x C x S; S is the number of pixels. PyTorch gets matrices as N x C.
"""

from bench.families import Case, rows

EPSILON, MOMENTUM = 1e-5, 0.1

SHAPES = [("half", n, c, s) for n, c, s in
          ((64, 64, 12544), (64, 256, 3136), (64, 512, 784), (64, 1024, 196), (64, 2048, 49), (256, 64, 3136),
           (16, 54, 27225), (1, 64, 65536), (2, 64, 49), (8192, 1024, 1), (4099, 511, 1))]
SHAPES += [("bfloat16", 32, 256, 3136), ("float", 32, 256, 3136)]


class BatchNorm:
    """The common parts of the three families."""

    unit = "GB/s"

    def fixed(self):
        return [dict(N=n, C=c, S=s, TYPE=kind) for kind, n, c, s in SHAPES]

    def external(self, record):
        is_batch_norm = record["op"] == "other" and record["kind"] == "batch_norm"
        if not is_batch_norm or record["dtype"] not in rows.RECORDED or record["N"] * record["S"] < 2:
            return []
        return [dict(N=record["N"], C=record["C"], S=record["S"], TYPE=rows.RECORDED[record["dtype"]])]

    def random(self, sizes):
        n, c = sizes.choose(1, 2, 4, 8, 16, 32, 64, 128, 256), sizes.size(16, 2048)
        s = sizes.size(9, 65536)
        if sizes.choose(True, False, False, False, False):
            n, s = n * 64, 1
        return dict(N=n, C=c, S=s, TYPE=sizes.choose(*rows.TYPES)) if 2**15 <= n * c * s <= 2**27 else None


def of_pytorch(tensors):
    """The tensors as PyTorch wants them: without the axis S if S is 1."""
    return [each[:, :, 0] for each in tensors] if tensors[0].shape[2] == 1 else tensors


def forward_peers(b, training, x, gain, bias, mean, variance):
    import torch

    from bench.peers import pytorch

    def of(function):
        return lambda *given: function(*given, training, MOMENTUM, EPSILON)

    native, cudnn = of(torch.ops.aten.native_batch_norm), of(torch.ops.aten.cudnn_batch_norm)
    eager = (of_pytorch(x), gain, bias, mean, variance)
    function, arguments = of(torch.nn.functional.batch_norm), (of_pytorch(x), mean, variance, gain, bias)
    return b.peers(
        PyTorch=lambda: pytorch.launches(native, *eager),
        PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(function), *arguments),
        cuDNN=lambda: pytorch.launches(cudnn, *eager),
    )


def in_channels(vector):
    """A vector with an element per channel in double, so that it broadcasts to N x C x S."""
    return vector.double()[None, :, None]


def over_channel(values):
    """The sum over each channel."""
    return values.sum((0, 2), keepdim=True)


class Inference(BatchNorm):
    name = "batch_norm"

    def case(self, b, shape):
        import torch

        from bench import check

        n, c, s, kind = (shape[key] for key in ("N", "C", "S", "TYPE"))
        size = 2 * n * c * s * rows.BYTES[kind] + 16 * c
        sets = b.sets(size)
        x, y = b.random(sets, (n, c, s), kind), b.empty(sets, (n, c, s), kind)
        mean, gain, bias = (b.random(sets, (c,), "float") for _ in range(3))
        variance = b.random(sets, (c,), "float", 0.1, 2)
        ours = rows.launches(b, f"batch_norm_{kind}", sets, x=x, mean=mean, variance=variance, gain=gain,
                             bias=bias, y=y, epsilon=EPSILON, N=n, C=c, S=s)
        peers = forward_peers(b, False, x, gain, bias, mean, variance)

        def error_of(part):
            slope = in_channels(gain[0][part]) / torch.sqrt(in_channels(variance[0][part]) + EPSILON)
            normal = (x[0][:, part].double() - in_channels(mean[0][part])) * slope
            offset = in_channels(bias[0][part])
            before = rows.UNIT * (8 * normal.abs() + 4 * offset.abs())
            return check.error(y[0][:, part], normal + offset, before)

        return Case(size, 0, sets, ours, peers, lambda: rows.worst(c, n * s, error_of),
                    lambda: check.poison(y[0]))


class Training(BatchNorm):
    name = "batch_norm_training"

    def case(self, b, shape):
        import torch

        from bench import check

        n, c, s, kind = (shape[key] for key in ("N", "C", "S", "TYPE"))
        count, size = n * s, 2 * n * c * s * rows.BYTES[kind] + 32 * c
        sets = b.sets(size)
        x, y = b.random(sets, (n, c, s), kind), b.empty(sets, (n, c, s), kind)
        gain, bias = b.random(sets, (c,), "float"), b.random(sets, (c,), "float")
        mean, factor = b.empty(sets, (c,), "float"), b.empty(sets, (c,), "float")
        running = b.random(sets, (c,), "float"), b.random(sets, (c,), "float", 0.1, 2)
        old = [each[0].clone() for each in running]
        ours = rows.launches(b, f"batch_norm_training_{kind}", sets, x=x, gain=gain, bias=bias, y=y,
                             mean=mean, factor=factor, running_mean=running[0], running_variance=running[1],
                             momentum=MOMENTUM, epsilon=EPSILON, N=n, C=c, S=s)
        peers = forward_peers(b, True, x, gain, bias, *running)

        def poison():
            check.poison(y[0], mean[0], factor[0])
            for vectors, vector in zip(running, old):
                vectors[0].copy_(vector)

        def error_of(part):
            values, error = x[0][:, part].double(), rows.sum_error(count, min(s, 512))
            center = over_channel(values) / count
            squares = over_channel((values - center).square())
            scale = 1 / torch.sqrt(squares / count + EPSILON)
            shift = error * over_channel(values.abs()) / count
            slope, offset = scale * in_channels(gain[0][part]), in_channels(bias[0][part])
            normal = (values - center) * slope
            before = error * normal.abs() + shift * slope.abs() + 4 * rows.UNIT * offset.abs()

            def error_in(vector, reference, before):
                return check.error(vector[part][None, :, None], reference, before)

            def error_in_running(k, new, before):
                kept = (1 - MOMENTUM) * in_channels(old[k][part])
                return error_in(running[k][0], kept + MOMENTUM * new,
                                MOMENTUM * before + 4 * rows.UNIT * (kept.abs() + new.abs()))

            return max(check.error(y[0][:, part], normal + offset, before),
                       error_in(mean[0], center, shift), error_in(factor[0], scale, error * scale),
                       error_in_running(0, center, shift),
                       error_in_running(1, squares / (count - 1), error * squares / (count - 1)))

        return Case(size, 0, sets, ours, peers, lambda: rows.worst(c, count, error_of), poison)


class Backward(BatchNorm):
    name = "batch_norm_backward"

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        n, c, s, kind = (shape[key] for key in ("N", "C", "S", "TYPE"))
        count, size = n * s, 3 * n * c * s * rows.BYTES[kind] + 20 * c
        sets = b.sets(size)
        x, dy = b.random(sets, (n, c, s), kind), b.random(sets, (n, c, s), kind)
        gain, mean = b.random(sets, (c,), "float"), b.random(sets, (c,), "float")
        factor = b.random(sets, (c,), "float", 1, 2)
        dx, (dgain, dbias) = b.empty(sets, (n, c, s), kind), (b.empty(sets, (c,), "float") for _ in range(2))
        ours = rows.launches(b, f"batch_norm_backward_{kind}", sets, x=x, gain=gain, mean=mean, factor=factor,
                             dy=dy, dx=dx, dgain=dgain, dbias=dbias, N=n, C=c, S=s)
        xs, dys = of_pytorch(x), of_pytorch(dy)
        aten = torch.ops.aten

        def native(x, dy, gain, mean, factor):
            return aten.native_batch_norm_backward(dy, x, gain, None, None, mean, factor, True, EPSILON,
                                                   [True, True, True])

        def cudnn():
            """The backward pass needs what the forward pass stores."""
            passes = [aten.cudnn_batch_norm(xs[i], gain[i], gain[i], mean[i].clone(), factor[i].clone(), True,
                                            MOMENTUM, EPSILON)[1:] for i in range(sets)]

            def gradients(x, dy, gain, stored):
                mean, factor, reserve = stored
                return aten.cudnn_batch_norm_backward(x, dy, gain, None, None, mean, factor, EPSILON, reserve)

            return pytorch.launches(gradients, xs, dys, gain, passes)

        arguments = (xs, dys, gain, mean, factor)
        peers = b.peers(
            PyTorch=lambda: pytorch.launches(native, *arguments),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(native), *arguments),
            cuDNN=cudnn,
        )

        def error_of(part):
            g, scale = dy[0][:, part].double(), in_channels(factor[0][part])
            error = rows.sum_error(count, min(s, 512))  # at least S partial sums
            above = (x[0][:, part].double() - in_channels(mean[0][part])) * scale
            by_bias, by_gain = over_channel(g), over_channel(above * g)
            of_bias = error * over_channel(g.square()).sqrt()
            of_gain = error * over_channel((above * g).square()).sqrt()
            whole, by_x = in_channels(gain[0][part]) * scale, above * by_gain / count
            before = whole.abs() * ((of_bias + above.abs() * of_gain) / count
                                    + 8 * rows.UNIT * (g.abs() + by_bias.abs() / count + by_x.abs()))
            return max(check.error(dx[0][:, part], whole * (g - by_bias / count - by_x), before),
                       check.error(dbias[0][part], by_bias[0, :, 0], of_bias[0, :, 0]),
                       check.error(dgain[0][part], by_gain[0, :, 0], of_gain[0, :, 0]))

        return Case(size, 0, sets, ours, peers, lambda: rows.worst(c, count, error_of),
                    lambda: check.poison(dx[0], dgain[0], dbias[0]))


FAMILIES = [Inference(), Training(), Backward()]
