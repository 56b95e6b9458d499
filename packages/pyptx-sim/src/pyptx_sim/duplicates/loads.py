"""Proof that no lane uses the value of a racing load: a rerun makes the value undefined and finds no use of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import Register
from pyptx_sim.duplicates.selections import branching, meeting, meeting_end, selections
from pyptx_sim.events import MASK, PC, WARP
from pyptx_sim.extension.registry import meaning_of
from pyptx_sim.extension.step import InstructionSemantics
from pyptx_sim.findings import FindingLog
from pyptx_sim.happens_before.lane_masks import booleans_of
from pyptx_sim.instructions.compiling.carrying import Carried
from pyptx_sim.instructions.compiling.operands import Operands
from pyptx_sim.machine.undefined import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Unpack

    from numpy.typing import NDArray

    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.duplicates.selections import Selection
    from pyptx_sim.duplicates.slices import Slice
    from pyptx_sim.extension.rule import FindingDetails
    from pyptx_sim.instructions.compiling.registers import Reader
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action, Block, Code, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.program.program import Program
    from pyptx_sim.rules.reports import Race

__all__ = ["Following", "RacingLoads", "Uses"]

_RULES: Final = frozenset({"uninitialized-register", "uninitialized-memory"})


@dataclass(slots=True)
class RacingLoads:
    """Lanes that execute racing loads: a lane mask by (pc, warp number); a warp number is unique in the launch."""

    pcs: frozenset[int]
    lanes: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def race(self, race: Race) -> None:
        """Record the racing lanes of a race's loads, for loads at `pcs`."""
        step, last, own = race.step, race.last, race.step.entries[race.bad]
        if step.pc in self.pcs and step.kind in {"read", "strong-read"}:
            self._add(step.pc, own[:, WARP], own[:, MASK])
        # A last-access record may cover reads of several lanes; a lane does not race with itself.
        others = np.where(last[:, WARP] == own[:, WARP], last[:, MASK] & ~own[:, MASK], last[:, MASK])
        for pc in self.pcs.intersection(np.unique(last[:, PC]).tolist()):
            here = last[:, PC] == pc
            self._add(pc, last[here, WARP], others[here])

    def _add(self, pc: int, warps: NDArray[np.int32], masks: NDArray[np.int32]) -> None:
        for warp, mask in set(zip(warps.tolist(), masks.tolist(), strict=True)):
            self.lanes[pc, warp] = self.lanes.get((pc, warp), 0) | mask & 0xFFFFFFFF

    def of_wave(self, pc: int, first_warp: int, height: int) -> NDArray[np.bool_]:
        """Return which lanes of `height` warps from `first_warp` on execute a racing load at `pc`, `[warps, 32]`."""
        masks = [self.lanes.get((pc, first_warp + warp), 0) for warp in range(height)]
        return booleans_of(np.array(masks, np.int64))


class Uses(FindingLog):
    """A finding log that only records whether an undefined value was used."""

    used: bool

    @classmethod
    def like(cls, log: FindingLog) -> Uses:
        """Return an empty finding log with the source locations, source lines and rules of `log`."""
        made = cls(log.place_of, log.opcode_of, log.origin_of, log.rules)
        made.used = False
        return made

    def report(
        self, rule: str, message: str, pc: int, *, other_pc: int | None = None, **details: Unpack[FindingDetails]
    ) -> None:
        """Set `used` if the finding is the use of an undefined value."""
        del message, pc, other_pc
        cause = details.get("cause")
        self.used = self.used or rule in _RULES or (isinstance(cause, tuple) and rule in cause)


