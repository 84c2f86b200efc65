"""layer_norm and rms_norm of rows, and of sums of rows; the gradients for x, and for gain and bias.

Layer norm is centered: it subtracts the mean of the row, and it has a bias.
"""

from bench.families import Case, rows

EPSILON = 1e-5

LAYER_NORM = [("half", m, n) for m, n in
              ((1, 4096), (32, 4096), (8192, 768), (12608, 384), (16384, 1024), (8192, 4096), (2048, 12288),
               (100352, 96), (401408, 128), (4097, 1023), (1000, 3001), (512, 65536))]
LAYER_NORM += [("bfloat16", 16384, 2048), ("float", 8192, 1024)]
RMS_NORM = [("bfloat16", m, n) for m, n in
            ((1, 4096), (32, 7168), (8192, 2048), (8192, 4096), (8192, 5120), (8192, 8192), (4096, 16384),
             (262144, 128), (539, 1536), (1000, 3001), (512, 65536))]
RMS_NORM += [("half", 4097, 1023), ("half", 16384, 4096), ("float", 8192, 4096)]


def no_cudnn():
    from bench.peers import Absent
    raise Absent("cuDNN computes the gradients for x, gain and bias in one operation only")


class Norm(rows.Rows):
    """The common parts of the four families of a norm."""

    prefix, suffix, matrices = "", "", 2

    def __init__(self, centered):
        self.centered, self.operation = centered, "layer_norm" if centered else "rms_norm"
        self.name = self.prefix + self.operation + self.suffix
        self.shapes = LAYER_NORM if centered else RMS_NORM

    def only_centered(self, **arguments):
        return arguments if self.centered else {}

    def statistics(self, x):
        """Of rows in double: the distances from the mean, mean, factor, and the error of the mean."""
        import torch

        mean = x.mean(1, keepdim=True) if self.centered else torch.zeros_like(x[:, :1])
        away = x - mean
        factor = 1 / torch.sqrt(away.square().mean(1, keepdim=True) + EPSILON)
        shift = rows.sum_error(x.shape[1]) * x.abs().mean(1, keepdim=True) * self.centered
        return away, mean, factor, shift


class Forward(Norm):
    def case(self, b, shape):
        from torch.nn import functional

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = (2 * m * n + (2 if self.centered else 1) * n) * rows.BYTES[kind]
        sets = b.sets(size)
        x, y, gain = b.random(sets, (m, n), kind), b.empty(sets, (m, n), kind), b.random(sets, (n,), kind)
        bias = b.random(sets, (n,), kind) if self.centered else [None] * sets
        ours = rows.launches(b, f"{self.name}_{kind}", sets, x=x, gain=gain, y=y, epsilon=EPSILON, M=m, N=n,
                             ldx=n, ldy=n, **self.only_centered(bias=bias))

        def error_of(part):
            away, _, factor, shift = self.statistics(x[0][part].double())
            scale = factor * gain[0].double()
            offset = bias[0].double() if self.centered else 0 * scale
            before = (rows.sum_error(n) * (away * scale).abs() + shift * scale.abs()
                      + 4 * rows.UNIT * offset.abs())
            return check.error(y[0][part], away * scale + offset, before)

        def error():
            return rows.worst(m, n, error_of)

        def norm(x, gain, bias):
            if self.centered:
                return functional.layer_norm(x, (n,), gain, bias, EPSILON)
            return functional.rms_norm(x, (n,), gain, EPSILON)

        def cudnn():
            from bench.peers import cudnn_frontend
            return cudnn_frontend.norm(b, x, gain, bias, y, EPSILON, error)

        tile_cpp = rows.tile_cpp("layer_norm", error, b, x, gain, bias, y, EPSILON)
        peers = b.peers(
            PyTorch=lambda: pytorch.launches(norm, x, gain, bias),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(norm), x, gain, bias),
            Triton=rows.triton("norm", error, b, x, gain, bias, y, EPSILON),
            cuDNN=cudnn,
            QuACK=rows.verified("quack", "norm", error, x, gain, bias, y, EPSILON),
            **self.only_centered(**tile_cpp),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


class OfSum(Norm):
    """The norm of x + residual. The kernel also writes the sum, rounded to TYPE, which it normalizes."""

    prefix, matrices, adds = "add_", 4, True

    def case(self, b, shape):
        from torch.nn import functional

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = (4 * m * n + (2 if self.centered else 1) * n) * rows.BYTES[kind]
        sets = b.sets(size)
        x, residual = b.random(sets, (m, n), kind), b.random(sets, (m, n), kind)
        total, y = b.empty(sets, (m, n), kind), b.empty(sets, (m, n), kind)
        gain = b.random(sets, (n,), kind)
        bias = b.random(sets, (n,), kind) if self.centered else [None] * sets
        ours = rows.launches(b, f"{self.name}_{kind}", sets, x=x, residual=residual, gain=gain, sum=total, y=y,
                             epsilon=EPSILON, M=m, N=n, ldx=n, ldr=n, lds=n, ldy=n,
                             **self.only_centered(bias=bias))

        def error_of(part):
            added = (x[0][part].float() + residual[0][part].float()).to(x[0].dtype)
            away, _, factor, shift = self.statistics(added.double())
            scale = factor * gain[0].double()
            offset = bias[0].double() if self.centered else 0 * scale
            before = (rows.sum_error(n) * (away * scale).abs() + shift * scale.abs()
                      + 4 * rows.UNIT * offset.abs())
            return max(check.difference(total[0][part], added),
                       check.error(y[0][part], away * scale + offset, before))

        def error():
            return rows.worst(m, n, error_of)

        def norm(x, residual, gain, bias):
            added = x + residual
            if self.centered:
                return added, functional.layer_norm(added, (n,), gain, bias, EPSILON)
            return added, functional.rms_norm(added, (n,), gain, EPSILON)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(norm, x, residual, gain, bias),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(norm), x, residual, gain, bias),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(total[0], y[0]))


