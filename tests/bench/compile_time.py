#!/usr/bin/env python3
"""Compares the time of tritonc with the time of ptxas for the same PTX, for each variant.

    tests/bench/compile_time.py build/release/bin/tritonc /usr/local/cuda/bin/ptxas [rounds]

Runs both in alternation:

    tritonc  including its child processes, without a cache, one job
    ptxas    a shell runs it on each PTX file that tritonc passes to ptxas, including schedules that
             tritonc drops later

Compares medians over the rounds (default 7) of wall time and of CPU time (user + system). Prints the
table of docs/pages/performance.md.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

tritonc, ptxas = sys.argv[1:3]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
kernel = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../kernels/matmul.tc")
variants = [(tm, tn, tk) for tm in (32, 64, 128) for tn in (32, 64, 128) for tk in (8, 16)]


def times(command):
    """Wall time and CPU time in seconds."""

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [after - at_first for after, at_first in zip(used(), before)]


def medians(rows):
    return [statistics.median(column) for column in zip(*rows)]


def measure(variant, folder):
    axes = "TYPE=half;A=N;B=N;TM={};TN={};TK={}".format(*variant)
    compile_it = [tritonc, "compile", kernel, "--arch", "90a", "--variants", axes, "-j1", "--cache-dir", "off",
                  "--object", folder + "/x.o", "--header", folder + "/x.hpp", "--ptxas"]

    # A ptxas that keeps its input files.
    keeping = folder + "/ptxas"
    with open(keeping, "w") as script:
        script.write(f'#!/bin/sh\nfor file; do case $file in *.ptx) cp "$file" {folder}/$$.ptx;; esac; done\n'
                     f'exec {ptxas} "$@"\n')
    os.chmod(keeping, 0o755)
    subprocess.run(compile_it + [keeping], check=True)
    files = sorted(name for name in os.listdir(folder) if name.endswith(".ptx"))
    assemble = "\n".join(f"{ptxas} -O3 -v -arch=sm_90a {folder}/{name} -o {folder}/x.cubin" for name in files)

    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(times(compile_it + [ptxas]))
        theirs.append(times(["sh", "-c", assemble]))
    return len(files), medians(ours), medians(theirs)


def line(name, images, ours, theirs):
    print("| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |".format(
        name, images, ours[0], theirs[0], ours[0] / theirs[0], ours[1] / theirs[1]), flush=True)


print("| TM x TN x TK | images | all, s | ptxas, s | ratio | of processor time |\n|---|---|---|---|---|---|")
all_ours, all_theirs = [0, 0], [0, 0]
for variant in variants:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        images, ours, theirs = measure(variant, folder)
    all_ours = [sum(pair) for pair in zip(all_ours, ours)]
    all_theirs = [sum(pair) for pair in zip(all_theirs, theirs)]
    line("{} x {} x {}".format(*variant), images, ours, theirs)
line("all", "", all_ours, all_theirs)
