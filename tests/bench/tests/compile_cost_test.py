"""The cost of compiling the kernels: with fake compilers, and a core-second per call."""

import contextlib
import copy
import importlib
import inspect
import io
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import bench.peers
from bench import compare, compile_cost, compile_libraries, compile_peers, compile_results, compile_table
from bench import main, pages, process, report, results
from bench.peers import Absent

TESTS = pathlib.Path(__file__).resolve().parent
WRITES = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf 1234567 >"$2"\n'  # a fake compiler
VERSION = '#!/bin/sh\necho "release 13.0, V13.0.88"\n'


def variants_of(**axes):
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def cost_of(median, noise=0.0):
    """`noise` is that of compare.py, relative."""
    return [median * (1 - noise), median * (1 - noise / 2), median, median * (1 + noise / 2)]


def row_of(cold=2.0, cached=0.1, noise=0.0, **facts):
    return {"sample": ["TYPE=half", "TYPE=float"], "variants": 4, "images": 3, "bytes": 300, "ptxas": 0.75,
            "cold": cost_of(cold, noise), "cached": cost_of(cached, noise), **facts}


def comparison_of(absent=(), **calls):
    return {"variant": "TYPE=half SIZE=1024", "images": 1, "absent": dict(absent),
            "calls": {name: cost_of(median) for name, median in calls.items()}}


def file_of(rows, **facts):
    return {**compile_results.empty(machine={"name": "CPU", "cores": 2}, gpu="sm_90a",
                                    tools={"tritonc": "0.1.0", "ptxas": "13.0.88"}, commit="abc",
                                    date="2026-11-26", rounds=7,
                                    reference={"ptx": "123", "seconds": [0.17, 0.18, 0.19, 0.2]}),
            "rows": rows, **facts}


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def file(self, found):
        path = self.folder / f"{len(list(self.folder.iterdir()))}.json"
        path.write_text(json.dumps(found), encoding="utf-8")
        return path


class Sample(unittest.TestCase):
    def test_values_are_about_equally_frequent(self):
        known = variants_of(TYPE=["half", "float"], A=["N", "T"], B=["N", "T"], TM=[32, 64, 128],
                            TK=[8, 16, 32, 64])
        taken = compile_cost.sample(known, 12)
        for name, most in (("TYPE", 7), ("A", 7), ("B", 7), ("TM", 5), ("TK", 4)):
            counts = [sum(each[name] == value for each in taken) for value in {each[name] for each in known}]
            self.assertGreater(min(counts), 0, name)
            self.assertLessEqual(max(counts), most, name)

    def test_each_pair_of_two_values_is_taken(self):
        taken = compile_cost.sample(variants_of(A=["N", "T"], B=["N", "T"], TM=[32, 64, 128]), 4)
        self.assertEqual({(each["A"], each["B"]) for each in taken}, set(itertools.product("NT", "NT")))

    def test_no_variant_is_taken_twice(self):
        known = variants_of(TYPE=["half", "float"], SIZE=["1", "2"])
        taken = compile_cost.sample(known, 6)
        self.assertCountEqual(taken, known)

    def test_the_order_of_the_variants_does_not_matter(self):
        known = variants_of(TYPE=["half", "float"], A=["N", "T"], SIZE=["1", "2", "4"])
        self.assertEqual(compile_cost.sample(known), compile_cost.sample(known[::-1]))
        self.assertEqual(len(compile_cost.sample(known)), compile_cost.VARIANTS)

    def test_a_kernel_without_axes_has_one_variant(self):
        self.assertEqual(compile_cost.sample([{}]), [{}])


class Reference(unittest.TestCase):
    def test_the_ptx_is_the_same_forever(self):
        self.assertEqual(compile_cost.Reference.digest(), DIGEST)

    def test_each_register_is_written_before_it_is_read(self):
        written = set()
        for line in compile_cost.reference_ptx(200).splitlines():
            operation, *operands = line.replace(",", "").replace(";", "").split()
            registers = [each for each in operands if each.startswith("%f")]
            if operation in ("fma.rn.f32", "ld.global.f32"):
                self.assertLessEqual(set(registers[1:]), written)
                written.add(registers[0])
            elif operation == "st.global.f32":
                self.assertLessEqual(set(registers), written)
        self.assertEqual(len(written), 264)


