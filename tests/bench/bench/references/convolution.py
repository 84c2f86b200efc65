"""Convolution in double, as matmuls, some images at a time. (cuDNN's convolution of doubles is slow.)"""

import torch
from torch.nn.functional import unfold

from bench import check
from bench.references import SIGMAS

SLICE = 1 << 27  # elements of a matrix of doubles: 1 GiB


def error(y, x, f, stride, padding, dilation, images=None):
    """The max error of y, relative to the bound; of the first `images` images, or of all.

    x is N x C x H x W, f is K x C x R x S, y is N x K x P x Q, each with any strides.
    """
    filters = f.double().flatten(1)
    terms = filters.shape[1]
    squares = filters.square()
    results, worst = y.shape[2] * y.shape[3], 0.0
    count = max(1, SLICE // (max(terms, len(filters)) * results))
    for first in range(0, images or len(x), count):
        some = slice(first, first + count)
        columns = unfold(x[some].double(), f.shape[2:], dilation, padding, stride)
        reference = filters @ columns
        root = (squares @ columns.square_()).sqrt_()
        # Each of the additions in float rounds a partial sum, which is within SIGMAS * root.
        before = SIGMAS * (terms + 8) * 2.0**-24 * root
        worst = max(worst, check.error(y[some].flatten(2), reference, before))
    return worst
