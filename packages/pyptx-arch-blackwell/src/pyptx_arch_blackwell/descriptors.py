"""Bit fields of tcgen05: instruction descriptors, shared memory descriptors and zero-column masks.

    idesc = InstructionDescriptor("f16", d="f32", a="bf16", b="bf16", m=128, n=256)
    idesc.bits                                           # 0x8400490, for tcgen05.mma
    InstructionDescriptor.decode("f16", 0x8400490)       # idesc again
    print(idesc.picture())                               # one field per line

The module works without a trace and without the simulator. Malformed values raise DescriptorError, a ValueError.
Manual: "Matrix Descriptors" of tcgen05.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from pyptx_arch_blackwell import bit_fields
from pyptx_arch_blackwell.bit_fields import DescriptorError, Field

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FACTORS",
    "KINDS",
    "SCALED_KINDS",
    "SCALES",
    "SUMS",
    "DescriptorError",
    "InstructionDescriptor",
    "SharedDescriptor",
    "ZeroColumnMask",
    "default_depth",
]

_FLAG = {False: 0, True: 1}
_NEVER = {False: 0}
_MAJORS = {"K": 0, "MN": 1}
_MAJOR_K = {"K": 0}
_SHIFTS = {0: 0, 8: 1, 16: 2, 32: 3}
_NARROW = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}


def _unscaled(
    d: Mapping[str, int], factors: Mapping[str, int], *, negates: bool = True, saturates: bool = False
) -> tuple[Field, ...]:
    """Manual: "Instruction descriptor", the format for .kind::tf32, .kind::f16, .kind::f8f6f4 and .kind::i8."""
    return (
        Field("selector", 0, 2),
        Field("sparse", 2, 1, _FLAG),
        Field("saturate", 3, 1, _FLAG if saturates else _NEVER),
        Field("d", 4, 2, d),
        Field("a", 7, 3, factors),
        Field("b", 10, 3, factors),
        Field("negate_a", 13, 1, _FLAG if negates else _NEVER),
        Field("negate_b", 14, 1, _FLAG if negates else _NEVER),
        Field("a_major", 15, 1, _MAJORS),
        Field("b_major", 16, 1, _MAJORS),
        Field("n", 17, 6, unit=8),
        Field("m", 24, 5, unit=16),
        Field("max_shift", 30, 2, _SHIFTS),
    )


def _scaled_bytes() -> tuple[Field, ...]:
    """Manual: "Instruction descriptor", the format for .kind::mxf8f6f4."""
    return (
        Field("sparse", 2, 1, _FLAG),
        Field("scale_b_id", 4, 2),
        Field("a", 7, 3, _NARROW),
        Field("b", 10, 3, _NARROW),
        Field("negate_a", 13, 1, _FLAG),
        Field("negate_b", 14, 1, _FLAG),
        Field("a_major", 15, 1, _MAJORS),
        Field("b_major", 16, 1, _MAJORS),
        Field("n", 17, 6, unit=8),
        Field("scale", 23, 1, {"ue8m0": 1}),
        Field("m", 27, 2, unit=128),
        Field("scale_a_id", 29, 2),
    )


def _scaled_halves(scales: Mapping[str, int]) -> tuple[Field, ...]:
    """Manual: "Instruction descriptor", the format for .kind::mxf4 and .kind::mxf4nvf4."""
    return (
        Field("sparse", 2, 1, _FLAG),
        Field("scale_b_id", 4, 2),
        Field("a", 7, 3, {"e2m1": 1}),
        Field("b", 10, 2, {"e2m1": 1}),
        Field("negate_a", 13, 1, _FLAG),
        Field("negate_b", 14, 1, _FLAG),
        Field("a_major", 15, 1, _MAJOR_K),
        Field("b_major", 16, 1, _MAJOR_K),
        Field("n", 17, 6, unit=8),
        Field("scale", 23, 1, scales),
        Field("m", 27, 2, unit=128),
        Field("scale_a_id", 29, 2),
        Field("deep", 31, 1, _FLAG),
    )


_FORMATS: Mapping[str, tuple[Field, ...]] = {
    "f16": _unscaled({"f16": 0, "f32": 1}, {"f16": 0, "bf16": 1}),
    "tf32": _unscaled({"f32": 1}, {"tf32": 2}),
    "f8f6f4": _unscaled({"f16": 0, "f32": 1}, _NARROW),
    "i8": _unscaled({"s32": 2}, {"u8": 0, "s8": 1}, negates=False, saturates=True),
    "mxf8f6f4": _scaled_bytes(),
    "mxf4": _scaled_halves({"ue8m0": 1}),
    "mxf4nvf4": _scaled_halves({"ue4m3": 0, "ue8m0": 1}),
}
_DEEP = 96
# K of a dense MMA by kind: the number of elements in 32 bytes of shared memory. Kinds with 8-bit types store narrower
# elements as bytes.
_DEPTHS = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
_WIDTH = 32
_WIDE = 64


def _values(kind: str, name: str) -> tuple[str, ...]:
    found = [each.codes for each in _FORMATS[kind] if each.name == name]
    return tuple(str(value) for codes in found for value in codes)


KINDS = tuple(_FORMATS)
"""MMA kinds: modifiers `.kind::` of tcgen05.mma, except ti16."""
SCALED_KINDS = tuple(kind for kind in KINDS if _values(kind, "scale"))
"""MMA kinds with scale factors."""
FACTORS = {kind: _values(kind, "a") for kind in KINDS}
"""Types of operands A and B by MMA kind; A and B may have different types."""
SUMS = {kind: _values(kind, "d") or ("f32",) for kind in KINDS}
"""Types of the accumulator by MMA kind."""
SCALES = {kind: _values(kind, "scale") for kind in SCALED_KINDS}
"""Types of the scale factors by MMA kind, for kinds with scale factors."""


def default_depth(kind: str, *, sparse: bool = False) -> int:
    """Return the default K of an MMA kind; dense MMAs of 4-bit floats also support K = 96."""
    return _DEPTHS[kind] * (2 if sparse else 1)


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """Instruction descriptor of tcgen05.mma: kind, types, sizes, options. Manual: "Instruction descriptor".

    `kind` is f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 or mxf4nvf4; `d`, `a`, `b` are names of types (or types of
    `pyptx.types`), `d` is f32 for scaled kinds. `a_major` and `b_major` are "K", or "MN" for an operand whose M or N is
    contiguous. `selector` selects columns of the metadata of a sparse A, `max_shift` is the maximum shift of the
    columns of B (`.ws`).

    `scale` is the type of the scale factors, optional if the kind has only one; `scale_a_id` and `scale_b_id` are the
    first bytes of A's and B's scale factors in a column of tensor memory. `depth` is K, by default determined by kind
    and sparsity; it may be 96 instead of 64 in dense MMAs of 4-bit floats (sm_103a). Raise DescriptorError for a value
    that does not fit its field. `pyptx_arch_blackwell.mma.check` checks whether the MMA exists.
    """

    kind: str
    d: str
    a: str
    b: str
    m: int
    n: int
    a_major: str = "K"
    b_major: str = "K"
    negate_a: bool = False
    negate_b: bool = False
    saturate: bool = False
    sparse: bool = False
    selector: int = 0
    max_shift: int = 0
    scale: str | None = None
    scale_a_id: int = 0
    scale_b_id: int = 0
    depth: int = 0

    def __post_init__(self) -> None:
        """Set the default scale factor type and K, and check each attribute against its bit field."""
        for name in ("d", "a", "b", "scale"):
            given = getattr(self, name)
            object.__setattr__(self, name, getattr(given, "name", given))
        if self.kind not in _FORMATS:
            raise DescriptorError(f"invalid kind {self.kind!r} of an MMA", help=f"use one of {', '.join(KINDS)}")
        scales = SCALES.get(self.kind, ())
        if self.scale is None and len(scales) == 1:
            object.__setattr__(self, "scale", scales[0])
        if not self.depth:
            object.__setattr__(self, "depth", default_depth(self.kind, sparse=self.sparse))
        if self.d not in SUMS[self.kind]:
            raise DescriptorError(
                f"invalid d {self.d!r} for kind::{self.kind}", help=f"use d={' or '.join(SUMS[self.kind])}"
            )
        self._check_absent()
        self._check_depth()
        bit_fields.encode(_FORMATS[self.kind], self)

    def _check_absent(self) -> None:
        """Reject an option that the kind's instruction descriptor has no field for."""
        held = {each.name for each in _FORMATS[self.kind]} | {"kind", "d", "depth"}
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name not in held and value != option.default:
                raise DescriptorError(f"{option.name}={value!r}: kind::{self.kind} has no {option.name}")

    def _check_depth(self) -> None:
        usual = default_depth(self.kind, sparse=self.sparse)
        also = (_DEEP,) if self.kind in ("mxf4", "mxf4nvf4") and not self.sparse else ()
        if self.depth not in (usual, *also):
            what = f"a {'sparse' if self.sparse else 'dense'} MMA of kind::{self.kind}"
            known = " or ".join(map(str, (usual, *also)))
            raise DescriptorError(f"invalid depth={self.depth!r} (K) of {what}", help=f"use {known}")

    @property
    def deep(self) -> bool:
        """Whether the MMA has K = 96."""
        return self.depth == _DEEP

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the MMA: M, N and K."""
        return self.m, self.n, self.depth

    @property
    def bits(self) -> int:
        """The descriptor as the 32-bit operand `idesc` of tcgen05.mma."""
        return bit_fields.encode(_FORMATS[self.kind], self)

    @classmethod
    def decode(cls, kind: str, bits: int) -> InstructionDescriptor:
        """Return the decoded descriptor of an MMA of `kind`; the DescriptorError names the invalid field."""
        if kind not in _FORMATS:
            raise DescriptorError(f"invalid kind {kind!r} of an MMA", help=f"use one of {', '.join(KINDS)}")
        found: dict[str, Any] = {"kind": kind, "d": SUMS[kind][0]}
        found |= bit_fields.decode(_FORMATS[kind], bits, _WIDTH)
        found["depth"] = _DEEP if found.pop("deep", False) else 0
        return cls(**found)

    def picture(self) -> str:
        """Return the descriptor as text, one field per line."""
        return bit_fields.picture(_FORMATS[self.kind], self.bits)

    def __repr__(self) -> str:
        """Return the Python expression of this descriptor, without arguments that are defaults."""
        usual: dict[str, object] = {"depth": default_depth(self.kind, sparse=self.sparse)}
        if len(SCALES.get(self.kind, ())) == 1:
            usual["scale"] = SCALES[self.kind][0]
        said = [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)[1:]
            if getattr(self, each.name) != usual.get(each.name, each.default)
        ]
        return f"InstructionDescriptor({self.kind!r}, {', '.join(said)})"


# Manual: "Shared memory descriptor". Addresses and byte offsets are encoded divided by 16.
_SHARED = (
    Field("start", 0, 14, unit=16),
    Field("leading", 16, 14, unit=16),
    Field("stride", 32, 14, unit=16),
    Field("version", 46, 3, {1: 1}),
    Field("base_offset", 49, 3),
    Field("absolute_leading", 52, 1, _FLAG),
    Field("pattern", 61, 3, {(0, 16): 0, (128, 32): 1, (128, 16): 2, (64, 16): 4, (32, 16): 6}),
)


@dataclass(frozen=True, slots=True)
class SharedDescriptor:
    """Layout of a matrix in shared memory. Manual: "Shared memory descriptor".

    `start`, `leading` and `stride` are bytes, multiples of 16 below 2^18; `start` is an address in the shared memory
    window. `swizzle` is the width of the swizzle in bytes (0, 32, 64, 128), and `atom` the bytes that the swizzle moves
    as a unit: 16, or 32 with a width of 128. `base_offset` is the 128-byte row of the swizzle pattern at the start, 0
    if the pattern is aligned. With `absolute_leading`, `leading` is the address of the second part of a K of 48 bytes
    (sm_103a; 128-byte swizzle, K-major).
    """

    start: int = 0
    leading: int = 0
    stride: int = 0
    swizzle: int = 0
    atom: int = 16
    base_offset: int = 0
    absolute_leading: bool = False
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Check each attribute against its bit field."""
        bit_fields.encode(_SHARED, self)
        if self.absolute_leading and (self.pattern != (128, 16) or self.base_offset):
            raise DescriptorError(
                "absolute_leading=True is not valid with this swizzle", help="use swizzle=128, atom=16, base_offset=0"
            )

    @property
    def pattern(self) -> tuple[int, int]:
        """Width of the swizzle, and size of its atom, in bytes."""
        return self.swizzle, self.atom

    @property
    def bits(self) -> int:
        """The descriptor as a 64-bit operand."""
        return bit_fields.encode(_SHARED, self)

    @classmethod
    def decode(cls, bits: int) -> SharedDescriptor:
        """Return the descriptor decoded from its 64 bits; the DescriptorError names the invalid field."""
        found = bit_fields.decode(_SHARED, bits, _WIDE)
        del found["version"]
        swizzle, atom = found.pop("pattern")
        return cls(**found, swizzle=swizzle, atom=atom)

    def picture(self) -> str:
        """Return the descriptor as text, one field per line."""
        return bit_fields.picture(_SHARED, self.bits)

    def __repr__(self) -> str:
        """Return the Python expression of this descriptor."""
        said = [(each, getattr(self, each.name)) for each in fields(self)]
        shown = [
            f"{each.name}={value:#x}" if each.name == "start" else f"{each.name}={value!r}"
            for each, value in said
            if value != each.default
        ]
        return f"SharedDescriptor({', '.join(shown)})"


