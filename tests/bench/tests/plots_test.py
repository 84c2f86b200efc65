import re
import unittest
import xml.etree.ElementTree

from bench import plots
from support import Family, file_of, measured

SOFTMAX, MATMUL = Family(name="softmax"), Family(name="matmul", unit="TFLOP/s")
KNOWN = [SOFTMAX, MATMUL, Family(name="dropout")]

FOUND = file_of({
    "softmax/fixed/M=8 N=64 TYPE=half": measured(2.0, size=4000, copy=1.0, PyTorch=1.0),
    "softmax/external/M=9 N=65": measured(2.0, size=8000, copy=1.5, PyTorch=1.0),
    "softmax/random/M=1 N=9": {"refused": "why"},
    "softmax/random/M=10 N=90": measured(1.0, size=900, copy=0.5, PyTorch=1.2),
    "matmul/fixed/M=8 N=8 K=8": measured(10.0, flops=4 * 10**6, size=1000, cuBLAS=20.0),
    "matmul/random/M=4 N=5 K=6 LAYOUT=NN": measured(10.0, flops=10**6, size=1000, cuBLAS=5.0),
    "matmul/random/M=4 N=5 K=7 LAYOUT=NN": measured(10.0, flops=10**6, size=1000),
    "unknown/fixed/M=1": measured(1.0, PyTorch=1.0),
})


def words_of(text):
    texts = (each.text for each in xml.etree.ElementTree.fromstring(text).iter())
    return [each for each in texts if each and each.strip()]


def points_of(text, mark):
    """The number of points of a mark, without that in the legend."""
    width = {"circle": "4.4", "square": "3.4"}.get(mark.form, "1.3")
    paths = re.findall(rf'<path d="([^"]*)" fill="none" stroke="{mark.color}" stroke-width="{width}"', text)
    return sum(path.count("M") for path in paths) - 1


class Families(unittest.TestCase):
    def test_the_fastest_family_is_first_and_one_without_a_ratio_last(self):
        found = file_of({**FOUND["rows"], "dropout/fixed/n=1": measured(1.0)})
        ordered = plots.by_speed(found, KNOWN)
        self.assertEqual([family.name for family, _ in ordered], ["matmul", "softmax", "dropout"])
        self.assertEqual([of and of.count for _, of in ordered], [2, 3, None])
        self.assertEqual([family.name for family, _ in plots.by_speed(FOUND, KNOWN)], ["matmul", "softmax"])

    def test_each_row_with_a_ratio_has_a_point(self):
        text = plots.families(FOUND, KNOWN)
        self.assertEqual((points_of(text, plots.FASTER), points_of(text, plots.SLOWER)), (2, 3))
        words = words_of(text)
        self.assertIn("Speed of TritonC relative to the best peer, GPU", words)
        self.assertEqual(words[-4:], ["matmul", "1.00", "softmax", "0.67"])


    def test_a_row_as_fast_as_its_best_peer_is_no_slower_row(self):
        text = plots.families(file_of({"softmax/fixed/M=1": measured(1.0, PyTorch=1.0)}), KNOWN)
        self.assertEqual((points_of(text, plots.FASTER), points_of(text, plots.SLOWER)), (1, 0))


