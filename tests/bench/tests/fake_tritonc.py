#!/usr/bin/env python3
"""A tritonc for the tests of compile costs. Each kernel has the axes TYPE and SIZE, and images of 100 bytes.

The kernel `broken` has an error. The kernel `forgets` does not use the cache.
"""

import json
import pathlib
import sys

SIZES = ("1", "2", "4", "1024")
REPORT = """  seconds      %  times  step
    0.001    5.0      2  front end
    0.003   15.0      2  LLVM, PTX
    0.016   80.0  {:5}  ptxas
    0.020  100.0         total of all jobs; 1.25 times the time of ptxas
"""


def main():
    if sys.argv[1] == "--version":
        print("tritonc 0.1.0 (LLVM 22.1.8)")
        return 0
    command, source, *rest = sys.argv[1:]
    if "broken" in source:
        print(f"{source}:1:1: error: broken\n1 error", file=sys.stderr)
        return 1
    if command == "plan":
        values = [{"SIZE": size, "TYPE": kind} for kind in ("half", "float") for size in SIZES]
        print(json.dumps({"sources": [{"variants": [{"values": each} for each in values]}]}))
        return 0
    options = dict(zip(rest, rest[1:]))
    variants = json.loads(pathlib.Path(options["--variant-file"]).read_text(encoding="utf-8"))
    gpus = options["--arch"].split(",")
    images = [{"images": [{"gpu": gpu, "image_bytes": 100} for gpu in gpus]} for _ in variants]
    manifest = json.dumps({"kernels": [{"variants": images}]})
    pathlib.Path(options["--manifest"]).write_text(manifest, encoding="utf-8")
    for output in ("--object", "--header", "--c-header"):
        if output in options:
            pathlib.Path(options[output]).write_text("// empty\n", encoding="utf-8")
    cache = pathlib.Path(options["--cache-dir"])
    is_cached = cache.exists() and "forgets" not in source
    if str(cache) != "off":
        cache.mkdir(exist_ok=True)
    if "--time-report" in rest:
        print(REPORT.format(0 if is_cached else len(variants)), end="", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
