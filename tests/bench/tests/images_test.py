"""Which images run on which shapes, with kernels that are Python."""

import random
import types
import unittest

from bench import images
from bench.families import families
from bench.kernels import LaunchError


class Kernel:
    """`least` has the smallest N per image. An image of `wrong` computes a wrong result."""

    def __init__(self, name, least, wrong=()):
        self.name, self.least, self.wrong, self.object = name, least, wrong, "the library's choice"

    def images(self):
        return [Image(i) for i in range(len(self.least))]


class Image:
    def __init__(self, number):
        self.object = number

    def __str__(self):
        return f"image {self.object}"


class Family:
    name = "softmax"

    def random(self, sizes):
        return dict(M=sizes.size(1, 100), N=sizes.size(1, 100000))


class Run(unittest.TestCase):
    def run_images(self, *kernels, missing=()):
        self.launched = []

        def case_of(shape):
            def ours(stream):
                for kernel in kernels:
                    if shape["N"] < kernel.least[kernel.object]:
                        raise LaunchError("requirement_failed", f"N >= {kernel.least[kernel.object]}")
                    self.launched.append((kernel.object, shape["M"], shape["N"]))

            def check():
                return 3.0 if any(kernel.object in kernel.wrong for kernel in kernels) else 0.5

            return types.SimpleNamespace(ours=ours, check=check, poison=lambda: None), kernels

        names = [kernel.name for kernel in kernels]
        return images.run(Family(), [*names, *missing], "1", case_of)

    def test_each_image_runs_on_eight_shapes_and_no_more(self):
        kernel = Kernel("softmax_half", [1, 1, 1])
        tally = self.run_images(kernel)
        self.assertTrue(tally.is_done())
        self.assertEqual(tally.kernels["softmax_half"].runs, [8, 8, 8])
        for number in range(3):
            self.assertEqual(len({(m, n) for image, m, n in self.launched if image == number}), 8)
        self.assertEqual(kernel.object, "the library's choice")
        self.assertEqual((tally.failures, list(tally.left())), ([], []))

    def test_an_image_of_large_shapes_gets_large_shapes(self):
        tally = self.run_images(Kernel("softmax_half", [1, 5000]))
        self.assertEqual(tally.kernels["softmax_half"].runs, [8, 8])
        self.assertTrue(all(n >= 5000 for image, _, n in self.launched if image == 1))
        self.assertTrue(all(n <= 160 for image, _, n in self.launched if image == 0))

    def test_an_image_that_takes_no_shape_is_left_with_the_reason(self):
        tally = self.run_images(Kernel("softmax_half", [1, 10**9]))
        self.assertFalse(tally.is_done())
        self.assertEqual(list(tally.left()), [("softmax_half / image 1",
                                               "0 shapes; the last refusal: N >= 1000000000")])
        self.assertIn("| softmax | 1 | 2 | 1 | 0 | 1 | 8 | 0 |", images.text([tally]))

    def test_a_kernel_without_a_shape_is_left(self):
        tally = self.run_images(Kernel("softmax_half", [1]), missing=["softmax_float"])
        self.assertEqual(list(tally.left()), [("softmax_float", "no shape has this kernel")])

    def test_a_wrong_image_fails_and_the_others_do_not(self):
        tally = self.run_images(Kernel("softmax_half", [1, 1], wrong=[1]))
        self.assertEqual(len(tally.failures), 8)
        self.assertRegex(tally.failures[0], r"softmax_half / image 1: .*'N': \d+.* 3 times the bound")
        self.assertIn("| softmax | 1 | 2 | 2 | 0 | 0 | 16 | 8 |", images.text([tally]))

    def test_a_kernel_of_another_family_is_not_counted(self):
        with_other = Kernel("matmul_half", [1])
        tally = images.Tally("softmax", [])
        images.run_images(tally, {}, types.SimpleNamespace(), [with_other])
        self.assertEqual((tally.kernels, tally.count()), ({}, 0))


class Shapes(unittest.TestCase):
    def test_each_kernel_has_one_family(self):
        owned = images.owners(families(), ["softmax_half", "softmax_float", "softmax_backward_half", "matmul_half_N_T",
                                           "matmul_fused_half", "unknown_half"])
        self.assertEqual(owned["softmax"], ["softmax_half", "softmax_float"])
        self.assertEqual(owned["softmax_backward"], ["softmax_backward_half"])
        self.assertEqual(owned["matmul"], ["matmul_half_N_T"])
        self.assertEqual(owned["matmul_fused"], ["matmul_fused_half"])
        self.assertNotIn("unknown_half", sum(owned.values(), []))

    def test_the_shapes_have_all_values_of_the_axes(self):
        by_name = {family.name: family for family in families()}
        for name, axes in images.AXES.items():
            generator = random.Random("1")
            shapes = [images.drawn(by_name[name], generator, 2400) for _ in range(400)]
            for axis, values in axes.items():
                with self.subTest(f"{name} {axis}"):
                    self.assertEqual({shape[axis] for shape in shapes if shape}, set(values))

    def test_sizes_are_capped(self):
        sizes = images.Capped(random.Random("1"), 160)
        self.assertTrue(all(8 <= sizes.size(8, 10**6) <= 160 for _ in range(100)))
        self.assertTrue(all(sizes.size(4096, 10**6) == 4096 for _ in range(100)))


if __name__ == "__main__":
    unittest.main()