# Manual: "Zero-Column Mask Descriptor". A span of columns is encoded as its length minus one.
_ZERO_COLUMNS = (
    *(Field("start_count", 8 * part, 8, part=part) for part in range(4)),
    *(Field("first_span", 32 + part, 1, part=part) for part in range(4)),
    Field("non_zero", 39, 1, _FLAG),
    Field("skip_span", 40, 8, least=1),
    Field("use_span", 48, 8, least=1),
    Field("shift", 56, 6),
)
_PARTS = {128: 1, 64: 2, 32: 4}  # number of sub-masks of a zero-column mask, by M of the MMA
_MOST_SHIFT = {128: 32, 64: 32, 32: 16}


@dataclass(frozen=True, slots=True)
class ZeroColumnMask:
    """Columns of B that count as zero in `tcgen05.mma.ws`. Manual: "Zero-Column Mask Descriptor".

    `use_span` used columns and `skip_span` zero columns alternate, 1 to 256 each. A sub-mask starts with the used
    columns, or with the zero columns if its `first_span` is 1, at position `start_count`. M = 128 has one sub-mask, 64
    has two of N / 2 columns, 32 four of N / 4. `shift` is the column of B at which the MMA starts. With
    `non_zero=False` all columns are used.
    """

    skip_span: int = 1
    use_span: int = 1
    start_count: tuple[int, int, int, int] = (0, 0, 0, 0)
    first_span: tuple[int, int, int, int] = (0, 0, 0, 0)
    shift: int = 0
    non_zero: bool = True

    def __post_init__(self) -> None:
        """Check each attribute against its bit field."""
        for name in ("start_count", "first_span"):
            if len(getattr(self, name)) != 4:
                raise DescriptorError(f"{name} must have four entries (sub-masks), got {getattr(self, name)!r}")
        bit_fields.encode(_ZERO_COLUMNS, self)

    @property
    def bits(self) -> int:
        """The zero-column mask as a 64-bit operand."""
        return bit_fields.encode(_ZERO_COLUMNS, self)

    @classmethod
    def decode(cls, bits: int) -> ZeroColumnMask:
        """Return the zero-column mask decoded from its 64 bits; the DescriptorError names the invalid field."""
        return cls(**bit_fields.decode(_ZERO_COLUMNS, bits, _WIDE))

    def columns(self, m: int, n: int) -> tuple[int, ...]:
        """Return the columns of the MMA, 0 to n - 1, for which B counts as zero.

        Column `c` of the MMA is column `c + shift` of B.
        """
        if m not in _PARTS or self.shift > _MOST_SHIFT[m]:
            known = ", ".join(f"M = {rows} with a shift up to {most}" for rows, most in _MOST_SHIFT.items())
            raise DescriptorError(f"invalid zero-column mask: shift {self.shift} with M = {m}", help=f"use {known}")
        if not self.non_zero:
            return ()
        size = n // _PARTS[m]
        return tuple(
            part * size + column
            for part in range(_PARTS[m])
            for column in range(size)
            if self._is_zero(part, self.start_count[part] + column)
        )

    def _is_zero(self, part: int, position: int) -> bool:
        place = position % (self.skip_span + self.use_span)
        return place < self.skip_span if self.first_span[part] else place >= self.use_span

    def picture(self) -> str:
        """Return the descriptor as text, one field per line."""
        return bit_fields.picture(_ZERO_COLUMNS, self.bits)
