"""Refuse what no row of the instruction table has: a word that nobody reads would be a word that does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.check import TABLE_VERSION, judgement_on, verdict_by
from pyptx_sim.errors import UnknownForm

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands


def hold(operands: Operands) -> None:
    """Raise UnknownForm for an instruction that is a form of no row, whatever the target and the version.

    Numbers out of range are left to whoever reads them.
    """
    if operands.form() is not None:
        return
    node, program = operands.instruction, operands.program
    judgement = judgement_on(node, operands.scope.declared, program.target, TABLE_VERSION)
    verdict = verdict_by(judgement, node)
    message = f"no row of the instruction table has this form of {'.'.join(node.opcode)}"
    if verdict is None:
        raise UnknownForm(message, hint="run(…, any_form=True) runs it all the same")
    raise UnknownForm(verdict.message, hint=verdict.in_file or verdict.hint)
