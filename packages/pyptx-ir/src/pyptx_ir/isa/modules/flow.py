"""Code that nothing reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction, Statement

# Behind them, control is elsewhere. Not brkpt: a debugger continues behind it.
_ENDING = frozenset({"bra", "brx", "ret", "exit", "trap"})


def instruction(walk: Walk, node: Instruction) -> None:
    """Note the first instruction behind one that never continues; compilers write several of these in a row."""
    routine = walk.routine
    if routine is None:
        return
    if node.opcode[0] in _ENDING:
        if node.guard is None:
            routine.ended = True
    elif routine.ended:
        message = f"{'.'.join(node.opcode)} is never reached: the instruction before it does not continue"
        hint = "remove it, put a label in front of it, or guard the instruction before it"
        walk.report(Finding("unreachable", message, hint))
        routine.ended = False  # one warning for the whole stretch


def reached(walk: Walk, node: Statement) -> None:  # noqa: ARG001 - every check takes its statement
    """Forget what was before a label, or a line mark of a debugger."""
    if walk.routine is not None:
        walk.routine.ended = False
