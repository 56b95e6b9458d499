"""Where bits come from that nothing has defined."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where undefined bits come from: the rule that they break, what was read, and the instruction that read it.

    `padding`: of a word on the stack of which other bytes are defined. Compilers copy structures word by word, and
    what lies between their members goes with them, to whoever asks for the structure.
    """

    rule: str
    what: str
    pc: int
    hint: str
    padding: bool = False
