"""Measures all images of matmuls on random problems, and fits the tiles of generator/target/cost_tables.cpp.

    python3 -m bench.matmul_times measure LIBRARY OUT SECONDS   # on a GPU, in tests/bench: a line per problem
    python3 -m bench.matmul_times fit OUT SECONDS               # no GPU: prints the constants

`cost` has the form of generator/schedule/cost_model.cpp, for programs of 64 x 64. The problems are those of
layout NT, so rows that do not start at multiples of 32 bytes are common. The fit changes one constant at a
time, and keeps what makes the images with low costs faster; other constants of the model stay as they are.

Measuring needs PyTorch and a GPU, the rest is pure Python.
"""

import json
import math
import pathlib
import random
import re
import sys
import time

SMS, CLUSTER_GROUP = 132, 18
KINDS = ("matmul", "masked", "thin", "batched")
# step, rest and min_time of a tile, as in MeasuredTile
TILES = {
    "128x256": [804, 1354, 0], "128x256 multicast 2": [846, 1420, 0], "128x128 ping-pong": [390, 642, 1684],
    "64x128": [175, 638, 0], "128x64 ping-pong": [387, 1081, 852], "64x64": [178, 601, 0],
    "64x64 multicast 4": [228, 1471, 0], "64x32": [89, 492, 0], "64x64 split-K 4": [153, 3936, 0],
    "64x32 split-K 4": [94, 3052, 0], "64x128 partials": [288, 3980, 0], "128x128 partials": [527, 4460, 0],
    "64x32 multistage": [332, 1623, 0],
}
OTHERS = {"row": 1830, "unaligned_row": 2740, "reduction_bytes_per_ns": 1290, "reduction_bytes_per_block": 12,
          "baseline": 1.53}
LAUNCH, BYTES_PER_NS, BASELINE_LAUNCH, BASELINE_BYTES_PER_NS, REDUCTION_LAUNCH = 1300, 3800, 930, 3000, 2000


