"""Who may touch the registers of warpgroup products, and when. Manual: "wgmma.fence", "wgmma.wait_group".

Between an ordinary access to a register and a product that uses it stands a fence of the warp; between the product and
the next ordinary access stands a wait. Products of one shape may add to the same registers one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_arch_hopper.sim.wgmma.described import WGMMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyptx_sim.extension import IntArray, Turn, Wave


FENCE_RULE = "missing-wgmma-fence"
WAIT_RULE = "register-before-wait"
_FENCE_HINT = "put wgmma.fence behind the last access to its registers, in front of the product"
_WAIT_HINT = (
    "commit the product's group and wait for it (wgmma.wait_group) before touching its registers: without, ptxas puts "
    "a wait for all products there (advice C7517), or serialises them (C7510, C7514)"
)
_ADDS = 1
_READS = 2


class RegisterOrder:
    """The accesses to the registers that products use, one row of each array for each of them.

    Times count touches and fences of the wave. `_group` is the number of the last product's group plus one, `_shape`
    its shape, `_use` what it did with the register.
    """

    def __init__(self, wave: Wave, registers: Mapping[int, str]) -> None:
        """Watch the registers with these slots and names."""
        self._wave = wave
        self._names = tuple(registers.values())
        self._rows = {slot: row for row, slot in enumerate(registers)}
        self._known: dict[tuple[int, ...], IntArray] = {}  # rows of registers, by their slots
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
        """Tell whether these warps issue a product with the sums in `slots` for the first time, and note it."""
        use = slots, warps.tobytes()
        seen = use in self._used
        self._used.add(use)
        return not seen

    def fence(self, turn: Turn) -> None:
        """Note a fence."""
        self._now += 1
        self._fenced[turn.warps] = self._now

    def touch(self, slots: Iterable[int], turn: Turn) -> None:
        """Judge ordinary accesses to registers, by their slots, and note them."""
        rows, warps = self._of(slots), turn.warps
        at = _places(rows, warps)
        busy = self._group[at] > self._done(warps)
        if busy.any():
            self._report(turn, WAIT_RULE, "touches {}, which a product uses, before it has waited for it", _WAIT_HINT,
                         (rows, warps), busy, self._issued_at)  # fmt: skip
        self._touched[at] = self._now
        self._touched_at[at] = turn.pc

    def _of(self, slots: Iterable[int]) -> IntArray:
        key = tuple(slots)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = np.array([self._rows[slot] for slot in key], np.int64)
        return known

    def issue(
        self, turn: Turn, slots: tuple[Iterable[int], Iterable[int]], warps: IntArray, numbers: IntArray, shape: int
    ) -> None:
        """Judge products that add to some registers and read others, and note them; `numbers` per warp."""
        sums, factors = map(self._of, slots)
        self._judge_fence(turn, np.concatenate([sums, factors]), warps)
        self._judge_use(turn, sums, warps, _ADDS, shape)
        if len(factors):
            self._judge_use(turn, factors, warps, _READS, shape)
        for rows, use in ((sums, _ADDS), (factors, _READS)):
            at = _places(rows, warps)
            self._group[at] = numbers + 1
            self._issued_at[at] = turn.pc
            self._shape[at] = shape
            self._use[at] = use

    def _judge_fence(self, turn: Turn, rows: IntArray, warps: IntArray) -> None:
        at = _places(rows, warps)
        late = (self._touched[at] >= self._fenced[warps]) | (self._fenced[warps] == 0)
        if late.any():
            what = "issues a product with {}, and no wgmma.fence orders earlier accesses before it"
            self._report(turn, FENCE_RULE, what, _FENCE_HINT, (rows, warps), late, self._touched_at)

    def _judge_use(self, turn: Turn, rows: IntArray, warps: IntArray, use: int, shape: int) -> None:
        at = _places(rows, warps)
        busy = self._group[at] > self._done(warps)
        if not busy.any():
            return
        fine = self._use[at] == use
        if use == _ADDS:
            fine &= self._shape[at] == shape
        busy &= ~fine
        if busy.any():
            self._report(turn, WAIT_RULE, "issues a product with {}, which another one still uses in another way",
                         _WAIT_HINT, (rows, warps), busy, self._issued_at)  # fmt: skip

    def _done(self, warps: IntArray) -> IntArray:
        done: IntArray = self._wave.groups_of(WGMMA).done[warps, 0]
        return done

    def _report(
        self,
        turn: Turn,
        rule: str,
        message: str,
        hint: str,
        at: tuple[IntArray, IntArray],
        bad: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
        others: IntArray,
    ) -> None:
        row, column = (int(part[0]) for part in np.nonzero(bad))
        register, warp = int(at[0][row]), int(at[1][column])
        wave = self._wave
        wave.report(
            rule,
            f"{wave.geometry.warp_name(warp)} {message.format(self._names[register])}",
            turn.pc,
            other_pc=int(others[register, warp]) or None,
            hint=hint,
            count=int(np.count_nonzero(bad)),
            # The product that nothing has waited for, or has fenced, is the cause.
            cause=int(others[register, warp]) if rule == WAIT_RULE else turn.pc,
        )


def _places(rows: IntArray, warps: IntArray) -> tuple[slice | IntArray, IntArray]:
    """Return how to index some rows and columns of a matrix: rows that follow each other are found faster as such."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (rows[1:] > rows[:-1]).all():
        return slice(int(rows[0]), int(rows[-1]) + 1), warps
    return rows[:, None], warps
