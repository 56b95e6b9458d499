"""Matrix element types, and moves of matrices between shared memory and registers.

Manual: the sections "Matrix Fragments", "Packed formats", "Warp-level matrix load instruction: ldmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.fragments.layout import Fragment

__all__ = ["BITS", "ELEMENTS", "Element", "MatrixMove"]


@value
class Element(Value):
    """Type of matrix elements that take `bits` bits of a register each.

    `registers` are the types of registers that may hold such elements. `literals` are the types of constants that may
    replace registers of a read-only accumulator: `single` and `double` precision, `int`.
    """

    name: str
    bits: int
    registers: tuple[str, ...] = ("b32",)
    literals: tuple[str, ...] = ()


_INTEGERS = ("b32", "u32", "s32")
_ANY = (*_INTEGERS, "f32", "f16x2")

ELEMENTS: Final = (
    Element("f16", 16, ("b32", "f16x2")),
    Element("bf16", 16),
    Element("tf32", 32),
    Element("f32", 32, ("f32", "b32"), ("single",)),
    Element("f64", 64, ("f64", "b64"), ("single", "double")),
    Element("s32", 32, _INTEGERS, ("int",)),
    *(Element(name, bits, _INTEGERS) for name, bits in (("s8", 8), ("u8", 8), ("s4", 4), ("u4", 4), ("b1", 1))),
    # The 4- and 6-bit floating-point types take a byte each ("packed in an 8-bit container"), except for .kind::mxf4
    # and .kind::mxf4nvf4, whose rows use b4.
    *(Element(name, 8, _ANY) for name in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")),
    Element("b4", 4, _ANY),
    Element("b32", 32, _ANY),  # a 32-bit register of any type
    Element("bits", 32),  # a 32-bit register of an untyped type, .b32, as ptxas requires
)
BITS: Final[Mapping[str, int]] = {element.name: element.bits for element in ELEMENTS}
"""Bits per matrix element, by name of NVIDIA's element types."""


@value
class MatrixMove(Value):
    """Layout of one matrix of `ldmatrix` or `stmatrix` in shared memory and in registers.

    `shape`, `types` and `transposed` are the opcode's modifiers: `m8n8`, `("b16",)`, and whether it has `.trans`. The
    rows and columns of `fragment` are those in memory. Each row is 16 bytes at an address of its own: the first
    `stored` bits of each element consecutively, then padding.
    """

    shape: str
    types: tuple[str, ...]
    fragment: Fragment
    stored: int
    transposed: bool = False

    @property
    def name(self) -> str:
        """Modifiers of the matrix move in an opcode: `m8n8.trans.b16`."""
        return ".".join((self.shape, *(("trans",) if self.transposed else ()), *self.types))

    @property
    def addresses(self) -> int:
        """Number of lanes that provide a row address for one matrix."""
        return self.fragment.rows
