"""PyTorch: eager, and compiled by torch.compile."""

import torch


def compiled(function):
    """The function compiled for the shapes of its first call.

    In the default mode: on softmax, "max-autotune" takes 20 seconds per shape on 16 cores.
    """
    torch._dynamo.reset()
    return torch.compile(function, dynamic=False)


def launches(function, *arguments):
    """A launch of function(argument of the set, ...) for lists of tensors, one per set."""

    def launch(i):
        return function(*(each[i] for each in arguments))

    return launch


def block_sparse(a, blocks, first, rows, sizes):
    """Launches of a linear layer whose weight, N x K, is block-sparse (BSR).

    Its rows of blocks are the columns of matmul_blocksparse, with the blocks transposed.
    """
    weights = [torch.sparse_bsr_tensor(first, rows, each.transpose(-1, -2).contiguous(), size=sizes)
               for each in blocks]
    return launches(torch.nn.functional.linear, a, weights)
