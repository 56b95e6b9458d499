"""Which function compiles which instruction."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from pyptx_ir.isa.form_diagnostics import unknown_hint
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_sim.errors import MissingSemantics, ProgramError
from pyptx_sim.instructions import (
    addresses,
    async_stores,
    atomics,
    barriers,
    branches,
    bulk_copy,
    calls,
    matrices,
    matrix_storage,
    mbarriers,
    moves,
    multimem,
    regions,
    register_deals,
    stack,
    tensor_map,
    transfers,
    warpgroups,
)
from pyptx_sim.instructions.batches import compile_batches
from pyptx_sim.instructions.compute import compile_operation
from pyptx_sim.instructions.held import hold
from pyptx_sim.instructions.operands import Operands
from pyptx_sim.machine.code import Block, Code, Step, Terminator
from pyptx_sim.operation import Operation
from pyptx_sim.products import WarpgroupAction
from pyptx_sim.program.flow import is_gate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.plugins.rows import Semantics
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import BlockRange, Program, Site

_T = TypeVar("_T")
_CompileStep: TypeAlias = Callable[[Operands], Step]
_CompileEnd: TypeAlias = Callable[[Operands, int], Terminator]
_Meaning: TypeAlias = _CompileStep | Operation | WarpgroupAction

STEPS: Final[dict[str, _CompileStep]] = {
    "ld": transfers.compile_load,
    "ldu": transfers.compile_load,
    "st": transfers.compile_store,
    "mov": moves.compile_move,
    "ldmatrix": matrices.compile_ldmatrix,
    "stmatrix": matrices.compile_stmatrix,
    "wmma": matrix_storage.compile_storage,
    "cvta": addresses.compile_cvta,
    "isspacep": addresses.compile_isspacep,
    "mapa": addresses.compile_mapa,
    "getctarank": addresses.compile_getctarank,
    "atom": atomics.compile_atomic,
    "red": atomics.compile_atomic,
    "membar": barriers.compile_fence,
    "fence": barriers.compile_fence,
    "bar": barriers.compile_warp_sync,
    "alloca": stack.compile_stack,
    "stacksave": stack.compile_stack,
    "stackrestore": stack.compile_stack,
    "prefetch": transfers.compile_hint,
    "prefetchu": transfers.compile_hint,
    "applypriority": regions.compile_priority,
    "discard": regions.compile_discard,
    "nanosleep": transfers.compile_hint,
    "brkpt": transfers.compile_hint,
    "pmevent": transfers.compile_hint,
    "griddepcontrol": transfers.compile_hint,
    "createpolicy": transfers.compile_policy,
    "mbarrier": mbarriers.compile_mbarrier,
    "cp": bulk_copy.compile_cp,
    "multimem": multimem.compile_multimem,
    "tensormap": tensor_map.compile_tensor_map,
}
ENDS: Final[dict[str, _CompileEnd]] = {
    "bra": branches.compile_bra,
    "brx": branches.compile_brx,
    "exit": branches.compile_exit,
    "trap": branches.compile_trap,
    "ret": calls.compile_ret,
    "call": calls.compile_call,
    "bar": barriers.compile_barrier,
    "barrier": barriers.compile_barrier,
    "mbarrier": mbarriers.compile_wait,
    "setmaxnreg": register_deals.compile_deal,
}
# Engine opcodes of which another chapter owns some forms.
_OTHERS: Final[dict[tuple[str, ...], _CompileStep | None]] = {
    ("red", "async"): async_stores.compile_async_store,
    ("st", "async"): async_stores.compile_async_store,
    ("st", "bulk"): regions.compile_fill,
    ("applypriority", "async"): transfers.compile_hint,
    ("wmma", "mma"): None,
}


@until_plugins_change(maxsize=1)
def _semantics() -> Mapping[tuple[str, ...], Semantics]:
    from pyptx_ir.plugins.manager import manager

    return {tuple(row.opcode.split(".")): row for row in manager().semantics()}


def find_semantics(opcode: tuple[str, ...]) -> Semantics | None:
    """Return the row whose opcode is the longest prefix of `opcode`."""
    table = _semantics()
    for length in range(len(opcode), 0, -1):
        row = table.get(opcode[:length])
        if row is not None:
            return row
    return None


@lru_cache(maxsize=128)
def compile_program(program: Program, *, checked: bool, exact: bool = False, any_form: bool = False) -> Code:
    """Compile a program to blocks of closures; cached for the program. `exact`, `any_form`: see `pyptx_sim.run`.

    Raises UnknownForm, MissingSemantics or ProgramError, located at the instruction at fault.
    """
    if not any_form:
        for site in program.sites:
            operands = Operands(program, site, checked=checked)
            _located(operands, partial(hold, operands))
    return tuple(_block(program, block, checked=checked, exact=exact) for block in program.blocks)


def _block(program: Program, block: BlockRange, *, checked: bool, exact: bool) -> Block:
    last = block.last - block.ends
    sites = program.sites[block.first : last]
    given = [Operands(program, site, checked=checked, exact=exact) for site in sites]
    meanings = [_located(operands, partial(_meaning, operands)) for operands in given]
    together = compile_batches(list(zip(given, meanings, strict=True)))
    steps = tuple(
        (operands.pc, _step(operands, meaning, together.get(operands.pc)))
        for operands, meaning in zip(given, meanings, strict=True)
    )
    gate = _gate(program, program.sites[block.first]) if block.gate else None
    end = None
    if block.ends:
        operands = Operands(program, program.sites[last], checked=checked)
        end = _located(operands, lambda: ENDS[operands.opcode[0]](operands, block.index + 1))
    return Block(block.index, block.first, steps, block.last - 1, end, gate, block.meets)


def _gate(program: Program, site: Site) -> barriers.MaskGate:
    return barriers.compile_gate(Operands(program, site, checked=False))


def _step(operands: Operands, meaning: _Meaning, together: Step | None) -> Step:
    """Return the step of an instruction, around `together` where it is computed together with others."""
    step = _located(operands, lambda: _unguarded(operands, meaning, together))
    if "aligned" in operands.opcode:
        step = matrices.checking(operands, step)
    if is_gate(operands.opcode):
        step = barriers.synchronising(_gate(operands.program, operands.site), step)
    guard = operands.guard()
    if guard is None:
        return step

    def guarded(wave: Wave, lanes: Lanes) -> None:
        some = lanes.narrowed(guard(wave, lanes))
        if some is not None:
            step(wave, some)

    return guarded


def _meaning(operands: Operands) -> _Meaning:
    """Return what compiles an instruction of the engine's own, or what the semantics bind to any other."""
    opcode = operands.opcode
    own = _OTHERS[opcode[:2]] if opcode[:2] in _OTHERS else STEPS.get(opcode[0])
    if own is not None:
        return own
    row = find_semantics(opcode)
    if row is None:
        raise MissingSemantics(
            f"the simulator has no semantics for {'.'.join(opcode)}",
            hint=unknown_hint(opcode) or "a plugin may provide them through pyptx_semantics",
        )
    meaning = row.bind(operands.instruction)
    if not isinstance(meaning, WarpgroupAction | Operation):
        raise ProgramError(f"the semantics of {row.opcode} bind to {type(meaning).__name__}, not to an Operation")
    return meaning


def _unguarded(operands: Operands, meaning: _Meaning, together: Step | None) -> Step:
    watched = warpgroups.watched_registers(operands.program)
    if isinstance(meaning, WarpgroupAction):
        return warpgroups.compile_action(operands, meaning, watched)
    if together is None:
        together = compile_operation(operands, meaning) if isinstance(meaning, Operation) else meaning(operands)
    return _touching(operands, together, watched)


def _touching(operands: Operands, step: Step, watched: Mapping[int, str]) -> Step:
    """Return a step that in a checked run also judges its accesses to registers that products use."""
    return warpgroups.touching(operands, step, watched) if watched and operands.checked else step


def _located(operands: Operands, compile_it: Callable[[], _T]) -> _T:
    try:
        return compile_it()
    except ProgramError as error:
        error.locate(operands.program.where(operands.pc), operands.program.line(operands.pc))
        raise
