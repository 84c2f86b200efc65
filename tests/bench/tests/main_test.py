import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

from bench import main, pages, results
from support import Family, file_of, measured

ROW = "copy/fixed/M=64 N=32"


class Main(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.written = 0

    def file(self, rows, **facts):
        self.written += 1
        path = self.folder / f"{self.written}.json"
        results.write(path, file_of(rows, **facts))
        return path

    def run_main(self, *arguments):
        """Exit code, output, and errors of the program."""
        out, errors = io.StringIO(), io.StringIO()
        with (mock.patch.object(sys, "argv", ["run", *map(str, arguments)]),
              mock.patch.object(main, "families", lambda: [Family()]),
              contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)):
            try:
                code = main.main()
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), errors.getvalue()

    def assert_fails(self, message, *arguments):
        code, out, errors = self.run_main(*arguments)
        self.assertEqual((code, out), (2, ""), errors)
        self.assertRegex(errors, message)
        self.assertNotIn("Traceback", errors)


class List(Main):
    def test_the_rows_of_a_seed(self):
        code, out, errors = self.run_main("list", "--seed", "1", "--count", "2", "--sets", "fixed", "random")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(out.splitlines(), [ROW, "copy/fixed/M=7 N=9", "copy/random/M=3496 N=2776 TYPE=half",
                                            "copy/random/M=2289 N=169 TYPE=half"])

    def test_a_drawn_seed_is_printed_and_repeats_the_rows(self):
        arguments = ("list", "--count", "2", "--sets", "random")
        code, out, _ = self.run_main(*arguments)
        first, *rows = out.splitlines()
        self.assertEqual((code, len(rows)), (0, 2))
        self.assertRegex(first, r"^--seed \d+$")
        self.assertEqual(self.run_main(*arguments, *first.split())[1].splitlines(), rows)

    def test_a_part_and_a_filter(self):
        arguments = ("list", "--seed", "1", "--sets", "fixed")
        self.assertEqual(self.run_main(*arguments, "--part", "2/2")[:2], (0, "copy/fixed/M=7 N=9\n"))
        self.assertEqual(self.run_main(*arguments, "--only", "M=64")[:2], (0, ROW + "\n"))

    def test_wrong_options(self):
        self.assert_fails("tests/bench/run: --part 3/2: expected I/N", "list", "--seed", "1", "--part", "3/2")
        self.assert_fails(r"tests/bench/run: --only \(: ", "list", "--seed", "1", "--only", "(")
        self.assert_fails("invalid choice: 'some'", "list", "--sets", "some")
        self.assert_fails("the following arguments are required: command")


class Merge(Main):
    def test_parts_become_one_file(self):
        out = self.folder / "all.json"
        parts = [self.file({"a": measured(1.0)}), self.file({"b": measured(2.0)})]
        self.assertEqual(self.run_main("merge", *parts, "--out", out), (0, "", ""))
        self.assertEqual(results.read(out), file_of({"a": measured(1.0), "b": measured(2.0)}))

    def test_a_family_with_other_kernels_is_replaced(self):
        out = self.folder / "all.json"
        new = file_of({"a/1": measured(2.0)}, digest="456")
        parts = [self.file({"a/1": measured(1.0), "a/2": measured(1.0)}),
                 self.file({"a/1": measured(2.0)}, digest="456")]
        self.assertEqual(self.run_main("merge", *parts, "--out", out), (0, "", ""))
        self.assertEqual(results.read(out), new)

    def test_parts_of_other_gpus_are_refused(self):
        out = self.folder / "all.json"
        parts = [self.file({}), self.file({}, gpu={"name": "Other"})]
        self.assert_fails("the results are of different GPUs: GPU and Other", "merge", *parts, "--out", out)
        self.assertFalse(out.exists())


