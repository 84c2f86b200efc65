"""The regression gate: which rows and sets changed between two files of results. Pure Python."""

import dataclasses

from bench import results
from bench.statistics import Quartiles, Summary

MAX_LOSS = 0.03


@dataclasses.dataclass(frozen=True)
class Change:
    """Of our time in a row, or of the ratio to the best peer in a set of rows."""

    name: str
    speed: float   # new speed over old speed
    noise: float   # of this speed; a smaller change says nothing

    @property
    def is_loss(self):
        return self.speed < 1 - max(MAX_LOSS, self.noise)

    @property
    def is_gain(self):
        return self.speed > 1 + max(MAX_LOSS, self.noise)


def changes(old, new):
    """All losses and gains. Raises results.Mismatch for results of different GPUs or of other rows."""
    gpus = [results.comparable(each["gpu"]) for each in (old, new)]
    if gpus[0] != gpus[1]:
        raise results.Mismatch(f"the results are of different GPUs: {gpus[0]} and {gpus[1]}")
    found = []
    common = [name for name in old["rows"] if "isolated" in old["rows"][name] and name in new["rows"]]
    if not common:
        raise results.Mismatch("the new results have no row that the old results measured")
    for name in common:
        if "isolated" not in new["rows"][name]:  # it is refused or fails now
            found.append(Change(name, 0.0, 0.0))
            continue
        for column in results.COLUMNS:
            before, after = (Quartiles(*each["rows"][name][column]["ours"]) for each in (old, new))
            found.append(Change(f"{name} ({column})", before.median / after.median,
                                before.noise() + after.noise()))
    groups = {}
    for name in common:
        ratios = [results.ratio(each["rows"][name]) for each in (old, new)]
        if None not in ratios:
            groups.setdefault("/".join(name.split("/")[:2]), []).append(ratios)
    for group, ratios in groups.items():
        before, after = (Summary.of(each) for each in zip(*ratios))
        found.append(Change(f"{group}: geometric mean", after.mean / before.mean, 0.0))
        found.append(Change(f"{group}: 10th percentile", after.tenth / before.tenth, 0.0))
    return [change for change in found if change.is_loss or change.is_gain]


def text(found):
    if not found:
        return "no row changed by more than its noise and 3 %"
    ordered = sorted(found, key=lambda change: change.speed)
    return "\n".join(f"{change.speed:6.3f}  {'slower' if change.is_loss else 'faster'}  {change.name}"
                     for change in ordered)
