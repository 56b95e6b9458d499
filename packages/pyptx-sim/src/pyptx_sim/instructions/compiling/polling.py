"""Detection of polling loops, in which each iteration repeats the previous one until memory changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import Address, Register, TensorAddress, Unified
from pyptx_sim.extension.registry import meaning_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.machine.scheduling.code import PollingLoop
from pyptx_sim.machine.specials import changes, is_special, is_special_vector
from pyptx_sim.program.flow import is_gate, successors
from pyptx_sim.program.loops import innermost_loops
from pyptx_sim.program.scopes import ParameterBinding, RegisterBinding, UnsizedParameter, VectorBinding
from pyptx_sim.semantics.meaning import operation_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.program.program import Program

_UNCHANGING: Final = frozenset({"param", "const"})
# Opcodes whose execution only repeats the same effect while registers and memory are unchanged.
_REPEATED: Final = frozenset(
    {"ld", "ldu", "atom", "red", "fence", "membar", "fence.proxy", "membar.proxy", "bar.warp", "bra", "brx"}
)
# Opcodes that write to memory, but in a polling loop detect whether the write changed memory (`Operands.polls`).
_UPDATES: Final = frozenset({"atom", "red"})

_Edges: TypeAlias = dict[int, frozenset[int]]
_Registers: TypeAlias = dict[int, RegisterBinding]


@dataclass(frozen=True, slots=True)
class _Use:
    """Registers (by slot) that an instruction reads and writes; `surely`: it always writes all of `writes`."""

    reads: _Registers
    writes: _Registers
    surely: bool


def polling_loops(program: Program) -> dict[int, PollingLoop]:
    """Return, by index of the basic block, the polling loop that contains the block.

    A polling loop reads memory and, except for atomics, writes only registers. A loop in which every iteration writes a
    register that the next iteration reads (for example a counter) is not a polling loop.
    """
    found: dict[int, PollingLoop] = {}
    for layout in program.functions.values():
        if not layout.body:
            continue
        first = program.block_of[layout.body.start]
        indices = range(first, program.block_of.get(layout.body.stop, len(program.blocks)))
        edges = {index: successors(program, program.blocks[index]) for index in indices}
        for blocks in innermost_loops(edges, first):
            loop = _polling_loop(program, edges, blocks)
            if loop is not None:
                found.update(dict.fromkeys(blocks, loop))
    return found


def _polling_loop(program: Program, successors: _Edges, blocks: tuple[int, ...]) -> PollingLoop | None:
    """Return the natural loop that consists of `blocks`, in flow order, if it is a polling loop; else None."""
    ranges = [program.blocks[index] for index in blocks]
    sites = [site for block in ranges for site in program.sites[block.first : block.last]]
    instructions = [Operands(program, site, checked=False) for site in sites]
    if not any(map(_reads_memory, instructions)):
        return None
    uses: dict[int, _Use] = {}
    for each in instructions:
        use = _use(each)
        if use is None:
            return None
        uses[each.pc] = use
    carried = _carried(program, successors, blocks, uses)
    if carried is None:
        return None
    return PollingLoop(blocks[0], carried, together=any(is_gate(each.opcode) for each in instructions))


def _reads_memory(operands: Operands) -> bool:
    return operands.space not in _UNCHANGING and any(map(_is_place, operands.operands))


def _is_place(operand: Operand) -> bool:
    return isinstance(operand, Address | TensorAddress | Unified)


# --- registers ----------------------------------------------------------------------------------


def _carried(
    program: Program, successors: _Edges, blocks: tuple[int, ...], uses: dict[int, _Use]
) -> tuple[RegisterBinding, ...] | None:
    """Return the registers that carry values between iterations; None if every iteration writes one of them."""
    entry = blocks[0]
    carried: _Registers = {}
    written: dict[int, frozenset[int]] = {}  # registers written on every path to a block's end
    for index in blocks:
        before = [written[each] for each in blocks if each in written and index in successors[each]]
        known = frozenset[int]() if index == entry else frozenset.intersection(*before)
        for pc in range(program.blocks[index].first, program.blocks[index].last):
            use = uses[pc]
            carried.update((slot, each) for slot, each in use.reads.items() if slot not in known)
            known = known.union(use.writes) if use.surely else known
        written[index] = known
    changed = {slot for use in uses.values() for slot in use.writes}
    always = frozenset.intersection(*(written[index] for index in blocks if entry in successors[index]))
    carried = {slot: each for slot, each in carried.items() if slot in changed}
    return None if always.intersection(carried) else tuple(carried.values())


def _use(operands: Operands) -> _Use | None:
    """Return the registers that an instruction reads and writes; None if it cannot be part of a polling loop."""
    form = operands.form()
    if not _repeats(operands):
        return None
    updates = operands.opcode[0] in _UPDATES
    places = {name for name, operand in form.operands.items() if _is_place(operand)}
    if places & form.written and not updates:
        return None
    written = form.written - places
    accumulates = "x" in form.row.access and not updates
    read = [operand for name, operand in form.operands.items() if accumulates or name not in written]
    guard = operands.instruction.guard
    reads = _registers(operands, [*read, *([] if guard is None else [Register(guard.register)])])
    writes = _registers(operands, [form.operands[name] for name in written])
    if reads is None or writes is None:
        return None
    keeps = operands.opcode[0] == "selp" and not writes.keys().isdisjoint(reads)
    return _Use(reads, writes, surely=guard is None and not keeps)


def _repeats(operands: Operands) -> bool:
    """Return whether executing an instruction again has the same effect until its registers or memory change."""
    meaning = meaning_of(operands.opcode)
    if meaning is None or isinstance(meaning, InstructionSemantics):
        return meaning is not None and (meaning.effect == "none" or meaning.opcode in _REPEATED)
    operation = operands.located(lambda: operation_of(meaning, operands.form()))
    if operation.reads_carry or operation.writes_carry:
        return False
    # If lanes of a warp do not wait for each other, the result of a warp operation depends on which lanes are active.
    return not operation.warp or is_gate(operands.opcode)


def _registers(operands: Operands, nodes: Iterable[Operand]) -> _Registers | None:
    """Return the registers in operands, by slot; None if any is unknown, or a special register that changes."""
    found: _Registers = {}
    for name in (name for node in nodes for name in names_of(node)):
        binding = operands.scope.find(name)
        match binding:
            case RegisterBinding():
                found[binding.slot] = binding
            case VectorBinding(components):
                found.update((each.slot, each) for each in components)
            case ParameterBinding(register) | UnsizedParameter(register):
                found[register.slot] = register
            case None if changes(name) or not (is_special(name) or is_special_vector(name)):
                return None
            case _:
                pass
    return found
