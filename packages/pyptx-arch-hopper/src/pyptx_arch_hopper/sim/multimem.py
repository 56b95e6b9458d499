"""Accesses to multimem addresses. Manual: "Multimem Addresses", "multimem.ld_reduce", "multimem.st", "multimem.red".

A multimem address refers to one location on each device of a team. The simulator has one device, so a multimem address
is an ordinary address, and a reduction over all devices is the value on this device. Effects of further devices are not
simulated. Uses of a multimem address by other instructions are not reported, because multimem addresses are not marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import InstructionSemantics

if TYPE_CHECKING:
    from pyptx_sim.extension import Action, Operands

# Equivalent instructions on one device: a multimem address has one location, so ld_reduce is a load.
_ALIKE: Final = {"ld_reduce": "ld", "st": "st", "red": "red", "cp": "cp.async.bulk"}


def compile_multimem(operands: Operands) -> Action:
    """Compile `multimem` as `ld`, `st` or `red`: the simulator has one device, so one location per address."""
    return operands.alike(_ALIKE[next(filter(operands.word, _ALIKE))])


STEPS: Final = (InstructionSemantics(opcode="multimem", effect="access", compile=compile_multimem),)
