"""Table of rules for tensor maps: cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col in the driver API manual.

The driver returns CUDA_ERROR_INVALID_VALUE for every violation; the rules' messages name the parameter and the values.
In this module dimensions are in the driver's order, innermost first. Messages number dimensions like an array's shape:
dimension -1 is the innermost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from pyptx_launch.errors import TensorMapError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyptx_launch.tensor_maps import TensorMapLike


@dataclass(frozen=True, slots=True)
class Im2col:
    """im2col mode of a tensor map: a copy moves columns of pixels, instead of a box.

    `lower` and `upper` are offsets of the bounding box's corners from the tensor's corners, in the order of the
    tensor's dimensions. A copy has `pixels` pixels with `channels` elements each.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


class Im2colLike(Protocol):
    """Protocol of an im2col mode; see `Im2col` for the fields."""

    @property
    def lower(self) -> tuple[int, ...]:
        """Offsets of the bounding box's lower corner."""
        ...

    @property
    def upper(self) -> tuple[int, ...]:
        """Offsets of the bounding box's upper corner."""
        ...

    @property
    def channels(self) -> int:
        """Elements per pixel in a copy."""
        ...

    @property
    def pixels(self) -> int:
        """Number of pixels per copy."""
        ...


@dataclass(frozen=True, slots=True)
class ElementType:
    """Element type: CUtensorMapDataType number and bits; loads unpack `padded` types into 16-byte chunks with gaps."""

    number: int
    bits: int
    floating: bool = False
    padded: bool = False


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Swizzle mode: CUtensorMapSwizzle number, and bytes of the shared memory row in which it permutes chunks."""

    number: int
    span: int


_BYTE: Final = ElementType(0, 8)
_U16: Final = ElementType(1, 16)
_U32: Final = ElementType(2, 32)
_U64: Final = ElementType(4, 64)
_B6: Final = ElementType(15, 6, padded=True)

TYPES: Final = {
    **dict.fromkeys(("u8", "s8", "b8", "e4m3", "e5m2", "ue8m0"), _BYTE),
    **dict.fromkeys(("u16", "s16", "b16"), _U16),
    **dict.fromkeys(("u32", "b32"), _U32),
    "s32": ElementType(3, 32),
    **dict.fromkeys(("u64", "b64"), _U64),
    "s64": ElementType(5, 64),
    "f16": ElementType(6, 16, floating=True),
    "f32": ElementType(7, 32, floating=True),
    "f64": ElementType(8, 64, floating=True),
    "bf16": ElementType(9, 16, floating=True),
    "f32.ftz": ElementType(10, 32, floating=True),
    "tf32": ElementType(11, 32, floating=True),
    "tf32.ftz": ElementType(12, 32, floating=True),
    "b4x16": ElementType(13, 4),
    "b4x16_p64": ElementType(14, 4, padded=True),
    "b6x16_p32": _B6,
    "b6p2x16": _B6,
}
SWIZZLES: Final = {
    "none": Swizzle(0, 0),
    "32B": Swizzle(1, 32),
    "64B": Swizzle(2, 64),
    "128B": Swizzle(3, 128),
    "128B_atom_32B": Swizzle(4, 128),
    "128B_atom_32B_flip_8B": Swizzle(5, 128),
    "128B_atom_64B": Swizzle(6, 128),
}
INTERLEAVES: Final = {"none": 0, "16B": 1, "32B": 2}
PROMOTIONS: Final = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
FILLS: Final = {"zeros": 0, "nan": 1}

# Valid swizzles of padded element types, by CUtensorMapDataType number.
_PADDED_SWIZZLES: Final = {
    14: ("none", "128B", "128B_atom_32B"),
    15: ("none", "128B", "128B_atom_32B", "128B_atom_64B"),
}
# Minimum and maximum im2col corner offset, by rank of the tensor: signed numbers of 16, 8 and 5 bits.
_CORNERS: Final = {3: (-(2**15), 2**15 - 1), 4: (-(2**7), 2**7 - 1), 5: (-(2**4), 2**4 - 1)}


@dataclass(frozen=True, slots=True)
class MapView:
    """A tensor map whose type and mode names have been looked up in this module's tables, innermost dimension first."""

    dtype: str
    type: ElementType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str
    interleave: str
    l2_promotion: str
    fill: str
    im2col: Im2colLike | None

    @property
    def rank(self) -> int:
        """Number of dimensions of the tensor."""
        return len(self.shape)

    @property
    def alignment(self) -> int:
        """Required alignment of the address and the strides, in bytes."""
        return 32 if self.interleave == "32B" or self.type.padded else 16

    @property
    def innermost(self) -> int:
        """Elements per copy along the innermost dimension."""
        return self.im2col.channels if self.im2col else self.box[0]

    @property
    def row_bits(self) -> int:
        """Bits per copy along the innermost dimension."""
        return self.innermost * self.type.bits


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, the driver function's parameter, and a function that returns the message for a violation."""

    name: str
    parameter: str
    broken: Callable[[MapView], str | None]


