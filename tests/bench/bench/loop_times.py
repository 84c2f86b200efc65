"""Measures all images of attention on random shapes, and fits LoopTimes of generator/target/cost_tables.cpp.

    python3 -m bench.loop_times measure LIBRARY OUT SECONDS    # on a GPU: a line per shape
    python3 -m bench.loop_times fit OUT SECONDS                # no GPU: prints the constants

`cost` has the form of generator/schedule/loop_cost_model.cpp. The fit uses half of the shapes. It changes one
constant at a time, and keeps what makes the images with low costs faster, and the costs more exact.

Measuring needs PyTorch and a GPU, the rest is pure Python.
"""

import json
import math
import random
import re
import sys
import time

SMS = 132
TIMES = {"launch": 4390, "rest": 2030, "of_thread_alone": 0.508, "of_element": 0.00307, "multiplied": 0.000336,
         "bytes_per_ns": 153}


def divided(a, b):
    return -(-a // b)


# --- Measuring -------------------------------------------------------------------------------------------


def measure(folder, out, seconds):
    from bench import elementwise_times, rows
    from bench.families.attention import Attention
    from bench.kernels import Library
    from bench.timing import Timer

    family, library, timer = Attention(), Library(folder), Timer()
    sizes, end = rows.Sizes(random.Random(time.time_ns())), time.monotonic() + seconds
    with open(out, "w", encoding="utf-8") as file:
        while time.monotonic() < end:
            shape = family.random(sizes)
            found = shape and elementwise_times.measure_shape(family, shape, library, timer)
            if found:
                file.write(json.dumps(found) + "\n")


# --- Costs -----------------------------------------------------------------------------------------------


def tile_of(image):
    """The tile of an image, and the blocks of an SM; None: it has another schedule."""
    if not image["schedule"].startswith("warp-specialized"):
        return None
    blocks = re.search(r"(\d+) blocks per SM", image["schedule"])
    return image["choice"][-1], int(blocks[1]) if blocks else 1


def cost(problem, tile, at_once, times):
    """The estimated ns of a launch whose programs have `tile` queries and keys, and `at_once` blocks per SM."""
    numbers, shape = problem["arguments"], problem["shape"]
    m, n, d = numbers["M"], numbers["N"], shape["D"]
    along_m = divided(m, tile)
    programs = along_m * numbers["heads"] * numbers["batches"]
    is_causal = shape["SEEN"] == "causal"
    ends = [min(n, program * tile + tile + n - m) if is_causal else n for program in (0, along_m - 1)]
    iterations = sum(max((tile - 1 + end) // tile, 0) for end in ends) / 2
    operations, products = 5 * tile**2 + tile * d, 2 * tile**2 * d
    waves, busiest = divided(programs, SMS * at_once), divided(programs, SMS)
    threads = 128 * tile // 64
    of_iteration = (waves * operations / threads * times["of_thread_alone"]
                    + busiest * (operations * times["of_element"] + products * times["multiplied"]))
    return (times["launch"] + waves * times["rest"] + iterations * of_iteration
            + busiest * (8 * tile * d + 4 * tile) / times["bytes_per_ns"])


def losses(problems, times):
    """The mean logs of: the time of the image with the lowest cost / the lowest time; the costs' error."""
    chosen, errors = [], []
    for problem in problems:
        costs = [(cost(problem, *tile, times), ns) for tile, ns in problem["times"]]
        chosen.append(math.log(min(costs)[1] / min(ns for _, ns in costs)))
        errors += [abs(math.log(estimated / ns)) for estimated, ns in costs]
    return sum(chosen) / len(chosen), sum(errors) / len(errors)


def score(problems, times):
    choices, error = losses(problems, times)
    return choices + error / 50


def fit(problems, seconds, generator):
    times = dict(TIMES)
    best, end = score(problems, times), time.monotonic() + seconds
    while time.monotonic() < end:
        name = generator.choice(list(times))
        before = times[name]
        times[name] = before * math.exp(generator.uniform(-0.3, 0.3))
        found = score(problems, times)
        if found < best:
            best = found
        else:
            times[name] = before
    return times


def read(path):
    """The shapes with at least two images with costs."""
    problems = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            problem = json.loads(line)
            problem["times"] = [(tile_of(image), image["ns"]) for image in problem["images"] if tile_of(image)]
            if len(problem["times"]) > 1:
                problems.append(problem)
    return problems


def main(arguments):
    if arguments[0] == "measure":
        return measure(arguments[1], arguments[2], float(arguments[3]))
    problems = read(arguments[1])
    random.Random(1).shuffle(problems)
    half = len(problems) // 2
    times = fit(problems[:half], float(arguments[2]), random.Random(1))
    print(*(f"{name} {value:.4g}" for name, value in times.items()))
    choices, error = losses(problems[half:], times)
    print(f"{len(problems) - half} shapes without a part in the fit: the image with the lowest cost takes "
          f"{math.exp(choices):.3f} times as long as the fastest; mean error of a cost {error:.3f}")
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
