"""Each instruction in `instructions.py` runs on this GPU and on the simulator; results must agree.

The GPU's results are recorded under the opcode, as a column of bit patterns (see golden.py). The operands are not
stored; `instructions.py` generates them again.
"""

from __future__ import annotations

import numpy as np
import pytest

from . import simulated
from .driver import device
from .instructions import RECORDED, Recorded
from .probes import BLOCK, padded, probe, width

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("row", RECORDED, ids=[row.opcode for row in RECORDED])
def test_the_simulator_equals_the_hardware(row: Recorded, truth: dict[str, np.ndarray]) -> None:
    target = device().target
    inputs = [padded(column) for column in row.inputs()]
    empty = np.zeros(len(inputs[0]), dtype=f"u{width(row.result) // 8}")
    (hardware,) = device().run(probe(row, target), "probe", len(empty) // BLOCK, BLOCK, inputs, [empty])
    truth[row.opcode] = hardware
    simulated.agree(row, hardware, simulated.instruction(row, target))
