"""`SharedTile`: one description of a matrix in shared memory, for TMA, element access and matrix descriptors.

    A = SharedTile(bf16, (128, 64), swizzle="128B", stages=4)    # M x K, K contiguous
    A.tma_tile("M", "K")                                         # the Tile whose TMA copies fill it
    sA = smem.tile(A)                                            # the allocation, aligned to the swizzle
    sA[stage]                                                    # an operand, read by its matrix descriptor

TMA copies, `s[row, column]` and MMA operands then use the same layout. A layout that the hardware does not support is a
SpecError with the rule and a picture of the tile.

Manual: "Asynchronous Warpgroup Level Matrix Instructions: Shared Memory Matrix Layout", "Strides", "Matrix Descriptor
Format"; "Tensor Swizzle Modes".
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, cast

from pyptx_dsl.contract.im2col import Im2col
from pyptx_dsl.contract.specs import Layout, Tile
from pyptx_dsl.errors import SpecError
from pyptx_dsl.registers.operands import as_count
from pyptx_dsl.shared_memory.swizzle import SWIZZLES
from pyptx_dsl.types import b8, is_type
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.contract.specs import Dim
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType
    from pyptx_ir.drawing import Drawing

__all__ = ["CHUNK_BYTES", "CORE_ROWS", "STEP_BYTES", "Major", "SharedTile", "tiles_of", "widest_swizzle"]

CHUNK_BYTES = 16
"""Row width of a core matrix in bytes; a swizzle permutes chunks of this size."""
CORE_ROWS = 8
"""Rows of a core matrix (8 rows of 16 bytes)."""
STEP_BYTES = 32
"""Bytes along K that one dense MMA reads of each row of an operand, for every type."""
_BASE_ALIGNMENT = 128  # alignment in bytes that TMA requires of a shared memory address
_MAX_BOX = 256  # maximum rows of a TMA box. Manual: "Tensor Dimension, size and format"
_TRANSPOSABLE_BITS = (8, 16)
_LAYOUTS = {None: Layout.ROW, "32B": Layout.TMA_32B, "64B": Layout.TMA_64B, "128B": Layout.TMA_128B}
# Swizzle name -> swizzle field of a matrix descriptor, bits 62-63. Manual: "Matrix Descriptor Format".
_CODES = {None: 0, "128B": 1, "64B": 2, "32B": 3}


class Major(IntEnum):
    """The contiguous dimension of an MMA operand in shared memory."""

    K = 0
    MN = 1


@value
class SharedTile(Value):
    """`shape` elements of `dtype` in shared memory, the second dimension contiguous, `stages` times.

    With `major="K"` the shape is (M or N, K), with `major="MN"` (K, M or N). If rows are wider than the swizzle,
    the tile consists of consecutive TMA boxes as wide as the swizzle. Each box is filled by a separate TMA copy.
    Without a swizzle a box is 16 bytes wide. `swizzle` is `"128B"`, `"64B"`, `"32B"`, `None`, or `"widest"`: the widest
    swizzle whose width divides the rows.
    """

    dtype: PtxType
    shape: tuple[int, int]
    major: str
    swizzle: str | None
    stages: int

    def __init__(
        self,
        dtype: PtxType,
        shape: Sequence[int],
        *,
        major: str = "K",
        swizzle: str | None = "widest",
        stages: int = 1,
    ) -> None:
        """Store the tile's properties; raise SpecError for a tile that no matrix descriptor can represent."""
        if not is_type(dtype):
            swapped = f": SharedTile({shape}, {dtype!r})" if is_type(shape) else ""
            raise SpecError(f"a shared tile needs a type first, got {dtype!r}", help=f"pass the type first{swapped}")
        sizes = tuple(number for number in map(as_count, shape) if number is not None and number > 0)
        if len(sizes) != 2 or len(shape) != 2:
            raise SpecError(f"a shared tile needs two sizes, got {shape!r}", help="pass stages as a keyword: stages=4")
        chosen = swizzle if swizzle != "widest" else widest_swizzle(sizes[1] * dtype.bits // 8)
        values = {"dtype": dtype, "shape": sizes, "major": str(major), "swizzle": chosen, "stages": stages}
        for name, held in values.items():
            object.__setattr__(self, name, held)
        self._check()

    # --- sizes --------------------------------------------------------------------------------------

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of the tile, across all its TMA boxes."""
        return self.shape[1] * self.dtype.bits // 8

    @property
    def box_row_bytes(self) -> int:
        """Bytes of a row in one TMA box: the width of the swizzle, or 16 without a swizzle."""
        return int(self.swizzle[:-1]) if self.swizzle else CHUNK_BYTES

    @property
    def box_columns(self) -> int:
        """Elements of a row in one TMA box."""
        return self.box_row_bytes * 8 // self.dtype.bits

    @property
    def boxes(self) -> int:
        """Number of TMA boxes in a stage, each filled by one TMA copy."""
        return self.row_bytes // self.box_row_bytes

    @property
    def box_bytes(self) -> int:
        """Bytes of one TMA box: rows * `box_row_bytes`."""
        return self.shape[0] * self.box_row_bytes

    @property
    def stage_bytes(self) -> int:
        """Bytes of one stage: the expect-tx count of its mbarrier."""
        return self.boxes * self.box_bytes

    @property
    def bytes(self) -> int:
        """Bytes of all stages."""
        return self.stages * self.stage_bytes

    @property
    def alignment(self) -> int:
        """Alignment of the tile in bytes: the period of the swizzle; 128 without a swizzle."""
        return SWIZZLES[self.swizzle].period if self.swizzle else _BASE_ALIGNMENT

    @property
    def allocation_shape(self) -> tuple[int, ...]:
        """Sizes in memory order: stages (if several), TMA boxes (if several), rows of a box, columns of a box."""
        outer = ((self.stages,) if self.stages > 1 else ()) + ((self.boxes,) if self.boxes > 1 else ())
        return (*outer, self.shape[0], self.box_columns)

    @property
    def mn(self) -> int:
        """Elements along M or N."""
        return self.shape[self.major == "MN"]

    @property
    def k(self) -> int:
        """Elements along K."""
        return self.shape[self.major == "K"]

    @property
    def k_step(self) -> int:
        """Elements along K that one dense MMA of this type reads: 16 for 16-bit types, 32 for bytes, 8 for tf32."""
        return STEP_BYTES * 8 // self.dtype.bits

    # --- TMA ----------------------------------------------------------------------------------------

    @property
    def tma_layout(self) -> Layout:
        """`layout` of the Tile (tensor map) with which TMA copies the tile."""
        return _LAYOUTS[self.swizzle]

    @property
    def tma_box(self) -> tuple[int, int]:
        """Size of the box of one TMA copy, (rows, columns). Raise SpecError for more than 256 rows."""
        if self.shape[0] > _MAX_BOX:
            raise self._wrong(f"a TMA box has at most {_MAX_BOX} rows, this tile has {self.shape[0]}", "use two tiles")
        return self.shape[0], self.box_columns

    def tma_tile(self, *dims: Dim, promotion: str = "none", fill: str = "zeros") -> Tile:
        """Return the Tile of an array `[…, rows, columns]` whose TMA copies fill this tile, box by box.

        Dimensions before the rows count matrices; a copy reads one matrix. `promotion` and `fill` are a Tile's
        `tma_promotion` and `tma_fill`. Raise SpecError for fewer than two dimensions, and for types of less than a
        byte, for which TMA has no element type.
        """
        if len(dims) < 2:
            raise self._wrong(f"the array needs at least two dimensions, got {dims!r}", 'write tma_tile("M", "K")')
        if self.dtype.bits < b8.bits:
            raise self._wrong(
                f"TMA has no element type {self.dtype}",
                f"declare the array as b8, with a box of {self.shape[0]} x {self.box_row_bytes} bytes",
            )
        box = (*(1 for _ in dims[2:]), *self.tma_box)
        return Tile(*dims, self.dtype, layout=self.tma_layout, tma_box=box, tma_promotion=promotion, tma_fill=fill)

    def im2col_tile(
        self,
        *dims: Dim,
        filter_size: Sequence[int],
        padding: int | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tile:
        """Return the Tile of an array N x (D x H x) W x C whose im2col copies fill this tile, box by box.

        The tile is outputs x channels: for one element of the filter, one copy reads as many outputs of the convolution
        as the tile has rows. Raise SpecError unless the tile is K-major.
        """
        if self.major != "K":
            raise self._wrong("an im2col copy needs contiguous channels", 'use major="K" (outputs x channels)')
        columns = Im2col.convolution(
            filter_size, pixels=self.shape[0], channels=self.box_columns,
            padding=padding, stride=stride, dilation=dilation,
        )  # fmt: skip
        return Tile(*dims, self.dtype, layout=self.tma_layout, im2col=columns)

    # --- matrix descriptors -------------------------------------------------------------------------

    @property
    def swizzle_code(self) -> int:
        """Swizzle field of matrix descriptors: 0 none, 1 128B, 2 64B, 3 32B."""
        return _CODES[self.swizzle]

    @property
    def leading_byte_offset(self) -> int:
        """Leading dimension byte offset of matrix descriptors; 16 where the hardware does not read it.

        K-major: distance to the next 16 bytes along K, read only without a swizzle. MN-major: distance to the next TMA
        box along M or N, and without a swizzle to the next 8 elements along K.
        """
        if self.major == "K":
            return CHUNK_BYTES if self.swizzle else self.box_bytes
        if self.swizzle is None:
            return CORE_ROWS * CHUNK_BYTES
        return self.box_bytes if self.boxes > 1 else CHUNK_BYTES

    @property
    def stride_byte_offset(self) -> int:
        """Stride dimension byte offset of matrix descriptors: distance to the next 8 rows of the same TMA box.

        MN-major without a swizzle: distance to the next TMA box along M or N.
        """
        if self.major == "MN" and self.swizzle is None:
            return self.box_bytes if self.boxes > 1 else CHUNK_BYTES
        return CORE_ROWS * self.box_row_bytes

    def offset(self, *, mn: int = 0, k: int = 0) -> int:
        """Return the offset in bytes from the start of a stage to the operand of an MMA that begins at (mn, k).

        Add it to the address for which a descriptor is made. Along the rows, `mn` or `k` must be a multiple of 8; along
        the contiguous dimension, of `k_step` (K-major) or `box_columns` (MN-major). Raise SpecError otherwise.
        """
        fast, slow = (k, mn) if self.major == "K" else (mn, k)
        fast_bytes = fast * self.dtype.bits // 8
        unit = STEP_BYTES if self.major == "K" else self.box_row_bytes
        if not (0 <= mn < self.mn and 0 <= k < self.k):
            raise self._wrong(f"mn={mn}, k={k} is outside the {self.mn} x {self.k} tile", "pass mn and k in elements")
        if slow % CORE_ROWS or fast_bytes % unit:
            raise self._wrong(
                f"no MMA operand can start at mn={mn}, k={k}: its first row must be a multiple of {CORE_ROWS}, its "
                f"first column a multiple of {unit} bytes",
                f"advance K by {self.k_step}",
            )
        panel, inside = divmod(fast_bytes, self.box_row_bytes)
        return panel * self.box_bytes + slow * self.box_row_bytes + inside

    def byte_offset(self, row: int, column: int) -> int:
        """Return the offset in bytes from the start of a stage to element (row, column), swizzled.

        It is the offset of the byte that contains an element of less than a byte. Raise SpecError for an element
        outside the tile.
        """
        if not (0 <= row < self.shape[0] and 0 <= column < self.shape[1]):
            raise SpecError(f"element ({row}, {column}) is outside {self!r}")
        box, inside = divmod(column * self.dtype.bits // 8, self.box_row_bytes)
        offset = row * self.box_row_bytes + inside
        return box * self.box_bytes + (SWIZZLES[self.swizzle].apply(offset) if self.swizzle else offset)

    # --- pictures and rules -------------------------------------------------------------------------

    def picture(self) -> str:
        """Return a picture of the tile: the positions of the 16-byte chunks in the 8 rows that the swizzle repeats."""
        from pyptx_dsl.shared_memory.pictures import draw

        return draw(self)

    def to_svg(self) -> Drawing:
        """Return a drawing of the tile's chunks in the banks of shared memory, with the wavefronts of its accesses."""
        from pyptx_dsl.shared_memory.svg import draw_svg

        return draw_svg(self)

    def _repr_html_(self) -> str:
        """Return the drawing of `to_svg` for notebooks."""
        from pyptx_ir.drawing import notebook

        return notebook(self.to_svg())

    def __repr__(self) -> str:
        """Return the Python call that creates this tile."""
        swizzle = None if self.swizzle is None else f"{self.swizzle}"
        more = f", stages={self.stages}" if self.stages != 1 else ""
        return f"SharedTile({self.dtype}, {self.shape}, major={self.major!r}, swizzle={swizzle!r}{more})"

    def _check(self) -> None:
        """Raise SpecError for the first violated rule of tiles that matrix descriptors can represent."""
        if self.major not in Major.__members__:
            raise SpecError(f"major must be 'K' or 'MN', got {self.major!r}", help='use "K" or "MN"')
        if self.swizzle not in _CODES:
            raise SpecError(f"unknown swizzle {self.swizzle!r}", help='use "128B", "64B", "32B", None or "widest"')
        stages = as_count(self.stages)
        if stages is None or stages < 1:
            raise SpecError(f"stages must be a positive int, got {self.stages!r}")
        if self.major == "MN" and self.dtype.bits not in _TRANSPOSABLE_BITS:
            raise self._wrong(
                f"a matrix of {self.dtype} cannot be MN-major: tensor cores transpose types of 8 and 16 bits only",
                "use major='K', and transpose the matrix when you store it to shared memory",
            )
        self._check_sizes()

    def _check_sizes(self) -> None:
        rows, columns = self.shape
        if columns * self.dtype.bits % (CHUNK_BYTES * 8) or self.row_bytes % self.box_row_bytes:
            raise self._wrong(
                f"rows of {columns} x {self.dtype} have {columns * self.dtype.bits / 8:g} bytes, which is not "
                f"a multiple of the {self.box_row_bytes} bytes of a TMA box row",
                f'use the widest swizzle that fits, {widest_swizzle(self.row_bytes)!r}: swizzle="widest"',
            )
        if rows % CORE_ROWS:
            raise self._wrong(
                f"{rows} rows are not a multiple of the {CORE_ROWS} rows of a core matrix",
                f"use {-(-rows // CORE_ROWS) * CORE_ROWS} rows",
            )
        if self.k % self.k_step:
            raise self._wrong(
                f"K = {self.k} is not a multiple of {self.k_step}, the K of one MMA of {self.dtype}",
                f"use K = {-(-self.k // self.k_step) * self.k_step}; TMA fills the added elements with zeros",
            )

    def _wrong(self, rule: str, advice: str) -> SpecError:
        """Return a SpecError with the violated rule as message, and `advice` and the tile's picture as help."""
        return SpecError(f"{self!r}: {rule}", help=f"{advice}\n{self.picture()}")


def widest_swizzle(row_bytes: int) -> str | None:
    """Return the widest swizzle whose width divides `row_bytes`; None if there is none."""
    return next((name for name in ("128B", "64B", "32B") if row_bytes % int(name[:-1]) == 0), None)


def tiles_of(trace: Trace) -> dict[str, SharedTile]:
    """Return the shared tiles that a trace has allocated, by the names of the allocations; `smem.tile` adds to them."""
    return cast("dict[str, SharedTile]", trace.notes.setdefault(tiles_of, {}))
