"""Tests bench/elementwise_times.py."""

import pathlib
import unittest

from bench import elementwise_times as times_of
from bench import main

TIMES = {"launch": 100.0, "iteration": 7.0, "wait": 30.0, "reduction": 13.0, "exchange": 11.0,
         "exchanged_element": 0.25, "of_thread_alone": 0.5, "access": 25.0, "program": 3.0, "of_element": 0.002, "bytes_per_ns": 4000.0}


def launched(wave, work, bytes="get_num_programs(0) * 48", of_program=3):
    waves, busiest = (f"cdiv(get_num_programs(0), {sms})" for sms in ("sms * 2", "sms"))
    wave = f"({wave} + cdiv({bytes}, {busiest} * 4000))"
    busy = f"{busiest} * (cdiv({work} * 2000, 1000000) + {of_program})"
    return f"100 + max({waves} * {wave} + {busy}, cdiv({bytes}, 4000))"


# 64 threads: 1000000 * 0.5 / 64 = 7812.
WORK, ONCE = "(10 + N / 4 * 5000 + (N / 4 * 64 + 2) * 25)", "(64000 + 512 * 25)"
LOOPS = launched(f"cdiv({WORK} * 7812, 1000000) + N / 4 * 7 + N / 8 * 30 + 2 * 13", WORK)
NO_LOOPS = launched(f"cdiv({ONCE} * 7812, 1000000)", ONCE)
MEMORY = launched(f"cdiv({ONCE} * 7812, 1000000)", ONCE, "get_num_programs(0) * (N * 1000000)")
# A second launch, with a loop over partials.
SPLIT = LOOPS + (" + (2000 + (cdiv(get_num_programs(0), sms * 4) * (cdiv((64 + 8 * 25) * 7812, 1000000) + N / 16 * 7"
                 " + N / 16 * 30 + 1 * 13) + cdiv(get_num_programs(0), sms) * (cdiv((64 + 8 * 25) * 2000, 1000000) + 3)))")
LOOPS_IN_CLUSTER = LOOPS.replace("2 * 13", "2 * 13 + 2 * 11")
CLUSTER = launched(f"cdiv({ONCE} * 7812, 1000000) + 2 * 11", ONCE, of_program=3 + 4096 // 4)


def cost(programs, text):
    images = [{"schedule": "baseline", "launch": {"cost": text}}]
    manifest = {"kernels": [{"name": "f", "variants": [
        {"values": {"TYPE": "half", "SIZE": "64"}, "grid": [programs], "images": images}]}]}
    return times_of.costs_of(manifest, (["TYPE"], ["SIZE"]), TIMES)


def measured(ns, **arguments):
    return {"family": "f", "kernel": "f_half", "arguments": arguments, "sms": 10,
            "images": [{"choice": [64], "schedule": "baseline", "specialization": "", "ns": each} for each in ns]}


class Costs(unittest.TestCase):
    def test_prediction_is_the_cost_of_the_manifest(self):
        for text in (LOOPS, NO_LOOPS, MEMORY, SPLIT, LOOPS_IN_CLUSTER, CLUSTER):
            costs = cost("M", text)
            (_, images), = times_of.shapes_of([measured([5, 6], M=1000, N=40)], costs)
            names = {"cdiv": times_of.cdiv, "programs_0": 1000, "sms": 10, "N": 40}
            expected = eval(times_of.formula(text), names)
            # The host rounds each sum of operations up.
            self.assertAlmostEqual(times_of.predicted(TIMES, images[0][1]), expected, delta=0.02 * expected)
            self.assertEqual(images[0][1][0][-1], 2 if text in (LOOPS_IN_CLUSTER, CLUSTER) else 0)

    def test_images_without_a_cost_and_shapes_with_one_image_are_left_out(self):
        unknown = measured([5], M=1, N=4)
        unknown["images"][0]["schedule"] = "staged"
        self.assertEqual(times_of.shapes_of([unknown, measured([5], M=1, N=4)], cost("M", LOOPS)), [])

    def test_fit_has_no_general_code_where_specialized_code_runs(self):
        costs = cost("M", LOOPS)
        costs["f_half", (64,), "baseline", "N % 8"] = costs["f_half", (64,), "baseline", ""]
        row = measured([5, 6, 7], M=1, N=4)
        for image in row["images"][:2]:
            image["specialization"] = "N % 8"
        (_, images), = times_of.shapes_of([row], costs)
        self.assertEqual([ns for ns, _ in images], [5, 6])

    def test_axes_come_in_the_order_of_the_source(self):
        source = ("#pragma tritonc variant(TYPE: half, float)\n#pragma tritonc variant(OP: \\\n  sum, max)\n"
                  '#include "more.tch"\n#pragma tritonc tune(TQ: 8, 32) tune(TK: 32)\nvoid tune(int x);\n')
        more = "#pragma tritonc variant(AXIS: \\\n last, inner)\n"
        self.assertEqual(times_of.axes_of(source, lambda name: more), (["TYPE", "OP", "AXIS"], ["TQ", "TK"]))

    def test_constants_are_those_of_the_compiler(self):
        table = (main.ROOT / "generator/target/cost_tables.cpp").read_text()
        self.assertEqual(set(times_of.times_of_table(table)), set(TIMES))

    def test_families_exist(self):
        self.assertEqual(set(times_of.FAMILIES) - {family.name for family in main.families()}, set())


class Fit(unittest.TestCase):
    def shapes(self):
        """Two images per shape: one with much work and no loop, the other with little work and a loop. The
        true time of an iteration is 50 ns, not 7."""
        true = dict(TIMES, iteration=50.0)
        pairs = [([[64, 0, 0, 1, 1, 2000.0 * size, 0, 0, 0, 0, 0, 0]],
                  [[64, 0, 0, 1, 1, 200.0 * size, 0, 0, iterations, 0, 0, 0]])
                 for size in (10, 30, 100) for iterations in (2, 8, 32)]
        return [("f", [(times_of.predicted(true, each), each) for each in pair]) for pair in pairs]

    def test_finds_better_constants(self):
        shapes = self.shapes()
        before, after = times_of.loss(TIMES, shapes), times_of.loss(times_of.fit(shapes, TIMES, 3, 150), shapes)
        self.assertGreater(before[0], 1.02)
        self.assertLess(after[0], 1 + (before[0] - 1) / 2)

    def test_keeps_constants_that_are_right(self):
        shapes = self.shapes()
        true = dict(TIMES, iteration=50.0)
        self.assertEqual(times_of.loss(true, shapes), (1.0, 1.0))
        self.assertEqual(times_of.loss(times_of.fit(shapes, true, 3, 20), shapes), (1.0, 1.0))


if __name__ == "__main__":
    unittest.main()
