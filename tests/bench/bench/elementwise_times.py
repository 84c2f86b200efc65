"""Measures and fits the constants of the cost model of kernels without a matmul: ElementwiseTimes in
generator/target/cost_tables.cpp.

    tests/bench/run times --out times.json                  # on a GPU: all images on random shapes
    tests/bench/run fit times.json --manifests FOLDER       # no GPU: prints the constants

The manifests are those of the kernels that were measured (`tritonc compile --manifest`). An image's cost
there has the form of cost_of_elementwise (generator/schedule/elementwise_cost_model.cpp):

    LAUNCH + max(waves * (cdiv((operations + accesses * ACCESS) * WAVE, 1000000)
                          + iterations * ITERATION + waits * WAIT
                          + reductions * REDUCTION + exchanges * EXCHANGE + cdiv(bytes, busiest * BYTES_PER_NS))
                 + busiest * (cdiv((operations + accesses * ACCESS) * BUSY, 1000000) + OF_PROGRAM),
                 cdiv(bytes, BYTES_PER_NS))

and, for a split loop, the cost of its second launch, which has no bytes; with
WAVE = 1000000 * of_thread_alone / threads, BUSY = 1000000 * of_element, OF_PROGRAM = program + exchanged *
exchanged_element. Terms that are 0 are missing.

measure() needs PyTorch and a GPU, the rest is pure Python.
"""

import ast
import json
import math
import random
import re
import time

FAMILIES = ("softmax", "softmax_backward", "log_softmax", "softmax_inner", "layer_norm", "layer_norm_backward",
            "layer_norm_backward_weights", "add_layer_norm", "rms_norm", "rms_norm_backward",
            "rms_norm_backward_weights", "add_rms_norm", "cross_entropy", "cross_entropy_backward",
            "batch_norm", "batch_norm_training", "batch_norm_backward", "group_norm", "reduce", "argmax",
            "moments", "copy", "transpose", "permute")
MAX_BYTES = 1e9     # of a shape
TOO_SLOW = 12       # times the chosen image: such an image is left out
SECONDS = 0.15      # of launches of the images of a shape, in turns
MAX_BANDWIDTH = 4300  # bytes per ns that a copy reaches
STEPS = 400
TERMS = "iteration", "wait", "reduction", "exchange"  # ns of a wave, each time


# --- Measuring -------------------------------------------------------------------------------------------


def measure(known, library, timer, seed, seconds, types, say):
    """Times of all images on random shapes of the families, for so many seconds. Skips kernels that the
    library does not have."""
    import torch

    from bench import rows

    generator = random.Random(seed)
    families = {family.name: family for family in known if family.name in FAMILIES}
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        name = generator.choice(sorted(families))
        shape = families[name].random(rows.Sizes(generator))
        if shape is None or shape["TYPE"] not in types:
            continue
        result = measure_shape(families[name], shape, library, timer)
        torch.cuda.empty_cache()
        if result:
            found.append(result)
            say(f"{name} {shape}: {len(result['images'])} images")
    return found


def measure_shape(family, shape, library, timer):
    import torch

    from bench.build import WithoutPeers
    from bench.kernels import LaunchError

    build = WithoutPeers(library, 1)
    try:
        case = family.case(build, shape)
        if case.bytes > MAX_BYTES or len(build.kernels) != 1:
            return None
        case.ours(0)
    except (LaunchError, KeyError, torch.cuda.OutOfMemoryError):
        return None
    kernel = build.kernels[0]
    chosen, images, launches = kernel.object, [], {}
    limit = TOO_SLOW * timer.quick(case.ours)

    def launch(image):
        def run(_):
            kernel.object = image.object
            case.ours(0)
        return run

    for image in kernel.images():
        try:
            if timer.quick(launch(image)) < limit:
                launches[len(images)] = launch(image)
                images.append({"choice": list(image.choice), "schedule": image.info.schedule.decode(),
                               "specialization": (image.info.specialization or b"").decode()})
        except LaunchError:  # the image does not take the shape
            pass
    for index, quartiles in timer.isolated(launches, SECONDS).items():
        images[index]["ns"] = 1e9 * quartiles.median
    kernel.object = chosen
    return {"family": family.name, "kernel": kernel.name, "shape": shape, "arguments": kernel.numbers,
            "sms": torch.cuda.get_device_properties(0).multi_processor_count, "images": images}


