"""Families of rows. Each file has one or more families: shapes, our launch, peers, reference.

A family is a class with

    name          of the kernel's operation, such as "softmax"
    unit          "GB/s" if memory limits it, or "TFLOP/s"
    fixed()       a list of shapes: dictionaries
    external(r)   the shapes that a record of shapes/external.jsonl has for this family; often none
    random(s)     a random shape, drawn from a rows.Sizes; or None, to draw again
    case(b, shape)   the Case of a shape. `b` is a Build.

The files import PyTorch in case() only, so that the list of rows needs no GPU.
"""

import dataclasses
from typing import Callable


@dataclasses.dataclass
class Case:
    """What is measured for a row.

    A launch is a function of the number of a buffer set: launch(0) to launch(sets - 1). The sets have
    different buffers, so that launches back to back do not find their operands in L2.
    """

    bytes: int          # read once and written once
    flops: int          # 0 if memory limits the row
    sets: int
    ours: Callable      # launch; raises kernels.LaunchError if the kernel refuses the shape
    peers: dict         # name -> launch, or the reason (a string) why it cannot run
    check: Callable     # error of our output in set 0, relative to the bound: at most 1 is right
    poison: Callable    # fills our output of set 0 with NaN


def families():
    """All families, in the order of the table."""
    from bench.families import adam, batch_norm, cross_entropy, dropout, embedding, glu, group_norm, moves
    from bench.families import norms, quantize, reductions, rope, softmax
    from bench.families import attention, convolution
    from bench.families import batched, blocksparse, fused, gated, products, split, strided
    return [
        *softmax.FAMILIES,
        *attention.FAMILIES,
        *convolution.FAMILIES,
        *norms.FAMILIES,
        *cross_entropy.FAMILIES,
        *dropout.FAMILIES,
        *glu.FAMILIES,
        *rope.FAMILIES,
        *quantize.FAMILIES,
        *embedding.FAMILIES,
        *adam.FAMILIES,
        *batch_norm.FAMILIES,
        *group_norm.FAMILIES,
        *reductions.FAMILIES,
        *moves.FAMILIES,
        *products.FAMILIES,
        *fused.FAMILIES,
        *gated.FAMILIES,
        *batched.FAMILIES,
        *split.FAMILIES,
        *strided.FAMILIES,
        *blocksparse.FAMILIES,
    ]
