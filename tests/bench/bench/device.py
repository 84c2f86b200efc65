"""Facts about the GPU and the peers, for the file of results. Needs PyTorch and a GPU."""

import importlib.metadata
import json
import pathlib
import subprocess

import torch

QUERIES = {"driver": "driver_version", "sm_clock_mhz": "clocks.max.sm", "memory_clock_mhz": "clocks.max.memory",
           "power_limit_w": "power.limit", "ecc": "ecc.mode.current"}
PACKAGES = {"PyTorch": "torch", "Triton": "triton", "cuDNN": "nvidia-cudnn-cu13", "cuBLAS": "nvidia-cublas",
            "cuDNN frontend": "nvidia-cudnn-frontend", "QuACK": "quack-kernels"}


def gpu():
    properties = torch.cuda.get_device_properties(0)
    facts = {"name": properties.name, "sms": properties.multi_processor_count,
             "memory_bytes": properties.total_memory, "l2_bytes": properties.L2_cache_size}
    command = ["nvidia-smi", "--query-gpu=" + ",".join(QUERIES.values()), "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        facts.update(zip(QUERIES, (each.strip() for each in answer.splitlines()[0].split(","))))
    except (OSError, subprocess.SubprocessError, IndexError):
        pass  # the table then has no clocks
    return facts


def peers(kernels):
    """The versions of the peers. `kernels` is the folder of the kernels."""
    versions = {"CUDA": torch.version.cuda, "cuDNN": str(torch.backends.cudnn.version())}
    for name, package in PACKAGES.items():
        try:
            versions[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    table = pathlib.Path(kernels) / "tile_cpp" / "kernels.json"
    if table.exists():
        versions["CUDA Tile C++"] = json.loads(table.read_text(encoding="utf-8"))["compiler"]
    return versions
