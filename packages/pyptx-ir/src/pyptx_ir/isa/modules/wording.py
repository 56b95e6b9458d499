"""Verdicts of the instruction table in the words of a file: the table's hints are written for Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding

if TYPE_CHECKING:
    from pyptx_ir.isa.check import Verdict

# What a hint says where a kernel is traced, and where a file is checked.
IN_FILES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"ask for version=\((\d+), (\d+)\) or later"), r"write .version \1.\2 or later"),
    (re.compile(r"choose arch='(\w+)'"), r"write .target \1"),
    (re.compile(r"did you mean (\w+)\? The kernel's arch is '\w+'"), r"did you mean .target \1?"),
    (
        re.compile(r"If ptxas knows it, write it with ptx\.raw, which is not checked"),
        "if ptxas knows it, it assembles all the same, unchecked; in a kernel, write it with ptx.raw",
    ),
)
_DOTTED = re.compile(r"\.(\w+(?:::\w+)*)")


def finding_of(verdict: Verdict, opcode: tuple[str, ...]) -> Finding:
    """Return a verdict as a finding, with the modifier at fault as its word where the message names one."""
    hint = verdict.hint or "write a constant within these limits"  # the one kind of verdict that comes without a hint
    for pattern, words in IN_FILES:
        hint = pattern.sub(words, hint)
    word = "" if verdict.operand is not None else _modifier(verdict.message, opcode)
    return Finding(verdict.code, verdict.message, hint, operand=verdict.operand, word=word)


def _modifier(message: str, opcode: tuple[str, ...]) -> str:
    """Return the modifier of the instruction that a message names by itself, with its dot."""
    rest = message.replace(".".join(opcode), "")
    return next((f".{word}" for word in _DOTTED.findall(rest) if word in opcode[1:]), "")
