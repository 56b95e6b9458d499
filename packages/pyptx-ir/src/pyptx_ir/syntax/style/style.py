"""What a compiler does to white space, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Style:
    r"""How trees are spelt whose statements have no spelling of their own; without rules, canonically.

    `leads` says what stands in front of a statement, by what precedes it and what it is: `"Label Instruction"`. In a
    lead, `{indent}` is a tab for each open brace, `{function}` the name of the function (see `places` for the rest).

    `gaps` says what stands between two tokens, for each kind of statement: `{"Instruction": {"opcode %": " \t"}}` (see
    `tokens` for the names of pairs). What stands under a closer name (`"call"`, `".local"`) goes first.

    `asm` holds regions of inline assembly, as text (see `inline_asm`). In `leads`, a region is one statement, `asm`.
    """

    leads: Mapping[str, str] = field(default_factory=dict[str, str])
    gaps: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])
    asm: tuple[str, ...] = ()
