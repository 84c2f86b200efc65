"""measure() without PyTorch and a GPU: which rows are measured, refused and failed."""

import importlib
import sys
import types
import unittest
from unittest import mock

from bench.families import Case
from bench.kernels import LaunchError
from bench.statistics import Quartiles
from support import Family


class OutOfMemory(Exception):
    pass


class Build:
    """Steps, and a timer that records its candidates."""

    def __init__(self):
        self.steps, self.timed, self.timer = [], [], self

    def at(self, step):
        self.steps.append(step)

    def isolated(self, candidates):
        self.timed.append(list(candidates))
        return {name: Quartiles(1e-6, 2e-6, 3.0004e-6) for name in candidates}

    def stream(self, candidates, sets, isolated):
        return self.isolated(candidates)


class Measure(unittest.TestCase):
    def setUp(self):
        torch = types.ModuleType("torch")
        torch.uint8 = None
        torch.zeros = torch.empty = lambda *shape, **options: None
        torch.cuda = types.SimpleNamespace(synchronize=lambda: None, OutOfMemoryError=OutOfMemory)
        modules = mock.patch.dict(sys.modules, {"torch": torch})
        modules.start()
        self.addCleanup(modules.stop)
        sys.modules.pop("bench.measure", None)
        self.measure = importlib.import_module("bench.measure").measure
        self.done, self.build = [], Build()

    def of(self, error=0.25, unit="GB/s", raised=None, peers=()):
        def launch(i):
            self.done.append("launch")
            if raised:
                raise raised

        def check():
            self.done.append("check")
            return error

        case = Case(1000, 5, 2, launch, dict(peers), check, lambda: self.done.append("poison"))
        return self.measure(Family(unit=unit, case=lambda build, shape: case), {}, self.build)

    def test_a_right_row_is_measured(self):
        row = self.of(peers={"PyTorch": lambda i: None, "QuACK": "not installed"})
        self.assertEqual((row["bytes"], row["flops"], row["error"], row["absent"]),
                         (1000, 5, 0.25, {"QuACK": "not installed"}))
        self.assertEqual(row["isolated"], {name: [1.0, 2.0, 3.0] for name in ("ours", "PyTorch", "copy")})
        self.assertEqual(row["stream"], row["isolated"])
        self.assertEqual(self.build.steps, ["check", "timing"])

    def test_the_output_is_poisoned_before_the_launch_that_is_checked(self):
        self.of()
        self.assertEqual(self.done, ["poison", "launch", "check"])

    def test_only_rows_that_memory_limits_have_a_copy(self):
        self.assertNotIn("copy", self.of(unit="TFLOP/s")["isolated"])
        self.assertEqual(self.build.timed, [["ours"]] * 2)

    def test_an_error_at_its_bound_is_right(self):
        self.assertIn("isolated", self.of(error=1.0))

    def test_a_wrong_row_is_not_timed(self):
        for error, words in ((1.5, "1.5"), (float("inf"), "inf"), (float("nan"), "nan")):
            self.assertEqual(self.of(error), {"failed": f"wrong result: {words} times the bound"})
        self.assertEqual(self.build.timed, [])

    def test_a_launch_that_returns_an_error_is_refused(self):
        refused = LaunchError(2, "the arguments do not satisfy `N % 8 == 0`")
        self.assertEqual(self.of(raised=refused), {"refused": str(refused)})
        self.assertEqual((self.build.timed, self.done), ([], ["poison", "launch"]))

    def test_too_little_memory_is_a_failure(self):
        self.assertEqual(self.of(raised=OutOfMemory()), {"failed": "out of memory"})


if __name__ == "__main__":
    unittest.main()
