"""The peer QuACK, with fake modules of QuACK that record their arguments."""

import importlib
import sys
import types
import unittest
from unittest import mock

from bench.peers import Absent
from support import import_without_torch


class Tensor:
    """A tensor of halves with a name."""

    def __init__(self, name, *shape):
        self.name, self.shape, self.device, self.filled, self.copied = name, shape, "cuda", None, None

    def element_size(self):
        return 2

    def fill_(self, value):
        self.filled = value

    def view(self, size):
        return f"{self.name} as {size}"

    def sum(self, axis):
        return f"sum of {self.name}"

    def copy_(self, other):
        self.copied = other

    def __repr__(self):
        return self.name


class Quack(unittest.TestCase):
    def setUp(self):
        self.peer, self.calls = import_without_torch(self, "quack"), []
        self.peer.torch.empty_like = lambda x: Tensor("dx", *x.shape)
        self.peer.torch.empty = lambda shape, dtype, device: Tensor(f"sums {shape}", *shape)

    def with_modules(self):
        def recorded(*arguments, **named):
            self.calls.append((*map(str, arguments), {name: str(value) for name, value in named.items()}))

        names = dict(softmax=("_softmax_fwd", "_softmax_backward"), rmsnorm=("_rmsnorm_fwd", "_rmsnorm_bwd"),
                     cross_entropy=("cross_entropy_fwd_out", "cross_entropy_bwd_out"))
        modules = {f"quack.{name}": types.SimpleNamespace(**{each: recorded for each in functions})
                   for name, functions in names.items()}
        modules["quack.rmsnorm_config"] = types.SimpleNamespace(get_sm_count=lambda n, device: 1000 + n)
        patch = mock.patch.dict(sys.modules, {"quack": types.ModuleType("quack"), **modules})
        patch.start()
        self.addCleanup(patch.stop)

    def lists(self, names, columns=64):
        """A list of two tensors for each name, which ends with the number of the set."""
        return [[Tensor(f"{name}{i}", 8, columns) for i in range(2)] for name in names.split()]

    def called(self, function, *arguments):
        """The arguments of QuACK in the launch of set 1."""
        self.with_modules()
        launch = getattr(self.peer, function)(*arguments)
        self.assertEqual(self.calls, [])
        launch(1)
        return self.calls[0]

    def test_softmax(self):
        x, y = self.lists("x y")
        self.assertEqual(self.called("softmax", x, y), ("x1", "y1", {}))
        self.assertEqual(str(y[0].filled), "nan")

    def test_softmax_backward(self):
        self.assertEqual(self.called("softmax_backward", *self.lists("y dy dx")), ("dy1", "y1", "dx1", {}))

    def test_layer_norm(self):
        found = self.called("norm", *self.lists("x gain bias y"), 0.5)
        self.assertEqual(found, ("x1", "gain1", "y1", "bias1", {"eps": "0.5", "is_layernorm": "True"}))

    def test_rms_norm(self):
        x, gain, y = self.lists("x gain y")
        found = self.called("norm", x, gain, [None, None], y, 0.5)
        self.assertEqual(found, ("x1", "gain1", "y1", "None", {"eps": "0.5", "is_layernorm": "False"}))

    def test_layer_norm_backward(self):
        found = self.called("norm_backward", *self.lists("x gain dy mean factor dx"))
        self.assertEqual(found, ("x1", "gain1", "dy1", "factor1 as -1", "dx1", "None", "None",
                                 {"sm_count": "1064", "mean": "mean1 as -1", "is_layernorm": "True"}))

    def test_rms_norm_backward(self):
        x, gain, dy, factor, dx = self.lists("x gain dy factor dx")
        found = self.called("norm_backward", x, gain, dy, None, factor, dx)
        self.assertEqual(found, ("x1", "gain1", "dy1", "factor1 as -1", "dx1", "None", "None",
                                 {"sm_count": "1064", "mean": "None", "is_layernorm": "False"}))

    def test_the_weights_of_layer_norm_are_sums_of_partial_sums(self):
        lists = self.lists("x gain dy mean factor dgain dbias")
        found = self.called("norm_backward_weights", *lists)
        self.assertEqual(found[4:7], ("dx", "sums (1064, 64)", "sums (1064, 64)"))
        self.assertEqual([each[1].copied for each in lists[-2:]], ["sum of sums (1064, 64)"] * 2)

    def test_rms_norm_has_no_bias(self):
        x, gain, dy, factor, dgain, dbias = self.lists("x gain dy factor dgain dbias")
        found = self.called("norm_backward_weights", x, gain, dy, None, factor, dgain, dbias)
        self.assertEqual(found[4:7], ("dx", "sums (1064, 64)", "None"))
        self.assertEqual((dgain[1].copied, dbias[1].copied), ("sum of sums (1064, 64)", None))

    def test_cross_entropy(self):
        found = self.called("cross_entropy", *self.lists("x labels loss log_sums"))
        self.assertEqual(found, ("x1", "labels1", "None", "loss1", "log_sums1", "None", "None", {}))

    def test_cross_entropy_backward(self):
        found = self.called("cross_entropy_backward", *self.lists("x labels log_sums dloss dx"))
        self.assertEqual(found, ("x1", "labels1", "dloss1", "log_sums1", "dx1", {}))

    def test_rows_that_quack_cannot_copy(self):
        self.with_modules()
        for function, names, bad, good in (
                ("softmax", "x y", 12, 16), ("softmax_backward", "y dy dx", 33, 40),
                ("cross_entropy", "x labels loss log_sums", 33, 34),
                ("norm_backward", "x gain dy mean factor dx", 33, 34)):
            with self.subTest(function), self.assertRaisesRegex(Absent, "QuACK needs rows of a multiple of"):
                getattr(self.peer, function)(*self.lists(names, bad))
            getattr(self.peer, function)(*self.lists(names, good))
        self.assertEqual(self.calls, [])

    def test_absent_without_the_package(self):
        error = ImportError("No module named 'quack'")
        with (mock.patch.object(importlib, "import_module", side_effect=error),
              self.assertRaisesRegex(Absent, r"QuACK is missing \(No module named 'quack'\): run tests")):
            self.peer.softmax(*self.lists("x y"))


if __name__ == "__main__":
    unittest.main()
