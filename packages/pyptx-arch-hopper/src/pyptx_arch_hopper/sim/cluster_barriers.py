"""`barrier.cluster`: the cluster barrier. Manual: "barrier.cluster"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.extension import WARP, InstructionSemantics

if TYPE_CHECKING:
    from pyptx_sim.extension import ExecutionContext, IntArray, Mask, Operands, Stalled, Terminator, Wave


class ClusterBarriers:
    """`barrier.cluster` of each simulated cluster, with separate arrive and wait."""

    name = "the cluster barrier"
    help = None
    alone = False

    def __init__(self, wave: Wave) -> None:
        """Start each cluster's barrier in phase 0, without arrivals."""
        height, cluster_size = wave.height, wave.geometry.launch.cluster_size
        self._wave = wave
        self._cluster: IntArray = wave.geometry.cta // cluster_size  # cluster index of each warp
        self._arrived: Mask = np.zeros((height, WARP), np.bool_)
        # Whether each lane has arrived at the cluster barrier and not yet waited.
        self._owes: Mask = np.zeros((height, WARP), np.bool_)
        self._phase: IntArray = np.zeros(wave.geometry.ctas // cluster_size, np.int64)
        self._waits_for: IntArray = np.zeros((height, WARP), np.int64)
        wave.exits.append(self.recheck)

    def arrive(self, turn: ExecutionContext, *, relaxed: bool) -> None:
        """Record arrivals of lanes; unless `relaxed`, an arrival releases earlier accesses to the waiting threads."""
        rows, masks = turn.rows, turn.mask
        clusters = self._cluster[rows]
        if turn.observed:
            for cluster in np.unique(self._cluster[turn.warps]).tolist():
                some = turn.narrowed((clusters == cluster)[:, None])
                if some is not None:
                    some.release(ClusterBarriers, cluster, int(self._phase[cluster]), relaxed=relaxed)
        message = "barrier.cluster.arrive executed twice without barrier.cluster.wait"
        self._check_pairs(turn, self._owes[rows] & masks, message)
        self._owes[rows] |= masks
        self._waits_for[rows] = np.where(masks, self._phase[clusters][:, None] + 1, self._waits_for[rows])
        self._arrived[rows] |= masks
        self.recheck()

    def _check_pairs(self, turn: ExecutionContext, wrong: Mask, message: str) -> None:
        if wrong.any():
            row, lane = (int(part[0]) for part in np.nonzero(wrong))
            label = f"executed by {turn.thread_name(int(turn.rows[row]), lane)}"
            help = "pair each barrier.cluster.arrive with one barrier.cluster.wait"
            count = int(np.count_nonzero(wrong))
            self._wave.report("barrier-divergence", message, turn.pc, label=label, help=help, count=count)

    def wait(self, turn: ExecutionContext) -> None:
        """Block lanes until all live threads of their cluster have arrived."""
        rows, masks = turn.rows, turn.mask
        message = "barrier.cluster.wait without a preceding barrier.cluster.arrive"
        self._check_pairs(turn, ~self._owes[rows] & masks, message)
        self._owes[rows] &= ~masks
        turn.stall(self)
        self.recheck()

    def recheck(self) -> None:
        """Complete the phases for which every live thread has arrived, and release the waiting threads."""
        live, clusters = self._wave.live, self._cluster
        if self._arrived.any():
            missing = (live & ~self._arrived).any(1)
            lacking = np.bincount(clusters, weights=missing, minlength=len(self._phase))
            touched = np.bincount(clusters, weights=self._arrived.any(1), minlength=len(self._phase))
            complete = (lacking == 0) & (touched > 0)
            self._phase[complete] += 1
            self._arrived[complete[clusters]] = False
        waiting = self._wave.stalled(self)
        if not len(waiting):
            return
        # Reconverged lanes of one barrier.cluster.wait may wait for different phases.
        warps = waiting.warps
        over = waiting.masks & (self._phase[clusters[warps]][:, None] >= self._waits_for[warps])
        some: Mask = np.asarray(over.any(axis=1))
        if some.any():
            self._release(waiting.chosen(some).of_lanes(over[some]))

    def _release(self, waiting: Stalled) -> None:
        """Resume blocked lanes that wait for a completed phase of their cluster's barrier."""
        clusters = self._cluster[waiting.warps]
        for cluster in np.unique(clusters).tolist():
            waiting.chosen(clusters == cluster).acquire(ClusterBarriers, cluster, int(self._phase[cluster]) - 1)
        waiting.resume()

    def describe(self, warp: int) -> str:
        """Return, as text, how many threads of a blocked warp's cluster have arrived."""
        here = self._cluster == self._cluster[warp]
        live = self._wave.live[here]
        arrived = int(np.count_nonzero(self._arrived[here] & live))
        return f"{arrived} of {int(np.count_nonzero(live))} threads arrived at the cluster barrier"


def _compile(operands: Operands, following: int) -> Terminator:
    relaxed = operands.word("sem") == "relaxed"

    def arrive(turn: ExecutionContext) -> None:
        turn.part(ClusterBarriers).arrive(turn, relaxed=relaxed)

    def wait(turn: ExecutionContext) -> None:
        turn.part(ClusterBarriers).wait(turn)

    return operands.end_once(arrive if operands.word("arrive") else wait, following)


STEPS: Final = (InstructionSemantics(opcode="barrier.cluster", effect="order", end=_compile),)
