"""Check for unreachable code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction, Statement

# Opcodes after which control does not continue. Not brkpt: a debugger continues after it.
_ENDING = frozenset({"bra", "brx", "ret", "exit", "trap"})


def instruction(walk: Walk, node: Instruction) -> None:
    """Report the first unreachable instruction of a sequence; compilers emit several consecutive ones."""
    routine = walk.routine
    if routine is None:
        return
    if node.opcode[0] in _ENDING:
        if node.guard is None:
            routine.ended = True
    elif routine.ended:
        message = f"unreachable {'.'.join(node.opcode)}: the preceding instruction never continues"
        help = "remove the instruction, put a label before it, or guard the preceding instruction"
        walk.report(Finding("unreachable", message, help))
        routine.ended = False  # warn once for consecutive unreachable instructions, not for each one


def reached(walk: Walk, node: Statement) -> None:  # noqa: ARG001 - every check takes a statement
    """Mark the code after a label, a `.loc` or invalid text as reachable."""
    if walk.routine is not None:
        walk.routine.ended = False
