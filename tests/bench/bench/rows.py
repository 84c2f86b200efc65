"""Rows: one shape of one family, from one of three sets.

fixed      the shapes that the family lists
external   shapes/external.jsonl: shapes of models and benchmark suites that nobody here chose
random     sizes drawn log-uniformly, by a seed; a third each is aligned, a multiple of 8, and odd

Pure Python.
"""

import dataclasses
import json
import random
import re

SETS = ("fixed", "external", "random")


@dataclasses.dataclass(frozen=True)
class Row:
    family: str
    set: str
    shape: tuple  # of (name, value), in the family's order

    @property
    def id(self):
        """The name of the row, such as "softmax/fixed/M=32768 N=8192 TYPE=half"."""
        return f"{self.family}/{self.set}/" + " ".join(f"{name}={value}" for name, value in self.shape)


def row(family, kind, **shape):
    return Row(family, kind, tuple(shape.items()))


class Sizes:
    """Draws the sizes of one random row."""

    KINDS = ("aligned", "multiple of 8", "odd")

    def __init__(self, generator):
        self.generator = generator
        self.step = {"aligned": 128, "multiple of 8": 8, "odd": 1}[generator.choice(self.KINDS)]

    def size(self, low, high):
        """Log-uniform from `low` to `high`, a multiple of the row's step where that fits."""
        value = round(low * (high / low) ** self.generator.random())
        step = self.step
        while step > 8 and step > value:  # a small size is a multiple of a smaller power of two
            step //= 2
        wanted = value | 1 if step == 1 else -(-value // step) * step
        return wanted if wanted <= high else value

    def choose(self, *values):
        return self.generator.choice(values)


def random_rows(family, seed, count):
    """`count` different rows of a family, which depend on the seed only."""
    generator = random.Random(f"{seed} {family.name}")
    rows = {}
    for _ in range(50 * count):
        if len(rows) == count:
            break
        shape = family.random(Sizes(generator))
        if shape is not None:
            drawn = row(family.name, "random", **shape)
            rows[drawn.id] = drawn
    return list(rows.values())


def external_rows(family, path):
    """The rows that the family makes of the records of shapes/external.jsonl, without duplicates."""
    rows = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            for shape in family.external(json.loads(line)):
                found = row(family.name, "external", **shape)
                rows[found.id] = found
    return list(rows.values())


def all_rows(families, path, seed, count, sets=SETS):
    rows = []
    for family in families:
        if "fixed" in sets:
            rows += [row(family.name, "fixed", **shape) for shape in family.fixed()]
        if "external" in sets:
            rows += external_rows(family, path)
        if "random" in sets:
            rows += random_rows(family, seed, count)
    return rows


def part_of(rows, part, only=None):
    """The rows of part "I/N" (1/4 to 4/4) whose id matches the regular expression `only`.

    Adjacent rows go to different parts, so that the parts take about the same time.
    """
    numbers = re.fullmatch(r"(\d+)/(\d+)", part)
    index, parts = map(int, numbers.groups()) if numbers else (0, 0)
    if not 1 <= index <= parts:
        raise ValueError(f"--part {part}: expected I/N with I from 1 to N, such as 1/4")
    try:
        return [each for each in rows[index - 1::parts] if only is None or re.search(only, each.id)]
    except re.error as error:
        raise ValueError(f"--only {only}: {error}") from error
