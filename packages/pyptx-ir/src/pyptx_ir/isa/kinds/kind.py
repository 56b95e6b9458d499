"""A kind of operand, and what it is asked about."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyptx_ir.isa.limits import Limits
    from pyptx_ir.isa.matrix_rows import Element
    from pyptx_ir.isa.patterns import Place
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.shapes import Shape

# The classes of faults in operands; `pyptx check` prints them, and the oracle counts by them.
OPERAND_KIND = "operand-kind"
OPERAND_TYPE = "operand-type"
VECTOR_LENGTH = "vector-length"
ADDRESS_SPACE = "address-space"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What an operand should have been, and the class of the fault."""

    wanted: str
    code: str = OPERAND_KIND


@dataclass(frozen=True, slots=True)
class Use:
    """A place of a row, once the words of its opcode are known. `filled` is the word of every slot, by its name.

    `kinds` are all that there are, because some stand inside others; `address_size` is the module's, in bits.
    """

    row: InstructionRow
    filled: Mapping[str, str]
    place: Place
    kinds: Kinds
    address_size: int = 64

    def word(self, name: str) -> str:
        """Return the word that fills the slot called `name`; a name that is no slot stands for itself."""
        return self.filled.get(name, name)

    def count(self, name: str) -> int:
        """Return a number: spelt out, or the length that the row gives for the word in a slot."""
        if name.isdecimal():
            return int(name)
        return dict(self.row.lengths)[name][dict(self.row.slots)[name].index(self.filled[name])]

    def mismatch(self, kind: str, shape: Shape) -> Mismatch | None:
        """Return what is wrong with an operand that should be of a kind."""
        name, argument = self.kinds.split(kind)
        return self.kinds[name].mismatch(argument, shape, self)

    def examples(self, kind: str, index: int) -> tuple[str, ...]:
        """Return spellings of operands of a kind; `index` keeps their registers apart."""
        name, argument = self.kinds.split(kind)
        return self.kinds[name].examples(argument, self, index)

    def types(self, kind: str) -> tuple[str, ...] | None:
        """Return the types of the registers of an operand of a kind, one for each; None if the kind does not tell."""
        name, argument = self.kinds.split(kind)
        of_kind = self.kinds[name].types
        return None if of_kind is None else of_kind(argument, self)

    def limits(self) -> Limits | None:
        """Return which values a constant in this place may have by its kind alone."""
        name, argument = self.kinds.split(self.place.kind)
        return self.kinds[name].limits(argument, self)


def no_limits(_argument: str, _use: Use) -> Limits | None:
    """Answer for a kind whose constants, if any, may have any value."""
    return None


MismatchOf: TypeAlias = "Callable[[str, Shape, Use], Mismatch | None]"
ExamplesOf: TypeAlias = "Callable[[str, Use, int], tuple[str, ...]]"
LimitsOf: TypeAlias = "Callable[[str, Use], Limits | None]"
TypesOf: TypeAlias = "Callable[[str, Use], tuple[str, ...] | None]"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of operand.

    `name` is its word in the table's rows, behind which an argument may stand in parentheses. `words` says what it is,
    for reference pages; `{}` in it stands for the argument. The functions get that argument and the use:
    `mismatch` and the operand's shape returns what is wrong with it, `examples` and an index that keeps registers apart
    returns spellings that fit, `limits` which values a constant may have by its kind alone, and `types`, where a kind
    has it, the types that its registers are read or written as, one for each.
    """

    name: str
    words: str
    mismatch: MismatchOf
    examples: ExamplesOf
    limits: LimitsOf = no_limits
    types: TypesOf | None = None


class Kinds(dict[str, Kind]):
    """The kinds of operands, by name; `elements` are the types of matrices' elements, by name."""

    def __init__(self, kinds: Iterable[Kind] = (), elements: Iterable[Element] = ()) -> None:
        """Take kinds and types of elements."""
        super().__init__({kind.name: kind for kind in kinds})
        self.elements: Mapping[str, Element] = {element.name: element for element in elements}

    def split(self, text: str) -> tuple[str, str]:
        """Take a kind apart into its name and argument; `4*b32` is of the kind `*`, a type or slot of `typed`."""
        name, argument = _parts(text)
        return (name, argument) if argument or name in self else ("typed", name)


@functools.cache
def _parts(text: str) -> tuple[str, str]:
    count, star, inner = text.partition("*")
    if star and "(" not in count:
        return "*", f"{count}*{inner}"
    name, _, argument = text.partition("(")
    return name, argument.removesuffix(")")
