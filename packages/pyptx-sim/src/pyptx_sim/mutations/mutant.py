"""Every module that is one change away from another."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pyptx_ir.syntax import spell
from pyptx_sim.extension import mutations
from pyptx_sim.mutations.sites import sites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.extension import Mutation
    from pyptx_sim.extension.mutation import Change


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one fault planted into it.

    `line` (from 1) is where the instruction `before` stands, in the original and in the mutant: a change leaves every
    line where it was. `after` is what stands there now. `make` makes the module.
    """

    operator: Mutation
    line: int
    before: str
    after: str
    make: Callable[[], Module] = field(compare=False, repr=False)

    @property
    def module(self) -> Module:
        """The module with the fault, made anew each time."""
        return self.make()

    def __str__(self) -> str:
        """Spell it in a line: the operator, the line, and the change."""
        return f"{self.operator.name}, line {self.line}: {self.before} -> {self.after}"


def mutants(module: Module, operators: Iterable[Mutation] | None = None) -> Iterator[Mutant]:
    """Yield a mutant for each change that each of `operators` (by default, all) can make, in the order of the text.

    Some mutants do what the original does: a wait for more than
    needs be, a fence where another one stands.
    """
    rows = mutations() if operators is None else tuple(operators)
    for site, changed in sites(module):
        node = site.instruction
        for operator in rows:
            if operator.applies(node.opcode):
                for change in operator.edit(site):
                    yield Mutant(operator, site.line, spell(node), _told(change), partial(changed, change))


def _told(change: Change) -> str:
    """Return what stands instead, in the order of the text; what was there before is not said again."""
    return " ".join(spell(node) for at in sorted(change) for node in change[at])
