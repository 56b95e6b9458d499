"""Data races of overlapping launches: accesses of a grid that are not ordered after the completion of earlier grids.

The prerequisite grid is the previous grid in the stream. Its completion happens before the return of
`griddepcontrol.wait`. The completion of a still earlier grid does so only if a thread waited in each grid in between: a
grid in which no thread waits may complete before its own prerequisite grid. An access races with an access to the same
bytes by a grid whose completion does not happen before it, unless both are reads or both are strong. The result is the
same under every schedule. Manual: "griddepcontrol".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.observer import AccessKind, AsyncOperations, Masks, Offsets, RunView, Space
    from pyptx_sim.origins import SourceLocation

_STRONG: Final = frozenset({"atomic", "strong-read"})
_WRITES: Final = frozenset({"write", "atomic"})
_HELP: Final = "execute griddepcontrol.wait before the first access to memory of the prerequisite grid"
_HELP_BETWEEN: Final = (
    "execute griddepcontrol.wait in the grids in between as well: a grid that does not wait may complete before its "
    "prerequisite grid"
)


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Bytes that one instruction of each of two launches accesses.

    `writes` states whether each instruction writes. `offset` is the first byte, and `count` the number of bytes.
    """

    pcs: tuple[int, int]
    writes: tuple[bool, bool]
    offset: int
    count: int


class _Footprint:
    """Per byte of global memory: an instruction that reads it, and one that writes it, with weak accesses if any."""

    def __init__(self, size: int) -> None:
        self._numbers: dict[tuple[int, bool], int] = {}
        self._keys: list[tuple[int, bool]] = [(-1, False)]
        self._tables = {writes: np.zeros(size, np.uint16) for writes in (False, True)}

    def enter(self, offsets: Offsets, size: int, pc: int, *, writes: bool, strong: bool) -> None:
        """Record accesses of one instruction; an atomic update counts as a write."""
        number = self._numbers.setdefault((pc, strong), len(self._keys))
        if number == len(self._keys):
            self._keys.append((pc, strong))
        table = self._tables[writes]
        places = (offsets[:, None] + np.arange(size)).ravel()
        table[places[table[places] == 0] if strong else places] = number

    def meet(self, other: _Footprint) -> Iterator[_Meeting]:
        """Yield bytes that both launches access and one writes, unless both accesses are strong."""
        for own, theirs in ((False, True), (True, True), (True, False)):
            mine, others = self._tables[own], other._tables[theirs]
            at = np.flatnonzero((mine > 0) & (others > 0))
            pairs = mine[at].astype(np.int64) * (len(other._keys) + 1) + others[at]
            for pair in np.unique(pairs).tolist():
                here, there = divmod(int(pair), len(other._keys) + 1)
                (pc, strong), (other_pc, other_strong) = self._keys[here], other._keys[there]
                where = at[pairs == pair]
                if not (strong and other_strong):
                    yield _Meeting((pc, other_pc), (own, theirs), int(where[0]), len(where))


