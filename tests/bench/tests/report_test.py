import unittest

from bench import report
from bench.report import Report
from support import Family, file_of, measured

KNOWN = [Family(name="softmax"), Family(name="matmul", unit="TFLOP/s"), Family(name="dropout")]
SQUARE = "M={0} N={0} K={0} LAYOUT={1} TYPE=half"

H100 = file_of({
    "softmax/fixed/M=8 N=64": measured(2.0, stream=1.0, size=4000, copy=1.0, PyTorch=1.0, Triton=3.0,
                                       absent={"QuACK": "run `pip install quack`"}),
    "softmax/fixed/M=8 N=65": {"refused": "softmax<half>: not `N < 65 || M < 4`"},
    "softmax/external/M=8 N=66": measured(2.0, size=4000, Triton=1.0,
                                          absent={"QuACK": "run `pip install quack`"}),
    "softmax/random/M=8 N=67": {"failed": "wrong result"},
    "softmax/random/M=8 N=68": {"failed": "wrong result"},
    "matmul/fixed/" + SQUARE.format(4096, "NN"): measured(10.0, flops=5 * 10**9, cuBLAS=11.0, Triton=12.0),
    "matmul/fixed/" + SQUARE.format(4096, "NT"): measured(10.0, flops=5 * 10**9, cuBLAS=9.5, Triton=12.0),
    "matmul/fixed/" + SQUARE.format(512, "NN"): measured(10.0, flops=10**9, Triton=12.0,
                                                         absent={"cuBLAS": "no answer in 45 s"}),
    "matmul/fixed/M=1 N=512 K=512 LAYOUT=NN TYPE=half": measured(10.0, flops=10**9, Triton=12.0),
    "dropout/fixed/n=8": {"failed": "wrong result"},
}, gpu={"name": "H100", "driver": "580.1", "power_limit_w": "700.00"}, peers={"Triton": "3.6"})
H200 = file_of({"softmax/fixed/M=8 N=64": measured(1.0, size=4000, copy=0.5, PyTorch=1.0)},
               gpu={"name": "H200"}, date="2026-12-01")

FACTS = ("H100, driver 580.1, power limit 700.00 W, 2026-11-26; commit abc; random rows of seed 1. "
         "Peers: Triton 3.6.")

README = f"""\
![Speed of TritonC relative to the best peer, H100](images/h100_families.svg)

{FACTS}

TritonC is at least as fast as the best peer in 3 of 6 rows, and slower in 3.
In 2 rows, it has less than 0.8 of the peer's speed.
By the geometric mean, it is slower in 1 of 2 families.
Its kernels refused 1 more, and 3 rows failed.

<details><summary>All families of kernels</summary>

| family | rows | geometric mean | 10th percentile | rows >= 1.0 | rows < 0.8 | refused or failed | most frequent best peers |
|---|---|---|---|---|---|---|---|
| matmul | 4 | 1.11 | 0.99 | 3 | 0 | 0 | Triton, cuBLAS |
| softmax | 2 | 0.50 | 0.50 | 0 | 2 | 3 | PyTorch, Triton |
| dropout | 0 | - | - | - | - | 1 | - |
| **all** | 6 | 0.85 | 0.50 | 3 | 2 | 4 | Triton, cuBLAS |

</details>"""

FIXED = """\
### softmax

| shape | GB/s | of copy | ratio | in a stream | goal | PyTorch | Triton | QuACK |
|---|---|---|---|---|---|---|---|---|
| M=8 N=64 | 2 | 0.50 | 0.50 | 1.00 | missed | 0.50 | 1.50 | absent |
| M=8 N=65 | refused: softmax&lt;half>: not 'N < 65 \\|\\| M < 4' | - | - | - | missed | - | - | - |

### dropout

| shape | GB/s | of copy | ratio | in a stream | goal |
|---|---|---|---|---|---|
| n=8 | failed: wrong result | - | - | - | missed |"""

NOT_MEASURED = """\
| outcome | reason | rows | families |
|---|---|---|---|
| failed | wrong result | 3 | softmax, dropout |
| refused | softmax&lt;half>: not 'N < 65 \\|\\| M < 4' | 1 | softmax |"""

ABSENT = """\
| peer | reason | rows | families |
|---|---|---|---|
| QuACK | run 'pip install quack' | 2 | softmax |
| cuBLAS | no answer in 45 s | 1 | matmul |"""

SIZES = """\
H100, driver 580.1, power limit 700.00 W, 2026-11-26:

| M = N = K | TFLOP/s | relative to the best peer | best peer |
|---|---|---|---|
| 512 | 100 | 1.20 | Triton |
| 4096 | 500 | 1.10 | cuBLAS |"""

