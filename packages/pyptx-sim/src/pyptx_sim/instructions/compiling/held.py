"""Reject instructions that no row of the instruction table matches: the simulator would ignore their modifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.check import TABLE_VERSION, judgement_on, verdict_by
from pyptx_sim.errors import UnknownForm

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands


def hold(operands: Operands) -> None:
    """Raise UnknownForm for an instruction that matches no row of the instruction table, for any target and version.

    Immediates out of range are reported when they are read.
    """
    node, program = operands.instruction, operands.program
    if program.forms[operands.pc] is not None:
        return
    judgement = judgement_on(node, operands.scope.declared, program.target, TABLE_VERSION)
    verdict = verdict_by(judgement, node)
    if verdict is None:
        message = f"unknown form of {'.'.join(node.opcode)}"
        help = "use run(…, closest_form=True) to take the closest known form; plugins add forms with pyptx_instructions"
        raise UnknownForm(message, help=help)
    raise UnknownForm(verdict.message, help=verdict.in_file or verdict.help)
