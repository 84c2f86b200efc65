"""Tests bench/loop_times.py, without a GPU."""

import json
import math
import pathlib
import random
import re
import sys
import tempfile
import types
import unittest
from unittest import mock

from bench import elementwise_times, main
from bench import loop_times as times

# Terms that a hand can add: each constant has digits of its own.
SIMPLE = dict(launch=1_000_000, rest=10_000, of_thread_alone=1, of_element=0.001, multiplied=0.0001,
              of_loaded_byte=0.00001, bytes_per_ns=64)
SMALL, LARGE = ("warp-specialized, 3 blocks per SM", [64, 64]), ("warp-specialized", [128, 128])


def image_of(schedule, choice, ns=1000, specialization=""):
    return dict(schedule=schedule, choice=choice, specialization=specialization, ns=ns)


def attention(m, n, d=64, seen="all", heads=1, batches=1, images=()):
    return dict(family="attention", shape=dict(D=d, SEEN=seen),
                arguments=dict(M=m, N=n, heads=heads, batches=batches), images=images)


def matmul_glu(m, n, k, images=()):
    return dict(family="matmul_glu", shape={}, arguments=dict(M=m, N=n, K=k), images=images)


def cost_of(row, choice, at_once, constants):
    (work, blocks, _), = times.problem_of(dict(row, images=[image_of(schedule_of(at_once), choice)])).images
    return times.cost(work, blocks, constants)


def schedule_of(at_once):
    return "warp-specialized" + (f", {at_once} blocks per SM" if at_once > 1 else "")


def measured(true, rows):
    """Problems whose images take as long as the constants `true` say."""
    problems = [times.problem_of(dict(row, images=[image_of(*SMALL), image_of(*LARGE)])) for row in rows]
    return [times.Problem(each.family, [(work, at_once, times.cost(work, at_once, true))
                                        for work, at_once, _ in each.images]) for each in problems]


def timed(row, *ns):
    """The problem whose small and large image take so long."""
    images = [image_of(*image, each) for image, each in zip((SMALL, LARGE), ns, strict=True)]
    return times.problem_of(dict(row, images=images))


