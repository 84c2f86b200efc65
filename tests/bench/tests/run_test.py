"""The parent of the worker processes, with a worker that needs no GPU (fake_worker.py)."""

import pathlib
import queue
import sys
import tempfile
import unittest

from bench import results, run
from bench.rows import row

FACTS = dict(commit="abc", date="2026-12-01", kernels={"copy": "123"})
FAKE = [sys.executable, str(pathlib.Path(__file__).with_name("fake_worker.py"))]


class Impatient(run.Worker):
    """Waits for ever, except in the steps in which the fake worker hangs."""

    def __init__(self, *options):
        super().__init__([*FAKE, *options], 30.0)

    def next_line(self):
        if self.step in ("peer B", "timing") and self.hangs:
            raise queue.Empty
        return self.lines.get()

    def ask(self, row, *others, **options):
        self.hangs, self.step = dict(row.shape)["DO"].startswith("hang"), "row"
        return super().ask(row, *others, **options)


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path, self.said = pathlib.Path(folder.name) / "results.json", []

    def measured(self, *actions, known=()):
        """The results of a run. Each row does one of the actions."""
        rows = [row("copy", "fixed", N=i, DO=action) for i, action in enumerate(actions)]
        found = results.empty(gpu={"name": "GPU"}, peers={}, seed="1")
        found["rows"].update({each.id: {"failed": "earlier"} for each in known})
        worker = Impatient()
        self.addCleanup(worker.stop)
        run.run(rows, found, self.path, worker, self.said.append, **FACTS)
        return [found["rows"][each.id] for each in rows]

    def test_one_process_measures_all_rows(self):
        first, second = self.measured("measure", "measure")
        self.assertEqual(first["process"], second["process"])
        self.assertEqual(first["absent"], {})
        self.assertEqual(len(self.said), 3)
        self.assertRegex(self.said[2], r"^seconds: .*start \d")
        self.assertNotRegex(self.said[2], r"[:,]  \d")  # each step has a name
        self.assertTrue(self.path.exists())

    def test_known_rows_are_not_measured_again(self):
        first, second = self.measured("measure", "measure", known=[row("copy", "fixed", N=0, DO="measure")])
        self.assertEqual(first, {"failed": "earlier"})
        self.assertIn("process", second)

    def test_a_peer_that_crashes_is_absent_and_the_row_is_measured(self):
        before, crashed, after = self.measured("measure", "crash", "measure")
        self.assertEqual(crashed["absent"], {"B": "the process ended"})
        self.assertNotEqual(crashed["process"], before["process"])
        self.assertEqual(after["process"], crashed["process"])
        self.assertEqual(after["absent"], {"B": "the process ended"})  # it is not tried again

    def test_a_peer_that_hangs_is_absent(self):
        (hung,) = self.measured("hang")
        self.assertEqual(hung["absent"], {"B": "no answer in 30 s"})

    def test_a_step_of_ours_that_hangs_fails_the_row(self):
        hung, after = self.measured("hang late", "measure")
        self.assertEqual(hung, {"failed": "no answer in 30 s, at the step: timing"})
        self.assertIn("process", after)

    def test_a_broken_context_ends_the_process_after_the_row(self):
        before, broken, after = self.measured("measure", "break", "measure")
        self.assertIn("CUDA error", broken["failed"])
        self.assertNotEqual(before["process"], after["process"])

    def test_a_worker_that_cannot_start_fails_the_rows(self):
        rows = [row("copy", "fixed", N=1, DO="measure")]
        found = results.empty(gpu={"name": "GPU"}, peers={}, seed="1")
        run.run(rows, found, self.path, Impatient("broken"), self.said.append, **FACTS)
        self.assertIn("the process ended", found["rows"][rows[0].id]["failed"])

    def test_prepare_asks_each_row_once_and_survives_crashes(self):
        rows = [row("copy", "fixed", N=i, DO=action) for i, action in enumerate(("measure", "crash", "measure"))]
        run.prepare(rows, [Impatient() for _ in range(2)], self.said.append)
        self.assertRegex(self.said[0], "^prepared 3 rows in ")


if __name__ == "__main__":
    unittest.main()
