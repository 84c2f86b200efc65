"""The peer CUDA Tile C++: its configurations, and the build without a compiler."""

import ctypes
import importlib.machinery
import importlib.util
import pathlib
import tempfile
import types
import unittest
from unittest import mock

from bench import main
from bench.families import products
from bench.peers import Absent
from support import import_without_torch


def script():
    """tests/bench/tile_cpp_build, as a module."""
    loader = importlib.machinery.SourceFileLoader("tile_cpp_build", str(main.HERE / "tile_cpp_build"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tile_cpp_build", loader))
    loader.exec_module(module)
    return module


class Configurations(unittest.TestCase):
    build = script()
    known = build.configurations()

    def test_each_has_its_own_cubin(self):
        names = [self.build.file_of(*each) for each in self.known]
        self.assertEqual(len(set(names)), len(names))

    def test_each_macro_of_a_source_is_defined(self):
        for kernel, kind, macros in self.known:
            source = (self.build.SOURCES / f"{kernel}.cu").read_text(encoding="utf-8")
            self.assertEqual([name for name in macros if name not in source], [], kernel)
            self.assertIn(kind, self.build.TYPES)

    def test_all_layouts_types_and_promises_of_products(self):
        found = {(kind, macros["A_TRANSPOSED"], macros["Y_TRANSPOSED"], macros["ALIGNED_N"])
                 for kernel, kind, macros in self.known if kernel == "matmul"}
        self.assertEqual(found, {(kind, a, y, n) for kind in ("half", "bfloat16") for a in (0, 1)
                                 for y in (0, 1) for n in (1, 8)})

    def test_a_compiler_that_fails_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            _, errors = self.build.build("false", pathlib.Path(folder), self.known[0])
            self.assertIn("exit code 1", errors)
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_a_cubin_that_exists_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / self.build.file_of(*self.known[0])
            path.touch()
            entry, errors = self.build.build("false", pathlib.Path(folder), self.known[0])
            self.assertEqual((entry["file"], errors), (path.name, ""))


class Peer(unittest.TestCase):
    def setUp(self):
        self.peer = import_without_torch(self, "tile_cpp")
        self.entries = [dict(macros, kernel=kernel, type=kind)
                        for kernel, kind, macros in Configurations.known]

    def of(self, kernel, kind="half", **macros):
        return [each for each in self.entries if (each["kernel"], each["type"]) == (kernel, kind)
                and all(each[name] == value for name, value in macros.items())]

    def build(self, folder, prepares=False):
        return types.SimpleNamespace(prepares=prepares, library=types.SimpleNamespace(folder=folder))

    def test_absent_without_the_folder(self):
        with self.assertRaisesRegex(Absent, "run tests/bench/tile_cpp_build"):
            self.peer.entries(self.build("/nonexistent"), "softmax", "torch.float16")

    def test_absent_while_kernels_are_prepared(self):
        with self.assertRaises(Absent):
            self.peer.entries(self.build("/nonexistent", prepares=True), "softmax", "torch.float16")

    def test_reads_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "tile_cpp"
            path.mkdir()
            (path / "kernels.json").write_text(
                '{"kernels": [{"kernel": "softmax", "type": "half", "LONG": 0},'
                ' {"kernel": "softmax", "type": "half", "LONG": 1}]}', encoding="utf-8")
            found = self.peer.entries(self.build(folder), "softmax", "torch.float16", LONG=1)
            self.assertEqual([each["LONG"] for each in found], [1])
            with self.assertRaisesRegex(Absent, "no softmax of double"):
                self.peer.entries(self.build(folder), "softmax", "torch.float64")

    def test_a_launch_passes_its_arguments(self):
        def launch_kernel(code, *rest):
            *sizes, shared, stream, pointers, extra = rest
            self.assertEqual((code, stream, extra), ("code", None, None))
            pairs = zip(pointers, (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_float))
            called.append(([each.value for each in (*sizes, shared)],
                           [ctypes.cast(each, ctypes.POINTER(kind))[0] for each, kind in pairs]))
            return 0

        called = []
        tensors = [types.SimpleNamespace(data_ptr=lambda place=place: place) for place in (2**40, 2**41)]
        driver = types.SimpleNamespace(cuLaunchKernel=launch_kernel)
        with (mock.patch.object(self.peer, "driver", lambda: driver),
              mock.patch.object(self.peer, "function", lambda path, name: "code")):
            entry = dict(file="f", function="kernel")
            launch = self.peer.launches(self.build("/x"), entry, (5, 6), tensors, 7, 0.5)
            launch(0)
            launch(1)
        self.assertEqual(called, [([5, 6, 1, 1, 1, 1, 0], [2**40, 7, 0.5]),
                                  ([5, 6, 1, 1, 1, 1, 0], [2**41, 7, 0.5])])

    def test_products_take_only_promises_that_hold(self):
        for a, y in ((0, 0), (0, 1), (1, 0), (1, 1)):
            found = self.of("matmul", A_TRANSPOSED=a, Y_TRANSPOSED=y)
            for m, n, k in ((64, 64, 64), (1, 4096, 4096), (8192, 50257, 768), (7, 9, 11), (8, 8, 11)):
                fitting = self.peer.fitting_products(found, m, n, k)
                self.assertTrue(fitting)
                for each in fitting:
                    rests = (m % each["ALIGNED_M"], n % each["ALIGNED_N"], k % each["ALIGNED_K"])
                    self.assertEqual(rests, (0, 0, 0))
            aligned = self.peer.fitting_products(found, 64, 64, 64)
            self.assertEqual({each["ALIGNED_N"] for each in aligned}, {8})

    def test_rows_fit_into_tiles(self):
        for columns in (1, 9, 33, 1023, 4096, 65536, 262144):
            found = self.peer.fitting_rows(self.of("softmax"), columns, 2)
            self.assertTrue(found)
            self.assertTrue(all(each["BLOCK"] >= columns or each["LONG"] for each in found))
            self.assertTrue(all(columns % each["ALIGNED"] == 0 for each in found))
        self.assertEqual(self.peer.fitting_rows(self.of("layer_norm"), 65537, 2), [])

    def test_attention_without_a_mask_takes_whole_tiles_of_keys(self):
        for depth in (64, 128):
            for causal in (0, 1):
                for rows, keys in ((1, 8192), (197, 197), (4096, 77), (512, 512)):
                    known = self.of("attention", DEPTH=depth, CAUSAL=causal)
                    found = self.peer.fitting_attention(known, rows, keys)
                    self.assertTrue(found)
                    self.assertTrue(all(each["LOOPS"] or keys % each["BN"] == 0 for each in found))


class Families(unittest.TestCase):
    def test_only_matmul_and_matmul_masked_have_the_peer(self):
        operands = types.SimpleNamespace(makers=lambda b: dict(cuBLAS=None))
        having = [family.name for family in products.FAMILIES if hasattr(family, "makers")
                  and "CUDA_Tile_C++" in family.makers(None, operands)]
        self.assertEqual(having, ["matmul", "matmul_masked"])


if __name__ == "__main__":
    unittest.main()
