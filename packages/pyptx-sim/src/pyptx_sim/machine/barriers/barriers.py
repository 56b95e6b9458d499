"""Named barriers of CTAs. Manual: "bar, barrier"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.machine.lanes import WARP, Lanes, lane_names
from pyptx_sim.machine.scheduling.warp_splits import State

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask

# Number of named barriers of each CTA.
PER_CTA = 16
# Events denote a named barrier by -(_NAMED + CTA slot * PER_CTA + barrier number), cluster barriers by higher numbers.
_NAMED = 1 << 30


class Reduction(Protocol):
    """Writer of the result of a barrier with a reduction, called when the phase completes."""

    def finish(self, wave: Wave, lanes: Lanes, counts: IntArray, totals: IntArray) -> None:
        """Write the result of the reduction to `lanes`.

        `counts`, `[rows, 32]`: number of threads whose predicate is true; `totals`: number of participating threads.
        """
        ...


class Barriers:
    """The sixteen named barriers of each CTA of a wave.

    Arrivals are counted in lanes. The hardware counts warps, so lanes that exited or were never launched count as well:
    once for each arrival of the warp's other lanes, even if the latter arrive in several warp splits. `bar.arrive`
    releases earlier accesses of its threads and does not acquire. A barrier's key is unique in the wave.
    """

    __slots__ = ("_came", "_came_apart", "_need", "_need_at", "_rounds", "_wave", "reductions")

    def __init__(self, ctas: int) -> None:
        """Start without arrivals at any barrier."""
        self._need = np.zeros(ctas * PER_CTA, np.int64)  # expected threads per named barrier and CTA; 0: all live warps
        # expected threads and pc of the first arrival, per named barrier and CTA
        self._need_at: dict[int, tuple[int, int]] = {}
        self._rounds = np.zeros(ctas * PER_CTA, np.int64)  # per named barrier and CTA: number of completed phases
        self._came: dict[int, IntArray] = {}  # per named barrier and CTA: bar.arrive count of each lane, `[warps, 32]`
        self._came_apart = False  # whether a warp has ever executed bar.arrive without all its live lanes
        self.reductions: dict[int, Reduction] = {}  # writer of the results of each barrier.red instruction, by pc
        self._wave: Wave

    def attach(self, wave: Wave) -> None:
        """Set the wave whose CTAs have these barriers."""
        self._wave = wave

    def idle(self) -> bool:
        """Return whether no barrier has arrivals or waiting threads."""
        return not self._came and not (self._wave.splits.state == State.BARRIER).any()

    def arrivals(self) -> tuple[object, ...]:
        """Return a comparable value: the expected threads of all barriers, and the arrivals by `bar.arrive`."""
        came = tuple((key, came.tobytes()) for key, came in sorted(self._came.items()))
        return self._need.tobytes(), came

    def keys(self, ids: IntArray, names: IntArray) -> IntArray:
        """Return the keys, unique in the wave, of the barriers numbered `names` in the CTAs of warp splits `ids`."""
        keys: IntArray = self._wave.geometry.cta[self._wave.splits.warp[ids]] * PER_CTA + names
        return keys

    def _weights(self, ids: IntArray, keys: IntArray) -> IntArray:
        """Return how many arrivals (lanes) each warp split adds to its barrier if splits arrive in order of `ids`."""
        splits, live = self._wave.splits, self._wave.live
        warps, masks = splits.warp[ids], splits.mask[ids]
        weights = np.full(len(ids), WARP, np.int64)
        parts = np.flatnonzero((masks != live[warps]).any(axis=1) | self._came_apart)
        before: dict[tuple[int, int], IntArray] = {}
        for part, key, warp in zip(parts.tolist(), keys[parts].tolist(), warps[parts].tolist(), strict=True):
            came = before.get((key, warp))
            if came is None:
                came = self._came[key][warp - self._warps_of(key).start] if key in self._came else np.zeros(WARP, int)
            now = before[key, warp] = came + masks[part]
            begun = now.max() - came.max()
            weights[part] = np.count_nonzero(masks[part]) + begun * np.count_nonzero(~live[warp])
        return weights

    def _warps_of(self, key: int) -> slice:
        """Return the range of warps, in the wave, of the CTA whose barrier has this key."""
        count = self._wave.geometry.launch.warps_per_cta
        first = key // PER_CTA * count
        return slice(first, first + count)

    def _arrived(self) -> IntArray:
        """Return, by barrier key, the number of arrivals by `bar.arrive` in the current phase."""
        arrived = np.zeros(len(self._need), np.int64)
        for key, came in self._came.items():
            live = self._wave.live[self._warps_of(key)]
            arrived[key] = np.where(live, came, came.max(axis=1, keepdims=True)).sum()
        return arrived

    def arrive(self, ids: IntArray, names: IntArray, counts: IntArray | None) -> None:
        """Count warp splits `ids` as arrived; they continue without waiting."""
        keys = self.keys(ids, names)
        self._expect(keys, counts)
        self._note_arrived(ids, keys)
        observers = self._wave.machine.observers
        if observers.active:
            observers.barrier_arrivals(self._wave.splits.warp[ids], self._wave.splits.mask[ids], keys, self._wave.pc)
            for key in np.unique(keys).tolist():
                arrived = self._wave.splits.lanes(ids[keys == key])
                place, phase, pc = -_NAMED - key, int(self._rounds[key]), self._wave.pc
                observers.signal(place, phase, *arrived, pc, scope="cta", releases=True)
        self.recheck()

    def wait(self, ids: IntArray, names: IntArray, counts: IntArray | None, values: Mask | None) -> None:
        """Stall warp splits `ids`; a split that completes a barrier releases all waiting splits."""
        splits, keys = self._wave.splits, self.keys(ids, names)
        splits.state[ids] = State.BARRIER
        splits.key[ids] = keys
        splits.site[ids] = self._wave.pc
        if values is not None:
            splits.value[ids] = values
        self._expect(keys, counts)
        self.recheck()

    def _note_arrived(self, ids: IntArray, keys: IntArray) -> None:
        """Record arrivals by bar.arrive; report warps that arrive twice in one phase."""
        wave, warps, masks = self._wave, self._wave.splits.warp[ids], self._wave.splits.mask[ids]
        self._came_apart |= not np.array_equal(masks, wave.live[warps])
        for key in np.unique(keys).tolist():
            here, cta = keys == key, self._warps_of(key)
            came = self._came.setdefault(key, np.zeros((cta.stop - cta.start, WARP), np.int64))
            rows, lanes = warps[here] - cta.start, masks[here]
            again = (lanes & (came[rows] > 0)).any(axis=1)
            for warp in warps[here][again].tolist() if wave.machine.checked else ():
                wave.machine.log.report(
                    "barrier-divergence",
                    f"{wave.geometry.warp_name(warp)} arrived twice at barrier {key % PER_CTA} before it completed",
                    wave.pc,
                    help="pair each bar.arrive with one completion of the barrier",
                )
            np.add.at(came, rows, lanes)

    def _expect(self, keys: IntArray, counts: IntArray | None) -> None:
        """Record the thread counts of arrivals; report a mismatch with an earlier arrival of the same phase."""
        if counts is None:
            return
        np.maximum.at(self._need, keys, counts)
        if not self._wave.machine.checked:
            return
        pc = self._wave.pc
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            known, other_pc = self._need_at.setdefault(key, (count, pc))
            if known != count:
                self._wave.machine.log.report(
                    "barrier-divergence",
                    f"thread-count mismatch at barrier {key % PER_CTA}: {count} here, {known} at the earlier arrival",
                    pc,
                    other_pc=other_pc,
                    label=f"arrival, {count} threads",
                    other_label=f"earlier arrival, {known} threads",
                    help="use the same thread count in every bar.sync, bar.arrive and bar.red of a barrier",
                )

    def recheck(self) -> None:
        """Release the warp splits of every complete barrier, in order of arrival, up to the barrier's thread count."""
        splits = self._wave.splits
        self._complete_unawaited()
        while True:
            waiting = np.flatnonzero(splits.state == State.BARRIER)
            if not len(waiting):
                return
            keys = splits.key[waiting]
            present, need = self._present(waiting, keys), self._required()
            complete = (present >= need)[keys]
            if not complete.any():
                return
            waiting, keys = waiting[complete], keys[complete]
            first = self._first(waiting, keys, need) if (present > need)[keys].any() else np.ones(len(keys), np.bool_)
            self._release(waiting[first], keys[first], left=keys[~first])

    def _complete_unawaited(self) -> None:
        """Report and complete barriers that `bar.arrive` alone completes; later waits are for the next phase."""
        if not self._came:
            return
        full = np.flatnonzero((self._need > 0) & (self._arrived() >= self._need))
        for key in full.tolist():
            self._wave.report(
                "barrier-phase",
                f"bar.arrive alone completes barrier {key % PER_CTA}: {self._need[key]} threads arrived, none waits",
                self._wave.pc,
                help="include the waiting threads in the thread count; wait for each phase before the next bar.arrive",
            )
        self._begin_next(full)

    def _begin_next(self, keys: IntArray) -> None:
        self._need[keys] = 0
        self._rounds[keys] += 1
        for key in keys.tolist():
            self._need_at.pop(key, None)
            self._came.pop(key, None)

    def _first(self, waiting: IntArray, keys: IntArray, need: IntArray) -> Mask:
        """Return which of the warp splits `waiting` at complete barriers belong to the completing phase."""
        order = np.lexsort((waiting, self._wave.splits.last_run[waiting], keys))
        sorted_keys = keys[order]
        weights = self._weights(waiting[order], sorted_keys)
        heads = np.flatnonzero(np.diff(sorted_keys, prepend=-1))
        before = np.cumsum(weights) - weights
        before -= np.repeat(before[heads], np.diff(heads, append=len(order)))
        first = np.zeros(len(keys), np.bool_)
        arrived, wanted = self._arrived()[sorted_keys], need[sorted_keys]
        first[order] = before + arrived < wanted
        return first

    def _present(self, waiting: IntArray, keys: IntArray) -> IntArray:
        """Return, by barrier key, the number of arrivals in lanes, including those of waiting warp splits."""
        weights = np.bincount(keys, weights=self._weights(waiting, keys), minlength=len(self._need))
        present: IntArray = weights.astype(np.int64)
        return present + self._arrived() if self._came else present

    def _required(self) -> IntArray:
        geometry = self._wave.geometry
        warps = np.bincount(geometry.cta, weights=self._wave.live.any(1), minlength=geometry.ctas)
        everybody = np.repeat(warps.astype(np.int64) * WARP, PER_CTA)
        return np.where(self._need > 0, self._need, everybody)

    def _release(self, ids: IntArray, keys: IntArray, *, left: IntArray) -> None:
        """Resume warp splits `ids` at complete barriers; `left`: barrier keys of splits that await the next phase."""
        wave = self._wave
        splits = wave.splits
        sites = splits.site[ids]
        self._tell_observers(ids, keys, int(sites[0]))
        self._check_divergence(ids, keys, sites)
        for site in np.unique(sites).tolist():
            reduction = self.reductions.get(site)
            if reduction is not None:
                self._reduce(reduction, ids, keys, sites == site)
        kept = self._need[left]
        self._begin_next(np.unique(keys))
        self._need[left] = kept
        splits.state[ids] = State.READY
        splits.key[ids] = -1
        wave.completed_barriers += 1

    def _tell_observers(self, ids: IntArray, keys: IntArray, pc: int) -> None:
        """Notify observers of each completed barrier; waiting threads acquire from threads that executed bar.arrive."""
        observers, splits = self._wave.machine.observers, self._wave.splits
        if not observers.active:
            return
        for key in self._came.keys() & set(keys.tolist()):
            waiting = splits.lanes(ids[keys == key])
            observers.acquire(-_NAMED - key, int(self._rounds[key]), *waiting, pc, scope="cta", acquires=True)
        observers.barriers(splits.warp[ids], splits.mask[ids], keys, pc)

    def _reduce(self, reduction: Reduction, ids: IntArray, keys: IntArray, here: Mask) -> None:
        """Write the result of a reduction to the lanes of warp splits `ids[here]`; a warp may have several splits."""
        splits = self._wave.splits
        held = np.bincount(keys, weights=np.count_nonzero(splits.value[ids] & splits.mask[ids], axis=1))
        present = np.bincount(keys, weights=np.count_nonzero(splits.mask[ids], axis=1))
        chosen = ids[here]
        warps, masks = splits.lanes(chosen)
        counts, totals = np.zeros((2, len(warps), WARP), np.int64)
        rows = np.searchsorted(warps, splits.warp[chosen])
        for row, mask, key in zip(rows.tolist(), splits.mask[chosen], keys[here].tolist(), strict=True):
            counts[row, mask], totals[row, mask] = held[key], present[key]
        reduction.finish(self._wave, Lanes(warps, masks, len(warps), whole=False), counts, totals)

    def _check_divergence(self, ids: IntArray, keys: IntArray, sites: IntArray) -> None:
        """Report completed barriers that a warp reached at two instructions, or that exited threads never reached."""
        wave = self._wave
        if not wave.machine.checked:
            return
        self._check_sites(wave.splits.warp[ids], keys, sites)
        self._check_warps(ids, keys, sites)
        whole = self._need[keys] == 0
        warps = wave.splits.warp[ids]
        ctas = np.unique(wave.geometry.cta[warps[whole]])
        threads = wave.geometry.threads
        gone = threads & ~wave.live & np.isin(wave.geometry.cta, ctas)[:, None]
        count = int(np.count_nonzero(gone))
        if count:
            warp, lane = (int(part[0]) for part in np.nonzero(gone))
            wave.machine.log.report(
                "barrier-divergence",
                f"{counted(count, 'thread')} exited without reaching this barrier; first: "
                f"{wave.geometry.thread_name(warp, lane)}",
                int(sites[0]),
                help="make every thread of the CTA reach the barrier before it exits",
                count=count,
            )

    def _check_sites(self, warps: IntArray, keys: IntArray, sites: IntArray) -> None:
        """Report a warp whose lanes arrive at different `.aligned` instructions; lanes of different warps may do so."""
        machine = self._wave.machine
        first: dict[int, int] = {}
        for warp, key, site in zip(warps.tolist(), keys.tolist(), sites.tolist(), strict=True):
            other = first.setdefault(warp, site)
            if other != site and self._is_aligned(site):
                name = self._wave.geometry.warp_name(warp)
                machine.log.report(
                    "barrier-divergence",
                    f"lanes of {name} execute different barrier instructions for barrier {key % PER_CTA}",
                    site,
                    other_pc=other,
                    help="make all lanes of a warp execute the same barrier instruction",
                )

    def _check_warps(self, ids: IntArray, keys: IntArray, sites: IntArray) -> None:
        """Report warps of which only some lanes arrive at a completed barrier, if the instruction is `.aligned`."""
        wave = self._wave
        warps, masks = wave.splits.warp[ids], wave.splits.mask[ids]
        for part in np.flatnonzero((masks != wave.live[warps]).any(axis=1)).tolist():
            key, warp, site = int(keys[part]), int(warps[part]), int(sites[part])
            arrived = masks[(keys == key) & (warps == warp)].any(axis=0)
            if key in self._came:
                arrived = arrived | (self._came[key][warp - self._warps_of(key).start] > 0)
            missing = wave.live[warp] & ~arrived
            if missing.any() and self._is_aligned(site):
                which = f"{lane_names(missing)} of {wave.geometry.warp_name(warp)}"
                wave.machine.log.report(
                    "barrier-divergence",
                    f"{which} did not arrive at barrier {key % PER_CTA}",
                    site,
                    label=f"executed by {lane_names(arrived)}",
                    help="make all lanes of a warp execute the barrier, or use barrier.sync without .aligned",
                    count=int(np.count_nonzero(missing)),
                )

    def _is_aligned(self, site: int) -> bool:
        """Return whether all lanes of a warp must execute the barrier instruction at a pc."""
        form = self._wave.machine.program.forms[site]
        return form is not None and (form.row.opcode == "bar" or "aligned" in form.words)

    def describe(self, split: int) -> str:
        """Return the barrier that a warp split waits for, with its current and its required number of arrivals."""
        splits = self._wave.splits
        key = int(splits.key[split])
        waiting = np.flatnonzero(splits.state == State.BARRIER)
        present = int(self._present(waiting, splits.key[waiting])[key])
        need = int(self._required()[key])
        return f"{present} of {need} threads arrived at barrier {key % PER_CTA}"
