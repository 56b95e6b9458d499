"""Machines that tell a recorder what they do. One that records nothing is not touched by any of this.

The code of a program is rewritten: what each basic block does first and last is wrapped. Instructions are neither added
nor counted twice, so that a run goes exactly as it does without a recorder, by the same schedule.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_sim.findings import FindingLog, heading
from pyptx_sim.machine.asynchrony.engine import Engine

if TYPE_CHECKING:
    import numpy as np

    from pyptx_sim.extension import AsyncItem
    from pyptx_sim.findings import Finding
    from pyptx_sim.machine.asynchrony.engine import Item, Timing
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action, Block, Code, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask
    from pyptx_sim.timeline.recorder import Recorder


def watched(code: Code, recorder: Recorder) -> Code:
    """Return code that tells a recorder of the beginning and the end of each basic block."""
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
    """An engine that tells a recorder what is issued and what completes."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder, timing: Timing, random: np.random.Generator | None) -> None:
        """Tell `recorder`; the rest as for every engine."""
        super().__init__(timing, random)
        self._recorder = recorder

    def issue(self, item: Item) -> int:
        """Take on an item, and tell of it."""
        item_id = super().issue(item)
        self._recorder.issue(item)
        return item_id

    def _complete(self, item: Item, which: Mask | None) -> None:
        before = len(item)
        super()._complete(item, which)
        self._recorder.complete(item, which, before)

    def _take(self, item: AsyncItem, which: Mask) -> AsyncItem:
        before = len(item)
        taken = super()._take(item, which)
        self._recorder.complete(item, which, before)
        return taken


class WatchedLog(FindingLog):
    """A log of findings that tells a recorder of each new one."""

    recorder: Recorder

    @classmethod
    def of(cls, log: FindingLog, recorder: Recorder) -> WatchedLog:
        """Return a log like `log` that tells `recorder`."""
        made = cls(log.place_of, log.origins, log.rules)
        made.recorder = recorder
        return made

    def first(self, finding: Finding, pc: int) -> None:
        """Tell of a finding."""
        self.recorder.found(heading(finding.rule, finding.severity, finding.message), pc)
