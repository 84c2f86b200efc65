"""The least time of a row: that of its bytes, or of its operations, at the GPU's peak. Pure Python.

The peaks are those of NVIDIA's data sheets of H100 SXM and H200 SXM. Most rates there are for sparse
operands: HOPPER has half of them. A float is no tf32, so its products run on CUDA cores.
"""

import re

# FLOP/s of dense operands by TYPE of a row.
HOPPER = {"half": 989.5e12, "bfloat16": 989.5e12, "tf32": 494.5e12, "float": 67e12, "double": 67e12,
          "e4m3": 1979e12, "e5m2": 1979e12, "int8": 1979e12}

# Name of a GPU in PyTorch -> bytes/s of its memory, and FLOP/s.
PEAKS = {"NVIDIA H100 80GB HBM3": (3.35e12, HOPPER), "NVIDIA H200": (4.8e12, HOPPER)}


def type_of(name):
    """The TYPE in the name of a row, such as "softmax/fixed/M=64 N=32 TYPE=half"; None if it has none."""
    found = re.search(r"[ /]TYPE=(\S+)", name)
    return found and found[1]


def bound_seconds(name, row, gpu):
    """The least seconds of a row on the GPU with this name; None if a peak is unknown."""
    if gpu not in PEAKS:
        return None
    bytes_per_second, rates = PEAKS[gpu]
    rate = rates.get(type_of(name))
    if row["flops"] and rate is None:
        return None
    return max(row["bytes"] / bytes_per_second, row["flops"] / rate if row["flops"] else 0)


def words(gpu):
    """What the bound is on the GPU with this name."""
    if gpu not in PEAKS:
        return f"The benchmark has no peaks of {gpu}, so no row has a bound."
    memory = f"{PEAKS[gpu][0] * 1e-12:g} TB/s"
    return (f"Bound: the bytes of the row at {memory}, or its operations at the peak of the type without "
            f"sparsity, whichever takes longer. Source: data sheet of {gpu}.")
