"""What tests/gpu will ask of the hardware is legal, and the simulator has an answer; no GPU is needed to know that."""

from __future__ import annotations

import numpy as np
import pytest

import pyptx_sim
from pyptx_ir.toolchain import assemble

from .gpu.instructions import RECORDED, Recorded
from .gpu.probes import BLOCK, padded, probe, width

TARGET = "sm_90"


@pytest.mark.ptxas
def test_every_probe_assembles() -> None:
    first, *rest = [probe(row, TARGET).replace(" probe(", f" probe{i}(") for i, row in enumerate(RECORDED)]
    text = first + "".join(module[module.index(".visible") :] for module in rest)
    assert assemble(text, TARGET).cubin[:4] == b"\x7fELF"


@pytest.mark.parametrize("row", RECORDED, ids=[row.opcode for row in RECORDED])
def test_the_simulator_answers_every_probe(row: Recorded) -> None:
    inputs = [padded(column) for column in row.inputs()]
    result = np.zeros(len(inputs[0]), dtype=f"u{width(row.result) // 8}")
    args = [*inputs, result]
    pyptx_sim.run(probe(row, TARGET), entry="probe", grid=len(result) // BLOCK, block=BLOCK, args=args, checks="none")
    assert len(np.unique(result)) > 1, "every combination of edges gives one result"
