"""quantize, quantize_groups: round groups of each row to e4m3 or int8, with one scale per group."""

from bench.families import Case, rows

LEAST = 1e-10
SHAPES = [("bfloat16", m, n, group, out) for m, n, group, out in
          ((8192, 4096, 4096, "e4m3"), (8192, 7168, 128, "e4m3"), (4096, 16384, 16384, "e4m3"),
           (16, 8192, 8192, "e4m3"), (32768, 2048, 128, "e4m3"), (8192, 4096, 4096, "int8"),
           (4097, 3001, 3001, "int8"))]
SHAPES += [("half", 8192, 8192, 128, "int8"), ("half", 16384, 5120, 5120, "e4m3"),
           ("float", 8192, 4096, 128, "e4m3")]


class Quantize:
    name, unit = "quantize", "GB/s"

    def fixed(self):
        return [dict(M=m, N=n, GROUP=group, OUT=out, TYPE=kind) for kind, m, n, group, out in SHAPES]

    def external(self, record):
        return []  # there are no records of quantization

    def random(self, sizes):
        m, n = sizes.size(1, 2**18), sizes.size(64, 65536)
        found = dict(M=m, N=n, GROUP=sizes.choose(n, 128, sizes.size(32, 1024)),
                     OUT=sizes.choose("e4m3", "int8"), TYPE=sizes.choose(*rows.TYPES))
        return found if 2**15 <= m * n <= 2**28 else None

    def launches(self, b, shape, sets, **arguments):
        groups = -(-shape["N"] // shape["GROUP"])
        return rows.launches(b, f"quantize_{shape['TYPE']}_{shape['OUT']}", sets, group=shape["GROUP"], lds=groups,
                             **arguments)

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, group, out, kind = (shape[name] for name in ("M", "N", "GROUP", "OUT", "TYPE"))
        limit, groups = (448 if out == "e4m3" else 127), -(-n // group)
        size = m * n * (rows.BYTES[kind] + 1) + 4 * m * groups
        sets = b.sets(size)
        x, q = b.random(sets, (m, n), kind), b.empty(sets, (m, n), out)
        scales = b.empty(sets, (m, groups), "float")
        ours = self.launches(b, shape, sets, x=x, q=q, scales=scales, least=LEAST, M=m, N=n, ldx=n, ldq=n)
        dtype = q[0].dtype

        def grouped(x):
            """Groups in rows of a third axis, with zeros after a short last group."""
            padded = torch.nn.functional.pad(x, (0, groups * group - n)) if n % group else x
            return padded.view(-1, groups, group)

        def rounded(scaled):
            return (scaled.round() if out == "int8" else scaled).to(dtype)

        def quantized(x):
            values = grouped(x.float())
            largest = values.abs().amax(2, keepdim=True).clamp(min=LEAST)
            q = rounded(values * (limit / largest)).view(len(x), -1)
            return q[:, :n], (largest / limit)[:, :, 0]

        def error_of(part):
            values = x[0][part].double()
            largest = grouped(values).abs().amax(2, keepdim=True).clamp(min=LEAST)
            scaled = (grouped(values) * (limit / largest)).view(len(values), -1)[:, :n]
            actual = q[0][part].double()
            if out == "int8":  # half a unit, and the rounding of scaled
                of_q = float(((actual - scaled).abs() / (0.5 + 4 * rows.UNIT * limit)).max())
            else:
                of_q = check.error(q[0][part], scaled, 4 * rows.UNIT * scaled.abs())
            return max(of_q, check.error(scales[0][part], (largest / limit)[:, :, 0], 0))

        def error():
            return rows.worst(m, n, error_of)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(quantized, x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(quantized), x),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(q[0], scales[0]))


class QuantizeGroups(Quantize):
    """Short groups, whose length is a template argument."""

    name = "quantize_groups"

    def fixed(self):
        return [dict(M=m, N=n, GROUP=group, OUT=out, TYPE=kind) for kind, m, n, group, out in (
            ("bfloat16", 8192, 7168, 128, "e4m3"), ("bfloat16", 32768, 2048, 128, "e4m3"),
            ("bfloat16", 16, 8192, 128, "e4m3"), ("bfloat16", 16384, 512, 64, "e4m3"),
            ("half", 8192, 8192, 128, "int8"), ("half", 4096, 4096, 32, "int8"),
            ("float", 8192, 4096, 128, "e4m3"), ("bfloat16", 4097, 3001, 64, "int8"))]

    def random(self, sizes):
        m, n = sizes.size(1, 2**18), sizes.size(64, 65536)
        found = dict(M=m, N=n, GROUP=sizes.choose(32, 64, 128), OUT=sizes.choose("e4m3", "int8"),
                     TYPE=sizes.choose(*rows.TYPES))
        return found if 2**15 <= m * n <= 2**28 else None

    def launches(self, b, shape, sets, **arguments):
        groups = -(-shape["N"] // shape["GROUP"])
        return rows.launches(b, f"quantize_groups_{shape['TYPE']}_{shape['OUT']}_{shape['GROUP']}", sets,
                             scale_row=groups, scale_group=1, **arguments)


FAMILIES = [Quantize(), QuantizeGroups()]
