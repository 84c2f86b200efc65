"""The tables of compile costs, as Markdown. Pure Python."""

import math

from bench import compile_results
from bench.table import absences, heading, line


def facts(found):
    """The conditions of the measurement, in one line."""
    machine, (_, low, median, high) = found["machine"], found["reference"]["seconds"]
    versions = ", ".join(f"{name} {version}" for name, version in found["tools"].items())
    return (f"{machine['name']}, {machine['cores']} cores, {found['date'] or 'unknown date'}; "
            f"commit {found['commit'] or 'unknown'}; {versions}. Medians of {found['rounds']} rounds. "
            f"The reference took {median:.3f} core-seconds (quartiles: {low:.3f} and {high:.3f}).")


def kernels(found):
    """One line per kernel, and a line of all."""
    lines = heading("kernel", "variants", "compiled", "images", "images per variant",
                    "core-seconds per image", "share of ptxas", "from the cache, core-seconds per call",
                    "bytes per image")
    for name, row in found["rows"].items():
        if "failed" in row:
            lines.append(line(name, f"failed: {row['failed']}", *["-"] * 7))
            continue
        cold, cached = (row[column][2] for column in compile_results.COLUMNS)
        lines.append(line_of(name, row["variants"], len(row["sample"]), row["images"], cold, row["ptxas"],
                             cached, row["bytes"]))
    rows = measured(found)
    if rows:
        total = {key: sum(row[key] for row in rows) for key in ("variants", "images", "bytes")}
        cold, cached = (sum(row[column][2] for row in rows) for column in compile_results.COLUMNS)
        ptxas = math.fsum(row["ptxas"] * row["cold"][2] for row in rows) / cold
        lines.append(line_of("**all**", total["variants"], sum(len(row["sample"]) for row in rows),
                             total["images"], cold, ptxas, cached / len(rows), total["bytes"]))
    return lines


def line_of(name, variants, compiled, images, cold, ptxas, cached, size):
    return line(name, variants, compiled, images, f"{images / compiled:.1f}", f"{cold / images:.3f}",
                f"{ptxas:.0%}", f"{cached:.3f}", f"{size / images:.0f}")


def failures(found):
    """The names of all entries that failed."""
    return [name for part in ("rows", "peers", "libraries") for name, entry in found[part].items()
            if "failed" in entry]


def measured(found):
    return [row for row in found["rows"].values() if "failed" not in row]


def peers(found):
    """The core-seconds of each compiler for the same kernel."""
    entries = found["peers"]
    found_names = (name for entry in entries.values()
                   for name in (*entry.get("calls", {}), *entry.get("absent", {})))
    names = list(dict.fromkeys([compile_results.OURS, *found_names]))
    lines = heading("kernel", "variant of TritonC", "its images", *names)
    for kernel, entry in entries.items():
        if "failed" in entry:
            lines.append(line(kernel, f"failed: {entry['failed']}", "-", *["-" for _ in names]))
            continue
        calls = (entry["calls"].get(name) for name in names)
        lines.append(line(kernel, entry["variant"], entry["images"],
                          *[f"{call[2]:.3f}" if call else "absent" for call in calls]))
    reasons = absences(entries.values())
    return lines + ([""] if reasons else []) + reasons


def libraries(found):
    lines = heading("library of", "images", "static library, bytes", "linked and stripped, bytes")
    for name, entry in sorted(found["libraries"].items(),
                              key=lambda each: each[0] != compile_results.RUNTIME):
        lines.append(line(name, f"failed: {entry['failed']}", "-", "-") if "failed" in entry else
                     line(name, entry["images"], entry["archive"], entry["linked"]))
    return lines


# Of the page: name -> lines.
BLOCKS = {
    "compile cost": lambda found: [facts(found), "", *kernels(found)],
    "compile cost of peers": peers,
    "sizes of libraries": libraries,
}


def text(found):
    """All tables."""
    return "\n\n".join("\n".join(lines_of(found)) for lines_of in BLOCKS.values())
