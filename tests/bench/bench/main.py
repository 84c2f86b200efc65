"""The command line of the benchmark: tests/bench/run."""

import argparse
import json
import os
import pathlib
import re
import sys
import time
import zlib

from bench import compare, compile_cost, compile_results, compile_table, pages, results, rows, table
from bench.families import families
from bench.families.rows import TYPES

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent  # of the repository


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
    measure.add_argument("--wheels", type=pathlib.Path, default=HERE / "wheels", metavar="FOLDER",
                         help="the wheels of peers that peers_download wrote, if any; default: %(default)s")
    measure.add_argument("--peers", nargs="+", metavar="NAME", help='only these peers, such as cuBLAS; default: all')
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

    compiling = commands.add_parser("compile",
                                    help="measure the cost of compiling the kernels; needs no GPU")
    compiling.add_argument("--tritonc", type=pathlib.Path, default=ROOT / "build/release/bin/tritonc",
                           metavar="PATH", help="default: %(default)s")
    compiling.add_argument("--only", metavar="REGEX", help="the kernels whose names match")
    compiling.add_argument("--python", default=sys.executable, metavar="PATH",
                           help="a Python with Triton, which then is a peer; default: this Python")
    compiling.add_argument("--commit", default="", help="the commit of tritonc, for the file of results")
    compiling.add_argument("--out", type=pathlib.Path, required=True, help="file of results")

    checking = commands.add_parser("images", help="run every image of the kernels on random shapes, and "
                                   "check all results; exit with 1 if one is wrong")
    checking.add_argument("--kernels", type=pathlib.Path, default=HERE / "kernels", help="default: %(default)s")
    checking.add_argument("--only", metavar="REGEX", help="the families whose names match")
    checking.add_argument("--seed", help="of the shapes; default: drawn by the clock, and printed")

    timing = commands.add_parser("times", help="measure all images of kernels without a matmul on random "
                                 "shapes, for `fit`")
    timing.add_argument("--kernels", type=pathlib.Path, default=HERE / "kernels", help="default: %(default)s")
    timing.add_argument("--seed", help="of the shapes; default: drawn by the clock, and printed")
    timing.add_argument("--seconds", type=float, default=230, help="default: %(default)s")
    timing.add_argument("--types", nargs="+", default=TYPES, choices=TYPES, help="of the shapes; default: all")
    timing.add_argument("--out", type=pathlib.Path, required=True, help="file of times")

    moving = commands.add_parser("bytes", help="measure the bytes that launches move from and to DRAM, by ncu")
    moving.add_argument("--kernels", type=pathlib.Path, default=HERE / "kernels", help="default: %(default)s")
    moving.add_argument("--only", metavar="REGEX", default="", help="the families whose names match")

    fitting = commands.add_parser("fit", help="fit the costs of kernels without a matmul to a file of times; "
                                  "needs no GPU")
    fitting.add_argument("times", type=pathlib.Path, help="file of `times`")
    fitting.add_argument("--manifests", type=pathlib.Path, required=True, metavar="FOLDER",
                         help="the manifests of the measured kernels: KERNEL.json")
    fitting.add_argument("--seed", default="1", help="of the search; default: %(default)s")

    writing = commands.add_parser("write", help="write the tables and plots of the documentation from results/")
    writing.add_argument("--check", action="store_true",
                         help="write nothing; exit with 1 and name the files that are not up to date")
    return parser.parse_args()


def selected(options, known):
    shapes = HERE / "shapes" / "external.jsonl"
    everything = rows.all_rows(known, shapes, options.seed, options.count, options.sets)
    return rows.part_of(everything, options.part, options.only)


