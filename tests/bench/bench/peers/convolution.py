"""Convolution of cuDNN, by PyTorch."""

import torch
from torch.nn.functional import conv2d

from bench.peers import pytorch


def cudnn(x, f, stride, padding, dilation):
    """x is N x C x H x W, f is K x C x R x S, with any strides. cuDNN measures its algorithms first."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # our kernel does not round floats to tf32
    return pytorch.launches(lambda x, f: conv2d(x, f, None, stride, padding, dilation), x, f)


def cudnn_channels_last(x, f, *options):
    """On copies with the channels last. The time does not include the conversion."""
    x, f = ([each.contiguous(memory_format=torch.channels_last) for each in tensors] for tensors in (x, f))
    return cudnn(x, f, *options)
