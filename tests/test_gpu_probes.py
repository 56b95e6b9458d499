"""What tests/gpu will ask of the hardware is legal, and the simulator has an answer; no GPU is needed to know that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pyptx_sim
from pyptx_ir.toolchain import assemble

from .gpu import golden
from .gpu.instructions import RECORDED, Recorded
from .gpu.kernels import ENTRIES, Entry
from .gpu.probes import BLOCK, padded, probe, width

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.ptxas
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
@pytest.mark.parametrize("entry", ENTRIES, ids=[f"{each.name}{number}" for number, each in enumerate(ENTRIES)])
def test_every_kernel_of_the_launch_tests_assembles(entry: Entry, target: str) -> None:
    assert entry.name in assemble(entry.ptx(target), target).resources


def test_what_is_recorded_can_be_read_again_and_added_to(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    first, second = np.arange(6, dtype="u4").reshape(2, 3), np.array([0.5, np.nan], dtype="f2")
    golden.add(path, {"device": "a device"}, {"first": first})
    golden.add(path, {"device": "a device"}, {"second": second})
    found = golden.read(path)
    assert found["first"].dtype == first.dtype
    assert (found["first"] == first).all()
    assert np.array_equal(found["second"], second, equal_nan=True)
