"""Measures one row. Needs PyTorch and a GPU."""

import torch

from bench.kernels import LaunchError


def prepare(family, shape, build):
    """Compiles the kernels of the peers of a row into the caches of Triton and PyTorch."""
    try:
        family.case(build, shape)
    except (LaunchError, torch.cuda.OutOfMemoryError):
        pass  # measure() reports it
    return {}


def measure(family, shape, build):
    """The results of one row: see results.py."""
    try:
        case = family.case(build, shape)
        build.at("check")
        case.poison()
        case.ours(0)
        torch.cuda.synchronize()
        error = case.check()
        if not error <= 1:
            return {"failed": f"wrong result: {error:.3g} times the bound"}
        launches = {name: peer for name, peer in case.peers.items() if callable(peer)}
        candidates = {"ours": case.ours, **launches}
        if family.unit == "GB/s":
            candidates["copy"] = copy_of(case.bytes, case.sets)
        build.at("timing")
        isolated = build.timer.isolated(candidates)
        columns = {"isolated": isolated, "stream": build.timer.stream(candidates, case.sets, isolated)}
        return {
            "bytes": case.bytes, "flops": case.flops, "error": round(error, 4),
            "absent": {name: peer for name, peer in case.peers.items() if not callable(peer)},
            **{column: {name: [round(1e6 * q, 3) for q in (times.low, times.median, times.high)]
                        for name, times in found.items()}
               for column, found in columns.items()},
        }
    except LaunchError as refused:
        return {"refused": str(refused)}
    except torch.cuda.OutOfMemoryError:
        return {"failed": "out of memory"}


def copy_of(size, sets):
    """Copies half of `size` bytes, so that it reads and writes `size` bytes."""
    buffers = [(torch.zeros(size // 2, dtype=torch.uint8, device="cuda"),
                torch.empty(size // 2, dtype=torch.uint8, device="cuda")) for _ in range(sets)]
    return lambda i: buffers[i][1].copy_(buffers[i][0])
