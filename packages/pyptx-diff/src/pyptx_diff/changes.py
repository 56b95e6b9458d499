"""Convert aligned modules to changed statements, grouped in hunks with context."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pyptx_diff.result import Change, FunctionDifference, Renaming, StatementLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_diff.explanation import ChangeReasons
    from pyptx_diff.line_numbers import Places
    from pyptx_diff.modules import AlignedBodies
    from pyptx_diff.scopes import Declaration
    from pyptx_diff.variables import ItemPair

Redeclared: TypeAlias = "dict[str, list[tuple[int, int]]]"


class Changes(NamedTuple):
    """Inputs for the computation of changes: names, line numbers in both modules, and the number of context statements.

    `redeclared` contains, for each function of the second module, the paired declarations (first module, second module)
    whose types differ.
    """

    explanation: ChangeReasons
    before: Places
    after: Places
    context: int
    redeclared: Redeclared

    def part(self, bodies: AlignedBodies) -> FunctionDifference | None:
        """Return the differences between the aligned bodies of a function in both modules; None if equal."""
        mine, other = bodies.mine, bodies.other
        hunks: list[tuple[Change, ...]]
        if mine is None or other is None:
            hunks = [(self._change((mine.items[0] if mine else None, other.items[0] if other else None), ""),)]
        else:
            hunks = self._hunks(list(bodies.items()), other.name)
            alone = [pair for pair in bodies.variables if self._differs(pair)]
            names = self.redeclared.get(other.name, []) if other.defined else []
            hunks = [
                *(self._redeclaration(*pair, other.name) for pair in names),
                *((self._change(pair, other.name),) for pair in alone),
                *hunks,
            ]
        body = mine or other
        if not hunks or body is None:
            return None
        return FunctionDifference(body.kind, mine.name if mine else None, other.name if other else None, tuple(hunks))

    def _differs(self, pair: ItemPair) -> bool:
        mine, other = pair
        return mine is None or other is None or not self.explanation.same(mine, other)

    def _change(self, pair: ItemPair, function: str) -> Change:
        """Return the change from one statement to its counterpart, with names as in a function of the second module."""
        mine, other = pair
        first = self.before.of(mine, self.explanation.naming.statement(mine, function)) if mine else None
        second = self.after.of(other) if other else None
        if mine is None or other is None:
            return Change("removed" if mine else "added", first, second)
        if self.explanation.same(mine, other):
            return Change("same", first, second)
        return Change("changed", first, second, self.explanation.reasons(mine, other, function))

    def _hunks(self, pairs: list[ItemPair], function: str) -> list[tuple[Change, ...]]:
        """Return hunks of changed statements with unchanged statements as context; nearby changes share a hunk."""
        ranges: list[tuple[int, int]] = []
        for at in (at for at, pair in enumerate(pairs) if self._differs(pair)):
            low, high = max(0, at - self.context), at + 1 + self.context
            if ranges and low <= ranges[-1][1]:
                low = ranges.pop()[0]
            ranges.append((low, high))
        return [tuple([self._change(pair, function) for pair in pairs[low:high]]) for low, high in ranges]

    def _redeclaration(self, mine: int, other: int, function: str) -> tuple[Change, ...]:
        one, two = self.explanation.before[mine], self.explanation.after[other]
        renamed = one._replace(name=self.explanation.naming.name(mine, function))
        first = StatementLine(self.before.line(one.at), _declared(one), _declared(renamed))
        second = StatementLine(self.after.line(two.at), _declared(two), _declared(two))
        return (Change("changed", first, second),)


def redeclared(explanation: ChangeReasons) -> Redeclared:
    """Return the paired declarations whose types differ, by function of the second module."""
    found: Redeclared = {}
    for mine, other in explanation.renaming.items():
        two = explanation.after[other]
        if explanation.before[mine].detail != two.detail:
            found.setdefault(two.function, []).append((mine, other))
    return found


def renamings(explanation: ChangeReasons) -> Iterator[Renaming]:
    """Yield renamed declarations in the order of the second module, except public names, whose renaming is a change."""
    for mine, other in sorted(explanation.renaming.items(), key=lambda pair: pair[1]):
        one, two = explanation.before[mine], explanation.after[other]
        if one.name != two.name and not (one.public or two.public):
            yield Renaming(two.kind, one.name, two.name, two.function)


def _declared(one: Declaration) -> str:
    """Return a declaration's text: the type and name of a register, only the name of anything else."""
    return f"{one.detail} {one.name};" if one.kind == "register" else one.name
