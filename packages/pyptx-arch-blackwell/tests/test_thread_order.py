"""`LastUses` agrees with a flat array of the last access to each byte, for accesses of all sizes."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_arch_blackwell.sim.tensor_memory import SPACE
from pyptx_arch_blackwell.sim.thread_order import LastUses
from pyptx_sim.extension import AsyncAccess

SIZE, NARROWEST = 8 << 10, 16


def touch(rng: np.random.Generator, operations: int) -> AsyncAccess:
    size = int(rng.choice([16, 32, 128, 512, 1024]))
    offsets = rng.choice(SIZE // size, min(SIZE // size, 2 * operations), replace=False) * size
    owners = np.sort(rng.integers(operations, size=len(offsets)))
    return AsyncAccess(SPACE.name, writes=True, offsets=offsets, size=size, owners=owners)


@pytest.mark.parametrize("seed", range(20))
def test_the_last_use_of_each_piece_is_known(seed: int) -> None:
    rng = np.random.default_rng(seed)
    last, known = LastUses(SIZE), np.zeros(SIZE // NARROWEST, np.int64)
    for number in range(1, 120, 3):
        used = touch(rng, 3)
        pieces = (used.offsets[:, None] + np.arange(0, used.size, NARROWEST)) // NARROWEST
        expected = {
            (issue, owner)
            for row, owner in zip(known[pieces].tolist(), used.owners.tolist(), strict=True)
            for issue in row
        }
        assert set(last.met(used)) == expected
        if rng.random() < 0.7:
            numbers = number + np.arange(3, dtype=np.int32)
            last.put(used, numbers)
            known[pieces] = numbers[used.owners][:, None]
