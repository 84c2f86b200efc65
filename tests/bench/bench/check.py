"""Compares outputs with references in double, per element."""

import torch

# The distance of a value of at least 1 and below 2 to the next one, relative to 1, halved.
ROUNDING = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.float32: 2.0**-24, torch.float64: 2.0**-53,
            torch.float8_e4m3fn: 2.0**-4, torch.float8_e5m2: 2.0**-3}
SMALLEST = {torch.float16: 2.0**-25, torch.bfloat16: 2.0**-134, torch.float32: 2.0**-150, torch.float64: 0.0,
            torch.float8_e4m3fn: 2.0**-10, torch.float8_e5m2: 2.0**-17}


def error(actual, reference, before=0.0):
    """The max of |actual - reference| over its bound; infinite for a NaN at one side only.

    The bound of an element is the rounding of the reference to the type of `actual`, with a margin of
    2 %, plus `before`: the error that the element may have before it is rounded (a tensor or number).
    """
    if not actual.dtype.is_floating_point:
        return 0.0 if torch.equal(actual.to(torch.int64), reference.to(torch.int64)) else float("inf")
    value = actual.double()
    bound = reference.abs() * (1.02 * ROUNDING[actual.dtype]) + SMALLEST[actual.dtype] + before
    apart = (value - reference).abs()
    same = (value == reference) | (value.isnan() & reference.isnan())
    excess = torch.where(same, torch.zeros_like(apart), apart / bound)
    return float(torch.nan_to_num(excess, nan=float("inf")).max()) if excess.numel() else 0.0


def difference(actual, reference):
    """The error of an output that is not rounded: 0 if all elements are equal, otherwise infinite."""
    return 0.0 if torch.equal(actual, reference) else float("inf")


def poison(*tensors):
    """Fills tensors with NaN, or integers with a value that no kernel here writes."""
    for tensor in tensors:
        tensor.view(torch.uint8).fill_(0xFF)
