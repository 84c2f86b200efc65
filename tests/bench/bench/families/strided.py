"""matmul_strided: c = a y with any strides."""

from bench.families import product_parts as parts
from bench.families.product_parts import Operands

FORMS = ("rows", "columns", "interleaved")


class MatmulStrided:
    """FORM is the place of the elements in memory:

    rows         a is every second row of a larger matrix; y and c are row by row
    columns      a and y are row by row, and c is column by column
    interleaved  a and y are every second element of larger matrices, such as real parts of complex numbers
    """

    name, unit = "matmul_strided", "TFLOP/s"
    types = ("half", "float")

    def fixed(self):
        return parts.shapes(
            "M N K FORM TYPE",
            "4096 4096 4096 rows half", "4096 4096 4096 columns half", "4096 4096 4096 interleaved half",
            "1024 1024 1024 rows half", "1023 1021 1019 columns half", "512 512 512 interleaved half",
            "64 4096 4096 rows half", "1024 1024 1024 interleaved float")

    def external(self, record):
        return []

    def random(self, sizes):
        shape = dict(M=sizes.size(16, 8192), N=sizes.size(16, 8192), K=sizes.size(16, 8192),
                     FORM=sizes.choose(*FORMS), TYPE=sizes.choose(*self.types))
        return shape if parts.is_short(shape) and parts.flops(shape) <= 2**38 else None

    def case(self, b, shape):
        operands = Strided(b, shape)
        kernel = b.kernel(f"{self.name}_{operands.kind}")
        return operands.case(b, [kernel.bind(**operands.arguments(i)) for i in range(operands.sets)])


class Strided(Operands):
    def __init__(self, b, shape):
        self.form = shape["FORM"]
        super().__init__(b, shape)

    def allocate(self, b, layout, result, multiple):
        row, element = 2 if self.form == "rows" else 1, 2 if self.form == "interleaved" else 1
        self.a = self.every(b, self.m, self.k, row, element)
        self.y = self.every(b, self.k, self.n, 1, element)
        sizes = (self.n, self.m) if self.form == "columns" else (self.m, self.n)
        self.c, self.out = (parts.results(b, self.sets, sizes, result) for _ in range(2))
        if self.form == "columns":
            self.c, self.out = ([x.t() for x in each] for each in (self.c, self.out))

    def every(self, b, rows, columns, row, element):
        """Matrices of every row-th row and element-th column of larger ones."""
        return [x[::row, ::element] for x in
                parts.matrices(b, self.sets, (rows * row, columns * element), self.kind)]

    def makers(self, b):
        if self.form == "columns":  # peers write row by row, so they compute the transpose
            return parts.makers(b, *([x.t() for x in each] for each in (self.y, self.a, self.out)))
        return super().makers(b)

    def arguments(self, i):
        a, y, c = self.a[i], self.y[i], self.c[i]
        (am, ak), (bk, bn), (cm, cn) = (x.stride() for x in (a, y, c))
        return dict(A=a, B=y, C=c, M=self.m, N=self.n, K=self.k, am=am, ak=ak, bk=bk, bn=bn, cm=cm, cn=cn)


FAMILIES = [MatmulStrided()]
