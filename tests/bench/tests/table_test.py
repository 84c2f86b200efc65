import unittest

from bench import roofline, table
from support import Family, file_of, measured

KNOWN = [Family(name="softmax"), Family(name="matmul", unit="TFLOP/s")]

FOUND = file_of({
    "softmax/fixed/M=8 N=64": measured(2.0, stream=1.0, size=4000, copy=1.5, PyTorch=3.0, Triton=2.5,
                                       absent={"cuDNN": "has no softmax"}),
    "softmax/fixed/M=8 N=65": measured(2.0, size=4000, copy=1.5, PyTorch=1.5, cuDNN=4.0),
    "softmax/fixed/M=8 N=66": {"refused": "lda % 8 == 0 || M < 4"},
    "softmax/fixed/M=8 N=67": measured(2.0, size=4000, copy=1.5),
    "softmax/external/M=9 N=1": measured(4.0, size=8000, copy=2.0, PyTorch=2.0),
    "softmax/external/M=9 N=2": {"failed": "wrong result: 3 times the bound"},
    "softmax/random/M=5 N=1": {"refused": "why"},
    "matmul/fixed/M=1 TYPE=half": measured(10.0, flops=5 * 10**9, cuBLAS=11.0),
    "unknown/fixed/M=1": measured(1.0, PyTorch=1.0),
}, gpu={"name": "NVIDIA H200", "driver": "580.1", "power_limit_w": "700.00"},
    peers={"PyTorch": "2.11", "cuBLAS": "13.1"})

TEXT = """\
NVIDIA H200, driver 580.1, power limit 700.00 W, 2026-11-26; commit abc; random rows of seed 1. Peers: PyTorch 2.11, cuBLAS 13.1.
Ratio: the time of the best peer over ours, each launch alone with L2 flushed. Above 1, ours is faster.
Bound: the bytes of the row at 4.8 TB/s, or its operations at the peak of the type without sparsity, whichever takes \
longer. Source: data sheet of NVIDIA H200.

| family | rows | n | refused | failed | geometric mean | 10th percentile | worst | >= 1.0 | < 0.8 | in a stream |
|---|---|---|---|---|---|---|---|---|---|---|
| softmax | fixed | 2 | 1 | 0 | 0.97 | 0.80 | 0.75 | 50% | 50% | 1.37 |
| softmax | external | 1 | 0 | 1 | 0.50 | 0.50 | 0.50 | 0% | 100% | 0.50 |
| softmax | random | 0 | 1 | 0 | - | - | - | - | - | - |
| matmul | fixed | 1 | 0 | 0 | 1.10 | 1.10 | 1.10 | 100% | 0% | 1.10 |

| row | ours | best peer | ratio |
|---|---|---|---|
| softmax external M=9 N=1 | 2 GB/s | PyTorch | 0.50 |

| row that failed | reason |
|---|---|
| softmax M=9 N=2 | wrong result: 3 times the bound |

### softmax

| shape | GB/s | of copy | ratio | in a stream | goal | PyTorch | Triton | cuDNN |
|---|---|---|---|---|---|---|---|---|
| M=8 N=64 | 2 | 0.75 | 1.25 | 2.50 | met | 1.50 | 1.25 | absent |
| M=8 N=65 | 2 | 0.75 | 0.75 | 0.75 | missed | 0.75 | absent | 2.00 |
| M=8 N=66 | refused: lda % 8 == 0 \\|\\| M < 4 | - | - | - | missed | - | - | - |
| M=8 N=67 | 2 | 0.75 | - | - | - | absent | absent | absent |

- cuDNN is absent in some rows: has no softmax

### matmul

| shape | TFLOP/s | of bound | ratio | in a stream | goal | cuBLAS |
|---|---|---|---|---|---|---|
| M=1 TYPE=half | 500 | 0.51 | 1.10 | 1.10 | met | 1.10 |"""


class Table(unittest.TestCase):
    maxDiff = None

    def test_the_whole_text(self):
        self.assertEqual(table.text(FOUND, KNOWN), TEXT)

    def test_results_without_rows_have_no_tables(self):
        found = file_of({}, peers={})
        first, *others = table.text(found, KNOWN).splitlines()
        self.assertEqual(first, "GPU, driver unknown, power limit unknown W, unknown date; commit unknown; "
                                "random rows of seed 1. Peers: unknown.")
        self.assertEqual(others, [TEXT.splitlines()[1], roofline.words("GPU")])

    def test_the_commits_of_families(self):
        found = file_of({f"{name}/fixed/M=1": measured(1.0) for name in ("a", "b", "c")})
        self.assertEqual(table.commits(found), "commit abc")
        self.assertIn(", 2026-11-26; commit abc; random rows of seed 1. ", table.facts(found))
        found["families"]["b"].update(commit="def", date="2026-12-01", seeds=["2"])
        self.assertEqual(table.commits(found), "commits def (2026-12-01: b), abc (2026-11-26: all other families)")
        found["families"]["c"].update(date="2026-11-28")
        self.assertIn(", 2026-11-26 to 2026-12-01; commits def (2026-12-01: b), abc (2026-11-26 to 2026-11-28: all "
                      "other families); random rows of seeds 1, 2. ", table.facts(found))
        self.assertTrue(table.device(found, ["a", "b"]).endswith(" W, 2026-11-26 to 2026-12-01"))
        self.assertTrue(table.device(found, ["a"]).endswith(" W, 2026-11-26"))

    def test_missed_are_fixed_rows_below_the_goal_and_all_failures(self):
        self.assertEqual(table.missed(FOUND, KNOWN),
                         ["softmax M=8 N=65", "softmax M=8 N=66", "softmax M=9 N=2"])
        self.assertEqual(table.missed(FOUND, KNOWN[1:]), [])

    def test_a_gpu_without_peaks_has_no_bounds(self):
        found = file_of({"matmul/fixed/M=1 TYPE=half": measured(10.0, flops=1, cuBLAS=11.0)})
        self.assertIn("| M=1 TYPE=half | 0 | - | 1.10 |", table.text(found, KNOWN))

    def test_small_ratios_keep_two_digits(self):
        self.assertEqual([table.number(each) for each in (None, 1.234, 0.5, 0.0996, 0.00512)],
                         ["-", "1.23", "0.50", "0.10", "0.0051"])

    def test_a_row_that_is_as_fast_as_its_best_peer_meets_the_goal(self):
        self.assertEqual(table.goal(measured(2.0, PyTorch=2.0)), "met")
        self.assertEqual(table.goal(measured(2.0, PyTorch=2.0, Triton=1.99)), "missed")

    def test_the_copy_is_no_peer(self):
        self.assertEqual(table.goal(measured(2.0, PyTorch=3.0, copy=1.0)), "met")

    def test_the_worst_rows_are_the_slowest_five_of_each_set(self):
        found = file_of({f"softmax/{kind}/M={m}": measured(float(m), PyTorch=4.0)
                         for kind in ("fixed", "external", "random") for m in range(1, 9)})
        rows = [each.split(" | ")[0] for each in table.worst(found, KNOWN)[2:]]
        self.assertEqual(rows, [f"| softmax {kind} M={m}" for kind in ("external", "random")
                                for m in (8, 7, 6, 5, 4)])


if __name__ == "__main__":
    unittest.main()
