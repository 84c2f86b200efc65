"""The plots of a file of results, as SVG. Pure Python.

PLOTS has them by name. A plot is a function of the results and the families. It returns None if the
results have no row for it.
"""

import math

from bench import results, svg
from bench.roofline import bound_seconds
from bench.rows import SETS
from bench.statistics import Summary
from bench.svg import Axis, Mark, Panel
from bench.table import achieved, number, ratios_of, rows_of, share_of_bound

RATIOS = Axis(0.05, 4.0, (0.1, 0.2, 0.5, 1, 2))
RATIO = "time of the best peer / time of TritonC"
OF_SET = {"fixed": Mark("#0b57a4"), "external": Mark("#d95f02"), "random": Mark("#3a8f5f", "square")}
FASTER, SLOWER = Mark("#0b57a4"), Mark("#d95f02", "square")
BOUND = Mark("#78909c", "bar")
BUCKETS = ((0.5, "below 0.5", Mark("#8c1029", "square")), (0.8, "0.5 to 0.8", Mark("#ee6c2d", "square")),
           (1.0, "0.8 to 1", Mark("#d9a520", "square")), (1.25, "1 to 1.25", Mark("#5ba3d9")),
           (math.inf, "1.25 and more", Mark("#0b3c8c")))
UNMEASURED = Mark("#78909c", "cross")

# Pixels.
WIDTH, TOP = 960, 78
COLUMNS, CELL, HEIGHT = 4, 228, 168  # small panels: the number in a line, and the place of each
SMALL = (164, 108)                   # the axes of one
LINE = 17                            # of a family

# The axes of a map: names that a shape has, and the names whose products are x and y.
AXES = (("BATCH M N K", "BATCH M N", "K"), ("M N K", "M N", "K"), ("B H M N", "B H M", "N"),
        ("N C H W K R S", "N H W K", "C R S"), ("N C S", "C", "N S"), ("P Q K", "P Q", "K"),
        ("D0 D1 D2", "D0 D1", "D2"), ("TOKENS HEADS D", "TOKENS HEADS", "D"), ("M N", "M", "N"))


def shape_of(name):
    """The sizes of a shape, such as "M=64 N=32 TYPE=half", by name. All are texts."""
    return dict(part.split("=", 1) for part in name.split())


def all_rows(found, known):
    return [row for family in known for kind in SETS for row in rows_of(found, family.name, kind).values()]


def by_speed(found, known):
    """The families that have rows, with the Summary of their ratios or None; the fastest first."""
    summaries = []
    for family in known:
        if rows := all_rows(found, [family]):
            summaries.append((family, Summary.of(ratios_of(rows, "isolated"))))
    return sorted(summaries, key=lambda each: -each[1].mean if each[1] else 0)


def families(found, known):
    """One line per family: the ratios of all rows, and their geometric mean."""
    ordered = [(family, of) for family, of in by_speed(found, known) if of]
    if not ordered:
        return None
    height = LINE * len(ordered)
    panel = Panel(216, TOP, 660, height, RATIOS, Axis(1, 2, ()))
    parts = [*svg.legend(222, 52, ((FASTER, "row, TritonC is faster"), (SLOWER, "row, a peer is faster"))),
             svg.line(530, 42, 530, 56, svg.INK, 2.5), svg.text(538, 52, "geometric mean, also at the right"),
             *panel.frame("", f"{RATIO} (isolated); marks at an edge are outside")]
    middle = panel.place(1, 1)[0]
    parts.append(svg.line(middle, TOP, middle, TOP + height, svg.PALE, 1.5))
    for position, (family, of) in enumerate(ordered):
        y = TOP + LINE * (position + 0.5)
        ratios = ratios_of(all_rows(found, [family]), "isolated")
        for mark, chosen in ((SLOWER, (r for r in ratios if r < 1)), (FASTER, (r for r in ratios if r >= 1))):
            parts.append(svg.points([(panel.place(ratio, 1)[0], y) for ratio in chosen], mark))
        mean = panel.place(of.mean, 1)[0]
        parts += [svg.line(mean, y - 7, mean, y + 7, svg.INK, 2.5), svg.text(208, y + 4, family.name, "end"),
                  svg.text(886, y + 4, number(of.mean), weight="bold")]
    return picture(found, "families", TOP + height + 44, parts)


def picture(found, plot, height, parts):
    return svg.picture(WIDTH, height, f"{TITLES[plot]}, {found['gpu']['name']}", parts)


