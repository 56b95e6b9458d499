"""Convert verdicts of the instruction table to findings in a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding

if TYPE_CHECKING:
    from pyptx_ir.isa.check import Verdict

_DOTTED = re.compile(r"\.(\w+(?:::\w+)*)")


def finding_of(verdict: Verdict, opcode: tuple[str, ...]) -> Finding:
    """Return a verdict as a finding, which underlines the faulty modifier if the message names one."""
    # Each verdict has a help text, except those on out-of-range constants.
    help = verdict.in_file or verdict.help or "use a constant that the instruction allows"
    word = "" if verdict.operand is not None else _modifier(verdict.message, opcode)
    return Finding(verdict.code, verdict.message, help, operand=verdict.operand, word=word)


def _modifier(message: str, opcode: tuple[str, ...]) -> str:
    """Return the modifier of the instruction that a message names on its own, with its dot."""
    rest = message.replace(".".join(opcode), "")
    return next((f".{word}" for word in _DOTTED.findall(rest) if word in opcode[1:]), "")
