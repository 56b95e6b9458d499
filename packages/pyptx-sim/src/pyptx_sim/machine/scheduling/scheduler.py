"""Choice of the next basic block: the block at which most warps wait, without starving other warps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.extension.group import WARPGROUP
from pyptx_sim.machine.lanes import WARP, Lanes, lane_names
from pyptx_sim.machine.scheduling.code import Group
from pyptx_sim.machine.scheduling.warp_splits import PASS, State
from pyptx_sim.numerics.membermasks import LANE_BITS, alike, ballot

if TYPE_CHECKING:
    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.machine.scheduling.code import Block, Code, Gate
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array, Mask

# A warp split that has waited this many scheduler steps runs before the other splits of its warp, even if their basic
# blocks have lower indices.
_STARVED = 64
# _OVERDUE: interval, in scheduler steps, of the search for warp splits whose mbarrier wait has exceeded its time limit.
# _IMPATIENT: probability, per step of a random schedule, that some mbarrier waits return false before their time limit.
_OVERDUE = 64
_IMPATIENT = 0.1
# Probability that a random schedule switches warps although the running warps could continue: 1 at first, so that short
# programs show every interleaving. It halves every _EAGER switches, down to _PREEMPTING, which long kernels can afford.
_EAGER, _PREEMPTING = 12, 1 / 64
# Initial preference of a random schedule for running one warp alone over several warps at the same basic block
# together: an exponent that reduces the share of warps that run.
_BY_ITSELF = 3
# Initial probability that some lanes of the chosen warps run before the others (independent thread scheduling).
_DIVERGING = 0.25
# A random schedule gives each warp a pace (weight), a random number raised to a power: higher powers give more uneven
# paces. Exclusive upper bounds: _PACED of the number of steps between new paces, _POWERS of the power.
_PACED, _POWERS = 32, 3
# States of warp splits that may still arrive at a `Gate`: other warps or other grids may let them continue.
_COMING = (State.READY, State.MBARRIER, State.BARRIER, State.STALLED, State.WARPGROUP)


class Scheduler:
    """Scheduler of the warp splits of one wave.

    Among a warp's splits, the one at the basic block with the lowest index runs first, so that the splits reconverge
    after a branch. Among all blocks, the one with the highest score runs first: the number of warps at the block plus
    the square of the longest wait of its splits, in steps. A spinning majority therefore cannot starve the warp that it
    waits for. With a random generator (random schedule), the block and the warps are random. One step executes one
    basic block.
    """

    __slots__ = (
        *("_code", "_leads", "_named", "_next_look", "_next_paces"),
        *("_paces", "_polls", "_preempted", "_random", "_seeded", "_wave"),
    )

    def __init__(self, wave: Wave, code: Code, random: np.random.Generator | None) -> None:
        """Schedule the warp splits of `wave`, which execute the compiled program `code`."""
        self._wave = wave
        self._code = code
        self._next_look = 0
        self._polls = any(block.polls is not None for block in code)
        self._seeded = self._random = random
        self._preempted = 0
        self._paces = np.ones(wave.height)
        self._leads = np.zeros((wave.height, WARP))
        self._next_paces = 0
        self._named = np.zeros((wave.height, WARP), np.uint32)  # membermask of each waiting lane

    def in_order(self, *, now: bool) -> None:
        """Ignore the random generator while `now` is true, so that the schedule is deterministic."""
        self._random = None if now else self._seeded

    def pick(self) -> tuple[int, Group] | None:
        """Return the index of a basic block and the warp splits that execute it now, or None if no split can run."""
        splits = self._wave.splits
        while True:
            self._advance_others()
            if splits.diverged:
                splits.merge()
                self._open_gates()
                self._take_back_passes()
            ready = splits.ready()
            if not len(ready):
                if not self._unblock():
                    return None
                continue
            ids, block = self._choose(self._awake(ready) if self._polls else ready)
            gate = self._code[block].gate
            if splits.diverged or (gate and gate.varies and self._name_others(gate, self._wave.lanes_of(ids))):
                ids = self._at_gate(ids, block)
            if len(ids) and self._code[block].converges:
                ids = self._with_warpgroups(ids, block)
            if not len(ids):
                continue
            splits.last_run[ids] = self._wave.steps
            return block, Group(ids, self._wave.lanes_of(ids), whole=len(ids) == len(ready))

    def interrupts(self, group: Group, block: Block) -> bool:
        """Return whether other warp splits may have to run before `group` continues with `block`."""
        gate = block.gate
        if block.converges or (gate and (self._wave.splits.diverged or self._name_others(gate, group.lanes))):
            return True  # the scheduler then calls `pick`: lanes may have to wait before `block`
        return (not group.whole and not block.resumes) or (self._random is not None and self._preempts(self._random))

    def _preempts(self, random: np.random.Generator) -> bool:
        """Return whether a random schedule switches warps now, although the running warps could continue."""
        if random.random() >= max(self._eagerness(), _PREEMPTING):
            return False
        self._preempted += 1
        return True

    def _eagerness(self) -> float:
        """Return how strongly a random schedule still interleaves warps: 1 at first, then approaching 0."""
        return float(0.5 ** (self._preempted / _EAGER))

    def _advance_others(self) -> None:
        """Complete asynchronous operations as the schedule selects; resume mbarrier waits past their time limit."""
        wave = self._wave
        if wave.engine.busy:
            wave.engine.turn()
        if not wave.mbarriers.parked:
            return
        if wave.steps >= self._next_look:
            self._next_look = wave.steps + _OVERDUE
            wave.mbarriers.let_overdue_go()
        if self._random is not None and self._random.random() < _IMPATIENT:
            waiting = wave.mbarriers.waiting()
            wave.mbarriers.let_go(waiting[self._random.random(len(waiting)) < self._random.random()])

    def _unblock(self) -> bool:
        """Make a warp split ready when none is, or complete an operation; return False if nothing can continue."""
        mbarriers = self._wave.mbarriers
        engine = self._wave.engine
        if self._force_gates(_COMING) or engine.complete_awaited(mbarriers.awaited()):
            return True
        if bool((self._wave.splits.state == State.STALLED).any()) and engine.complete_all():
            return True
        mbarriers.in_vain += 1
        if mbarriers.parked and mbarriers.let_go(mbarriers.waiting()):
            return True
        return not self._wave.machine.grids.pending and self.force_gates()

    def _awake(self, ready: IntArray) -> IntArray:
        """Return the splits of `ready` that do not poll unchanged memory (parked); if all do, return `ready`.

        Parked splits count as having run.
        """
        splits = self._wave.splits
        parked = splits.parked[ready] == self._wave.version
        if not parked.any() or parked.all():
            return ready
        splits.last_run[ready[parked]] = self._wave.steps
        awake: IntArray = ready[~parked]
        return awake

    def _choose(self, ready: IntArray) -> tuple[IntArray, int]:
        splits = self._wave.splits
        ids = self._one_per_warp(ready) if splits.diverged else ready
        blocks = splits.block[ids]
        if self._random is not None:
            return self._choose_randomly(ids, blocks, self._random)
        first = int(blocks[0])
        if (blocks == first).all():
            return ids, first
        order = blocks.argsort(kind="stable")
        there = blocks[order]
        starts = np.flatnonzero(np.append(True, there[1:] != there[:-1]))
        waited = self._wave.steps - np.minimum.reduceat(splits.last_run[ids[order]], starts)
        best = (np.diff(starts, append=len(ids)) + waited * waited).argmax()
        block = int(there[starts[best]])
        return ids[blocks == block], block

    def _choose_randomly(self, ids: IntArray, blocks: IntArray, random: np.random.Generator) -> tuple[IntArray, int]:
        """Return some warp splits at one basic block, and the block: that of a split drawn by its warp's pace."""
        self._draw_paces(random)
        paces = self._paces[self._wave.splits.warp[ids]].cumsum()
        first = min(int(paces.searchsorted(random.random() * paces[-1])), len(ids) - 1)
        block = int(blocks[first])
        there = ids[blocks == block]
        share = random.random() ** (1 + _BY_ITSELF * self._eagerness())
        some = there[random.random(len(there)) < share]
        chosen = some if len(some) else ids[[first]]
        if self._code[block].may_diverge and random.random() < _DIVERGING * self._eagerness():
            self._diverge(chosen, block, random)
        return chosen, block

    def _draw_paces(self, random: np.random.Generator) -> None:
        """Draw new paces (weights) of warps and ranks of warp splits (by first lane) after a random number of steps."""
        if self._wave.steps >= self._next_paces:
            self._next_paces = self._wave.steps + int(random.integers(1, _PACED))
            self._paces = random.random(self._wave.height) ** random.integers(_POWERS)
            self._leads = random.random((self._wave.height, WARP))

    def _diverge(self, ids: IntArray, block: int, random: np.random.Generator) -> None:
        """Divide warp splits `ids` at random; the lanes that do not run now form new splits at the same basic block."""
        splits = self._wave.splits
        stays = splits.mask[ids] & (random.random((len(ids), WARP)) < random.random())
        both = stays.any(axis=1) & (splits.mask[ids] & ~stays).any(axis=1)
        if both.any():
            splits.divide(ids[both], stays[both], block)

    def _one_per_warp(self, ready: IntArray) -> IntArray:
        splits = self._wave.splits
        rank = splits.block[ready].copy()
        rank[self._wave.steps - splits.last_run[ready] > _STARVED] = -1
        if self._random is not None:
            self._draw_paces(self._random)
            rank = self._leads[splits.warp[ready], splits.mask[ready].argmax(axis=1)]
        order = np.lexsort((rank, splits.warp[ready]))
        ids = ready[order]
        warps = splits.warp[ids]
        leading = np.ones(len(ids), np.bool_)
        leading[1:] = warps[1:] != warps[:-1]
        return ids[leading]

    # --- gates ----------------------------------------------------------------------------------

    def _gate(self, split: int) -> Gate | None:
        return self._code[int(self._wave.splits.block[split])].gate

    def _name_others(self, gate: Gate, lanes: Lanes) -> bool:
        """Return whether the membermask of one of `lanes` includes another of `lanes` with a different membermask."""
        named = gate.masks(self._wave, lanes) if gate.varies else None
        if named is None or named.shape[1] == 1:
            return False
        mask = lanes.full_mask
        return bool((mask & (named & ballot(mask) & ~alike(named, mask) != 0)).any())

    def _at_gate(self, ids: IntArray, block: int) -> IntArray:
        """Stall lanes at the `Gate` before `block` until all lanes of their membermasks have arrived there.

        Return the splits that may execute `block` now. If the lanes of a split have different membermasks, only some
        lanes may.
        """
        gate = self._code[block].gate
        if gate is None:
            return ids
        splits, wave = self._wave.splits, self._wave
        warps, masks = splits.warp[ids], splits.mask[ids]
        named = gate.masks(wave, Lanes(warps, masks, len(ids), whole=False))
        if named.shape[1] == 1 and not splits.diverged:
            splits.key[ids] = -1
            return ids  # all live lanes have arrived with the same membermask
        lacking = masks & ((named & ballot(wave.live[warps]) & ~alike(named, masks)) != 0)
        lacking[splits.key[ids] == PASS] = False
        splits.key[ids] = -1
        some = lacking.any(axis=1)
        if not some.any():
            return ids
        self._named[warps] = np.where(masks, named, self._named[warps])
        waiting = splits.taken_out(ids[some], lacking[some])
        splits.state[waiting] = State.GATE
        splits.site[waiting] = self._code[block].first
        passing: IntArray = ids[splits.state[ids] == State.READY]
        return passing

    def _with_warpgroups(self, ids: IntArray, block: int) -> IntArray:
        """Stall warp splits before `block` until their warpgroup has arrived; return splits of complete warpgroups."""
        splits, groups = self._wave.splits, self._wave.geometry.warpgroups
        splits.state[ids] = State.WARPGROUP
        splits.site[ids] = self._code[block].first
        here = np.flatnonzero((splits.state == State.WARPGROUP) & (splits.block == block))
        found = groups.of[splits.warp[here]]
        present = np.bincount(found[found >= 0], minlength=groups.count)
        complete: IntArray = here[(found >= 0) & (present[found] == WARPGROUP)]
        splits.state[complete] = State.READY
        return complete[np.argsort(splits.warp[complete], kind="stable")]

    def _open_gates(self) -> None:
        """Resume lanes that wait at a `Gate` if all other lanes of their membermasks have arrived or exited."""
        splits = self._wave.splits
        waiting = np.flatnonzero(splits.state == State.GATE)
        if not len(waiting):
            return
        warps, masks = splits.warp[waiting], splits.mask[waiting]
        present = alike(self._named[warps], masks).copy()
        self._add_rendezvous(waiting, present)
        lacking = (self._named[warps] & ballot(self._wave.live[warps]) & ~present) != 0
        opened = masks & ~lacking
        for position in np.flatnonzero(opened.any(axis=1)).tolist():
            passing = splits.taken_out(waiting[[position]], opened[[position]])
            splits.state[passing] = State.READY
            splits.key[passing] = PASS
        if (masks & lacking).any():
            self._force_gates(_COMING)

    def _take_back_passes(self) -> None:
        """Clear unused `PASS` keys of warp splits when all warps have reconverged: then gates are not checked."""
        splits = self._wave.splits
        if not splits.diverged:
            splits.key[splits.key == PASS] = -1

    def _add_rendezvous(self, waiting: IntArray, present: Array) -> None:
        """Count lanes at one `bar.warp.sync` as present at all `bar.warp.sync` of the warp with the same membermask.

        `present`: the present lanes as bits, for each lane of each waiting split.
        """
        splits = self._wave.splits
        gates = [self._gate(int(split)) for split in waiting]
        meeting = np.flatnonzero([gate is not None and gate.rendezvous for gate in gates])
        for warp in np.unique(splits.warp[waiting[meeting]]).tolist():
            here = meeting[splits.warp[waiting[meeting]] == warp]
            masks, named = splits.mask[waiting[here]], self._named[warp]
            there = masks.any(axis=0)
            # for each lane: mask of the arrived lanes that have its membermask
            together = ballot((named[:, None] == named) & there)[:, 0]
            present[here] = together
            whole = there & ((named & ballot(self._wave.live[[warp]])[0] & ~together) == 0)
            self._report_rendezvous(warp, masks, named, whole, int(splits.site[waiting[here[0]]]))

    def _report_rendezvous(self, warp: int, masks: Mask, named: Array, whole: Mask, pc: int) -> None:
        """Notify observers of lanes of `warp` that synchronize at different `bar.warp.sync` instructions."""
        observers = self._wave.machine.observers
        if not observers.active:
            return
        for value in np.unique(named[whole]).tolist():
            group = whole & (named == value)
            if np.count_nonzero((masks & group).any(axis=1)) > 1:
                observers.warp_sync(np.array([warp], np.int64), group[None], pc)

    def force_gates(self) -> bool:
        """Resume splits that wait at a `Gate` for lanes that can never arrive; return False without such splits."""
        return self._force_gates((State.READY, State.MBARRIER))

    def _force_gates(self, coming: tuple[int, ...]) -> bool:
        """Report and resume splits that wait at a `Gate` for lanes that cannot arrive.

        Lanes cannot arrive if no split of the warp has a state of `coming`.
        """
        splits = self._wave.splits
        waiting = np.flatnonzero(splits.state == State.GATE)
        if not len(waiting):
            return False
        moving = np.zeros(self._wave.height, np.bool_)
        moving[splits.warp[np.isin(splits.state, coming)]] = True
        stuck = waiting[~moving[splits.warp[waiting]]]
        if not len(stuck):
            return False
        _, first = np.unique(splits.warp[stuck], return_index=True)
        for split in stuck[first].tolist():
            warp, mask = int(splits.warp[split]), splits.mask[split]
            named = np.bitwise_or.reduce(self._named[warp][mask])
            missing = ((named & LANE_BITS) != 0) & self._wave.live[warp] & ~mask
            site = int(splits.site[split])
            form = self._wave.machine.program.forms[site]
            which = f"{lane_names(missing)} of {self._wave.geometry.warp_name(warp)}"
            do = "does" if np.count_nonzero(missing) == 1 else "do"
            if form is not None and "aligned" in form.words:
                message, lanes = f"{which} {do} not reach this .aligned instruction", "all 32 lanes of the warp"
            else:
                message = f"membermask names {which}, which {do} not reach this instruction"
                lanes = "all lanes named in the membermask"
            self._wave.machine.log.report(
                "membermask-mismatch",
                message,
                site,
                help=f"execute the instruction with {lanes}",
                count=int(np.count_nonzero(missing)),
                cause=(self._wave.forced.setdefault(warp, site), "membermask-mismatch"),
            )
        splits.state[stuck[first]] = State.READY
        splits.key[stuck[first]] = PASS
        return True
