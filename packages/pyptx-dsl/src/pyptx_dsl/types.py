"""PTX types, and the types in which registers of them are declared, moved, loaded and stored.

ptxas rejects some types in declarations: `.reg .bf16`, `.reg .tf32`, `.reg .e4m3`. `mov`, `ld` and `st` accept fewer
still. Each row below therefore has three types besides its own name: of the register, of `mov`, and of `ld`/`st`. All
were verified with ptxas 13.0.

Manual: "Fundamental Types", "Packed Data Types", "Alternate Floating Point Data Formats", "Restricted Use of Sub-Word
Sizes".
"""

from __future__ import annotations

from dataclasses import field

from pyptx_dsl.errors import UnknownTypeError
from pyptx_ir.isa.scalar_types import WIDTHS
from pyptx_ir.values import Unique, value


@value
class PtxType(Unique):
    """A PTX type; each type has a single instance, in this module.

    `register` is the type of the `.reg` declaration; `kind` is `bits unsigned signed float packed pred`; `prefix` is
    the name prefix of the register group; `move` and `memory` are the types of `mov` and of `ld`/`st`, or None without
    such a form.
    """

    name: str
    register: str
    kind: str = "bits"
    prefix: str = "%r"
    move: str | None = None
    memory: str | None = None
    bits: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", WIDTHS[self.name])  # the dataclass is frozen: plain assignment would raise

    def __hash__(self) -> int:
        return hash(self.name)  # type names are unique; a hash of all fields would be slower

    @property
    def ptx(self) -> str:
        """Return the type's name with its dot: `.f32`."""
        return f".{self.name}"

    @property
    def checked(self) -> str:
        """Return the type that operand checks use: the type itself if `.reg` accepts it, else its `.reg` type."""
        return self.name if self.name in _DECLARABLE else self.register

    @property
    def is_integer(self) -> bool:
        """Whether integer operators accept registers of the type: untyped bits, unsigned or signed."""
        return self.kind in {"bits", "unsigned", "signed"}

    @property
    def is_float(self) -> bool:
        """Whether the type holds one floating-point number."""
        return self.kind == "float"

    @property
    def bytes(self) -> int:
        """Size of one element in memory, in whole bytes (sub-byte types count as one)."""
        return max(self.bits // 8, 1)

    def __repr__(self) -> str:
        """Return the type's name without a dot."""
        return self.name

    def __str__(self) -> str:
        """Return the type's name without a dot."""
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Pickle the type by name, so that a copy is the same object."""
        return from_name, (self.name,)


_DECLARABLE = frozenset(["pred", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "b128", "f32", "f64"])


def _integers(bits: int, prefix: str, register: str | None = None) -> tuple[PtxType, PtxType, PtxType]:
    """Return the types `bN`, `uN` and `sN` of N bits; 8-bit types have 16-bit registers."""
    own = register or f"b{bits}"
    kinds = (("b", "bits"), ("u", "unsigned"), ("s", "signed"))
    rows = tuple(
        PtxType(f"{letter}{bits}", own, kind, prefix, own if register else f"{letter}{bits}", f"{letter}{bits}")
        for letter, kind in kinds
    )
    return rows[0], rows[1], rows[2]


b8, u8, s8 = _integers(8, "%b", register="b16")
b16, u16, s16 = _integers(16, "%rs")
b32, u32, s32 = _integers(32, "%r")
b64, u64, s64 = _integers(64, "%rd")
b128 = PtxType("b128", "b128", "bits", "%rq", "b128", "b128")

f16 = PtxType("f16", "b16", "float", "%h", "b16", "b16")
bf16 = PtxType("bf16", "b16", "float", "%h", "b16", "b16")
f32 = PtxType("f32", "f32", "float", "%f", "f32", "f32")
f64 = PtxType("f64", "f64", "float", "%fd", "f64", "f64")
# `cvt.rna.tf32.f32` and `mma` require `.b32` registers for tf32, so it shares the group of 32-bit integers.
tf32 = PtxType("tf32", "b32", "float", "%r", "b32", "b32")

f16x2 = PtxType("f16x2", "b32", "packed", "%hh", "b32", "b32")
bf16x2 = PtxType("bf16x2", "b32", "packed", "%hh", "b32", "b32")
f32x2 = PtxType("f32x2", "b64", "packed", "%rd", "b64", "b64")

e4m3 = PtxType("e4m3", "b16", "float", "%b", "b16", "b8")
e5m2 = PtxType("e5m2", "b16", "float", "%b", "b16", "b8")
ue8m0 = PtxType("ue8m0", "b16", "float", "%b", "b16", "b8")
ue4m3 = PtxType("ue4m3", "b16", "float", "%b", "b16", "b8")
e2m1 = PtxType("e2m1", "b16", "float", "%b", "b16", "b8")
e2m3 = PtxType("e2m3", "b16", "float", "%b", "b16", "b8")
e3m2 = PtxType("e3m2", "b16", "float", "%b", "b16", "b8")

e4m3x2 = PtxType("e4m3x2", "b16", "packed", "%rs", "b16", "b16")
e5m2x2 = PtxType("e5m2x2", "b16", "packed", "%rs", "b16", "b16")
e2m3x2 = PtxType("e2m3x2", "b16", "packed", "%rs", "b16", "b16")
e3m2x2 = PtxType("e3m2x2", "b16", "packed", "%rs", "b16", "b16")
ue8m0x2 = PtxType("ue8m0x2", "b16", "packed", "%rs", "b16", "b16")
ue5m3x2 = PtxType("ue5m3x2", "b16", "packed", "%rs", "b16", "b16")
s2f6x2 = PtxType("s2f6x2", "b16", "packed", "%rs", "b16", "b16")
# `cvt` to or from e2m1x2 accepts a `.b8` register only, and PTX has no `mov.b8`.
e2m1x2 = PtxType("e2m1x2", "b8", "packed", "%bb", None, "b8")
e4m3x4 = PtxType("e4m3x4", "b32", "packed", "%r", "b32", "b32")
e5m2x4 = PtxType("e5m2x4", "b32", "packed", "%r", "b32", "b32")
e2m3x4 = PtxType("e2m3x4", "b32", "packed", "%r", "b32", "b32")
e3m2x4 = PtxType("e3m2x4", "b32", "packed", "%r", "b32", "b32")
e2m1x4 = PtxType("e2m1x4", "b16", "packed", "%rs", "b16", "b16")
e2m1p4x4 = PtxType("e2m1p4x4", "b32", "packed", "%r", "b32", "b32")
ue8m0x4 = PtxType("ue8m0x4", "b32", "packed", "%r", "b32", "b32")

b1 = PtxType("b1", "b32", "packed", "%r", "b32", "b32")
s2 = PtxType("s2", "b32", "packed", "%r", "b32", "b32")
u2 = PtxType("u2", "b32", "packed", "%r", "b32", "b32")
s4 = PtxType("s4", "b32", "packed", "%r", "b32", "b32")
u4 = PtxType("u4", "b32", "packed", "%r", "b32", "b32")
u8x4 = PtxType("u8x4", "b32", "packed", "%r", "b32", "b32")
s8x4 = PtxType("s8x4", "b32", "packed", "%r", "b32", "b32")
u16x2 = PtxType("u16x2", "b32", "packed", "%r", "b32", "b32")
s16x2 = PtxType("s16x2", "b32", "packed", "%r", "b32", "b32")

pred = PtxType("pred", "pred", "pred", "%p", "pred", None)

TYPES: tuple[PtxType, ...] = (
    *(b8, b16, b32, b64, b128, u8, u16, u32, u64, s8, s16, s32, s64),
    *(f16, bf16, f32, f64, tf32, f16x2, bf16x2, f32x2),
    *(e4m3, e5m2, ue8m0, ue4m3, e2m1, e2m3, e3m2),
    *(e4m3x2, e5m2x2, e2m1x2, e2m3x2, e3m2x2, ue8m0x2, ue5m3x2, s2f6x2),
    *(e4m3x4, e5m2x4, e2m1x4, e2m1p4x4, e2m3x4, e3m2x4, ue8m0x4),
    *(b1, s2, u2, s4, u4, u8x4, s8x4, u16x2, s16x2, pred),
)

BY_NAME = {row.name: row for row in TYPES}
"""PTX types by name."""


def is_type(value: object) -> bool:
    """Return whether a Python value is a PTX type."""
    return isinstance(value, PtxType)


def as_type(value: object) -> PtxType:
    """Return `value` if it is a PTX type; raise UnknownTypeError for any other value, such as a NumPy type."""
    if isinstance(value, PtxType):
        return value
    word = value if isinstance(value, str) else getattr(value, "__name__", repr(value))
    raise UnknownTypeError(str(word), tuple(BY_NAME), help="pass a type of pyptx.types: from pyptx.types import f32")


def from_name(name: str) -> PtxType:
    """Return the type named `name` (`"f32"` or `".f32"`); raise UnknownTypeError for any other name."""
    found = BY_NAME.get(name.removeprefix("."))
    if found is None:
        raise UnknownTypeError(name, tuple(BY_NAME))
    return found
