"""Tests bench/loop_times.py, without a GPU."""

import json
import math
import pathlib
import random
import re
import tempfile
import unittest

from bench import loop_times as times
from bench import main

# Terms that a hand can add: each constant has digits of its own.
SIMPLE = dict(launch=1_000_000, rest=10_000, of_thread_alone=1, of_element=0.001, multiplied=0.0001, bytes_per_ns=64)


def problem_of(m, n, d=64, seen="all", heads=1, batches=1):
    return dict(shape=dict(D=d, SEEN=seen), arguments=dict(M=m, N=n, heads=heads, batches=batches))


def image_of(schedule, tile=64, ns=1000):
    return dict(schedule=schedule, choice=[tile, tile], ns=ns)


def measured(true, shapes):
    """Problems whose images take as long as the constants `true` say."""
    tiles = ((64, 3), (128, 1))
    return [dict(problem, times=[(tile, times.cost(problem, *tile, true)) for tile in tiles])
            for problem in (problem_of(*shape) for shape in shapes)]


class LoopTimesTest(unittest.TestCase):
    def test_tile_of_an_image(self):
        self.assertEqual(times.tile_of(image_of("warp-specialized, 3 blocks per SM")), (64, 3))
        self.assertEqual(times.tile_of(image_of("warp-specialized", 128)), (128, 1))
        self.assertIsNone(times.tile_of(image_of("multistage wgmma")))
        self.assertIsNone(times.tile_of(image_of("baseline")))

    def test_cost_of_one_wave(self):
        """A block per SM, 4 iterations. 128 threads compute 24,576 elements, and multiply 524,288 pairs."""
        iteration = 24576 / 128 * 1 + 24576 * 0.001 + 524288 * 0.0001
        around = 10_000 + (8 * 64 * 64 + 4 * 64) / 64
        self.assertAlmostEqual(times.cost(problem_of(64 * 132, 256), 64, 1, SIMPLE), 1_000_000 + around + 4 * iteration)
        # 256 threads compute a tile of 128 x 128.
        iteration = 90112 / 256 * 1 + 90112 * 0.001 + 2097152 * 0.0001
        around = 10_000 + (8 * 128 * 64 + 4 * 128) / 64
        self.assertAlmostEqual(times.cost(problem_of(128 * 132, 200), 128, 1, SIMPLE),
                               1_000_000 + around + 2 * iteration)

    def test_cost_counts_waves_and_the_busiest_sm(self):
        def cost(programs, at_once, **only):
            constants = dict.fromkeys(SIMPLE, 0) | dict(bytes_per_ns=math.inf) | only
            return times.cost(problem_of(64 * programs, 64), 64, at_once, constants)

        for programs, at_once, waves, busiest in ((1, 1, 1, 1), (132, 1, 1, 1), (133, 1, 2, 2), (133, 2, 1, 2),
                                                  (264, 2, 1, 2), (265, 2, 2, 3), (1000, 3, 3, 8)):
            self.assertEqual(cost(programs, at_once, rest=1), waves, programs)
            self.assertEqual(cost(programs, at_once, of_thread_alone=128 / 24576), waves, programs)
            self.assertAlmostEqual(cost(programs, at_once, of_element=1 / 24576), busiest)
            self.assertAlmostEqual(cost(programs, at_once, multiplied=1 / 524288), busiest)
            self.assertEqual(cost(programs, at_once, bytes_per_ns=8 * 64 * 64 + 4 * 64), busiest)
            self.assertEqual(cost(programs, at_once, launch=7), 7)

    def test_cost_counts_programs_of_heads_and_batches(self):
        self.assertEqual(times.cost(problem_of(64 * 30, 640), 64, 2, SIMPLE),
                         times.cost(problem_of(64 * 5, 640, heads=2, batches=3), 64, 2, SIMPLE))
        self.assertEqual(times.cost(problem_of(1, 640), 64, 2, SIMPLE), times.cost(problem_of(64, 640), 64, 2, SIMPLE))

    def test_cost_of_causal_attention_has_the_mean_of_first_and_last_program(self):
        def iterations(m, n, seen="causal"):
            only = dict.fromkeys(SIMPLE, 0) | dict(bytes_per_ns=math.inf, of_thread_alone=128 / 24576)
            return times.cost(problem_of(m, n, seen=seen), 64, 132, only)

        self.assertEqual(iterations(64 * 8, 64 * 8), (1 + 8) / 2)
        self.assertEqual(iterations(64 * 8, 64 * 8, "all"), 8)
        self.assertEqual(iterations(64 * 2, 64 * 10), (9 + 10) / 2)  # earlier keys
        self.assertEqual(iterations(1, 640), (10 + 10) / 2)          # one query sees all keys
        self.assertEqual(iterations(64 * 4, 64), (0 + 1) / 2)        # the first queries see no key

    def test_losses_are_the_choice_and_the_error(self):
        """The larger tile costs less, but takes twice as long. The costs are half and four times the times."""
        problem = problem_of(4096, 4096, heads=16)
        small, large = ((64, 1), (128, 1))
        costs = [times.cost(problem, *tile, times.TIMES) for tile in (small, large)]
        self.assertGreater(*costs)
        fast = min(costs) / 4
        problem["times"] = [(small, fast), (large, 2 * fast)]
        choice, error = times.losses([problem], times.TIMES)
        self.assertAlmostEqual(choice, math.log(2))
        self.assertAlmostEqual(error, (math.log(costs[0] / fast) + math.log(2)) / 2)
        problem["times"] = [(small, 2 * costs[0]), (large, costs[1] / 4)]
        choice, error = times.losses([problem], times.TIMES)
        self.assertEqual(choice, 0)
        self.assertAlmostEqual(error, (math.log(2) + math.log(4)) / 2)
        self.assertAlmostEqual(times.score([problem], times.TIMES), error / 50)

    def test_fit_finds_a_longer_rest(self):
        shapes = [(m, n, d, seen, heads) for m in (64, 700, 5000) for n in (64, 900, 8000) for d in (64, 128)
                  for seen in ("all", "causal") for heads in (1, 40) if m <= n or seen == "all"]
        problems = measured(dict(times.TIMES, rest=6000), shapes)
        found = times.fit(problems, 0.5, random.Random(1))
        self.assertLess(times.score(problems, found), times.score(problems, times.TIMES) / 2)
        self.assertGreater(found["rest"], times.TIMES["rest"])

    def test_fit_prefers_the_tile_that_is_faster(self):
        problem = problem_of(4096, 4096, heads=16)
        cost = times.cost(problem, 64, 3, times.TIMES)
        problem["times"] = [((64, 3), cost), ((128, 1), cost / 1.1)]
        self.assertGreater(times.losses([problem], times.TIMES)[0], 0)
        found = times.fit([problem], 0.5, random.Random(1))
        self.assertEqual(times.losses([problem], found)[0], 0)

    def test_read_skips_shapes_with_one_image_and_other_schedules(self):
        other, small = image_of("multistage wgmma", 64, 9), image_of("warp-specialized, 3 blocks per SM", 64, 8)
        large = image_of("warp-specialized", 128, 7)
        rows = ([small, other, large], [small, other], [other, other], [small], [])
        shapes = [dict(shape=i, images=images) for i, images in enumerate(rows)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "times.jsonl")
            path.write_text("".join(json.dumps(shape) + "\n" for shape in shapes))
            found = times.read(path)
        self.assertEqual([problem["shape"] for problem in found], [0])
        self.assertEqual(found[0]["times"], [((64, 3), 8), ((128, 1), 7)])

    def test_constants_are_those_of_the_compiler(self):
        table = (main.ROOT / "generator/target/cost_tables.cpp").read_text()
        found = re.search(r"\.loops = \{(.*?)\}", table, re.DOTALL)[1]
        self.assertEqual({name: float(value) for name, value in re.findall(r"\.(\w+) = ([\d.]+)", found)}, times.TIMES)


if __name__ == "__main__":
    unittest.main()
