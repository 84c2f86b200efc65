"""The regression gate: which rows and sets changed between two files of results. Pure Python."""

import dataclasses

from bench import compile_results, results
from bench.statistics import Quartiles, Summary, geometric_mean

MAX_LOSS = 0.03


@dataclasses.dataclass(frozen=True)
class Change:
    """Of our time in a row, or of the ratio to the best peer in a set of rows; or of a cost or size."""

    name: str
    speed: float   # new speed over old speed, or old cost over new cost
    noise: float   # of this speed; a smaller change says nothing
    words: tuple = ("slower", "faster")

    @property
    def is_loss(self):
        return self.speed < 1 - max(MAX_LOSS, self.noise)

    @property
    def is_gain(self):
        return self.speed > 1 + max(MAX_LOSS, self.noise)


def of_files(old, new):
    """The changes between two files of the same kind, whichever it is."""
    kinds = [results.kind_of(results.load(path)) for path in (old, new)]
    if kinds[0] != kinds[1]:
        raise results.Mismatch(f"{old} has results of {kinds[0]}, but {new} of {kinds[1]}")
    if kinds[0] == compile_results.KIND:
        return compile_changes(compile_results.read(old), compile_results.read(new))
    return changes(results.read(old), results.read(new))


def common_rows(old, new, is_measured):
    """The rows that were measured before and exist now."""
    common = [name for name, row in old["rows"].items() if is_measured(row) and name in new["rows"]]
    if not common:
        raise results.Mismatch("the new results have no row that the old results measured")
    return common


def changes(old, new):
    """All losses and gains. Raises results.Mismatch for results of different GPUs or of other rows."""
    results.require_equal("GPUs", *(results.gpu_of(each) for each in (old, new)))
    found = []
    common = common_rows(old, new, lambda row: "isolated" in row)
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
    return relevant(found)


def compile_changes(old, new):
    """The losses and gains of compile costs, relative to the reference, and of the images' sizes.

    Rows of another sample are not compared. Raises results.Mismatch for results of different machines.
    """
    for what, before in compile_results.facts(old).items():
        results.require_equal(what, before, compile_results.facts(new)[what])
    found, speeds = [], {}

    def add(name, column, before, after, noise=0.0, words=("slower", "faster")):
        found.append(Change(f"{name} ({column})", before / after, noise, words))
        speeds.setdefault((column, words), []).append(before / after)

    for name in common_rows(old, new, lambda row: "failed" not in row):
        before, after = (each["rows"][name] for each in (old, new))
        if "failed" in after:
            found.append(Change(name, 0.0, 0.0))
        elif before["sample"] == after["sample"]:
            for column in compile_results.COLUMNS:
                old_cost, old_noise = compile_results.relative(before[column], old)
                new_cost, new_noise = compile_results.relative(after[column], new)
                add(name, column, old_cost, new_cost, old_noise + new_noise)
            add(name, "bytes", before["bytes"], after["bytes"], words=("larger", "smaller"))
    found += [Change(f"all: geometric mean ({column})", geometric_mean(each), 0.0, words)
              for (column, words), each in speeds.items()]
    return relevant(found)


def relevant(found):
    return [change for change in found if change.is_loss or change.is_gain]


def text(found):
    if not found:
        return "no row changed by more than its noise and 3 %"
    ordered = sorted(found, key=lambda change: change.speed)
    return "\n".join(f"{change.speed:6.3f}  {change.words[0 if change.is_loss else 1]}  {change.name}"
                     for change in ordered)
