"""Accesses to multimem addresses. Manual: "Multimem Addresses", "multimem.ld_reduce", "multimem.st", "multimem.red".

A multimem address stands for one place on each device of a team. Here there is one device, so it is an address like any
other: a reduction over all places is the value of the only one. What more devices would add is not simulated, nor is it
found when a program uses the address otherwise, for nothing tells which addresses these are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyptx_arch_hopper.sim.tma import bulk_copy
from pyptx_ir.syntax import evolve
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import Step
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.instructions.memory import atomics, transfers
from pyptx_sim.machine.memory.atomics import UPDATES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim.machine.scheduling.code import Action

# The instruction that does the same at one place.
_ALIKE: Final[dict[str, tuple[str, Callable[[Operands], Action]]]] = {
    "ld_reduce": ("ld", transfers.compile_load),
    "st": ("st", transfers.compile_store),
    "red": ("red", atomics.compile_atomic),
    "cp": ("cp", bulk_copy.compile_cp),
}


def compile_multimem(operands: Operands) -> Action:
    """Compile what the instruction does at its only place."""
    kind, *words = operands.opcode[1:]
    if words and words[0] == "async" and kind in {"st", "red"}:
        raise MissingSemantics(f"the simulator has no semantics for multimem.{kind}.async")
    name, compile_it = _ALIKE[kind]
    if kind == "ld_reduce":  # of one value, whatever the operation and its precision
        words = [word for word in words if word not in UPDATES and not word.startswith("acc::")]
    instruction = evolve(operands.instruction, opcode=(name, *words))
    site = replace(operands.site, instruction=instruction)
    return compile_it(Operands(operands.program, site, checked=operands.checked, exact=operands.exact))


STEPS: Final = (Step(opcode="multimem", effect="access", compile=compile_multimem),)
