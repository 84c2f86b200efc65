"""QuACK: kernels of rows in CuTe DSL. tests/bench/peers_download has its packages.

QuACK compiles a kernel at its first launch, and keeps it on disk. A list has one tensor per set. QuACK's
public functions allocate their results. The functions here call those that write to given tensors.
"""

import importlib

import torch

from bench.peers import Absent
from bench.peers.pytorch import launches


def module(name):
    """A module of QuACK. The package itself has functions of the same names."""
    try:
        return importlib.import_module(f"quack.{name}")
    except ImportError as error:
        raise Absent(f"QuACK is missing ({error}): run tests/bench/peers_download") from None


def writes(function, inputs, outputs):
    """The launch of function(input, ..., output, ...). The outputs of set 0, which are tested, become NaN."""
    for each in outputs:
        each[0].fill_(float("nan"))
    return launches(function, *inputs, *outputs)


def need_rows_of(multiple, x):
    if x.shape[1] * x.element_size() % multiple:
        raise Absent(f"QuACK needs rows of a multiple of {multiple} bytes")


def softmax(x, y):
    call = module("softmax")._softmax_fwd
    need_rows_of(16, x[0])
    return writes(call, [x], [y])


def softmax_backward(y, dy, dx):
    call = module("softmax")._softmax_backward
    need_rows_of(16, y[0])
    return writes(call, [dy, y], [dx])


def norm(x, gain, bias, y, epsilon):
    """Layer norm, or without biases RMS norm."""
    call, centered = module("rmsnorm")._rmsnorm_fwd, bias[0] is not None
    need_rows_of(4, x[0])

    def forward(x, gain, bias, y):
        call(x, gain, y, bias, eps=epsilon, is_layernorm=centered)

    return writes(forward, [x, gain, bias], [y])


def norm_backward(x, gain, dy, mean, factor, dx):
    """The gradient for x. RMS norm has no mean."""
    call, means = backward(x, mean), mean or [None] * len(x)
    return writes(lambda *arguments: call(*arguments, None, None), [x, gain, dy, means, factor], [dx])


def norm_backward_weights(x, gain, dy, mean, factor, dgain, dbias):
    """The gradients for gain and bias. QuACK's kernel also computes the gradient for x."""
    call, means = backward(x, mean), mean or [None] * len(x)
    dx = torch.empty_like(x[0])
    sums, bias_sums = (torch.empty((blocks(x), x[0].shape[1]), dtype=torch.float32, device=x[0].device)
                       for _ in range(2))

    def gradients(x, gain, dy, mean, factor, dgain, dbias):
        call(x, gain, dy, mean, factor, dx, sums, None if mean is None else bias_sums)
        dgain.copy_(sums.sum(0))
        if mean is not None:
            dbias.copy_(bias_sums.sum(0))

    return writes(gradients, [x, gain, dy, means, factor], [dgain, dbias])


def blocks(x):
    """The number of blocks of the backward kernel. Each writes a partial sum for gain and for bias."""
    return module("rmsnorm_config").get_sm_count(x[0].shape[1], x[0].device)


def backward(x, mean):
    """The function of x, gain, dy, mean, factor, dx, and the partial sums for gain and bias or None."""
    call, count = module("rmsnorm")._rmsnorm_bwd, blocks(x)
    need_rows_of(4, x[0])

    def launch(x, gain, dy, mean, factor, dx, sums, bias_sums):
        call(x, gain, dy, factor.view(-1), dx, sums, bias_sums, sm_count=count,
             mean=None if mean is None else mean.view(-1), is_layernorm=mean is not None)

    return launch


def cross_entropy(x, labels, loss, log_sums):
    call = module("cross_entropy").cross_entropy_fwd_out
    need_rows_of(4, x[0])
    return writes(lambda x, labels, *results: call(x, labels, None, *results, None, None),
                  [x, labels], [loss, log_sums])


def cross_entropy_backward(x, labels, log_sums, dloss, dx):
    call = module("cross_entropy").cross_entropy_bwd_out
    need_rows_of(4, x[0])
    return writes(call, [x, labels, dloss, log_sums], [dx])
