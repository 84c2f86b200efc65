"""Measures all images of matmuls on random problems, and fits the tiles of generator/target/cost_tables.cpp.

    python3 -m bench.matmul_times measure LIBRARY OUT SECONDS [KIND...]   # on a GPU: a line per problem
    python3 -m bench.matmul_times fit OUT SECONDS [TILE...]               # no GPU: prints the constants

`cost` has the form of generator/schedule/cost_model.cpp, for programs of 64 x 64. A problem has a random
layout. The fit uses half of the problems. It changes one constant at a time, and keeps what makes the images
with low costs faster; other constants of the model stay as they are. With tiles, it changes their constants
only.
Problems of kind "odd" have odd sizes. They are for `copies`, the baseline whose copies go through registers,
and for `by_threads`. The kinds "chunks" and "elements" are convolutions, whose pixels are
gathered: by cp.async in whole chunks, for `gathered`; or element by element, for `gathered_copies` and
`gathered_by_threads`.

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
KINDS = ("matmul", "masked", "thin", "batched", "odd", "chunks", "elements")
# step, rest and min_time of a tile, as in MeasuredTile; of a tile with stream-K: step, rest and partial
TILES = {
    "128x256": [855, 1475, 0], "128x256 stream-K": [864, 6412, 10000],
    "128x256 multicast 2": [927, 1560, 0], "128x128 ping-pong": [470, 1128, 951],
    "64x128": [249, 837, 0], "128x64 ping-pong": [389, 1307, 884], "64x64": [178, 498, 0],
    "64x64 multicast 4": [223, 1313, 0], "64x32": [89, 498, 0], "64x64 split-K 4": [153, 4058, 0],
    "64x32 split-K 4": [94, 2233, 0], "64x128 partials": [220, 3986, 0], "128x128 partials": [506, 5720, 0],
    "64x16": [151, 405, 0], "64x16 split-K 4": [201, 2321, 0], "16x64": [76, 390, 0],
    "16x64 split-K 4": [197, 2368, 0], "64x32 multistage": [332, 1623, 0],
}
OTHERS = {"row": 1717, "unaligned_row": 3379, "outside_row": 4413, "reduction_bytes_per_ns": 1866,
          "reduction_bytes_per_block": 8}
BOX_ROWS = 64  # of the largest box that TMA leaves out if it is outside of the operand
LAYOUTS = ("N_N", "N_T", "T_N", "T_T")  # of A and B; N: row-major
# MeasuredCopies of `copies`, `gathered` and `gathered_copies`; times that are not there are 0. Step and rest of the
# tiles of `by_threads` and `gathered_by_threads`. The registers and the shared memory of an SM
COPIES = {"launch": 2720, "iteration": 414, "copied": 22980, "rest": 467, "multiplied": 0.219, "stored": 98,
          "spilled": 136, "thread": 0}
GATHERED = {"iteration": 83, "rest": 4311, "multiplied": 0.564, "thread": 705}
GATHERED_COPIES = {"launch": 1054, "iteration": 4, "copied": 24780, "rest": 3048, "multiplied": 0.182,
                   "spilled": 72, "thread": 949}
BY_THREADS = {"128x256": [2641, 4750], "128x128": [1100, 2578], "64x128": [972, 2015], "64x64": [746, 1765]}
GATHERED_BY_THREADS = {"128x128": [2269, 9618], "64x128": [804, 1985], "64x64": [801, 1498]}
REGISTERS, SHARED_BYTES, THREADS = 65536, 227 * 1024, 2048
LAUNCH, BYTES_PER_NS, BASELINE_LAUNCH, BASELINE_BYTES_PER_NS, REDUCTION_LAUNCH = 1300, 3800, 930, 3000, 2000


def divided(a, b):
    return -(-a // b)


# --- Measuring -------------------------------------------------------------------------------------------


def drawn(generator, kind):
    """A random problem of a kind: sizes are log-uniform, and multiples of 64 or 8, or odd."""
    def size(low, high, step):
        return max(step, round(low * (high / low) ** generator.random() / step) * step)

    while True:
        step = 64 if kind == "matmul" else 8
        low = (64, 64, 64) if kind == "matmul" else (16, 64, 32)
        m, n, k = (size(each, 16384, step) for each in low)
        batch = 1
        if kind == "thin":
            m, n, k = size(1, 256, 1), size(256, 32768, 8), size(64, 32768, 8)
            m, n = generator.choice([(m, n), (n, divided(m, 8) * 8)])
        elif kind == "batched":
            m, n, k = size(8, 2048, 8), size(16, 2048, 8), size(16, 2048, 8)
            batch = round(2 ** (generator.randint(4, 24) / 2))
        elif kind == "odd":
            m, n, k = (size(32, 8192, 2) + 1 for _ in range(3))
        if 2**22 <= 2 * batch * m * n * k <= 2**39 and batch * (m * k + k * n + m * n) <= 2**29:
            return dict(kind=kind, B=batch, M=m, N=n, K=k)


def drawn_convolution(generator, kind):
    """A random convolution with sizes that are log-uniform. K are the terms of a sum. The pixels of kind "chunks" have
    a multiple of 8 channels next to each other."""
    def size(low, high, step=1):
        return max(step, round(low * (high / low) ** generator.random() / step) * step)

    while True:
        layout = "nhwc" if kind == "chunks" else generator.choice(("nchw", "nchw", "nchw", "nhwc"))
        step = 8 if kind == "chunks" or (layout == "nchw" and generator.random() < 0.7) else 1
        problem = dict(kind=kind, layout=layout, images=size(1, 64), side=size(7, 160), C=size(4, 1024, step),
                       N=size(16, 1024), window=generator.choice((2, 3, 3, 5)), stride=generator.choice((1, 1, 2)))
        problem["P"] = (problem["side"] - 1) // problem["stride"] + 1
        problem.update(B=1, M=problem["images"] * problem["P"]**2, K=problem["C"] * problem["window"]**2)
        flops = 2 * problem["M"] * problem["N"] * problem["K"]
        is_other_kind = kind == "elements" and layout == "nhwc" and problem["C"] % 8 == 0
        if (2**26 <= flops <= 2**37 and problem["images"] * problem["side"]**2 * problem["C"] <= 2**28
                and not is_other_kind):
            return problem


def measure_convolution(library, timer, generator, kind):
    """A random convolution, with the times of the images that gather."""
    import torch

    from bench.kernels import LaunchError

    problem = drawn_convolution(generator, kind)
    images, side, c, k, window, out = (problem[name] for name in ("images", "side", "C", "N", "window", "P"))
    x, f, y = (torch.rand(elements, device="cuda").half() for elements in (
        images * side**2 * c, k * window**2 * c, images * out**2 * k))
    kernel = library.kernel(f"conv2d_half_{problem['layout']}")
    launch = kernel.bind(X=x, F=f, Y=y, N=images, C=c, H=side, W=side, K=k, R=window, S=window, P=out, Q=out,
                         stride_h=problem["stride"], stride_w=problem["stride"], pad_h=window // 2,
                         pad_w=window // 2, dilation_h=1, dilation_w=1)
    problem.update(copies=[], times={})
    of_launch = {image.choice: image for image in sorted(kernel.images(), key=is_specialized)
                 if holds(image, problem)}  # a launch prefers specializations
    for image in kernel.images():
        schedule, choice = (image.info.schedule or b"").decode(), image.choice
        if choice not in of_launch or image.info.specialization != of_launch[choice].info.specialization:
            continue
        if schedule == "baseline" and kind == "chunks" or choice[0] == 0:
            continue
        kernel.object = image.object
        try:
            launch()
        except LaunchError:
            continue
        us = 1e6 * timer.quick(lambda _: launch())
        if "without TMA" in schedule:
            problem["times"][f"{choice[-3]}x{choice[-2]} without TMA"] = us
        else:
            problem["copies"].append(dict(facts_of(image), us=us))
    return problem


def is_specialized(image):
    return bool(image.info.specialization)


def holds(image, problem):
    """Whether the specialization of an image, such as "C % 8 && K % 8", holds for a convolution."""
    sizes = {"C": problem["C"], "K": problem["N"], "R": problem["window"], "S": problem["window"],
             "H": problem["side"], "W": problem["side"], "P": problem["P"], "Q": problem["P"]}
    conditions = (image.info.specialization or b"").decode().split(" && ")
    return all(sizes[name] % int(number) == 0
               for name, number in (each.split(" % ") for each in conditions if each))


def facts_of(image):
    """What the cost of an image depends on. Its choice ends with TM, TN and TK."""
    info = image.info
    return dict(choice=image.choice[-3:], threads=info.threads, registers=info.registers,
                shared=info.shared_bytes + info.static_shared_bytes,
                spilled=(info.spill_stores + info.spill_loads) // 4)


def measure(folder, out, seconds, kinds):
    import torch

    from bench.kernels import Library, LaunchError
    from bench.timing import Timer

    library, timer, generator = Library(folder), Timer(), random.Random(time.time_ns())
    names = {"matmul": "matmul_half_{}", "batched": "matmul_batched_half_{}_aligned", "odd": "matmul_masked_half_{}_any"}
    end = time.monotonic() + seconds
    with open(out, "w", encoding="utf-8") as file:
        while time.monotonic() < end:
            kind = generator.choice(kinds)
            if kind in ("chunks", "elements"):
                problem = measure_convolution(library, timer, generator, kind)
                file.write(json.dumps(problem) + "\n")
                continue
            problem = dict(drawn(generator, kind), layout=generator.choice(LAYOUTS))
            b, m, n, k = (problem[name] for name in "BMNK")
            lda, ldb = leading_dimensions(problem)
            a, y, c = (torch.rand(b * elements, device="cuda").half() for elements in (
                lda * (k if problem["layout"][0] == "T" else m), ldb * (n if problem["layout"][2] == "T" else k), m * n))
            arguments = dict(A=a, B=y, C=c, M=m, N=n, K=k, lda=lda, ldb=ldb, ldc=n)
            if kind == "batched":
                arguments.update(BATCH=b, batch_a=a.numel() // b, batch_b=y.numel() // b, batch_c=m * n)
            kernel = library.kernel(names.get(kind, "matmul_masked_half_{}_aligned").format(problem["layout"]))
            launch, times, copies = kernel.bind(**arguments), {}, []
            for image in kernel.images():
                kernel.object, name = image.object, tile_of(str(image))
                try:
                    launch()
                except LaunchError:
                    continue
                microseconds = 1e6 * timer.quick(lambda _: launch())
                times[name] = min(times.get(name, math.inf), microseconds)
                if kind == "odd" and name == "baseline":
                    copies.append(dict(facts_of(image), us=microseconds))
            file.write(json.dumps(dict(problem, times=times, copies=copies)) + "\n")


def leading_dimensions(problem):
    """Of A and B. TMA needs a multiple of 8, except for problems of odd sizes."""
    layout, step = problem["layout"], 1 if problem["kind"] == "odd" else 8
    return tuple(divided(problem[name], step) * step for name in (
        "M" if layout[0] == "T" else "K", "N" if layout[2] == "N" else "K"))


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
        program = k * 2 // 128 * (71700 + 4096 * 49 + 128 * 244) + k // 32 * 61000 + 366000 + 4096 * 76
        steps = divided(programs, SMS) * program / 1000
        return BASELINE_LAUNCH + max(steps, bytes_of_all / BASELINE_BYTES_PER_NS) + steps / 16
    rows, columns = tile = tuple(map(int, name.split()[0].split("x")))
    multicast, split_k = (int(dict(zip(name.split()[1::2], name.split()[2::2])).get(word, 1))
                          for word in ("multicast", "split-K"))
    step, rest, least = tiles[name]
    shared = int(columns > rows)
    cluster = [rows, columns]
    cluster[1 - shared] *= multicast
    if "multistage" not in name:
        copies = sum(copy_time(problem, operand, tile[operand], others) / (multicast if operand == shared else 1)
                     for operand in (0, 1))
        step = max(step, copies / 1000)
    count = divided(m, cluster[0]) * divided(n, cluster[1]) * b
    if "partials" in name:
        iterations = divided(k * 2, 128)
        wanted = max(1, min(SMS // count, iterations // 4))
        parts = divided(iterations, divided(iterations, wanted))
        reduction = max(count * parts * rows * columns * 4 / others["reduction_bytes_per_ns"],
                        divided(programs * 8, SMS) * parts * 2048 / others["reduction_bytes_per_block"])
        steps = (divided(count * parts, SMS) * (divided(iterations, parts) * step + rest) + reduction
                 + REDUCTION_LAUNCH)
    elif "stream-K" in name:
        iterations, full = divided(k * 2, 128), count // SMS
        shared_waves = min(full, 1)
        of_block = (full - shared_waves) * iterations + divided((count % SMS + shared_waves * SMS) * iterations, SMS)
        steps = of_block * step + divided(count, SMS) * rest + divided(SMS, count) * least
    else:
        k_rows, blocks = 2 if rows * columns <= 64 * 64 else 1, split_k * multicast
        at_once = SMS if blocks == 1 else SMS * (CLUSTER_GROUP // blocks) // CLUSTER_GROUP
        waves, steps = divided(count, at_once), divided(k * 2, 128 * split_k * k_rows) * k_rows * step
        steps = waves * max(steps, least) + rest if least else waves * (steps + rest)
    return LAUNCH + max(steps, bytes_of_all / BYTES_PER_NS) + steps / 16


def copy_time(problem, operand, tile, others):
    """The time in ps to copy 128 bytes along K of an operand: the mean of all tiles along its axis."""
    inside, is_aligned = problem["MN"[operand]], leading_dimensions(problem)[operand] * 2 % 32 == 0
    box = min(tile, BOX_ROWS)
    outside = divided(inside, box) * box - inside
    return (inside * others["row" if is_aligned else "unaligned_row"] + outside * others["outside_row"]) / divided(
        inside, tile)


def cost_of_copies(problem, image, times):
    """The cost in ns of a launch of the baseline that copies through registers, or that gathers."""
    times = {"launch": 0, "copied": 0, "stored": 0, "spilled": 0, "thread": 0, **times}
    (rows, columns, step), threads = image["choice"], image["threads"]
    b, m, n, k = (problem[key] for key in "BMNK")
    resident = max(1, min(REGISTERS // (image["registers"] * threads), THREADS // threads,
                          SHARED_BYTES // (image["shared"] + 1024)))
    programs, iterations = divided(m, rows) * divided(n, columns) * b, divided(k, step)
    wave = (iterations * (times["iteration"] + (rows + columns) * step // threads * times["copied"] / 1000)
            + times["rest"])
    program = (iterations * (rows * columns * step * times["multiplied"]
                             + threads * (times["thread"] + image["spilled"] * times["spilled"]))
               + rows * columns * times["stored"]) / 1000
    steps = divided(programs, SMS * resident) * wave + divided(programs, SMS) * program
    return times["launch"] + max(steps, bytes_of(problem) / BASELINE_BYTES_PER_NS) + steps / 16


def bytes_of(problem):
    """Of the matrices. The model does not know how many pixels are gathered."""
    b, m, n, k = (problem[key] for key in "BMNK")
    return 2 * b * ((0 if problem["kind"] in ("chunks", "elements") else m * k) + k * n + m * n)


def cost_of_threads(problem, name, by_threads):
    """The cost in ns of a launch of a warp-specialized schedule without TMA."""
    b, m, n, k = (problem[key] for key in "BMNK")
    (rows, columns), (step, rest), k = map(int, name.split("x")), by_threads[name], divided(k, 32) * 32
    steps = divided(divided(m, rows) * divided(n, columns) * b, SMS) * (divided(k * 2, 128) * step + rest)
    return LAUNCH + max(steps, bytes_of(problem) / BYTES_PER_NS) + steps / 16


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


def logs_of_costs(problems, name, tiles, others):
    return [math.log(cost(each, name, tiles, others)) for each in problems]


def add_logs(problems):
    """Adds the log of each image's time, relative to the fastest, to the problems."""
    for problem in problems:
        known = [name for name in (*TILES, "baseline") if name in problem["times"]]
        fastest = min(problem["times"][name] for name in known)
        problem["logs"] = {name: math.log(problem["times"][name] / fastest) for name in known}


