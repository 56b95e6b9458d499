"""A compiler's whitespace style, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Style:
    r"""Formatting rules for statements without source text of their own; without rules, formatting is canonical.

    `trivia` is the leading trivia of a statement, by the preceding item and the statement: `"Label Instruction"`.
    `{indent}` is a tab for each open brace, `{function}` the enclosing function's name (see `placeholders` for others).

    `gaps` is the text between two tokens, by kind of statement: `{"Instruction": {"opcode %": " \t"}}` (see `tokens`
    for the names of pairs). A more specific name (`"call"`, `".local"`) takes precedence.

    `asm` contains regions of inline assembly, as text (see `inline_asm`). In `trivia`, a region is
    one statement, `asm`.
    """

    trivia: Mapping[str, str] = field(default_factory=dict[str, str])
    gaps: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])
    asm: tuple[str, ...] = ()