class Panels(unittest.TestCase):
    def test_sizes_has_a_panel_per_family_with_a_ratio(self):
        text = plots.sizes(FOUND, KNOWN)
        words = words_of(text)
        known = ("softmax", "matmul", "dropout", "bytes", "FLOP")
        self.assertEqual([each for each in words if each in known],
                         ["softmax", "bytes", "matmul", "FLOP"])
        self.assertEqual([points_of(text, mark) for mark in plots.OF_SET.values()], [2, 1, 2])

    def test_maps_have_the_random_rows_by_color(self):
        text = plots.maps(FOUND, KNOWN)
        words = words_of(text)
        for each in ("softmax", "M", "N", "matmul", "M N", "K"):
            self.assertIn(each, words)
        self.assertEqual({name: points_of(text, mark) for _, name, mark in plots.BUCKETS},
                         {"below 0.5": 0, "0.5 to 0.8": 1, "0.8 to 1": 0, "1 to 1.25": 1, "1.25 and more": 0})
        self.assertEqual(points_of(text, plots.UNMEASURED), 2)

    def test_maps_leave_out_vectors(self):
        self.assertIsNone(plots.maps(file_of({"dropout/random/n=1": measured(1.0, PyTorch=1.0)}), KNOWN))

    def test_the_axes_of_a_map_are_products_of_sizes(self):
        for shape, place in (("M=4 N=5 K=6 LAYOUT=NN TYPE=half", (20, 6, "M N", "K")),
                             ("BATCH=2 M=4 N=5 K=6", (40, 6, "BATCH M N", "K")),
                             ("B=2 H=3 KV=1 M=4 N=5 D=64 SEEN=all", (24, 5, "B H M", "N")),
                             ("N=2 C=3 H=4 W=5 K=6 R=7 S=8 STRIDE=2x1", (240, 168, "N H W K", "C R S")),
                             ("N=2 C=3 S=4", (3, 8, "C", "N S")),
                             ("P=2 Q=3 K=4 AXIS=last", (6, 4, "P Q", "K")),
                             ("D0=2 D1=3 D2=4 ORDER=jik", (6, 4, "D0 D1", "D2")),
                             ("TOKENS=2 HEADS=3 D=4", (6, 4, "TOKENS HEADS", "D")),
                             ("M=2 N=3 LDX=4", (2, 3, "M", "N")),
                             ("N=5 TYPE=half", None), ("n=5", None)):
            with self.subTest(shape):
                self.assertEqual(plots.place_on_map(plots.shape_of(shape)), place)

    def test_each_family_with_two_sizes_has_a_map(self):
        from bench.families import families
        from bench.rows import random_rows

        without = [family.name for family in families()
                   if plots.place_on_map(dict(random_rows(family, "1", 1)[0].shape)) is None]
        self.assertEqual(without, ["dropout", "adam", "adam_tensors", "reduce_vector", "vector_add"])


class Roofline(unittest.TestCase):
    def test_the_speeds_of_a_row(self):
        found = file_of({"matmul/fixed/M=8 TYPE=half": measured(10.0, flops=10**9, size=10**6, cuBLAS=20.0),
                         "matmul/fixed/M=9 TYPE=half": measured(10.0, flops=10**9, size=1),
                         "matmul/fixed/M=9": {"refused": "why"},
                         "matmul/random/M=9 TYPE=mixed": measured(10.0, flops=10**9, size=1)},
                        gpu={"name": "NVIDIA H200"})
        places = plots.speeds(found, MATMUL)
        self.assertEqual([(x, round(ours), peer and round(peer)) for x, ours, peer, _ in places],
                         [(1000, 100, 50), (10**9, 100, None), (10**9, 100, None)])
        self.assertEqual([bound and round(bound, 1) for _, _, _, bound in places], [989.5, 989.5, None])
        found = file_of({"softmax/fixed/M=8": measured(10.0, size=10**6)}, gpu={"name": "NVIDIA H200"})
        (x, ours, _, bound), = plots.speeds(found, SOFTMAX)
        self.assertEqual((x, round(ours), round(bound)), (10**6, 100, 4800))

    def test_each_measured_row_has_a_speed_and_a_bound(self):
        found = dict(FOUND, gpu={"name": "NVIDIA H200"})
        text = plots.roofline(found, KNOWN)
        self.assertEqual([points_of(text, mark) for mark in (plots.FASTER, plots.SLOWER, plots.BOUND)],
                         [6, 5, 3])
        for each in ("GB/s", "bytes", "TFLOP/s", "FLOP per byte"):
            self.assertIn(each, words_of(text))
        self.assertEqual(points_of(plots.roofline(FOUND, KNOWN), plots.BOUND), 0)


class All(unittest.TestCase):
    def test_no_rows_have_no_plots(self):
        for rows in ({}, {"softmax/fixed/M=1 N=2": {"failed": "why"}},
                     {"unknown/random/M=1 N=2": measured(1.0)}):
            for name, plot in plots.PLOTS.items():
                with self.subTest(name):
                    self.assertIsNone(plot(file_of(rows), KNOWN))

    def test_each_plot_has_a_title_and_is_the_same_again(self):
        self.assertEqual(list(plots.TITLES), list(plots.PLOTS))
        for name, plot in plots.PLOTS.items():
            self.assertIn(f"{plots.TITLES[name]}, GPU", words_of(plot(FOUND, KNOWN)))
            self.assertEqual(plot(FOUND, KNOWN), plot(FOUND, KNOWN))


if __name__ == "__main__":
    unittest.main()
