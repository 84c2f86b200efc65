"""vector_add, copy, transpose, permute: kernels that move data.

TYPE of all but vector_add stands for all types of its size: 1, 2, 4 or 8 bytes.
"""

from bench.families import Case
from bench.families.rows import launches

BYTES = {"uint8": 1, "half": 2, "float": 4, "double": 8}
TYPES = tuple(BYTES)
TYPE_OF_SIZE = {size: kind for kind, size in BYTES.items()}
BYTES_OF = {"b8": 1, "i8": 1, "e4m3": 1, "e5m2": 1, "f16": 2, "bf16": 2, "f32": 4, "i32": 4, "f64": 8,
            "i64": 8}
MOST = 1 << 29  # bytes of a random tensor


def promise(kind, *numbers):
    """The value of SIZES for these sizes and strides."""
    return "aligned" if all(number * BYTES[kind] % 16 == 0 for number in numbers) else "any"


def random(b, sets, shape, kind):
    return b.random(sets, shape, kind, *((0, 200) if kind == "uint8" else (-1, 1)))


def moved(b, size, sets, ours, x, y, view, triton):
    """The Case of y = view(x): a move that PyTorch expresses as a view of x."""
    import torch

    from bench import check
    from bench.peers import pytorch
    from bench.peers.verify import verified

    z = [torch.empty_like(each) for each in y]

    def error(result):
        return check.difference(result, view(x[0]))

    def compiled():
        # clone() copies in all cases; contiguous() would return a view that is contiguous already.
        function = pytorch.compiled(lambda x: view(x).clone(memory_format=torch.contiguous_format))
        return pytorch.launches(function, x)

    peers = b.peers(
        PyTorch=lambda: pytorch.launches(lambda x, z: z.copy_(view(x)), x, z),
        PyTorch_compiled=compiled,
        Triton=lambda: verified(triton(z), lambda: error(z[0])),
    )
    return Case(size, 0, sets, ours, peers,
                lambda: error(y[0]), lambda: check.poison(y[0]))


class VectorAdd:
    name, unit = "vector_add", "GB/s"
    types = {"f16": "half", "f32": "float"}

    def fixed(self):
        return [dict(N=n, TYPE=kind) for n, kind in (
            (4096, "float"), (98432, "float"), (1000003, "half"), (1 << 20, "half"), (1 << 22, "float"),
            (8192 * 4096, "half"), (33333333, "float"), (1 << 26, "float"), (1 << 28, "half"))]

    def external(self, record):
        kind = (record["op"], record.get("kind"), record.get("operands"))
        if kind != ("elementwise", "add", 2) or record["dtype"] not in self.types:
            return []
        return [dict(N=record["elements"], TYPE=self.types[record["dtype"]])]

    def random(self, sizes):
        return dict(N=sizes.size(1024, 1 << 28), TYPE=sizes.choose("half", "float"))

    def case(self, b, shape):
        import torch

        from bench import check
        from bench.peers import pytorch
        from bench.peers.verify import verified

        n, kind = shape["N"], shape["TYPE"]
        size = 3 * n * BYTES[kind]
        sets = b.sets(size)
        x, y = b.random(sets, (n,), kind), b.random(sets, (n,), kind)
        z, other = b.empty(sets, (n,), kind), b.empty(sets, (n,), kind)
        ours = launches(b, f"vector_add_{kind}", sets, x=x, y=y, z=z, n=n)

        def error(result):
            return check.error(result, x[0].double() + y[0].double())

        def triton():
            from bench.peers import triton_moves
            return verified(triton_moves.add(b, x, y, other), lambda: error(other[0]))

        peers = b.peers(
            PyTorch=lambda: pytorch.launches(lambda x, y, z: torch.add(x, y, out=z), x, y, other),
            PyTorch_compiled=lambda: pytorch.launches(pytorch.compiled(lambda x, y: x + y), x, y),
            Triton=triton,
        )
        return Case(size, 0, sets, ours, peers,
                    lambda: error(z[0]), lambda: check.poison(z[0]))


class Copy:
    """X is the first N columns of a matrix with LDX columns. Y has no gaps."""

    name, unit = "copy", "GB/s"

    def fixed(self):
        return [dict(M=m, N=n, LDX=ldx, TYPE=kind) for m, n, ldx, kind in (
            (8192, 8192, 8192, "half"), (4096, 16384, 16384, "uint8"), (4096, 4096, 4096, "double"),
            (16384, 16384, 16384, "float"), (1048576, 33, 33, "half"), (1001, 517, 517, "float"),
            (128, 128, 128, "float"), (16384, 4096, 12288, "half"), (8192, 1024, 6144, "half"),
            (32768, 64, 576, "half"), (8192, 1000, 1024, "float"), (3001, 517, 523, "uint8"))]

    def external(self, record):
        return []  # the records have no copies

    def random(self, sizes):
        n, kind = sizes.size(8, 65536), sizes.choose(*TYPES)
        m, ldx = sizes.size(8, 1 << 20), n + sizes.choose(0, sizes.size(8, 8192))
        return dict(M=m, N=n, LDX=ldx, TYPE=kind) if 2**16 <= m * ldx * BYTES[kind] <= MOST else None

    def case(self, b, shape):
        m, n, ldx, kind = shape["M"], shape["N"], shape["LDX"], shape["TYPE"]
        size = 2 * m * n * BYTES[kind]
        sets = b.sets(size)
        x = [each[:, :n] for each in random(b, sets, (m, ldx), kind)]
        y = b.empty(sets, (m, n), kind)
        kernel = f"copy_{kind}_{promise(kind, m, n, ldx)}"
        ours = launches(b, kernel, sets, X=x, Y=y, M=m, N=n, ldx=ldx, ldy=n)

        def triton(z):
            from bench.peers import triton_moves
            return triton_moves.copy(b, x, z)

        return moved(b, size, sets, ours, x, y, lambda x: x, triton)