# --- Costs -----------------------------------------------------------------------------------------------


def cdiv(a, b):
    return -(-a // b)


def formula(text):
    """The text of the host's expression as Python."""
    text = re.sub(r"get_num_programs\((\d)\)", r"programs_\1", text)
    return text.replace("/", "//")


def value(node, names):
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "cost", "eval")
    return eval(code, {"__builtins__": {}, "cdiv": cdiv, "max": max, "min": min, **names})


class Cost:
    """The parts of an image's cost that do not depend on the constants, of each of its launches."""

    def __init__(self, text, times):
        whole = ast.parse(formula(text), mode="eval").body
        is_split = isinstance(whole.left, ast.BinOp)
        self.launches = [Launch(part, times) for part in ((whole.left, whole.right) if is_split else (whole,))]
        first = self.launches[0]  # waits for late loads
        first.start = (first.start - times["launch"]) / times["wait"]

    def features(self, names):
        return [launch.features(names) for launch in self.launches]


class Launch:
    def __init__(self, whole, times):
        self.start = whole.left.value
        blocks, self.bytes = whole.right, ast.Constant(0)
        if isinstance(blocks, ast.Call):  # max
            blocks, memory = blocks.args
            self.bytes = memory.args[0]
        self.waves, self.busiest = blocks.left.left, blocks.right.left
        wave = blocks.left.right
        if blocks is not whole.right:
            wave = wave.left  # without its bytes
        self.exchanged = (blocks.right.right.right.value - times["program"]) / times["exchanged_element"]
        self.terms = {name: ast.Constant(0) for name in TERMS}
        names = {round(times[name]): name for name in TERMS}
        while isinstance(wave, ast.BinOp):
            self.terms[names[wave.right.right.value]] = wave.right.left
            wave = wave.left
        work = wave.args[0]
        self.operations, self.accesses = work.left.left, work.left.right.left
        self.threads = round(1e6 * times["of_thread_alone"] / work.right.value)

    def features(self, names):
        parts = (self.waves, self.busiest, self.operations, self.accesses, self.bytes, *self.terms.values())
        return [self.threads, self.start, self.exchanged] + [value(part, names) for part in parts]


def predicted(times, launches):
    """Of the launches of an image. The start of a second launch is not fitted."""
    first, *others = (of_launch(times, features) for features in launches)
    starts = times["launch"] + launches[0][1] * times["wait"] + sum(features[1] for features in launches[1:])
    return starts + first + sum(others)


def of_launch(times, features):
    threads, _, exchanged, waves, busiest, operations, accesses, moved, *terms = features
    work, of_memory = operations + accesses * times["access"], moved / times["bytes_per_ns"]
    wave = work * times["of_thread_alone"] / threads + sum(map(lambda n, name: n * times[name], terms, TERMS))
    of_program = times["program"] + exchanged * times["exchanged_element"]
    of_blocks = waves * (wave + of_memory / busiest) + busiest * (work * times["of_element"] + of_program)
    return max(of_blocks, of_memory)


def costs_of(manifest, axes, times):
    """(kernel, choice, schedule, specialization) -> (Cost, texts of the grid). `axes` has the names of the
    variant axes and of the tuned axes, in the order of the source."""
    found = {}
    for kernel in manifest["kernels"]:
        for variant in kernel["variants"]:
            values = variant["values"]
            name = "_".join([kernel["name"]] + [values[axis] for axis in axes[0] if axis in values])
            choice = tuple(int(values[axis]) for axis in axes[1])
            for image in variant["images"]:
                if "cost" in image["launch"]:
                    key = name, choice, image["schedule"], variant.get("specialization", "")
                    found[key] = Cost(image["launch"]["cost"], times), variant["grid"]
    return found


def axes_of(source, read):
    """The variant axes and the tuned axes of a source; `read` gives the text of an included file."""
    text = re.sub(r'#include "(.*?)"', lambda found: read(found[1]), source).replace("\\\n", " ")
    pragmas = "\n".join(line for line in text.splitlines() if line.startswith("#pragma tritonc"))
    return tuple(re.findall(rf"\b{kind}\((\w+):", pragmas) for kind in ("variant", "tune"))


