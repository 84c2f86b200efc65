"""Tests bench/matmul_times.py, without a GPU."""

import random
import re
import unittest

from bench import main
from bench import matmul_times as times


class MatmulTimesTest(unittest.TestCase):
    def test_tile_of_an_image(self):
        for text, name in (
                ("sm_90a / 64,64,32 / 128x128x64 warp-specialized, ping-pong", "128x128 ping-pong"),
                ("sm_90a / 64,64,32 / 64x64x128 warp-specialized, multicast 4 / K % 8", "64x64 multicast 4"),
                ("sm_90a / 64,64,32 / 128x256x64 warp-specialized, stream-K", "128x256 stream-K"),
                ("sm_90a / 64,64,32 / 64x128x64 warp-specialized, split-K partials", "64x128 partials"),
                ("sm_90a / 64,64,32 / 64x32x128 multistage wgmma", "64x32 multistage"),
                ("sm_90a / 64,64,32 / baseline", "baseline")):
            self.assertEqual(times.tile_of(text), name)

    def test_copies_count_rows_outside_of_a_box_of_the_operand(self):
        def copy_time(m, tile, layout="N_T", k=64):
            problem = dict(kind="masked", layout=layout, B=1, M=m, N=64, K=k)
            return times.copy_time(problem, 0, tile, dict(row=10, unaligned_row=15, outside_row=100))

        self.assertEqual(copy_time(128, 128), 1280)
        self.assertEqual(copy_time(32, 128), 32 * 10 + 32 * 100)  # the second box is left out
        self.assertEqual(copy_time(32, 32), 320)
        self.assertEqual(copy_time(128 + 64, 128), 960)           # the mean of two tiles
        self.assertEqual(copy_time(128, 128, k=72), 1920)         # rows along K
        self.assertEqual(copy_time(128, 128, "T_N", k=72), 1280)  # rows along M

    def test_cost_counts_waves_and_iterations(self):
        def cost(name, m, n, k):
            return times.cost(dict(kind="masked", layout="N_T", B=1, M=m, N=n, K=k), name, times.TILES, times.OTHERS)

        for name in (*times.TILES, "baseline"):
            self.assertLess(cost(name, 1024, 1024, 1024), cost(name, 8192, 8192, 1024))
            self.assertLess(cost(name, 1024, 1024, 1024), cost(name, 1024, 1024, 8192))
        self.assertLess(cost("128x256", 4096, 4096, 4096), cost("64x64", 4096, 4096, 4096))
        self.assertLess(cost("64x128 partials", 64, 64, 16384), cost("64x64", 64, 64, 16384))
        for tiles, is_better in ((130, False), (132, False), (140, True), (260, False), (300, True)):
            self.assertEqual(cost("128x256 stream-K", 128, 256 * tiles, 8192) < cost("128x256", 128, 256 * tiles, 8192),
                             is_better, tiles)

    def test_cost_of_copies_counts_waves_of_resident_blocks(self):
        def cost(m, k, registers):
            image = dict(choice=[64, 64, 32], threads=128, registers=registers, shared=8192, spilled=0)
            return times.cost_of_copies(dict(kind="odd", B=1, M=m, N=64 * 132, K=k), image, times.COPIES)

        self.assertEqual(cost(64, 33, 128), cost(64, 33, 64))  # one wave in both cases
        self.assertLess(cost(64 * 8, 33, 64), cost(64 * 8, 33, 128))
        self.assertLess(cost(64, 31, 128), cost(64, 33, 128))

    def test_fit_of_odd_sizes_finds_a_longer_iteration(self):
        image = dict(choice=[64, 64, 32], threads=128, registers=128, shared=8192, spilled=3)
        true = dict(times.COPIES, iteration=3000)
        problems = [dict(kind="odd", B=1, M=m, N=777, K=k, times={"64x64 without TMA": 1e5}) for m in (65, 999, 5001) for k in (33, 555, 4001)]
        for problem in problems:
            problem["copies"] = [dict(image, us=times.cost_of_copies(problem, image, true) / 1000)]
        found, _, loss = times.fit_copies(problems, times.COPIES, times.BY_THREADS, 0.5, random.Random(1))
        self.assertLess(loss[1], times.loss_of_copies(problems, times.COPIES, times.BY_THREADS)[1])
        self.assertGreater(found["iteration"], times.COPIES["iteration"])

    def test_fit_of_gathers_finds_the_time_of_a_thread(self):
        """Two tiles with the same products; one has more threads."""
        problems = []
        for m in (1000, 30000, 60000, 90000):
            problem = dict(kind="chunks", B=1, M=m, N=64, K=576, copies=[])
            for choice, threads in (((64, 64, 32), 128), ((64, 64, 32), 256)):
                image = dict(choice=choice, threads=threads, registers=64, shared=40000, spilled=0)
                true = dict(times.GATHERED, thread=2000)
                problem["copies"].append(dict(image, us=times.cost_of_copies(problem, image, true) / 1000))
            problems.append(problem)
        found, _, loss = times.fit_copies(problems, times.GATHERED, {}, 0.5, random.Random(1))
        self.assertLess(loss[1], times.loss_of_copies(problems, times.GATHERED, {})[1])
        self.assertGreater(found["thread"], times.GATHERED["thread"])

    def test_an_image_with_a_specialization_runs_where_it_holds(self):
        class Image:
            def __init__(self, specialization):
                self.info = type("Info", (), dict(specialization=specialization))

        problem = dict(C=24, N=20, window=3, side=40, P=40)
        for specialization, expected in ((None, True), (b"C % 8", True), (b"C % 8 && P % 8", True),
                                         (b"C % 8 && K % 8", False), (b"C % 16", False)):
            self.assertEqual(times.holds(Image(specialization), problem), expected)

    def test_convolutions_of_a_kind(self):
        generator = random.Random(3)
        for kind in ("chunks", "elements"):
            for _ in range(200):
                problem = times.drawn_convolution(generator, kind)
                copies_chunks = problem["layout"] == "nhwc" and problem["C"] % 8 == 0
                self.assertEqual(copies_chunks, kind == "chunks")
                self.assertEqual(problem["K"], problem["C"] * problem["window"]**2)

    def test_constants_of_copies_are_those_of_the_compiler(self):
        table = (main.ROOT / "generator/target/cost_tables.cpp").read_text()
        found = re.search(r"\.copies = \{(.*?)\}", table)[1]
        self.assertEqual([float(each) for each in found.split(",")], list(times.COPIES.values()))
        for field, constants in (("gathered", times.GATHERED), ("gathered_copies", times.GATHERED_COPIES)):
            found = re.search(rf"\.{field} = \{{(.*?)\}}", table)[1]
            self.assertEqual([float(each) for each in found.split(",")],
                             [constants.get(name, 0) for name in times.COPIES])
        for name, (step, rest) in (*times.BY_THREADS.items(), *times.GATHERED_BY_THREADS.items()):
            self.assertRegex(table, rf"{{{{{name.replace('x', ', ')}, 1}}, {step}, {rest}, [48]}}")

    def test_constants_of_tiles_are_those_of_the_compiler(self):
        table = (main.ROOT / "generator/target/cost_tables.cpp").read_text()
        for name, (step, rest, least) in times.TILES.items():
            rows, columns = name.split()[0].split("x")
            split_k = ", 4" if "split-K 4" in name else ""
            multicast = re.search(r"multicast (\d)", name)
            more = (f", 0, 1, 0, 1, {least}" if "stream-K" in name else f", 0, 2, {least}" if least else
                    f", 0, 1, 0, {multicast[1]}" if multicast else "")
            self.assertRegex(table, rf"{{{{{rows}, {columns}, [12]{split_k}}}, {step}, {rest}{more}}}")
        fields = dict(row="row_time", unaligned_row="unaligned_row_time", outside_row="outside_row_time")
        for name, value in times.OTHERS.items():
            self.assertIn(f".{fields.get(name, name)} = {value},", table)
        boxes = (main.ROOT / "generator/target/tma_boxes.h").read_text()
        self.assertIn(f"predicated_box_rows = {times.BOX_ROWS};", boxes)

    def test_fit_prefers_the_tile_that_is_faster(self):
        problem = dict(kind="masked", layout="N_T", B=1, M=128, N=128, K=256, times={"64x64": 9.0, "64x32": 4.0})
        tiles, others, best = times.fit([problem], 0.2, random.Random(1))
        self.assertLess(times.cost(problem, "64x32", tiles, others), times.cost(problem, "64x64", tiles, others))
        self.assertLess(best, 0.1)

    def test_fit_of_a_tile_keeps_all_other_constants(self):
        problem = dict(kind="masked", layout="N_T", B=1, M=128, N=128, K=256, times={"64x64": 4.0, "64x32": 9.0})
        tiles, others, _ = times.fit([problem], 0.2, random.Random(1), ["64x32"])
        self.assertNotEqual(tiles.pop("64x32"), times.TILES["64x32"])
        self.assertEqual(tiles, {name: each for name, each in times.TILES.items() if name != "64x32"})
        self.assertEqual(others, times.OTHERS)


if __name__ == "__main__":
    unittest.main()
