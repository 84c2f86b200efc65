"""Measures all images of attention and matmul_glu on random shapes, and fits LoopTimes of
generator/target/cost_tables.cpp.

    python3 -m bench.loop_times measure LIBRARY OUT SECONDS    # on a GPU: a line per shape
    python3 -m bench.loop_times fit OUT SECONDS                # no GPU: prints the constants

`cost` has the form of generator/schedule/loop_cost_model.cpp. The fit uses half of the shapes. It changes one
constant at a time, and keeps what makes the images with low costs faster, and the costs more exact. Both
families count the same.

Measuring needs PyTorch and a GPU, the rest is pure Python.
"""

import dataclasses
import itertools
import json
import math
import random
import re
import sys
import time

from bench import elementwise_times

SMS = 132
TIMES = {"launch": 4390, "rest": 2030, "of_thread_alone": 0.508, "of_element": 0.00307, "multiplied": 0.000336,
         "of_loaded_byte": 0.001, "bytes_per_ns": 153}


def divided(a, b):
    return -(-a // b)


# --- Measuring -------------------------------------------------------------------------------------------


def measure(folder, out, seconds):
    """Shapes of the families whose kernels the library has, in turns."""
    from bench import families, rows
    from bench.kernels import Library
    from bench.timing import Timer

    library, timer, generator = Library(folder), Timer(), random.Random(time.time_ns())
    known = [family for family in families.families() if family.name in WORK
             and any(kernel.startswith(f"{family.name}_") for kernel in library.kernels)]
    end = time.monotonic() + seconds
    with open(out, "w", encoding="utf-8") as file:
        for family in itertools.cycle(known):
            if time.monotonic() >= end:
                break
            shape = None
            while shape is None:
                shape = family.random(rows.Sizes(generator))
            found = elementwise_times.measure_shape(family, shape, library, timer)
            if found:
                file.write(json.dumps(found) + "\n")


# --- Costs -----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Work:
    """What an image does for a problem."""

    programs: int
    threads: int       # of a block, that compute
    iterations: float  # the mean of the first program and of the last one
    operations: int    # of an iteration: on elements
    products: int      # the same: multiplications by tensor cores
    loaded: int        # the same: bytes
    around: int        # bytes before and after the loop


def threads_of(rows):
    """The threads that compute a tile with so many rows."""
    return 128 * max(rows // 64, 1)


def work_of_attention(shape, numbers, tile):
    m, n, d, tm, tn = numbers["M"], numbers["N"], shape["D"], tile["TM"], tile["TN"]
    along_m = divided(m, tm)
    is_causal = shape["SEEN"] == "causal"
    ends = [min(n, program * tm + tm + n - m) if is_causal else n for program in (0, along_m - 1)]
    return Work(programs=along_m * numbers["heads"] * numbers["batches"], threads=threads_of(tm),
                iterations=sum(max(divided(end, tn), 0) for end in ends) / 2, operations=5 * tm * tn + tm * d,
                products=2 * tm * tn * d, loaded=4 * tn * d, around=4 * (tm + tn) * d + 4 * tm)


def work_of_matmul_glu(shape, numbers, tile):
    tm, tn, tk = tile["TM"], tile["TN"], tile["TK"]
    loaded = 2 * (tm + 2 * tn) * tk
    return Work(programs=divided(numbers["M"], tm) * divided(numbers["N"], tn), threads=threads_of(tm),
                iterations=divided(numbers["K"], tk), operations=0, products=2 * tm * tn * tk, loaded=loaded,
                around=loaded + 2 * tm * tn)


# Family -> the names of its tuned axes, and the work of an image.
WORK = {"attention": (("TM", "TN"), work_of_attention), "matmul_glu": (("TM", "TN", "TK"), work_of_matmul_glu)}


def blocks_of(schedule):
    """The blocks of an SM; None: the schedule has another cost, as with several blocks per program."""
    found = re.fullmatch(r"warp-specialized(?:, (\d+) blocks per SM)?", schedule)
    return found and int(found[1] or 1)


def cost(work, at_once, times):
    """The estimated ns of a launch with `at_once` blocks per SM."""
    waves, busiest = divided(work.programs, SMS * at_once), divided(work.programs, SMS)
    of_iteration = (waves * work.operations / work.threads * times["of_thread_alone"]
                    + busiest * (work.operations * times["of_element"] + work.products * times["multiplied"]
                                 + work.loaded * times["of_loaded_byte"]))
    return (times["launch"] + waves * times["rest"] + work.iterations * of_iteration
            + busiest * work.around / times["bytes_per_ns"])


@dataclasses.dataclass(frozen=True)
class Problem:
    """A shape of a family, and its images: the work, the blocks per SM, the measured ns."""

    family: str
    images: list


def losses(problems, times):
    """Of each family, the mean logs of: the time of the image with the lowest cost / the lowest time; the costs'
    error."""
    chosen, errors = {}, {}
    for problem in problems:
        costs = [(cost(work, at_once, times), ns) for work, at_once, ns in problem.images]
        chosen.setdefault(problem.family, []).append(math.log(min(costs)[1] / min(ns for _, ns in costs)))
        errors.setdefault(problem.family, []).extend(abs(math.log(estimated / ns)) for estimated, ns in costs)
    return {family: (mean(chosen[family]), mean(errors[family])) for family in chosen}


def mean(values):
    return sum(values) / len(values)


def score(problems, times):
    return mean([choices + error / 50 for choices, error in losses(problems, times).values()])


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


def problem_of(row):
    """The problem of a line of the file."""
    axes, work_of = WORK[row["family"]]
    images = [(work_of(row["shape"], row["arguments"], dict(zip(axes, image["choice"], strict=True))),
               blocks_of(image["schedule"]), image["ns"])
              for image in elementwise_times.preferred(row["images"]) if blocks_of(image["schedule"])]
    return Problem(row["family"], images)


def read(path):
    """The problems with at least two images with costs."""
    with open(path, encoding="utf-8") as file:
        problems = [problem_of(json.loads(line)) for line in file]
    return [problem for problem in problems if len(problem.images) > 1]


def main(arguments):
    if arguments[0] == "measure":
        return measure(arguments[1], arguments[2], float(arguments[3]))
    problems = read(arguments[1])
    random.Random(1).shuffle(problems)
    half = len(problems) // 2
    times = fit(problems[:half], float(arguments[2]), random.Random(1))
    print(*(f"{name} {value:.4g}" for name, value in times.items()))
    print(f"{len(problems) - half} shapes without a part in the fit:")
    for family, (choices, error) in sorted(losses(problems[half:], times).items()):
        print(f"{family}: the image with the lowest cost takes {math.exp(choices):.3f} times as long as the fastest; "
              f"mean error of a cost {error:.3f}")
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
