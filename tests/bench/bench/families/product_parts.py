"""What the families of products share: layouts, operands on random data, references, peers."""

import math

from bench.families import Case

LAYOUTS = ("NN", "NT", "TN", "TT")
BYTES = {"half": 2, "bfloat16": 2, "float": 4, "double": 8, "e4m3": 1, "e5m2": 1, "int8": 1, "uint8": 1,
         "int": 4}
RESULTS = {"e4m3": "half", "e5m2": "half", "int8": "int", "uint8": "int"}  # of the other types: the same type
RECORDS = {"f16": "half", "bf16": "bfloat16", "f32": "float", "e4m3": "e4m3"}  # the types of external.jsonl
SPEEDS = {"float": 2**36, "double": 2**36}  # operations in about 2 ms
FAST = 2**40                                # the same, for the other types

CHUNK = 2**27      # elements in double that a reference uses at one time
SAMPLES = 256      # rows of a peer's result that are compared
LAST_ROUNDINGS = 4  # of the sum itself, that its error may have
TOLERANCE = 0.05   # of a peer, relative to the largest element


def result_type(kind):
    return RESULTS.get(kind, kind)


def flops(shape):
    return 2 * shape.get("BATCH", 1) * shape["M"] * shape["N"] * shape["K"]


def is_short(shape):
    """Whether a random shape takes a few milliseconds at most, so that its row takes about a second."""
    return 2**18 <= flops(shape) <= SPEEDS.get(shape["TYPE"], FAST)


def shapes(names, *values):
    """Shapes of texts, such as "64 32 half" for the names "M N TYPE"."""
    numbers = ([int(word) if word.isdigit() else word for word in each.split()] for each in values)
    return [dict(zip(names.split(), each)) for each in numbers]


def matrices(b, sets, shape, kind, multiple=1):
    """Matrices, or batches, on random data. The distance of rows is a multiple of `multiple` elements."""
    low, high = {"int8": (-128, 127), "uint8": (0, 255)}.get(kind, (-1, 1))
    *rest, columns = shape
    return [x[..., :columns] for x in b.random(sets, (*rest, padded(columns, multiple)), kind, low, high)]


def results(b, sets, shape, kind, leading=None):
    """Matrices, or batches. `leading` is the distance of rows; default: no gaps."""
    *rest, columns = shape
    return [x[..., :columns] for x in b.empty(sets, (*rest, leading or columns), kind)]


