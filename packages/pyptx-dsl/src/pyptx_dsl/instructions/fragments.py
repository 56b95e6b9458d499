"""The registers of fragments: how many, of what type, and what to say of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_ir.isa.kinds.fragments import held_by

if TYPE_CHECKING:
    from pyptx_ir.fragments import Fragment as Layout

__all__ = ["Fragment", "fragment", "held", "shape_name"]

Fragment: TypeAlias = Reg | RegArray | Sequence[Reg]
"""A thread's registers of one matrix, in the order of the manual's figures."""


def fragment(name: str, value: object, count: int) -> list[object]:
    """Return the registers of a fragment; raise OperandError unless there are `count`."""
    registers: list[object] = [value] if isinstance(value, Reg) else list(cast("Sequence[object]", value))
    if len(registers) != count:
        raise OperandError(f"{name} is {count} registers, not {len(registers)}", hint="the docstring has a table")
    return registers


def held(name: str, value: object, layout: Layout, element: str) -> list[object]:
    """Return the registers that hold a matrix of `element`; raise OperandError for another number or other types."""
    registers: list[object] = [value] if isinstance(value, Reg) else list(cast("Sequence[object]", value))
    types = held_by(element)
    if len(registers) != layout.registers:
        raise OperandError(
            f"{name} is {layout.registers} registers, not {len(registers)}", hint=_taken(layout, _wanted(layout, types))
        )
    for register in registers:
        if isinstance(register, Reg) and register.dtype.checked not in types:
            wanted = _wanted(layout, types)
            raise OperandError(
                f"{name} is {wanted}, and {register.raw_name} is a .{register.dtype} register",
                hint=_taken(layout, wanted),
            )
    return registers


def _wanted(layout: Layout, types: Sequence[str]) -> str:
    return f"{layout.registers} registers of {' or '.join(f'.{each}' for each in types)}"


def _taken(layout: Layout, wanted: str) -> str:
    packed = f", each with {layout.packed} elements" if layout.packed > 1 else ""
    return f"{layout.title} takes {wanted}{packed}; print the fragment (ptx.mma.fragment) to see who holds what"


def shape_name(shape: Sequence[int]) -> str:
    """Return `m16n8k16` for (16, 8, 16), and what was given for anything else."""
    return "m{}n{}k{}".format(*shape) if len(shape) == 3 else repr(shape)