def measure(options, known):
    from bench import device, run, wheels
    from bench.kernels import digests

    packages = wheels.unpack(options.wheels)
    wheels.use(packages)  # device.peers() reads their versions
    kernels = digests(options.kernels)
    if not kernels:
        raise ValueError(f"{options.kernels} has no manifests of kernels: build the target bench_kernels")
    found = results.empty(gpu=device.gpu(), peers=device.peers(options.kernels), seed=options.seed)
    if options.out.exists():
        found = results.merge([results.read(options.out), found])
    chosen = selected(options, known)
    for family, count in results.remove_outdated(found, {row.family for row in chosen}, kernels).items():
        print(f"{family}: its kernels changed, so its {count} rows are measured again", flush=True)
    command = [sys.executable, "-m", "bench.worker", "--kernels", str(options.kernels), "--seed", options.seed,
               "--packages", str(packages), *(["--peers", *options.peers] if options.peers else [])]
    say = lambda line: print(line, flush=True)
    wanted = [row for row in chosen if row.id not in found["rows"]]
    if options.prepare:
        run.prepare(wanted, [run.Worker(command, options.patience) for _ in range(options.prepare)], say)
    run.run(wanted, found, options.out, run.Worker(command, options.patience), say, commit=options.commit,
            date=time.strftime("%Y-%m-%d", time.gmtime()), kernels=kernels)
    known_peers = results.peers_of(found["rows"][row.id] for row in wanted)
    unknown = [name for name in options.peers or () if known_peers and name not in known_peers]
    if unknown:
        raise ValueError(f"--peers {unknown[0]}: no measured row has this peer, only {', '.join(sorted(known_peers))}")
    return 0


def compile_kernels(options):
    found = compile_cost.measure(compile_cost.installed(options.tritonc, options.python),
                                 compile_cost.sources(ROOT / "kernels", options.only),
                                 lambda line: print(line, flush=True), options.commit)
    results.write(options.out, found)
    print(compile_table.text(compile_results.read(options.out)))
    return 1 if compile_table.failures(found) else 0


def check_images(options, known):
    from bench import images
    from bench.build import WithoutPeers
    from bench.kernels import Library

    library, tallies = Library(options.kernels), []
    owned = images.owners(known, library.kernels)
    for family in known:
        if options.only and not re.search(options.only, family.name):
            continue

        def case_of(shape):
            build = WithoutPeers(library, zlib.crc32(options.seed.encode()))
            return family.case(build, shape), list(build.kernels)

        tallies.append(images.run(family, owned[family.name], options.seed, case_of))
        print(images.text(tallies[-1:]).splitlines()[2], flush=True)
    print(images.text(tallies))
    return 1 if any(tally.failures for tally in tallies) else 0


def measure_times(options, known):
    from bench import elementwise_times
    from bench.kernels import Library
    from bench.timing import Timer

    found = elementwise_times.measure(known, Library(options.kernels), Timer(), options.seed, options.seconds,
                                      options.types, lambda line: print(line, flush=True))
    options.out.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return 0


def measure_bytes(options):
    from bench import dram_bytes

    print(dram_bytes.text(dram_bytes.measure(options.kernels, options.only)))
    return 0


def fit_times(options):
    from bench import elementwise_times

    print(elementwise_times.fit_files(options.times, options.manifests, ROOT / "kernels",
                                      ROOT / "generator/target/cost_tables.cpp", options.seed))
    return 0


def write(options, known):
    texts = pages.wanted(ROOT, known)
    if not options.check:
        pages.write(ROOT, texts)
        return 0
    outdated = pages.outdated(ROOT, texts)
    for path in outdated:
        print(f"tests/bench/run: {path} is not up to date with {pages.RESULTS}: call tests/bench/run write",
              file=sys.stderr)
    return 1 if outdated else 0


def main():
    options = arguments()
    known = families()
    try:
        if options.command in ("measure", "list", "images", "times") and options.seed is None:
            options.seed = str(int(time.time()))
            if options.command == "measure" and options.out.exists():
                options.seed = results.read(options.out)["seed"]
            print(f"--seed {options.seed}", flush=True)
        if options.command == "measure":
            return measure(options, known)
        if options.command == "bytes":
            return measure_bytes(options)
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
        if options.command == "images":
            return check_images(options, known)
        if options.command == "compile":
            return compile_kernels(options)
        if options.command == "times":
            return measure_times(options, known)
        if options.command == "fit":
            return fit_times(options)
        if options.command == "write":
            return write(options, known)
        changes = compare.of_files(options.old, options.new)
        print(compare.text(changes))
        return 1 if any(change.is_loss for change in changes) else 0
    except (results.Mismatch, ValueError, OSError, ImportError) as problem:
        print(f"tests/bench/run: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
