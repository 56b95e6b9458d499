"""Matrix fragments of MMA instructions: number and types of a thread's registers, and errors for wrong registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_ir.isa.kinds.fragments import share_of
from pyptx_ir.isa.kinds.kind import Use
from pyptx_ir.isa.matching import match_modifiers
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.plugins.operand_kinds import operand_kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.instructions.forms.row_forms import RowForm
    from pyptx_ir.fragments import Fragment as Layout

__all__ = ["Fragment", "Share", "fragment", "held", "limits_of", "shape_name", "shares_of"]

Fragment: TypeAlias = Reg | RegArray | Sequence[Reg]
"""A thread's registers of one matrix, in the order of the manual's figures."""


def fragment(name: str, value: object, count: int) -> list[object]:
    """Return the registers of a fragment as a list; raise OperandError unless there are `count` registers."""
    registers: list[object] = [value] if isinstance(value, Reg) else list(cast("Sequence[object]", value))
    if len(registers) != count:
        raise OperandError(
            f"{name} must have {count} registers, got {len(registers)}",
            help="see the register counts in the instruction's docstring",
        )
    return registers


Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True)
class Share:
    """A thread's registers of a matrix: number and permitted types, according to an instruction table row."""

    registers: int
    types: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.registers} registers of {' or '.join(f'.{each}' for each in self.types)}"


@lru_cache(maxsize=1024)
def shares_of(form: RowForm, words: tuple[str, ...]) -> dict[str, Share]:
    """Return a thread's registers (`Share`) of each matrix operand, by operand name; `words` is the opcode."""
    pattern = compile_row(form.row)
    filled = match_modifiers(pattern, words[1:]) or {}
    found = {place.name: share_of(Use(form.row, filled, place, operand_kinds())) for place in pattern.places}
    return {name: Share(*share) for name, share in found.items() if share is not None}


def limits_of(form: RowForm, operand: str) -> tuple[int, ...]:
    """Return constants that a form permits for an operand (all, or the ends of their range); empty without a limit."""
    limits = next(place.limits for place in compile_row(form.row).places if place.name == operand)
    return () if limits is None else limits.inside()


def held(name: Name, value: object, share: Share, layout: Callable[[Name], Layout] | None = None) -> list[object]:
    """Return a thread's registers of a matrix; raise OperandError unless `share` permits their number and types.

    For the error's hint, `layout` returns the matrix elements in the registers of each lane.
    """
    registers: list[object] = [value] if isinstance(value, Reg) else list(cast("Sequence[object]", value))
    if len(registers) != share.registers:
        wrong = f"{name} must have {share.registers} registers, got {len(registers)}"
        raise OperandError(wrong, help=_taken(share, layout and layout(name)))
    for register in registers:
        if isinstance(register, Reg) and register.dtype.checked not in share.types:
            wrong = f"{name} must be {share}, got the .{register.dtype} register {register.raw_name}"
            raise OperandError(wrong, help=_taken(share, layout and layout(name)))
    return registers


def _taken(share: Share, layout: Layout | None) -> str:
    if layout is None:
        return f"pass {share}"
    packed = f", each with {layout.packed} elements" if layout.packed > 1 else ""
    return f"{layout.title} needs {share}{packed}; print(ptx.mma.fragment(…)) shows the elements of each lane"


def shape_name(shape: Sequence[int]) -> str:
    """Return the shape modifier `m16n8k16` for (16, 8, 16); `repr(shape)` unless it has exactly three extents."""
    return "m{}n{}k{}".format(*shape) if len(shape) == 3 else repr(shape)