class Process(Folder):
    def test_the_output_and_the_errors(self):
        path = self.program("both", "#!/bin/sh\necho out $1\necho error >&2\n")
        self.assertEqual(process.run([path, 1])[1:], ("out 1\n", "error\n"))

    def test_a_failure_has_the_first_line_of_the_errors(self):
        path = self.program("fails", "#!/bin/sh\necho output\necho first >&2\necho second >&2\nexit 3\n")
        with self.assertRaisesRegex(process.Failed, "^fails: first$"):
            process.run([path])
        path = self.program("silent", "#!/bin/sh\nexit 3\n")
        with self.assertRaisesRegex(process.Failed, "silent: exit code 3"):
            process.run([path])
        with self.assertRaisesRegex(process.Failed, "No such file"):
            process.run([self.folder / "missing"])

    def test_a_failure_of_python_has_the_last_line(self):
        with self.assertRaisesRegex(process.Failed, "^python.*: ValueError: wrong$"):
            process.run([sys.executable, "-c", "raise ValueError('wrong')"])

    def test_a_program_that_hangs_fails(self):
        path = self.program("hangs", "#!/bin/sh\nexec sleep 100\n")
        with mock.patch.object(process, "TIMEOUT", 0.01), self.assertRaisesRegex(process.Failed, "timed out"):
            process.run([path])


