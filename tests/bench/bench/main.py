"""The command line of the benchmark: tests/bench/run."""

import argparse
import os
import pathlib
import sys
import time

from bench import compare, results, rows, table
from bench.families import families

HERE = pathlib.Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser(prog="tests/bench/run",
                                     description="Compares the shipped kernels with their peers.")
    commands = parser.add_subparsers(dest="command", required=True)

    measure = commands.add_parser("measure", help="measure rows on this machine's GPU")
    listing = commands.add_parser("list", help="print the rows")
    for each in (measure, listing):
        each.add_argument("--part", default="1/1", metavar="I/N", help="a part of the rows")
        each.add_argument("--only", metavar="REGEX", help="the rows whose names match")
        each.add_argument("--sets", nargs="+", default=rows.SETS, choices=rows.SETS, help="default: all")
        each.add_argument("--seed", help="of the random rows; default: drawn by the clock, and printed")
        each.add_argument("--count", type=int, default=20, help="random rows per family (%(default)s)")
    measure.add_argument("--kernels", type=pathlib.Path, default=HERE / "kernels",
                         help="the folder with libbench_kernels.so and the C headers; default: %(default)s")
    measure.add_argument("--commit", default="", help="the commit of the kernels, for the file of results")
    measure.add_argument("--prepare", type=int, default=min(10, max(1, (os.cpu_count() or 1) - 2)), metavar="N",
                         help="processes that first compile the kernels of the peers; 0 = none (%(default)s)")
    measure.add_argument("--patience", type=float, default=180, metavar="SECONDS",
                         help="a step without an answer for so long counts as hung (%(default)s)")
    measure.add_argument("--out", type=pathlib.Path, required=True,
                         help="file of results; an existing one is continued")

    merging = commands.add_parser("merge", help="merge the files of parts")
    merging.add_argument("parts", nargs="+", type=pathlib.Path)
    merging.add_argument("--out", type=pathlib.Path, required=True)

    showing = commands.add_parser("table", help="print the table of a file of results")
    showing.add_argument("results", type=pathlib.Path)
    showing.add_argument("--strict", action="store_true",
                         help="exit with 1 if a fixed row misses its goal, or any row failed")

    comparing = commands.add_parser("compare",
                                    help="find rows that became slower; exit with 1 if there are any")
    comparing.add_argument("old", type=pathlib.Path)
    comparing.add_argument("new", type=pathlib.Path)
    return parser.parse_args()


def selected(options, known):
    shapes = HERE / "shapes" / "external.jsonl"
    everything = rows.all_rows(known, shapes, options.seed, options.count, options.sets)
    return rows.part_of(everything, options.part, options.only)


def measure(options, known):
    from bench import device, run

    facts = dict(gpu=device.gpu(), peers=device.peers(options.kernels), commit=options.commit,
                 seed=options.seed, kernels=device.digest(options.kernels / "libbench_kernels.so"))
    found = results.empty(**facts)
    if options.out.exists():
        found = results.merge([results.read(options.out), found])
    command = [sys.executable, "-m", "bench.worker", "--kernels", str(options.kernels), "--seed", options.seed]
    say = lambda line: print(line, flush=True)
    wanted = [row for row in selected(options, known) if row.id not in found["rows"]]
    if options.prepare:
        run.prepare(wanted, [run.Worker(command, options.patience) for _ in range(options.prepare)], say)
    run.run(wanted, found, options.out, run.Worker(command, options.patience), say)
    return 0


def main():
    options = arguments()
    known = families()
    try:
        if options.command in ("measure", "list") and options.seed is None:
            options.seed = str(int(time.time()))
            if options.command == "measure" and options.out.exists():
                options.seed = results.read(options.out)["seed"]
            print(f"--seed {options.seed}", flush=True)
        if options.command == "measure":
            return measure(options, known)
        if options.command == "list":
            print("\n".join(each.id for each in selected(options, known)))
            return 0
        if options.command == "merge":
            results.write(options.out, results.merge([results.read(part) for part in options.parts]))
            return 0
        if options.command == "table":
            found = results.read(options.results)
            print(table.text(found, known))
            return 1 if options.strict and table.missed(found, known) else 0
        changes = compare.changes(results.read(options.old), results.read(options.new))
        print(compare.text(changes))
        return 1 if any(change.is_loss for change in changes) else 0
    except (results.Mismatch, ValueError, OSError, ImportError) as problem:
        print(f"tests/bench/run: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
