"""Convolution in Triton, as a matmul (implicit GEMM): a program computes BM pixels of BN filters."""

import triton
import triton.language as tl

from bench.peers.verify import verified

SIZES = ["N", "c_units", "H", "W", "k_units", "R", "S", "P", "Q", "stride_h", "stride_w", "pad_h", "pad_w",
         "dilation_h", "dilation_w"]
UNIT = 8  # channels or filters, if their number is a multiple: the compiler knows the alignment
FEW_CHANNELS = 32


@triton.jit(do_not_specialize=SIZES)
def convolution_kernel(x, f, y, N, c_units, H, W, k_units, R, S, P, Q, stride_h, stride_w, pad_h, pad_w,
                       dilation_h, dilation_w, C_UNIT: tl.constexpr, K_UNIT: tl.constexpr, NHWC: tl.constexpr,
                       FLAT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """FLAT: an iteration has BK of the C x R x S elements of a filter; else BK channels of one place."""
    C, K = c_units * C_UNIT, k_units * K_UNIT
    tiles = tl.cdiv(K, BN)
    pixel = tl.program_id(0) // tiles * BM + tl.arange(0, BM)
    filter = tl.program_id(0) % tiles * BN + tl.arange(0, BN)
    image, place = pixel // (P * Q), pixel % (P * Q)
    top = place // Q * stride_h - pad_h
    left = place % Q * stride_w - pad_w
    depth = R * S * C
    is_pixel, is_filter = pixel < N * P * Q, filter < K
    filters = f + (filter * depth)[None, :]
    sums = tl.zeros([BM, BN], tl.float32)
    if FLAT:
        for first in range(0, depth, BK):
            index = first + tl.arange(0, BK)
            if NHWC:
                channel, spot = index % C, index // C
            else:
                channel, spot = index // (R * S), index % (R * S)
            h = top[:, None] + (spot // S * dilation_h)[None, :]
            w = left[:, None] + (spot % S * dilation_w)[None, :]
            inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & is_pixel[:, None] & (index < depth)[None, :]
            if NHWC:
                places = ((image * H)[:, None] + h) * W * C + w * C + channel[None, :]
            else:
                places = ((image * C)[:, None] + channel[None, :]) * H * W + h * W + w
            pixels = tl.load(x + places, mask=inside, other=0)
            used = is_filter[None, :] & (index < depth)[:, None]
            weights = tl.load(filters + index[:, None], mask=used, other=0)
            sums = tl.dot(pixels, weights, sums, input_precision="ieee")
    else:
        blocks = tl.cdiv(C, BK)
        for step in range(0, R * S * blocks):
            spot = step // blocks
            channel = step % blocks * BK + tl.arange(0, BK)
            h = top + spot // S * dilation_h
            w = left + spot % S * dilation_w
            inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & is_pixel
            if NHWC:
                places = (((image * H + h) * W + w) * C)[:, None] + channel[None, :]
                elements = spot * C + channel
            else:
                places = (image * C * H * W + h * W + w)[:, None] + (channel * (H * W))[None, :]
                elements = channel * (R * S) + spot
            pixels = tl.load(x + places, mask=inside[:, None] & (channel < C)[None, :], other=0)
            used = is_filter[None, :] & (channel < C)[:, None]
            weights = tl.load(filters + elements[:, None], mask=used, other=0)
            sums = tl.dot(pixels, weights, sums, input_precision="ieee")
    if NHWC:
        results = (pixel * K)[:, None] + filter[None, :]
    else:
        results = (image * K * P * Q + place)[:, None] + (filter * (P * Q))[None, :]
    tl.store(y + results, sums.to(y.dtype.element_ty), mask=is_pixel[:, None] & is_filter[None, :])


# (BM, BN, BK, warps, stages)
TILES = [(128, 128, 64, 8, 3), (128, 128, 32, 4, 4), (128, 256, 64, 8, 3), (256, 64, 64, 8, 3),
         (128, 64, 64, 4, 3), (64, 128, 64, 4, 3), (64, 64, 64, 4, 4), (64, 64, 32, 4, 4),
         (64, 32, 64, 4, 4), (32, 64, 64, 4, 4)]
FLOAT_TILES = [(64, 64, 16, 4, 3), (64, 64, 32, 4, 3), (128, 64, 16, 8, 3), (64, 32, 32, 4, 3),
               (32, 64, 32, 4, 3)]


def convolution(b, x, f, y, sizes, is_nhwc, error):
    """The fastest configuration. `sizes` are N, C, H, W, K, R, S, P, Q, strides, padding, dilations.

    The tensors have the layouts of our kernel. `error` is a function of the output of set 0.
    """
    n, c, h, w, k, r, s, p, q, *options = sizes
    c_unit, k_unit = (UNIT if is_nhwc and count % UNIT == 0 else 1 for count in (c, k))

    def launch_of(bm, bn, bk, warps, stages):
        programs = triton.cdiv(n * p * q, bm) * triton.cdiv(k, bn)

        def launch(i):
            convolution_kernel[(programs,)](
                x[i], f[i], y[i], n, c // c_unit, h, w, k // k_unit, r, s, p, q, *options, C_UNIT=c_unit,
                K_UNIT=k_unit, NHWC=is_nhwc, FLAT=c < FEW_CHANNELS, BM=bm, BN=bn, BK=bk, num_warps=warps,
                num_stages=stages)

        return launch

    tiles = FLOAT_TILES if x[0].element_size() == 4 else TILES
    best = b.fastest(launch_of(*each) for each in tiles if each[1] <= max(64, triton.next_power_of_2(k)))
    return verified(best, lambda: error(y[0]), limit=2)
