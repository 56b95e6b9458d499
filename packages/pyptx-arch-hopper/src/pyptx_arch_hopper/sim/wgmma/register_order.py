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

    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.wave import Wave

FENCE_RULE = "missing-wgmma-fence"
WAIT_RULE = "register-before-wait"
_FENCE_HINT = "put wgmma.fence behind the last access to its registers, in front of the product"
_WAIT_HINT = "commit the product's group and wait for it (wgmma.wait_group) before touching its registers"
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
        self.rows = {slot: row for row, slot in enumerate(registers)}
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

    def fence(self, lanes: Lanes) -> None:
        """Note a fence."""
        self._now += 1
        self._fenced[lanes.active_rows()] = self._now

    def touch(self, slots: Iterable[int], lanes: Lanes) -> None:
        """Judge ordinary accesses to registers, by their slots, and note them."""
        rows = np.array([self.rows[slot] for slot in slots], np.int64)
        warps = lanes.active_rows()
        at = np.ix_(rows, warps)
        busy = self._group[at] > self._done(warps)
        if busy.any():
            self._report(WAIT_RULE, "touches {}, which a product uses, before it has waited for it", _WAIT_HINT,
                         (rows, warps), busy, self._issued_at)  # fmt: skip
        self._touched[at] = self._now
        self._touched_at[at] = self._wave.pc

    def issue(self, sums: IntArray, factors: IntArray, warps: IntArray, numbers: IntArray, shape: int) -> None:
        """Judge products that add to the registers `sums` and read `factors`, and note them; `numbers` per warp."""
        self._judge_fence(np.concatenate([sums, factors]), warps)
        self._judge_use(sums, warps, _ADDS, shape)
        if len(factors):
            self._judge_use(factors, warps, _READS, shape)
        for rows, use in ((sums, _ADDS), (factors, _READS)):
            at = np.ix_(rows, warps)
            self._group[at] = numbers + 1
            self._issued_at[at] = self._wave.pc
            self._shape[at] = shape
            self._use[at] = use

    def _judge_fence(self, rows: IntArray, warps: IntArray) -> None:
        at = np.ix_(rows, warps)
        late = (self._touched[at] >= self._fenced[warps]) | (self._fenced[warps] == 0)
        if late.any():
            self._report(FENCE_RULE, "issues a product with {}, and no wgmma.fence orders earlier accesses before it",
                         _FENCE_HINT, (rows, warps), late, self._touched_at)  # fmt: skip

    def _judge_use(self, rows: IntArray, warps: IntArray, use: int, shape: int) -> None:
        at = np.ix_(rows, warps)
        busy = self._group[at] > self._done(warps)
        if not busy.any():
            return
        fine = self._use[at] == use
        if use == _ADDS:
            fine &= self._shape[at] == shape
        busy &= ~fine
        if busy.any():
            self._report(WAIT_RULE, "issues a product with {}, which another one still uses in another way",
                         _WAIT_HINT, (rows, warps), busy, self._issued_at)  # fmt: skip

    def _done(self, warps: IntArray) -> IntArray:
        done: IntArray = self._wave.groups_of(WGMMA).done[warps, 0]
        return done

    def _report(
        self,
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
        wave.machine.log.report(
            rule,
            f"{wave.geometry.warp_name(warp)} {message.format(self._names[register])}",
            wave.pc,
            other_pc=int(others[register, warp]) or None,
            hint=hint,
            count=int(np.count_nonzero(bad)),
        )
