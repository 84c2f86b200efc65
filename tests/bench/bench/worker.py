"""The process that measures: it reads rows from its standard input and writes results.

A line of input: {"family": ..., "shape": {...}, "without": {peer: reason}, "prepares": false}
Lines of output: {"at": step} before each step, and then {"result": {...}}. The result lists the sources
of the kernels that the row launched: "kernels".

The parent (run.py) ends the process if a step hangs. Needs PyTorch and a GPU.
"""

import argparse
import json
import os
import pathlib
import sys
import zlib

import torch

from bench import wheels
from bench.build import Build, first_line
from bench.families import families
from bench.kernels import Library
from bench.measure import measure, prepare
from bench.timing import Timer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", type=pathlib.Path, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--packages", required=True, help="a folder that is added to sys.path, if it exists")
    parser.add_argument("--peers", nargs="+", help="only these peers; default: all")
    options = parser.parse_args()

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print goes to standard error

    def say(**answer):
        print(json.dumps(answer), file=answers, flush=True)

    say(at="start")
    wheels.use(options.packages)
    library, timer = Library(options.kernels), Timer()
    by_name = {family.name: family for family in families()}
    say(result={})
    for line in sys.stdin:
        wanted = json.loads(line)
        build = Build(library, timer, zlib.crc32(options.seed.encode()), lambda step: say(at=step),
                      wanted["without"], wanted["prepares"], options.peers)
        build.at("inputs")
        try:
            run = prepare if wanted["prepares"] else measure
            result = run(by_name[wanted["family"]], wanted["shape"], build)
        except Exception as error:
            result = {"failed": f"{type(error).__name__}: {first_line(error)}"}
        result["kernels"] = sorted(build.sources)
        del build
        torch.cuda.empty_cache()
        say(result=result)


if __name__ == "__main__":
    main()