def padded(columns, multiple):
    return -(-columns // multiple) * multiple


class Operands:
    """The matrices of c = a y in a layout, on random data: views of M x K, K x N and M x N.

    `c` is our result, and `out` the peers'. With BATCH in the shape, all have a first axis for the batch.
    With GAP, that many elements are between the rows of c.
    """

    def __init__(self, b, shape, multiple=1):
        self.m, self.n, self.k, self.kind = shape["M"], shape["N"], shape["K"], shape["TYPE"]
        self.batch, self.gap = shape.get("BATCH"), shape.get("GAP", 0)
        layout, result = shape.get("LAYOUT", "NN"), result_type(self.kind)
        self.flops = flops(shape)
        self.bytes = (self.batch or 1) * ((self.m + self.n) * self.k * BYTES[self.kind]
                                          + self.m * self.n * BYTES[result])
        self.sets = b.sets(self.bytes)
        self.allocate(b, layout, result, multiple)

    def allocate(self, b, layout, result, multiple):
        self.a, self.lda = self.operand(b, self.m, self.k, layout[0] == "T", multiple)
        self.y, self.ldb = self.operand(b, self.k, self.n, layout[1] == "T", multiple)
        sizes = self.sizes(self.m, self.n)
        self.ldc = padded(self.n, multiple) + self.gap
        self.c, self.out = (results(b, self.sets, sizes, result, self.ldc) for _ in range(2))

    def sizes(self, rows, columns):
        return (rows, columns) if self.batch is None else (self.batch, rows, columns)

    def operand(self, b, rows, columns, is_transposed, multiple):
        """The matrices of all sets, and the distance of their rows in memory."""
        if is_transposed:
            rows, columns = columns, rows
        stored = matrices(b, self.sets, self.sizes(rows, columns), self.kind, multiple)
        return [x.transpose(-1, -2) for x in stored] if is_transposed else stored, padded(columns, multiple)

    def arguments(self, i):
        """The arguments of our kernels that all products have."""
        return dict(A=self.a[i], B=self.y[i], C=self.c[i], M=self.m, N=self.n, K=self.k,
                    lda=self.lda, ldb=self.ldb, ldc=self.ldc)

    def makers(self, b):
        """The peers of a product without an epilogue."""
        return makers(b, self.a, self.y, self.out)

    def error(self, after=None, before=None):
        """The error of c in set 0, after a function of the sum in double."""
        before = sum_error(self.k, self.kind) if before is None else before
        return worst(self.c[0], self.a[0], self.y[0], before, after)

    def case(self, b, ours, makers=None, right=None, error=None):
        """The case of launches of our kernel, one per set.

        For products with an epilogue: the makers of peers, their right result, and the error of ours.
        """
        right = right or sampled(self.a[0], self.y[0])
        peers = b.peers(**agreeing(makers or self.makers(b), self.out[0], right))
        return Case(self.bytes, self.flops, self.sets, lambda i: ours[i](), peers, error or self.error,
                    lambda: poison(self.c[0]))


def makers(b, a, y, c):
    """The makers of the peers for c = a y."""
    def cublas():
        from bench.peers import cublas
        return cublas.product(a, y, c)

    def cublaslt():
        from bench.peers import cublaslt
        return cublaslt.product(b, a, y, c)

    def triton():
        from bench.peers import triton_products
        return triton_products.product(b, a, y, c)

    return dict(cuBLAS=cublas, cuBLASLt=cublaslt, Triton=triton)


def poison(x):
    """Fills a matrix, row by row or column by column, with NaN."""
    from bench import check

    check.poison(x if x.stride(-1) == 1 else x.transpose(-1, -2))


def sum_error(k, kind="half"):
    """A bound of the error of a sum of k products of numbers from -1 to 1, which have either sign.

    The partial sums are about sqrt(k) / 3. In float, the error of k roundings grows as k sqrt(k) at
    worst, because tensor cores round towards zero; the factor has a margin of 2. In the tests on a GPU
    (tests/gpu), the same bound holds. In double, two sums may differ: ours and the reference.
    """
    if kind == "double":
        return 4 * (k + 8) * 2.0**-53
    if kind in ("int8", "uint8"):
        return 0.0
    if kind in ("e4m3", "e5m2"):  # kernels/matmul_float8.tc has the error of an addition of 32 products
        return (k / 32 * 2.0**-14 + 2 * math.sqrt(k) * 2.0**-13) * 2 * math.sqrt(k)
    return 1e-6 + 1e-8 * k * math.sqrt(k)


def in_double(x):
    return x.double() if x.element_size() > 1 else x.float().double()


def worst(actual, a, y, before, after=None):
    """The error of `actual` = after(a y), relative to its bound, part by part so that it fits in memory.

    The bound of the sum is `before`, and some roundings of the sum itself: if a sum of few terms is
    large, its last partial sums are as large.

    after(sum, rows, columns) is what follows the sum, in double; the slices are those of the part.
    """
    import torch

    from bench import check

    (m, k), n = a.shape[-2:], y.shape[-1]
    rounding = LAST_ROUNDINGS * check.ROUNDING[torch.float64 if a.dtype == torch.float64 else torch.float32]

    def error(part, sum, right):
        return check.error(part, right, before + rounding * sum.abs())

    if a.dim() == 3:
        step = max(1, CHUNK // max(m * k, k * n, m * n))
        pieces = (slice(first, first + step) for first in range(0, a.shape[0], step))
        sums = ((piece, torch.bmm(in_double(a[piece]), in_double(y[piece]))) for piece in pieces)
        return max(error(actual[piece], sum, sum) for piece, sum in sums)
    width = max(1, min(n, CHUNK // max(k, 1)))
    height = max(1, min(m, CHUNK // max(k, width)))
    found = 0.0
    for column in range(0, n, width):
        columns = slice(column, min(column + width, n))
        part = in_double(y[:, columns])
        for row in range(0, m, height):
            rows = slice(row, min(row + height, m))
            sum = torch.mm(in_double(a[rows]), part)
            right = after(sum, rows, columns) if after else sum
            found = max(found, error(actual[rows, columns], sum, right))
    return found


def sample_of(count):
    """A slice of some rows of a matrix, or of matrices of a batch, also the last one."""
    step = max(1, count // SAMPLES)
    return slice((count - 1) % step, None, step)


def sample(x):
    return x[sample_of(x.shape[0])]


def sampled(a, y, after=lambda sum: sum):
    """A function that gives the rows sample() of after(a y), nearly exact."""
    def right():
        wide = (lambda x: x) if a.element_size() == 8 else (lambda x: x.float())
        return after(wide(sample(a)) @ wide(sample(y) if y.dim() == 3 else y))

    return right


def agreeing(makers, out, right):
    """The makers, with a test of the peers' results, so that no wrong kernel is measured.

    A launch writes its result to `out`, or returns it.
    """
    kept = []

    def tested(make):
        def maker():
            launch = make()
            poison(out)
            returned = launch(0)
            if not kept:
                kept.append(right())
            is_new = returned is not None and returned.data_ptr() != out.data_ptr()
            found = sample(returned if is_new else out).to(kept[0].dtype)
            apart = float((found - kept[0]).abs().max() / kept[0].abs().max())
            if not apart <= TOLERANCE:
                raise RuntimeError(f"the peer's result is wrong: by {apart:.2g} of the largest element")
            return launch

        return maker

    return {name: tested(make) for name, make in makers.items()}
