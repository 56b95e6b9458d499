"""An instruction bound to the row of the table that it is a form of: its modifiers by slot, its operands by name.

Whoever wants to know what a modifier is, or which operand is which, asks this, and never parses words again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.check import forms_of
from pyptx_ir.isa.fitting import fault_in, placed
from pyptx_ir.isa.kinds.kind import Use
from pyptx_ir.isa.shapes import shape_of
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.plugins.operand_kinds import operand_kinds
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_ir.isa.patterns import Place
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.shapes import Shape
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand

__all__ = ["Bound", "bound"]


@value
class Bound(Value):
    """An instruction as its row reads it.

    `words` holds the word of each filled slot, by the slot's name; a literal word of the syntax line stands under
    itself. `operands` are by the names of the syntax line, in its order, without optional ones that lack; `written`
    are the names of those that the instruction writes, some of which it may read, too. `places` are what the row says
    of each operand, by its name.
    """

    row: InstructionRow
    words: Mapping[str, str]
    operands: Mapping[str, Operand]
    written: frozenset[str]
    places: Mapping[str, Place]

    def length(self, slot: str) -> int:
        """Return the number that goes with the word of a slot, as the row says it: that of a vector's elements."""
        choices, numbers = dict(self.row.slots)[slot], dict(self.row.lengths)[slot]
        return numbers[choices.index(self.words[slot])]

    def types(self, name: str) -> tuple[str, ...] | None:
        """Return the types of an operand's registers, those of a vector or a pair one by one.

        None where its kind does not tell them, as that of an address or of a label.
        """
        place = self.places[name]
        use = Use(self.row, self.words, place, operand_kinds())
        found = [use.types(kind) for kind in (place.kind, place.second) if kind]
        return None if None in found else tuple(name for types in found if types for name in types)


def bound(instruction: Instruction, declared: Callable[[str], str | None], address_size: int = 64) -> Bound | None:
    """Return an instruction as the first row reads it whose form it is, on whatever target; None if there is none.

    `declared` is as in `pyptx_ir.isa.shapes.shape_of`.
    """
    shapes = tuple([shape_of(operand, declared) for operand in instruction.operands])
    found = _bound(instruction.opcode, shapes, address_size)
    if found is None:
        return None
    row, words, places = found
    operands = {place.name: operand for place, operand in zip(places, instruction.operands, strict=True)}
    written = frozenset(place.name for place in places if place.written)
    return Bound(row, words, operands, written, {place.name: place for place in places})


@until_plugins_change(maxsize=1 << 14)
def _bound(
    opcode: tuple[str, ...], shapes: tuple[Shape, ...], address_size: int
) -> tuple[InstructionRow, Mapping[str, str], tuple[Place, ...]] | None:
    for pattern, filled in forms_of(opcode):
        if fault_in(pattern, filled, shapes, address_size) is None:
            places = [place for place in pattern.places if place.stands(filled)]
            return pattern.row, filled, tuple(placed(places, len(shapes)))
    return None
