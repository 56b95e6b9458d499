"""Where asynchronous work meets what warps did before it was issued, and where blocks meet each other's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.asynchrony import name_of
from pyptx_sim.checks.shadow import NOBODY, PC, TIME, WARP

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony import AsyncRaces, Report
    from pyptx_sim.checks.clocks import WarpClocks
    from pyptx_sim.checks.shadow import Shadow, Table
    from pyptx_sim.observer import Offsets, RunView, Space, Touch, Work

    Ordered = Callable[[NDArray[np.int64], NDArray[np.int32]], NDArray[np.bool_]]


class Crossings:
    """Judges asynchronous work against accesses of warps, uses of mbarriers, and the ends of blocks."""

    def __init__(self, view: RunView, clocks: WarpClocks, work: AsyncRaces, report: Report) -> None:
        """Watch the run behind `view`."""
        self._view = view
        self._clocks = clocks
        self._work = work
        self._report = report
        self._made: dict[int, tuple[int, int, int]] = {}  # by place: warp, time, pc
        self._uses: dict[int, dict[int, tuple[int, int]]] = {}  # by place and warp: time, pc
        self._arrivals: dict[tuple[int, int], tuple[int, int]] = {}  # by place and a warp of another block: time, pc
        self._seen: dict[int, NDArray[np.bool_]] = {}  # by place: which warps are known to know that
        self._inits: int | None = None  # the first of a column for each warp: what fence.mbarrier_init told

    def next_wave(self) -> None:
        """Forget the mbarriers of the warps before."""
        self._made.clear()
        self._uses.clear()
        self._arrivals.clear()
        self._seen.clear()

    # --- work -----------------------------------------------------------------------------------

    def judge(self, work: Work, touch: Touch, shadow: Shadow, ordered: Ordered, first_warp: int, group: int) -> None:
        """Judge one touch of work that is issued now against the accesses in `shadow`."""
        granules = shadow.granules(touch.offsets, touch.size)
        owners = np.repeat(touch.owners, granules.shape[1])
        at, warps = granules.reshape(-1), work.warps[owners]
        does = "writes" if touch.writes else "reads"
        for further in range(work.together):
            self._against_writes(work, touch, shadow, at, warps + further, ordered, first_warp)
        if not touch.writes:
            return
        message = f"issues work that {does} {{}}, which a warp may still read"
        if shadow.readers:
            self._against_readers(work, touch.space, shadow, at, warps, group, message)
        else:
            for table in (shadow.read, shadow.first):
                late = self._late(table, at, warps, ordered)
                if late is not None:
                    self._tell("early-reuse", message, work.pc, touch.space, shadow, at, warps, *late)

    def _late(
        self, table: Table, at: NDArray[np.int64], warps: NDArray[np.int64], ordered: Ordered
    ) -> tuple[int, int] | None:
        """Return the first entry whose last access is not ordered before it, and the pc of that."""
        last = table.touched(at)
        if last is None:
            return None
        touched = np.flatnonzero(last[:, WARP] != NOBODY)
        bad = touched[~ordered(warps[touched], last[touched])]
        return (int(bad[0]), int(last[bad[0], PC])) if len(bad) else None

    def _against_writes(
        self,
        work: Work,
        touch: Touch,
        shadow: Shadow,
        at: NDArray[np.int64],
        warps: NDArray[np.int64],
        ordered: Ordered,
        first_warp: int,
    ) -> None:
        last = shadow.write.touched(at)
        if last is None:
            return
        does = f"issues work that {'writes' if touch.writes else 'reads'} {{}}, which a warp wrote, and "
        if touch.atomic:
            at, warps = at[~shadow.atomic[at]], warps[~shadow.atomic[at]]
            last = shadow.write.get(at)
        late = self._late(shadow.write, at, warps, ordered) if len(at) else None
        if late is not None:
            message = does + "nothing orders the two"
            self._tell(f"{touch.space}-race", message, work.pc, touch.space, shadow, at, warps, *late)
            return
        others = last[:, WARP].astype(np.int64) - first_warp
        here = np.flatnonzero((last[:, WARP] != NOBODY) & (others >= 0))
        if not work.proxy or not len(here):
            return
        bad = here[self._work.unfenced(touch.space, warps[here], others[here], last[here, TIME])]
        if len(bad):
            message = does + "no fence lets the async proxy see it"
            first = int(bad[0])
            pc = int(last[first, PC])
            self._tell("missing-proxy-fence", message, work.pc, touch.space, shadow, at, warps, first, pc)

    def _against_readers(
        self,
        work: Work,
        space: Space,
        shadow: Shadow,
        at: NDArray[np.int64],
        warps: NDArray[np.int64],
        group: int,
        message: str,
    ) -> None:
        times = shadow.reader_time[at]
        members = (warps // group * group)[:, None] + np.arange(group)
        late = (times > 0) & ~self._clocks.orders(warps[:, None], members, times)
        if late.any():
            first, reader = (int(part[0]) for part in np.nonzero(late))
            pc = int(shadow.reader_pc[at[first], reader])
            self._tell("early-reuse", message, work.pc, space, shadow, at, warps, first, pc)

    def _tell(
        self,
        rule: str,
        message: str,
        pc: int,
        space: Space,
        shadow: Shadow,
        at: NDArray[np.int64],
        warps: NDArray[np.int64],
        first: int,
        other_pc: int,
    ) -> None:
        where = self._view.describe(space, int(at[first]) * shadow.granule)
        self._report(rule, f"{name_of(self._view, int(warps[first]))} {message.format(where)}", pc, other_pc)

    # --- mbarriers ------------------------------------------------------------------------------

    def made(self, place: int, warp: int, pc: int) -> None:
        """Note who has initialised an mbarrier, and when."""
        self._made[place] = (warp, int(self._clocks.now[warp]), pc)
        self._seen[place] = np.zeros(self._view.warps, np.bool_)

    def used(self, place: int, warps: Offsets, pc: int) -> None:
        """Report the use of an mbarrier whose initialisation is not ordered before it."""
        uses = self._uses.setdefault(place, {})
        for user in warps.tolist():
            uses[user] = (int(self._clocks.now[user]), pc)
        made = self._made.get(place)
        if made is None or self._seen[place][warps].all():
            return
        warp, time, other_pc = made
        known = self._clocks.known[warps, warp] >= time
        if self._inits is not None:
            known |= self._clocks.known[warps, self._inits + warp] >= time
        known |= warps == warp
        self._seen[place][warps] |= known
        late = warps[~known]
        if len(late):
            name = name_of(self._view, int(late[0]))
            where = self._view.describe("shared", place)
            message = f"{name} uses the mbarrier {where}, and nothing orders that behind its initialisation"
            self._report("mbarrier-unsynchronised", message, pc, other_pc)

    def ended(self, place: int, warp: int, pc: int) -> None:
        """Report uses of an mbarrier that nothing orders before its end."""
        for user, (time, other_pc) in self._uses.pop(place, {}).items():
            if user != warp and self._clocks.known[warp, user] < time:
                where = self._view.describe("shared", place)
                message = (
                    f"{name_of(self._view, warp)} ends the mbarrier {where}, which {name_of(self._view, user)} may"
                )
                self._report("mbarrier-inval", f"{message} still use", pc, other_pc)
        self._made.pop(place, None)

    def signalled(self, work: Work) -> None:
        """Report work whose mbarrier was initialised without a fence that lets the async proxy see it."""
        for touch in work.touches:
            if touch.barriers is None or not work.proxy:
                continue
            pairs = np.unique(np.stack([touch.barriers, work.warps]), axis=1)
            for place, warp in pairs.T.tolist():
                maker, time, other_pc = self._made.get(place, (warp, 0, work.pc))
                if self._async_unseen(warp, maker, time):
                    where = self._view.describe("shared", place)
                    message = f"issues work that arrives at the mbarrier {where}, which a warp initialised, and"
                    told = f"{name_of(self._view, warp)} {message} no fence lets the async proxy see it"
                    self._report("missing-proxy-fence", told, work.pc, other_pc)

    def _async_unseen(self, warp: int, maker: int, time: int) -> bool:
        one = np.array([warp])
        unfenced = bool(self._work.unfenced("shared", one, np.array([maker]), np.array([time], np.int32))[0])
        return unfenced and (self._inits is None or int(self._clocks.known[warp, self._inits + maker]) < time)

    def arrived(self, place: int, warps: Offsets, pc: int) -> None:
        """Judge arrivals at an mbarrier, and note those from other blocks."""
        self.used(place, warps, pc)
        if self._view.cluster_size > 1:
            home = place // self._view.shared_stride()
            for warp in warps[warps // self._view.warps_per_cta != home].tolist():
                self._arrivals[place, warp] = (int(self._clocks.now[warp]), pc)

    def init_columns(self) -> slice:
        """Return the columns that say whose initialisations one knows of through fence.mbarrier_init."""
        if self._inits is None:
            self._inits = self._clocks.columns(self._view.warps)
        return slice(self._inits, self._inits + self._view.warps)

    def init_fence(self, warps: Offsets) -> None:
        """Let what the warps know be told by relaxed arrivals too, as far as mbarriers go."""
        columns, clocks = self.init_columns(), self._clocks
        clocks.known[warps, warps] = clocks.now[warps]
        clocks.known[warps, columns] = np.maximum(clocks.known[warps, columns], clocks.known[warps, : self._view.warps])
        clocks.now[warps] += 1

    # --- ends of blocks -------------------------------------------------------------------------

    def wave_ended(self, shadow: Shadow | None, first_warp: int) -> None:
        """Report accesses to a block's shared memory, and uses of its mbarriers, that may come behind its end."""
        for (place, warp), (time, pc) in self._arrivals.items():
            if self._known_at_end(place // self._view.shared_stride())[warp] < time:
                self._tell_exited("arrives at the mbarrier", warp, place, pc)
        if shadow is not None:
            for table, does in ((shadow.write, "writes to"), (shadow.read, "reads"), (shadow.poll, "reads")):
                self._judge_foreign(table, does, shadow.granule, first_warp)

        self._judge_copies()

    def _judge_copies(self) -> None:
        """Report copies out of a block's shared memory that only another block's mbarrier tells of, if it has ended."""
        stride, places = self._view.shared_stride(), self._work.agents.barriers()
        for at, rows in self._work.shared_reads():
            for block, agent in {*zip((at // stride).tolist(), (rows[:, WARP] - 1).tolist(), strict=True)}:
                if agent not in places or places[agent] // stride == block:
                    continue
                here = np.flatnonzero((at // stride == block) & (rows[:, WARP] == agent + 1))
                late = here[self._known_at_end(block)[agent] < rows[here, TIME]]
                if len(late):
                    first = int(late[0])
                    where, pc = self._view.describe("shared", int(at[first])), int(rows[first, PC])
                    message = f"a copy reads {where} of block slot {block}, which may have ended by then"
                    self._report("exited-block", message, pc, pc)

    def _judge_foreign(self, table: Table, does: str, granule: int, first_warp: int) -> None:
        at, rows = table.entries()
        if not len(at):
            return
        blocks = at * granule // self._view.shared_stride()
        others = rows[:, WARP].astype(np.int64) - first_warp
        foreign = np.flatnonzero((others >= 0) & (others // self._view.warps_per_cta != blocks))
        for block in np.unique(blocks[foreign]).tolist():
            here = foreign[blocks[foreign] == block]
            bad = here[self._known_at_end(block)[others[here]] < rows[here, TIME]]
            if len(bad):
                first = int(bad[0])
                self._tell_exited(does, int(others[first]), int(at[first]) * granule, int(rows[first, PC]))

    def _known_at_end(self, block: int) -> NDArray[np.int32]:
        """Return what the warps of a block knew of others when the last of them ended."""
        per_block = self._view.warps_per_cta
        known: NDArray[np.int32] = self._clocks.known[block * per_block : (block + 1) * per_block].max(axis=0)
        return known

    def _tell_exited(self, does: str, warp: int, offset: int, pc: int) -> None:
        block = offset // self._view.shared_stride()
        where = self._view.describe("shared", offset)
        message = f"{name_of(self._view, warp)} {does} {where} of block slot {block}, which may have ended by then"
        self._report("exited-block", message, pc, pc)
