"""Model of one `tcgen05.mma`, from the manual: types, sizes, options, and the bits of its instruction descriptor.

Does not use the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .tensor_images import Layout

__all__ = ["DEPTHS", "ROOMS", "Mask", "Product", "Scales"]

DEPTHS: Final = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
"""K of a dense MMA, by kind. Manual: "Matrix Shape"."""
ROOMS: Final = {"f16": 16, "tf32": 32, "f8f6f4": 8, "i8": 8, "mxf8f6f4": 8, "mxf4": 4, "mxf4nvf4": 4}
"""Bits per element of A and B in memory, by kind. Manual: "Packing formats of elements"."""

_NARROW: Final = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
_CODES: Final = {
    "f16": {"f16": 0, "bf16": 1},
    "tf32": {"tf32": 2},
    "f8f6f4": _NARROW,
    "i8": {"u8": 0, "s8": 1},
    "mxf8f6f4": _NARROW,
    "mxf4": {"e2m1": 1},
    "mxf4nvf4": {"e2m1": 1},
}
_SUMS: Final = {"f16": 0, "f32": 1, "s32": 2}

_PLAIN: Final = Layout()


@dataclass(frozen=True)
class Scales:
    """Scale factors of an MMA: element type, opcode modifier, and scale factor IDs of A and B."""

    element: str
    size: str
    ids: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Mask:
    """Zero-column mask: its bits, the zero columns of D, and the column of B at which D begins (`shift`)."""

    bits: int
    zeros: tuple[int, ...]
    shift: int = 0


@dataclass(frozen=True)
class Product:
    """One `tcgen05.mma`. Without `a_layout`, A is in tensor memory.

    `d_at` is the first column of D. `lane` is the first lane of matrices that use half of the lanes. `divisor` is
    scale-input-d. `hidden` is the seed of a disable-output-lane mask, None for no mask. `mask` is the zero-column mask.
    """

    kind: str
    d: str
    a: str
    b: str
    m: int
    n: int
    blocks: int = 1
    a_layout: Layout | None = None
    b_layout: Layout = _PLAIN
    adds: bool = True
    negates: tuple[bool, bool] = (False, False)
    saturates: bool = False
    divisor: int = 0
    hidden: int | None = None
    sparse: bool = False
    selector: int = 0
    ws: bool = False
    mask: Mask | None = None
    scales: Scales | None = None
    depth: int = 0
    d_at: int = 0
    lane: int = 0
    words: str = ""

    def __str__(self) -> str:
        parts = [f"{self.kind}-{self.d}+={self.a}x{self.b}-m{self.m}n{self.n}", f"of{self.blocks}"]
        parts += ["sp" + str(self.selector)] * self.sparse + ["ws"] * self.ws
        parts += [f"a:{self.a_layout or 'tensor'}", f"b:{self.b_layout}"]
        parts += [] if self.scales is None else [f"{self.scales.element}.{self.scales.size}{self.scales.ids}"]
        return "-".join(parts + [self.words] * bool(self.words))

    @property
    def k(self) -> int:
        """K of the MMA: elements in a row of A before compression."""
        return self.depth or DEPTHS[self.kind] * (2 if self.sparse else 1)

    @property
    def stored(self) -> int:
        """Number of stored elements in a row of A."""
        return self.k // (2 if self.sparse else 1)

    @property
    def idesc(self) -> int:
        """Bits of the instruction descriptor, assembled field by field. Manual: "Instruction descriptor"."""
        codes, neg = _CODES[self.kind], self.negates
        a_turned = self.a_layout is not None and self.a_layout.major == "MN"
        bits = self.sparse << 2 | codes[self.a] << 7 | codes[self.b] << 10 | neg[0] << 13 | neg[1] << 14
        bits |= a_turned << 15 | (self.b_layout.major == "MN") << 16 | self.n >> 3 << 17
        if self.scales is None:
            return bits | self.selector | self.saturates << 3 | _SUMS[self.d] << 4 | self.m >> 4 << 24
        scales = self.scales
        bits |= scales.ids[1] << 4 | (scales.element == "ue8m0") << 23 | self.m >> 7 << 27 | scales.ids[0] << 29
        return bits | (self.k == 96) << 31

    @property
    def opcode(self) -> str:
        """Opcode of the MMA with its modifiers."""
        what = "tcgen05.mma" + ".ws" * self.ws + ".sp" * self.sparse
        scale = f".block_scale{self.scales.size and '.' + self.scales.size}" if self.scales else ""
        return f"{what}.cta_group::{self.blocks}.kind::{self.kind}{scale}{self.words}"