def preferred(images):
    """The images that a launch may choose: the specialized code of a variant comes before its general code."""
    specialized = [image["choice"] for image in images if image["specialization"]]
    return [image for image in images if image["specialization"] or image["choice"] not in specialized]


def shapes_of(measured, costs):
    """(family, [(ns, features)]) of each shape with several images that a launch may choose."""
    shapes = []
    for row in measured:
        images = []
        for image in preferred(row["images"]):
            key = row["kernel"], tuple(image["choice"]), image["schedule"], image["specialization"]
            if key not in costs:
                continue
            cost, grid = costs[key]
            names = dict(row["arguments"], sms=row["sms"])
            sizes = [value(ast.parse(formula(text), mode="eval").body, names) for text in grid] + [1, 1]
            names.update({f"programs_{axis}": size for axis, size in enumerate(sizes[:3])})
            images.append((image["ns"], cost.features(names)))
        if len(images) > 1:
            shapes.append((row["family"], images))
    return shapes


# --- Fitting ---------------------------------------------------------------------------------------------


def loss(times, shapes):
    """The geometric mean over the families of: time of the image with the lowest cost / lowest time; and
    of the error of the predicted time."""
    choices, errors = {}, 0.0
    for family, images in shapes:
        costs = [predicted(times, features) for _, features in images]
        chosen = images[costs.index(min(costs))][0]
        best = min(range(len(images)), key=lambda i: images[i][0])
        choices.setdefault(family, []).append(math.log(chosen / images[best][0]))
        errors += abs(math.log(costs[best] / images[best][0])) / len(shapes)
    of_choices = sum(sum(logs) / len(logs) for logs in choices.values()) / len(choices)
    return math.exp(of_choices), math.exp(errors)


def fit(shapes, times, seed, steps=STEPS):
    """Random search from `times`. Choices count more than errors."""
    def score(tried):
        choices, error = loss(tried, shapes)
        return math.log(choices) + 0.08 * math.log(error)

    generator, best = random.Random(seed), score(times)
    for step in range(steps):
        tried = dict(times)
        for name in generator.sample(sorted(tried), generator.choice([1, 1, 2, 3])):
            tried[name] *= math.exp(generator.gauss(0, 0.4 if 2 * step < steps else 0.1))
        tried["bytes_per_ns"] = min(tried["bytes_per_ns"], MAX_BANDWIDTH)
        reached = score(tried)
        if reached < best:
            times, best = tried, reached
    return times


def times_of_table(source):
    """The constants of ElementwiseTimes in the text of cost_tables.cpp."""
    table = re.search(r"\.elementwise =\s*\{(.*?)\}", source, re.DOTALL)[1]
    found = {name: float(number) for name, number in re.findall(r"\.(\w+) = ([0-9.]+)", table)}
    not_fitted = ("edge_bytes", "next_part_bytes", "batch_elements", "threads_with_weights", "cluster_elements")
    for name in not_fitted:
        del found[name]
    return found


def fit_files(measured, manifests, kernels, table, seed):
    """Reads all files; returns the text of the result."""
    times = times_of_table(table.read_text())
    costs = {}
    for path in sorted(manifests.glob("*.json")):
        source = kernels / f"{path.stem}.tc"
        axes = axes_of(source.read_text(), lambda name: (kernels / name).read_text())
        costs.update(costs_of(json.loads(path.read_text()), axes, times))
    shapes = shapes_of(json.loads(measured.read_text()), costs)
    if not shapes:
        return "no shape with several images: are these the manifests of the measured kernels?"
    fitted = fit(shapes, times, seed)
    lines = [f"{len(shapes)} shapes; time of the chosen image / lowest time, error of the prediction:"]
    for name, tried in (("now", times), ("fitted", fitted)):
        choices, error = loss(tried, shapes)
        lines.append(f"{name:8}{choices:.3f} {error:.3f}")
    return "\n".join(lines + [f".{name} = {number:.6g}" for name, number in fitted.items()])