LAYOUTS = """\
H100, driver 580.1, power limit 700.00 W, 2026-11-26:

| layout | TFLOP/s | relative to the best peer | best peer |
|---|---|---|---|
| NN | 500 | 1.10 | cuBLAS |
| NT | 500 | 0.95 | cuBLAS |"""


class Blocks(unittest.TestCase):
    maxDiff = None

    def of_one(self, lines_of, known=KNOWN):
        return "\n".join(lines_of(Report({"h100": H100}, known)))

    def test_the_summary(self):
        self.assertEqual(self.of_one(report.summary("images", report.folded_rows)), README)

    def test_the_summary_without_a_table(self):
        text = self.of_one(report.summary("images", report.no_rows))
        self.assertEqual(text, README[:README.index("\n\n<details>")])

    def test_all_rows_faster(self):
        found = file_of({"softmax/fixed/M=1 N=1": measured(1.0, PyTorch=1.0)})
        self.assertEqual(report.verdict(found, KNOWN), [
            "TritonC is at least as fast as the best peer in 1 of 1 row, and slower in 0.",
            "In 0 rows, it has less than 0.8 of the peer's speed.",
            "By the geometric mean, it is slower in 0 of 1 families."])

    def test_a_row_at_a_limit(self):
        found = file_of({"softmax/fixed/M=1 N=1": measured(1.0, PyTorch=0.8),
                         "softmax/fixed/M=1 N=2": measured(1.0, PyTorch=0.79)})
        self.assertEqual(report.verdict(found, KNOWN)[:2], [
            "TritonC is at least as fast as the best peer in 0 of 2 rows, and slower in 2.",
            "In 1 row, it has less than 0.8 of the peer's speed."])

    def test_the_fixed_rows(self):
        self.assertEqual(self.of_one(report.fixed_rows, [KNOWN[0], KNOWN[2]]), FIXED)

    def test_rows_that_were_not_measured(self):
        self.assertEqual(self.of_one(report.not_measured), NOT_MEASURED)
        self.assertEqual(report.not_measured(Report({"h200": H200}, KNOWN)), ["None."])

    def test_absent_peers(self):
        self.assertEqual(self.of_one(report.absent_peers), ABSENT)
        self.assertEqual(report.absent_peers(Report({"h200": H200}, KNOWN)), ["None."])

    def test_the_rows_of_matmul(self):
        self.assertEqual(self.of_one(report.matmul_sizes), SIZES)
        self.assertEqual(self.of_one(report.matmul_layouts), LAYOUTS)

    def test_the_plots_that_have_rows(self):
        self.assertEqual(self.of_one(report.curves).splitlines()[::2], [
            "![Speed relative to the best peer, over size, H100](images/bench/h100_sizes.svg)",
            "![Random rows by their sizes, H100](images/bench/h100_maps.svg)",
            "![Speed and its bounds, H100](images/bench/h100_roofline.svg)",
            "The benchmark has no peaks of H100, so no row has a bound."])
        self.assertNotIn("maps", "".join(report.curves(Report({"h200": H200}, KNOWN))))

    def test_each_of_several_files_has_its_title(self):
        both = Report({"h100": H100, "h200": H200}, [KNOWN[0]])
        lines = report.fixed_rows(both)
        self.assertEqual([each for each in lines if each[:1] in ("#", "*")],
                         ["### softmax", "**H100**", "**H200**"])
        self.assertEqual(lines[2:9], ["**H100**", "", *FIXED.splitlines()[2:6], ""])
        self.assertEqual(lines[9:11], ["**H200**", ""])

    def test_a_family_without_fixed_rows_in_one_file_has_one_table(self):
        both = Report({"h100": H100, "h200": H200}, [KNOWN[2]])
        self.assertEqual(report.fixed_rows(both), FIXED.splitlines()[7:])

    def test_without_results_each_block_says_so(self):
        for name, lines_of in report.BLOCKS:
            with self.subTest(name):
                self.assertEqual(lines_of(Report({}, KNOWN)), report.NOTHING)

    def test_each_block_has_lines_of_results(self):
        for name, lines_of in report.BLOCKS:
            with self.subTest(name):
                lines = lines_of(Report({"h100": H100, "h200": H200}, KNOWN))
                self.assertNotIn("\n", "".join(lines))
                self.assertNotIn("", (lines[0], lines[-1]))


class Words(unittest.TestCase):
    def test_reasons_have_no_code_and_no_html(self):
        self.assertEqual(report.plain("std::array<int, 3> </b> <!-- a -->"),
                         "std::array&lt;int, 3> &lt;/b> &lt;!-- a -->")
        self.assertEqual(report.plain("`M % 8` < 4"), "'M % 8' < 4")

    def test_other_words_stay(self):
        text = "| a < 0.8 | >= 1.0 | [b](c) |"
        self.assertEqual(report.plain(text), text)


if __name__ == "__main__":
    unittest.main()
