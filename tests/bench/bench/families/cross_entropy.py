"""cross_entropy: loss = log(sum(exp(x))) - x[label] for each row; its gradient; and both in one launch."""

from bench.families import Case, rows

SHAPES = [("bfloat16", m, n) for m, n in
          ((4096, 32000), (8192, 128256), (2048, 151936), (4096, 256000), (16384, 50257), (32, 128256))]
SHAPES += [("half", m, n) for m, n in
           ((256, 1000), (16384, 1000), (1024, 21841), (8192, 30522), (4095, 50265))]
SHAPES += [("float", 65536, 10), ("float", 4096, 32000)]


class CrossEntropy(rows.Rows):
    name = operation = "cross_entropy"
    shapes, columns, matrices = SHAPES, (100, 262144), 2  # the losses of PyTorch store log_softmax(x)

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = m * n * rows.BYTES[kind] + 12 * m
        sets = b.sets(size)
        x, labels = b.random(sets, (m, n), kind, -4, 4), b.random(sets, (m,), "int", 0, n - 1)
        loss, log_sums = b.empty(sets, (m,), "float"), b.empty(sets, (m,), "float")
        ours = rows.launches(b, f"cross_entropy_{kind}", sets, x=x, labels=labels, loss=loss,
                             log_sums=log_sums, M=m, N=n, ldx=n)
        long_labels = [each.long() for each in labels]

        def error_of(part):
            values = x[0][part].double()
            reference = torch.logsumexp(values, 1)
            chosen = values.gather(1, long_labels[0][part, None])[:, 0]
            # exp has an error of 2 + 1.3 * 8 units in the last place, log one of 5.
            before = (rows.sum_error(n) + 2 * 12.4 * rows.UNIT
                      + 10 * rows.UNIT * (reference.abs() + values.amax(1).abs()))
            return max(check.error(log_sums[0][part], reference, before),
                       check.error(loss[0][part], reference - chosen, before))

        def error():
            return rows.worst(m, n, error_of)

        def losses(x, labels):
            return torch.nn.functional.cross_entropy(x, labels, reduction="none")

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(losses, x, long_labels),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(losses), x, long_labels),
            Triton=rows.triton("cross_entropy", error, b, x, labels, loss, log_sums),
            QuACK=rows.verified("quack", "cross_entropy", error, x, labels, loss, log_sums),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(loss[0], log_sums[0]))


class CrossEntropyBackward(rows.Rows):
    """The gradient for x. PyTorch gets log_softmax(x), which its forward pass stores."""

    name, operation = "cross_entropy_backward", "cross_entropy"
    shapes, columns, matrices = SHAPES, (100, 262144), 4

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = 2 * m * n * rows.BYTES[kind] + 12 * m
        sets = b.sets(size)
        x, labels = b.random(sets, (m, n), kind, -4, 4), b.random(sets, (m,), "int", 0, n - 1)
        dloss, dx = b.random(sets, (m,), "float"), b.empty(sets, (m, n), kind)
        log_sums = [torch.logsumexp(each.float(), 1) for each in x]
        ours = rows.launches(b, f"cross_entropy_backward_{kind}", sets, x=x, labels=labels, log_sums=log_sums,
                             dloss=dloss, dx=dx, M=m, N=n, ldx=n, lddx=n)

        def error_of(part):
            exponents = x[0][part].double() - log_sums[0][part, None].double()
            probabilities, factor = exponents.exp(), dloss[0][part, None].double()
            is_label = torch.arange(n, device=exponents.device) == labels[0][part, None]
            reference = (probabilities - is_label.double()) * factor
            # The errors of a peer's log_sums and of exp.
            relative = rows.sum_error(n) + rows.UNIT * (25 + 4 * exponents.abs())
            before = relative * factor.abs() * probabilities
            return check.error(dx[0][part], reference, before + 4 * rows.UNIT * reference.abs())

        def error():
            return rows.worst(m, n, error_of)

        def stored():
            """The launch of PyTorch's two kernels."""
            given = [torch.log_softmax(each, 1) for each in x]
            long_labels = [each.long() for each in labels]
            total, dlosses = dloss[0].new_tensor(0, dtype=x[0].dtype), [each.to(x[0].dtype) for each in dloss]

            def gradient(given, labels, dloss):
                aten = torch.ops.aten
                chosen = aten.nll_loss_backward(dloss, given, labels, None, 0, -100, total)
                return aten._log_softmax_backward_data(chosen, given, 1, given.dtype)

            return pytorch.launches(gradient, given, long_labels, dlosses)

        def gradient(x, labels, log_sums, dloss):
            is_label = torch.arange(n, device=x.device) == labels[:, None]
            probabilities = torch.exp(x.float() - log_sums[:, None])
            return ((probabilities - is_label.float()) * dloss[:, None]).to(x.dtype)

        arguments = (x, labels, log_sums, dloss)
        peers = b.peers(
            PyTorch=stored,
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(gradient), *arguments),
            Triton=rows.triton("cross_entropy_backward", error, b, *arguments, dx, False),
            Triton_with_loss=rows.triton("cross_entropy_backward", error, b, *arguments, dx, True),
            QuACK=rows.verified("quack", "cross_entropy_backward", error, *arguments, dx),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(dx[0]))


class CrossEntropyGradient(rows.Rows):
    """The losses and the gradient of their mean, which has its own memory, so that launches can repeat."""

    name, operation = "cross_entropy_gradient", "cross_entropy"
    shapes, columns, matrices = SHAPES, (100, 262144), 4

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = 2 * m * n * rows.BYTES[kind] + 8 * m
        sets = b.sets(size)
        x, labels = b.random(sets, (m, n), kind, -4, 4), b.random(sets, (m,), "int", 0, n - 1)
        loss, dx, factor = b.empty(sets, (m,), "float"), b.empty(sets, (m, n), kind), 1.0
        ours = rows.launches(b, f"cross_entropy_gradient_{kind}", sets, x=x, labels=labels, loss=loss, dx=dx,
                             factor=factor, M=m, N=n, ldx=n, lddx=n)
        long_labels = [each.long() for each in labels]

        def error_of(part):
            values = x[0][part].double()
            log_sums = torch.logsumexp(values, 1, keepdim=True)
            chosen = values.gather(1, long_labels[0][part, None])
            of_sum = rows.sum_error(n) + 2 * 12.4 * rows.UNIT
            of_loss = of_sum + 10 * rows.UNIT * (log_sums.abs() + values.amax(1, keepdim=True).abs())
            probabilities = (values - log_sums).exp()
            is_label = torch.arange(n, device=values.device) == labels[0][part, None]
            reference = (probabilities - is_label.double()) * factor
            of_gradient = (of_sum + 2 * 12.4 * rows.UNIT) * probabilities + 4 * rows.UNIT * reference.abs()
            return max(check.error(loss[0][part], (log_sums - chosen)[:, 0], of_loss[:, 0]),
                       check.error(dx[0][part], reference, of_gradient))

        def error():
            return rows.worst(m, n, error_of)

        def losses(x, labels):
            log_softmax = torch.log_softmax(x.float(), 1)
            is_label = torch.arange(n, device=x.device) == labels[:, None]
            gradient = (log_softmax.exp() - is_label.float()).to(x.dtype)
            return -log_softmax.gather(1, labels[:, None]), gradient

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(losses, x, long_labels),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(losses), x, long_labels),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(loss[0], dx[0]))


FAMILIES = [CrossEntropy(), CrossEntropyBackward(), CrossEntropyGradient()]
