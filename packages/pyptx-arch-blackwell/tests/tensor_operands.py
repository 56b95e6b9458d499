"""Sparsity metadata and scale factors of MMAs in tensor memory, for tests.

Does not use the package: layouts are CuTe's (`tmem_e_frg`, `tmem_sf_frg`) and the manual's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .tensor_images import numbers, rows_of_a
from .tensor_kernels import COLUMNS, LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .mma_reference import Product

    Array = NDArray[Any]

__all__ = ["METADATA_COLUMNS", "SCALE_COLUMNS", "put_metadata", "put_scales", "scales", "scales_of_row", "thinned"]

METADATA_COLUMNS: Final = 4
SCALE_COLUMNS: Final = 16
_WORD: Final = 32
_TWO_OF_FOUR: Final = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110)
_CHUNKS: Final = {"tf32": 2, "mxf4": 8, "mxf4nvf4": 8}  # elements of A per metadata code, by MMA kind (others: 4)
_PAIRS: Final = ("mxf4", "mxf4nvf4")


def thinned(it: Product, rng: np.random.Generator, stored: Array) -> tuple[Array, Array]:
    """Return the sparse A with zeros, `[m, k]`, and the metadata codes of its nonzero elements, `[m, chunks]`."""
    chunk = _CHUNKS.get(it.kind, 4)
    codes = rng.choice((0b0100, 0b1110) if it.kind == "tf32" else _TWO_OF_FOUR, (it.m, it.k // chunk))
    first, second = codes & 3, codes >> 2
    if it.kind == "tf32":  # each metadata index selects a 16-bit half of a tf32 element
        inside = first[..., None] // 2
    elif it.kind in _PAIRS:
        inside = np.stack((2 * first, 2 * first + 1, 2 * second, 2 * second + 1), axis=-1)
    else:
        inside = np.stack((first, second), axis=-1)
    at = np.arange(codes.shape[1])[:, None] * chunk + inside
    dense = np.zeros((it.m, it.k))
    np.put_along_axis(dense, at.reshape(it.m, -1), stored, axis=1)
    return dense, codes


def put_metadata(it: Product, memory: Array, codes: Array, column: int) -> None:
    """Put metadata codes into the lanes of their rows of A. Manual: "Sparsity selector"; CuTe's `tmem_e_frg`."""
    held = rows_of_a(it.m, blocks=it.blocks, sparse=True, ws=it.ws)
    block, lane = np.nonzero(held >= 0)
    row = held[block, lane]
    if it.kind not in ("f16", "tf32"):  # tensor memory: 64 bits of metadata in each row's lane
        words = (codes.reshape(it.m, 2, 8).astype(np.uint32) << np.arange(0, _WORD, 4).astype(np.uint32)).sum(axis=-1)
        memory[block, lane + it.lane, column : column + 2] = words[row]
        return
    # Of each 16 rows of A, g and g + 8 share words of metadata: lane g holds their first 16 bits, lane g + 8 the last
    # 16.
    halves = (codes.reshape(it.m, 2, 4).astype(np.uint32) << np.arange(0, 16, 4).astype(np.uint32)).sum(axis=-1)
    upper = row // 16 * 16 + row % 8
    later = row % 16 // 8
    memory[block, lane + it.lane, column + it.selector] = halves[upper, later] | halves[upper + 8, later] << 16


# --- scale factors --------------------------------------------------------------------------------------------------


def scales(it: Product, rng: np.random.Generator, rows: int) -> tuple[Array, Array]:
    """Return random scale factors of `rows` rows as codes and values, each `[rows, parts of K]`."""
    assert it.scales is not None
    count = scales_of_row(it)
    low, high = (118, 137) if it.scales.element == "ue8m0" else (1, 0x7F)
    codes = rng.integers(low, high, (rows, count)).astype(np.uint8)
    return codes, numbers(codes, it.scales.element)


def scales_of_row(it: Product) -> int:
    """Return the number of scale factors per row. Manual: "Valid combinations of scale_vectorsize and shapes"."""
    size = it.scales.size if it.scales else ""
    if size.startswith("scale_vec"):
        return int(size[-2])
    if it.k == 96:
        return 6 if size == "block16" else 3
    if it.kind == "mxf8f6f4":
        return 1
    return 4 if size == "block16" else 2


def put_scales(memory: Array, codes: Array, column: int, byte: int, halves: int = 1) -> None:
    """Put scale factors into all lane quarters: row i in lane i % 32, one column for each 32 rows.

    The scale factors of a row begin at `byte` of a word. Scale factors past the word's end are in the next group of
    columns: 4 columns further for up to 128 rows, 8 columns for more.
    """
    cells = memory.view(np.uint8).reshape(LANES, COLUMNS, 4)
    each = len(codes) // halves
    step = 4 * -(-len(codes) // 128)
    for (row, chunk), code in np.ndenumerate(codes):
        half, inside = divmod(row, each)
        word, place = divmod(byte + chunk, 4)
        lanes = np.arange(4 // halves) * 32 + half * 64 + inside % 32
        cells[lanes, column + word * step + inside // 32, place] = code
