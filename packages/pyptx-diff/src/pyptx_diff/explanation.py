"""Describe which modifiers, operands and names of a statement have changed."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pyptx_diff.renaming import agrees
from pyptx_diff.shapes import Shape, is_single, named, shape_of
from pyptx_ir.syntax.nodes import Function, Instruction, Variable
from pyptx_ir.syntax.operand_spelling import spell_operand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyptx_diff.items import DiffItem, Kinds
    from pyptx_diff.modules import AlignedBodies
    from pyptx_diff.naming import Naming
    from pyptx_diff.renaming import Bijection
    from pyptx_diff.scopes import Declarations

_Name: TypeAlias = int | tuple[str]  # a name in a statement: the number of its declaration; (name,) if undeclared


_NONE: Final = "none"


class _Operand(NamedTuple):
    text: str
    shape: Shape
    names: tuple[_Name, ...]


class ChangeReasons(NamedTuple):
    """Declarations of both modules, and the renaming from the first to the second.

    `kinds` contains, for each token (number of a statement shape), the kind of declaration that each name in such a
    statement refers to. For an undeclared name it contains a tuple with the name.
    """

    before: Declarations
    after: Declarations
    renaming: Bijection
    kinds: Sequence[Kinds]
    naming: Naming

    def same(self, mine: DiffItem, other: DiffItem) -> bool:
        """Return whether two statements are equal except for private names."""
        return mine.token == other.token and agrees(mine, other, self.renaming) and not self._public(mine, other)

    def reasons(self, mine: DiffItem, other: DiffItem, function: str) -> tuple[str, ...]:
        """Return why two statements differ, with names of the second module's `function`.

        Empty for statements other than instructions whose texts differ in more than names.
        """
        first, second = mine.node, other.node
        if isinstance(first, Instruction) and isinstance(second, Instruction):
            return tuple(self._of_instructions(mine, other, first, second, function))
        if mine.token != other.token:
            return ()
        public = [f"the name {name} is visible outside the module" for name in self._public(mine, other)]
        return (*public, *self._of_names(mine.names, other.names, function))

    def name(self, bodies: Iterable[AlignedBodies]) -> None:
        """Pair further declarations for reports: those in similar operands of changed statements, then by name.

        These pairs do not affect whether the modules are equal.
        """
        functions: dict[str, str] = {}
        for both in bodies:
            if both.mine is not None and both.other is not None:
                functions[both.mine.name] = both.other.name
            for mine, other in both.items():
                if mine is not None and other is not None and mine.token != other.token:
                    self._pair_operands(mine, other)
        self.naming.pair_by_name(functions)

    def _pair_operands(self, mine: DiffItem, other: DiffItem) -> None:
        if not isinstance(mine.node, Instruction) or not isinstance(other.node, Instruction):
            return
        for one, two in zip(self._operands(mine, mine.node), self._operands(other, other.node), strict=False):
            if one.shape == two.shape:
                for first, second in zip(one.names, two.names, strict=True):
                    if isinstance(first, int) and isinstance(second, int):
                        self.naming.pair(first, second)

    def _public(self, mine: DiffItem, other: DiffItem) -> list[str]:
        """Return the name on each side that is public, if the two names of a function or variable differ."""
        if not isinstance(mine.node, Function | Variable) or not mine.names:
            return []
        both = self.before[mine.names[0]], self.after[other.names[0]]
        return [one.name for one in both if one.public] if both[0].name != both[1].name else []

    def _of_instructions(
        self, mine: DiffItem, other: DiffItem, first: Instruction, second: Instruction, function: str
    ) -> Iterator[str]:
        if first.opcode != second.opcode:
            yield f"{'.'.join(first.opcode)} → {'.'.join(second.opcode)}"
        pairs = zip_longest(self._operands(mine, first), self._operands(other, second))
        for number, (one, two) in enumerate(pairs):
            where = f"operand {number}" if number else "guard"
            yield from (f"{where}: {why}" for why in self._of_operands(one, two, function))

    def _of_operands(self, one: _Operand | None, two: _Operand | None, function: str) -> Iterator[str]:
        if one is None or two is None or one.shape != two.shape:
            numbers = [name for name in one.names if isinstance(name, int)] if one else []
            text = self.naming.text(one.text, numbers, function) if one else _NONE
            yield f"{text} → {two.text if two else _NONE}"
        else:
            yield from self._of_names(one.names, two.names, function)

    def _operands(self, item: DiffItem, node: Instruction) -> list[_Operand]:
        """Return an instruction's guard and operands, each with the declarations that its names refer to."""
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

    def _of_names(self, mine: Sequence[_Name], other: Sequence[_Name], function: str) -> Iterator[str]:
        for one, two in zip(mine, other, strict=True):
            if self._differ(one, two):
                first = self.naming.name(one, function) if isinstance(one, int) else one[0]
                yield f"{first} → {self.after[two].name if isinstance(two, int) else two[0]}"

    def _differ(self, one: _Name, two: _Name) -> bool:
        if isinstance(one, int) and isinstance(two, int):
            return self.renaming.refuses(one, two)
        return one != two
