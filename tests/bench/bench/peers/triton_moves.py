"""Triton: copies, transpositions and permutations in tiles, and the sum of vectors, tuned over tiles."""

import triton
import triton.language as tl

# Rows and columns of a tile, and warps.
COPIES = ((1, 1024, 4), (1, 4096, 4), (1, 8192, 8), (4, 1024, 8), (16, 64, 4), (16, 256, 8), (64, 64, 4),
          (128, 8, 4))
TRANSPOSITIONS = ((16, 64, 4), (64, 16, 4), (32, 32, 4), (64, 64, 4), (64, 64, 8), (32, 128, 8),
                  (128, 32, 8), (128, 128, 8), (512, 4, 4), (4, 512, 4))


@triton.jit
def move_kernel(x, y, rows, columns, layer_x, row_x, layer_y, row_y, column_y, BR: tl.constexpr,
                BC: tl.constexpr):
    """Moves a tile of a layer. Columns are contiguous in x; in y, columns or rows are: Triton compiles
    an argument that is 1 as a constant. A mask would split the loads of a row whose length is odd."""
    across, down = tl.cdiv(columns, BC), tl.cdiv(rows, BR)
    number = tl.program_id(0)
    layer = (number // (across * down)).to(tl.int64)
    row = (number // across % down).to(tl.int64) * BR
    column = (number % across).to(tl.int64) * BC
    i, j = tl.arange(0, BR)[:, None].to(tl.int64), tl.arange(0, BC)[None, :].to(tl.int64)
    places_x = x + layer * layer_x + row * row_x + column + (i * row_x + j)
    places_y = y + layer * layer_y + row * row_y + column * column_y + (i * row_y + j * column_y)
    if (row + BR <= rows) & (column + BC <= columns):
        tl.store(places_y, tl.load(places_x))
    else:
        inside = (i < rows - row) & (j < columns - column)
        tl.store(places_y, tl.load(places_x, mask=inside), mask=inside)


@triton.jit
def add_kernel(x, y, z, n, SIZE: tl.constexpr):
    first = tl.program_id(0) * SIZE
    i = first + tl.arange(0, SIZE)
    if first + SIZE <= n:
        tl.store(z + i, tl.load(x + i) + tl.load(y + i))
    else:
        inside = i < n
        tl.store(z + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def moves(b, x, y, layers, rows, columns, strides, tiles):
    """The fastest launch of move_kernel. Tiles are not much larger than a layer."""
    most = (triton.next_power_of_2(rows), triton.next_power_of_2(columns))
    fitting = dict.fromkeys((min(br, most[0]), min(bc, most[1]), warps) for br, bc, warps in tiles)

    def launch_of(br, bc, warps):
        programs = layers * triton.cdiv(rows, br) * triton.cdiv(columns, bc)

        def launch(i):
            move_kernel[programs,](x[i], y[i], rows, columns, *strides, BR=br, BC=bc, num_warps=warps)

        return launch

    return b.fastest(launch_of(*tile) for tile in fitting)


def copy(b, x, y):
    """y = x for matrices; x may have a row stride."""
    (rows, columns), ld = x[0].shape, x[0].stride(0)
    if ld == columns:
        return moves(b, x, y, 1, 1, rows * columns, (0, 0, 0, 0, 1), COPIES)
    return moves(b, x, y, 1, rows, columns, (0, ld, 0, columns, 1), COPIES)


def transpose(b, x, y):
    """y (N x M) = x (M x N) transposed."""
    m, n = x[0].shape
    return moves(b, x, y, 1, m, n, (0, n, 0, 1, m), TRANSPOSITIONS)


def permute(b, x, y, strides, last):
    """y = x with its axes in another order. Index a of x has the stride strides[a] in y, and `last` has 1."""
    extents, steps = x[0].shape, x[0].stride()
    row = 1 if last == 2 else last
    layer = 1 - row
    return moves(b, x, y, extents[layer], extents[row], extents[2],
                 (steps[layer], steps[row], strides[layer], strides[row], strides[2]),
                 COPIES if last == 2 else TRANSPOSITIONS)


def add(b, x, y, z):
    """z = x + y for vectors."""
    n = x[0].numel()

    def launch_of(size, warps):
        def launch(i):
            add_kernel[triton.cdiv(n, size),](x[i], y[i], z[i], n, SIZE=size, num_warps=warps)

        return launch

    return b.fastest(launch_of(*each) for each in ((256, 2), (1024, 4), (2048, 4), (4096, 8), (8192, 8)))
