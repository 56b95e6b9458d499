"""Kinds of instruction operands, each with its check, its examples and its register types."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyptx_ir.isa.limits import Limits
    from pyptx_ir.isa.matrix_rows import Element
    from pyptx_ir.isa.patterns import OperandSlot
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.shapes import Shape

# Classes of operand errors: `pyptx check` prints an error's class, and the oracle test counts errors by class.
OPERAND_KIND = "operand-kind"
OPERAND_TYPE = "operand-type"
VECTOR_LENGTH = "vector-length"
ADDRESS_SPACE = "address-space"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Fault of an operand: the operand that is expected instead, and the class of the fault."""

    wanted: str
    code: str = OPERAND_KIND


@dataclass(frozen=True, slots=True)
class Use:
    """An operand of an instruction row, with an instruction's opcode. `filled` maps modifier slots to its modifiers.

    `kinds` are all operand kinds, because some kinds contain others; `address_size` is the module's, in bits.
    """

    row: InstructionRow
    filled: Mapping[str, str]
    place: OperandSlot
    kinds: Kinds
    address_size: int = 64

    def word(self, name: str) -> str:
        """Return the modifier in the slot `name` of the opcode, or `name` itself if it is not a slot."""
        return self.filled.get(name, name)

    def count(self, name: str) -> int:
        """Return a number of elements: a literal number, or the length that an instruction row gives for a modifier."""
        if name.isdecimal():
            return int(name)
        return dict(self.row.lengths)[name][dict(self.row.slots)[name].index(self.filled[name])]

    def mismatch(self, kind: str, shape: Shape) -> Mismatch | None:
        """Return the fault of an operand whose `Kind` is given; None if the operand matches that kind."""
        name, argument = self.kinds.split(kind)
        return self.kinds[name].mismatch(argument, shape, self)

    def examples(self, kind: str, index: int) -> tuple[str, ...]:
        """Return example operands of an operand kind; `index` makes their registers distinct."""
        name, argument = self.kinds.split(kind)
        return self.kinds[name].examples(argument, self, index)

    def types(self, kind: str) -> tuple[str, ...] | None:
        """Return the type of each register of an operand, as the operand's kind defines it; None if it does not."""
        name, argument = self.kinds.split(kind)
        of_kind = self.kinds[name].types
        return None if of_kind is None else of_kind(argument, self)

    def limits(self) -> Limits | None:
        """Return the limits that an operand kind sets for constant operands."""
        name, argument = self.kinds.split(self.place.kind)
        return self.kinds[name].limits(argument, self)


def no_limits(_argument: str, _use: Use) -> Limits | None:
    """Return None, because this operand kind does not limit constants."""
    return None


MismatchOf: TypeAlias = "Callable[[str, Shape, Use], Mismatch | None]"
ExamplesOf: TypeAlias = "Callable[[str, Use, int], tuple[str, ...]]"
LimitsOf: TypeAlias = "Callable[[str, Use], Limits | None]"
TypesOf: TypeAlias = "Callable[[str, Use], tuple[str, ...] | None]"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of operand.

    `name` is its name in rows of the instruction table, where an argument in parentheses may follow. `words` is its
    description on reference pages; `{}` is replaced by the argument. Each function gets that argument and a `Use`:

    - `mismatch`, with the operand's shape, returns the fault;
    - `examples`, with an index that makes registers distinct, returns valid operands;
    - `limits` returns the limits that the kind sets for constants;
    - `types`, if present, returns the types with which the operand's registers are read or written, one per register.
    """

    name: str
    words: str
    mismatch: MismatchOf
    examples: ExamplesOf
    limits: LimitsOf = no_limits
    types: TypesOf | None = None


class Kinds(dict[str, Kind]):
    """Operand kinds by name; `elements` are the matrix element types by name."""

    def __init__(self, kinds: Iterable[Kind] = (), elements: Iterable[Element] = ()) -> None:
        """Index operand kinds and element types by name."""
        super().__init__({kind.name: kind for kind in kinds})
        self.elements: Mapping[str, Element] = {element.name: element for element in elements}

    def split(self, text: str) -> tuple[str, str]:
        """Split an operand kind into name and argument; `4*b32` is kind `*`, and a type or slot is kind `typed`."""
        name, argument = _parts(text)
        return (name, argument) if argument or name in self else ("typed", name)


@functools.cache
def _parts(text: str) -> tuple[str, str]:
    count, star, inner = text.partition("*")
    if star and "(" not in count:
        return "*", f"{count}*{inner}"
    name, _, argument = text.partition("(")
    return name, argument.removesuffix(")")