def loss_of(problems, tiles, others):
    """The loss with these constants."""
    add_logs(problems)
    return loss(problems, {name: logs_of_costs(problems, name, tiles, others) for name in (*TILES, "baseline")})


def fit(problems, seconds, generator, only=()):
    """The tiles and the other constants with the least loss that was found; `only`: the tiles to change, or all."""
    tiles, others = {name: list(times) for name, times in TILES.items()}, dict(OTHERS)
    add_logs(problems)
    costs = {name: logs_of_costs(problems, name, tiles, others) for name in (*tiles, "baseline")}
    best, end = loss(problems, costs), time.monotonic() + seconds
    places = [(tiles[name], i, [name]) for name in only or tiles for i in range(3) if tiles[name][i]]
    places += [] if only else [(others, name, list(tiles)) for name in others]
    while time.monotonic() < end:
        table, key, names = generator.choice(places)
        before, kept = table[key], {name: costs[name] for name in names}
        table[key] = before * math.exp(generator.uniform(-0.3, 0.3))
        for name in names:
            costs[name] = logs_of_costs(problems, name, tiles, others)
        found = loss(problems, costs)
        if found < best:
            best = found
        else:
            table[key] = before
            costs.update(kept)
    return tiles, others, best


def loss_of_copies(problems, copies, by_threads):
    """The mean logs of: the time of the image with the lowest cost / the lowest time; the costs' error."""
    choices, errors = 0.0, []
    for problem in problems:
        costs = [(cost_of_copies(problem, image, copies), image["us"]) for image in problem["copies"]]
        costs += [(cost_of_threads(problem, name, by_threads), problem["times"][f"{name} without TMA"])
                  for name in by_threads if f"{name} without TMA" in problem.get("times", ())]
        choices += math.log(min(costs)[1] / min(us for _, us in costs)) / len(problems)
        errors += [abs(math.log(cost / (1000 * us))) for cost, us in costs]
    return choices, sum(errors) / len(errors)


