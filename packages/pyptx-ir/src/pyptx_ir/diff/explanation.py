"""Say in which of its words, operands and names a statement has changed."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pyptx_ir.diff.renaming import agrees
from pyptx_ir.diff.shapes import Shape, is_single, named, shape_of
from pyptx_ir.syntax.nodes import Function, Instruction, Variable
from pyptx_ir.syntax.operand_spelling import spell_operand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.diff.items import Item, Kinds
    from pyptx_ir.diff.renaming import Bijection
    from pyptx_ir.diff.scopes import Declarations

_Name: TypeAlias = int | tuple[str]  # what it stands for, or itself


_NONE: Final = "none"


class _Operand(NamedTuple):
    text: str
    shape: Shape
    names: tuple[_Name, ...]


class Explanation(NamedTuple):
    """Both sides, and how names of the first are called in the second.

    `kinds` holds for each token what kind of declaration each of its names stands for; a name that is not declared
    stands there itself, in a tuple.
    """

    before: Declarations
    after: Declarations
    renaming: Bijection
    kinds: Sequence[Kinds]

    def same(self, mine: Item, other: Item) -> bool:
        """Tell whether two items are the same but for names that nobody outside can ask for."""
        return mine.token == other.token and agrees(mine, other, self.renaming) and not self._public(mine, other)

    def reasons(self, mine: Item, other: Item) -> tuple[str, ...]:
        """Return what differs; nothing where the two texts say it best."""
        first, second = mine.node, other.node
        if isinstance(first, Instruction) and isinstance(second, Instruction):
            return tuple(self._of_instructions(mine, other, first, second))
        if mine.token != other.token:
            return ()
        public = [f"others may ask for the name {name}" for name in self._public(mine, other)]
        return (*public, *self._of_names(mine.names, other.names))

    def _public(self, mine: Item, other: Item) -> list[str]:
        """Return the public names that a function or variable has on one side only."""
        if not isinstance(mine.node, Function | Variable) or not mine.names:
            return []
        both = self.before[mine.names[0]], self.after[other.names[0]]
        return [one.name for one in both if one.public] if both[0].name != both[1].name else []

    def _of_instructions(self, mine: Item, other: Item, first: Instruction, second: Instruction) -> Iterator[str]:
        if first.opcode != second.opcode:
            yield f"{'.'.join(first.opcode)} → {'.'.join(second.opcode)}"
        pairs = zip_longest(self._operands(mine, first), self._operands(other, second))
        for number, (one, two) in enumerate(pairs):
            where = f"operand {number}" if number else "guard"
            yield from (f"{where}: {why}" for why in self._of_operands(one, two))

    def _of_operands(self, one: _Operand | None, two: _Operand | None) -> Iterator[str]:
        if one is None or two is None or one.shape != two.shape:
            yield f"{one.text if one else _NONE} → {two.text if two else _NONE}"
        else:
            yield from self._of_names(one.names, two.names)

    def _operands(self, item: Item, node: Instruction) -> list[_Operand]:
        """Return the guard and the operands, with what their names stand for."""
        kinds, numbers = iter(self.kinds[item.token]), iter(item.names)
        single = is_single(node.opcode)
        operands: list[_Operand] = []

        def add(text: str, shape: Shape, names: list[str]) -> None:
            found = (next(kinds) for _ in names)
            resolved = tuple(kind if isinstance(kind, tuple) else next(numbers) for kind in found)
            operands.append(_Operand(text, shape, resolved))

        names: list[str] = []
        guard = node.guard
        if guard is None:
            add(_NONE, None, names)
        else:
            add(f"@{'!' * guard.negated}{guard.register}", (guard.negated, named(guard.register, names)), names)
        for operand in node.operands:
            names = []
            shape = shape_of(operand, names, single=single)
            add(spell_operand(operand), shape, names)
        return operands

    def _of_names(self, mine: Sequence[_Name], other: Sequence[_Name]) -> Iterator[str]:
        for one, two in zip(mine, other, strict=True):
            if isinstance(one, int) and isinstance(two, int):
                if self.renaming.refuses(one, two):
                    yield self._renamed(one, two)
            elif one != two:
                yield f"{self._text(one, self.before)} → {self._text(two, self.after)}"

    def _renamed(self, one: int, two: int) -> str:
        elsewhere = self.renaming.get(one)
        text = f"{self.before[one].name} → {self.after[two].name}"
        if elsewhere is None:
            return text
        return f"{text}, elsewhere {self.before[one].name} → {self.after[elsewhere].name}"

    @staticmethod
    def _text(name: _Name, declarations: Declarations) -> str:
        return declarations[name].name if isinstance(name, int) else name[0]
