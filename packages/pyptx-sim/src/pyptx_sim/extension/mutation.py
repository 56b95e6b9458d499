"""Kinds of faults that are planted into working kernels, to see whether anything notices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_sim.mutations.edits import Edit

__all__ = ["Mutation"]


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
