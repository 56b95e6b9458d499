"""Valid combinations of tcgen05.mma: kinds, types and shapes, and types with transposition and negation.

    find("f16", cta_group=2)                             # the valid types and shapes
    check(InstructionDescriptor(…), ws=True)             # raises for an invalid MMA, and lists the valid ones

The module works without a trace and without the simulator. Manual: "Matrix Shape", "Transpose and Negate operations",
"Valid Combinations of Type-Size, Major-ness and Swizzling".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from pyptx_arch_blackwell.descriptors import (
    FACTORS,
    KINDS,
    SCALED_KINDS,
    SCALES,
    SUMS,
    InstructionDescriptor,
    default_depth,
)
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "PRODUCTS",
    "SCALE_SIZES",
    "MmaError",
    "MmaTypes",
    "check",
    "check_scales",
    "check_swizzle",
    "container_bits",
    "find",
    "kind_of",
]

SCALE_SIZES: dict[str, tuple[str, ...]] = {
    "mxf8f6f4": ("scale_vec::1X", "block32"),
    "mxf4": ("scale_vec::2X", "block32"),
    "mxf4nvf4": ("scale_vec::2X", "scale_vec::4X", "block16", "block32"),
}
"""Modifiers for scale factors' block size. Manual: "Valid combinations of scale_vectorsize with types and MMA-Kind"."""
_FINE = ("scale_vec::4X", "block16")
_DEEP = 96
_WS_ROWS = (32, 64, 128)
# Bits of an operand element in shared memory, by MMA kind. Manual: "Packing formats of elements". Kinds of 8-bit types
# store 4- and 6-bit elements in bytes (CUTLASS transposes such elements too).
_BITS = {"f16": 16, "tf32": 32, "f8f6f4": 8, "i8": 8, "mxf8f6f4": 8, "mxf4": 4, "mxf4nvf4": 4}


class MmaError(PyptxError, ValueError):
    """An invalid tcgen05.mma."""