def fit_copies(problems, copies, by_threads, seconds, generator):
    """The constants with the least loss that was found, from `copies` and `by_threads` on, and the loss."""
    def score(found):
        return found[0] + 0.2 * found[1]

    copies, by_threads = dict(copies), {name: list(times) for name, times in by_threads.items()}
    best, end = loss_of_copies(problems, copies, by_threads), time.monotonic() + seconds
    places = [(copies, name) for name in copies]
    places += [(times, i) for times in by_threads.values() for i in range(2)]
    while time.monotonic() < end:
        changed = [(table, key, table[key]) for table, key in generator.sample(places, generator.choice((1, 2)))]
        for table, key, before in changed:
            table[key] = before * math.exp(generator.gauss(0, 0.2))
        found = loss_of_copies(problems, copies, by_threads)
        if score(found) < score(best):
            best = found
            continue
        for table, key, before in changed:
            table[key] = before
    return copies, by_threads, best


def main(arguments):
    if arguments[0] == "measure":
        measure(pathlib.Path(arguments[1]), arguments[2], float(arguments[3]), arguments[4:] or KINDS)
        return
    with open(arguments[1], encoding="utf-8") as file:
        problems = [json.loads(line) for line in file]
    fits = {"odd": ("copies", COPIES, "by_threads", BY_THREADS), "chunks": ("gathered", GATHERED, "", {}),
            "elements": ("gathered_copies", GATHERED_COPIES, "gathered_by_threads", GATHERED_BY_THREADS)}
    for kind, (of_copies, copies, of_threads, by_threads) in fits.items():
        chosen = [problem for problem in problems if problem["kind"] == kind and problem["copies"]]
        if chosen:
            half = len(chosen) // 2
            copies, by_threads, _ = fit_copies(chosen[:half], copies, by_threads, float(arguments[2]), random.Random(1))
            print(of_copies, *(f"{name} {value:.4g}" for name, value in copies.items()))
            for name, times in by_threads.items():
                print(of_threads, name, *map(round, times))
            choices, error = loss_of_copies(chosen[half:], copies, by_threads)
            print(f"{kind}, {len(chosen) - half} problems without a part in the fit: the image with the lowest cost "
                  f"takes {math.exp(choices):.3f} times as long as the fastest; mean error of a cost {error:.3f}")
    problems = [problem for problem in problems if problem["kind"] not in fits]
    if not problems:
        return
    half = len(problems) // 2
    tiles, others, _ = fit(problems[:half], float(arguments[2]), random.Random(1), arguments[3:])
    for name, times in tiles.items():
        print(name, *map(round, times))
    for name, value in others.items():
        print(name, round(value, 2))
    for kind in KINDS:
        chosen = [problem for problem in problems[half:] if problem["kind"] == kind]
        if chosen:
            now, fitted = (math.exp(loss_of(chosen, *constants)) for constants in ((TILES, OTHERS), (tiles, others)))
            print(f"{kind}, {len(chosen)} problems without a part in the fit: the image with the lowest cost takes about "
                  f"{fitted:.3f} times as long as the fastest; before the fit, {now:.3f} times")


if __name__ == "__main__":
    main(sys.argv[1:])
