"""The types of matrices' elements, and how registers hold them. Manual: "Matrix Fragments for …", "Packed formats"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BITS", "ELEMENTS", "Element"]


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
