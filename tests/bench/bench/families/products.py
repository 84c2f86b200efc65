"""Products c = a y: matmul, its forms for other types and sizes, and matmul_grouped.

LAYOUT has the layouts of the two operands, as the axes A and B of the kernels: N is row by row.
"""

from bench.families import product_parts as parts
from bench.families.product_parts import Operands


class Product:
    """Products of a type and a layout, without an epilogue."""

    unit = "TFLOP/s"
    types, layouts = ("half",), parts.LAYOUTS
    multiples = (1, 1, 1)  # of M, N and K

    def accepts(self, m, n, k):
        return all(size % multiple == 0 for size, multiple in zip((m, n, k), self.multiples))

    def external(self, record):
        kind = parts.RECORDS.get(record.get("dtype"))
        if record["op"] != "gemm" or kind not in self.types or record["layout"] not in self.layouts:
            return []
        m, n, k = record["M"], record["N"], record["K"]
        return [dict(M=m, N=n, K=k, LAYOUT=record["layout"], TYPE=kind)] if self.accepts(m, n, k) else []

    def random(self, sizes):
        drawn = [sizes.size(low, 16384) for low in (16, 64, 32)]
        m, n, k = (max(size // multiple, 1) * multiple for size, multiple in zip(drawn, self.multiples))
        shape = dict(M=m, N=n, K=k, LAYOUT=sizes.choose(*self.layouts), TYPE=sizes.choose(*self.types))
        return shape if self.accepts(m, n, k) and parts.is_short(shape) else None

    def kernel(self, library, operands, layout):
        """The name of the kernel."""
        return f"{self.name}_{operands.kind}_{layout[0]}_{layout[1]}"

    def case(self, b, shape):
        operands = Operands(b, shape)
        kernel = b.kernel(self.kernel(b.library, operands, shape["LAYOUT"]))
        ours = [kernel.bind(**operands.arguments(i)) for i in range(operands.sets)]
        return operands.case(b, ours, self.makers(b, operands))

    def makers(self, b, operands):
        return operands.makers(b)


class WithTile(Product):
    """With CUDA Tile C++ as a peer."""

    def makers(self, b, operands):
        def tile_cpp():
            from bench.peers import tile_cpp
            return tile_cpp.product(b, operands.a, operands.y, operands.out)

        return {**operands.makers(b), "CUDA_Tile_C++": tile_cpp}


class Matmul(WithTile):
    """Whole tiles. If the library has no matmul for the type, matmul_masked is the kernel for it."""

    name = "matmul"
    types = ("half", "bfloat16", "float")
    multiples = (32, 32, 8)

    def kernel(self, library, operands, layout):
        name = super().kernel(library, operands, layout)
        return name if name in library.kernels else MatmulMasked().kernel(library, operands, layout)

    def fixed(self):
        return parts.shapes(
            "M N K LAYOUT TYPE",
            "8192 8192 8192 NN half", "4096 4096 4096 NN half", "4096 4096 4096 NT half",
            "4096 4096 4096 TN half", "4096 4096 4096 TT half", "2048 2048 2048 NN half",
            "1024 1024 1024 NN half", "512 512 512 NT half", "4096 28672 8192 NT bfloat16",
            "64 14336 4096 NT bfloat16", "32 4096 14336 NT bfloat16", "65536 64 576 NN half",
            "4096 4096 4096 NN float", "1024 1024 1024 NT float")


class MatmulMasked(WithTile):
    """The sizes that matmul refuses."""

    name = "matmul_masked"
    types = ("half", "bfloat16", "float")

    def accepts(self, m, n, k):
        return not Matmul().accepts(m, n, k)

    def kernel(self, library, operands, layout):
        multiple = 16 // parts.BYTES[operands.kind]
        aligned = all(distance % multiple == 0 for distance in (operands.lda, operands.ldb, operands.ldc))
        return super().kernel(library, operands, layout) + ("_aligned" if aligned else "_any")

    def fixed(self):
        return parts.shapes(
            "M N K LAYOUT TYPE",
            "1 4096 4096 NT half", "16 14336 4096 NT bfloat16", "1576 3072 768 NT half",
            "1000 1000 1000 NN half", "4090 4090 4096 NN half", "1023 1023 1023 NN half",
            "2047 4097 1025 NT bfloat16", "8191 8191 8191 TN half", "8192 50257 768 NT half",
            "100 100 100 NN half", "513 511 509 NN float")


class MatmulDouble(Product):
    name = "matmul_double"
    types = ("double",)
    multiples = (32, 32, 8)

    def kernel(self, library, operands, layout):
        return f"matmul_double_{layout[0]}_{layout[1]}"

    def fixed(self):
        return parts.shapes(
            "M N K LAYOUT TYPE",
            "4096 4096 4096 NN double", "2048 2048 2048 NT double", "1024 1024 1024 TN double",
            "512 512 512 NN double", "8192 256 256 NN double", "256 256 16384 TN double",
            "64 64 64 NN double")


class MatmulFloat8(Product):
    name = "matmul_float8"
    types, layouts = ("e4m3",), ("NT",)  # of external and random rows: what cuBLAS has, too
    multiples = (32, 32, 32)

    def fixed(self):
        return parts.shapes(
            "M N K LAYOUT TYPE",
            "8192 8192 8192 NT e4m3", "4096 4096 4096 NT e4m3", "2048 2048 2048 NT e4m3",
            "1024 1024 1024 NT e4m3", "4096 14336 4096 NT e4m3", "64 14336 4096 NT e4m3",
            "32 4096 14336 NT e4m3", "4096 4096 4096 NN e4m3", "4096 4096 4096 NT e5m2")

    def case(self, b, shape):
        case = super().case(b, shape)
        approximate = case.check
        case.check = lambda: max(approximate(), self.exact(b, shape))
        return case

    def exact(self, b, shape):
        """The error on small integers: their sums are exact, up to 2^13."""
        from bench import check
        from bench.build import TYPES

        m, n, k, layout = shape["M"], shape["N"], shape["K"], shape["LAYOUT"]
        a, y = (b.random(1, sizes, "int", -2, 2)[0].float().to(TYPES[shape["TYPE"]])
                for sizes in ((k, m) if layout[0] == "T" else (m, k), (n, k) if layout[1] == "T" else (k, n)))
        c = b.empty(1, (m, n), "half")[0]
        check.poison(c)
        b.kernel(f"matmul_float8_{shape['TYPE']}_{layout[0]}_{layout[1]}").bind(
            A=a, B=y, C=c, M=m, N=n, K=k, lda=a.shape[1], ldb=y.shape[1], ldc=n)()
        return parts.worst(c, a.t() if layout[0] == "T" else a, y.t() if layout[1] == "T" else y, 0.0)


class MatmulInt8(Product):
    """Signed integers only: neither cuBLAS nor Triton multiplies unsigned ones."""

    name = "matmul_int8"
    types, layouts = ("int8",), ("NT",)
    multiples = (32, 32, 32)

    def fixed(self):
        return parts.shapes(
            "M N K LAYOUT TYPE",
            "8192 8192 8192 NT int8", "4096 4096 4096 NT int8", "2048 2048 2048 NT int8",
            "1024 1024 1024 NT int8", "4096 14336 4096 NT int8", "64 14336 4096 NT int8",
            "32 4096 14336 NT int8", "4096 4096 4096 NN int8")


class MatmulGrouped(Product):
    """One product, with the order of the tiles in the kernel's source: groups of rows of tiles."""

    name = "matmul_grouped"
    types, layouts = ("half", "float"), ("NN",)

    def fixed(self):
        return parts.shapes(
            "M N K TYPE",
            "8192 8192 8192 half", "4096 4096 4096 half", "1024 1024 1024 half", "16384 1024 4096 half",
            "2000 504 104 half", "4095 4097 4099 half", "2048 2048 2048 float")

    def external(self, record):
        return []  # the rows would be those of matmul

    def random(self, sizes):
        shape = super().random(sizes)
        if shape:
            del shape["LAYOUT"]
        return shape

    def case(self, b, shape):
        operands = Operands(b, shape, multiple=8)
        kernel = b.kernel(f"matmul_grouped_{operands.kind}")
        return operands.case(b, [kernel.bind(**operands.arguments(i)) for i in range(operands.sets)])


class MatmulForm(Product):
    """Other sources of the product of matmul."""

    types = ("half", "float")
    multiples = (32, 32, 8)

    def fixed(self):
        return parts.shapes("M N K LAYOUT TYPE", "8192 8192 8192 NN half", "4096 4096 4096 NN half",
                            "1024 1024 1024 NN half", "64 14336 4096 NN half", "2048 2048 2048 NN float")

    def external(self, record):
        return []  # the rows would be those of matmul


class MatmulRemat(MatmulForm):
    name = "matmul_remat"


class MatmulBasic(MatmulForm):
    """Without the axes of the layouts."""

    name, layouts = "matmul_basic", ("NN",)

    def kernel(self, library, operands, layout):
        return f"{self.name}_{operands.kind}"


class MatmulPrefetch(MatmulBasic):
    name = "matmul_prefetch"


FAMILIES = [Matmul(), MatmulMasked(), MatmulDouble(), MatmulFloat8(), MatmulInt8(), MatmulGrouped(),
            MatmulBasic(), MatmulPrefetch(), MatmulRemat()]
