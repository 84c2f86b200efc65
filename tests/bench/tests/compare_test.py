import unittest

from bench import compare, results
from support import file_of, measured

ROW = "copy/fixed/M=1"


def changes(old, new):
    """The changes between two rows, or two dictionaries of rows: name -> speed."""
    old, new = (each if ROW in each else {ROW: each} for each in (old, new))
    return {change.name: change for change in compare.changes(file_of(old), file_of(new))}


class Rows(unittest.TestCase):
    def test_a_loss_beyond_the_noise(self):
        found = changes(measured(100.0, noise=0.01), measured(110.0, noise=0.01))
        self.assertEqual(list(found), [f"{ROW} (isolated)", f"{ROW} (stream)"])
        self.assertTrue(all(change.is_loss and not change.is_gain for change in found.values()))
        self.assertAlmostEqual(found[f"{ROW} (isolated)"].speed, 100 / 110)

    def test_no_loss_within_the_noise_of_both(self):
        self.assertEqual(changes(measured(100.0, noise=0.05), measured(110.0, noise=0.05)), {})
        self.assertEqual(changes(measured(100.0, noise=0.1), measured(110.0)), {})
        self.assertEqual(changes(measured(100.0), measured(110.0, noise=0.1)), {})

    def test_no_loss_of_up_to_3_percent(self):
        self.assertEqual(changes(measured(97.1), measured(100.0)), {})
        self.assertTrue(changes(measured(96.9), measured(100.0)))

    def test_a_gain_is_listed_and_is_no_loss(self):
        found = changes(measured(110.0), measured(100.0))
        self.assertEqual([(change.is_loss, change.is_gain) for change in found.values()], [(False, True)] * 2)
        self.assertEqual(changes(measured(102.0), measured(100.0)), {})

    def test_each_column_is_compared(self):
        self.assertEqual(list(changes(measured(100.0, stream=50.0), measured(100.0, stream=60.0))),
                         [f"{ROW} (stream)"])
        self.assertEqual(list(changes(measured(100.0, stream=50.0), measured(120.0, stream=50.0))),
                         [f"{ROW} (isolated)"])

    def test_a_row_that_is_refused_or_fails_now_is_a_loss(self):
        for word in ("refused", "failed"):
            found = changes(measured(100.0), {word: "why"})
            self.assertEqual([(change.name, change.speed, change.is_loss) for change in found.values()],
                             [(ROW, 0.0, True)])

    def test_a_row_that_was_refused_before_is_no_loss(self):
        other = {"copy/fixed/M=2": measured(1.0)}
        self.assertEqual(changes({ROW: {"refused": "why"}, **other}, {ROW: {"refused": "why"}, **other}), {})
        self.assertEqual(changes({ROW: {"refused": "why"}, **other}, {ROW: measured(1.0), **other}), {})

    def test_rows_of_one_file_only_are_ignored(self):
        self.assertEqual(changes({ROW: measured(1.0), "copy/fixed/M=2": measured(1.0)}, measured(1.0)), {})
        self.assertEqual(changes(measured(1.0), {ROW: measured(1.0), "copy/fixed/M=2": measured(9.0)}), {})


class Sets(unittest.TestCase):
    def rows(self, ours, count=10, **peers):
        return {f"copy/random/M={m}": measured(ours, noise=0.1, **peers) for m in range(count)}

    def compare(self, old, new):
        return {change.name: change.speed for change in compare.changes(file_of(old), file_of(new))}

    def test_a_loss_of_all_rows_within_their_noise_is_a_loss_of_the_set(self):
        found = self.compare(self.rows(100.0, PyTorch=100.0), self.rows(105.0, PyTorch=100.0))
        self.assertEqual(list(found), ["copy/random: geometric mean", "copy/random: 10th percentile"])
        self.assertAlmostEqual(found["copy/random: geometric mean"], 100 / 105)

    def test_no_loss_if_the_peer_is_as_much_slower(self):
        self.assertEqual(self.compare(self.rows(100.0, PyTorch=100.0), self.rows(105.0, PyTorch=105.0)), {})

    def test_a_loss_of_few_rows_is_a_loss_of_the_10th_percentile(self):
        new = {**self.rows(100.0, PyTorch=100.0), **self.rows(110.0, count=2, PyTorch=100.0)}
        found = self.compare(self.rows(100.0, PyTorch=100.0), new)
        self.assertEqual(list(found), ["copy/random: 10th percentile"])

    def test_rows_without_a_peer_do_not_count(self):
        self.assertEqual(self.compare(self.rows(100.0), self.rows(105.0)), {})
        self.assertEqual(self.compare(self.rows(100.0, copy=100.0), self.rows(105.0, copy=100.0)), {})


class Files(unittest.TestCase):
    def test_results_of_different_gpus_are_refused(self):
        rows = {ROW: measured(1.0)}
        with self.assertRaisesRegex(results.Mismatch, "different GPUs: GPU and Other"):
            compare.changes(file_of(rows), file_of(rows, gpu={"name": "Other"}))
        new = file_of(rows, gpu={"name": "GPU", "driver": "2"})
        self.assertEqual(compare.changes(file_of(rows), new), [])

    def test_other_kernels_are_what_is_compared(self):
        rows = {ROW: measured(1.0)}
        self.assertEqual(compare.changes(file_of(rows), file_of(rows, kernels="456", commit="def")), [])

    def test_results_without_a_common_row_are_refused(self):
        for old in ({"copy/fixed/M=2": measured(1.0)}, {ROW: {"refused": "why"}}, {}):
            with self.assertRaisesRegex(results.Mismatch, "no row that the old results measured"):
                compare.changes(file_of(old), file_of({ROW: measured(1.0)}))


class Text(unittest.TestCase):
    def test_the_slowest_change_is_first(self):
        speeds = {"won": 1.25, "lost": 0.5, "gone": 0.0}
        found = [compare.Change(name, speed, 0.0) for name, speed in speeds.items()]
        self.assertEqual(compare.text(found),
                         " 0.000  slower  gone\n 0.500  slower  lost\n 1.250  faster  won")

    def test_no_change(self):
        self.assertEqual(compare.text([]), "no row changed by more than its noise and 3 %")


if __name__ == "__main__":
    unittest.main()
