"""`mbarrier`. Manual: "Parallel Synchronization and Communication Instructions: mbarrier"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.syntax.operands import Sink
from pyptx_sim.errors import MissingSemantics
from pyptx_sim.instructions.memory.addresses import shared_target
from pyptx_sim.instructions.synchronization.threads import Threads, by_offset, in_shared, users_by_offset
from pyptx_sim.machine.barriers.mbarrier_object import BYTES, pending_of, phase_of
from pyptx_sim.machine.barriers.mbarriers import GIVES_UP, Arriving, Wait
from pyptx_sim.machine.lanes import WARP, by_warp, distinct
from pyptx_sim.machine.memory.access import Access
from pyptx_sim.program.answers import answer_is_read

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.instructions.memory.addresses import Target
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Action, Group, Terminator
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.observer import Signal
    from pyptx_sim.operation import Mask

ACCESS = Access("atomic", BYTES, strong=True)
# Modifiers of PTX 9.3 for mbarrier objects whose layout the manual does not specify; the simulator rejects them.
_PHASE_TYPES = ("phase_type::primary", "phase_type::conditional")


def barrier_target(operands: Operands) -> Target:
    """Return a `Target` for the mbarrier operand of an instruction."""
    return shared_target(operands, operands.named("addr"))


def _refuse_newer(operands: Operands) -> None:
    layout = operands.word("layout")
    word = layout if layout == "layout::v1" else next(filter(None, map(operands.word, _PHASE_TYPES)), "")
    if word:
        raise MissingSemantics(
            f"no simulator semantics for mbarrier with .{word}",
            help="use the mbarrier opcode without the modifiers .layout and .phase_type",
        )


def compile_init(operands: Operands) -> Action:
    """Compile `mbarrier.init`: initialize an mbarrier with an arrival count."""
    _refuse_newer(operands)
    find, read = barrier_target(operands), operands.read(operands.named("count"), "u32")

    def step(wave: Wave, lanes: Lanes) -> None:
        for part, threads in in_shared(wave, lanes, find, ACCESS, "mbarrier"):
            counts = threads.read(read, wave, part).tolist()
            for offset, expected, thread in zip(threads.offsets.tolist(), counts, threads.numbers, strict=True):
                wave.mbarriers.init(offset, expected, thread, wave.pc)

    return step


def compile_inval(operands: Operands) -> Action:
    """Compile `mbarrier.inval`: invalidate an mbarrier."""
    find = barrier_target(operands)

    def step(wave: Wave, lanes: Lanes) -> None:
        for _, threads in in_shared(wave, lanes, find, ACCESS, "mbarrier"):
            for offset, thread in zip(threads.offsets.tolist(), threads.numbers, strict=True):
                wave.mbarriers.invalidate(offset, thread, wave.pc)

    return step


def compile_arrive(operands: Operands) -> Action:
    """Compile `mbarrier.arrive` or `arrive_drop`; with `.expect_tx`, first increase the tx-count."""
    _refuse_multicast(operands)
    find, scope = barrier_target(operands), _scope(operands)
    state, given = operands.given("state"), operands.given("tx_count") or operands.given("count")
    last = None if given is None else operands.read(given, "u32")
    write = None if state is None or isinstance(state, Sink) else operands.write(state, "b64")
    expects, drops, stays = (bool(operands.word(word)) for word in ("expect_tx", "arrive_drop", "noComplete"))
    releases = operands.word("sem") != "relaxed"

    def step(wave: Wave, lanes: Lanes) -> None:
        states, observers = np.zeros((lanes.height, WARP), np.uint64), wave.machine.observers
        signals: list[Signal] | None = [] if observers.active else None
        for part, threads in in_shared(wave, lanes, find, ACCESS, "mbarrier"):
            ones = np.ones(len(threads), np.int64)
            amounts = ones if last is None else threads.read(last, wave, part)
            for offset, index in by_offset(threads):
                if expects:
                    wave.mbarriers.expect(offset, int(amounts[index].sum()), wave.pc)
                counts = (ones if expects else amounts)[index].tolist()
                arriving = Arriving(threads.warps[index], threads.columns[index], signals)
                before = wave.mbarriers.arrive(offset, counts, wave.pc, arriving, drops=drops, stays=stays)
                states[threads.positions[index], threads.columns[index]] = before
        if signals:
            observers.signalled_together(signals, wave.pc, scope=scope, releases=releases)
        if write is not None:
            write(wave, lanes, states)

    return step


def _scope(operands: Operands) -> str:
    """Return the memory scope of an mbarrier arrival or wait, by default `cta`."""
    return operands.word("scope") or "cta"


def _refuse_multicast(operands: Operands) -> None:
    if operands.word("multicast::cluster::32b"):
        raise MissingSemantics("no simulator semantics for multicast mbarrier.arrive")


def compile_transactions(operands: Operands) -> Action:
    """Compile `mbarrier.expect_tx` or `complete_tx`: increase or decrease the tx-count of an mbarrier."""
    _refuse_multicast(operands)
    find, read = barrier_target(operands), operands.read(operands.named("tx_count"), "u32")
    completes = operands.word("complete_tx")

    def step(wave: Wave, lanes: Lanes) -> None:
        act = wave.mbarriers.complete if completes else wave.mbarriers.expect
        for part, threads in in_shared(wave, lanes, find, ACCESS, "mbarrier"):
            amounts = threads.read(read, wave, part).tolist()
            for offset, count in zip(threads.offsets.tolist(), amounts, strict=True):
                act(offset, count, wave.pc)

    return step


def compile_pending_count(operands: Operands) -> Action:
    """Compile `mbarrier.pending_count`: extract the pending count from an mbarrier state."""
    write, read = operands.write(operands.named("count"), "u32"), operands.read(operands.named("state"), "u64")
    return lambda wave, lanes: write(wave, lanes, pending_of(read(wave, lanes)).astype(np.uint32))


def compile_check_layout(operands: Operands) -> Action:
    """Compile `mbarrier.check_layout`: always true, as the simulator supports only the default mbarrier layout."""
    _refuse_newer(operands)
    write = operands.write(operands.named("p"), "pred")
    return lambda wave, lanes: write(wave, lanes, np.ones((1, 1), np.bool_))


# --- waits --------------------------------------------------------------------------------------


def compile_wait(operands: Operands, following: int) -> Terminator:
    """Compile `test_wait` or `try_wait`: test whether an mbarrier phase is complete.

    A warp split whose phase is incomplete first suspends (parks), as the manual permits for `try_wait`.
    """
    _refuse_newer(operands)
    parity = operands.given("parity")
    phase = operands.named("state") if parity is None else parity
    wait = _Waiting(
        find=barrier_target(operands),
        read=operands.read(phase, "u64" if parity is None else "u32"),
        write=operands.write(operands.named("p"), "pred"),
        parity=parity is not None,
        acquires=operands.word("sem") != "relaxed",
        scope=_scope(operands),
        following=following,
    )
    guard = operands.guard()
    unread = operands.checked and not answer_is_read(operands.program, operands.pc)

    def test(wave: Wave, group: Group) -> int | None:
        lanes = group.lanes if guard is None else group.lanes.narrowed(guard(wave, group.lanes))
        if lanes is None:
            return following
        if unread and wave.machine.checked:
            _report_unread(wave, operands)
        return wait.test(wave, group, lanes)

    return test


def _report_unread(wave: Wave, operands: Operands) -> None:
    wave.report(
        "unchecked-mbarrier-wait",
        f"result of {'.'.join(operands.opcode[:2])} is unused; the phase may be incomplete",
        wave.pc,
        help="loop until the predicate is true",
    )


def _never(warp: int, offset: int) -> bool:
    del warp, offset
    return False


class _Waiting:
    """Execution of one `mbarrier.test_wait` or `mbarrier.try_wait` instruction."""

    def __init__(
        self, *, find: Target, read: Reader, write: Writer, parity: bool, acquires: bool, scope: str, following: int
    ) -> None:
        self._find = find
        self._read = read
        self._write = write
        self._parity = parity
        self._acquires = acquires
        self._scope = scope
        self._following = following

    def test(self, wave: Wave, group: Group, lanes: Lanes) -> int | None:
        """Write the predicate of warp splits whose phase is complete or time limit has expired; park the other splits.

        With delayed completion, the first unsuccessful test of a wait returns false, as the manual permits.
        """
        done = lanes.full_mask.copy()
        parked: dict[int, int] = {}  # key: a warp to suspend (park); value: offset of the mbarrier that it waits for
        splits = wave.splits
        giving_up = set(splits.warp[group.ids[splits.key[group.ids] == GIVES_UP]].tolist())
        first_asked = wave.mbarriers.first_asked if wave.machine.delay_async else _never
        for part, threads in in_shared(wave, lanes, self._find, ACCESS, "mbarrier"):
            answers = self._answers(wave, part, threads)
            done[threads.positions, threads.columns] = answers
            self._note(wave, threads, answers)
            failing = distinct(threads.warps[~answers])
            failing = failing[~np.isin(failing, threads.warps[answers])]
            warps, first = np.unique(threads.warps, return_index=True)
            asked = dict(zip(warps.tolist(), threads.offsets[first].tolist(), strict=True))
            places = [(warp, asked[warp]) for warp in failing.tolist() if warp not in giving_up]
            parked.update(place for place in places if not first_asked(*place))
        splits.key[group.ids] = -1
        return self._go_on(wave, group, lanes, done, parked)

    def _answers(self, wave: Wave, lanes: Lanes, threads: Threads) -> Mask:
        phases = threads.read(self._read, wave, lanes)
        answers = np.zeros(len(threads), np.bool_)
        observers, mbarriers = wave.machine.observers, wave.mbarriers
        users = users_by_offset(threads) if observers.active else {}
        everywhere = distinct(phases).tolist()
        for offset, index in by_offset(threads):
            if users:
                observers.barrier_used(offset, *users[offset], wave.pc)
            values = everywhere if len(everywhere) == 1 else distinct(phases[index]).tolist()
            for value in values:
                same = index if len(values) == 1 else index[phases[index] == value]
                phase = value & 1 if self._parity else phase_of(value)  # ptxas keeps only bit 0 of the parity
                if not mbarriers.test(offset, phase, wave.pc, parity=self._parity):
                    continue
                answers[same] = True
                mbarriers.note_seen(offset, threads.warps[same].tolist(), wave.pc)
                if users:
                    seen = users[offset] if same is index else by_warp(threads.warps[same], threads.columns[same])
                    mbarriers.acquire(offset, *seen, wave.pc, self._scope, acquires=self._acquires)
        return answers

    def _note(self, wave: Wave, threads: Threads, answers: Mask) -> None:
        """Record the unsuccessful mbarrier waits of warps (`Mbarriers.waits`), for deadlock reports."""
        waits = wave.mbarriers.waits
        for warp in distinct(threads.warps[answers]).tolist():
            waits.pop(warp, None)
        warps, first = np.unique(threads.warps[~answers], return_index=True)
        for warp, offset in zip(warps.tolist(), threads.offsets[~answers][first].tolist(), strict=True):
            phase, before = wave.mbarriers.phase(offset), waits.get(warp)
            again = before is not None and (before.offset, before.phase, before.pc) == (offset, phase, wave.pc)
            waits[warp] = before if before is not None and again else Wait(offset, phase, wave.pc, wave.steps)

    def _go_on(self, wave: Wave, group: Group, lanes: Lanes, done: Mask, parked: dict[int, int]) -> int | None:
        if not parked:
            self._write(wave, lanes, done)
            return self._following
        splits, ids = wave.splits, group.ids
        waits = np.isin(splits.warp[ids], list(parked))
        going = lanes.narrowed(~np.isin(lanes.row_numbers(), list(parked))[:, None])
        if going is not None:
            self._write(wave, going, done)
        splits.block[ids[~waits]] = self._following
        parking = ids[waits]
        keys: IntArray = np.array([parked[warp] for warp in splits.warp[parking].tolist()], np.int64)
        wave.mbarriers.park(parking, keys)
        return None