class Transpose:
    name, unit = "transpose", "GB/s"

    def fixed(self):
        return [dict(M=m, N=n, TYPE=kind) for m, n, kind in (
            (8192, 8192, "half"), (4096, 16384, "half"), (16384, 4096, "uint8"), (128256, 4096, "half"),
            (4096, 4096, "float"), (4096, 4096, "double"), (8191, 8191, "half"), (50257, 768, "float"),
            (65536, 64, "half"), (1000003, 3, "float"), (1001, 517, "uint8"), (128, 128, "float"))]

    def external(self, record):
        if record["op"] != "transpose" or record["dtype"] not in BYTES_OF:
            return []
        return [dict(M=record["M"], N=record["N"], TYPE=TYPE_OF_SIZE[BYTES_OF[record["dtype"]]])]

    def random(self, sizes):
        m, n, kind = sizes.size(8, 1 << 18), sizes.size(8, 1 << 18), sizes.choose(*TYPES)
        return dict(M=m, N=n, TYPE=kind) if 2**16 <= m * n * BYTES[kind] <= MOST else None

    @staticmethod
    def kernel(kind, m, n):
        return f"transpose_{kind}_{promise(kind, m, n)}"

    def case(self, b, shape):
        m, n, kind = shape["M"], shape["N"], shape["TYPE"]
        size = 2 * m * n * BYTES[kind]
        sets = b.sets(size)
        x, y = random(b, sets, (m, n), kind), b.empty(sets, (n, m), kind)
        ours = launches(b, self.kernel(kind, m, n), sets, X=x, Y=y, M=m, N=n, ldx=n, ldy=m)

        def triton(z):
            from bench.peers import triton_moves
            return triton_moves.transpose(b, x, z)

        return moved(b, size, sets, ours, x, y, lambda x: x.t(), triton)


class TransposeBasic(Transpose):
    """Whole tiles."""

    name = "transpose_basic"

    def fixed(self):
        return [dict(M=m, N=n, TYPE=kind) for m, n, kind in (
            (8192, 8192, "half"), (128256, 4096, "half"), (65536, 64, "half"), (4096, 4096, "float"))]

    def external(self, record):
        return []  # the rows would be those of transpose

    def random(self, sizes):
        shape = super().random(sizes)
        if shape and shape["TYPE"] in ("half", "float") and shape["M"] % 32 == shape["N"] % 32 == 0:
            return shape
        return None

    @staticmethod
    def kernel(kind, m, n):
        return f"transpose_basic_{kind}"


class Permute:
    """X is D0 x D1 x D2, with the indices i, j and k. ORDER lists the indices of Y."""

    name, unit = "permute", "GB/s"
    orders = ("ikj", "jik", "jki", "kij", "kji")

    def fixed(self):
        return [dict(D0=d0, D1=d1, D2=d2, ORDER=order, TYPE=kind) for d0, d1, d2, order, kind in (
            (4096, 32, 128, "jik", "half"), (32, 8192, 128, "jik", "half"), (32768, 8, 64, "jik", "float"),
            (64, 3136, 256, "ikj", "half"), (64, 256, 3136, "ikj", "half"), (256, 50176, 3, "ikj", "uint8"),
            (32, 3, 50176, "ikj", "float"), (64, 1025, 771, "ikj", "half"), (512, 512, 512, "kji", "float"),
            (256, 384, 512, "kij", "double"), (1024, 128, 256, "jki", "half"),
            (101, 203, 307, "kji", "float"), (16, 32, 64, "jik", "half"))]

    def external(self, record):
        return []  # the records have no permutations

    def random(self, sizes):
        extents = [sizes.size(3, 4096) for _ in range(3)]
        kind, order = sizes.choose(*TYPES), sizes.choose(*self.orders)
        if not 2**16 <= extents[0] * extents[1] * extents[2] * BYTES[kind] <= MOST:
            return None
        return dict(D0=extents[0], D1=extents[1], D2=extents[2], ORDER=order, TYPE=kind)

    def case(self, b, shape):
        extents, kind = tuple(shape[f"D{i}"] for i in range(3)), shape["TYPE"]
        order = tuple("ijk".index(letter) for letter in shape["ORDER"])
        size = 2 * extents[0] * extents[1] * extents[2] * BYTES[kind]
        sets = b.sets(size)
        x, y = random(b, sets, extents, kind), b.empty(sets, tuple(extents[axis] for axis in order), kind)
        x_strides = (extents[1] * extents[2], extents[2], 1)
        y_strides = [1, 1, 1]
        y_strides[order[1]] = extents[order[2]]
        y_strides[order[0]] = extents[order[2]] * extents[order[1]]
        others = (stride for axis, stride in enumerate(y_strides) if axis != order[2])
        sizes = promise(kind, *extents, *x_strides[:2], *others)
        numbers = dict(zip(("D0", "D1", "D2", "x0", "x1", "y0", "y1", "y2"),
                           (*extents, *x_strides[:2], *y_strides)))
        ours = launches(b, f"permute_{kind}_{sizes}_{shape['ORDER'][2]}", sets, X=x, Y=y, **numbers)

        def triton(z):
            from bench.peers import triton_moves
            return triton_moves.permute(b, x, z, y_strides, order[2])

        return moved(b, size, sets, ours, x, y, lambda x: x.permute(order), triton)


FAMILIES = [VectorAdd(), Copy(), Transpose(), TransposeBasic(), Permute()]
