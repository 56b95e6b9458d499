"""Specifications of kernel arrays: `Tile("B", "N", f32)` and `Layout`.

A Tile is a contract. Before a launch every array is checked against it: rank, element type, each dimension (a name must
have one size everywhere), strides, alignment, device. `pyptx_dsl.contract.arguments` performs the checks.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.errors import RankError, ShapeError, SpecError, UnboundDimensionsError
from pyptx_dsl.registers.operands import as_count
from pyptx_dsl.tracebacks import entry
from pyptx_dsl.types import BY_NAME, PtxType
from pyptx_ir.element_types import BY_ARRAY, takes
from pyptx_ir.plugins.packed import PACKED_ELEMENTS, PackedElements
from pyptx_ir.plugins.rows import FILLS, L2_PROMOTIONS
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_dsl.contract.im2col import Im2col

Dim: TypeAlias = int | str


class Layout(enum.Enum):
    """Memory layout of an array, and the swizzle of its TMA boxes.

    `ROW` is C-contiguous. `COL` has unit stride on dimension 0 and is otherwise dense in reverse order (a column-major
    matrix). `TMA_…B` are C-contiguous in global memory; the name is the swizzle of the box in shared memory, so the
    inner width of the box may not exceed it. `INTERLEAVED` is TMA without swizzle, in 16-byte slices.
    """

    ROW = "row"
    COL = "col"
    TMA_128B = "tma_128b"
    TMA_64B = "tma_64b"
    TMA_32B = "tma_32b"
    INTERLEAVED = "interleaved"

    @property
    def swizzle(self) -> str | None:
        """Name of the shared memory swizzle; None for a layout without a swizzle."""
        return _SWIZZLES.get(self.name)

    @property
    def swizzle_bytes(self) -> int:
        """Width of a swizzle atom's row in bytes; 0 without a swizzle."""
        return _SWIZZLE_BYTES.get(self.name, 0)


_SWIZZLES = {"TMA_128B": "128B", "TMA_64B": "64B", "TMA_32B": "32B"}
_SWIZZLE_BYTES = {"TMA_128B": 128, "TMA_64B": 64, "TMA_32B": 32, "INTERLEAVED": 16}
# Manual: "Tensor Dimension, size and format": a tiled tensor has up to five dimensions.
_MAX_TMA_RANK = 5
_MAX_BOX = 256
# Elements of the inner box dimension of padded types. Manual: "Restriction on Tensor Copy instructions".
_PADDED_ELEMENTS = 128
_PAIR = "e2m1x2"
MAX_ALIGN = 256
"""Alignment of device allocations in bytes. CUDA programming guide: "Size and Alignment Requirement"."""


