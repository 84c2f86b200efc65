"""embedding: copies rows of a table; and the gradient of the table in float, by atomic additions or sorted by ids."""

from bench.families import Case, rows

BYTES = {"half": 2, "float": 4}
OF_RECORDS = {"f16": "half", "bf16": "half", "f32": "float"}
SHAPES = [("half", 16384, 4096, 128256), ("half", 8192, 8192, 32000), ("half", 512, 768, 30522),
          ("half", 65536, 64, 1000000), ("float", 16384, 4096, 32000), ("float", 4097, 517, 1001)]


class Embedding:
    """M rows of a table of V rows with N columns; the ids are random. TYPE stands for its size."""

    name, unit = "embedding", "GB/s"
    types = ("half", "float")

    def fixed(self):
        return [dict(M=m, N=n, V=v, TYPE=kind) for kind, m, n, v in SHAPES]

    def external(self, record):
        if record["op"] != "other" or record.get("kind") != "embedding" or record["dtype"] not in OF_RECORDS:
            return []
        return [dict(M=record["indices"], N=record["columns"], V=record["rows"],
                     TYPE=OF_RECORDS[record["dtype"]])]

    def random(self, sizes):
        found = dict(M=sizes.size(1, 2**18), N=sizes.size(16, 16384), V=sizes.size(2, 2**18),
                     TYPE=sizes.choose(*self.types))
        is_small = 2**15 <= found["M"] * found["N"] <= 2**27 and found["V"] * found["N"] <= 2**27
        return found if is_small else None

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, v, kind = (shape[name] for name in ("M", "N", "V", "TYPE"))
        size = (m + min(m, v)) * n * BYTES[kind] + 4 * m
        sets = b.sets(size)
        table, y = b.random(sets, (v, n), kind), b.empty(sets, (m, n), kind)
        ids = b.random(sets, (m,), "int", 0, v - 1)
        ours = rows.launches(b, f"embedding_{kind}", sets, table=table, ids=ids, y=y, V=v, M=m, N=n, ldt=n,
                             ldy=n)

        def gather(ids, table):
            return torch.nn.functional.embedding(ids, table)

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(gather, ids, table),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(gather), ids, table),
        )
        return Case(size, 0, sets, ours, peers, lambda: check.difference(y[0], gather(ids[0], table[0])),
                    lambda: check.poison(y[0]))


class EmbeddingBackward(Embedding):
    """The gradient of the table starts at zeros, which neither we nor a peer write in the launch."""

    name, types = "embedding_backward", rows.TYPES
    is_sorted = False

    def launches(self, b, shape, sets, ids, **arguments):
        return rows.launches(b, f"embedding_backward_{shape['TYPE']}", sets, ids=ids, M=shape["M"], **arguments)

    def external(self, record):
        return []  # the rows would be those of embedding

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch

        m, n, v, kind = (shape[name] for name in ("M", "N", "V", "TYPE"))
        size = m * n * rows.BYTES[kind] + 8 * min(m, v) * n + 4 * m
        sets = b.sets(size)
        dy, ids = b.random(sets, (m, n), kind), b.random(sets, (m,), "int", 0, v - 1)
        dtable = [torch.zeros(v, n, device="cuda") for _ in range(sets)]
        ours = self.launches(b, shape, sets, ids, dy=dy, dtable=dtable, V=v, N=n, lddy=n, lddt=n)

        def error_of(part):
            numbers, values = ids[0].long(), dy[0][:, part].double()
            zeros = torch.zeros(v, values.shape[1], dtype=torch.float64, device="cuda")
            reference = zeros.index_add(0, numbers, values)
            magnitudes = zeros.index_add(0, numbers, values.abs())
            return check.error(dtable[0][:, part], reference, rows.sum_error(m, 1) * magnitudes)

        def error():
            return rows.worst(n, m + 2 * v, error_of)

        def scatter(dy, ids, dtable):
            return dtable.index_add_(0, ids, dy.float())

        def deterministic(dy, ids, dtable):
            return dtable.index_put_((ids,), dy.float(), accumulate=True)

        function = deterministic if self.is_sorted else scatter
        long = [each.long() for each in ids] if self.is_sorted else ids
        others = [torch.zeros_like(each) for each in dtable]
        peers = b.peers(
            PyTorch=lambda: pytorch.launches(function, dy, long, others),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(function), dy, long, others),
        )
        return Case(size, 0, sets, ours, peers, error, lambda: dtable[0].zero_())


class EmbeddingBackwardSorted(EmbeddingBackward):
    """The ids are sorted before the launch. PyTorch sorts them in each launch: its other kernel is not
    deterministic."""

    name, is_sorted = "embedding_backward_sorted", True

    def launches(self, b, shape, sets, ids, **arguments):
        import torch

        lists = dict(order=[], ids=[], ends=[])
        for each in ids:
            values, order = each.sort(stable=True)
            different, counts = values.unique_consecutive(return_counts=True)
            for name, numbers in dict(order=order, ids=different, ends=counts.cumsum(0)).items():
                lists[name].append(numbers.to(torch.int32))
        bound = [rows.launches(b, f"embedding_backward_sorted_{shape['TYPE']}", 1, S=len(lists["ids"][i]),
                               **{name: [value[i]] if isinstance(value, list) else value
                                  for name, value in {**arguments, **lists}.items()})
                 for i in range(sets)]
        return lambda i: bound[i](0)


FAMILIES = [Embedding(), EmbeddingBackward(), EmbeddingBackwardSorted()]
