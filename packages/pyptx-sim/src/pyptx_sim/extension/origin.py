"""Origin of undefined bits."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of undefined bits: the rule that a use of them breaks, and the instruction at `pc` that read or made them.

    A finding's message is `{fault}: {name} depends on {what}`, with the name of the register that is used. `what` is
    the undefined value ("4 bytes at s+0"), and `label` states what the instruction at `pc` did ("read by thread …";
    default: its opcode). `notes` are the finding's notes.

    `padding` marks a word of local memory of which other bytes are defined. Compilers copy structures word by word,
    including the padding between members.
    """

    rule: str
    what: str
    pc: int
    help: str
    padding: bool = False
    label: str | None = None
    fault: str = "use of undefined value"
    notes: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """Message of a finding for an undefined value that is not in a named register."""
        return f"{self.fault}: {self.what}"