def panels(found, known, plot, head, panel_of):
    """A picture with a small panel per family. panel_of() returns its parts, or None."""
    parts, count = [], 0
    for family in known:
        line, column = divmod(count, COLUMNS)
        drawn = panel_of(family, 62 + CELL * column, TOP + 22 + HEIGHT * line)
        if drawn:
            parts += drawn
            count += 1
    if not count:
        return None
    return picture(found, plot, TOP + 12 + HEIGHT * -(-count // COLUMNS), [*head, *parts])


def sizes(found, known):
    """The ratio over the size."""
    def panel_of(family, left, top):
        size = "flops" if family.unit == "TFLOP/s" else "bytes"
        values = {kind: [(row[size], results.ratio(row)) for row in rows_of(found, family.name, kind).values()
                         if results.ratio(row) is not None] for kind in SETS}
        if not any(values.values()):
            return None
        x = Axis.of([x for each in values.values() for x, _ in each], 4)
        panel = Panel(left, top, *SMALL, x, RATIOS)
        return [*panel.frame(family.name, "FLOP" if size == "flops" else "bytes", "ratio"),
                panel.across(1, color=svg.PALE, width=1.5),
                *(panel.points(values[kind], OF_SET[kind]) for kind in reversed(SETS))]

    head = [*svg.legend(66, 50, [(mark, f"{kind} rows") for kind, mark in OF_SET.items()]),
            svg.text(62, 68, f"Ratio: {RATIO}. Marks at an edge are outside.", color=svg.PALE)]
    return panels(found, known, "sizes", head, panel_of)


def place_on_map(shape):
    """x, y and their titles; None if the shape has one size only."""
    for names, *axes in AXES:
        if all(name in shape for name in names.split()):
            return *(math.prod(int(shape[name]) for name in axis.split()) for axis in axes), *axes
    return None


def maps(found, known):
    """The random rows by their sizes, colored by the ratio."""
    def panel_of(family, left, top):
        places = [(place_on_map(shape_of(name)), results.ratio(row))
                  for name, row in rows_of(found, family.name, "random").items()]
        places = [(place, ratio) for place, ratio in places if place]
        if not places:
            return None
        x, y = (Axis.of([place[axis] for place, _ in places], 4) for axis in (0, 1))
        panel = Panel(left, top, *SMALL, x, y)
        chosen, low = {UNMEASURED: [place[:2] for place, ratio in places if ratio is None]}, 0
        for high, _, mark in BUCKETS:
            chosen[mark] = [place[:2] for place, ratio in places if ratio is not None and low <= ratio < high]
            low = high
        return [*panel.frame(family.name, *places[0][0][2:]),
                *(panel.points(values, mark) for mark, values in chosen.items())]

    head = [*svg.legend(66, 50, [*((mark, words) for _, words, mark in BUCKETS), (UNMEASURED, "no ratio")]),
            svg.text(62, 68, f"Color: {RATIO}. A space between names is a product.", color=svg.PALE)]
    return panels(found, known, "maps", head, panel_of)


def speeds(found, family):
    """The measured rows of a family, as (x, our speed, the best peer's or None, the bound or None)."""
    places = []
    for kind in SETS:
        for name, row in rows_of(found, family.name, kind).items():
            if "isolated" in row:
                ours, ratio = achieved(row, family.unit), results.ratio(row)
                bound = bound_seconds(f"{family.name}/{kind}/{name}", row, found["gpu"]["name"])
                x = row["bytes"] if family.unit == "GB/s" else row["flops"] / row["bytes"]
                places.append((x, ours, ratio and ours / ratio, bound and ours / share_of_bound(row, bound)))
    return places


def roofline(found, known):
    """The speeds of rows, over bytes or over operations per byte, with their bounds."""
    parts = []
    for left, unit, title, x_title in ((66, "GB/s", "Kernels limited by memory", "bytes"),
                                       (538, "TFLOP/s", "Matmuls, convolution, attention", "FLOP per byte")):
        places = [place for family in known if family.unit == unit for place in speeds(found, family)]
        if places:
            marks = {mark: [(place[0], place[y]) for place in places if place[y]]
                     for mark, y in ((BOUND, 3), (SLOWER, 2), (FASTER, 1))}
            axes = (Axis.of([place[axis] for each in marks.values() for place in each], 8) for axis in (0, 1))
            panel = Panel(left, TOP + 22, 396, 320, *axes)
            parts += panel.frame(title, x_title, unit)
            parts += [panel.points(each, mark) for mark, each in marks.items()]
    if not parts:
        return None
    legend = ((FASTER, "TritonC"), (SLOWER, "best peer"), (BOUND, "bound of the row"))
    return picture(found, "roofline", TOP + 390, [*svg.legend(70, 50, legend), *parts])


PLOTS = {"families": families, "sizes": sizes, "maps": maps, "roofline": roofline}
TITLES = {"families": "Speed of TritonC relative to the best peer",
          "sizes": "Speed relative to the best peer, over size",
          "maps": "Random rows by their sizes", "roofline": "Speed and its bounds"}
