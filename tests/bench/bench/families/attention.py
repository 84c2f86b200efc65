"""attention: O = softmax(scale Q K^T) V of each head. KV heads of K and V serve H heads of Q."""

from bench.families import Case

TYPES = {"f16": "half", "bf16": "bfloat16"}
DEPTHS = (64, 128)


def shape_of(b, h, kv, m, n, d, seen, kind):
    return dict(B=b, H=h, KV=kv, M=m, N=n, D=d, SEEN=seen, TYPE=kind)


class Attention:
    name, unit = "attention", "TFLOP/s"

    def fixed(self):
        return [shape_of(*each) for each in (
            (4, 16, 16, 4096, 4096, 128, "all", "half"),
            (4, 16, 16, 4096, 4096, 128, "causal", "half"),
            (4, 32, 32, 4096, 4096, 64, "causal", "half"),
            (1, 16, 16, 16384, 16384, 128, "causal", "bfloat16"),
            (1, 32, 8, 8192, 8192, 128, "causal", "bfloat16"),   # Llama 3 8B
            (1, 32, 8, 512, 8192, 128, "causal", "bfloat16"),    # the last part of a long prompt
            (16, 32, 8, 1, 8192, 128, "all", "bfloat16"),        # one new token
            (8, 12, 12, 1024, 1024, 64, "causal", "bfloat16"),   # GPT-2
            (32, 12, 12, 512, 512, 64, "all", "half"),           # BERT
            (64, 12, 12, 197, 197, 64, "all", "half"),           # ViT-B/16
            (2, 10, 10, 4096, 77, 64, "all", "half"),            # Stable Diffusion XL: the prompt
            (1, 24, 24, 4608, 4608, 128, "all", "bfloat16"),     # FLUX
            (1, 20, 20, 448, 1500, 64, "all", "half"),           # Whisper large
            (3, 5, 5, 333, 777, 128, "causal", "half"),
        )]

    def external(self, record):
        """Without page tables. A batch of one sequence is no batch of various lengths."""
        if record["op"] not in ("attention", "attention_decode") or "page_size" in record:
            return []
        d = record["D"]
        if d not in DEPTHS or record.get("Dv", d) != d or record["dtype"] not in TYPES:
            return []
        if record.get("varlen") and record["B"] != 1:
            return []
        m, n = record.get("Sq", record.get("total_q")), record.get("Skv", record.get("total_kv"))
        seen = "causal" if record.get("causal") and m > 1 else "all"
        kind = TYPES[record["dtype"]]
        return [shape_of(record["B"], record["Hq"], record["Hkv"], m, n, d, seen, kind)]

    def random(self, sizes):
        batches, shared = sizes.choose(1, 1, 2, 4, 8, 16, 32), sizes.choose(1, 2, 4, 8, 12, 16, 32)
        heads = shared * sizes.choose(1, 1, 4)
        m, seen = sizes.size(16, 16384), sizes.choose("all", "causal")
        n = sizes.choose(m, m, sizes.size(16, 16384))
        shape = shape_of(batches, heads, shared, m, n, sizes.choose(*DEPTHS), seen,
                         sizes.choose(*TYPES.values()))
        small_enough = 2**26 <= flops_of(shape) <= 2e11 and bytes_of(shape) <= 2**30
        return shape if small_enough and (seen == "all" or m <= n) else None

    def case(self, b, shape):
        from bench import check
        from bench.peers import Absent, attention as peers
        from bench.references import attention as reference

        batches, heads, shared, m, n, d, seen, kind = shape.values()
        causal, scale, size = seen == "causal", d**-0.5, bytes_of(shape)
        sets = b.sets(size)
        q = b.random(sets, (batches, heads, m, d), kind, -4, 4)
        k, v = (b.random(sets, (batches, shared, n, d), kind) for _ in range(2))
        o, log_sums = b.empty(sets, q[0].shape, kind), b.empty(1, (batches, heads, m), "float")[0]
        kernel = b.kernel(f"attention_{kind}_{d}_{seen}")
        places = places_of(batches, heads, shared, m, n, d, causal)

        def bind(i, log_sums):
            return kernel.bind(Q=q[i], K=k[i], V=v[i], O=o[i], log_sums=log_sums, scale=scale, **places)

        # The peers do not compute log_sums. A launch that does is checked, but not timed.
        ours, with_log_sums = [bind(i, None) for i in range(sets)], bind(0, log_sums)

        def error(outputs, log_sums=None, **limit):
            operands = [each[0].flatten(0, 1) for each in (q, k, v)]
            return reference.error([each.flatten(0, 1) for each in outputs], log_sums, *operands, scale,
                                   causal, **limit)

        def check_both():
            first = o[0].clone()
            check.poison(o[0], log_sums)
            with_log_sums()
            return error([first, o[0]], log_sums.flatten(0, 1))

        def triton():
            from bench.peers import triton_attention
            return triton_attention.attention(b, q, k, v, b.empty(sets, q[0].shape, kind), scale, causal,
                                              lambda output: error([output], scores=1 << 28))

        def specialized():
            raise Absent("the warp-specialized loop of Triton 3.6 does not end on Hopper")

        def cudnn_frontend():
            from bench.peers import cudnn_frontend
            return cudnn_frontend.attention(b, q, k, v, b.empty(sets, q[0].shape, kind), scale, causal,
                                            lambda output: error([output], scores=1 << 28))

        def tile_cpp():
            from bench.peers import tile_cpp
            return tile_cpp.attention(b, q, k, v, b.empty(sets, q[0].shape, kind), scale, causal,
                                      lambda output: error([output], scores=1 << 28))

        found = b.peers(
            cuDNN=lambda: peers.cudnn(q, k, v, scale, causal),
            flash_attention=lambda: peers.flash(q, k, v, scale, causal),
            cuDNN_frontend=cudnn_frontend,
            Triton=triton,
            Triton_warp_specialized=specialized,
            flex_attention=lambda: peers.flex(q, k, v, scale, causal),
            **{"CUDA_Tile_C++": tile_cpp},
        )
        return Case(size, flops_of(shape), sets, lambda i: ours[i](), found, check_both,
                    lambda: check.poison(o[0]))


def bytes_of(shape):
    return 4 * shape["B"] * shape["D"] * (shape["H"] * shape["M"] + shape["KV"] * shape["N"])


def flops_of(shape):
    """With a causal mask, half of them if there are as many queries as keys."""
    m, n = shape["M"], shape["N"]
    scores = m * (2 * n - m) // 2 if shape["SEEN"] == "causal" else m * n
    return 4 * shape["B"] * shape["H"] * scores * shape["D"]


def places_of(batches, heads, shared, m, n, d, causal):
    """The kernel's sizes and strides, for tensors without gaps.

    If `group` heads of Q share a head of K, then without a mask their queries are queries of one head.
    """
    group, rows = heads // shared, m
    if not causal:
        heads, group, rows = shared, 1, group * m
    k_batch, k_head = shared * n * d, n * d
    return dict(batches=batches, heads=heads, group=group, window=1, M=rows, N=n, q_batch=heads * rows * d, q_head=rows * d, ldq=d,
                k_batch=k_batch, k_head=k_head, ldk=d, o_batch=heads * rows * d, o_head=rows * d, ldo=d)


FAMILIES = [Attention()]
