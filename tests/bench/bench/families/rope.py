"""rope: rotates pairs of elements of each head by angles that depend on the position of the token."""

from bench.families import Case, rows

SHAPES = [("bfloat16", t, h, d, order) for t, h, d, order in
          ((8192, 32, 128, "halves"), (32768, 8, 128, "halves"), (4096, 64, 128, "halves"),
           (16, 32, 128, "halves"), (65536, 16, 64, "halves"), (8192, 32, 128, "interleaved"),
           (16384, 16, 64, "interleaved"))]
SHAPES += [("half", 8192, 40, 128, "halves"), ("half", 4097, 25, 80, "halves"),
           ("float", 8192, 32, 128, "halves"), ("float", 8192, 16, 128, "interleaved")]


class Rope:
    """D elements per head, which are all rotated. Token t has the position t."""

    name, unit = "rope", "GB/s"

    def fixed(self):
        return [dict(TOKENS=t, HEADS=h, D=d, ORDER=order, TYPE=kind) for kind, t, h, d, order in SHAPES]

    def external(self, record):
        return []  # there are no records of rope

    def random(self, sizes):
        order = sizes.choose("halves", "interleaved")
        step = 2 if order == "halves" else 8  # the contract
        d = sizes.choose(64, 128, 256, 80, step * sizes.size(1, 32))
        found = dict(TOKENS=sizes.size(1, 2**17), HEADS=sizes.size(1, 128), D=d, ORDER=order,
                     TYPE=sizes.choose(*rows.TYPES))
        return found if 2**15 <= found["TOKENS"] * found["HEADS"] * d <= 2**27 else None

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        t, h, d, kind = shape["TOKENS"], shape["HEADS"], shape["D"], shape["TYPE"]
        halves = shape["ORDER"] == "halves"
        size = (2 * t * h * d + t * d) * rows.BYTES[kind] + 4 * t
        sets = b.sets(size)
        x, y = b.random(sets, (t, h, d), kind), b.empty(sets, (t, h, d), kind)
        table = b.random(sets, (t, d), kind)  # cosines, then sines
        positions = [torch.arange(t, dtype=torch.int32, device="cuda") for _ in range(sets)]
        cosines, sines = [each[:, :d // 2] for each in table], [each[:, d // 2:] for each in table]
        ours = rows.launches(b, f"rope_{kind}_{shape['ORDER']}", sets, x=x, positions=positions,
                             cosines=cosines, sines=sines, y=y, inverse=0, tokens=t, heads=h, pairs=d // 2,
                             x_token=h * d, x_head=d, y_token=h * d, y_head=d, ldt=d)

        def pairs(x):
            """The first and the second elements of the pairs."""
            return (x[..., :d // 2], x[..., d // 2:]) if halves else (x[..., 0::2], x[..., 1::2])

        def rotated(x, table):
            (first, second), cosine, sine = pairs(x), table[:, None, :d // 2], table[:, None, d // 2:]
            left, right = first * cosine - second * sine, first * sine + second * cosine
            return torch.cat((left, right), 2) if halves else torch.stack((left, right), 3).flatten(2)

        def error_of(part):
            values, given = x[0][part].double(), table[0][part].double()
            # Each result is a sum of two products, which may cancel.
            return check.error(y[0][part], rotated(values, given),
                               4 * rows.UNIT * rotated(values.abs(), given.abs()).abs() + 4 * rows.UNIT)

        def error():
            return rows.worst(t, h * d, error_of)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(rotated, x, table),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(rotated), x, table),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


FAMILIES = [Rope()]
