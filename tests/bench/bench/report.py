"""The generated parts of README.md and of the pages: BLOCKS. Pure Python.

A block has a name and a function of a Report, which returns lines of Markdown. pages.py puts them into
the pages.
"""

import collections
import dataclasses
import re

from bench import compile_table, plots, results, roofline, table
from bench.statistics import Summary
from bench.table import heading, line, number

NOTHING = ["The repository has no results of the benchmark yet."]
NAMED_PEERS = 2  # that a family names


@dataclasses.dataclass(frozen=True)
class Report:
    files: dict  # name of a file of results, without .json -> results
    known: list  # families, in the order of the tables
    compile_cost: dict | None = None  # of results/compile.json

    def of_each(self, lines_of):
        """The lines of all files: lines_of(name, results). If there are several, each has a title."""
        lines = []
        for name, found in self.files.items():
            title = [f"**{found['gpu']['name']}**", ""] if len(self.files) > 1 else []
            lines += [*([""] if lines else []), *title, *lines_of(name, found)]
        return lines or NOTHING


def plain(words):
    """Without code spans and HTML, because reasons are texts of other programs."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", words.replace("`", "'"))


def counted(number, noun):
    return f"{number} {noun}" + ("" if number == 1 else "s")


def unmeasured(rows):
    return [row for row in rows if "isolated" not in row]


def verdict(found, known):
    """Where TritonC is faster and where it is slower, in sentences."""
    rows = plots.all_rows(found, known)
    ratios = table.ratios_of(rows, "isolated")
    means = [of.mean for _, of in plots.by_speed(found, known) if of]
    faster, slow = sum(ratio >= 1 for ratio in ratios), sum(ratio < 0.8 for ratio in ratios)
    lines = [f"TritonC is at least as fast as the best peer in {faster} of {counted(len(ratios), 'row')}, "
             f"and slower in {len(ratios) - faster}.",
             f"In {counted(slow, 'row')}, it has less than 0.8 of the peer's speed.",
             f"By the geometric mean, it is slower in {sum(mean < 1 for mean in means)} of "
             f"{len(means)} families."]
    refused, failed = (sum(word in row for row in rows) for word in ("refused", "failed"))
    if refused or failed:
        lines.append(f"Its kernels refused {refused} more, and {counted(failed, 'row')} failed.")
    return lines


def best_peers(rows):
    """The names of the peers that are most often the best."""
    best = collections.Counter(results.best_peer(row)[0] for row in rows if results.ratio(row) is not None)
    return ", ".join(sorted(best, key=lambda name: (-best[name], name))[:NAMED_PEERS]) or "-"


def speed_line(name, rows, of):
    """`of` is the Summary of the rows, or None if none of them has a ratio."""
    if of is None:
        return line(name, 0, *["-"] * 4, len(unmeasured(rows)), "-")
    at_least_one, below = (round(share * of.count) for share in (of.at_least_one, of.below))
    return line(name, of.count, number(of.mean), number(of.tenth), at_least_one, below, len(unmeasured(rows)),
                best_peers(rows))


def speeds(found, known):
    """One line per family, the fastest first, and a line of all rows."""
    lines = heading("family", "rows", "geometric mean", "10th percentile", "rows >= 1.0", "rows < 0.8",
                    "refused or failed", "most frequent best peers")
    lines += [speed_line(family.name, plots.all_rows(found, [family]), of)
              for family, of in plots.by_speed(found, known)]
    rows = plots.all_rows(found, known)
    return [*lines, speed_line("**all**", rows, Summary.of(table.ratios_of(rows, "isolated")))]


def summary(folder, rows_of):
    """A block with plot, facts and rows_of(results, families). `folder`: of the plots, from the page."""
    def block(report):
        return report.of_each(lambda name, found: [
            *images(name, found, report.known, folder, ["families"]), table.facts(found), "",
            *verdict(found, report.known), *rows_of(found, report.known)])

    return block


def no_rows(found, known):
    return []


def open_rows(found, known):
    return ["", *speeds(found, known)]


def folded_rows(found, known):
    """GitHub shows them after a click."""
    title = "<details><summary>All families of kernels</summary>"
    return ["", title, *open_rows(found, known), "", "</details>"]


def images(name, found, known, folder, wanted):
    lines = []
    for plot in wanted:
        if plots.PLOTS[plot](found, known) is not None:
            lines += [f"![{plots.TITLES[plot]}, {found['gpu']['name']}]({folder}/{name}_{plot}.svg)", ""]
    return lines


def sets(report):
    return report.of_each(lambda name, found: table.summary(found, report.known))


def slowest(report):
    return report.of_each(lambda name, found: table.worst(found, report.known))


def curves(report):
    wanted = [name for name in plots.PLOTS if name != "families"]  # which the summary has
    return report.of_each(lambda name, found: [*images(name, found, report.known, "images/bench", wanted),
                                               roofline.words(found["gpu"]["name"])])


def fixed_rows(report):
    """A section per family."""
    lines = []
    for family in report.known:
        having = {name: found for name, found in report.files.items()
                  if table.rows_of(found, family.name, "fixed")}
        if having:
            part = Report(having, [family]).of_each(lambda name, found: table.fixed(found, family))
            lines += [*([""] if lines else []), f"### {family.name}", "", *map(plain, part)]
    return lines or NOTHING


def grouped(report, causes_of, *titles):
    """A table of causes with the number of rows and their families. causes_of(row) returns tuples."""
    def lines_of(name, found):
        rows, families = collections.Counter(), {}
        for family in report.known:
            for row in plots.all_rows(found, [family]):
                for cause in causes_of(row):
                    rows[cause] += 1
                    families.setdefault(cause, {})[family.name] = None
        lines = heading(*titles, "rows", "families")
        lines += [line(*map(plain, cause), rows[cause], ", ".join(families[cause])) for cause in sorted(rows)]
        return lines if rows else ["None."]

    return report.of_each(lines_of)


def not_measured(report):
    return grouped(report, lambda row: [(word, row[word]) for word in ("refused", "failed") if word in row],
                   "outcome", "reason")


def absent_peers(report):
    return grouped(report, lambda row: row.get("absent", {}).items(), "peer", "reason")


def matmuls(report, first, wanted):
    """The fixed rows of matmul whose shape wanted() accepts. `first`: title and text of the first cell."""
    def lines_of(name, found):
        lines = heading(first[0], "TFLOP/s", "relative to the best peer", "best peer")
        chosen = {name: row for name, row in table.rows_of(found, "matmul", "fixed").items()
                  if wanted(plots.shape_of(name)) and results.ratio(row) is not None}
        for name in sorted(chosen, key=lambda name: int(plots.shape_of(name)["M"])):
            row = chosen[name]
            lines.append(line(first[1](plots.shape_of(name)), f"{table.achieved(row, 'TFLOP/s'):.0f}",
                              number(results.ratio(row)), results.best_peer(row)[0]))
        return [f"{table.device(found, ['matmul'])}:", "", *lines]

    return report.of_each(lines_of)


def is_square(shape):
    return shape["M"] == shape["N"] == shape["K"] and shape["TYPE"] == "half"


def matmul_sizes(report):
    return matmuls(report, ("M = N = K", lambda shape: shape["M"]),
                   lambda shape: is_square(shape) and shape["LAYOUT"] == "NN")


def matmul_layouts(report):
    return matmuls(report, ("layout", lambda shape: shape["LAYOUT"]),
                   lambda shape: is_square(shape) and shape["M"] == "4096")


def of_compile_cost(lines_of):
    return lambda report: list(map(plain, lines_of(report.compile_cost))) if report.compile_cost else NOTHING


BLOCKS = [
    ("readme", summary("docs/pages/images/bench", folded_rows)),
    ("index", summary("images/bench", no_rows)),
    ("summary", summary("images/bench", open_rows)),
    ("sets", sets),
    ("slowest rows", slowest),
    ("plots", curves),
    ("fixed rows", fixed_rows),
    ("not measured", not_measured),
    ("absent peers", absent_peers),
    ("matmul sizes", matmul_sizes),
    ("matmul layouts", matmul_layouts),
    *[(name, of_compile_cost(lines_of)) for name, lines_of in compile_table.BLOCKS.items()],
]
