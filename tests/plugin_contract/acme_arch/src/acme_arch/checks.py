"""Rules of `pyptx check` for acme_1: an entry that allocates lines of the vault must free lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.check_rows import CheckCode, CheckRule
from pyptx_ir.isa.modules.findings import Finding

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction

_TAKEN, _GIVEN = "acme.alloc", "acme.free"


def _note(walk: Walk, node: Instruction) -> None:
    """Record a function's first instruction that allocates a line of the vault, and its first that frees one."""
    if walk.routine is not None:
        walk.routine.notes.setdefault(".".join(node.opcode[:2]), walk.at)


def _leaks(walk: Walk) -> None:
    """Warn about every entry that allocates lines of the vault, directly or in called functions, and frees none."""
    for entry in walk.entries():
        reached = walk.called_by(entry)
        taken = [routine.notes[_TAKEN] for routine in reached if _TAKEN in routine.notes]
        if taken and not any(_GIVEN in routine.notes for routine in reached):
            message = f"'{entry.node.name}' allocates a line of the vault and frees none"
            walk.report(Finding("vault-leak", message, "acme.free.b32 it before the CTA exits", at=min(taken)))


CODES = (CheckCode("vault-leak", "warning", "a line of the vault that an entry allocates and does not free"),)
RULES = (
    CheckRule("acme.note", frozenset(), _note, opcodes=("acme",)),
    CheckRule("acme.leaks", frozenset({"vault-leak"}), _leaks),
)
