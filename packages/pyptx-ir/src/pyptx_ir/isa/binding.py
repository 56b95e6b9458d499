"""An instruction bound to its row of the instruction table: its modifiers by slot, its operands by name.

Code that needs the role of a modifier or operand uses this instead of parsing the opcode.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pyptx_ir.isa.check import forms_of
from pyptx_ir.isa.fitting import fault_in, placed
from pyptx_ir.isa.kinds.addresses import SPACES
from pyptx_ir.isa.kinds.kind import Use
from pyptx_ir.isa.shapes import shape_of
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.plugins.operand_kinds import operand_kinds
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_ir.isa.patterns import OperandSlot, Pattern
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.shapes import Shape
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

__all__ = ["Bound", "bound", "nearest"]


@value
class Bound(Value):
    """An instruction as matched by its row.

    `words` maps each filled modifier slot to its modifier; a literal modifier of the syntax line maps to itself.
    `operands` maps names in the syntax line to operands, in order, without absent optional ones. `written` are the
    names of the operands that the instruction writes; it may also read some of these. `places` are the row's
    descriptions of the operands, by name. `types` are the types of each operand's registers, one per element of a
    vector or pair. They are None if the operand's kind does not define them, as for an address or a label.
    """

    instruction: Instruction
    row: InstructionRow
    words: Mapping[str, str]
    operands: Mapping[str, Operand]
    written: frozenset[str]
    places: Mapping[str, OperandSlot]
    types: Mapping[str, tuple[str, ...] | None]

    @property
    def spaces(self) -> tuple[str, ...]:
        """State spaces in the opcode, in order and verbatim: `("shared::cta", "global")`."""
        return tuple([word for word in self.words.values() if word in SPACES])

    def word(self, slot: str) -> str:
        """Return the modifier that fills a slot of the instruction row, or an empty string."""
        return self.words.get(slot, "")

    def type_of(self, operand: str) -> str:
        """Return the register type of an operand, or of its first register; empty if `types` has none."""
        return next(iter(self.types[operand] or ()), "")

    def length(self, slot: str) -> int:
        """Return the number that the instruction row assigns to a slot's modifier, such as a vector's length."""
        choices, numbers = dict(self.row.slots)[slot], dict(self.row.lengths)[slot]
        return numbers[choices.index(self.words[slot])]


def bound(instruction: Instruction, declared: Callable[[str], str | None], address_size: int = 64) -> Bound | None:
    """Return an instruction bound to the first matching instruction row, for any target; None if none matches.

    `declared` is as in `pyptx_ir.isa.shapes.shape_of`.
    """
    shapes = tuple([shape_of(operand, declared) for operand in instruction.operands])
    form = _form(instruction.opcode, shapes, address_size)
    if form is None:
        return None
    operands = dict(zip(form.places, instruction.operands, strict=True))
    return Bound(instruction, form.row, form.words, operands, form.written, form.places, form.types)


@value
class _Form(Value):
    """Properties that bound instructions with one opcode and equal operand shapes share."""

    row: InstructionRow
    words: Mapping[str, str]
    written: frozenset[str]
    places: Mapping[str, OperandSlot]
    types: Mapping[str, tuple[str, ...] | None]


@until_plugins_change(maxsize=1 << 14)
def _form(opcode: tuple[str, ...], shapes: tuple[Shape, ...], address_size: int) -> _Form | None:
    for pattern, words in forms_of(opcode):
        if fault_in(pattern, words, shapes, address_size) is None:
            return _read(pattern, words, len(shapes))
    return None


def _read(pattern: Pattern, words: Mapping[str, str], count: int) -> _Form:
    """Return the shared properties of instructions of one instruction row with these modifiers and `count` operands."""
    standing = placed([place for place in pattern.places if place.stands(words)], count)
    places = {place.name: place for place in standing}
    written = frozenset(name for name, place in places.items() if place.written)
    types = {name: _types(pattern.row, words, place) for name, place in places.items()}
    return _Form(pattern.row, words, written, places, types)


def nearest(instruction: Instruction) -> Bound | None:
    """Return an instruction bound to the closest form of its opcode; None if there is none. The simulator calls it.

    As few of the instruction's modifiers as possible are ignored. The number of operands must match the row; the types
    of operands are not checked.
    """
    name, *modifiers = instruction.opcode
    count = len(instruction.operands)
    for kept in range(len(modifiers), -1, -1):
        for some in itertools.combinations(modifiers, kept):
            for pattern, words in forms_of((name, *some)):
                form = _read(pattern, words, count)
                if len(form.places) == count:
                    operands = dict(zip(form.places, instruction.operands, strict=True))
                    return Bound(instruction, form.row, form.words, operands, form.written, form.places, form.types)
    return None


def _types(row: InstructionRow, words: Mapping[str, str], place: OperandSlot) -> tuple[str, ...] | None:
    use = Use(row, words, place, operand_kinds())
    found = [use.types(kind) for kind in (place.kind, place.second) if kind]
    return None if None in found else tuple(name for types in found if types for name in types)