@value
class Tile(Value):
    """Shape, element type and layout of one array; dimensions are sizes or names.

    - `tma_box`: the box of one TMA copy (sizes or names, one per dimension); for `TMA_…B` it defaults to whole rows of
      the tensor, cut to the swizzle's width.
    - `tma_rank`: the rank of the descriptor: 2, or 3 for the `{0, row, column / 64}` convention, where `tma_padding`
      selects the padded row pitch.
    - `tma_promotion` (`"none"`, `"64B"`, `"128B"`, `"256B"`): the size of L2 fetches.
    - `tma_fill` (`"zeros"`, `"nan"`): the value of elements outside the tensor.
    - `tma_elements`: the TMA type of a tile of bytes or of `e2m1x2`: `"b4x16"`, copied unchanged (the default of
      `e2m1x2`); `"b4x16_p64"` or `"b6x16_p32"`, padded to 16 bytes per 16 elements, with 64 or 96 bytes per row.
    - `im2col`: copies take columns of pixels instead of boxes.
    - `align`: the required alignment of the address in bytes, if accesses are wider than an element: 16 for
      `ld.v4.f32`.
    """

    shape: tuple[Dim, ...]
    dtype: PtxType
    layout: Layout
    tma_box: tuple[Dim, ...] | None
    tma_rank: int
    tma_padding: bool
    tma_promotion: str
    tma_fill: str
    tma_elements: str | None
    im2col: Im2col | None
    align: int

    @entry
    def __init__(
        self,
        *dims_and_dtype: Dim | PtxType | Layout,
        dtype: PtxType | None = None,
        layout: Layout = Layout.ROW,
        tma_box: Sequence[Dim] | None = None,
        tma_rank: int = 2,
        tma_padding: bool = False,
        tma_promotion: str = "none",
        tma_fill: str = "zeros",
        tma_elements: str | None = None,
        im2col: Im2col | None = None,
        align: int = 1,
    ) -> None:
        """Store dimensions, element type and layout; type and layout follow the dimensions or are keywords."""
        shape, behind = list[Dim](), False
        for item in dims_and_dtype:
            match item:
                case PtxType():
                    dtype, behind = _once(dtype, item), True
                case Layout():
                    layout, behind = item, True
                case _ if behind:
                    raise SpecError(f"Tile{dims_and_dtype!r}: the dimensions must precede dtype and layout")
                case _:
                    shape.append(_dim(item))
        if dtype is None:
            last = shape[-1] if shape and shape[-1] in BY_NAME else None
            help = f"pass the type {last!r} without quotes; a string names a dimension" if last else ""
            raise SpecError(f"Tile{dims_and_dtype!r} has no dtype", help=help or 'pass a type: Tile("M", "N", f32)')
        if not shape:
            raise SpecError(f"Tile({dtype}) has no dimensions", help="write Tile(1, …) for a single number")
        box = None if tma_box is None else tuple(_dim(size) for size in tma_box)
        values = {"shape": tuple(shape), "dtype": dtype, "layout": layout, "tma_box": box}
        modes = {"tma_rank": tma_rank, "tma_padding": tma_padding, "im2col": im2col, "align": align}
        words = {"tma_promotion": tma_promotion, "tma_fill": tma_fill, "tma_elements": tma_elements}
        for name, held in (*values.items(), *modes.items(), *words.items()):
            object.__setattr__(self, name, held)
        self._check()

    def _check(self) -> None:
        """Raise SpecError for an invalid TMA box, TMA rank or alignment."""
        if not 1 <= self.tma_rank <= _MAX_TMA_RANK:
            raise SpecError(f"tma_rank must be 1 to {_MAX_TMA_RANK}, got {self.tma_rank}")
        align = as_count(self.align)
        if align is None or not 0 < align <= MAX_ALIGN or align & (align - 1):
            raise SpecError(
                f"align must be a power of two up to {MAX_ALIGN}, got {self.align!r}", help="pass bytes: align=16"
            )
        for name, word, known in (
            ("tma_promotion", self.tma_promotion, L2_PROMOTIONS),
            ("tma_fill", self.tma_fill, FILLS),
        ):
            if word not in known:
                raise SpecError(f"invalid {name} {word!r}", help=f"use one of {', '.join(map(repr, known))}")
        self._check_elements()
        if self.tma_fill == "nan" and not (self.dtype.is_float and self.dtype.bits >= 16):
            raise SpecError(f"tma_fill='nan' is not supported for {self.dtype}", help="use f16, bf16, tf32, f32 or f64")
        if self.tma_box is not None and len(self.tma_box) != self.rank:
            raise SpecError(f"tma_box={self.tma_box} has {len(self.tma_box)} dimensions, the tile has {self.rank}")
        if self.im2col is not None:
            self._check_columns(len(self.im2col.lower) + 2)

    def _check_elements(self) -> None:
        """Raise SpecError for an unknown `tma_elements`, or for `tma_elements` with elements wider than bytes."""
        if self.tma_elements is None:
            return
        if self.tma_elements not in PACKED_ELEMENTS:
            known = ", ".join(map(repr, PACKED_ELEMENTS))
            raise SpecError(f"invalid tma_elements {self.tma_elements!r}", help=f"use one of {known}")
        if self.dtype.bytes != 1 or self.dtype.is_float:
            raise SpecError(
                f"tma_elements={self.tma_elements!r} needs a sub-byte type, got {self.dtype}",
                help="declare the tile with u8, b8 or e2m1x2; its sizes are then in bytes",
            )

    @property
    def packed(self) -> PackedElements | None:
        """TMA type of 4-bit or 6-bit elements that share bytes; None for a tile of whole-byte elements."""
        name = self.tma_elements or ("b4x16" if self.dtype.name == _PAIR else None)
        return None if name is None else PACKED_ELEMENTS[name]

    def _check_columns(self, rank: int) -> None:
        if self.rank != rank:
            raise SpecError(
                f"{self!r}: im2col corners of {rank - 2} dimensions need a tensor of rank {rank}, got {self.rank}",
                help="pass N, then one extent per corner dimension, then C",
            )
        if self.tma_box is not None or self.layout is Layout.COL:
            raise SpecError(
                f"{self!r}: tma_box and Layout.COL do not apply to im2col copies, which copy columns of pixels"
            )

    @property
    def rank(self) -> int:
        """Number of dimensions of the array."""
        return len(self.shape)

    @property
    def symbolic_dims(self) -> tuple[str, ...]:
        """Distinct names of named dimensions, in order of first use."""
        return tuple(dict.fromkeys(size for size in self.shape if isinstance(size, str)))

    @property
    def swizzle(self) -> str | None:
        """Shared memory swizzle of the layout, such as `"128B"`; None without a swizzle."""
        return self.layout.swizzle

    def resolve_shape(self, env: Mapping[str, int]) -> tuple[int, ...]:
        """Return the array's sizes, names replaced by `env`; raise UnboundDimensionsError for a name not in `env`."""
        missing = [name for name in self.symbolic_dims if name not in env]
        if missing:
            raise UnboundDimensionsError(
                f"{self!r}: no size for {', '.join(missing)}", help=f"known: {', '.join(sorted(env)) or 'none'}"
            )
        return tuple(env[size] if isinstance(size, str) else size for size in self.shape)

    def resolve_box(self, env: Mapping[str, int]) -> tuple[int, ...]:
        """Return the TMA box: the declared one, or the tensor's sizes limited to the largest box of one TMA copy.

        It is `()` for im2col copies.
        """
        if self.im2col is not None:
            return ()
        if self.tma_box is not None:
            return tuple(env[size] if isinstance(size, str) else size for size in self.tma_box)
        sizes = [min(size, _MAX_BOX) for size in self.resolve_shape(env)]
        if self.packed is not None and self.packed.padded:
            sizes[-1] = self.packed.bytes(_PADDED_ELEMENTS)
        elif self.layout.swizzle_bytes:
            sizes[-1] = min(sizes[-1], self.layout.swizzle_bytes * 8 // self.dtype.bits)
        return tuple(sizes)

    def extract_env(self, array_shape: Sequence[int]) -> dict[str, int]:
        """Return the sizes of named dimensions in an array's shape; raise RankError or ShapeError for a mismatch."""
        if len(array_shape) != self.rank:
            raise RankError(
                f"{self!r} has rank {self.rank}, the array has rank {len(array_shape)}: {tuple(array_shape)}"
            )
        env: dict[str, int] = {}
        for axis, (declared, actual) in enumerate(zip(self.shape, array_shape, strict=True)):
            wanted = env.setdefault(declared, actual) if isinstance(declared, str) else declared
            if wanted != actual:
                raise ShapeError(f"{self!r}: dimension {axis} must be {wanted}, got {actual}")
        return env

    def matches(self, array_shape: Sequence[int], dtype_name: str) -> bool:
        """Return whether an array's rank, sizes and element type match the Tile; `dtype_name`: a PTX or NumPy name."""
        held = BY_ARRAY[dtype_name].name if dtype_name in BY_ARRAY else dtype_name
        if len(array_shape) != self.rank or not takes(self.dtype.name, held):
            return False
        try:
            self.extract_env(array_shape)
        except ShapeError:
            return False
        return True

    @classmethod
    def wgmma_a(cls, m: Dim, k: Dim, dtype: PtxType, *, tile_m: Dim | None = None, tile_k: Dim | None = None) -> Tile:
        """Return the Tile of warpgroup MMA operand A, M x K, box `tile_m` x `tile_k`; `tile_k` sets the swizzle."""
        return cls._operand((m, k), dtype, (tile_m, tile_k))

    @classmethod
    def wgmma_b(cls, k: Dim, n: Dim, dtype: PtxType, *, tile_k: Dim | None = None, tile_n: Dim | None = None) -> Tile:
        """Return the Tile of warpgroup MMA operand B, K x N, box `tile_k` x `tile_n`; `tile_n` sets the swizzle."""
        return cls._operand((k, n), dtype, (tile_k, tile_n))

    @classmethod
    def _operand(cls, shape: tuple[Dim, Dim], dtype: PtxType, tiles: tuple[Dim | None, Dim | None]) -> Tile:
        box = (shape[0] if tiles[0] is None else tiles[0], shape[1] if tiles[1] is None else tiles[1])
        given = tiles != (None, None)
        return cls(*shape, dtype=dtype, layout=_layout_for(box[1], dtype), tma_box=box if given else None, tma_rank=2)

    def _repr_html_(self) -> str:
        """Return a table of the Tile's properties for notebooks."""
        from pyptx_dsl.contract.tables import tile_table
        from pyptx_ir.drawing import notebook

        return notebook(tile_table(self))

    def __repr__(self) -> str:
        """Return the Python call that constructs the Tile."""
        dims = ", ".join(repr(size) for size in self.shape)
        layout = "" if self.layout is Layout.ROW else f", Layout.{self.layout.name}"
        align = f", align={self.align}" if self.align > 1 else ""
        return f"Tile({dims}, {self.dtype}{layout}{align})"


def _once(dtype: PtxType | None, item: PtxType) -> PtxType:
    if dtype is not None:
        raise SpecError(f"a Tile has one dtype, got {dtype} and {item}")
    return item


def _dim(size: object) -> Dim:
    """Return a dimension, a positive size or an identifier; raise SpecError for any other value."""
    meant = _element_type(size)
    if meant:
        raise SpecError(
            f"expected a dimension, got {size!r}; element types are PTX types",
            help=f"write Tile(…, {meant}): from pyptx.types import {meant}",
        )
    if isinstance(size, str):
        if not size.isidentifier():
            raise SpecError(f"invalid dimension name {size!r}", help="use an identifier such as 'M'")
        return size
    number = as_count(size)
    if number is None or number < 1:
        raise SpecError(f"expected a dimension, got {size!r}", help="use positive sizes or names")
    return number


def _element_type(value: object) -> str | None:
    """Return the PTX name of an element type of NumPy, torch or jax; None for any other value."""
    if isinstance(value, str | int | PtxType):
        return None
    word = getattr(value, "__name__", None) or str(value).rpartition(".")[2]
    if value is float or value is int:
        return "f32" if value is float else "s32"
    return BY_ARRAY[word].name if word in BY_ARRAY else None


def _layout_for(inner: Dim, dtype: PtxType) -> Layout:
    """Return the TMA layout whose swizzle is as wide as a box's inner dimension; `ROW` if its size is symbolic."""
    if isinstance(inner, str):
        return Layout.ROW
    width = inner * dtype.bits // 8
    for layout in (Layout.TMA_128B, Layout.TMA_64B, Layout.TMA_32B):
        if width == layout.swizzle_bytes or (layout is Layout.TMA_128B and width > layout.swizzle_bytes):
            return layout
    if width == _SWIZZLE_BYTES["INTERLEAVED"]:
        return Layout.ROW
    raise SpecError(
        f"operand rows of {inner} x {dtype} have {width} bytes, which is not a swizzle width",
        help="use 16, 32, 64 or 128 bytes",
    )


def unify_envs(envs: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sizes of named dimensions from several arrays; raise ShapeError if a name has two sizes."""
    merged: dict[str, int] = {}
    for env in envs:
        for name, size in env.items():
            if merged.setdefault(name, size) != size:
                raise ShapeError(f"dimension {name!r} is {merged[name]} in one array and {size} in another")
    return merged
