"""Registers that a program may read before it has written them: registers live at the start of its functions.

Manual: "State Spaces", ".reg"; it does not specify the contents of a register before the first write.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import Address, Register, TensorAddress, Unified
from pyptx_sim.program.flow import successors
from pyptx_sim.program.scopes import ParameterBinding, RegisterBinding, UnsizedParameter, VectorBinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.program.program import FunctionLayout, Program, Site
    from pyptx_sim.program.scopes import Scope


@lru_cache(maxsize=32)
def unassigned_registers(program: Program) -> Mapping[int, RegisterBinding]:
    """Return, by register slot, the registers of all functions that some path reads before writing them.

    A guarded instruction does not count as a write. In a callee, the parameters count as written.
    """
    found: dict[int, RegisterBinding] = {}
    for layout in program.functions.values():
        if layout.body:
            found.update(_living(program, layout))
    return found


def _living(program: Program, layout: FunctionLayout) -> dict[int, RegisterBinding]:
    """Return, by register slot, the registers live at the start of a function. Sets of slots are bits of integers."""
    first = program.block_of[layout.body.start]
    last = program.block_of.get(layout.body.stop, len(program.blocks))
    names: dict[int, RegisterBinding] = {}
    uses = {index: _use_of_block(program, index, names) for index in range(first, last)}
    following = {index: successors(program, program.blocks[index]) & uses.keys() for index in uses}
    living = dict.fromkeys(uses, 0)
    pending = set(uses)
    before: dict[int, set[int]] = {index: set() for index in uses}
    for index, behind in following.items():
        for each in behind:
            before[each].add(index)
    while pending:
        index = max(pending)  # last instruction first: liveness propagates backwards
        pending.remove(index)
        reads, writes = uses[index]
        lives = 0
        for each in following[index]:
            lives |= living[each]
        lives = reads | lives & ~writes
        if lives != living[index]:
            living[index] = lives
            pending |= before[index]
    passed = {each.slot for parameter in layout.parameters for each in _registers_of(parameter)}
    return {slot: each for slot, each in names.items() if living[first] >> slot & 1 and slot not in passed}


def _use_of_block(program: Program, index: int, names: dict[int, RegisterBinding]) -> tuple[int, int]:
    """Return, as bits, the register slots that a basic block reads before writing, and the slots it always writes."""
    block = program.blocks[index]
    reads = writes = 0
    for site in program.sites[block.first : block.last]:
        read, written = used_registers(program, site)
        for each in read:
            names[each.slot] = each
            if not writes >> each.slot & 1:
                reads |= 1 << each.slot
        if site.instruction.guard is None:
            for each in written:
                writes |= 1 << each.slot
    return reads, writes


def used_registers(program: Program, site: Site) -> tuple[list[RegisterBinding], list[RegisterBinding]]:
    """Return the registers that an instruction reads, including its guard, and the registers that it fully writes."""
    form, scope = program.forms[site.pc], site.scope
    read: list[RegisterBinding] = []
    written: list[RegisterBinding] = []
    guard = site.instruction.guard
    if guard is not None:
        read += _registers(scope, Register(guard.register))
    if form is None:
        return read, written
    for name, operand in form.operands.items():
        found = list(_registers(scope, operand))
        writes = name in form.written and not _is_address(operand, scope)
        if writes:
            written += found
        if not writes or form.places[name].read:
            read += found
    return read, written


def _is_address(operand: Operand, scope: Scope) -> bool:
    """Return whether an operand is a memory address; a `.param` variable kept in a register is not."""
    if isinstance(operand, Address) and isinstance(scope.find(_base(operand)), ParameterBinding):
        return False
    return isinstance(operand, Address | TensorAddress | Unified)


def _base(operand: Address) -> str:
    return next(iter(names_of(operand.base)), "")


def _registers(scope: Scope, operand: Operand) -> Iterator[RegisterBinding]:
    for name in names_of(operand):
        yield from _registers_of(scope.find(name))


def _registers_of(binding: object) -> Iterator[RegisterBinding]:
    match binding:
        case RegisterBinding():
            yield binding
        case VectorBinding(components):
            yield from components
        case ParameterBinding(register) | UnsizedParameter(register):
            yield register
        case _:
            pass
