"""Kinds of faults that are planted into working kernels, to see whether anything notices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.nodes import Instruction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Statement

__all__ = ["Change", "Edit", "Mutation", "Site"]

Change: TypeAlias = "Mapping[int, tuple[Statement, ...]]"
"""What stands instead of some statements of a body, by their number in it."""


@dataclass(frozen=True, slots=True)
class Site:
    """Instruction number `at` of the statements `body`, on a line (from 1) of the module's text."""

    body: Sequence[Statement]
    at: int
    line: int

    @property
    def instruction(self) -> Instruction:
        """The instruction itself."""
        node = self.body[self.at]
        assert isinstance(node, Instruction)  # noqa: S101 - `sites` yields nothing else
        return node

    def neighbour(self, distance: int) -> Instruction | None:
        """Return the statement so far away if it is an instruction of the same body."""
        at = self.at + distance
        node = self.body[at] if 0 <= at < len(self.body) else None
        return node if isinstance(node, Instruction) else None


Edit: TypeAlias = "Callable[[Site], Iterator[Change]]"
"""What makes the changes of a mutation; `pyptx_sim.extension.edits` has the usual ones."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One kind of fault that is planted into working kernels: a mutation operator.

    `opcodes` are the beginnings of the opcodes that it changes, `a|b` for either word and `*` for any; `having` are
    modifiers of which they must have one. `breaks` says what the change takes away.
    """

    name: str
    opcodes: tuple[str, ...]
    edit: Edit
    breaks: str
    having: str = ""

    def applies(self, opcode: tuple[str, ...]) -> bool:
        """Tell whether it changes instructions with this opcode."""
        having = not self.having or not set(self.having.split("|")).isdisjoint(opcode)
        return having and any(_begins(opcode, each) for each in self.opcodes)


def _begins(opcode: tuple[str, ...], pattern: str) -> bool:
    words = pattern.split(".")
    return len(words) <= len(opcode) and all(
        word == "*" or given in word.split("|") for word, given in zip(words, opcode, strict=False)
    )
