"""Mutants: modules that differ from a given module in one injected fault."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pyptx_ir.syntax import spell
from pyptx_sim.extension.registry import mutations
from pyptx_sim.mutations.sites import sites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.extension.mutation import Change, Mutation


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one injected fault.

    `line` (from 1) is the line of the instruction `before`, in the original and in the mutant: a change keeps all line
    numbers. `after` is the text that replaces `before`. `make` creates the mutated module.
    """

    operator: Mutation
    line: int
    before: str
    after: str
    make: Callable[[], Module] = field(compare=False, repr=False)

    @property
    def module(self) -> Module:
        """The module with the fault, created anew on each access."""
        return self.make()

    def __str__(self) -> str:
        """Return the operator's name, the line number, and the text before and after: one line."""
        return f"{self.operator.name}, line {self.line}: {self.before} -> {self.after}"


def mutants(module: Module, operators: Iterable[Mutation] | None = None) -> Iterator[Mutant]:
    """Yield a mutant for each change that each of `operators` (by default, all) can make, in order of lines.

    Some mutants are equivalent to the original: they wait for more operations than needed, or lack a redundant fence.
    """
    rows = mutations() if operators is None else tuple(operators)
    for site, changed in sites(module):
        node = site.instruction
        for operator in rows:
            if operator.applies(node.opcode):
                for change in operator.edit(site):
                    yield Mutant(operator, site.line, spell(node), _told(change), partial(changed, change))


def _told(change: Change) -> str:
    """Return the text of the replacement statements, in the order of the statements that they replace."""
    return " ".join(spell(node) for at in sorted(change) for node in change[at])
