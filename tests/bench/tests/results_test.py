import copy
import json
import pathlib
import tempfile
import unittest
from unittest import mock

from bench import results
from support import file_of, measured


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "new" / "results.json"
        self.found = file_of({"a/fixed/M=1": measured(2.0, PyTorch=3.0, absent={"cuDNN": "has no softmax"}),
                              "a/fixed/M=2": {"refused": "M % 8"}, "a/fixed/M=3": {"failed": "wrong result"}})

    def test_a_file_reads_as_it_was_written(self):
        results.write(self.path, self.found)
        self.assertEqual(results.read(self.path), self.found)
        facts = {key: self.found[key] for key in results.KEYS if key != "rows"}
        results.write(self.path, results.empty(**facts))
        self.assertEqual(results.read(self.path), file_of({}))
        self.assertEqual([each.name for each in self.path.parent.iterdir()], ["results.json"])

    def test_each_row_has_a_line(self):
        found = {"rows": {"b": {"flops": 0, "bytes": 1, "absent": {}}, "a": {"refused": "no"}}, "peers": {}}
        self.assertEqual(results.text_of(found), """{
 "peers": {},
 "rows": {
  "a": {"refused": "no"},
  "b": {"absent": {}, "bytes": 1, "flops": 0}
 }
}""")

    def test_an_interrupted_write_leaves_the_old_file(self):
        results.write(self.path, self.found)

        def half(path, text, encoding):
            with open(path, "w", encoding=encoding) as file:
                file.write(text[:len(text) // 2])
            raise KeyboardInterrupt

        with mock.patch.object(pathlib.Path, "write_text", half), self.assertRaises(KeyboardInterrupt):
            results.write(self.path, file_of({}))
        self.assertEqual(results.read(self.path), self.found)
        results.write(self.path, file_of({}))
        self.assertEqual(results.read(self.path), file_of({}))

    def test_two_files_of_one_folder_do_not_share_a_draft(self):
        drafts = []
        with mock.patch("os.replace", lambda draft, path: drafts.append(draft)):
            for name in ("results.1", "results.2"):
                results.write(self.folder / name, self.found)
        self.assertEqual(len(set(drafts)), 2)

    def read_text(self, text):
        path = self.folder / "damaged.json"
        path.write_text(text, encoding="utf-8")
        return results.read(path)

    def assert_refused(self, text, message):
        with self.subTest(message), self.assertRaisesRegex(results.Mismatch, "damaged.json " + message):
            self.read_text(text)

    def test_a_damaged_file_is_refused(self):
        text = json.dumps(self.found)
        self.assertEqual(self.read_text(text), self.found)
        self.assert_refused(text[:-10], "is damaged: Unterminated string")
        self.assert_refused("", "is damaged: Expecting value")
        for key in results.KEYS:
            without = {each: self.found[each] for each in self.found if each != key}
            self.assert_refused(json.dumps(without), f"is damaged: {key} is missing")
        nameless = file_of({}, gpu={"sms": 132})
        self.assert_refused(json.dumps(nameless), "is damaged: the GPU's name is missing")

    def test_another_schema_is_refused(self):
        for text in ("[]", "{}", "1", json.dumps(file_of({}, schema=2))):
            self.assert_refused(text, "is not a file of results with schema 1")

    def test_an_incomplete_row_is_refused(self):
        def without(*keys):
            row = copy.deepcopy(self.found["rows"]["a/fixed/M=1"])
            inner = row
            for key in keys[:-1]:
                inner = inner[key]
            del inner[keys[-1]]
            return row

        times = ([], [1.0, 2.0], [0.0, 0.0, 0.0], ["1", "2", "3"], 2.0, None)
        damaged = [without(key) for key in ("bytes", "flops", "absent", "isolated", "stream")]
        damaged += [without("isolated", "ours"), without("stream", "ours"), {}, [], None, {"refused": None}]
        damaged += [dict(measured(2.0), stream={"ours": [1.0, 1.0, 1.0], "PyTorch": each}) for each in times]
        for row in damaged:
            self.assert_refused(json.dumps(file_of({"a/fixed/M=1": measured(1.0), "a/fixed/M=2": row})),
                                "is damaged: the row a/fixed/M=2 is incomplete")

    def test_a_missing_file_is_an_error_of_the_system(self):
        with self.assertRaises(FileNotFoundError):
            results.read(self.folder / "missing.json")


class Merge(unittest.TestCase):
    def test_a_merged_file_has_the_rows_of_all_parts(self):
        parts = [file_of({name: measured(1.0)}) for name in ("a", "b", "c")]
        before = copy.deepcopy(parts)
        merged = results.merge(parts)
        self.assertEqual(merged, file_of({"a": measured(1.0), "b": measured(1.0), "c": measured(1.0)}))
        self.assertEqual(parts, before)

    def test_a_later_part_replaces_rows(self):
        parts = [file_of({"a": measured(1.0), "b": measured(1.0)}), file_of({"a": measured(2.0)})]
        merged = results.merge(parts)
        self.assertEqual(merged["rows"], {"a": measured(2.0), "b": measured(1.0)})

    def test_the_date_is_that_of_the_last_part(self):
        dates = ("2026-11-26", "2026-12-01", "2026-11-27")
        self.assertEqual(results.merge([file_of({}, date=date) for date in dates])["date"], "2026-12-01")
        self.assertEqual(results.merge([file_of({})])["date"], "2026-11-26")

    def test_parts_that_do_not_belong_together_are_refused(self):
        for facts, message in ((dict(gpu={"name": "Other"}), "gpu: GPU and Other"),
                               (dict(kernels="456"), "kernels: 123 and 456"),
                               (dict(commit="def"), "commit: abc and def"),
                               (dict(seed="2"), "seed: 1 and 2")):
            message = "the parts have different values of " + message
            with self.subTest(message), self.assertRaisesRegex(results.Mismatch, message):
                results.merge([file_of({}), file_of({}), file_of({}, **facts)])

    def test_other_clocks_of_the_same_gpu_are_no_difference(self):
        merged = results.merge([file_of({}), file_of({}, gpu={"name": "GPU", "sm_clock_mhz": "1755"})])
        self.assertEqual(merged["gpu"]["sm_clock_mhz"], "1980")


class Ratio(unittest.TestCase):
    def test_the_fastest_peer_counts(self):
        row = measured(100.0, PyTorch=200.0, Triton=150.0)
        self.assertEqual(results.best_peer(row), ("Triton", 150.0))
        self.assertEqual(results.ratio(row), 1.5)

    def test_ours_and_the_copy_are_no_peers(self):
        row = measured(100.0, copy=10.0, PyTorch=200.0)
        self.assertEqual(results.best_peer(row), ("PyTorch", 200.0))
        self.assertEqual(results.ratio(row), 2.0)

    def test_peers_of_rows_are_also_absent_ones(self):
        rows = [dict(measured(4.0, A=2.0, copy=1.0), absent={"B": "why"}), {"refused": "why"}]
        self.assertEqual(results.peers_of(rows), {"A", "B"})
        self.assertEqual(results.peers_of([{"failed": "why"}]), set())

    def test_a_row_without_a_measured_peer_has_no_ratio(self):
        for row in (measured(100.0, copy=10.0), measured(100.0), {"refused": "why"}, {"failed": "why"}):
            self.assertIsNone(results.best_peer(row))
            self.assertIsNone(results.ratio(row))

    def test_each_column_has_its_ratio(self):
        row = measured(100.0, stream=50.0, PyTorch=200.0)
        self.assertEqual((results.ratio(row), results.ratio(row, "stream")), (2.0, 4.0))


if __name__ == "__main__":
    unittest.main()
