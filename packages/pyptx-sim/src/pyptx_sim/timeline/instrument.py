"""Instrumentation of a simulated machine: it notifies a timeline recorder. Other machines are unaffected.

The code of a program is rewritten: the first and the last action of each basic block are wrapped. Instructions are
neither added nor counted twice, so a run has the schedule and the results of a run without a recorder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_sim.findings import FindingLog
from pyptx_sim.machine.asynchrony.engine import Engine

if TYPE_CHECKING:
    import numpy as np

    from pyptx_sim.extension.item import AsyncIssue
    from pyptx_sim.findings import Finding
    from pyptx_sim.machine.asynchrony.engine import Item, Timing
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action, Block, Code, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.timeline.recorder import Recorder


def watched(code: Code, recorder: Recorder) -> Code:
    """Return compiled code that notifies a recorder of the start and the end of each basic block."""
    return tuple(_closing(_opening(block, recorder), recorder) for block in code)


def _opening(block: Block, recorder: Recorder) -> Block:
    if block.steps:
        (pc, first), *others = block.steps

        def step(wave: Wave, lanes: Lanes) -> None:
            recorder.begin(wave, block, lanes)
            first(wave, lanes)

        return replace(block, steps=((pc, step), *others))
    assert block.terminator is not None  # noqa: S101 - a block has an instruction
    end: Terminator = block.terminator

    def terminator(wave: Wave, group: Group) -> int | None:
        recorder.begin(wave, block, group.lanes)
        return end(wave, group)

    return replace(block, terminator=terminator)


def _closing(block: Block, recorder: Recorder) -> Block:
    if block.terminator is not None:
        end: Terminator = block.terminator

        def terminator(wave: Wave, group: Group) -> int | None:
            target = end(wave, group)
            recorder.end()
            return target

        return replace(block, terminator=terminator)
    *others, (pc, last) = block.steps
    inner: Action = last

    def step(wave: Wave, lanes: Lanes) -> None:
        inner(wave, lanes)
        recorder.end()

    return replace(block, steps=(*others, (pc, step)))


class WatchedEngine(Engine):
    """Engine of asynchronous operations that notifies a timeline recorder of issues and completions."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder, timing: Timing, random: np.random.Generator | None) -> None:
        """Create an engine that notifies `recorder`."""
        super().__init__(timing, random)
        self._recorder = recorder

    def issue(self, item: Item) -> int:
        """Add an item, the operations of one instruction, to the engine, and notify the recorder."""
        item_id = super().issue(item)
        self._recorder.issue(item)
        return item_id

    def _complete(self, item: Item, which: Mask | None) -> None:
        before = len(item)
        super()._complete(item, which)
        self._recorder.complete(item, which, before)

    def _take(self, item: AsyncIssue, which: Mask) -> AsyncIssue:
        before = len(item)
        taken = super()._take(item, which)
        self._recorder.complete(item, which, before)
        return taken


class WatchedLog(FindingLog):
    """Log of findings that notifies a timeline recorder of each new finding."""

    recorder: Recorder

    @classmethod
    def of(cls, log: FindingLog, recorder: Recorder) -> WatchedLog:
        """Return an empty finding log with the program and rules of `log`; the new log notifies `recorder`."""
        made = cls(log.place_of, log.opcode_of, log.origin_of, log.rules)
        made.recorder = recorder
        return made

    def first(self, finding: Finding, pc: int) -> None:
        """Notify the recorder of a finding."""
        self.recorder.found(finding.headline, pc)
