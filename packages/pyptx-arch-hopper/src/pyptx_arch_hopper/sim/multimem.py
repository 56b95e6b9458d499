"""Accesses to multimem addresses. Manual: "Multimem Addresses", "multimem.ld_reduce", "multimem.st", "multimem.red".

A multimem address stands for one place on each device of a team. Here there is one device, so it is an address like any
other: a reduction over all places is the value of the only one. What more devices would add is not simulated, nor is it
found when a program uses the address otherwise, for nothing tells which addresses these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import Step

if TYPE_CHECKING:
    from pyptx_sim.extension import Action, Operands

# The instructions that do the same at one place; of one value, a reduction is the value itself.
_ALIKE: Final = {"ld_reduce": "ld", "st": "st", "red": "red", "cp": "cp.async.bulk"}


def compile_multimem(operands: Operands) -> Action:
    """Compile what the instruction does at its only place."""
    return operands.alike(_ALIKE[next(filter(operands.word, _ALIKE))])


STEPS: Final = (Step(opcode="multimem", effect="access", compile=compile_multimem),)