class Measurement(Folder):
    def setUp(self):
        super().setUp()
        core_seconds = itertools.count()
        for patch in (mock.patch.object(process, "core_seconds", lambda *who: next(core_seconds)),
                      mock.patch.object(compile_peers, "triton_version", lambda python: ""),
                      mock.patch.dict(os.environ, PATH=f"{self.folder}/path:{os.environ['PATH']}")):
            patch.start()
            self.addCleanup(patch.stop)
        self.program("path/c++", WRITES)
        self.program("runtime/libtritonc_runtime.a", "runtime")
        shutil.copy(TESTS / "fake_tritonc.py", self.program("bin/tritonc", ""))
        self.said = []

    def measure(self, *names, **tools):
        ptxas = self.program("ptxas", VERSION)
        known = compile_cost.Tools(**{**dict(tritonc=self.folder / "bin" / "tritonc", ptxas=ptxas, nvcc=None,
                                             tile_nvcc=None, python="python3"), **tools})
        with mock.patch.object(compile_cost, "machine", lambda: {"name": "CPU", "cores": 2}):
            sources = [pathlib.Path(f"{name}.tc") for name in names]
            found = compile_cost.measure(known, sources, self.said.append, "abc", rounds=2)
        self.assertEqual(compile_results.read(self.file(found)), found)
        return found

    def test_a_row(self):
        found = self.measure("copy")
        cost = [1.0] * 4
        row = found["rows"]["copy"]
        self.assertEqual(len(set(row.pop("sample"))), 6)
        self.assertEqual(row, {"variants": 8, "images": 6, "bytes": 600, "ptxas": 0.8, "cold": cost,
                               "cached": cost})
        self.assertEqual(found["peers"], {})
        self.assertEqual(found["libraries"], {})
        self.assertEqual(found["reference"], {"ptx": DIGEST, "seconds": [1.0] * 4})
        self.assertEqual(found["tools"], {"tritonc": "0.1.0 (LLVM 22.1.8)", "ptxas": "13.0.88"})
        self.assertEqual(self.said, [f"round {i} of 2: 1 compilations, 2.0 core-seconds" for i in (1, 2)])

    def test_a_kernel_with_peers(self):
        version = self.program("version", VERSION)
        nvcc = self.program("nvcc", f'#!/bin/sh\n[ "$1" = --version ] && exec {version}\n{WRITES}')
        found = self.measure("softmax", nvcc=nvcc)
        entry = found["peers"]["softmax"]
        self.assertEqual((entry["variant"], entry["images"]), ("TYPE=half SIZE=1024", 1))
        self.assertEqual(list(entry["calls"]), ["TritonC", "CUDA C++"])
        self.assertEqual(entry["absent"], {
            "Triton": "Triton is not installed",
            "CUDA Tile C++": "nvcc 13.5 is not installed: run tests/bench/tile_cpp_build"})
        self.assertEqual(found["tools"]["nvcc"], "13.0.88")

    def test_a_peer_that_fails_is_absent(self):
        nvcc = self.program("nvcc", '#!/bin/sh\n[ "$1" = --version ] || { echo crash >&2; exit 1; }\n')
        found = self.measure("softmax", nvcc=nvcc)
        self.assertEqual(list(found["peers"]["softmax"]["calls"]), ["TritonC"])
        self.assertRegex(found["peers"]["softmax"]["absent"]["CUDA C++"], "nvcc: crash")
        self.assertEqual(found["tools"]["nvcc"], "unknown")

    def test_libraries(self):
        found = self.measure("softmax", "copy")
        self.assertEqual(list(found["libraries"]), ["softmax", "runtime"])
        softmax = found["libraries"]["softmax"]
        self.assertEqual((softmax["images"], softmax["linked"]), (36, 7))
        self.assertGreater(softmax["archive"], 60)
        self.assertEqual(found["libraries"]["runtime"], {"images": 0, "archive": 7, "linked": 7})

    def test_a_library_exports_its_kernels(self):
        header = self.program("kernels.h", """typedef struct bench_copy_args { int n; } bench_copy_args;
            bench_copy_launch(tritonc_stream stream, const bench_copy_args *arguments) {
              return tritonc_launch(&copy_kernel, stream, arguments, NULL, NULL);""")
        text = compile_libraries.exports(header)
        self.assertIn("kernels[] = {&copy_kernel, nullptr};", text)
        self.assertIn(f'#include "{header}"\n', text)
        self.assertIn("kernels[] = {nullptr};", compile_libraries.exports(self.program("empty.h", "")))

    def test_a_library_without_the_runtime_fails(self):
        (self.folder / "runtime" / "libtritonc_runtime.a").unlink()
        found = self.measure("softmax")
        self.assertRegex(found["libraries"]["softmax"]["failed"], "has no libtritonc_runtime.a in runtime/")
        self.assertIn("cold", found["rows"]["softmax"])

    def test_a_kernel_that_does_not_compile_has_failed(self):
        found = self.measure("broken", "copy")
        self.assertEqual(list(found["rows"]), ["broken", "copy"])
        self.assertRegex(found["rows"]["broken"]["failed"], "broken.tc:1:1: error: broken$")
        self.assertIn("cold", found["rows"]["copy"])

    def test_without_a_kernel_that_compiles_there_are_no_results(self):
        with self.assertRaisesRegex(ValueError, "no kernel compiles: .*: error: broken$"):
            self.measure("broken")

    def test_a_tritonc_that_is_replaced_meanwhile_is_an_error(self):
        def replace(line):
            shutil.copy(TESTS / "fake_tritonc.py", self.program("bin/other", ""))
            os.replace(self.folder / "bin" / "other", self.folder / "bin" / "tritonc")

        self.said = types.SimpleNamespace(append=replace)
        with self.assertRaisesRegex(ValueError, "tritonc changed during the measurement"):
            self.measure("copy")

    def test_a_cache_without_effect_is_a_failure(self):
        found = self.measure("forgets", "copy")
        self.assertRegex(found["rows"]["forgets"]["failed"], "the cache lacks code")
        self.assertIn("cold", found["rows"]["copy"])

    def test_without_the_required_tools(self):
        with self.assertRaisesRegex(FileNotFoundError, "missing does not exist: build the target tritonc"):
            compile_cost.installed(self.folder / "missing", "python3")
        with (mock.patch.object(compile_cost, "cuda_tool", lambda name: None),
              self.assertRaisesRegex(FileNotFoundError, "ptxas is not installed")):
            compile_cost.installed(self.folder / "bin" / "tritonc", "python3")


    def run_command(self, *arguments):
        """Exit code, output and errors of `run compile`, with the fake tritonc and the shipped kernels."""
        out, errors = io.StringIO(), io.StringIO()
        path = self.folder / "out.json"
        command = ["run", "compile", "--tritonc", self.folder / "bin" / "tritonc", "--out", path, *arguments]
        ptxas = self.program("ptxas", VERSION)
        with (mock.patch.object(sys, "argv", list(map(str, command))),
              mock.patch.object(compile_cost, "cuda_tool", lambda name: ptxas if name == "ptxas" else None),
              mock.patch.object(compile_peers, "tile_nvcc", lambda: None),
              contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)):
            return main.main(), out.getvalue(), errors.getvalue()

    def test_the_command_writes_a_file_and_prints_the_tables(self):
        code, out, errors = self.run_command("--only", "^copy$", "--commit", "abc")
        self.assertEqual((code, errors), (0, ""))
        found = compile_results.read(self.folder / "out.json")
        self.assertEqual((list(found["rows"]), found["commit"]), (["copy"], "abc"))
        self.assertTrue(out.endswith(compile_table.text(found) + "\n"))

    def test_the_command_fails_if_an_entry_failed(self):
        (self.folder / "runtime" / "libtritonc_runtime.a").unlink()
        code, out, _ = self.run_command("--only", "^softmax$")
        self.assertEqual(code, 1)
        self.assertIn("| softmax | failed: ", out)

    def test_the_command_with_wrong_options(self):
        for arguments, message in ((("--only", "none"), "no kernel of .* matches"),
                                   (("--tritonc", "missing"), "missing does not exist"),
                                   (("--tritonc", "/bin/false"), "false: ")):
            code, out, errors = self.run_command(*arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertRegex(errors, f"^tests/bench/run: .*{message}")
        self.assertFalse((self.folder / "out.json").exists())


class Tools(Folder):
    def test_the_folders_are_searched_in_the_order_of_tritonc(self):
        for folder in ("home", "path"):
            (self.folder / folder / "bin").mkdir(parents=True)
            self.program(f"{folder}/bin/ptxas", "")
        path = {"PATH": str(self.folder / "path" / "bin")}
        with mock.patch.dict(os.environ, {**path, "CUDA_HOME": str(self.folder / "home")}, clear=True):
            self.assertEqual(compile_cost.cuda_tool("ptxas"), self.folder / "home" / "bin" / "ptxas")
        with mock.patch.dict(os.environ, path, clear=True):
            self.assertEqual(compile_cost.cuda_tool("ptxas"), self.folder / "path" / "bin" / "ptxas")
            self.assertIsNone(compile_cost.cuda_tool("no_such_tool"))

    def test_the_machine_has_a_name(self):
        self.assertTrue(compile_cost.machine()["name"])
        self.assertGreater(compile_cost.machine()["cores"], 0)

    def test_sources(self):
        for name in ("matmul.tc", "matmul_fused.tc", "softmax.tc", "sizes.tch"):
            self.program(name, "")
        names = lambda only=None: [path.name for path in compile_cost.sources(self.folder, only)]
        self.assertEqual(names(), ["matmul.tc", "matmul_fused.tc", "softmax.tc"])
        self.assertEqual(names("^matmul$"), ["matmul.tc"])
        for only, message in (("(", r"--only \(: "), ("none", "no kernel of .* matches")):
            with self.assertRaisesRegex(ValueError, message):
                names(only)


class Peers(unittest.TestCase):
    tools = compile_cost.Tools("tritonc", "ptxas", None, None, "python3")

    def test_the_kernels_exist(self):
        kernels = compile_peers.BENCH.parent.parent / "kernels"
        for name in compile_peers.CASES:
            self.assertTrue((kernels / f"{name}.tc").exists(), name)

    def test_the_configurations_of_cuda_tile_are_those_of_the_benchmark(self):
        known = compile_peers.tile_cpp_build().configurations()
        for name, case in compile_peers.CASES.items():
            self.assertIn((name, "half", case.tile), known)

    def test_triton_has_the_same_kernels_and_each_argument_has_a_type_or_a_value(self):
        def jit(function=None, **options):
            return function or jit

        names = ("triton", "triton.language", "triton.backends", "triton.backends.compiler",
                 "triton.compiler", "triton.tools", "triton.tools.tensor_descriptor")
        fakes = {name: mock.MagicMock() for name in (*names, "torch")}
        fakes["triton"].jit, fakes["torch"].__spec__ = jit, "any"
        before = set(vars(bench.peers))
        with mock.patch.dict(sys.modules, fakes):
            kernels = importlib.import_module("bench.peers.triton_compile").KERNELS
        for name in set(vars(bench.peers)) - before:
            delattr(bench.peers, name)
        self.assertEqual(set(kernels), {"small", *compile_peers.CASES})
        for name, (function, types, constants, _) in kernels.items():
            self.assertCountEqual(inspect.signature(function).parameters, [*types, *constants], name)

    def test_cuda_has_a_source_or_a_reason(self):
        with self.assertRaisesRegex(Absent, "matmul and softmax only"):
            compile_peers.cuda("attention", self.tools, None)
        with self.assertRaisesRegex(Absent, "nvcc is not installed"):
            compile_peers.cuda("softmax", self.tools, None)
        self.assertEqual({path.stem for path in compile_peers.SOURCES.glob("*.cu")}, {"matmul", "softmax"})

    def test_triton_is_missing_in_a_python_without_it(self):
        self.assertEqual(compile_peers.triton_version("/nonexistent"), "")
        self.assertEqual(compile_peers.triton_version("false"), "")


class Files(Folder):
    found = file_of({"copy": row_of(), "broken": {"failed": "error: broken"}},
                    peers={"copy": comparison_of(TritonC=1.0, Triton=2.0, absent={"CUDA C++": "no nvcc"})},
                    libraries={"copy": {"images": 6, "archive": 900, "linked": 800},
                               "runtime": {"failed": "why"}})

    def assert_refused(self, message, found):
        with self.subTest(message), self.assertRaisesRegex(results.Mismatch, message):
            compile_results.read(self.file(found))

    def test_a_file_reads_as_it_was_written(self):
        self.assertEqual(compile_results.read(self.file(self.found)), self.found)

    def test_a_damaged_file_is_refused(self):
        for key in compile_results.KEYS:
            without = {name: self.found[name] for name in self.found if name != key}
            self.assert_refused(f"damaged: {key} is missing", without)
        self.assert_refused("the machine's name is missing", file_of({}, machine={"cores": 2}))
        self.assert_refused("the version of ptxas is missing", file_of({}, tools={}))
        self.assert_refused("the reference is incomplete", file_of({}, reference={"ptx": "", "seconds": [1]}))
        for part in ("rows", "peers", "libraries"):
            for name, entry in self.found[part].items():
                for key in entry:
                    damaged = copy.deepcopy(self.found)
                    del damaged[part][name][key]
                    self.assert_refused(f"the entry {name} of {part} is incomplete", damaged)

    def test_wrong_numbers_are_refused(self):
        for change in (dict(cold=[1, 1, 1, 0]), dict(cached=[1, 1, 1]), dict(images=0), dict(ptxas="x"),
                       dict(sample="TYPE=half")):
            damaged = file_of({"copy": {**row_of(), **change}})
            self.assert_refused("the entry copy of rows is incomplete", damaged)
        self.assert_refused("the entry copy of peers", file_of({}, peers={"copy": comparison_of(Triton=1.0)}))

    def test_results_of_kernels_are_refused(self):
        path = self.file({"schema": 2})
        with self.assertRaisesRegex(results.Mismatch, "has results of kernels, not of compile cost"):
            compile_results.read(path)
        with self.assertRaisesRegex(results.Mismatch, "has results of compile cost, not of kernels"):
            results.read(self.file(self.found))

    def test_a_cost_has_the_least_value_and_the_quartiles(self):
        self.assertEqual(compile_results.cost([6.0, 2.0, 4.00001]), [2.0, 3.0, 4.0, 5.0])

    def test_a_cost_is_relative_to_the_reference(self):
        found = file_of({}, reference={"ptx": "123", "seconds": [0.1, 0.2, 0.5, 0.6]})
        self.assertEqual(compile_results.relative([1.0, 1.5, 2.0, 2.5], found), (4.0, 0.5))


class Gate(Folder):
    def changes(self, old, new, **facts):
        files = self.file(file_of({"copy": old})), self.file(file_of({"copy": new}, **facts))
        return {change.name: change for change in compare.of_files(*files)}

    def test_no_change(self):
        self.assertEqual(self.changes(row_of(), row_of()), {})
        self.assertEqual(self.changes(row_of(cold=2.0), row_of(cold=2.05)), {})

    def test_a_loss_beyond_the_noise_of_both(self):
        found = self.changes(row_of(cold=2.0, noise=0.01), row_of(cold=2.2, noise=0.01))
        self.assertEqual(list(found), ["copy (cold)", "all: geometric mean (cold)"])
        self.assertTrue(all(change.is_loss for change in found.values()))
        self.assertEqual(list(self.changes(row_of(cold=2.0, noise=0.05), row_of(cold=2.2, noise=0.05))),
                         ["all: geometric mean (cold)"])

    def test_a_gain_is_no_loss(self):
        found = self.changes(row_of(cached=0.2), row_of(cached=0.1))
        self.assertEqual([(change.is_loss, change.is_gain) for change in found.values()], [(False, True)] * 2)

    def test_a_slower_machine_is_no_loss(self):
        reference = {"ptx": "123", "seconds": [0.34, 0.36, 0.38, 0.4]}
        self.assertEqual(self.changes(row_of(cold=2.0, cached=0.1), row_of(cold=4.0, cached=0.2),
                                      reference=reference), {})
        self.assertTrue(self.changes(row_of(cold=2.0), row_of(cold=2.0), reference=reference))

    def test_a_larger_library_is_a_loss(self):
        found = self.changes(row_of(bytes=300), row_of(bytes=330))
        self.assertEqual(compare.text(found.values()), " 0.909  larger  copy (bytes)\n"
                                                       " 0.909  larger  all: geometric mean (bytes)")

    def test_a_kernel_that_fails_now_is_a_loss(self):
        found = self.changes(row_of(), {"failed": "why"})
        self.assertEqual([(change.name, change.speed, change.is_loss) for change in found.values()],
                         [("copy", 0.0, True)])

    def test_another_sample_is_not_compared(self):
        self.assertEqual(self.changes(row_of(), row_of(cold=9.0, sample=["TYPE=half"])), {})

    def test_results_that_are_not_comparable_are_refused(self):
        for facts, message in ((dict(machine={"name": "Other", "cores": 2}), "machines: CPU and Other"),
                               (dict(gpu="sm_80"), "GPUs: sm_90a and sm_80"),
                               (dict(tools={"ptxas": "13.1"}), "versions of ptxas: 13.0.88 and 13.1"),
                               (dict(reference={"ptx": "4", "seconds": [1] * 4}), "references: 123 and 4")):
            with self.assertRaisesRegex(results.Mismatch, f"the results are of different {message}"):
                self.changes(row_of(), row_of(), **facts)
        same = dict(machine={"name": "CPU", "cores": 8}, commit="def")
        self.assertEqual(self.changes(row_of(), row_of(), **same), {})

    def test_files_without_a_common_row_are_refused(self):
        for old in ({"failed": "why"}, None):
            files = self.file(file_of({"other": old or row_of()})), self.file(file_of({"copy": row_of()}))
            with self.assertRaisesRegex(results.Mismatch, "no row that the old results measured"):
                compare.of_files(*files)

    def test_the_command_reads_files_of_the_current_folder(self):
        for name, cold in (("old.json", 2.0), ("new.json", 4.0)):
            results.write(self.folder / name, file_of({"copy": row_of(cold=cold)}))
        done = subprocess.run([main.HERE / "run", "compare", "old.json", "new.json"], cwd=self.folder,
                              capture_output=True, text=True,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(done.stdout, " 0.500  slower  copy (cold)\n"
                                      " 0.500  slower  all: geometric mean (cold)\n")

    def test_results_of_kernels_and_compile_costs_are_not_comparable(self):
        old, new = self.file({"schema": 2}), self.file(file_of({}))
        with self.assertRaisesRegex(results.Mismatch, "has results of kernels, but .* of compile cost"):
            compare.of_files(old, new)


class Tables(unittest.TestCase):
    found = Files.found

    def test_kernels(self):
        self.assertEqual(compile_table.kernels(self.found)[2:], [
            "| copy | 4 | 2 | 3 | 1.5 | 0.667 | 75% | 0.100 | 100 |",
            "| broken | failed: error: broken | - | - | - | - | - | - | - |",
            "| **all** | 4 | 2 | 3 | 1.5 | 0.667 | 75% | 0.100 | 100 |"])

    def test_the_line_of_all_kernels(self):
        rows = {"copy": row_of(), "add": row_of(cold=6.0, cached=0.3, ptxas=0.95, variants=6, bytes=900)}
        self.assertEqual(compile_table.kernels(file_of(rows))[-1],
                         "| **all** | 10 | 4 | 6 | 1.5 | 1.333 | 90% | 0.200 | 200 |")

    def test_without_a_measured_kernel_there_is_no_line_of_all(self):
        self.assertEqual(len(compile_table.kernels(file_of({"broken": {"failed": "why"}}))), 3)
        self.assertEqual(len(compile_table.kernels(file_of({}))), 2)

    def test_peers(self):
        self.assertEqual(compile_table.peers(self.found), [
            "| kernel | variant of TritonC | its images | TritonC | Triton | CUDA C++ |",
            "|---|---|---|---|---|---|",
            "| copy | TYPE=half SIZE=1024 | 1 | 1.000 | 2.000 | absent |", "",
            "- CUDA C++ is absent in some rows: no nvcc"])
        found = file_of({}, peers={"copy": comparison_of(TritonC=1.0), "broken": {"failed": "why"}})
        self.assertEqual(compile_table.peers(found)[2:], ["| copy | TYPE=half SIZE=1024 | 1 | 1.000 |",
                                                          "| broken | failed: why | - | - |"])

    def test_libraries(self):
        self.assertEqual(compile_table.libraries(self.found)[2:],
                         ["| runtime | failed: why | - | - |", "| copy | 6 | 900 | 800 |"])

    def test_facts(self):
        self.assertEqual(compile_table.facts(self.found),
                         "CPU, 2 cores, 2026-11-26; commit abc; tritonc 0.1.0, ptxas 13.0.88. Medians of 7 "
                         "rounds. The reference took 0.190 core-seconds (quartiles: 0.180 and 0.200).")

    def test_failures(self):
        self.assertEqual(compile_table.failures(self.found), ["broken", "runtime"])
        self.assertEqual(compile_table.failures(file_of({"copy": row_of()})), [])


class Page(Folder):
    def blocks(self):
        """Name -> lines of the page, of the results in the folder."""
        blocks = [(name, lines_of) for name, lines_of in report.BLOCKS if name in compile_table.BLOCKS]
        (self.folder / "page.md").write_text("".join(f"<!-- tests/bench/run write: {name} -->\n<!-- end -->\n"
                                                     for name, _ in blocks), encoding="utf-8")
        return pages.wanted(self.folder, [], ["page.md"], blocks)["page.md"]

    def test_the_page_has_all_tables(self):
        path = self.folder / pages.RESULTS / "compile.json"
        results.write(path, Files.found)
        text = self.blocks()
        for lines_of in compile_table.BLOCKS.values():
            self.assertIn("\n".join(lines_of(compile_results.read(path))), text)

    def test_without_results_there_are_no_tables(self):
        self.assertEqual(self.blocks().count(report.NOTHING[0]), len(compile_table.BLOCKS))


DIGEST = "7dd85f2c4348864b71459ddf10d3027a40d2fd374f97929cf85c8dd69ff64eb1"

if __name__ == "__main__":
    unittest.main()
