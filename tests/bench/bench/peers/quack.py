"""QuACK: kernels of rows in CuTe DSL."""

from bench.peers import Absent


def function(name):
    """A function of QuACK: softmax, rmsnorm or cross_entropy."""
    try:
        import quack
    except ImportError:
        raise Absent("QuACK is not installed") from None
    return getattr(quack, name)
