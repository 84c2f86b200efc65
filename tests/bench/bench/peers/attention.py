"""Attention of cuDNN and of flash-attention, both as PyTorch offers them, and of flex_attention.

q is B x H x M x D, k and v are B x KV x N x D, in lists with one tensor per set. If `causal`, the last
query sees all keys.
"""

import warnings

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from bench.peers import Absent, pytorch


def cudnn(q, k, v, scale, causal):
    m, n = q[0].shape[2], k[0].shape[2]
    if not causal or m == n:
        return of_backend(SDPBackend.CUDNN_ATTENTION, q, k, v, scale=scale, is_causal=causal)
    # PyTorch has cuDNN's causal mask only for as many queries as keys; cuDNN adds this one to the scores.
    mask = torch.full((m, n), -torch.inf, dtype=q[0].dtype, device="cuda").triu_(n - m + 1)
    return of_backend(SDPBackend.CUDNN_ATTENTION, q, k, v, scale=scale, attn_mask=mask)


def flash(q, k, v, scale, causal):
    m, n = q[0].shape[2], k[0].shape[2]
    if not causal or m == n:
        return of_backend(SDPBackend.FLASH_ATTENTION, q, k, v, scale=scale, is_causal=causal)
    return of_backend(SDPBackend.FLASH_ATTENTION, q, k, v, scale=scale, attn_mask=causal_lower_right(m, n))


def of_backend(backend, q, k, v, **options):
    """A launch of scaled_dot_product_attention. Raises Absent with PyTorch's reasons."""
    grouped = q[0].shape[1] != k[0].shape[1]

    def launch(i):
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q[i], k[i], v[i], enable_gqa=grouped, **options)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            launch(0)
        except torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError as error:
            lines = [str(each.message).split(" (Triggered")[0].strip() for each in caught]
            others = ("used because", "runtime disabled")
            reasons = [line for line in lines if not any(each in line for each in others)]
            raise Absent("PyTorch: " + " ".join(reasons or [str(error).splitlines()[0]])) from None
    return launch


def flex(q, k, v, scale, causal):
    """flex_attention, compiled. Its mask has the blocks that no query sees."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    m, n = q[0].shape[2], k[0].shape[2]
    mask = None
    if causal:
        mask = create_block_mask(lambda batch, head, query, key: key <= query + (n - m), None, None, m, n,
                                 device="cuda")
    attend, grouped = pytorch.compiled(flex_attention), q[0].shape[1] != k[0].shape[1]
    return pytorch.launches(lambda q, k, v: attend(q, k, v, block_mask=mask, scale=scale, enable_gqa=grouped),
                            q, k, v)
