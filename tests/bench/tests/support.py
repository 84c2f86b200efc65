"""What several tests use: results, a family, and the modules of peers without PyTorch."""

import copy
import importlib
import sys
import types
from unittest import mock


def measured(ours, noise=0.0, stream=None, size=1000, flops=0, absent=(), **peers):
    """A row whose launches took `ours` and `peers` microseconds. `noise` is relative."""
    def times(median):
        return [median * (1 - noise), median, median * (1 + noise)]

    isolated = {"ours": times(ours), **{name: times(median) for name, median in peers.items()}}
    return {"bytes": size, "flops": flops, "error": 0.5, "absent": dict(absent), "isolated": isolated,
            "stream": {**copy.deepcopy(isolated), "ours": times(stream or ours)}}


def file_of(rows, commit="abc", date="2026-11-26", seed="1", digest="123", **facts):
    """Each family has one source of kernels, of the same name."""
    families = {name.split("/")[0] for name in rows}
    return {"schema": 2, "gpu": {"name": "GPU", "sm_clock_mhz": "1980"}, "peers": {"PyTorch": "2.11"}, "seed": seed,
            "families": {name: {"commit": commit, "date": date, "seeds": [seed], "kernels": {name: digest}}
                         for name in families}, **facts, "rows": rows}


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


class FakeTorch(types.ModuleType):
    """What the modules of peers use when they are imported: any type, and the GPU's capability."""

    def __init__(self):
        super().__init__("torch")
        self.cuda = types.SimpleNamespace(get_device_capability=lambda: (9, 0))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return f"torch.{name}"


def import_without_torch(test, peer):
    """The module of a peer, imported with a fake PyTorch. After the test, it is forgotten."""
    known, fakes = set(sys.modules), mock.patch.dict(sys.modules, {"torch": FakeTorch()})

    def forget():
        new = [name for name in sys.modules if name.startswith("bench.") and name not in known]
        fakes.stop()  # restores sys.modules
        for name in new:
            package, last = name.rsplit(".", 1)
            if package in sys.modules:
                vars(sys.modules[package]).pop(last, None)

    fakes.start()
    test.addCleanup(forget)
    return importlib.import_module(f"bench.peers.{peer}")