@dataclass(frozen=True, slots=True)
class Following:
    """Instrumentation: racing loads at `pcs` return undefined bits.

    `first_warp` returns the number, unique in the launch, of the first of the warps that run now.
    """

    program: Program
    slices: Slice
    loads: RacingLoads
    first_warp: Callable[[], int]
    pcs: frozenset[int]

    def code(self, code: Code) -> Code:
        """Return compiled code in which racing loads return undefined bits, and uses of these bits are reported."""
        found = selections(self.program, self.slices.branches)
        of_branch = {each.pc: each for each in found}
        return tuple(
            self._block(block, of_branch, [each for each in found if each.join == block.index]) for block in code
        )

    def _block(self, block: Block, of_branch: Mapping[int, Selection], met: Sequence[Selection]) -> Block:
        steps = [(pc, self._step(pc, action)) for pc, action in block.steps]
        end = block.terminator
        if end is not None and block.end in of_branch:
            end = branching(self._operands(block.end), block.index + 1, of_branch[block.end])
        elif end is not None:
            end = _needing_end(end, _Needs.of(self._operands(block.end)))
        if met and steps:
            steps[0] = steps[0][0], meeting(steps[0][1], met)
        elif met and end is not None:
            end = meeting_end(end, met)
        return replace(block, steps=tuple(steps), terminator=end)

    def _step(self, pc: int, action: Action) -> Action:
        operands = self._operands(pc)
        step = meaning_of(operands.opcode)
        if pc in self.pcs:
            action = _leaving(operands, action, self.loads, self.first_warp)
        if isinstance(step, InstructionSemantics) and step.effect != "none":
            action = _needing(action, _Needs.of(operands))
        return action

    def _operands(self, pc: int) -> Operands:
        return Operands(self.program, self.program.sites[pc], checked=True)


def _leaving(operands: Operands, action: Action, loads: RacingLoads, first_warp: Callable[[], int]) -> Action:
    """Return a function that executes a load and makes its results undefined in the racing lanes."""
    pairs = zip(operands.elements(operands.named("d")), operands.types("d"), strict=True)
    registers = [each for each in (operands.carried(*pair) for pair in pairs) if each is not None]
    origin = Origin("uninitialized-register", "value of a racing load", operands.pc, "")
    guard = operands.unchecked().guard()
    known: dict[int, NDArray[np.bool_]] = {}

    def step(wave: Wave, lanes: Lanes) -> None:
        first = first_warp()
        if first not in known:
            known.clear()
            known[first] = loads.of_wave(operands.pc, first, wave.height)
        some = lanes if guard is None else lanes.narrowed(guard(wave, lanes))
        action(wave, lanes)
        if some is None:
            return
        raced = some.select(known[first])
        for each in registers:
            each.spoil(wave, some, raced & some.full_mask, origin)

    return step


@dataclass(frozen=True, slots=True)
class _Needs:
    """Registers that an instruction with an effect reads: its guard, and its sources in lanes whose guard is true."""

    guard: Carried | None
    holds: Reader | None
    registers: tuple[Carried, ...]

    @classmethod
    def of(cls, operands: Operands) -> _Needs:
        """Return the guard, source and address registers of an instruction."""
        form, guard = operands.program.forms[operands.pc], operands.instruction.guard
        places: Iterable[Operand] = operands.operands
        if form is not None:
            places = [each for name, each in form.operands.items() if name == "a" or form.places[name].read]
        registers = (operands.register(Register(name)) for each in places for name in names_of(each))
        carried = tuple(Carried(each, each.type, operands.pc) for each in registers if each is not None)
        if guard is None:
            return cls(None, None, carried)
        return cls(operands.carried(Register(guard.register), "pred"), operands.unchecked().guard(), carried)

    def check(self, wave: Wave, lanes: Lanes) -> None:
        """Report the use of undefined registers in the active lanes."""
        if not wave.undefined:
            return
        if self.guard is not None:
            self.guard.used(wave, lanes)
        some = lanes if self.holds is None else lanes.narrowed(self.holds(wave, lanes))
        if some is None:
            return
        for each in self.registers:
            if each.register.slot in wave.undefined:
                each.used(wave, some)


def _needing(action: Action, needs: _Needs) -> Action:
    def step(wave: Wave, lanes: Lanes) -> None:
        needs.check(wave, lanes)
        action(wave, lanes)

    return step


def _needing_end(terminator: Terminator, needs: _Needs) -> Terminator:
    def end(wave: Wave, group: Group) -> int | None:
        needs.check(wave, group.lanes)
        return terminator(wave, group)

    return end
