"""Build.peers() without PyTorch and a GPU: which peers are measured, and why others are not."""

import importlib
import sys
import types
import unittest
from unittest import mock

from bench.peers import Absent


class Peers(unittest.TestCase):
    def setUp(self):
        torch = mock.MagicMock()
        torch.cuda = types.SimpleNamespace(synchronize=lambda: None, OutOfMemoryError=MemoryError)
        modules = mock.patch.dict(sys.modules, {"torch": torch})
        modules.start()
        self.addCleanup(modules.stop)
        sys.modules.pop("bench.build", None)
        self.addCleanup(sys.modules.pop, "bench.build", None)
        self.module, self.made = importlib.import_module("bench.build"), []

    def maker(self, name, raised=None):
        def make():
            self.made.append(name)
            if raised:
                raise raised
            return lambda i: None

        return make

    def peers(self, makers, **options):
        return self.module.Build(None, None, 1, **options).peers(**makers)

    def test_the_sources_of_the_kernels_of_a_case(self):
        library = types.SimpleNamespace(kernel=str.upper, sources={"a_half": "a", "b_half": "b", "c_half": "c"})
        build = self.module.Build(library, None, 1)
        names = ("a_half", "b_half", "a_half")
        self.assertEqual([build.kernel(name) for name in names], ["A_HALF", "B_HALF", "A_HALF"])
        self.assertEqual(build.sources, {"a", "b"})

    def test_all_peers_are_measured(self):
        found = self.peers({"A": self.maker("A"), "A_of_B": self.maker("B")})
        self.assertTrue(callable(found["A"]) and callable(found["A of B"]))

    def test_a_peer_that_cannot_run_has_a_reason(self):
        found = self.peers({"A": self.maker("A", Absent("no such type")), "B": self.maker("B", MemoryError()),
                            "C": self.maker("C", ValueError("odd")), "D": self.maker("D")})
        self.assertEqual([found[name] for name in "ABC"], ["no such type", "out of memory", "ValueError: odd"])
        self.assertTrue(callable(found["D"]))

    def test_other_peers_than_those_asked_for_are_not_made(self):
        found = self.peers({"A": self.maker("A"), "A_of_B": self.maker("B")}, only=["A of B"])
        self.assertEqual((self.made, found["A"]), (["B"], "not in --peers"))
        self.assertTrue(callable(found["A of B"]))

    def test_a_peer_to_leave_out_is_not_made(self):
        found = self.peers({"A": self.maker("A")}, without={"A": "hung"})
        self.assertEqual((self.made, found), ([], {"A": "hung"}))


if __name__ == "__main__":
    unittest.main()
