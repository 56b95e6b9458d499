"""Static properties of racing instructions: stored constants, and loads whose value the same basic block uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.syntax.operands import Immediate
from pyptx_sim.extension.registry import meaning_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.instructions.compiling.operands import Operands

if TYPE_CHECKING:
    from pyptx_sim.duplicates.slices import Slice
    from pyptx_sim.program.program import Program

__all__ = ["stored_constants", "surely_used"]

# Opcodes of instructions whose result depends on each source, whatever the values of the other sources.
_CARRYING: Final = frozenset({"mov", "cvt", "add", "sub", "neg", "not", "xor"})


def stored_constants(program: Program, pc: int) -> tuple[str, ...] | None:
    """Return the type and the immediates that a store writes; None if it writes a register."""
    operands = Operands(program, program.sites[pc], checked=False)
    if operands.opcode[0] != "st":
        return None
    elements = operands.elements(operands.named("b"))
    texts = tuple(each.text for each in elements if isinstance(each, Immediate))
    return (operands.types("b")[0], *texts) if len(texts) == len(elements) else None


def surely_used(program: Program, slices: Slice, pc: int) -> bool:
    """Return whether every thread that executes a load also uses the loaded value in the same basic block.

    A use is an instruction with an effect, such as a store.
    """
    block = next(block for block in program.blocks if block.first <= pc < block.last)
    held, guard = set(slices.uses[pc].written), program.sites[pc].instruction.guard
    for site in program.sites[pc + 1 : block.last]:
        use = slices.uses[site.pc]
        guarded = site.instruction.guard is not None and site.instruction.guard != guard
        if not slices.uses[pc].guard.isdisjoint(use.written):
            return False
        if guarded or held.isdisjoint(use.read):
            held -= frozenset() if guarded else use.written
            continue
        meaning = meaning_of(site.instruction.opcode)
        if isinstance(meaning, InstructionSemantics) and meaning.effect != "none":
            return True
        held -= use.written
        if site.instruction.opcode[0] in _CARRYING:
            held |= use.written
    return False
