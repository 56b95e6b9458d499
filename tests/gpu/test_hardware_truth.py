"""Law L7 against the hardware itself: each instruction of the table runs on this GPU and on the simulator.

What the GPU gave is recorded under the opcode, a column of bit patterns (see golden.py). The operands are not stored;
`instructions.py` makes the same ones again.
"""

from __future__ import annotations

import numpy as np
import pytest

import pyptx_sim

from .driver import device
from .instructions import RECORDED, Recorded
from .probes import BLOCK, padded, probe, width

pytestmark = pytest.mark.gpu

FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def ordered(bits: np.ndarray) -> np.ndarray:
    """Map floats, as bit patterns, to integers in which neighbours differ by one."""
    sign = bits.dtype.type(1) << bits.dtype.type(bits.dtype.itemsize * 8 - 1)
    magnitude = (bits & ~sign).astype(np.int64)
    return np.where(bits & sign, -magnitude, magnitude)


def is_nan(bits: np.ndarray, kind: str) -> np.ndarray:
    """Tell which bit patterns are NaN; the manual leaves a NaN's payload open."""
    if kind in FLOATS:
        return np.isnan(bits.view(FLOATS[kind]))
    if kind == "bf16":
        return np.isnan((bits.astype(np.uint32) << 16).view(np.float32))
    return np.zeros(bits.shape, dtype=bool)


@pytest.mark.parametrize("row", RECORDED, ids=[row.opcode for row in RECORDED])
def test_the_simulator_equals_the_hardware(row: Recorded, truth: dict[str, np.ndarray]) -> None:
    text = probe(row, device().target)
    inputs = [padded(column) for column in row.inputs()]
    empty = np.zeros(len(inputs[0]), dtype=f"u{width(row.result) // 8}")
    blocks = len(empty) // BLOCK
    (hardware,) = device().run(text, "probe", blocks, BLOCK, inputs, [empty])
    truth[row.opcode] = hardware

    simulated = empty.copy()
    pyptx_sim.run(text, entry="probe", grid=blocks, block=BLOCK, args=[*inputs, simulated], checks="none")
    both_nan = is_nan(hardware, row.result) & is_nan(simulated, row.result)
    distance = np.abs(ordered(hardware) - ordered(simulated)) if row.ulps else hardware != simulated
    differs = distance > row.ulps
    wrong = np.flatnonzero(differs & ~both_nan)
    shown = [
        (*(hex(int(column[i])) for column in inputs), hex(int(hardware[i])), hex(int(simulated[i]))) for i in wrong[:8]
    ]
    count = len(wrong)
    assert count == 0, f"{row.opcode}: {count} of {len(empty)} differ; operands, hardware, simulator: {shown}"
