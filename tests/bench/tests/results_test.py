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
        facts = {key: self.found[key] for key in ("gpu", "peers", "seed")}
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
        for text in ("[]", "{}", "1", json.dumps(file_of({}, schema=1))):
            self.assert_refused(text, "is not a file of results with schema 2")

    def test_facts_of_families_are_complete(self):
        for key in results.FAMILY_KEYS:
            found = copy.deepcopy(self.found)
            del found["families"]["a"][key]
            self.assert_refused(json.dumps(found), f"is damaged: the family a: {key} is missing")
        found["families"] = {"a": 1}
        self.assert_refused(json.dumps(found), "is damaged: the family a: no object")
        found["families"] = {}
        self.assert_refused(json.dumps(found), "is damaged: the family of the row a/fixed/M=1 is missing")

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

    def test_the_facts_of_a_family_are_those_of_the_last_part(self):
        parts = [file_of({"a/1": measured(1.0)}, date=date, commit=commit, seed=seed)
                 for date, commit, seed in (("2026-12-01", "abc", "1"), ("2026-11-27", "def", "2"))]
        merged = results.merge(parts)
        self.assertEqual(merged["families"], {"a": {"commit": "def", "date": "2026-12-01", "seeds": ["1", "2"],
                                                    "kernels": {"a": "123"}}})
        self.assertEqual(merged["seed"], "2")

    def test_other_kernels_replace_all_rows_of_their_family(self):
        old = file_of({"a/1": measured(1.0), "a/2": measured(1.0), "b/1": measured(1.0)})
        new = file_of({"a/3": measured(2.0)}, digest="456")
        merged = results.merge([old, new])
        self.assertEqual(merged["rows"], {"a/3": measured(2.0), "b/1": measured(1.0)})
        self.assertEqual(merged["families"], {"a": new["families"]["a"], "b": old["families"]["b"]})

    def test_more_kernels_of_a_family_replace_nothing(self):
        new = file_of({"a/2": measured(2.0)})
        new["families"]["a"]["kernels"]["c"] = "456"
        merged = results.merge([file_of({"a/1": measured(1.0)}), new])
        self.assertEqual(sorted(merged["rows"]), ["a/1", "a/2"])
        self.assertEqual(merged["families"]["a"]["kernels"], {"a": "123", "c": "456"})

    def test_parts_that_do_not_belong_together_are_refused(self):
        for facts, message in ((dict(gpu={"name": "Other"}), "GPUs: GPU and Other"),
                               (dict(peers={"PyTorch": "2.12"}), "versions of PyTorch: 2.11 and 2.12")):
            message = "the results are of different " + message
            with self.subTest(message), self.assertRaisesRegex(results.Mismatch, message):
                results.merge([file_of({}), file_of({}), file_of({}, **facts)])
        self.assertEqual(results.merge([file_of({}), file_of({}, peers={"cuDNN": "9"})])["peers"],
                         {"PyTorch": "2.11", "cuDNN": "9"})

    def test_other_clocks_of_the_same_gpu_are_no_difference(self):
        merged = results.merge([file_of({}), file_of({}, gpu={"name": "GPU", "sm_clock_mhz": "1755"})])
        self.assertEqual(merged["gpu"]["sm_clock_mhz"], "1980")


class Rows(unittest.TestCase):
    def test_a_row_brings_the_facts_of_its_family(self):
        found = results.empty(gpu={"name": "GPU"}, peers={}, seed="7")
        facts = dict(commit="abc", date="2026-12-01", kernels={"a": "123", "b": "456", "c": "789"})
        for name, sources in (("a/1", ["a"]), ("a/2", ["a", "b"]), ("d/1", [])):
            results.add(found, name, dict(measured(1.0), kernels=sources), **facts)
        self.assertEqual(found["rows"], dict.fromkeys(("a/1", "a/2", "d/1"), measured(1.0)))
        common = {"commit": "abc", "date": "2026-12-01", "seeds": ["7"]}
        self.assertEqual(found["families"], {"a": dict(common, kernels={"a": "123", "b": "456"}),
                                             "d": dict(common, kernels={})})
        self.assertEqual(results.damage_of(found), "")

    def test_rows_of_changed_kernels_are_removed(self):
        rows = {name: measured(1.0) for name in ("a/1", "a/2", "b/1", "c/1")}
        found = file_of(rows)
        found["families"]["c"]["kernels"] = {}  # no row was launched
        self.assertEqual(results.remove_outdated(found, {"a", "b"}, {"a": "123", "b": "123", "c": "123"}), {})
        self.assertEqual(found["rows"], rows)
        now = {"a": "456", "b": "123", "c": "123"}
        self.assertEqual(results.remove_outdated(found, {"b"}, now), {})
        self.assertEqual(results.remove_outdated(found, {"a", "b", "c"}, now), {"a": 2, "c": 1})
        self.assertEqual((list(found["rows"]), list(found["families"])), (["b/1"], ["b"]))


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