class Table(Main):
    def test_strict_fails_if_a_goal_is_missed(self):
        path = self.file({ROW: measured(2.0, PyTorch=1.0)})
        code, out, errors = self.run_main("table", path, "--strict")
        self.assertEqual((code, errors), (1, ""))
        self.assertIn("| M=64 N=32 | 0 | - | 0.50 | 0.50 | missed | 0.50 |", out)
        self.assertEqual(self.run_main("table", path), (0, out, ""))

    def test_strict_succeeds_if_all_goals_are_met(self):
        path = self.file({ROW: measured(1.0, PyTorch=2.0), "copy/random/M=1": measured(2.0, PyTorch=1.0)})
        self.assertEqual(self.run_main("table", path, "--strict")[0], 0)


class Write(Main):
    def setUp(self):
        super().setUp()
        for page in pages.PAGES:
            path = self.folder / page
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((main.ROOT / page).read_bytes())
        replaced = mock.patch.object(main, "ROOT", self.folder)
        replaced.start()
        self.addCleanup(replaced.stop)
        self.assertEqual(self.run_main("write"), (0, "", ""))

    def contents(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}

    def test_pages_that_are_up_to_date(self):
        before = self.contents()
        self.assertEqual(self.run_main("write", "--check"), (0, "", ""))
        self.assertEqual(self.run_main("write"), (0, "", ""))
        self.assertEqual(self.contents(), before)

    def test_new_results(self):
        results.write(self.folder / pages.RESULTS / "gpu.json", file_of({ROW: measured(2.0, PyTorch=1.0)}))
        before = self.contents()
        code, out, errors = self.run_main("write", "--check")
        self.assertEqual((code, out), (1, ""))
        self.assertEqual(self.contents(), before)
        lines = errors.splitlines()
        self.assertIn("tests/bench/run: README.md is not up to date with tests/bench/results: "
                      "call tests/bench/run write", lines)
        self.assertIn("docs/pages/images/bench/gpu_families.svg", errors)
        self.assertEqual(self.run_main("write"), (0, "", ""))
        self.assertEqual(self.run_main("write", "--check"), (0, "", ""))
        self.assertIn("| copy | 1 | 0.50 |", (self.folder / "README.md").read_text(encoding="utf-8"))

    def test_a_page_without_an_end_of_a_block(self):
        path = self.folder / "README.md"
        path.write_text(path.read_text(encoding="utf-8").replace(pages.END, ""), encoding="utf-8")
        for options in ((), ("--check",)):
            self.assert_fails('tests/bench/run: README.md: the block "readme" has no end', "write", *options)


class Compare(Main):
    def test_a_loss(self):
        old, new = self.file({ROW: measured(1.0)}), self.file({ROW: measured(2.0)})
        self.assertEqual(self.run_main("compare", old, new),
                         (1, f" 0.500  slower  {ROW} (isolated)\n 0.500  slower  {ROW} (stream)\n", ""))

    def test_a_new_refusal(self):
        old, new = self.file({ROW: measured(1.0)}), self.file({ROW: {"refused": "why"}})
        self.assertEqual(self.run_main("compare", old, new), (1, f" 0.000  slower  {ROW}\n", ""))

    def test_a_gain_is_no_failure(self):
        old, new = self.file({ROW: measured(2.0)}), self.file({ROW: measured(1.0)})
        code, out, _ = self.run_main("compare", old, new)
        self.assertEqual(code, 0)
        self.assertIn(" 2.000  faster", out)

    def test_no_change(self):
        path = self.file({ROW: measured(1.0)})
        self.assertEqual(self.run_main("compare", path, path),
                         (0, "no row changed by more than its noise and 3 %\n", ""))

    def test_other_gpus_are_refused(self):
        rows = {ROW: measured(1.0)}
        old, new = self.file(rows), self.file(rows, gpu={"name": "Other"})
        self.assert_fails("different GPUs: GPU and Other", "compare", old, new)


