"""`barrier.cluster`: the barrier at which the blocks of a cluster meet. Manual: "barrier.cluster"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.extension import Step
from pyptx_sim.machine.lanes import WARP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.scheduling.code import Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Mask


class ClusterBarriers:
    """The barrier of each cluster of a wave, with split arrive and wait."""

    name = "the cluster's barrier"
    hint = None
    alone = False

    def __init__(self, wave: Wave) -> None:
        """Begin with nobody arrived."""
        height = wave.height
        self._wave = wave
        self._arrived: Mask = np.zeros((height, WARP), np.bool_)
        self._owes: Mask = np.zeros((height, WARP), np.bool_)  # threads that have arrived, and have not waited yet
        self._phase: IntArray = np.zeros(wave.geometry.ctas // wave.geometry.launch.cluster_size, np.int64)
        self._waits_for: IntArray = np.zeros((height, WARP), np.int64)
        wave.exits.append(self.recheck)

    def _cluster(self, warps: IntArray) -> IntArray:
        clusters: IntArray = self._wave.geometry.cta[warps] // self._wave.geometry.launch.cluster_size
        return clusters

    def _place(self, cluster: int) -> int:
        return self._wave.place((ClusterBarriers, cluster))

    def arrive(self, ids: IntArray, *, releases: bool) -> None:
        """Count the lanes of splits `ids` as arrived; `releases`: what they did is visible to whoever waits."""
        splits = self._wave.splits
        warps, masks = splits.warp[ids], splits.mask[ids]
        if self._wave.machine.observers.active:
            scope = "cluster" if releases else None
            for cluster, some in self._by_cluster(ids):
                phase, arrived = int(self._phase[cluster]), splits.lanes(some)
                self._wave.machine.observers.signal(self._place(cluster), phase, *arrived, self._wave.pc, scope=scope)
        self._check_pairs(self._owes[warps] & masks, "arrives twice at the cluster's barrier without waiting")
        self._owes[warps] |= masks
        phases = self._phase[self._cluster(warps)]
        self._waits_for[warps] = np.where(masks, phases[:, None] + 1, self._waits_for[warps])
        self._arrived[warps] |= masks
        self.recheck()

    def _check_pairs(self, wrong: Mask, what: str) -> None:
        if wrong.any() and self._wave.machine.checked:
            self._wave.machine.log.report(
                "barrier-divergence",
                f"a thread {what}",
                self._wave.pc,
                hint="pair each barrier.cluster.arrive with one barrier.cluster.wait",
                count=int(np.count_nonzero(wrong)),
            )

    def wait(self, ids: IntArray) -> None:
        """Let splits `ids` wait until all threads of their cluster have arrived."""
        splits = self._wave.splits
        warps, masks = splits.warp[ids], splits.mask[ids]
        self._check_pairs(~self._owes[warps] & masks, "waits at the cluster's barrier without having arrived")
        self._owes[warps] &= ~masks
        self._wave.stall(ids, self)
        self.recheck()

    def recheck(self) -> None:
        """Complete the phases for which every live thread has arrived, and release who waits."""
        wave = self._wave
        splits = wave.splits
        if self._arrived.any():
            clusters = self._cluster(np.arange(wave.height))
            missing = (wave.live & ~self._arrived).any(1)
            lacking = np.bincount(clusters, weights=missing, minlength=len(self._phase))
            touched = np.bincount(clusters, weights=self._arrived.any(1), minlength=len(self._phase))
            complete = (lacking == 0) & (touched > 0)
            self._phase[complete] += 1
            self._arrived[complete[clusters]] = False
        waiting = wave.stalled(self)
        if not len(waiting):
            return
        warps = splits.warp[waiting]
        wanted = np.where(splits.mask[waiting], self._waits_for[warps], 0).max(axis=1)
        released = waiting[self._phase[self._cluster(warps)] >= wanted]
        if len(released):
            if wave.machine.observers.active:
                self._tell_released(wanted[np.isin(waiting, released)] - 1, released)
            wave.resume(released)

    def _tell_released(self, phases: IntArray, ids: IntArray) -> None:
        """Tell the observers who has seen which phase complete."""
        splits = self._wave.splits
        pc = int(splits.site[ids[0]])
        for cluster, some in self._by_cluster(ids):
            phase = int(phases[ids == some[0]][0])
            self._wave.machine.observers.acquire(self._place(cluster), phase, *splits.lanes(some), pc, scope="cluster")

    def _by_cluster(self, ids: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Yield each cluster with those of splits `ids` that are of it."""
        clusters = self._cluster(self._wave.splits.warp[ids])
        for cluster in np.unique(clusters).tolist():
            yield cluster, ids[clusters == cluster]

    def describe(self, split: int) -> str:
        """Return how many threads of a waiting split's cluster have arrived."""
        wave = self._wave
        cluster = self._cluster(wave.splits.warp[[split]])[0]
        here = self._cluster(np.arange(wave.height)) == cluster
        arrived = int(np.count_nonzero(self._arrived[here] & wave.live[here]))
        return f"barrier.cluster: {arrived} of {int(np.count_nonzero(wave.live[here]))} threads arrived"


def _compile(operands: Operands, following: int) -> Terminator:
    opcode = operands.opcode
    arrives, releases = "arrive" in opcode, "relaxed" not in opcode

    def pass_barrier(wave: Wave, group: Group) -> int | None:
        wave.splits.block[group.ids] = following
        barriers = wave.part(ClusterBarriers)
        if arrives:
            barriers.arrive(group.ids, releases=releases)
        else:
            barriers.wait(group.ids)
        return None

    return pass_barrier


STEPS: Final = (Step(opcode="barrier.cluster", effect="order", end=_compile, converges=""),)
