"""conv2d: convolution of images, forward. Layouts NHWC and NCHW, as the kernel's contract has them."""

from bench.families import Case
from bench.kernels import LaunchError

TYPES = {"f16": "half", "bf16": "bfloat16", "f32": "float"}
BYTES = {"half": 2, "bfloat16": 2, "float": 4}
LAYOUTS = ("nhwc", "nchw")
PAIRS = ("STRIDE", "PAD", "DILATION")


def shape_of(n, c, h, w, k, r, s, stride, pad, dilation, layout, kind):
    """Stride, padding and dilation are pairs, or one number for both directions."""
    pairs = {}
    for name, value in zip(PAIRS, (stride, pad, dilation)):
        down, right = (value, value) if isinstance(value, int) else value
        pairs[name] = f"{down}x{right}"
    return dict(N=n, C=c, H=h, W=w, K=k, R=r, S=s, **pairs, LAYOUT=layout, TYPE=kind)


def sizes_of(shape):
    """N, C, H, W, K, R, S, P, Q, then the strides, the padding and the dilations, as pairs."""
    n, c, h, w, k, r, s = (shape[name] for name in "NCHWKRS")
    stride, pad, dilation = (tuple(map(int, shape[name].split("x"))) for name in PAIRS)
    p, q = ((size + 2 * pad[i] - dilation[i] * (elements - 1) - 1) // stride[i] + 1
            for i, (size, elements) in enumerate(((h, r), (w, s))))
    return (n, c, h, w, k, r, s, p, q), stride, pad, dilation


def elements_of(shape):
    """Of X, F and Y."""
    (n, c, h, w, k, r, s, p, q), *_ = sizes_of(shape)
    return n * c * h * w, k * c * r * s, n * k * p * q


def bytes_of(shape):
    return BYTES[shape["TYPE"]] * sum(elements_of(shape))


def flops_of(shape):
    return 2 * elements_of(shape)[2] * shape["C"] * shape["R"] * shape["S"]


