"""Mutation operators: kinds of faults injected into working kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.renamed import former_attribute
from pyptx_ir.syntax.nodes import Instruction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyptx_ir.syntax.nodes import Statement

__all__ = ["Change", "Edit", "Mutation", "MutationSite"]

Change: TypeAlias = "Mapping[int, tuple[Statement, ...]]"
"""Replacement statements, by the index in `MutationSite.body` of the statement that they replace."""


@dataclass(frozen=True, slots=True)
class MutationSite:
    """Instruction to mutate: index `at` of the statements `body`, on line `line` (from 1) of the module's text."""

    body: Sequence[Statement]
    at: int
    line: int
    if not TYPE_CHECKING:
        __getattr__ = former_attribute

    @property
    def instruction(self) -> Instruction:
        """The instruction at index `at`."""
        node = self.body[self.at]
        assert isinstance(node, Instruction)  # noqa: S101 - `sites` yields nothing else
        return node

    def neighbor(self, distance: int) -> Instruction | None:
        """Return the instruction `distance` statements later (negative: earlier); None if it is not an instruction."""
        at = self.at + distance
        node = self.body[at] if 0 <= at < len(self.body) else None
        return node if isinstance(node, Instruction) else None


Edit: TypeAlias = "Callable[[MutationSite], Iterator[Change]]"
"""Function that yields a mutation operator's changes to a `MutationSite`, like those of `pyptx_sim.extension.edits`."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """Mutation operator: one kind of fault to inject into kernels.

    `opcodes` are opcode prefixes; each dotted part may be `a|b` (either) or `*` (any). The opcode must have one of the
    modifiers `having` (`a|b`), if not empty. `breaks` describes the fault of the mutant.
    """

    name: str
    opcodes: tuple[str, ...]
    edit: Edit
    breaks: str
    having: str = ""

    def applies(self, opcode: tuple[str, ...]) -> bool:
        """Return whether the operator applies to instructions with this opcode."""
        having = not self.having or not set(self.having.split("|")).isdisjoint(opcode)
        return having and any(_begins(opcode, each) for each in self.opcodes)


def _begins(opcode: tuple[str, ...], pattern: str) -> bool:
    words = pattern.split(".")
    return len(words) <= len(opcode) and all(
        word == "*" or given in word.split("|") for word, given in zip(words, opcode, strict=False)
    )
