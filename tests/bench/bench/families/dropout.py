"""dropout: y = x / (1 - rate) for kept elements, and 0 for dropped elements."""

from bench.families import Case, rows

RATE, SEED = 0.1, 0x9E3779B97F4A7C15


def uniform(seed, first, count, device):
    """The random numbers of the offsets from `first`, in float: the first words of Philox4x32-10.

    Its integers of 32 bits are in integers of 64 bits. Their products have at most 64 bits, so the
    overflow of a signed integer changes no bit.
    """
    import torch

    low = 0xFFFFFFFF
    counter = [torch.arange(first, first + count, device=device)]
    counter += [torch.zeros_like(counter[0]) for _ in range(3)]
    key = [seed & low, seed >> 32]
    for _ in range(10):
        a, b = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [(b >> 32 & low) ^ counter[1] ^ key[0], b & low,
                   (a >> 32 & low) ^ counter[3] ^ key[1], a & low]
        key = [key[0] + 0x9E3779B9 & low, key[1] + 0xBB67AE85 & low]
    word = counter[0]
    magnitude = torch.where(word >= 2**31, low - word, word)
    return magnitude.float() * (2.0**-31 - 2.0**-55)


class Dropout:
    name, unit = "dropout", "GB/s"

    def fixed(self):
        shapes = [("half", n) for n in
                  (1000, 100003, 393216, 4841472, 16777216, 67108864, 67108863, 268435456)]
        shapes += [("bfloat16", 33554432), ("float", 33554432)]
        return [dict(n=n, TYPE=kind) for kind, n in shapes]

    def external(self, record):
        return []  # there are no records of dropout

    def random(self, sizes):
        return dict(n=sizes.size(2**12, 2**28), TYPE=sizes.choose(*rows.TYPES))

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        n, kind = shape["n"], shape["TYPE"]
        size = 2 * n * rows.BYTES[kind]
        sets = b.sets(size)
        x, y = b.random(sets, (n,), kind), b.empty(sets, (n,), kind)
        ours = rows.launches(b, f"dropout_{kind}", sets, x=x, y=y, rate=RATE, seed=SEED, n=n)
        rate = torch.tensor(RATE, dtype=torch.float32).item()  # that the kernel gets

        def error_of(part):
            values = x[0][part].double()
            is_kept = uniform(SEED, part.start, len(values), values.device) >= rate
            reference = torch.where(is_kept, values / (1 - rate), torch.zeros_like(values))
            return check.error(y[0][part], reference, 8 * rows.UNIT * reference.abs())

        def error():
            return rows.worst(n, 1, error_of)

        def dropout(x):
            return torch.nn.functional.dropout(x, RATE, training=True)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(dropout, x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(dropout), x),
            Triton=rows.triton("dropout", error, b, x, y, RATE, SEED),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


FAMILIES = [Dropout()]
