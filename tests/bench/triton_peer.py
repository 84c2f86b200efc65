#!/usr/bin/env python3
"""Compares Triton matmuls with cuBLAS, for bench_matmul (see README.md).

    triton_peer.py --rows FILE --out FILE [--seconds N]

Reads lines "half NT 8192 8192 8192" (type, layouts of A and B, M, N, K; bench_matmul --list-triton prints them) and writes
lines "half NT 8192 8192 8192 <Triton ms> <cuBLAS ms> <configuration>" after each measurement.

The kernel is that of Triton's tutorial: pointers, grouped programs, no masks, because the tiles divide all sizes. Each row
uses the fastest of the configurations below. cuBLAS is that of PyTorch. Both run in alternation on the same random
matrices. Times are medians.
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import time

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    sys.exit(f"triton_peer.py: {error}")

TYPES = {"half": torch.float16, "bfloat16": torch.bfloat16}

# BM, BN, BK, warps, stages
CONFIGURATIONS = [
    (128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (256, 128, 64, 8, 3), (256, 128, 64, 8, 4),
    (128, 128, 64, 4, 3), (128, 128, 64, 4, 4), (128, 128, 64, 8, 3), (128, 128, 64, 8, 4),
    (128, 128, 32, 4, 5), (128, 128, 128, 8, 3), (64, 256, 64, 4, 4), (64, 256, 64, 8, 4), (64, 256, 32, 4, 5),
    (128, 64, 64, 4, 3), (128, 64, 64, 4, 5), (128, 64, 128, 4, 4), (64, 128, 64, 4, 3), (64, 128, 64, 4, 5),
    (64, 128, 128, 4, 4), (64, 64, 64, 4, 4), (64, 64, 128, 4, 4), (64, 64, 64, 8, 4), (64, 32, 128, 4, 4),
    (32, 64, 128, 4, 4), (32, 32, 128, 4, 4), (16, 64, 128, 4, 4), (16, 128, 128, 4, 4), (16, 32, 256, 4, 4),
    (16, 64, 256, 4, 3), (16, 64, 64, 2, 5),
]
ROUNDS, WARM_UP = 30, 3


@triton.jit
def matmul(a, b, c, M, N, K, lda, ldb, ldc, TA: tl.constexpr, TB: tl.constexpr,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    program = tl.program_id(0)
    along_m = tl.cdiv(M, BM)
    along_n = tl.cdiv(N, BN)
    group = program // (GROUP * along_n)
    first_m = group * GROUP
    rows = min(along_m - first_m, GROUP)
    pm = first_m + (program % (GROUP * along_n)) % rows
    pn = (program % (GROUP * along_n)) // rows
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    if TA:
        pa = a + rm[:, None] + rk[None, :] * lda
        step_a = BK * lda
    else:
        pa = a + rm[:, None] * lda + rk[None, :]
        step_a = BK
    if TB:
        pb = b + rk[:, None] + rn[None, :] * ldb
        step_b = BK
    else:
        pb = b + rk[:, None] * ldb + rn[None, :]
        step_b = BK * ldb
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(tl.load(pa), tl.load(pb), total)
        pa += step_a
        pb += step_b
    tl.store(c + rm[:, None] * ldc + rn[None, :], total.to(c.dtype.element_ty))


def options(layout, configuration):
    bm, bn, bk, warps, stages = configuration
    return dict(TA=layout[0] == "T", TB=layout[1] == "T", BM=bm, BN=bn, BK=bk, GROUP=8, num_warps=warps, num_stages=stages)


# --- Compiles all kernels in advance on all cores, because one core would take minutes --------------


def compile_one(task):
    type_name, layout, configuration = task
    dtype = TYPES[type_name]
    try:
        matmul.warmup(dtype, dtype, dtype, 8192, 8192, 8192, 8192, 8192, 8192, grid=(1,), **options(layout, configuration))
    except Exception as error:  # the launch reports the error again
        return str(error)
    return ""


def compile_ahead(rows, log):
    tasks = [(*kind, configuration) for kind in dict.fromkeys(row[:2] for row in rows)
             for configuration in CONFIGURATIONS]
    if len(tasks) < 8:
        return
    start = time.time()
    workers = min(16, os.cpu_count() or 1)
    try:
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            failed = sum(bool(error) for error in pool.imap_unordered(compile_one, tasks))
        log(f"compiled {len(tasks)} kernels in {time.time() - start:.0f} s, {failed} failed")
    except Exception as error:
        log(f"nothing compiled ahead: {error}")


# --- Timing ----------------------------------------------------------------------------------------


class Timer:
    """Marks in the queue. The GPU sleeps while the host enqueues a round, so that it does not wait for the host later."""

    def __init__(self):
        self.marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]

    def round(self, first, second, launches, sleep_ms):
        """Milliseconds per launch of both kernels, and whether the host was late."""
        torch.cuda._sleep(int(sleep_ms * 2e6))  # cycles
        for launch in (second, first, second):
            launch()
        for mark, launch in zip(self.marks, (first, second, None)):
            mark.record()
            for _ in range(launches if launch else 0):
                launch()
        late = self.marks[0].query()
        torch.cuda.synchronize()
        return (self.marks[0].elapsed_time(self.marks[1]) / launches,
                self.marks[1].elapsed_time(self.marks[2]) / launches, late)

    def estimate(self, launch):
        """GPU time and host time of a launch in milliseconds."""
        launch()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(3):
            launch()
        host = (time.perf_counter() - start) / 3 * 1e3
        torch.cuda.synchronize()
        return self.round(launch, launch, 2, 12 * host)[0], host


def alternate(timer, first, second, rounds):
    (first_ms, first_host), (second_ms, second_host) = timer.estimate(first), timer.estimate(second)
    launches = max(1, min(50, int(0.2 / min(first_ms, second_ms)) + 1))
    covered = min(first_ms, second_ms) * 3
    sleep = max(0.0, 1.5 * (first_host + second_host) * (launches + 2) - covered)
    samples, number, patience = [], -WARM_UP, 20
    while number < rounds:
        swapped = number % 2 != 0
        *times, late = timer.round(*((second, first) if swapped else (first, second)), launches, sleep)
        if late and patience > 0:  # repeat with more time for the host
            sleep, patience = min(max(2 * sleep, 0.1), 50.0), patience - 1
            continue
        if number >= 0:
            samples.append(times[::-1] if swapped else times)
        number += 1
    return [statistics.median(column) for column in zip(*samples)]


# --- One matmul ------------------------------------------------------------------------------------


def stored(rows, columns, transposed, dtype):
    shape = (columns, rows) if transposed else (rows, columns)
    return torch.randn(shape, device="cuda", dtype=dtype)


def fits(configuration, m, n, k):
    bm, bn, bk = configuration[:3]
    divides = m % bm == 0 and n % bn == 0 and k % bk == 0
    return divides and 4 <= (m // bm) * (n // bn) <= 20000  # outside this range, another tile is faster


def measure(row, timer):
    type_name, layout, m, n, k = row
    dtype = TYPES[type_name]
    a, b = stored(m, k, layout[0] == "T", dtype), stored(k, n, layout[1] == "T", dtype)
    ours, theirs = torch.empty((m, n), device="cuda", dtype=dtype), torch.empty((m, n), device="cuda", dtype=dtype)
    as_a, as_b = a.t() if layout[0] == "T" else a, b.t() if layout[1] == "T" else b

    def cublas():
        torch.matmul(as_a, as_b, out=theirs)

    def launch_of(configuration):
        grid = ((m // configuration[0]) * (n // configuration[1]),)
        bound = matmul[grid]
        settings = options(layout, configuration)
        return lambda: bound(a, b, ours, m, n, k, a.stride(0), b.stride(0), ours.stride(0), **settings)

    found = []
    for configuration in CONFIGURATIONS:
        if not fits(configuration, m, n, k):
            continue
        try:
            found.append((timer.estimate(launch_of(configuration))[0], configuration))
        except Exception:  # too little shared memory, or a compiler failure
            continue
    if not found:
        raise RuntimeError("no configuration runs")
    # Measure the fastest three again for longer, because the first estimate is short.
    found.sort()
    closer = [(alternate(timer, launch_of(configuration), cublas, 5)[0], configuration) for _, configuration in found[:3]]
    best = min(closer)[1]

    triton_launch = launch_of(best)
    ours.fill_(float("nan"))
    triton_launch()
    cublas()
    difference = ((ours.float() - theirs.float()).norm() / theirs.float().norm()).item()
    if not difference < 1e-2:
        raise RuntimeError(f"Triton's values differ from cuBLAS's: {difference}")
    slow = found[0][0] > 20
    triton_ms, cublas_ms = alternate(timer, triton_launch, cublas, ROUNDS // 3 if slow else ROUNDS)
    bm, bn, bk, warps, stages = best
    return triton_ms, cublas_ms, f"{bm}x{bn}x{bk} {warps} warps {stages} stages"


def cublas_file():
    """The cuBLAS file that PyTorch has loaded after its first matmul."""
    a = torch.ones((16, 16), device="cuda", dtype=torch.float16)
    torch.matmul(a, a)
    with open("/proc/self/maps") as maps:
        files = [line.split()[-1] for line in maps if "/libcublas.so" in line]
    return files[0] if files else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", required=True, help="what to measure")
    parser.add_argument("--out", required=True, help="where the results go")
    parser.add_argument("--seconds", type=float, default=300, help="no new row is begun after that (300)")
    arguments = parser.parse_args()
    start = time.time()
    with open(arguments.rows) as file:
        rows = [(words[0], words[1], *map(int, words[2:5])) for words in map(str.split, file) if words]
    if not torch.cuda.is_available():
        sys.exit("triton_peer.py: no GPU here")
    torch.manual_seed(0)
    with open(arguments.out, "w") as out:
        def log(text):
            print("# " + text, file=out, flush=True)

        log(f"versions Triton {triton.__version__}, PyTorch {torch.__version__}")
        log(f"cublas {cublas_file()}")
        compile_ahead(rows, log)
        timer = Timer()
        for row in rows:
            name = " ".join(map(str, row))
            if time.time() - start > arguments.seconds:
                log(f"no time for {name}")
                continue
            try:
                triton_ms, cublas_ms, configuration = measure(row, timer)
            except Exception as error:
                log(f"{name} failed: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
                continue
            print(f"{name} {triton_ms:.6f} {cublas_ms:.6f} {configuration}", file=out, flush=True)
        log(f"{time.time() - start:.0f} s")


if __name__ == "__main__":
    # Run as a module, so that the kernel has the same name here and in the compile workers.
    import triton_peer

    triton_peer.main()