class Costs(unittest.TestCase):
    def test_blocks_of_a_schedule(self):
        self.assertEqual(times.blocks_of("warp-specialized, 3 blocks per SM"), 3)
        self.assertEqual(times.blocks_of("warp-specialized"), 1)
        for other in ("multistage wgmma", "baseline", "64x64x64 warp-specialized", "warp-specialized, without TMA",
                      "warp-specialized, 3 blocks per SM, split loop, partials"):
            self.assertIsNone(times.blocks_of(other), other)

    def test_the_tuned_axes_are_those_of_the_kernels(self):
        folder = main.ROOT / "kernels"
        for family, (axes, _) in times.WORK.items():
            source = (folder / f"{family}.tc").read_text()
            known = elementwise_times.axes_of(source, lambda name: (folder / name).read_text())
            self.assertEqual(known[1], list(axes), family)
        self.assertEqual(set(times.WORK) - {family.name for family in main.families()}, set())

    def test_cost_of_one_wave(self):
        """A block per SM, 4 iterations. 128 threads compute 24,576 elements, and multiply 524,288 pairs."""
        iteration = 24576 / 128 * 1 + 24576 * 0.001 + 524288 * 0.0001 + 16384 * 0.00001
        around = 10_000 + (8 * 64 * 64 + 4 * 64) / 64
        self.assertAlmostEqual(cost_of(attention(64 * 132, 256), [64, 64], 1, SIMPLE),
                               1_000_000 + around + 4 * iteration)
        # 256 threads compute a tile of 128 x 128.
        iteration = 90112 / 256 * 1 + 90112 * 0.001 + 2097152 * 0.0001 + 32768 * 0.00001
        around = 10_000 + (8 * 128 * 64 + 4 * 128) / 64
        self.assertAlmostEqual(cost_of(attention(128 * 132, 200), [128, 128], 1, SIMPLE),
                               1_000_000 + around + 2 * iteration)

    def test_cost_of_two_products(self):
        """132 tiles of 128 x 64, 3 iterations, the last one with few columns. An iteration loads a tile of A and
        two of the weights."""
        iteration = 2 * 128 * 64 * 32 * 0.0001 + 2 * (128 + 2 * 64) * 32 * 0.00001
        around = 10_000 + (2 * (128 + 2 * 64) * 32 + 2 * 128 * 64) / 64
        self.assertAlmostEqual(cost_of(matmul_glu(128 * 11 - 5, 64 * 12 - 7, 65), [128, 64, 32], 1, SIMPLE),
                               1_000_000 + around + 3 * iteration)
        # Two waves of two blocks per SM, and three blocks of the busiest SM.
        iteration, around = 3 * iteration, 2 * 10_000 + 3 * (around - 10_000)
        self.assertAlmostEqual(cost_of(matmul_glu(128 * 265, 64, 96), [128, 64, 32], 2, SIMPLE),
                               1_000_000 + around + 3 * iteration)

    def test_threads_of_a_tile(self):
        self.assertEqual([times.threads_of(rows) for rows in (16, 64, 128, 256)], [128, 128, 256, 512])

    def test_cost_counts_waves_and_the_busiest_sm(self):
        def cost(programs, at_once, **only):
            constants = dict.fromkeys(SIMPLE, 0) | dict(bytes_per_ns=math.inf) | only
            return cost_of(attention(64 * programs, 64), [64, 64], at_once, constants)

        for programs, at_once, waves, busiest in ((1, 1, 1, 1), (132, 1, 1, 1), (133, 1, 2, 2), (133, 2, 1, 2),
                                                  (264, 2, 1, 2), (265, 2, 2, 3), (1000, 3, 3, 8)):
            self.assertEqual(cost(programs, at_once, rest=1), waves, programs)
            self.assertEqual(cost(programs, at_once, of_thread_alone=128 / 24576), waves, programs)
            self.assertAlmostEqual(cost(programs, at_once, of_element=1 / 24576), busiest)
            self.assertAlmostEqual(cost(programs, at_once, multiplied=1 / 524288), busiest)
            self.assertAlmostEqual(cost(programs, at_once, of_loaded_byte=1 / 16384), busiest)
            self.assertEqual(cost(programs, at_once, bytes_per_ns=8 * 64 * 64 + 4 * 64), busiest)
            self.assertEqual(cost(programs, at_once, launch=7), 7)

    def test_cost_counts_programs_of_heads_and_batches(self):
        def cost(row):
            return cost_of(row, [64, 64], 2, SIMPLE)

        self.assertEqual(cost(attention(64 * 30, 640)), cost(attention(64 * 5, 640, heads=2, batches=3)))
        self.assertEqual(cost(attention(1, 640)), cost(attention(64, 640)))

    def test_cost_of_causal_attention_has_the_mean_of_first_and_last_program(self):
        def iterations(m, n, seen="causal"):
            only = dict.fromkeys(SIMPLE, 0) | dict(bytes_per_ns=math.inf, of_thread_alone=128 / 24576)
            return cost_of(attention(m, n, seen=seen), [64, 64], 132, only)

        self.assertEqual(iterations(64 * 8, 64 * 8), (1 + 8) / 2)
        self.assertEqual(iterations(64 * 8, 64 * 8, "all"), 8)
        self.assertEqual(iterations(64 * 2, 64 * 10), (9 + 10) / 2)  # earlier keys
        self.assertEqual(iterations(1, 640), (10 + 10) / 2)          # one query sees all keys
        self.assertEqual(iterations(64 * 4, 64), (0 + 1) / 2)        # the first queries see no key


class Measure(unittest.TestCase):
    def measured(self, *kernels):
        """The families of the lines that measure() writes."""
        def measure_shape(family, shape, library, timer):
            return dict(family=family.name) if shape else self.fail("no shape")

        library = types.SimpleNamespace(kernels=kernels)
        with (tempfile.TemporaryDirectory() as folder,
              mock.patch.dict(sys.modules, {"bench.timing": types.SimpleNamespace(Timer=object)}),
              mock.patch("bench.kernels.Library", lambda folder: library),
              mock.patch.object(elementwise_times, "measure_shape", measure_shape)):
            path = pathlib.Path(folder, "times.jsonl")
            times.measure("library", path, 0.1)
            return [json.loads(line)["family"] for line in path.read_text().splitlines()]

    def test_the_families_of_the_library_take_turns(self):
        found = self.measured("attention_half_64_all", "matmul_glu_half_silu_N_T", "matmul_half_N_T")
        self.assertEqual(set(found[::2]), {"attention"})
        self.assertEqual(set(found[1::2]), {"matmul_glu"})
        self.assertEqual(set(self.measured("attention_half_64_all", "glu_half_silu")), {"attention"})


