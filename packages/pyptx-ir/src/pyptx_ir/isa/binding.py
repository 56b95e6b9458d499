"""An instruction bound to the row of the table that it is a form of: its modifiers by slot, its operands by name.

Whoever wants to know what a modifier is, or which operand is which, asks this, and never parses words again.
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

    from pyptx_ir.isa.patterns import Pattern, Place
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.shapes import Shape
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

__all__ = ["Bound", "bound", "nearest"]


@value
class Bound(Value):
    """An instruction as its row reads it.

    `words` holds the word of each filled slot, by the slot's name; a literal word of the syntax line stands under
    itself. `operands` are by the names of the syntax line, in its order, without optional ones that lack; `written`
    are the names of those that the instruction writes, some of which it may read, too. `places` are what the row says
    of each operand, by its name. `types` are those of the registers in it, of a vector or a pair one by one; None where
    its kind does not tell, as that of an address or of a label.
    """

    instruction: Instruction
    row: InstructionRow
    words: Mapping[str, str]
    operands: Mapping[str, Operand]
    written: frozenset[str]
    places: Mapping[str, Place]
    types: Mapping[str, tuple[str, ...] | None]

    @property
    def spaces(self) -> tuple[str, ...]:
        """The state spaces that the opcode names, in its order, as it spells them: `("shared::cta", "global")`."""
        return tuple([word for word in self.words.values() if word in SPACES])

    def word(self, slot: str) -> str:
        """Return the word that fills a slot, or an empty string."""
        return self.words.get(slot, "")

    def type_of(self, operand: str) -> str:
        """Return the type of the register in an operand, or of its first; an empty string where `types` has none."""
        return next(iter(self.types[operand] or ()), "")

    def length(self, slot: str) -> int:
        """Return the number that goes with the word of a slot, as the row says it: that of a vector's elements."""
        choices, numbers = dict(self.row.slots)[slot], dict(self.row.lengths)[slot]
        return numbers[choices.index(self.words[slot])]


def bound(instruction: Instruction, declared: Callable[[str], str | None], address_size: int = 64) -> Bound | None:
    """Return an instruction as the first row reads it whose form it is, on whatever target; None if there is none.

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
    """What instructions of one opcode, with operands of the same shapes, have in common when they are bound."""

    row: InstructionRow
    words: Mapping[str, str]
    written: frozenset[str]
    places: Mapping[str, Place]
    types: Mapping[str, tuple[str, ...] | None]


@until_plugins_change(maxsize=1 << 14)
def _form(opcode: tuple[str, ...], shapes: tuple[Shape, ...], address_size: int) -> _Form | None:
    for pattern, words in forms_of(opcode):
        if fault_in(pattern, words, shapes, address_size) is None:
            return _read(pattern, words, len(shapes))
    return None


def _read(pattern: Pattern, words: Mapping[str, str], count: int) -> _Form:
    """Return what a row says of an instruction with these words and so many operands."""
    standing = placed([place for place in pattern.places if place.stands(words)], count)
    places = {place.name: place for place in standing}
    written = frozenset(name for name, place in places.items() if place.written)
    types = {name: _types(pattern.row, words, place) for name, place in places.items()}
    return _Form(pattern.row, words, written, places, types)


def nearest(instruction: Instruction) -> Bound | None:
    """Return an instruction as the form that it comes nearest to; None if there is none: for experiments.

    As few of its modifiers are left out as must be for a row to have the others. Its operands are as many as the row's,
    and not held to what the row says of them.
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


def _types(row: InstructionRow, words: Mapping[str, str], place: Place) -> tuple[str, ...] | None:
    use = Use(row, words, place, operand_kinds())
    found = [use.types(kind) for kind in (place.kind, place.second) if kind]
    return None if None in found else tuple(name for types in found if types for name in types)