class BadFiles(Main):
    def assert_each_command_fails(self, message, path):
        good = self.file({ROW: measured(1.0)})
        for arguments in (("table", path), ("compare", path, good), ("compare", good, path),
                          ("merge", good, path, "--out", self.folder / "all.json"),
                          ("measure", "--out", path)):
            if message != "No such file" or arguments[0] != "measure":  # measure makes a new file
                with self.subTest(arguments[0]):
                    self.assert_fails(message, *arguments)
        self.assertFalse((self.folder / "all.json").exists())

    def test_a_missing_file(self):
        self.assert_each_command_fails("No such file", self.folder / "missing.json")

    def test_damaged_json(self):
        path = self.folder / "damaged.json"
        path.write_text('{"schema": 2, "rows": {', encoding="utf-8")
        self.assert_each_command_fails("damaged.json is damaged: ", path)

    def test_another_schema(self):
        path = self.folder / "new.json"
        path.write_text(json.dumps(file_of({}, schema=1)), encoding="utf-8")
        self.assert_each_command_fails("new.json is not a file of results with schema 2", path)

    def test_a_missing_key(self):
        path = self.folder / "part.json"
        path.write_text('{"schema": 2, "rows": {}}', encoding="utf-8")
        self.assert_each_command_fails("part.json is damaged: gpu is missing", path)


class Measure(Main):
    def measure(self, *options, digest="123"):
        """Runs `measure` of the fixed rows without a GPU."""
        device = types.SimpleNamespace(gpu=lambda: {"name": "GPU"}, peers=lambda kernels: {})
        self.commands, self.measured = [], []

        def run_rows(rows, found, path, worker, say, **facts):
            self.commands.append(worker.command)
            self.measured += [row.id for row in rows]
            for row in rows:
                absent = {"QuACK": "not in --peers"}
                results.add(found, row.id, dict(measured(2.0, PyTorch=1.0, absent=absent), kernels=["copy"]), **facts)
            results.write(path, found)

        with (mock.patch.dict(sys.modules, {"bench.device": device}), mock.patch("bench.device", device, create=True),
              mock.patch("bench.wheels.unpack", lambda folder: folder), mock.patch("bench.wheels.use"),
              mock.patch("bench.kernels.digests", lambda folder: {"copy": digest} if digest else {}),
              mock.patch("bench.run.run", run_rows)):
            return self.run_main("measure", "--seed", "1", "--prepare", "0", "--sets", "fixed", *options)

    def test_rows_of_changed_kernels_are_measured_again(self):
        out = ("--out", self.folder / "new.json")
        self.assertEqual(self.measure(*out)[0], 0)
        rows = self.measured
        self.assertEqual(len(rows), 2)
        self.assertEqual((self.measure(*out)[0], self.measured), (0, []))
        code, output, _ = self.measure(*out, digest="456")
        self.assertEqual((code, self.measured), (0, rows))
        self.assertIn("copy: its kernels changed, so its 2 rows are measured again", output)

    def test_a_folder_without_kernels_is_an_error(self):
        out = self.folder / "new.json"
        with mock.patch("bench.main.selected", side_effect=AssertionError):
            code, _, errors = self.measure("--out", out, "--kernels", self.folder, digest=None)
        self.assertEqual((code, out.exists()), (2, False))
        self.assertIn(f"{self.folder} has no manifests of kernels: build the target bench_kernels", errors)

    def test_a_peer_that_no_row_has_is_an_error(self):
        for peers, code, words in ((("PyTorch",), 0, ""), (("PyTorch", "QuACK"), 0, ""),
                                   (("PyTorch", "Torch"), 2, "--peers Torch: no measured row has this peer")):
            out = self.folder / f"{len(peers)}{code}.json"
            found, _, errors = self.measure("--out", out, "--peers", *peers)
            self.assertEqual(found, code, errors)
            self.assertIn(words, errors)
            self.assertEqual(self.commands[-1][-1 - len(peers):], ["--peers", *peers])

    def test_without_pytorch_nothing_is_measured(self):
        out = self.folder / "results.json"
        with mock.patch.dict(sys.modules, {"torch": None}):
            for module in ("bench.device", "bench.run"):
                sys.modules.pop(module, None)
            code, _, errors = self.run_main("measure", "--seed", "1", "--out", out)
        self.assertEqual(code, 2)
        self.assertRegex(errors, "^tests/bench/run: .*torch")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
