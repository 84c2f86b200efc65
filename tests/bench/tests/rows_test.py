import json
import pathlib
import random
import tempfile
import unittest

from bench import rows
from support import Family


def ids(found):
    return [each.id for each in found]


class Fixed:
    """A generator that draws the same place in the range for each size, and one kind of row."""

    def __init__(self, kind, place):
        self.kind, self.place = kind, place

    def choice(self, values):
        return self.kind if self.kind in values else values[0]

    def random(self):
        return self.place


def size(kind, place, low, high):
    return rows.Sizes(Fixed(kind, place)).size(low, high)


class Sizes(unittest.TestCase):
    def test_a_size_is_log_uniform_in_its_range(self):
        self.assertEqual([size("aligned", place, 128, 131072) for place in (0, 0.5, 1)], [128, 4096, 131072])

    def test_the_kind_of_a_row_gives_the_step_of_its_sizes(self):
        place = 0.5001  # the value 4098
        self.assertEqual([size(kind, place, 128, 131072) for kind in rows.Sizes.KINDS], [4224, 4104, 4099])

    def test_a_size_below_the_step_is_a_multiple_of_a_smaller_step(self):
        self.assertEqual([size("aligned", 0, low, 4096) for low in (3, 9, 40, 100, 128)],
                         [8, 16, 64, 128, 128])
        self.assertEqual([size("multiple of 8", 0, low, 4096) for low in (3, 9, 40)], [8, 16, 40])
        self.assertEqual([size("odd", 0, low, 4096) for low in (3, 8)], [3, 9])

    def test_a_size_stays_in_its_range(self):
        self.assertEqual([size(kind, 1, 2, 100) for kind in rows.Sizes.KINDS], [100, 100, 100])
        for seed in range(300):
            sizes = rows.Sizes(random.Random(seed))
            self.assertIn(sizes.size(9, 1000), range(9, 1001))
            self.assertIn(sizes.size(1, 7), range(1, 8))

    def test_each_kind_is_drawn(self):
        self.assertEqual({rows.Sizes(random.Random(seed)).step for seed in range(30)}, {1, 8, 128})


class RandomRows(unittest.TestCase):
    def test_the_seed_alone_decides_the_rows(self):
        # Another version of Python that draws other rows for a seed fails here: parts of one run
        # would then not have the same rows.
        self.assertEqual(ids(rows.random_rows(Family(), "1", 6)), [
            "copy/random/M=3496 N=2776 TYPE=half",
            "copy/random/M=2289 N=169 TYPE=half",
            "copy/random/M=128 N=32 TYPE=float",
            "copy/random/M=36027 N=243 TYPE=half",
            "copy/random/M=344 N=1280 TYPE=float",
            "copy/random/M=6400 N=128 TYPE=float",
        ])

    def test_another_seed_or_family_has_other_rows(self):
        shapes = [{each.shape for each in rows.random_rows(family, seed, 6)}
                  for family, seed in ((Family(), "1"), (Family(), "2"), (Family(name="move"), "1"))]
        self.assertFalse(shapes[0] & shapes[1] or shapes[0] & shapes[2])

    def test_more_rows_begin_with_the_same_rows(self):
        self.assertEqual(rows.random_rows(Family(), "1", 9)[:4], rows.random_rows(Family(), "1", 4))
        self.assertEqual(rows.random_rows(Family(), "1", 0), [])

    def test_a_family_that_accepts_nothing_has_no_rows(self):
        self.assertEqual(rows.random_rows(Family(random=lambda sizes: None), "1", 6), [])

    def test_no_row_appears_twice(self):
        family = Family(random=lambda sizes: dict(M=sizes.choose(1, 2)))
        found = rows.random_rows(family, "1", 6)
        self.assertEqual(sorted(ids(found)), ["copy/random/M=1", "copy/random/M=2"])


class AllRows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "external.jsonl"
        records = [dict(op="copy", rows=3, columns=5, source="a"), dict(op="softmax", rows=1, columns=1),
                   dict(op="copy", rows=3, columns=5, source="b"), dict(op="copy", rows=4, columns=5)]
        self.path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    def test_external_rows_are_the_records_of_the_family_without_duplicates(self):
        self.assertEqual(ids(rows.external_rows(Family(), self.path)),
                         ["copy/external/M=3 N=5", "copy/external/M=4 N=5"])

    def test_a_family_without_records_has_no_external_rows(self):
        self.assertEqual(rows.external_rows(Family(external=lambda record: []), self.path), [])

    def test_all_sets_of_all_families_in_order(self):
        found = rows.all_rows([Family(), Family(name="move")], self.path, "1", 3)
        self.assertEqual([(each.family, each.set) for each in found],
                         [(family, kind) for family in ("copy", "move")
                          for kind in ["fixed"] * 2 + ["external"] * 2 + ["random"] * 3])

    def test_only_the_chosen_sets(self):
        found = rows.all_rows([Family()], self.path, "1", 3, ["fixed"])
        self.assertEqual(ids(found), ["copy/fixed/M=64 N=32", "copy/fixed/M=7 N=9"])


class Parts(unittest.TestCase):
    rows = rows.random_rows(Family(), "1", 23)

    def test_parts_are_disjoint_and_complete(self):
        for count in (1, 2, 5, 23, 30):
            parts = [rows.part_of(self.rows, f"{i + 1}/{count}") for i in range(count)]
            self.assertEqual(sorted(ids(sum(parts, []))), sorted(ids(self.rows)))
            self.assertLessEqual(max(map(len, parts)) - min(map(len, parts)), 1)

    def test_a_filter_takes_the_same_rows_from_each_part(self):
        expected = [each for each in ids(self.rows) if each.endswith("TYPE=half")]
        self.assertEqual(ids(rows.part_of(self.rows, "1/1", "TYPE=half")), expected)
        parts = [rows.part_of(self.rows, f"{i}/3", "TYPE=half") for i in (1, 2, 3)]
        self.assertEqual(sorted(ids(sum(parts, []))), sorted(expected))
        self.assertEqual(rows.part_of(self.rows, "1/1", "no such row"), [])

    def test_a_wrong_part_is_an_error(self):
        for part in ("0/4", "5/4", "1/0", "1", "a/b", "1/4/2", "-1/4", "1.5/4", ""):
            with self.subTest(part), self.assertRaisesRegex(ValueError, "--part .*: expected I/N"):
                rows.part_of(self.rows, part)

    def test_a_wrong_filter_is_an_error(self):
        with self.assertRaisesRegex(ValueError, r"--only \(: .*unterminated"):
            rows.part_of(self.rows, "1/1", "(")


if __name__ == "__main__":
    unittest.main()
