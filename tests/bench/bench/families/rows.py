"""Common parts of the families of rows: shapes, launches, bounds of errors.

A matrix is M x N without gaps: the leading dimension is N.
"""

import importlib

TYPES = ("half", "bfloat16", "float")
BYTES = {"half": 2, "bfloat16": 2, "float": 4}
RECORDED = {"f16": "half", "bf16": "bfloat16", "f32": "float"}  # dtype of an external record -> TYPE

UNIT = 2.0**-24          # relative error of an operation in float
KEPT_BYTES = 2**34       # most that a set of buffers has: two sets and their copy fit in 80 GB
CHECKED_ELEMENTS = 2**25  # that a check has in double at a time


class Rows:
    """A family of matrices. A subclass has case(), and

    name        of the family
    operation   "op" or "kind" of the external records
    adds        whether these records add a residual
    shapes      fixed shapes: (TYPE, M, N)
    columns     the smallest and the largest N of random shapes
    matrices    matrices per buffer set, also those that only a peer has
    """

    unit = "GB/s"
    columns = (64, 65536)
    adds = False

    def fixed(self):
        return [dict(M=m, N=n, TYPE=kind) for kind, m, n in self.shapes]

    def external(self, record):
        is_named = self.operation in (record["op"], record.get("kind"))
        known = is_named and "rows" in record and record.get("dtype") in RECORDED
        if not known or record.get("fused_add", False) != self.adds:
            return []
        m, n, kind = record["rows"], record["columns"], RECORDED[record["dtype"]]
        return [dict(M=m, N=n, TYPE=kind)] if self.matrices * m * n * BYTES[kind] <= KEPT_BYTES else []

    def random(self, sizes):
        m, n = sizes.size(1, 2**20), sizes.size(*self.columns)
        return dict(M=m, N=n, TYPE=sizes.choose(*TYPES)) if 2**15 <= m * n <= 2**28 else None


def launches(b, kernel, sets, **arguments):
    """A launch of a shipped kernel. An argument that is a list has one value per set."""
    kernel = b.kernel(kernel)
    bound = [kernel.bind(**{name: value[i] if isinstance(value, list) else value
                            for name, value in arguments.items()})
             for i in range(sets)]
    return lambda i: bound[i]()


def verified(module, name, error, *arguments):
    """The maker of a peer in a module. Its result is checked: error() is relative to the bound."""
    def make():
        from bench.peers import verify

        peer = importlib.import_module(f"bench.peers.{module}")
        return verify.verified(getattr(peer, name)(*arguments), error)

    return make


def triton(name, error, *arguments):
    return verified("triton_rows", name, error, *arguments)


def tile_cpp(name, error, *arguments):
    return {"CUDA_Tile_C++": verified("tile_cpp", name, error, *arguments)}


def worst(count, each, error_of):
    """The max of error_of(slice) over slices of range(count). `each`: elements per number of the range."""
    step = max(1, CHECKED_ELEMENTS // each)
    return max(error_of(slice(first, min(first + step, count))) for first in range(0, count, step))


def sum_error(terms, at_once=512):
    """The error of a sum in float, with at least `at_once` partial sums that are added at the end.

    Relative to the sum of the magnitudes of the terms. If the terms are random and have mean 0, it is
    relative to the root of the sum of their squares. Rounding errors are random, so they grow with the
    root of the number of additions. The factor 8 is far above their standard deviation. The number 32
    covers the additions of the partial sums, and the operations on a term.
    """
    return (8 * (terms / at_once) ** 0.5 + 32) * UNIT