def _first(values: Iterable[int], what: str, holds: Callable[[int], bool], wanted: str, *, skip: int = 0) -> str | None:
    """Return a message for the first dimension, from `skip` on, whose value does not satisfy `holds`."""
    for dimension, value in enumerate(values):
        if dimension >= skip and not holds(value):
            return f"{what} of dimension {-1 - dimension} must be {wanted}, got {value}"
    return None


def _rank(map_: MapView) -> str | None:
    least = 3 if map_.im2col or map_.interleave != "none" else 1
    if least <= map_.rank <= 5:
        return None
    why = " for im2col" if map_.im2col else f" with interleave {map_.interleave}" if least == 3 else ""
    return f"rank must be {least} to 5{why}, got {map_.rank}"


def _lengths(map_: MapView) -> str | None:
    for what, values, length in (
        ("strides", map_.strides, map_.rank),
        ("element_strides", map_.element_strides, map_.rank),
        ("box", map_.box, 0 if map_.im2col else map_.rank),
    ):
        if len(values) != length:
            return f"length of {what} must be {length} for a shape of rank {map_.rank}, got {len(values)}"
    return None


def _packed(map_: MapView) -> str | None:
    unit = 128 if map_.type.padded else 2 if map_.type.bits == 4 else 1
    if map_.shape[0] % unit == 0:
        return None
    return f"extent of dimension -1 must be a multiple of {unit} for {map_.dtype}, got {map_.shape[0]}"


