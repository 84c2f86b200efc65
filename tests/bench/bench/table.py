"""The tables of a file of results, as Markdown. Pure Python."""

from bench import results, roofline
from bench.rows import SETS
from bench.statistics import Summary

GOAL = 1.0  # of a row: the best peer's time over ours, isolated
WORST = 5   # rows that a set of rows lists


def rows_of(found, family, kind):
    start = f"{family}/{kind}/"
    return {name.removeprefix(start): row for name, row in found["rows"].items() if name.startswith(start)}


def line(*cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def heading(*cells):
    return [line(*cells), "|" + "---|" * len(cells)]


def number(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value >= 0.1 else f"{value:#.2g}"


def achieved(row, unit):
    """The speed of the row in its unit."""
    seconds = row["isolated"]["ours"][1] * 1e-6
    return row["flops"] / seconds * 1e-12 if unit == "TFLOP/s" else row["bytes"] / seconds * 1e-9


def share_of_copy(row):
    copy = row["isolated"].get("copy")
    return copy[1] / row["isolated"]["ours"][1] if copy else None


def share_of_bound(row, bound):
    return bound and bound * 1e6 / row["isolated"]["ours"][1]


def ratios_of(rows, column):
    return [ratio for ratio in (results.ratio(row, column) for row in rows) if ratio is not None]


def summary(found, known):
    """One line per family and set."""
    lines = heading("family", "rows", "n", "refused", "failed", "geometric mean", "10th percentile", "worst",
                    ">= 1.0", "< 0.8", "in a stream")
    for family in known:
        for kind in SETS:
            rows = rows_of(found, family.name, kind)
            if not rows:
                continue
            of, in_stream = (Summary.of(ratios_of(rows.values(), column)) for column in results.COLUMNS)
            unmeasured = [sum(word in row for row in rows.values()) for word in ("refused", "failed")]
            if of is None:
                lines.append(line(family.name, kind, 0, *unmeasured, *["-"] * 6))
                continue
            lines.append(line(family.name, kind, of.count, *unmeasured, number(of.mean), number(of.tenth),
                              number(of.least), f"{of.at_least_one:.0%}", f"{of.below:.0%}",
                              number(in_stream and in_stream.mean)))
    return lines


def worst(found, known):
    """The slowest rows of each external and random set."""
    lines = heading("row", "ours", "best peer", "ratio")
    for family in known:
        for kind in ("external", "random"):
            rows = {name: row for name, row in rows_of(found, family.name, kind).items()
                    if results.ratio(row) is not None}
            for name in sorted(rows, key=lambda name: results.ratio(rows[name]))[:WORST]:
                row = rows[name]
                lines.append(line(f"{family.name} {kind} {name}", f"{achieved(row, family.unit):.0f} {family.unit}",
                                  results.best_peer(row)[0], number(results.ratio(row))))
    return lines


def failures(found, known):
    """All rows that failed, with the reason."""
    lines = heading("row that failed", "reason")
    return lines + [line(f"{family.name} {name}", row["failed"]) for family in known for kind in SETS
                    for name, row in rows_of(found, family.name, kind).items() if "failed" in row]


def fixed(found, family):
    """The fixed rows of a family with all peers."""
    rows = rows_of(found, family.name, "fixed")
    named = [name for row in rows.values() for name in (*row.get("isolated", {}), *row.get("absent", {}))]
    peers = [name for name in dict.fromkeys(named) if name not in results.NO_PEERS]
    is_memory = family.unit == "GB/s"
    limit = "of copy" if is_memory else "of bound"
    lines = heading("shape", family.unit, limit, "ratio", "in a stream", "goal", *peers)
    for name, row in rows.items():
        if "isolated" not in row:
            word = "refused" if "refused" in row else "failed"
            lines.append(line(name, f"{word}: {row[word]}", "-", "-", "-", goal(row), *["-" for _ in peers]))
            continue
        times = (row["isolated"].get(peer) for peer in peers)
        cells = [number(each[1] / row["isolated"]["ours"][1]) if each else "absent" for each in times]
        bound = roofline.bound_seconds(f"{family.name}/fixed/{name}", row, found["gpu"]["name"])
        share = share_of_copy(row) if is_memory else share_of_bound(row, bound)
        lines.append(line(name, f"{achieved(row, family.unit):.0f}", number(share), number(results.ratio(row)),
                          number(results.ratio(row, "stream")), goal(row), *cells))
    return lines


def absences(rows):
    """The peers that are absent in some of the rows, with the reasons."""
    reasons = [f"- {peer} is absent in some rows: {reason}"
               for row in rows for peer, reason in row.get("absent", {}).items()]
    return list(dict.fromkeys(reasons))


def goal(row):
    """A row without a measured peer has no goal. A row that was not measured misses it."""
    ratio = results.ratio(row)
    if "isolated" in row and ratio is None:
        return "-"
    return "met" if ratio is not None and ratio >= GOAL else "missed"


def missed(found, known):
    """The names of the fixed rows whose goal is missed, and of all rows that failed."""
    return [f"{family.name} {name}" for family in known for kind in SETS
            for name, row in rows_of(found, family.name, kind).items()
            if "failed" in row or kind == "fixed" and goal(row) == "missed"]


def device(found, families=None):
    """The GPU, and the dates of the families (None: of all)."""
    gpu = found["gpu"]
    dates = sorted({facts["date"] for name, facts in found["families"].items() if not families or name in families})
    return (f"{gpu['name']}, driver {gpu.get('driver', 'unknown')}, "
            f"power limit {gpu.get('power_limit_w', 'unknown')} W, {span(dates) or 'unknown date'}")


def span(dates):
    """The first date and the last one, in words."""
    return " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""


def commits(found):
    """The commit of the measured kernels. Of several, the last one comes first, each with its families."""
    families = {}
    for name, facts in sorted(found["families"].items()):
        families.setdefault(facts["commit"] or "unknown", []).append(name)
    if len(families) < 2:
        return f"commit {next(iter(families), 'unknown')}"
    dates = {commit: sorted(found["families"][name]["date"] for name in names) for commit, names in families.items()}
    most = max(families, key=lambda commit: len(families[commit]))
    ordered = sorted(families, key=lambda commit: (dates[commit][-1], commit), reverse=True)
    return "commits " + ", ".join(f"{commit} ({span(dates[commit])}: "
                                  f"{'all other families' if commit == most else ', '.join(families[commit])})"
                                  for commit in ordered)


def facts(found):
    """All conditions of the measurement, in one line."""
    versions = ", ".join(f"{name} {version}" for name, version in found["peers"].items())
    seeds = sorted({seed for facts in found["families"].values() for seed in facts["seeds"]}) or [found["seed"]]
    return (f"{device(found)}; {commits(found)}; random rows of seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}. "
            f"Peers: {versions or 'unknown'}.")


def text(found, known):
    parts = [facts(found),
             "Ratio: the time of the best peer over ours, each launch alone with L2 flushed. "
             "Above 1, ours is faster.", roofline.words(found["gpu"]["name"])]
    for lines in (summary(found, known), worst(found, known), failures(found, known)):
        if len(lines) > 2:  # not the heading alone
            parts += ["", *lines]
    for family in known:
        if rows := rows_of(found, family.name, "fixed"):
            reasons = absences(rows.values())
            parts += ["", f"### {family.name}", "", *fixed(found, family), *([""] if reasons else []), *reasons]
    return "\n".join(parts)
