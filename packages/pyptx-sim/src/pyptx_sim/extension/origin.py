"""Origin of undefined bits."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of undefined bits: the rule that they break, the location read, and the instruction that read it.

    `padding` marks a word on the stack that has other bytes defined. Compilers copy structures word by word, including
    the padding between members.
    """

    rule: str
    what: str
    pc: int
    help: str
    padding: bool = False