def divided(a, b):
    return -(-a // b)


# --- Measuring -------------------------------------------------------------------------------------------


def drawn(generator, kind):
    """A random problem of a kind: sizes are log-uniform, and multiples of 64 or 8."""
    def size(low, high, step):
        return max(step, round(low * (high / low) ** generator.random() / step) * step)

    while True:
        step = 64 if kind == "matmul" else 8
        low = (64, 64, 64) if kind == "matmul" else (16, 64, 32)
        m, n, k = (size(each, 16384, step) for each in low)
        batch = 1
        if kind == "thin":
            m, n, k = size(8, 128, 8), size(256, 32768, 8), size(64, 32768, 8)
            m, n = generator.choice([(m, n), (n, m)])
        elif kind == "batched":
            m, n, k = size(8, 2048, 8), size(16, 2048, 8), size(16, 2048, 8)
            batch = round(2 ** (generator.randint(4, 24) / 2))
        if 2**22 <= 2 * batch * m * n * k <= 2**39 and batch * (m * k + k * n + m * n) <= 2**29:
            return dict(kind=kind, B=batch, M=m, N=n, K=k)


def measure(folder, out, seconds):
    import torch

    from bench.kernels import Library, LaunchError
    from bench.timing import Timer

    library, timer, generator = Library(folder), Timer(), random.Random(time.time_ns())
    names = {"matmul": "matmul_half_N_T", "batched": "matmul_batched_half_N_T_aligned"}
    end = time.monotonic() + seconds
    with open(out, "w", encoding="utf-8") as file:
        while time.monotonic() < end:
            problem = drawn(generator, generator.choice(KINDS))
            b, m, n, k = (problem[name] for name in "BMNK")
            a, y, c = (torch.rand(b, *shape, device="cuda").half() for shape in ((m, k), (n, k), (m, n)))
            arguments = dict(A=a, B=y, C=c, M=m, N=n, K=k, lda=k, ldb=k, ldc=n)
            if problem["kind"] == "batched":
                arguments.update(BATCH=b, batch_a=m * k, batch_b=n * k, batch_c=m * n)
            kernel = library.kernel(names.get(problem["kind"], "matmul_masked_half_N_T_aligned"))
            launch, times = kernel.bind(**arguments), {}
            for image in kernel.images():
                kernel.object, name = image.object, tile_of(str(image))
                try:
                    launch()
                except LaunchError:
                    continue
                times[name] = min(times.get(name, math.inf), 1e6 * timer.quick(lambda _: launch()))
            file.write(json.dumps(dict(problem, times=times)) + "\n")


def tile_of(image):
    """The tile of an image's text, as in TILES; "baseline"; or another text."""
    schedule = image.split(" / ")[2]
    found = re.match(r"(\d+x\d+)x\d+ (.*)", schedule)
    if not found:
        return schedule
    words = found[2].replace("warp-specialized", "").replace("split-K partials", "partials").replace("wgmma", "")
    return " ".join((found[1] + " " + words.replace(",", " ")).split())


# --- The cost --------------------------------------------------------------------------------------------


def cost(problem, name, tiles, others):
    """The cost of a launch in ns."""
    b, m, n, k = (problem[key] for key in "BMNK")
    k = divided(k, 32) * 32
    programs = divided(m, 64) * divided(n, 64) * b
    bytes_of_all = 2 * b * (m * k + k * n + m * n)
    if name == "baseline":
        program = k * 2 // 128 * (47000 + 4096 * 32 + 128 * 160) + k // 32 * 40000 + 240000 + 4096 * 50
        steps = divided(programs, SMS) * program * others["baseline"] / 1000
        return BASELINE_LAUNCH + max(steps, bytes_of_all / BASELINE_BYTES_PER_NS) + steps / 16
    rows, columns = map(int, name.split()[0].split("x"))
    multicast, split_k = (int(dict(zip(name.split()[1::2], name.split()[2::2])).get(word, 1))
                          for word in ("multicast", "split-K"))
    step, rest, least = tiles[name]
    copied, cluster = [rows, columns], [rows, columns]
    copied[columns > rows] /= multicast
    cluster[columns <= rows] *= multicast
    if "multistage" not in name:
        row = others["row"] if k * 2 % 32 == 0 and problem["K"] * 2 % 32 == 0 else others["unaligned_row"]
        step = max(step, sum(copied) * row / 1000)
    count = divided(m, cluster[0]) * divided(n, cluster[1]) * b
    if "partials" in name:
        iterations = divided(k * 2, 128)
        wanted = max(1, min(SMS // count, iterations // 4))
        parts = divided(iterations, divided(iterations, wanted))
        reduction = max(count * parts * rows * columns * 4 / others["reduction_bytes_per_ns"],
                        divided(programs * 8, SMS) * parts * 2048 / others["reduction_bytes_per_block"])
        steps = (divided(count * parts, SMS) * (divided(iterations, parts) * step + rest) + reduction
                 + REDUCTION_LAUNCH)
    else:
        k_rows, blocks = 2 if rows * columns <= 64 * 64 else 1, split_k * multicast
        at_once = SMS if blocks == 1 else SMS * (CLUSTER_GROUP // blocks) // CLUSTER_GROUP
        waves, steps = divided(count, at_once), divided(k * 2, 128 * split_k * k_rows) * k_rows * step
        steps = waves * max(steps, least) + rest if least else waves * (steps + rest)
    return LAUNCH + max(steps, bytes_of_all / BYTES_PER_NS) + steps / 16


# --- Fitting ---------------------------------------------------------------------------------------------


def loss(problems, costs):
    """The mean over the problems of the log of the time, relative to the fastest image, of the images with
    nearly the lowest cost; each kind of problem counts as much as another."""
    total, counts = {}, {}
    for i, problem in enumerate(problems):
        least = min(costs[name][i] for name in problem["logs"])
        weights = [(math.exp((least - costs[name][i]) / 0.02), late) for name, late in problem["logs"].items()]
        kind = problem["kind"]
        total[kind] = total.get(kind, 0) + sum(w * late for w, late in weights) / sum(w for w, _ in weights)
        counts[kind] = counts.get(kind, 0) + 1
    return sum(total[kind] / counts[kind] for kind in total) / len(total)


def fit(problems, seconds, generator):
    """The tiles and the other constants with the least loss that was found."""
    tiles, others = {name: list(times) for name, times in TILES.items()}, dict(OTHERS)
    known = [*tiles, "baseline"]
    for problem in problems:
        fastest = min(problem["times"][name] for name in known if name in problem["times"])
        problem["logs"] = {name: math.log(problem["times"][name] / fastest) for name in known
                           if name in problem["times"]}
    costs = {name: [math.log(cost(each, name, tiles, others)) for each in problems] for name in known}
    best, end = loss(problems, costs), time.monotonic() + seconds
    places = [(tiles[name], i, [name]) for name in tiles for i in range(3) if tiles[name][i]]
    places += [(others, name, known) for name in others]
    while time.monotonic() < end:
        table, key, names = generator.choice(places)
        before, kept = table[key], {name: costs[name] for name in names}
        table[key] = before * math.exp(generator.uniform(-0.3, 0.3))
        for name in names:
            costs[name] = [math.log(cost(each, name, tiles, others)) for each in problems]
        found = loss(problems, costs)
        if found < best:
            best = found
        else:
            table[key] = before
            costs.update(kept)
    return tiles, others, best


def main(arguments):
    if arguments[0] == "measure":
        measure(pathlib.Path(arguments[1]), arguments[2], float(arguments[3]))
        return
    with open(arguments[1], encoding="utf-8") as file:
        problems = [json.loads(line) for line in file]
    tiles, others, best = fit(problems, float(arguments[2]), random.Random(1))
    for name, times in tiles.items():
        print(name, *map(round, times))
    for name, value in others.items():
        print(name, round(value, 2))
    print(f"the image with the lowest cost takes about {math.exp(best):.3f} times as long as the fastest")


if __name__ == "__main__":
    main(sys.argv[1:])
