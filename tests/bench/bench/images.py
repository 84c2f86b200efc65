"""Runs every image of the shipped kernels, also those that no launch would choose for the shape.

Each image runs on WANTED random shapes, ragged ones included, and each element of the result is compared
with the reference in double. The shapes are those of the families' random rows, small ones first: many
images take small shapes only, or large ones only.

Pure Python: `case_of` in run() makes the cases, which need PyTorch and a GPU.
"""

import random

from bench import rows
from bench.families.product_parts import LAYOUTS
from bench.kernels import LaunchError
from bench.table import heading, line

WANTED = 8                      # shapes per image
CAPS = (160, 600, 2400, 16384)  # the largest sizes of the shapes, one after the other
IDLE = 400                      # draws without a new run until the next cap; 4 more per kernel

# Axes of which the random rows have some values only.
AXES = {
    "matmul_masked": dict(GAP=(0, 1)),
    "matmul_float8": dict(TYPE=("e4m3", "e5m2"), LAYOUT=LAYOUTS),
    "matmul_int8": dict(TYPE=("int8", "uint8"), LAYOUT=LAYOUTS),
    "matmul_fused": dict(LAYOUT=LAYOUTS, BIAS=("none", "column"), FUNCTION=("none", "relu", "gelu"),
                         RESIDUAL=("none", "add")),
}


class Capped(rows.Sizes):
    """Sizes of at most `cap`, or of the least that the family draws."""

    def __init__(self, generator, cap):
        super().__init__(generator)
        self.cap = cap

    def size(self, low, high):
        return super().size(low, max(low, min(high, self.cap)))


def drawn(family, generator, cap):
    """A random shape of the family, or None."""
    shape = family.random(Capped(generator, cap))
    for axis, values in AXES.get(family.name, {}).items():
        if shape:
            shape[axis] = generator.choice(values)
    return shape


def owners(families, kernels):
    """Family -> the names of its kernels, such as "softmax_half": those that begin with its name."""
    names = sorted((family.name for family in families), key=len, reverse=True)
    owned = {family.name: [] for family in families}
    for kernel in kernels:
        owner = next((name for name in names if f"{kernel}_".startswith(f"{name}_")), None)
        if owner:
            owned[owner].append(kernel)
    return owned


class Images:
    """The images of a kernel, and what became of them."""

    def __init__(self, kernel):
        self.images = kernel.images()
        self.runs = [0] * len(self.images)
        self.refusals = [""] * len(self.images)

    def wanting(self):
        return [i for i, runs in enumerate(self.runs) if runs < WANTED]


class Tally:
    """The images of a family's kernels."""

    def __init__(self, name, kernels):
        self.name, self.kernels, self.failures = name, dict.fromkeys(kernels), []

    def is_done(self):
        return all(images and not images.wanting() for images in self.kernels.values())

    def count(self, test=lambda runs: True):
        return sum(test(runs) for images in self.kernels.values() if images for runs in images.runs)

    def left(self):
        """(image, why) of the images that did not run on enough shapes."""
        for kernel, images in self.kernels.items():
            if images is None:
                yield kernel, "no shape has this kernel"
                continue
            for i in images.wanting():
                yield (f"{kernel} / {images.images[i]}",
                       f"{images.runs[i]} shapes; the last refusal: {images.refusals[i] or 'none'}")


def run_images(tally, shape, case, kernels):
    """Runs the images that did not run on enough shapes yet. Returns how many took the shape.

    `kernels` are those that the case launches.
    """
    taken = 0
    for kernel in kernels:
        if kernel.name not in tally.kernels:  # of another family
            continue
        images = tally.kernels[kernel.name] = tally.kernels[kernel.name] or Images(kernel)
        chosen = kernel.object
        for i in images.wanting():
            kernel.object = images.images[i].object
            try:
                case.poison()
                case.ours(0)
                error = case.check()
            except LaunchError as refused:
                images.refusals[i] = str(refused)
                continue
            taken += 1
            images.runs[i] += 1
            if not error <= 1:
                tally.failures.append(f"{kernel.name} / {images.images[i]}: {shape}: "
                                      f"{error:.3g} times the bound")
        kernel.object = chosen
    return taken


def run(family, kernels, seed, case_of):
    """The tally of a family. case_of(shape) returns a case and the kernels that it launches."""
    generator, tally = random.Random(f"{seed} {family.name}"), Tally(family.name, kernels)
    known = set()
    for cap in CAPS:
        idle = 0
        while idle < IDLE + 4 * len(kernels):
            if tally.is_done():
                return tally
            idle += 1
            shape = drawn(family, generator, cap)
            if shape is None or tuple(shape.items()) in known:
                continue
            known.add(tuple(shape.items()))
            try:
                case, launched = case_of(shape)
            except LaunchError:  # the kernel takes no such arguments
                continue
            if run_images(tally, shape, case, launched):
                idle = 0
    return tally


def text(tallies):
    lines = heading("family", "kernels", "images", f"ran on {WANTED} shapes", "ran on fewer", "did not run",
                    "launches", "failed")
    for tally in tallies:
        launches = sum(sum(images.runs) for images in tally.kernels.values() if images)
        lines.append(line(tally.name, len(tally.kernels), tally.count(), tally.count(lambda runs: runs >= WANTED),
                          tally.count(lambda runs: 0 < runs < WANTED), tally.count(lambda runs: runs == 0),
                          launches, len(tally.failures)))
    left = [f"- {image}: {why}" for tally in tallies for image, why in tally.left()]
    failures = [f"- wrong: {failure}" for tally in tallies for failure in tally.failures]
    return "\n".join([*lines, "", *failures, *left]).rstrip()
