"""Origin of undefined bits."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Origin"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of undefined bits: the rule that they break, and the instruction at `pc` that read or produced them.

    A finding's message is `{fault}: {name} depends on {what}`, with the name of the register that is used. `what` is
    the undefined value ("4 bytes at s+0"), and `label` states what the instruction did ("read by thread …"; default:
    its opcode). `notes` are further facts.

    `padding` marks a word on the stack that has other bytes defined. Compilers copy structures word by word, including
    the padding between members.
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
        """Message of a finding about a use without a register name."""
        return f"{self.fault}: {self.what}"
