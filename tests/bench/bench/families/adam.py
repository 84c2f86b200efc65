"""adam: a step of the optimizer AdamW for a tensor of n parameters; adam_tensors: for many tensors."""

from bench.families import Case, rows

RATE, BETA1, BETA2, EPSILON, DECAY, STEP = 1e-3, 0.9, 0.999, 1e-8, 0.01, 10
CORRECTIONS = 1 - BETA1**STEP, 1 - BETA2**STEP
CONSTANTS = dict(rate=RATE, beta1=BETA1, beta2=BETA2, epsilon=EPSILON, decay=DECAY,
                 correction1=CORRECTIONS[0], correction2=CORRECTIONS[1])


def error_of_step(before, g, after):
    """The error of p, m and v after a step from p, m and v before it."""
    import torch

    from bench import check

    rate, beta1, beta2, epsilon, decay, correction1, correction2 = (
        torch.tensor(number, dtype=torch.float32).item() for number in CONSTANTS.values())  # that the kernel gets
    old, first, second = (each.double() for each in before)
    gradient = g.double()
    first = beta1 * first + (1 - beta1) * gradient
    second = beta2 * second + (1 - beta2) * gradient.square()
    step = first / correction1 / ((second / correction2).sqrt() + epsilon)
    unit, (p, m, v) = 16 * rows.UNIT, after
    return max(check.error(m, first, unit * (1 + first.abs())), check.error(v, second, unit * second),
               check.error(p, old - rate * (step + decay * old), unit * (old.abs() + rate * (1 + step.abs()))))


def fused(p, g, m, v):
    """PyTorch's kernel of AdamW for lists of tensors. The moments have the type of the parameters."""
    import torch

    steps = [torch.full((), float(STEP), device="cuda")] * len(p)
    torch._fused_adamw_(p, g, m, v, [], steps, lr=RATE, beta1=BETA1, beta2=BETA2, weight_decay=DECAY,
                        eps=EPSILON, amsgrad=False, maximize=False)


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
        from bench.peers import pytorch

        n, kind = shape["n"], shape["TYPE"]
        size = n * (3 * rows.BYTES[kind] + 16)
        sets = b.sets(size)
        p, g = b.random(sets, (n,), kind), b.random(sets, (n,), kind)
        m, v = b.random(sets, (n,), "float", -0.1, 0.1), b.random(sets, (n,), "float", 0.01, 0.1)
        before = [each[0].clone() for each in (p, m, v)]
        ours = rows.launches(b, f"adam_{kind}", sets, p=p, g=g, m=m, v=v, n=n, **CONSTANTS)

        def start():
            for tensors, values in zip((p, m, v), before):
                tensors[0].copy_(values)

        def error_of(part):
            return error_of_step([each[part] for each in before], g[0][part],
                                 [each[0][part] for each in (p, m, v)])

        def error():
            return rows.worst(n, 1, error_of)

        def update(p, g, m, v):
            m.mul_(BETA1).add_(g.float(), alpha=1 - BETA1)
            v.mul_(BETA2).add_(g.float().square(), alpha=1 - BETA2)
            step = m / CORRECTIONS[0] / ((v / CORRECTIONS[1]).sqrt() + EPSILON)
            p.copy_(p - RATE * (step + DECAY * p))

        def one_list():
            moments = [[each.to(p[0].dtype) for each in tensors] for tensors in (m, v)]
            return pytorch.launches(lambda *tensors: fused(*([each] for each in tensors)),
                                    [each.clone() for each in p], g, *moments)

        def compiled():
            function = pytorch.compiled(update)
            return pytorch.launches(function, *([each.clone() for each in tensors] for tensors in (p, g, m, v)))

        peers = b.peers(PyTorch=one_list, PyTorch_compiled=compiled)
        return Case(size, 0, sets, ours, peers, error, start)


class AdamTensors:
    """The tensors of a transformer: LAYERS layers of width WIDTH with biases and two norms each."""

    name, unit = "adam_tensors", "GB/s"

    def fixed(self):
        return [dict(LAYERS=layers, WIDTH=width, TYPE=kind) for layers, width, kind in (
            (12, 768, "float"), (24, 1024, "bfloat16"), (48, 1600, "bfloat16"), (6, 64, "float"),
            (4, 4096, "half"), (96, 32, "float"))]

    def external(self, record):
        return []  # there are no records of optimizers

    def random(self, sizes):
        layers, width = sizes.size(1, 128), sizes.size(16, 4096)
        return dict(LAYERS=layers, WIDTH=width, TYPE=sizes.choose(*rows.TYPES)) if layers * width**2 <= 2**26 else None

    def case(self, b, shape):
        import torch

        from bench.peers import pytorch

        layers, width, kind = shape["LAYERS"], shape["WIDTH"], shape["TYPE"]
        squares = [3 * width**2, 3 * width, width**2, width, 4 * width**2, 4 * width, 4 * width**2, width]
        counts = layers * (squares + 4 * [width])
        size = sum(counts) * (3 * rows.BYTES[kind] + 16)
        sets = b.sets(size)

        def tensors(kind, low, high):
            """A list of tensors per set."""
            return list(zip(*(b.random(sets, (n,), kind, low, high) for n in counts)))

        p, g = tensors(kind, -1, 1), tensors(kind, -1, 1)
        m, v = tensors("float", -0.1, 0.1), tensors("float", 0.01, 0.1)
        before = [[each.clone() for each in tensors[0]] for tensors in (p, m, v)]
        ends = torch.tensor([-(-n // 2048) for n in counts]).cumsum(0)
        lists = dict(sizes=torch.tensor(counts), ends=ends)
        lists = {name: numbers.to(torch.int32).cuda() for name, numbers in lists.items()}
        addresses = {name: [torch.tensor([each.data_ptr() for each in tensors]).cuda() for tensors in of_sets]
                     for name, of_sets in dict(ps=p, gs=g, ms=m, vs=v).items()}
        ours = rows.launches(b, f"adam_tensors_{kind}", sets, tensors=len(counts), parts=int(ends[-1]),
                             **addresses, **{name: [each] * sets for name, each in lists.items()}, **CONSTANTS)
        ours.kept = p, g, m, v

        def start():
            for tensors, values in zip((p, m, v), before):
                torch._foreach_copy_(tensors[0], values)

        def error():
            return max(error_of_step([each[t] for each in before], g[0][t], [each[0][t] for each in (p, m, v)])
                       for t in range(len(counts)))

        def lists_of(function):
            def make():
                types = [[each.to(p[0][0].dtype) for each in of_set] for of_set in m], \
                    [[each.to(p[0][0].dtype) for each in of_set] for of_set in v]
                parameters = [[each.clone() for each in of_set] for of_set in p]
                return pytorch.launches(function, parameters, [list(each) for each in g], *types)
            return make

        return Case(size, 0, sets, ours, b.peers(PyTorch=lists_of(fused)), error, start)


FAMILIES = [Adam(), AdamTensors()]
