"""Whether the blocks of a cluster, whose shared memory others use, are known to have started.

Blocks of a cluster run together, and need not begin together: before a thread of a block has executed anything, its
shared memory may not be there. A thread knows that a block has started once it knows of anything that a thread of it
did, however relaxed: an arrival at a barrier of the cluster or at an mbarrier, a flag, a copy that has landed.
Manual: "barrier.cluster", "Shared State Space"; CUDA programming guide, "Distributed Shared Memory".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.checks.race.lane_masks import LANES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.checks.asynchrony.async_races import Report
    from pyptx_sim.observer import AccessKind, AsyncOperations, Masks, Offsets, Order, RunView, Signal, Space

__all__ = ["Starts"]

_RULE: Final = "cluster-cta-not-started"
_DOES: Final = {"read": "read of", "strong-read": "read of", "write": "write to", "atomic": "atomic update of"}


class Starts:
    """Which threads of a wave know which blocks of their cluster, by rank, to have started."""

    def __init__(self, view: RunView, report: Report) -> None:
        """Watch the run behind `view`; every thread knows of its own block."""
        self._view = view
        self._report = report
        self._stride = max(view.shared_stride(), 1)
        size = view.cluster_size
        blocks = np.arange(view.warps * LANES) // (view.warps_per_cta * LANES)
        self._clusters: Offsets = blocks // size
        absent = ~view.threads.reshape(-1, 1)
        self._own: Masks = ((blocks % size)[:, None] == np.arange(size)) | absent
        self.next_wave()

    def next_wave(self) -> None:
        """Forget the blocks before."""
        self._known = self._own.copy()
        self._settled = self._view.cluster_size == 1
        # By cluster, and phase of a barrier or location in memory; and by item, what its issuers knew of their cluster.
        self._left: dict[tuple[int, object], Masks] = {}
        self._issued: dict[int, list[tuple[int, Masks]]] = {}

    # --- what tells of starts -------------------------------------------------------------------

    def _clusters_of(self, threads: Offsets) -> Iterator[tuple[int, Offsets]]:
        """Yield the clusters of some threads, each with those of its own."""
        clusters = self._clusters[threads]
        if len(threads) and (clusters == clusters[0]).all():
            yield int(clusters[0]), threads
            return
        for cluster in np.unique(clusters).tolist():
            yield cluster, threads[clusters == cluster]

    def meet(self, warps: Offsets, masks: Masks, generations: Offsets) -> None:
        """Let threads that have met, all of one cluster, know what each of them knew."""
        if not self._settled:
            found, which = np.unique(generations, return_inverse=True)
            known = self._known.reshape(-1, LANES, self._view.cluster_size)
            together = np.zeros((len(found), known.shape[2]), np.bool_)
            np.logical_or.at(together, which, (known[warps] & masks[:, :, None]).any(axis=1))
            known[warps] |= masks[:, :, None] & together[which][:, None]
            self._settled = bool(known.all())

    def _together(self, threads: Offsets) -> Masks:
        """Return what any of some threads knows."""
        return np.asarray(self._known[threads].any(axis=0))

    def _learn(self, threads: Offsets, known: Masks) -> None:
        self._known[threads] |= known
        self._settled = bool(self._known.all())

    def leave(self, at: object, threads: Offsets) -> None:
        """Leave what threads know at a phase of a barrier, or in memory."""
        for cluster, some in () if self._settled else self._clusters_of(threads):
            self._add((cluster, at), self._together(some))

    def _add(self, key: tuple[int, object], known: Masks) -> None:
        self._left[key] = self._left[key] | known if key in self._left else known

    def take(self, at: object, threads: Offsets) -> None:
        """Let threads know what was left there by others of their cluster."""
        for cluster, some in () if self._settled else self._clusters_of(threads):
            known = self._left.get((cluster, at))
            if known is not None:
                self._learn(some, known)

    def signalled(self, at: object, warps: Offsets, masks: Masks) -> None:
        """Leave what lanes know at a phase of a barrier."""
        if not self._settled:
            self.leave(at, _threads(warps, masks))

    def acquired(self, at: object, warps: Offsets, masks: Masks) -> None:
        """Take for lanes the knowledge left at a phase of a barrier."""
        if not self._settled:
            self.take(at, _threads(warps, masks))

    def strong(self, order: Order, space: Space, offsets: Offsets, warps: Offsets, lanes: Offsets) -> None:
        """Let strong reads of what others have written by strong writes tell of these."""
        threads = (warps * LANES + lanes).tolist()
        accesses = dict.fromkeys(zip(offsets.tolist(), threads, strict=True))  # in the order of the lanes
        for offset, thread in () if self._settled else accesses:
            if order.reads:
                self.take((space, offset), np.array([thread]))
            if order.writes:
                self.leave((space, offset), np.array([thread]))

    def entered(self, work: AsyncOperations, item_ids: NDArray[np.int64]) -> None:
        """Note what those know who issue work; `item_ids` name its operations in later events."""
        for item_id in () if self._settled else np.unique(item_ids).tolist():
            issuers = self._clusters_of((work.warps * LANES + work.lanes)[item_ids == item_id])
            self._issued[item_id] = [(cluster, self._together(some)) for cluster, some in issuers]

    def completed(self, item_id: int, at: object) -> None:
        """Leave at a phase what whoever issued work knew."""
        for cluster, known in self._issued.pop(item_id, ()):
            self._add((cluster, at), known)

    # --- what needs them ------------------------------------------------------------------------

    def accessed(self, kind: AccessKind, offsets: Offsets, warps: Offsets, lanes: Offsets, pc: int) -> None:
        """Check accesses of lanes to shared memory."""
        if not self._settled:
            self._judge(f"remote {_DOES[kind]}", offsets, warps * LANES + lanes, pc)

    def arrived(self, signals: Sequence[Signal], pc: int) -> None:
        """Check arrivals at mbarriers, and leave the knowledge of the lanes there."""
        for each in () if self._settled else signals:  # an mbarrier is of one cluster
            threads = _threads(each.warps, each.masks)
            self._judge("mbarrier.arrive on", np.full(len(threads), each.place), threads, pc)
            self._add((int(self._clusters[threads[0]]), (each.place, each.phase)), self._together(threads))

    def issued(self, work: AsyncOperations) -> None:
        """Judge work that uses shared memory, and mbarriers, of other blocks."""
        threads = work.warps * LANES + work.lanes
        for touch in () if self._settled else work.touches:
            if touch.space == "shared":
                does = "asynchronous write to" if touch.writes else "asynchronous read of"
                self._judge(does, touch.offsets, threads[touch.owners], work.pc)
            if touch.barriers is not None:
                self._judge("asynchronous arrive on", touch.barriers, threads, work.pc)

    def used(self, blocks: Offsets, warps: Offsets, pc: int) -> None:
        """Check an instruction that each warp executes for another CTA as well."""
        if not self._settled:
            what = ".".join(self._view.opcode(pc)[:2])
            known = np.asarray(self._known.reshape(-1, LANES, self._view.cluster_size).any(axis=1))
            self._check_blocks(lambda _: f"{what} for", blocks, warps, known[warps], pc)

    def _judge(self, does: str, offsets: NDArray[Any], threads: Offsets, pc: int) -> None:
        def what(first: int) -> str:
            return f"{does} {self._view.describe('shared', int(offsets[first]))} of"

        self._check_blocks(what, offsets // self._stride, threads // LANES, self._known[threads], pc)

    def _check_blocks(
        self, does: Callable[[int], str], blocks: NDArray[Any], warps: Offsets, known: Masks, pc: int
    ) -> None:
        """Report the first warp that is not ordered after the start of its CTA; `does(i)` describes access i."""
        bad = np.flatnonzero(~known[np.arange(len(blocks)), blocks % self._view.cluster_size])
        if len(bad):
            first = int(bad[0])
            who, block = self._view.warp_name(int(warps[first])), int(blocks[first])
            message = f"{does(first)} {self._view.cta_name(block)}, which may not have started"
            label = f"{'.'.join(self._view.opcode(pc)[:2])} by {who}"
            self._report(_RULE, message, pc, None, label=label, cause="start")


def _threads(warps: Offsets, masks: Masks) -> Offsets:
    """Return the numbers of lanes of warps, by which `Starts` has them."""
    positions, lanes = np.nonzero(masks)
    threads: Offsets = warps[positions] * LANES + lanes
    return threads
