"""The benchmark: the shipped kernels beside the best peers, on a GPU. See ../README.md."""