@dataclass(frozen=True, slots=True)
class MmaTypes:
    """Types and shapes of tcgen05.mma for a kind, cta_group, .ws and sparsity; `depths` are the values of K."""

    kind: str
    cta_group: int
    ws: bool
    sparse: bool
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depths: tuple[int, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """Types of A and B."""
        return FACTORS[self.kind]

    @property
    def sums(self) -> tuple[str, ...]:
        """Types of the accumulator D."""
        return SUMS[self.kind]

    @property
    def scales(self) -> tuple[str, ...]:
        """Types of scale factors; empty for kinds without them."""
        return SCALES.get(self.kind, ())

    @property
    def negates(self) -> bool:
        """Whether A and B can be negated. Manual: "Transpose and Negate operations"."""
        return self.kind != "i8"

    @property
    def transposes(self) -> bool:
        """Whether A and B can be MN-major. Manual: "Transpose and Negate operations"."""
        return self.kind not in ("mxf4", "mxf4nvf4")

    @property
    def words(self) -> str:
        """Opcode of the MMA, for messages."""
        name = f"tcgen05.mma{'.ws' if self.ws else ''}{'.sp' if self.sparse else ''}"
        return f"{name}.cta_group::{self.cta_group}.kind::{self.kind}"


def _columns(kind: str, cta_group: int, *, ws: bool, sparse: bool) -> tuple[int, ...]:
    """Return the valid values of N. Manual: "Matrix Shape", the column "N"."""
    if ws:
        return (64, 128) if sparse else (64, 128, 256)
    if kind == "i8":
        return tuple(range(32, 257, 32)) if cta_group == 2 else (8, 16, 24, *range(32, 257, 16))
    step = 8 * cta_group
    return tuple(range(step, 257, step))


def _rows(kind: str, cta_group: int, *, ws: bool, sparse: bool) -> tuple[int, ...]:
    """Return the valid values of M. Manual: "Matrix Shape", the column "M"."""
    if ws:
        return _WS_ROWS
    if cta_group == 1:
        return (128,) if kind in SCALED_KINDS else (64, 128)
    return (256,) if kind in SCALED_KINDS and sparse else (128, 256)


def _depths(kind: str, *, sparse: bool) -> tuple[int, ...]:
    """Return the valid values of K. Manual: "Matrix Shape", the column "K"."""
    deep = (_DEEP,) if kind in ("mxf4", "mxf4nvf4") and not sparse else ()
    return (default_depth(kind, sparse=sparse), *deep)


PRODUCTS: tuple[MmaTypes, ...] = tuple(
    MmaTypes(
        kind,
        cta_group,
        ws,
        sparse,
        _rows(kind, cta_group, ws=ws, sparse=sparse),
        _columns(kind, cta_group, ws=ws, sparse=sparse),
        _depths(kind, sparse=sparse),
    )
    for kind in KINDS
    for ws, cta_groups in ((False, (1, 2)), (True, () if kind in SCALED_KINDS else (1,)))
    for cta_group in cta_groups
    for sparse in (False, True)
)
"""Every valid combination of kind, cta_group, .ws and sparsity. Manual: "Matrix Shape"."""


def find(kind: str, *, cta_group: int = 1, ws: bool = False, sparse: bool = False) -> MmaTypes:
    """Return the valid types and shapes of an MMA; the MmaError lists the valid arguments."""
    if kind not in KINDS:
        raise MmaError(f"unknown kind {kind!r} of tcgen05.mma", help=f"use one of {', '.join(KINDS)}")
    wanted = (kind, cta_group, ws, sparse)
    found = next((row for row in PRODUCTS if (row.kind, row.cta_group, row.ws, row.sparse) == wanted), None)
    if found is not None:
        return found
    if cta_group not in (1, 2):
        raise MmaError(f"cta_group must be 1 (one CTA) or 2 (CTA pair), got {cta_group!r}")
    if kind in SCALED_KINDS:
        unscaled = ", ".join(each for each in KINDS if each not in SCALED_KINDS)
        raise MmaError(f"invalid tcgen05.mma.ws: kind::{kind} is not supported", help=f"use one of {unscaled}")
    raise MmaError("invalid tcgen05.mma.ws: cta_group=2 is not supported", help="use cta_group=1")


def check(descriptor: InstructionDescriptor, *, cta_group: int = 1, ws: bool = False) -> MmaTypes:
    """Return the valid types and shapes of the MMA with `descriptor`; raise MmaError for an invalid MMA."""
    row = find(descriptor.kind, cta_group=cta_group, ws=ws, sparse=descriptor.sparse)
    for name, value, known in (
        ("M", descriptor.m, row.rows),
        ("N", descriptor.n, row.columns),
        ("K", descriptor.depth, row.depths),
    ):
        if value not in known:
            raise MmaError(f"invalid {row.words}: {name} = {value}, must be {_sequence(known)}")
    if descriptor.depth == _DEEP and (cta_group, descriptor.m) not in ((1, 128), (2, 256)):
        rows = "M must be 128 for .cta_group::1, 256 for .cta_group::2"
        raise MmaError(f"invalid {row.words}: K = {_DEEP} with M = {descriptor.m}, {rows}")
    _check_majors(row, descriptor)
    _check_options(row, descriptor)
    return row


def _check_majors(row: MmaTypes, descriptor: InstructionDescriptor) -> None:
    """Reject an N that an 8-bit N-major B does not support. Manual: "Transpose and Negate operations"."""
    if descriptor.b_major == "K" or container_bits(descriptor.kind) != 8 or row.ws:
        return
    step = 16 * row.cta_group
    if descriptor.n % step:
        raise MmaError(
            f"invalid {row.words}: N = {descriptor.n} with 8-bit N-major B, must be a multiple of {step}",
            help="use another N, or a K-major B",
        )


def _check_options(row: MmaTypes, descriptor: InstructionDescriptor) -> None:
    """Reject sparsity selectors, column shifts, operand types and scale factor IDs that the MMA does not support."""
    if descriptor.selector and (not descriptor.sparse or descriptor.kind in ("f8f6f4", "i8")):
        raise MmaError(
            f"invalid {row.words}: selector={descriptor.selector}, must be 0",
            help="pass a selector only for sparse MMAs of kind::f16 and kind::tf32",
        )
    if descriptor.max_shift and not row.ws:
        message = f"invalid {row.words}: max_shift={descriptor.max_shift}, must be 0"
        raise MmaError(message, help="pass max_shift only for tcgen05.mma.ws")
    if descriptor.d == "f16" and {descriptor.a, descriptor.b} & {"bf16"}:
        message = f"invalid {row.words}: {descriptor.a} x {descriptor.b} with an f16 accumulator"
        raise MmaError(message, help="accumulate bf16 in f32")
    if descriptor.kind in ("mxf4", "mxf4nvf4") and descriptor.depth != _DEEP:
        odd = [name for name in ("scale_a_id", "scale_b_id") if getattr(descriptor, name) % 2]
        if odd:
            raise MmaError(f"invalid {row.words}: {odd[0]}={getattr(descriptor, odd[0])}, must be 0 or 2")


def kind_of(a: str, b: str, *, scaled: bool = False, scale: str | None = None) -> str:
    """Return the MMA kind for the types of A and B; raise MmaError if no kind or several kinds support the types."""
    kinds = [kind for kind in KINDS if (kind in SCALED_KINDS) == scaled and {a, b} <= set(FACTORS[kind])]
    kinds = [kind for kind in kinds if scale is None or scale in SCALES.get(kind, ())]
    if len(kinds) == 1:
        return kinds[0]
    words = f"{'a block-scaled MMA' if scaled else 'an MMA'} of {a} x {b}"
    if kinds:
        raise MmaError(f"ambiguous kind of {words}", help=f"pass kind= one of {', '.join(kinds)}")
    known = "; ".join(f"{kind}: {', '.join(FACTORS[kind])}" for kind in KINDS if (kind in SCALED_KINDS) == scaled)
    raise MmaError(f"no tcgen05.mma kind supports {words}", help=f"use the types of a kind: {known}")


def check_scales(descriptor: InstructionDescriptor, size: str | None) -> None:
    """Raise MmaError for a type or block size of scale factors that the kind does not support.

    `size` is the modifier after `.block_scale`: `scale_vec::4X`, `block16`, …, or None if the kind has a default.
    """
    known = SCALE_SIZES.get(descriptor.kind, ())
    name = f"kind::{descriptor.kind}"
    if size is not None and size not in known:
        help = f"use one of {', '.join(known)}" if known else "omit the block size: the kind has no scale factors"
        raise MmaError(f"invalid .{size} of {name}", help=help)
    if descriptor.scale == "ue4m3" and size not in _FINE:
        message = f"ue4m3 scale factors of {name} with {'the default block size' if size is None else f'.{size}'}"
        raise MmaError(message, help=f"use {' or '.join(_FINE)}")
    if descriptor.depth == _DEEP and size is not None and size.startswith("scale_vec"):
        raise MmaError(f"invalid .{size} of {name} with K = {_DEEP}", help="use block16 or block32")


def container_bits(kind: str) -> int:
    """Return the bits of an element of A or B in shared memory: 4, 8, 16 or 32."""
    return _BITS[kind]


def check_swizzle(kind: str, major: str, swizzle: int, atom: int = 16) -> None:
    """Raise MmaError for a swizzle that operands of this kind and major cannot have.

    Manual: "Valid Combinations of Type-Size, Major-ness and Swizzling".
    """
    if major == "K":
        return
    bits = container_bits(kind)
    if bits == 4:
        raise MmaError(f"MN-major operand of kind::{kind}, must be K-major", help="use a K-major tile")
    wide = (swizzle, atom) == (128, 32)
    if (bits == 32) != wide:
        only = "swizzle=128, atom=32" if bits == 32 else "atom=16"
        raise MmaError(f"MN-major operand of kind::{kind} with swizzle={swizzle}, atom={atom}, must have {only}")


def _sequence(values: Sequence[int]) -> str:
    """Return numbers as text; a long arithmetic sequence becomes "first, second, … last"."""
    if len(values) > 5 and len({later - former for former, later in pairwise(values)}) == 1:
        return f"{values[0]}, {values[1]}, … {values[-1]}"
    return ", ".join(map(str, values[:-1])) + f" or {values[-1]}" if len(values) > 1 else str(values[0])