class Fit(unittest.TestCase):
    row = attention(4096, 4096, heads=16)

    def costs(self):
        return [cost_of(self.row, [64, 64], 3, times.TIMES), cost_of(self.row, [128, 128], 1, times.TIMES)]

    def test_losses_are_the_choice_and_the_error(self):
        """The larger tile costs less, but takes twice as long. The costs are more than the times."""
        small, large = self.costs()
        self.assertGreater(small, large)
        fast = large / 4
        choice, error = times.losses([timed(self.row, fast, 2 * fast)], times.TIMES)["attention"]
        self.assertAlmostEqual(choice, math.log(2))
        self.assertAlmostEqual(error, (math.log(small / fast) + math.log(2)) / 2)
        problem = timed(self.row, 2 * small, large / 4)
        choice, error = times.losses([problem], times.TIMES)["attention"]
        self.assertEqual(choice, 0)
        self.assertAlmostEqual(error, (math.log(2) + math.log(4)) / 2)
        self.assertAlmostEqual(times.score([problem], times.TIMES), error / 50)

    def test_the_families_count_the_same(self):
        fast = min(self.costs()) / 4
        wrong, right = timed(self.row, fast, 2 * fast), timed(self.row, *self.costs())
        other = times.Problem("matmul_glu", right.images)
        self.assertEqual(times.losses([wrong, other, other], times.TIMES)["matmul_glu"], (0, 0))
        self.assertAlmostEqual(times.score([wrong, other, other, other], times.TIMES),
                               times.score([wrong], times.TIMES) / 2)

    def test_fit_finds_a_longer_rest(self):
        rows = [attention(m, n, d, seen, heads) for m in (64, 700, 5000) for n in (64, 900, 8000) for d in (64, 128)
                for seen in ("all", "causal") for heads in (1, 40) if m <= n or seen == "all"]
        problems = measured(dict(times.TIMES, rest=6000), rows)
        found = times.fit(problems, 0.5, random.Random(1))
        self.assertLess(times.score(problems, found), times.score(problems, times.TIMES) / 2)
        self.assertGreater(found["rest"], times.TIMES["rest"])

    def test_fit_prefers_the_tile_that_is_faster(self):
        _, large = self.costs()
        problem = timed(self.row, large / 1.1, large)
        self.assertGreater(times.losses([problem], times.TIMES)["attention"][0], 0)
        found = times.fit([problem], 0.5, random.Random(1))
        self.assertEqual(times.losses([problem], found)["attention"][0], 0)

    def test_read_skips_shapes_with_one_image_and_other_schedules(self):
        other, small = image_of("multistage wgmma", [64, 64], 9), image_of(*SMALL, 8)
        large = image_of(*LARGE, 7)
        rows = ([small, other, large], [small, other], [other, other], [small], [])
        rows = [attention(64 + i, 64, images=images) for i, images in enumerate(rows)]
        tiles = [image_of("warp-specialized", [64, tn, 64], ns, condition)
                 for tn, ns, condition in ((64, 6, ""), (64, 5, "K % 8"), (128, 4, ""))]
        rows.append(matmul_glu(64, 64, 64, tiles))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "times.jsonl")
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            of_attention, of_glu = times.read(path)
        self.assertEqual([(at_once, ns) for _, at_once, ns in of_attention.images], [(3, 8), (1, 7)])
        self.assertEqual([(work.threads, ns) for work, _, ns in of_attention.images], [(128, 8), (256, 7)])
        self.assertEqual(of_glu.family, "matmul_glu")
        self.assertEqual([ns for _, _, ns in of_glu.images], [5, 4])  # without general code where other code runs

    def test_constants_are_those_of_the_compiler(self):
        table = (main.ROOT / "generator/target/cost_tables.cpp").read_text()
        found = re.search(r"\.loops = \{(.*?)\}", table, re.DOTALL)[1]
        self.assertEqual({name: float(value) for name, value in re.findall(r"\.(\w+) = ([\d.]+)", found)}, times.TIMES)


if __name__ == "__main__":
    unittest.main()
