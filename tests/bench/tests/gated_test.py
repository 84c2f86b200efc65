"""The family matmul_glu: its rows, and the launches of its peers, without PyTorch."""

import random
import types
import unittest
from unittest import mock

from bench import rows
from bench.families import gated, glu
from bench.families import product_parts as parts
from support import import_without_torch


class Matrix:
    """A matrix of which only the columns are known."""

    def __init__(self, name, columns):
        self.name, self.columns = name, columns
        self.shape = (7, len(columns))

    def __getitem__(self, part):
        return Matrix(self.name, self.columns[part[1]])


class Rows(unittest.TestCase):
    family = gated.MatmulGlu()

    def test_fixed_rows_are_feed_forward_layers(self):
        shapes = self.family.fixed()
        self.assertEqual({shape["TYPE"] for shape in shapes}, {"half", "bfloat16"})
        self.assertEqual({shape["M"] for shape in shapes}, {1, 16, 64, 512, 2048, 4096})
        self.assertGreater(sum(shape["LAYOUT"] == "NT" for shape in shapes), len(shapes) // 2)
        self.assertEqual({shape["LAYOUT"] for shape in shapes}, {"NT", "NN"})

    def test_random_rows_have_all_axes_and_sizes_of_all_kinds(self):
        shapes = [dict(each.shape) for each in rows.random_rows(self.family, "1", 200)]
        for axis, values in dict(LAYOUT=parts.LAYOUTS, FUNCTION=glu.FUNCTIONS, TYPE=("half", "bfloat16")).items():
            self.assertEqual({shape[axis] for shape in shapes}, set(values))
        for axis in "MNK":
            self.assertTrue(any(shape[axis] % 2 for shape in shapes), axis)
            self.assertTrue(any(shape[axis] % 128 == 0 for shape in shapes), axis)
        self.assertTrue(any(shape["M"] <= 16 for shape in shapes))
        self.assertTrue(all(2 * parts.flops(shape) <= parts.FAST for shape in shapes))

    def test_all_rows_have_the_same_names_in_the_same_order(self):
        drawn = None
        while drawn is None:
            drawn = self.family.random(rows.Sizes(random.Random("1")))
        self.assertEqual({tuple(shape) for shape in (drawn, *self.family.fixed())},
                         {("M", "N", "K", "LAYOUT", "FUNCTION", "TYPE")})

    def test_the_second_half_of_the_weights_is_aligned(self):
        for n, half in ((8, 8), (9, 16), (4095, 4096), (11008, 11008)):
            self.assertEqual(gated.both(dict(M=3, N=n)), dict(M=3, N=2 * half))


class Peers(unittest.TestCase):
    def setUp(self):
        """The launches, as texts. Matrices have 9 columns in halves of 16."""
        self.launched = []
        pytorch = import_without_torch(self, "pytorch")
        self.enterContext(mock.patch.object(pytorch, "compiled", lambda unit: self.kernel))
        self.enterContext(mock.patch.object(glu, "unit", lambda function, n: self.launched.append((function, n))))
        self.enterContext(mock.patch.object(parts, "makers", self.products))
        y, c, out = (Matrix(name, list(range(32))) for name in ("y", "c", "out"))
        operands = types.SimpleNamespace(a="a", y=[y], c=[c], n=32)
        self.makers = gated.makers("b", operands, glu.halves([y]), [out[:, :9]], "silu")

    def products(self, b, a, y, c):
        def maker(name):
            return lambda: lambda i: self.launched.append((name, y[i].columns[0], len(y[i].columns),
                                                           c[i].columns[0], len(c[i].columns)))

        return {name: maker(name) for name in ("cuBLAS", "cuBLASLt", "Triton")}

    def kernel(self, x):
        self.launched.append("kernel")
        return x

    def launch(self, name):
        launch = self.makers[name]()
        self.launched.clear()
        result = launch(0)
        self.assertEqual((result.name, result.columns), ("c", list(range(9))))
        return self.launched

    def test_two_products_and_a_kernel(self):
        self.assertEqual(self.launch("cuBLAS_twice"), [("cuBLAS", 0, 16, 0, 16), ("cuBLAS", 16, 16, 16, 16), "kernel"])

    def test_one_product_and_a_kernel(self):
        for name in ("cuBLAS", "cuBLASLt"):
            self.assertEqual(self.launch(name), [(name, 0, 32, 0, 32), "kernel"])

    def test_the_kernel_is_compiled_once_for_both_halves(self):
        for name in ("cuBLAS_twice", "cuBLAS", "cuBLASLt"):
            self.makers[name]()
        self.assertEqual(self.launched, [("silu", 16)])

    def test_names(self):
        self.assertEqual(list(self.makers), ["cuBLAS_twice", "cuBLAS", "cuBLASLt", "Triton"])


if __name__ == "__main__":
    unittest.main()
