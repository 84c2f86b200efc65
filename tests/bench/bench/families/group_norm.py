"""group_norm: y = (x - mean) / sqrt(variance + epsilon) * gain + bias for each group of channels."""

from bench.families import Case, rows

EPSILON = 1e-5
SHAPES = [("half", n, c, s, groups) for n, c, s, groups in
          ((2, 320, 4096, 32), (16, 640, 1024, 32), (64, 256, 3136, 32), (16, 128, 65536, 32), (8, 512, 49, 32),
           (128, 512, 512, 128))]
SHAPES += [("bfloat16", 16, 320, 4096, 32), ("float", 128, 512, 512, 128), ("float", 32, 64, 3136, 8)]


class GroupNorm:
    """N images of C channels of S pixels."""

    name, unit = "group_norm", "GB/s"

    def fixed(self):
        return [dict(N=n, C=c, S=s, GROUPS=groups, TYPE=kind) for kind, n, c, s, groups in SHAPES]

    def external(self, record):
        if record["op"] != "other" or record.get("kind") != "group_norm" or "groups" not in record:
            return []
        if record["dtype"] not in rows.RECORDED or not all(name in record for name in ("N", "C", "S")):
            return []
        return [dict(N=record["N"], C=record["C"], S=record["S"], GROUPS=record["groups"],
                     TYPE=rows.RECORDED[record["dtype"]])]

    def random(self, sizes):
        groups = sizes.choose(1, 8, 32, sizes.size(1, 64))
        found = dict(N=sizes.size(1, 256), C=groups * sizes.size(1, 32), S=sizes.size(1, 16384), GROUPS=groups,
                     TYPE=sizes.choose(*rows.TYPES))
        return found if 2**15 <= found["N"] * found["C"] * found["S"] <= 2**27 else None

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        n, c, s, groups, kind = (shape[name] for name in ("N", "C", "S", "GROUPS", "TYPE"))
        of_group = c // groups * s
        size = 2 * (n * c * s + c) * rows.BYTES[kind]
        sets = b.sets(size)
        x, y = b.random(sets, (n, c, s), kind), b.empty(sets, (n, c, s), kind)
        gain, bias = b.random(sets, (c,), kind), b.random(sets, (c,), kind)
        ours = rows.launches(b, f"group_norm_{kind}", sets, x=x, gain=gain, bias=bias, y=y, epsilon=EPSILON, N=n,
                             groups=groups, size=of_group, S=s)

        def error_of(part):
            values = x[0][part].double().view(-1, groups, of_group)
            away = values - values.mean(2, keepdim=True)
            factor = 1 / torch.sqrt(away.square().mean(2, keepdim=True) + EPSILON)
            shift = rows.sum_error(of_group, 128) * values.abs().mean(2, keepdim=True) * factor
            scale, offset = gain[0].double()[:, None], bias[0].double()[:, None]
            normal = (away * factor).view(-1, c, s)
            before = (rows.sum_error(of_group, 128) * (normal * scale).abs() + 4 * rows.UNIT * offset.abs()
                      + shift.expand_as(away).reshape(-1, c, s) * scale.abs())
            return check.error(y[0][part], normal * scale + offset, before)

        def error():
            return rows.worst(n, c * s, error_of)

        def norm(x, gain, bias):
            return torch.nn.functional.group_norm(x, groups, gain, bias, EPSILON)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(norm, x, gain, bias),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(norm), x, gain, bias),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


FAMILIES = [GroupNorm()]
