"""Measures the bytes that launches read from DRAM and write to it, by the hardware counters (ncu).

    tests/bench/run bytes        # on a GPU; prints a table

Of each family that memory limits, one fixed row. A process under ncu (main()) launches the row once,
between two flushes of L2: the first flush leaves no dirty lines, and the second one writes the results
to DRAM that the launch left in L2. So the bytes of a row are those of the launch, and the bytes that
the second flush writes.

measure() and main() need PyTorch and a GPU, the rest is pure Python.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

from bench.table import heading, line

METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum")
MIN_BYTES, MAX_BYTES = 1e8, 2e9  # of a row: far more than L2, far less than the memory


def chosen(known, shapes_of, bytes_of):
    """For each family that memory limits: the fixed shape with the most bytes within the limits."""
    found = []
    for family in known:
        if family.unit != "GB/s":
            continue
        sizes = [(bytes_of(family, shape), i, shape) for i, shape in enumerate(shapes_of(family))]
        sizes = [each for each in sizes if MIN_BYTES <= each[0] <= MAX_BYTES]
        if sizes:
            found.append((family, max(sizes)[2]))
    return found


def launches(log):
    """(kernel, bytes read, bytes written) of each launch in the log of ncu."""
    lines = [each for each in log.splitlines() if each.startswith('"')]
    if not lines:
        raise ValueError(f"ncu measured nothing:\n{log}")
    rows = list(csv.DictReader(lines))[1:]  # the first row has the units
    return [(row["Kernel Name"], *(int(float(row[metric].replace(",", ""))) for metric in METRICS)) for row in rows]


def bytes_of_rows(found, is_flush):
    """(read, written) of each row. `found` has, for each row: a flush, our launches, a flush.

    All flushes have as many launches as the first one.
    """
    of_flush = next(i for i, each in enumerate(found) if not is_flush(each[0]))
    rows, at = [], 0
    while at < len(found):
        first = last = at + of_flush
        while last < len(found) and not is_flush(found[last][0]):
            last += 1
        flush = found[last:last + of_flush]
        if last == first or len(flush) < of_flush:
            raise ValueError(f"ncu measured no complete row after launch {at}")
        rows.append((sum(each[1] for each in found[first:last]),
                     sum(each[2] for each in found[first:last]) + sum(each[2] for each in flush)))
        at = last + of_flush
    return rows


def text(rows):
    """The table of (row, bytes to move, bytes read, bytes written)."""
    lines = heading("row", "MB to move", "MB read", "MB written", "moved / to move")
    for name, size, read, written in rows:
        lines.append(line(name, f"{size / 1e6:.1f}", f"{read / 1e6:.1f}", f"{written / 1e6:.1f}",
                          f"{(read + written) / size:.3f}"))
    return "\n".join(lines)


def measure(kernels, only="", ncu="ncu"):
    """The rows of text()."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.csv"
        command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--cache-control", "none",
                   "--clock-control", "none", "--profile-from-start", "off", "--log-file", str(log),
                   "--metrics", ",".join(METRICS), sys.executable, "-m", "bench.dram_bytes", str(kernels), only]
        found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        measured = log.read_text(encoding="utf-8") if log.exists() else ""
    if found.returncode:
        raise ValueError(f"ncu failed:\n{measured}{found.stdout}")
    names = [json.loads(each) for each in found.stdout.splitlines() if each.startswith("[")]
    moved = bytes_of_rows(launches(measured), lambda kernel: "at::" in kernel)
    return [(name, size, *each) for (name, size), each in zip(names, moved, strict=True)]


def main(kernels, only):
    import re

    import torch

    from bench import rows
    from bench.build import WithoutPeers
    from bench.families import families
    from bench.kernels import Library
    from bench.timing import Timer

    library, timer = Library(kernels), Timer()

    def case_of(family, shape):
        return family.case(WithoutPeers(library, 1), shape)

    def bytes_of(family, shape):
        try:
            return case_of(family, shape).bytes
        except (KeyError, torch.cuda.OutOfMemoryError) as problem:  # the library may have few kernels
            print(f"tests/bench/run: left out {family.name} {shape}: {problem}", file=sys.stderr)
            return 0
        finally:
            torch.cuda.empty_cache()

    known = [family for family in families() if re.search(only, family.name)]
    for family, shape in chosen(known, lambda family: family.fixed(), bytes_of):
        case = case_of(family, shape)
        case.ours(0)  # loads the code
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        timer.flush()
        case.ours(0)
        timer.flush()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        print(json.dumps([rows.row(family.name, "fixed", **shape).id, case.bytes]), flush=True)
        del case
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(*sys.argv[1:])
