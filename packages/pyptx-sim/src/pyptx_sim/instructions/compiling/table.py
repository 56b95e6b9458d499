"""Compilation of a program to basic blocks of closures, one per instruction, from the instructions' semantics."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from pyptx_ir.isa.form_diagnostics import unknown_hint
from pyptx_ir.syntax.operands import Register
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension.registry import meaning_of, step_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.instructions.compiling.async_registers import touching
from pyptx_sim.instructions.compiling.batches import compile_batches
from pyptx_sim.instructions.compiling.carrying import guarding
from pyptx_sim.instructions.compiling.collectives import collective, collective_end
from pyptx_sim.instructions.compiling.compute import compile_operation
from pyptx_sim.instructions.compiling.held import hold
from pyptx_sim.instructions.compiling.kept_programs import KeptPrograms
from pyptx_sim.instructions.compiling.late_loads import with_late_loads
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.instructions.compiling.polling import polling_loops
from pyptx_sim.instructions.compiling.preemption import in_parts
from pyptx_sim.instructions.memory import matrices
from pyptx_sim.instructions.synchronization import barriers
from pyptx_sim.machine.scheduling.code import Action, Block, Code, Terminator
from pyptx_sim.operation import Operation
from pyptx_sim.program.flow import meets
from pyptx_sim.semantics.meaning import operation_of

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import PollingLoop
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import BlockRange, Program, Site

Schedule: TypeAlias = Literal["fixed", "random", "weak"]

_T = TypeVar("_T")
_Meaning: TypeAlias = InstructionSemantics | Operation


@KeptPrograms
def compile_program(program: Program, *, checked: bool, exact: bool = False, schedule: Schedule = "fixed") -> Code:
    """Compile a program to basic blocks of closures; the result is cached. `exact`: see `pyptx_sim.run`.

    In a `random` schedule, other warps may run between any two instructions with effects visible to other threads. In a
    `weak` schedule, other lanes of the warp may run as well, and loads may be delayed. Race-free programs observe this
    only through strong accesses.

    Raises UnknownForm, MissingSemantics or ProgramError, located at the instruction at fault.
    """
    if schedule != "fixed":
        return scheduled(program, compile_program(program, checked=checked, exact=exact), schedule)
    for site in program.sites:
        operands = Operands(program, site, checked=checked)
        operands.located(partial(hold, operands))
    loops = polling_loops(program)
    return tuple(
        _block(program, block, loops.get(block.index), checked=checked, exact=exact) for block in program.blocks
    )


def scheduled(program: Program, code: Code, schedule: Schedule) -> Code:
    """Return `code`, a program compiled for the `fixed` schedule, adapted to `schedule`."""
    if schedule == "fixed":
        return code
    if schedule == "random":
        return in_parts(program, code)
    return in_parts(program, with_late_loads(program, code), lanes_apart=True)


def _block(program: Program, block: BlockRange, polls: PollingLoop | None, *, checked: bool, exact: bool) -> Block:
    last, following = block.last - block.ends, block.index + 1
    sites = program.sites[block.first : last]
    given = [Operands(program, site, checked=checked, exact=exact, polls=polls is not None) for site in sites]
    meanings = [operands.located(partial(_meaning, operands)) for operands in given]
    together = compile_batches(list(zip(given, meanings, strict=True)))
    steps = tuple(
        (operands.pc, _step(operands, meaning, together.get(operands.pc)))
        for operands, meaning in zip(given, meanings, strict=True)
    )
    gate = _gate(program, program.sites[block.first]) if block.gate else None
    end = None
    if block.ends:
        operands = Operands(program, program.sites[last], checked=checked)
        end = operands.located(lambda: _end(operands, following))
    return Block(block.index, block.first, steps, block.last - 1, end, gate, following, block.converges, polls)


def _gate(program: Program, site: Site) -> barriers.MaskGate:
    return barriers.compile_gate(Operands(program, site, checked=False))


def _step(operands: Operands, meaning: _Meaning, together: Action | None) -> Action:
    """Compile an instruction, with its checks and guard; `together`: its compiled computation, if it is in a batch."""
    step = operands.located(lambda: _unguarded(operands, meaning, together))
    if operands.word("aligned"):
        step = matrices.checking_metadata(operands, step)
    step = collective(operands, step)
    if meets(operands.opcode):
        step = barriers.ordering(_gate(operands.program, operands.site), step)
    without_effect = not isinstance(meaning, InstructionSemantics) or meaning.effect == "none"
    guard = (operands.unchecked() if without_effect else operands).guard()
    if guard is None:
        return step

    def guarded(wave: Wave, lanes: Lanes) -> None:
        some = lanes.narrowed(guard(wave, lanes))
        if some is not None:
            step(wave, some)

    return _guarding(operands, guarded) if operands.checked and without_effect else guarded


def _guarding(operands: Operands, guarded: Action) -> Action:
    """Wrap a predicated instruction that only writes registers: an undefined predicate makes them undefined."""
    guard = operands.instruction.guard
    assert guard is not None  # noqa: S101 - the step's
    carried = operands.carried(Register(guard.register), "pred")
    return guarded if carried is None else guarding(guarded, carried, operands.results())


def _meaning(operands: Operands) -> _Meaning:
    """Return the `InstructionSemantics` of an instruction, or the `Operation` that its `Semantics` row defines."""
    found = meaning_of(operands.opcode)
    if found is None:
        raise _missing(operands.opcode)
    if isinstance(found, InstructionSemantics):
        return found
    return operation_of(found, operands.form())


def _unguarded(operands: Operands, meaning: _Meaning, together: Action | None) -> Action:
    if isinstance(meaning, Operation):
        return _touching(operands, together or compile_operation(operands, meaning))
    action = _required(meaning.compile, operands)(operands)
    return action if meaning.async_registers is not None else _touching(operands, action)


def _end(operands: Operands, following: int) -> Terminator:
    step = step_of(operands.opcode)
    end = _required(step.end if step is not None else None, operands)(operands, following)
    return collective_end(operands, end)


def _required(compiles: _T | None, operands: Operands) -> _T:
    if compiles is None:
        raise _missing(operands.opcode)
    return compiles


def _missing(opcode: tuple[str, ...]) -> MissingSemantics:
    return MissingSemantics(
        f"no simulator semantics for {'.'.join(opcode)}",
        help=unknown_hint(opcode) or "plugins provide semantics with pyptx_semantics",
    )


def _touching(operands: Operands, action: Action) -> Action:
    """Wrap a compiled instruction: first check and complete outstanding asynchronous operations on its registers."""
    return touching(operands, action)
