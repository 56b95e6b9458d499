"""Law L7 against the hardware itself: each instruction of the table runs on this GPU and on the simulator.

What the GPU gave is written to `$OUT/truth_<target>.json` where OUT is set: for each opcode its results, as the base64
of the zlib-compressed bytes of the column. The operands are not stored; `instructions.py` makes the same ones again.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pyptx_sim

from .driver import device
from .instructions import RECORDED, Recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu

BLOCK = 128
BITS = {"16": "16", "x2": "32", "32": "32", "64": "64"}
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def width(kind: str) -> int:
    """Return a PTX type's width in bits."""
    return int(BITS[kind[-2:]])


def probe(row: Recorded, target: str) -> str:
    """Return a module whose entry applies the instruction to one element a thread."""
    columns = [*row.operands, row.result]
    pointers = ",\n".join(f"\t.param .u64 p{i}" for i in range(len(columns)))
    registers = "\n".join(f"\t.reg .b{width(kind)} v{i};" for i, kind in enumerate(columns))
    body = ["mov.u32 tid, %tid.x;", "mov.u32 block, %ctaid.x;", f"mad.lo.u32 tid, block, {BLOCK}, tid;"]
    for i, kind in enumerate(columns):
        body += [f"ld.param.u64 a{i}, [p{i}];", f"mad.wide.u32 a{i}, tid, {width(kind) // 8}, a{i};"]
    body += [f"ld.global.b{width(kind)} v{i}, [a{i}];" for i, kind in enumerate(row.operands)]
    sources = ", ".join(f"v{i}" for i in range(len(row.operands)))
    last = len(row.operands)
    body += [f"{row.opcode} v{last}, {sources};", f"st.global.b{width(row.result)} [a{last}], v{last};", "ret;"]
    lines = "\n".join(f"\t{line}" for line in body)
    header = f".version 8.0\n.target {target}\n.address_size 64\n\n.visible .entry probe(\n{pointers}\n)\n{{\n"
    return f"{header}\t.reg .b32 tid, block;\n\t.reg .b64 a<{len(columns)}>;\n{registers}\n{lines}\n}}\n"


def padded(column: np.ndarray) -> np.ndarray:
    """Repeat a column's last value up to a whole number of blocks."""
    return np.pad(column, (0, -len(column) % BLOCK), mode="edge")


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


@pytest.fixture(scope="module")
def truth() -> Iterator[dict[str, str]]:
    """Collect what the hardware gave, and write it where OUT points."""
    recorded: dict[str, str] = {}
    yield recorded
    if "OUT" in os.environ:
        path = Path(os.environ["OUT"]) / f"truth_{device().target}.json"
        path.write_text(json.dumps(recorded, indent=0, sort_keys=True), encoding="utf-8")


@pytest.mark.parametrize("row", RECORDED, ids=[row.opcode for row in RECORDED])
def test_the_simulator_equals_the_hardware(row: Recorded, truth: dict[str, str]) -> None:
    text = probe(row, device().target)
    inputs = [padded(column) for column in row.inputs()]
    empty = np.zeros(len(inputs[0]), dtype=f"u{width(row.result) // 8}")
    blocks = len(empty) // BLOCK
    (hardware,) = device().run(text, "probe", blocks, BLOCK, inputs, [empty])
    truth[row.opcode] = base64.b64encode(zlib.compress(hardware.tobytes())).decode()

    simulated = empty.copy()
    pyptx_sim.run(text, entry="probe", grid=blocks, block=BLOCK, args=[*inputs, simulated], checks="none")
    both_nan = is_nan(hardware, row.result) & is_nan(simulated, row.result)
    distance = np.abs(ordered(hardware) - ordered(simulated)) if row.ulps else hardware != simulated
    differs = distance > row.ulps
    wrong = np.flatnonzero(differs & ~both_nan)
    shown = [
        (*(hex(int(column[i])) for column in inputs), hex(int(hardware[i])), hex(int(simulated[i]))) for i in wrong[:8]
    ]
    assert not len(wrong), f"{row.opcode}: {len(wrong)} of {len(empty)} differ; operands, hardware, simulator: {shown}"