class Dependents:
    """Accesses of one launch that may overlap with the previous or the next launch; empty if it runs alone."""

    def __init__(self, view: RunView, clocks: WarpClocks) -> None:
        """Start as a launch that runs alone."""
        self._view, self._clocks = view, clocks
        self.before: Dependents | None = None
        """Prerequisite launch, if this launch may overlap with it."""
        # clock column that is 1 for lanes ordered after the completion of the prerequisite grid
        self._column = -1
        self.touched: _Footprint | None = None
        """Accesses of this launch, if a dependent launch may overlap with it."""
        self._early: _Footprint | None = None
        self._late: _Footprint | None = None
        self._released: set[int] = set()
        self.hides = True
        """Whether every CTA has executed `griddepcontrol.wait` before it allowed dependent grids to start."""
        self.waits = False
        """Whether any thread has waited for the prerequisite grid."""

    def launched_behind(self, before: Dependents) -> None:
        """Record that this launch may overlap with launch `before`, its prerequisite grid."""
        size = self._view.arena_size("global")
        self.before, self._early = before, _Footprint(size)
        self._late = None if before.before is None else _Footprint(size)
        before.touched = _Footprint(size)
        self._column = self._clocks.columns(1)
        self._clocks.retired.keep(self._column)

    # --- events ---------------------------------------------------------------------------------

    def complete(self, warps: Offsets, masks: Masks) -> None:
        """Record that lanes have waited for the prerequisite grid."""
        self.waits = True
        if self.before is not None:
            columns = np.full(len(warps), self._column, np.int64)
            self._clocks.learn_of(warps, masks, columns, np.ones(len(warps), np.int32))

    def released(self, warps: Offsets, masks: Masks) -> None:
        """Record that lanes have executed `griddepcontrol.launch_dependents`."""
        if self.before is None:
            return
        positions, lanes = np.nonzero(masks)
        self.hides &= bool(self._knows(warps[positions], lanes).all())
        self._released.update((warps // self._view.warps_per_cta).tolist())

    def wave_ended(self) -> None:
        """Update `hides` for CTAs that exited without `griddepcontrol.launch_dependents`, which the exit implies."""
        if self.before is None:
            return
        size = self._view.warps_per_cta
        blocks = set((np.flatnonzero(self._view.threads.any(axis=1)) // size).tolist())
        for block in blocks - self._released:
            rows = self._clocks.rows_of_warps(block * size, size)
            self.hides &= bool(self._clocks.known[rows, self._column].any())
        self._released.clear()

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Record accesses of lanes to global memory."""
        if space == "global" and self._overlaps:
            self._enter(offsets, size, warps, lanes, pc, writes=kind in _WRITES, strong=kind in _STRONG)

    def issued(self, work: AsyncOperations) -> None:
        """Record the accesses of asynchronous operations to global memory."""
        for touch in work.touches if self._overlaps else ():
            if touch.space == "global" and len(touch.offsets):
                warps, lanes = work.warps[touch.owners], work.lanes[touch.owners]
                self._enter(touch.offsets, touch.size, warps, lanes, work.pc, writes=touch.writes, strong=False)

    @property
    def _overlaps(self) -> bool:
        return self.touched is not None or self._early is not None

    def _enter(
        self, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int, *, writes: bool, strong: bool
    ) -> None:
        if self.touched is not None:
            self.touched.enter(offsets, size, pc, writes=writes, strong=strong)
        if self._early is not None:
            early = ~self._knows(warps, lanes)
            self._early.enter(offsets[early], size, pc, writes=writes, strong=strong)
            if self._late is not None:
                self._late.enter(offsets[~early], size, pc, writes=writes, strong=strong)

    def _knows(self, warps: Offsets, lanes: Offsets) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = self._clocks.known[self._clocks.rows(warps, lanes), self._column] > 0
        return known

    # --- races ----------------------------------------------------------------------------------

    def judge(self) -> None:
        """Report the races of this launch with earlier grids."""
        at_start, after_wait = self._complete_at_start(), set(self.complete_with_prerequisite())
        for before in self._earlier():
            if before.touched is None or before in at_start:
                continue
            if self._early is not None:
                for meeting in self._early.meet(before.touched):
                    self._report(before, meeting)
            if self._late is not None and before not in after_wait:
                for meeting in self._late.meet(before.touched):
                    self._report(before, meeting, waited=True)

    def _earlier(self) -> Iterator[Dependents]:
        """Yield the earlier launches that may overlap with this one, the prerequisite grid first."""
        before = self.before
        while before is not None:
            yield before
            before = before.before

    def complete_with_prerequisite(self) -> Iterator[Dependents]:
        """Yield the prerequisite grid, and the earlier launches whose completion its completion implies."""
        for before in self._earlier():
            yield before
            if not before.waits:
                return

    def _complete_at_start(self) -> set[Dependents]:
        """Return the launches that are complete before this one starts.

        Either the prerequisite launch started after their completion, or each of its CTAs waited for them before it
        allowed this launch to start.
        """
        found: set[Dependents] = set()
        for before in self._earlier():
            if before.hides:
                found.update(before.complete_with_prerequisite())
        return found

    def _report(self, before: Dependents, meeting: _Meeting, *, waited: bool = False) -> None:
        what = self._view.describe("global", meeting.offset)
        own, other = ("write to" if meeting.writes[0] else "read of"), ("writes" if meeting.writes[1] else "reads")
        grid = "an earlier grid" if waited else "the prerequisite grid"
        self._view.report(
            "global-race",
            f"{own} {what} races with {grid}, which {other} it ({before.place(meeting.pcs[1])})",
            meeting.pcs[0],
            notes=("griddepcontrol.wait waits for the prerequisite grid only",) if waited else (),
            help=_HELP_BETWEEN if waited else _HELP,
            count=meeting.count,
        )

    def place(self, pc: int) -> SourceLocation | None:
        """Return the PTX line of an instruction of this launch."""
        return self._view.place(pc)
