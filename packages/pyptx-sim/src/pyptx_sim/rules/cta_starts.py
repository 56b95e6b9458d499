"""`cluster-cta-not-started`: accesses to shared memory of a CTA of the cluster that may not have started.

CTAs of a cluster run together but need not start together. Before a thread of a CTA has executed an instruction, the
CTA's shared memory may not exist. A thread knows that a CTA has started if it has observed anything that a thread of
the CTA did, however relaxed: an arrival at a cluster barrier or an mbarrier, a flag, a completed copy. Manual:
"barrier.cluster", "Shared State Space"; CUDA programming guide, "Distributed Shared Memory".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.happens_before.lane_masks import LANES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pyptx_sim.observer import AccessKind, AsyncOperations, Masks, Offsets, Order, RunView, Signal, Space
    from pyptx_sim.rules.async_races import Report

__all__ = ["Starts"]

_RULE: Final = "cluster-cta-not-started"
_DOES: Final = {"read": "read of", "strong-read": "read of", "write": "write to", "atomic": "atomic update of"}


class Starts:
    """Per thread of a wave of CTAs: the CTAs of its cluster, by rank, that it knows to have started."""

    def __init__(self, view: RunView, report: Report) -> None:
        """Check the run that `view` describes; every thread knows that its own CTA has started."""
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
        """Start the next wave of CTAs, in which each thread knows only its own CTA."""
        self._known = self._own.copy()
        self._settled = self._view.cluster_size == 1
        # Masks of the CTAs known to have started. `_left`: by cluster, and barrier phase or memory location; `_issued`:
        # by item id of asynchronous operations.
        self._left: dict[tuple[int, object], Masks] = {}
        self._issued: dict[int, list[tuple[int, Masks]]] = {}

    # --- events that pass on known starts -------------------------------------------------------

    def _clusters_of(self, threads: Offsets) -> Iterator[tuple[int, Offsets]]:
        """Yield each cluster with those of `threads` that belong to it."""
        clusters = self._clusters[threads]
        if len(threads) and (clusters == clusters[0]).all():
            yield int(clusters[0]), threads
            return
        for cluster in np.unique(clusters).tolist():
            yield cluster, threads[clusters == cluster]

    def meet(self, warps: Offsets, masks: Masks, generations: Offsets) -> None:
        """Synchronize lanes with equal `generations`, all in one cluster: each then knows the started CTAs of all."""
        if not self._settled:
            found, which = np.unique(generations, return_inverse=True)
            known = self._known.reshape(-1, LANES, self._view.cluster_size)
            together = np.zeros((len(found), known.shape[2]), np.bool_)
            np.logical_or.at(together, which, (known[warps] & masks[:, :, None]).any(axis=1))
            known[warps] |= masks[:, :, None] & together[which][:, None]
            self._settled = bool(known.all())

    def _together(self, threads: Offsets) -> Masks:
        """Return the mask of the CTAs that any of `threads` knows to have started."""
        return np.asarray(self._known[threads].any(axis=0))

    def _learn(self, threads: Offsets, known: Masks) -> None:
        self._known[threads] |= known
        self._settled = bool(self._known.all())

    def leave(self, at: object, threads: Offsets) -> None:
        """Store the CTAs that threads know to have started, at a barrier phase or a memory location."""
        for cluster, some in () if self._settled else self._clusters_of(threads):
            self._add((cluster, at), self._together(some))

    def _add(self, key: tuple[int, object], known: Masks) -> None:
        self._left[key] = self._left[key] | known if key in self._left else known

    def take(self, at: object, threads: Offsets) -> None:
        """Mark CTAs as started for `threads` if threads of the same cluster have stored them at a phase or location."""
        for cluster, some in () if self._settled else self._clusters_of(threads):
            known = self._left.get((cluster, at))
            if known is not None:
                self._learn(some, known)

    def signalled(self, at: object, warps: Offsets, masks: Masks) -> None:
        """Store the CTAs that arriving lanes know to have started, at a barrier phase."""
        if not self._settled:
            self.leave(at, _threads(warps, masks))

    def acquired(self, at: object, warps: Offsets, masks: Masks) -> None:
        """Mark CTAs as started for waiting lanes, if arriving lanes have stored them at a barrier phase."""
        if not self._settled:
            self.take(at, _threads(warps, masks))

    def strong(self, order: Order, space: Space, offsets: Offsets, warps: Offsets, lanes: Offsets) -> None:
        """Pass on which CTAs have started, from strong writes to strong reads of the same location."""
        threads = (warps * LANES + lanes).tolist()
        accesses = dict.fromkeys(zip(offsets.tolist(), threads, strict=True))  # unique (offset, thread), in lane order
        for offset, thread in () if self._settled else accesses:
            if order.reads:
                self.take((space, offset), np.array([thread]))
            if order.writes:
                self.leave((space, offset), np.array([thread]))

    def entered(self, work: AsyncOperations, item_ids: NDArray[np.int64]) -> None:
        """Store the CTAs that issuing threads know to have started; `item_ids` name the operations in later events."""
        for item_id in () if self._settled else np.unique(item_ids).tolist():
            issuers = self._clusters_of((work.warps * LANES + work.lanes)[item_ids == item_id])
            self._issued[item_id] = [(cluster, self._together(some)) for cluster, some in issuers]

    def completed(self, item_id: int, at: object) -> None:
        """Store the CTAs that the threads which issued an operation knew to have started, at an mbarrier phase."""
        for cluster, known in self._issued.pop(item_id, ()):
            self._add((cluster, at), known)

    # --- accesses to other CTAs -----------------------------------------------------------------

    def accessed(self, kind: AccessKind, offsets: Offsets, warps: Offsets, lanes: Offsets, pc: int) -> None:
        """Check accesses of lanes to shared memory."""
        if not self._settled:
            self._judge(f"remote {_DOES[kind]}", offsets, warps * LANES + lanes, pc)

    def arrived(self, signals: Sequence[Signal], pc: int) -> None:
        """Check arrivals at mbarriers, and store the CTAs that the arriving lanes know to have started."""
        for each in () if self._settled else signals:  # the arriving threads of a signal are of one cluster
            threads = _threads(each.warps, each.masks)
            self._judge("mbarrier.arrive on", np.full(len(threads), each.place), threads, pc)
            self._add((int(self._clusters[threads[0]]), (each.place, each.phase)), self._together(threads))

    def issued(self, work: AsyncOperations) -> None:
        """Check asynchronous accesses to shared memory, and completions on mbarriers, of other CTAs."""
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
        """Report the first access to a CTA that is not known to have started; `does(i)` describes access i.

        `known` has a mask of known CTAs per access.
        """
        bad = np.flatnonzero(~known[np.arange(len(blocks)), blocks % self._view.cluster_size])
        if len(bad):
            first = int(bad[0])
            who, block = self._view.warp_name(int(warps[first])), int(blocks[first])
            message = f"{does(first)} {self._view.cta_name(block)}, which may not have started"
            label = f"{'.'.join(self._view.opcode(pc)[:2])} by {who}"
            self._report(_RULE, message, pc, None, label=label, cause="start")


def _threads(warps: Offsets, masks: Masks) -> Offsets:
    """Return the numbers of lanes `masks` of `warps` in the wave: 32 * warp + lane."""
    positions, lanes = np.nonzero(masks)
    threads: Offsets = warps[positions] * LANES + lanes
    return threads
