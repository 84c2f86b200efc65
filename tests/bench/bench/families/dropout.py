"""dropout: y = x / (1 - rate) for kept elements, and 0 for dropped elements."""

from bench.families import Case, rows

RATE, SEED = 0.1, 0x9E3779B97F4A7C15


def words(seed, first, count, device):
    """The four words of Philox4x32-10 at the offsets from `first`: a row per offset.

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
    return torch.stack(counter, 1)


def kept(first, count, rate, device):
    """Which of the elements from `first` our kernel keeps: four elements share an offset."""
    row = words(SEED, first // 4, count // 4 + 2, device).flatten()[first % 4:][:count]
    return row >> 1 >= int(rate * 2**31)


def kept_by_triton(first, count, rate, device):
    """Which elements Triton's tutorial keeps: each has an offset, and takes its first word."""
    import torch

    word = words(SEED, first, count, device)[:, 0]
    magnitude = torch.where(word >= 2**31, 2**32 - 1 - word, word)
    return magnitude.float() * (2.0**-31 - 2.0**-55) >= rate


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

        def error_of(part, kept):
            values = x[0][part].double()
            is_kept = kept(part.start, len(values), rate, values.device)
            reference = torch.where(is_kept, values / (1 - rate), torch.zeros_like(values))
            return check.error(y[0][part], reference, 8 * rows.UNIT * reference.abs())

        def error(kept=kept):
            return rows.worst(n, 1, lambda part: error_of(part, kept))

        def dropout(x):
            return torch.nn.functional.dropout(x, RATE, training=True)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(dropout, x),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(dropout), x),
            Triton=rows.triton("dropout", lambda: error(kept_by_triton), b, x, y, RATE, SEED),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: check.poison(y[0]))


FAMILIES = [Dropout()]
