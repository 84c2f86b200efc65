"""Compiles a Triton kernel for sm_90 without a GPU, and prints the core-seconds. Needs Triton only.

    python3 -m bench.peers.triton_compile softmax

The core-seconds do not contain the start of Python and the import of Triton. A small kernel is compiled
first, so they do not contain the initialization of the compiler either. $TRITON_CACHE_DIR should be a new
folder.
"""

import importlib.util
import resource
import sys
import types

from bench.process import core_seconds


class AnyModule(types.ModuleType):
    """A module that has all names."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{self.__name__}.{name}"


if importlib.util.find_spec("torch") is None:
    sys.modules["torch"] = AnyModule("torch")  # the files of kernels import it, for their launches

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from bench.peers import triton_attention, triton_products, triton_rows


@triton.jit
def small_kernel(y, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.sum(tl.load(x + i, mask=i < n, other=0), axis=0) + i, mask=i < n)


def block(*shape):
    return f"tensordesc<fp16[{','.join(map(str, shape))}]>"


HALF, INT, FLOAT = "*fp16", "i32", "fp32"

# Kernel -> function, types of the arguments that are no constants, constants, options.
KERNELS = {
    "small": (small_kernel, dict(y=HALF, x=HALF, n=INT), dict(BLOCK=128), {}),
    "softmax": (triton_rows.softmax_kernel,
                dict(y=HALF, x=HALF, rows=INT, columns=INT, ldx=INT, ldy=INT),
                dict(BLOCK=1024, STAGES=1), dict(num_warps=4)),
    "layer_norm": (triton_rows.norm_kernel,
                   dict(y=HALF, x=HALF, gain=HALF, bias=HALF, rows=INT, columns=INT, epsilon=FLOAT),
                   dict(CENTERED=True, ROWS=1, BLOCK=1024), dict(num_warps=4)),
    "matmul": (triton_products.blocks_kernel,
               dict(a=block(128, 64), y=block(64, 128), c=block(128, 128), d=block(128, 128), BATCHES=INT,
                    M=INT, N=INT, K=INT),
               dict(bias=None, TM=128, TN=128, TK=64, GROUP=triton_products.GROUP, SUM=tl.float32,
                    A_TRANSPOSED=False, Y_TRANSPOSED=False, BATCHED=False, HALVES=False, BIAS=False,
                    FUNCTION="none", RESIDUAL=False), dict(num_warps=8, num_stages=4)),
    "attention": (triton_attention.attention_kernel,
                  dict(q=block(1, 64, 64), k=block(1, 64, 64), v=block(1, 64, 64), o=HALF, scale=FLOAT, M=INT,
                       N=INT, group=INT),
                  dict(CAUSAL=True, WHOLE=True, D=64, BM=64, BN=64),
                  dict(num_warps=4, num_stages=3)),
}


def source_of(kernel):
    """The source, as a launch with aligned pointers and sizes would compile it; and the options."""
    function, types_, constants, options = KERNELS[kernel]
    signature = {each.name: types_.get(each.name, "constexpr") for each in function.params}
    aligned = {(i,): [["tt.divisibility", 16]] for i, each in enumerate(function.params)
               if signature[each.name] in (HALF, INT) and not each.do_not_specialize}
    return ASTSource(function, signature, constexprs=constants, attrs=aligned), options


def spent_on(kernel):
    """Compiles the kernel and returns the core-seconds, with those of ptxas."""
    source, options = source_of(kernel)
    begin = core_seconds(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    return core_seconds(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) - begin


if __name__ == "__main__":
    spent_on("small")
    print(spent_on(sys.argv[1]))