class Backward(Norm):
    """The gradient for x. Peers get the mean and the factor, which our kernel computes."""

    suffix, matrices = "_backward", 3

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = (3 * m * n + n) * rows.BYTES[kind] + (8 if self.centered else 4) * m
        sets = b.sets(size)
        x, dy, gain = b.random(sets, (m, n), kind), b.random(sets, (m, n), kind), b.random(sets, (n,), kind)
        dx = b.empty(sets, (m, n), kind)
        mean, factor = b.empty(sets, (m, 1), "float"), b.empty(sets, (m, 1), "float")
        ours = rows.launches(b, f"{self.name}_{kind}", sets, x=x, gain=gain, dy=dy, dx=dx, factor=factor,
                             epsilon=EPSILON, M=m, N=n, ldx=n, lddy=n, lddx=n,
                             **self.only_centered(mean=mean))
        for i in range(sets):
            ours(i)  # computes the mean and the factor, which the peers get
        arguments, means = (x, dy, gain, mean, factor), mean if self.centered else None

        def error_of(part):
            away, center, scale, shift = self.statistics(x[0][part].double())
            above, g = away * scale, gain[0].double() * dy[0][part].double()
            product = (above * g).mean(1, keepdim=True)
            middle = g.mean(1, keepdim=True) * self.centered
            reference = scale * (g - middle - above * product)

            of_sum, size_of_g = rows.sum_error(n), g.abs().mean(1, keepdim=True)
            of_product = of_sum * (above * g).abs().mean(1, keepdim=True) + shift * scale * size_of_g
            of_above = of_sum * above.abs() + shift * scale
            before = scale * (of_sum * (g.abs() + size_of_g)
                              + above.abs() * of_product + of_above * product.abs())
            errors = [check.error(dx[0][part], reference, before + of_sum * reference.abs()),
                      check.error(factor[0][part], scale, of_sum * scale)]
            return max(errors + ([check.error(mean[0][part], center, shift)] if self.centered else []))

        def error():
            return rows.worst(m, n, error_of)

        def gradient(x, dy, gain, mean, factor):
            if self.centered:
                return torch.ops.aten.native_layer_norm_backward(dy, x, [n], mean, factor, gain, None,
                                                                 [True, False, False])[0]
            return torch.ops.aten._fused_rms_norm_backward(dy, x, [n], factor, gain, [True, False])[0]

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(gradient, *arguments),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(gradient), *arguments),
            Triton=rows.triton("norm_backward", error, b, x, gain, dy, means, factor, dx),
            QuACK=rows.verified("quack", "norm_backward", error, x, gain, dy, means, factor, dx),
            cuDNN=no_cudnn,
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(dx[0], mean[0], factor[0]))


class BackwardWeights(Norm):
    """The gradients for gain and bias, with any mean and factor."""

    suffix = "_backward_weights"

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        vectors = 2 if self.centered else 1
        size = (2 * m * n + vectors * n) * rows.BYTES[kind] + 4 * vectors * m
        sets = b.sets(size)
        x, dy, gain = b.random(sets, (m, n), kind), b.random(sets, (m, n), kind), b.random(sets, (n,), kind)
        dgain, dbias = b.empty(sets, (n,), kind), b.empty(sets, (n,), kind)
        mean, factor = b.random(sets, (m, 1), "float"), b.random(sets, (m, 1), "float", 1, 2)
        arguments, means = (x, dy, gain, mean, factor), mean if self.centered else None
        ours = rows.launches(b, f"{self.name}_{kind}", sets, x=x, dy=dy, factor=factor, dgain=dgain, M=m, N=n,
                             ldx=n, lddy=n, **self.only_centered(mean=mean, dbias=dbias))

        def error_of(part):
            of_sum, g = rows.sum_error(m, 32), dy[0][:, part].double()
            terms = g * (x[0][:, part].double() - mean[0] * self.centered) * factor[0]
            errors = [check.error(dgain[0][part], terms.sum(0), of_sum * terms.square().sum(0).sqrt())]
            if self.centered:
                errors.append(check.error(dbias[0][part], g.sum(0), of_sum * g.square().sum(0).sqrt()))
            return max(errors)

        def error():
            return rows.worst(n, m, error_of)

        def gradients(x, dy, gain, mean, factor):
            if self.centered:
                return torch.ops.aten.native_layer_norm_backward(dy, x, [n], mean, factor, gain, gain,
                                                                 [False, True, True])[1:]
            return torch.ops.aten._fused_rms_norm_backward(dy, x, [n], factor, gain, [False, True])[1]

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(gradients, *arguments),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(gradients), *arguments),
            Triton=rows.triton("norm_backward_weights", error, b, x, dy, means, factor, dgain, dbias),
            QuACK_with_dx=rows.verified("quack", "norm_backward_weights", error, x, gain, dy, means, factor,
                                        dgain, dbias),
            cuDNN=no_cudnn,
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(dgain[0], dbias[0]))


FAMILIES = [family(centered) for centered in (True, False) for family in (Forward, OfSum, Backward, BackwardWeights)]
