"""adam: a step of the optimizer AdamW for a tensor of n parameters."""

from bench.families import Case, rows

RATE, BETA1, BETA2, EPSILON, DECAY, STEP = 1e-3, 0.9, 0.999, 1e-8, 0.01, 10


class Adam:
    """The moments are float, the parameters and gradients TYPE. The results depend on the step before."""

    name, unit = "adam", "GB/s"

    def fixed(self):
        shapes = [("float", n) for n in (1000, 100003, 1048576, 16777216, 67108864, 67108863)]
        shapes += [("bfloat16", 67108864), ("bfloat16", 4194304), ("half", 33554432)]
        return [dict(n=n, TYPE=kind) for kind, n in shapes]

    def external(self, record):
        return []  # there are no records of optimizers

    def random(self, sizes):
        return dict(n=sizes.size(2**12, 2**26), TYPE=sizes.choose(*rows.TYPES))

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        n, kind = shape["n"], shape["TYPE"]
        size = n * (3 * rows.BYTES[kind] + 16)
        sets = b.sets(size)
        p, g = b.random(sets, (n,), kind), b.random(sets, (n,), kind)
        m, v = b.random(sets, (n,), "float", -0.1, 0.1), b.random(sets, (n,), "float", 0.01, 0.1)
        before = [each[0].clone() for each in (p, m, v)]
        corrections = 1 - BETA1**STEP, 1 - BETA2**STEP
        ours = rows.launches(b, f"adam_{kind}", sets, p=p, g=g, m=m, v=v, rate=RATE, beta1=BETA1, beta2=BETA2,
                             epsilon=EPSILON, decay=DECAY, correction1=corrections[0],
                             correction2=corrections[1], n=n)
        rate, beta1, beta2, epsilon, decay, correction1, correction2 = (
            torch.tensor(number, dtype=torch.float32).item()  # that the kernel gets
            for number in (RATE, BETA1, BETA2, EPSILON, DECAY, *corrections))

        def start():
            for tensors, values in zip((p, m, v), before):
                tensors[0].copy_(values)

        def error_of(part):
            old, first, second = (each[part].double() for each in before)
            gradient = g[0][part].double()
            first = beta1 * first + (1 - beta1) * gradient
            second = beta2 * second + (1 - beta2) * gradient.square()
            step = first / correction1 / ((second / correction2).sqrt() + epsilon)
            unit = 16 * rows.UNIT
            return max(check.error(m[0][part], first, unit * (1 + first.abs())),
                       check.error(v[0][part], second, unit * second),
                       check.error(p[0][part], old - rate * (step + decay * old),
                                   unit * (old.abs() + rate * (1 + step.abs()))))

        def error():
            return rows.worst(n, 1, error_of)

        def update(p, g, m, v):
            m.mul_(BETA1).add_(g.float(), alpha=1 - BETA1)
            v.mul_(BETA2).add_(g.float().square(), alpha=1 - BETA2)
            step = m / corrections[0] / ((v / corrections[1]).sqrt() + EPSILON)
            p.copy_(p - RATE * (step + DECAY * p))

        def fused():
            """PyTorch's kernel of AdamW, which needs moments of the parameters' type."""
            moments = [[each.to(p[0].dtype) for each in tensors] for tensors in (m, v)]
            steps = torch.full((), float(STEP), device="cuda")

            def adamw(p, g, m, v):
                torch._fused_adamw_([p], [g], [m], [v], [], [steps], lr=RATE, beta1=BETA1, beta2=BETA2,
                                    weight_decay=DECAY, eps=EPSILON, amsgrad=False, maximize=False)

            return pytorch.launches(adamw, [each.clone() for each in p], g, *moments)

        def compiled():
            function = pytorch.compiled(update)
            return pytorch.launches(function, *([each.clone() for each in tensors] for tensors in (p, g, m, v)))

        peers = b.peers(PyTorch=fused, PyTorch_compiled=compiled)
        return Case(size, 0, sets, ours, peers, error, start)


FAMILIES = [Adam()]
