"""Results for the tests of results, compare, table and main."""

import copy


def measured(ours, noise=0.0, stream=None, size=1000, flops=0, absent=(), **peers):
    """A row whose launches took `ours` and `peers` microseconds. `noise` is relative."""
    def times(median):
        return [median * (1 - noise), median, median * (1 + noise)]

    isolated = {"ours": times(ours), **{name: times(median) for name, median in peers.items()}}
    return {"bytes": size, "flops": flops, "error": 0.5, "absent": dict(absent), "isolated": isolated,
            "stream": {**copy.deepcopy(isolated), "ours": times(stream or ours)}}


def file_of(rows, **facts):
    return {"schema": 1, "gpu": {"name": "GPU", "sm_clock_mhz": "1980"}, "peers": {"PyTorch": "2.11"},
            "commit": "abc", "kernels": "123", "seed": "1", **facts, "rows": rows}


class Family:
    """A family whose rows are copies of M x N matrices."""

    name, unit = "copy", "GB/s"

    def __init__(self, **changes):
        vars(self).update(changes)

    def fixed(self):
        return [dict(M=64, N=32), dict(M=7, N=9)]

    def external(self, record):
        return [dict(M=record["rows"], N=record["columns"])] if record["op"] == "copy" else []

    def random(self, sizes):
        m, n = sizes.size(1, 65536), sizes.size(9, 4096)
        return dict(M=m, N=n, TYPE=sizes.choose("half", "float")) if m * n >= 4096 else None