class Convolution:
    name, unit = "conv2d", "TFLOP/s"

    def fixed(self):
        return [shape_of(*each) for each in (
            (32, 3, 224, 224, 64, 7, 7, 2, 3, 1, "nhwc", "half"),       # ResNet-50: the first convolution,
            (32, 64, 56, 56, 64, 3, 3, 1, 1, 1, "nhwc", "half"),        # then one of each stage
            (32, 256, 56, 56, 64, 1, 1, 1, 0, 1, "nhwc", "half"),
            (32, 128, 28, 28, 128, 3, 3, 1, 1, 1, "nhwc", "half"),
            (32, 256, 14, 14, 256, 3, 3, 1, 1, 1, "nhwc", "half"),
            (32, 1024, 14, 14, 2048, 1, 1, 2, 0, 1, "nhwc", "half"),
            (32, 512, 7, 7, 512, 3, 3, 1, 1, 1, "nhwc", "half"),
            (32, 128, 28, 28, 128, 3, 3, 1, 1, 1, "nchw", "half"),
            (32, 128, 28, 28, 128, 3, 3, 1, 1, 1, "nhwc", "float"),
            (2, 320, 64, 64, 320, 3, 3, 1, 1, 1, "nhwc", "half"),       # Stable Diffusion: the U-Net
            (1, 128, 512, 512, 128, 3, 3, 1, 1, 1, "nhwc", "bfloat16"),  # and the decoder
            (8, 512, 65, 65, 256, 3, 3, 1, 12, 12, "nhwc", "half"),     # DeepLab
            (1, 256, 14, 14, 256, 3, 3, 1, 1, 1, "nhwc", "half"),       # one image
            (3, 67, 45, 37, 129, 3, 5, (2, 1), (1, 2), 1, "nhwc", "half"),
        )]

    def external(self, record):
        """A convolution of one dimension has one row. "strided" does not say which strides."""
        if record["op"] not in ("conv2d", "conv1d") or record.get("groups", 1) != 1:
            return []
        layout = record.get("layout", "nchw")
        if layout not in LAYOUTS or record["dtype"] not in TYPES:
            return []
        stride, pad, dilation = record["stride"], record["pad"], record["dilation"]
        if record["op"] == "conv1d":
            stride, pad, dilation = [1, *stride], [0, *pad], [1, *dilation]
        sizes = [record.get(name, 1) for name in "NCHWKRS"]
        return [shape_of(*sizes, stride, pad, dilation, layout, TYPES[record["dtype"]])]

    def random(self, sizes):
        n, c, k = sizes.choose(1, 1, 2, 4, 8, 16, 32, 64), sizes.size(3, 2048), sizes.size(8, 2048)
        h, wider, rows = sizes.size(7, 512), sizes.choose(1, 1, 1.5), sizes.choose(1, 3, 3, 5, 7)
        stride, dilation = sizes.choose(1, 1, 2), sizes.choose(1, 1, 1, 2) if rows > 1 else 1
        shape = shape_of(n, c, h, int(h * wider), k, rows, rows, stride, dilation * (rows // 2), dilation,
                         sizes.choose(*LAYOUTS), sizes.choose(*TYPES.values()))
        most = 1e10 if shape["TYPE"] == "float" else 1e11
        return shape if 2**24 <= flops_of(shape) <= most and bytes_of(shape) <= 2**30 else None

    def case(self, b, shape):
        from bench import check
        from bench.peers import convolution as peers
        from bench.references import convolution as reference

        most = max(elements_of(shape))
        if most >= 2**31:
            raise LaunchError("refused", f"a tensor has {most} elements; the contract permits 2^31 - 1")
        (n, c, h, w, k, r, s, p, q), stride, pad, dilation = sizes_of(shape)
        kind, is_nhwc, size = shape["TYPE"], shape["LAYOUT"] == "nhwc", bytes_of(shape)
        sets = b.sets(size)

        def dimensions(images, channels, rows, columns):
            return (images, rows, columns, channels) if is_nhwc else (images, channels, rows, columns)

        def as_nchw(tensors):
            return [each.permute(0, 3, 1, 2) if is_nhwc else each for each in tensors]

        x = b.random(sets, dimensions(n, c, h, w), kind)
        f = b.random(sets, dimensions(k, c, r, s), kind)
        y = b.empty(sets, dimensions(n, k, p, q), kind)
        kernel = b.kernel(f"conv2d_{kind}_{shape['LAYOUT']}")
        ours = [kernel.bind(X=x[i], F=f[i], Y=y[i], N=n, C=c, H=h, W=w, K=k, R=r, S=s, P=p, Q=q,
                            stride_h=stride[0], stride_w=stride[1], pad_h=pad[0], pad_w=pad[1],
                            dilation_h=dilation[0], dilation_w=dilation[1]) for i in range(sets)]
        images, filters = as_nchw(x), as_nchw(f)

        def error(output, count=None):
            return reference.error(*as_nchw([output, x[0], f[0]]), stride, pad, dilation, count)

        def triton():
            from bench.peers import triton_convolution
            numbers = (n, c, h, w, k, r, s, p, q, *stride, *pad, *dilation)
            return triton_convolution.convolution(b, x, f, b.empty(sets, y[0].shape, kind), numbers, is_nhwc,
                                                  lambda output: error(output, 1))

        def cudnn_frontend():
            from bench.peers import cudnn_frontend
            out = b.empty(sets, y[0].shape, kind)
            return cudnn_frontend.convolution(b, images, filters, as_nchw(out), *options,
                                              lambda: error(out[0], 1))

        options = (stride, pad, dilation)
        makers = dict(cuDNN=lambda: peers.cudnn(images, filters, *options), Triton=triton)
        if is_nhwc:
            makers["cuDNN_frontend"] = cudnn_frontend
        else:
            makers["cuDNN_channels_last"] = lambda: peers.cudnn_channels_last(images, filters, *options)
        return Case(size, flops_of(shape), sets, lambda i: ours[i](), b.peers(**makers), lambda: error(y[0]),
                    lambda: check.poison(y[0]))


FAMILIES = [Convolution()]
