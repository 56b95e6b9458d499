"""Order of accesses to the registers of wgmma.mma_async. Manual: "wgmma.fence", "wgmma.wait_group".

A wgmma.fence of the warp orders an ordinary access to a register before a wgmma.mma_async that uses it. A
wgmma.wait_group orders the MMA before the next ordinary access. MMAs of one shape may add to the same accumulator in
order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pyptx_arch_hopper.sim.wgmma.described import WGMMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyptx_sim.extension import ExecutionContext, IntArray, Mask, Severity, Wave


FENCE_RULE = "missing-wgmma-fence"
WAIT_RULE = "wgmma-register-before-wait"
_FENCE_HELP = "put wgmma.fence between the register access and wgmma.mma_async"
_FIRST_FENCE_HELP = "put wgmma.fence before the first wgmma.mma_async"
_WAIT = "wgmma.commit_group and wgmma.wait_group before the access"
_ADDS = 1
_READS = 2


class _Hazard(NamedTuple):
    """Finding for a kind of access to a register of an outstanding MMA: severity, message, label and help."""

    severity: Severity
    message: str
    label: str
    help: str


# Behavior of ptxas 12.9, 13.0 and 13.5: docs/hopper.md, "Registers of outstanding MMAs".
_OVERWRITTEN = _Hazard(
    "error",
    "write to {} while a wgmma.mma_async that uses it is in flight",
    "write",
    f"{_WAIT}, or write to another register: ptxas does not insert a wait in a loop",
)
_USED_OTHERWISE = _Hazard(
    "error",
    "{} is in use by an in-flight wgmma with another shape or role",
    "wgmma.mma_async",
    f"{_WAIT}; ptxas does not insert a wait if there is a wgmma.fence between the two",
)
_READ = _Hazard(
    "warning",
    "read of accumulator {} while wgmma.mma_async is in flight",
    "read",
    f"{_WAIT}; otherwise ptxas inserts a wait (C7517) or serializes the WGMMAs (C7510, C7514)",
)
_READ_OPERAND = _Hazard(
    "note",
    "read of {}, operand A of an in-flight wgmma.mma_async",
    "read",
    f"{_WAIT}; otherwise the value is undefined by the manual, although the MMA does not write operand A",
)


class RegisterOrder:
    """Last accesses to the registers that wgmma uses; each array has a row per register and a column per warp.

    Times count simulated accesses and fences. `_group` is the number of the last MMA's wgmma-group plus one, `_shape`
    the MMA's shape, and `_use` is `_ADDS` for an accumulator, `_READS` for operand A.
    """

    def __init__(self, wave: Wave, registers: Mapping[int, str]) -> None:
        """Start without recorded accesses; `registers` maps register indices (slots) to names."""
        self._wave = wave
        self._names = tuple(registers.values())
        self._rows = {slot: row for row, slot in enumerate(registers)}
        # Cache: indices of accumulator registers in the first dimension of the arrays below, by tuple of slots.
        self._known: dict[tuple[int, ...], IntArray] = {}
        shape = (len(registers), wave.height)
        self._touched: IntArray = np.zeros(shape, np.int64)
        self._touched_at: IntArray = np.zeros(shape, np.int64)
        self._group: IntArray = np.zeros(shape, np.int64)
        self._issued_at: IntArray = np.zeros(shape, np.int64)
        self._shape: IntArray = np.zeros(shape, np.int64)
        self._use: IntArray = np.zeros(shape, np.int64)
        self._fenced: IntArray = np.zeros(wave.height, np.int64)
        self._now = 1
        self._used: set[tuple[tuple[int, ...], bytes]] = set()

    def first_use(self, slots: tuple[int, ...], warps: IntArray) -> bool:
        """Return whether these warps issue wgmma with accumulators `slots` for the first time; record this use."""
        use = slots, warps.tobytes()
        seen = use in self._used
        self._used.add(use)
        return not seen

    def fence(self, turn: ExecutionContext) -> None:
        """Record wgmma.fence of warps."""
        self._now += 1
        self._fenced[turn.warps] = self._now

    def touch(self, read: tuple[int, ...], written: tuple[int, ...], turn: ExecutionContext) -> None:
        """Check and record accesses of an instruction other than wgmma to the registers `read` and `written`."""
        rows, warps = self._of((*read, *written)), turn.warps
        at = _places(rows, warps)
        busy = self._group[at] > self._done(warps)
        if busy.any():
            self._touch_busy(turn, (rows, warps), busy, (set(self._of(read).tolist()), set(self._of(written).tolist())))
        self._touched[at] = self._now
        self._touched_at[at] = turn.pc

    def _touch_busy(
        self, turn: ExecutionContext, at: tuple[IntArray, IntArray], busy: Mask, touched: tuple[set[int], set[int]]
    ) -> None:
        """Report accesses to registers of outstanding MMAs, one finding per hazard."""
        rows, (read, written) = at[0].tolist(), touched
        reads = np.array([[row in read] for row in rows])
        writes = np.array([[row in written] for row in rows])
        adds = self._use[_places(*at)] == _ADDS
        for hazard, which in (
            # No hazard if a wgmma adds to registers of an earlier one: ptxas inserts a wait.
            (_OVERWRITTEN, writes & ~(adds & reads)),
            (_READ, reads & adds),
            (_READ_OPERAND, reads & ~writes & ~adds),
        ):
            if (busy & which).any():
                self._report_hazard(turn, hazard, at, busy & which)

    def _of(self, slots: Iterable[int]) -> IntArray:
        key = tuple(slots)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = np.array([self._rows[slot] for slot in dict.fromkeys(key)], np.int64)
        return known

    def issue(
        self,
        turn: ExecutionContext,
        slots: tuple[Iterable[int], Iterable[int]],
        warps: IntArray,
        numbers: IntArray,
        shape: int,
    ) -> None:
        """Check and record the register accesses of wgmma.mma_async; `numbers` are the MMAs' group numbers per warp."""
        sums, factors = map(self._of, slots)
        self._check_fence(turn, np.concatenate([sums, factors]), warps)
        self._check_use(turn, sums, warps, _ADDS, shape)
        if len(factors):
            self._check_use(turn, factors, warps, _READS, shape)
        for rows, use in ((sums, _ADDS), (factors, _READS)):
            at = _places(rows, warps)
            self._group[at] = numbers + 1
            self._issued_at[at] = turn.pc
            self._shape[at] = shape
            self._use[at] = use

    def _check_fence(self, turn: ExecutionContext, rows: IntArray, warps: IntArray) -> None:
        at = _places(rows, warps)
        late = (self._touched[at] >= self._fenced[warps]) | (self._fenced[warps] == 0)
        if not late.any():
            return
        register, warp = self._first((rows, warps), late)
        name, touched = self._names[register], int(self._touched_at[register, warp])
        earlier = "without wgmma.fence after the earlier access" if touched else "without a preceding wgmma.fence"
        self._wave.report(
            FENCE_RULE,
            f"wgmma.mma_async uses {name} {earlier}",
            turn.pc,
            other_pc=touched or None,
            label=f"wgmma.mma_async by {self._wave.geometry.warp_name(warp)}",
            other_label="register access" if touched else None,
            help=_FENCE_HELP if touched else _FIRST_FENCE_HELP,
            count=int(np.count_nonzero(late)),
            cause=turn.pc,
        )

    def _check_use(self, turn: ExecutionContext, rows: IntArray, warps: IntArray, use: int, shape: int) -> None:
        at = _places(rows, warps)
        busy = self._group[at] > self._done(warps)
        if not busy.any():
            return
        fine = self._use[at] == use
        if use == _ADDS:
            fine &= self._shape[at] == shape
        busy &= ~fine
        if busy.any():
            self._report_hazard(turn, _USED_OTHERWISE, (rows, warps), busy)

    def _done(self, warps: IntArray) -> IntArray:
        done: IntArray = self._wave.groups_of(WGMMA).done[warps, 0]
        return done

    def _report_hazard(self, turn: ExecutionContext, hazard: _Hazard, at: tuple[IntArray, IntArray], bad: Mask) -> None:
        register, warp = self._first(at, bad)
        issued = int(self._issued_at[register, warp])
        self._wave.report(
            WAIT_RULE,
            hazard.message.format(self._names[register]),
            turn.pc,
            other_pc=issued or None,
            label=f"{hazard.label} by {self._wave.geometry.warp_name(warp)}",
            other_label="wgmma.mma_async in flight" if issued else None,
            help=hazard.help,
            count=int(np.count_nonzero(bad)),
            cause=(issued, hazard.severity),  # one report for each outstanding wgmma.mma_async and severity
            severity=hazard.severity,
        )

    def _first(self, at: tuple[IntArray, IntArray], bad: Mask) -> tuple[int, int]:
        """Return the row (register) and the column (warp) of the first true element of `bad`."""
        row, column = (int(part[0]) for part in np.nonzero(bad))
        return int(at[0][row]), int(at[1][column])


def _places(rows: IntArray, warps: IntArray) -> tuple[slice | IntArray, IntArray]:
    """Return the array index of registers (rows) and warps (columns): a slice for consecutive rows, which is faster."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (rows[1:] > rows[:-1]).all():
        return slice(int(rows[0]), int(rows[-1]) + 1), warps
    return rows[:, None], warps
