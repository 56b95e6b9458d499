"""The types of matrices' elements, and how matrices move between shared memory and registers.

Manual: "Matrix Fragments for …", "Packed formats", "Warp-level matrix load instruction: ldmatrix".
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
    """A type of the elements of matrices, `bits` of a register each.

    `registers` are the types of registers that may hold such elements, and `literals` those of the constants that may
    stand for registers of an accumulator that is only read: `single` and `double` precision, `int`.
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
    # The 4- and 6-bit floating-point types lie in a byte each ("packed in an 8-bit container"), but for .kind::mxf4 and
    # .kind::mxf4nvf4, whose rows say b4.
    *(Element(name, 8, _ANY) for name in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")),
    Element("b4", 4, _ANY),
    Element("b32", 32, _ANY),  # a register, whatever it holds
    Element("bits", 32),  # the same, where ptxas wants it untyped
)
BITS: Final[Mapping[str, int]] = {element.name: element.bits for element in ELEMENTS}
"""The bits of an element of each of NVIDIA's types."""


@value
class MatrixMove(Value):
    """How one matrix of `ldmatrix` or `stmatrix` lies in shared memory and in registers.

    `shape`, `types` and `transposed` are what an opcode says of it: `m8n8`, `("b16",)`, and whether it has `.trans`.
    `fragment` has the rows and columns of memory: each row is 16 bytes from an address of its own, the first `stored`
    bits of an element after the other, and padding.
    """

    shape: str
    types: tuple[str, ...]
    fragment: Fragment
    stored: int
    transposed: bool = False

    @property
    def name(self) -> str:
        """What an opcode says: `m8n8.trans.b16`."""
        return ".".join((self.shape, *(("trans",) if self.transposed else ()), *self.types))

    @property
    def addresses(self) -> int:
        """How many lanes give the address of a row, for each matrix."""
        return self.fragment.rows