def _element(map_: MapView) -> str | None:
    size = max(1, map_.type.bits // 8)
    if map_.strides[0] == size:
        return None
    return f"stride of dimension -1 must be {size}, the size of {map_.dtype} in bytes, got {map_.strides[0]}"


def _strides(map_: MapView) -> str | None:
    unit = map_.alignment
    why = "" if unit == 16 else f" for {map_.dtype}" if map_.type.padded else " with interleave 32B"
    wanted = f"a multiple of {unit} bytes{why}"
    return _first(map_.strides, "stride", lambda value: value % unit == 0, wanted, skip=1)


def _row(map_: MapView) -> str | None:
    if map_.im2col or map_.interleave != "none" or map_.row_bits % 128 == 0:
        return None
    return (
        f"a row of the box must be a multiple of 16 bytes, got {map_.row_bits / 8:g}"
        f" ({map_.innermost} elements of {map_.dtype})"
    )


def _padded_row(map_: MapView) -> str | None:
    if not map_.type.padded or map_.innermost == 128:
        return None
    what = "channels" if map_.im2col else "box of dimension -1"
    return f"{what} must be 128 for {map_.dtype}, got {map_.innermost}"


def _steps(map_: MapView) -> str | None:
    if map_.interleave == "none" and map_.element_strides[0] != 1:
        return (
            f"element stride of dimension -1 must be 1, got {map_.element_strides[0]}:"
            " without interleave the hardware ignores it"
        )
    return _first(map_.element_strides, "element stride", lambda value: 1 <= value <= 8, "1 to 8")


def _interleaved_swizzle(map_: MapView) -> str | None:
    if map_.interleave != "32B" or map_.swizzle == "32B":
        return None
    return f"swizzle must be 32B with interleave 32B, got {map_.swizzle}"


def _span(map_: MapView) -> str | None:
    span = SWIZZLES[map_.swizzle].span
    if map_.interleave != "none" or span == 0 or map_.row_bits <= 8 * span:
        return None
    what = "channels of a pixel" if map_.im2col else "a row of the box"
    return (
        f"{what} must be at most {span} bytes with swizzle {map_.swizzle}, got {map_.row_bits / 8:g}"
        f" ({map_.innermost} elements of {map_.dtype})"
    )


def _padded_interleave(map_: MapView) -> str | None:
    if map_.type.number != _B6.number or map_.interleave == "none":
        return None
    return f"interleave must be none for {map_.dtype}, got {map_.interleave}"


def _padded_swizzle(map_: MapView) -> str | None:
    allowed = _PADDED_SWIZZLES.get(map_.type.number, ())
    if not allowed or map_.swizzle in allowed:
        return None
    return f"swizzle must be {' or '.join(allowed)} for {map_.dtype}, got {map_.swizzle}"


def _nan(map_: MapView) -> str | None:
    if map_.fill == "zeros" or map_.type.floating:
        return None
    return f"fill must be zeros for {map_.dtype}, got nan: the hardware has no NaN for this type"


def _corners(map_: MapView) -> str | None:
    if map_.im2col is None:
        return None
    low, high = _CORNERS[map_.rank]
    for name, corner in (("lower", map_.im2col.lower), ("upper", map_.im2col.upper)):
        if len(corner) != map_.rank - 2:
            return f"length of the {name} corner must be {map_.rank - 2} for rank {map_.rank}, got {len(corner)}"
        if not all(low <= offset <= high for offset in corner):
            return f"offsets of the {name} corner must be {low} to {high} for rank {map_.rank}, got {corner}"
    return None


def _area(map_: MapView) -> str | None:
    if map_.im2col is None:
        return None
    spatial = map_.shape[-2:0:-1]  # the tensor's spatial extents (no channels, no batch), outermost dimension first
    extents = [n + up - low for n, low, up in zip(spatial, map_.im2col.lower, map_.im2col.upper, strict=True)]
    if all(extent > 0 for extent in extents):
        return None
    return f"empty bounding box: corners {map_.im2col.lower} and {map_.im2col.upper} leave {extents} of {spatial}"


def _counts(map_: MapView) -> str | None:
    if map_.im2col is None:
        return None
    for name, count, most in (("channels", map_.im2col.channels, 256), ("pixels", map_.im2col.pixels, 1024)):
        if not 1 <= count <= most:
            return f"{name} must be 1 to {most}, got {count}"
    return None


# Checks in order: each check may assume that the preceding checks passed.
RULES: Final = (
    Rule("rank", "tensorRank", _rank),
    Rule("lengths", "tensorRank", _lengths),
    Rule(
        "extents",
        "globalDim",
        lambda map_: _first(map_.shape, "extent", lambda value: 1 <= value <= 2**32, "1 to 2^32"),
    ),
    Rule("packed-extent", "globalDim", _packed),
    Rule("element-size", "globalStrides", _element),
    Rule("stride-alignment", "globalStrides", _strides),
    Rule(
        "stride-size",
        "globalStrides",
        lambda map_: _first(map_.strides, "stride", lambda value: 0 <= value < 2**40, "less than 2^40 bytes", skip=1),
    ),
    Rule("box", "boxDim", lambda map_: _first(map_.box, "box", lambda value: 1 <= value <= 256, "1 to 256")),
    Rule("im2col-counts", "channelsPerPixel, pixelsPerColumn", _counts),
    Rule("im2col-corners", "pixelBoxLowerCorner, pixelBoxUpperCorner", _corners),
    Rule("im2col-area", "pixelBoxUpperCorner", _area),
    Rule("row-size", "boxDim", _row),
    Rule("padded-row", "boxDim, channelsPerPixel", _padded_row),
    Rule("element-strides", "elementStrides", _steps),
    Rule("interleave-swizzle", "swizzle", _interleaved_swizzle),
    Rule("swizzle-span", "interleave", _span),
    Rule("padded-interleave", "interleave", _padded_interleave),
    Rule("padded-swizzle", "swizzle", _padded_swizzle),
    Rule("nan-fill", "oobFill", _nan),
)


def checked(map_: TensorMapLike) -> MapView:
    """Return a tensor map with dimensions in the driver's order; raise TensorMapError for the first violated rule."""
    for field, word, known in (
        ("dtype", map_.dtype, TYPES),
        ("swizzle", map_.swizzle, SWIZZLES),
        ("interleave", map_.interleave, INTERLEAVES),
        ("l2_promotion", map_.l2_promotion, PROMOTIONS),
        ("fill", map_.fill, FILLS),
    ):
        if word not in known:
            raise TensorMapError(f"tensor map: {field} must be one of {', '.join(known)}, got {word!r}", rule="words")
    view = MapView(
        map_.dtype,
        TYPES[map_.dtype],
        map_.shape[::-1],
        map_.strides[::-1],
        map_.box[::-1],
        map_.element_strides[::-1],
        map_.swizzle,
        map_.interleave,
        map_.l2_promotion,
        map_.fill,
        map_.im2col,
    )
    for rule in RULES:
        if complaint := rule.broken(view):
            raise TensorMapError(f"tensor map: {complaint}", rule=rule.name)
    return view
