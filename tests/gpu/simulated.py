"""Simulator results for everything that is recorded on hardware: the same instructions, MMAs and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import pyptx_sim
from pyptx_ir.plugins.rows import TensorMap

from . import mma
from .kernels import tile
from .probes import BLOCK, padded, probe, width

if TYPE_CHECKING:
    from .copies import Copy
    from .instructions import Recorded
    from .mma import WarpProduct

FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
PAYLOADS = "f64"  # accumulator type with unmodeled NaN payloads: the hardware keeps low bits of an operand


def instruction(row: Recorded, target: str) -> np.ndarray:
    """Return the results of an instruction: a bit pattern for each combination of operands."""
    inputs = [padded(column) for column in row.inputs()]
    result = np.zeros(len(inputs[0]), dtype=f"u{width(row.result) // 8}")
    args = [*inputs, result]
    pyptx_sim.run(probe(row, target), entry="probe", grid=len(result) // BLOCK, block=BLOCK, args=args, checks="none")
    return result


def warp_product(product: WarpProduct, target: str) -> np.ndarray:
    """Return the registers of D of a warp-level MMA, simulated with exact numerics."""
    d = product.empty()
    args = [*product.operands, d]
    text = product.probe(target)
    pyptx_sim.run(text, entry="probe", grid=1, block=mma.LANES, args=args, checks="none", numerics="exact")
    return d


def group_product(case: Any, given: tuple[np.ndarray, ...] | None = None) -> np.ndarray:
    """Return the registers of D of a wgmma case, with exact numerics, for the inputs of the case or for `given`."""
    given = given or mma.group_tests.problem_of(case, mma.SEED).given
    (found,) = mma.group_tests.kernel_of(case).simulate(*given, checks="none", numerics="exact").outputs
    return np.asarray(found).reshape(given[3].shape)


def copy(case: Copy, target: str) -> np.ndarray:
    """Return the bytes of each TMA box in shared memory, as the simulator copies them."""
    array, (height, width_) = case.array, case.box
    described = TensorMap(case.kind, array.shape, array.strides, case.box, (1, 1), **case.options)
    out, grid = case.empty(), case.grid
    args = [pyptx_sim.WithDescriptor(array, described), out, width_, height, out.shape[1]]
    pyptx_sim.run(tile("value").ptx(target), entry="tile", grid=grid, block=BLOCK, args=args, checks="none")
    return out


# --- comparing ---------------------------------------------------------------------------------------------------


def ordered(bits: np.ndarray) -> np.ndarray:
    """Map bit patterns of floats to integers such that adjacent floats differ by one."""
    sign = bits.dtype.type(1) << bits.dtype.type(bits.dtype.itemsize * 8 - 1)
    magnitude = (bits & ~sign).astype(np.int64)
    return np.where(bits & sign, -magnitude, magnitude)


def is_nan(bits: np.ndarray, kind: str) -> np.ndarray:
    """Return which bit patterns are NaN; the manual leaves the payload of a NaN open."""
    if kind in FLOATS:
        return np.isnan(bits.view(FLOATS[kind]))
    if kind == "bf16":
        return np.isnan((bits.astype(np.uint32) << 16).view(np.float32))
    return np.zeros(bits.shape, dtype=bool)


def agree(row: Recorded, hardware: np.ndarray, simulated: np.ndarray) -> None:
    """Raise AssertionError unless an instruction's results are equal, or differ by at most its error bound."""
    both_nan = is_nan(hardware, row.result) & is_nan(simulated, row.result)
    distance = np.abs(ordered(hardware) - ordered(simulated)) if row.ulps else hardware != simulated
    wrong = np.flatnonzero((distance > row.ulps) & ~both_nan)
    inputs = [padded(column) for column in row.inputs()]
    shown = [
        (*(hex(int(column[i])) for column in inputs), hex(int(hardware[i])), hex(int(simulated[i]))) for i in wrong[:8]
    ]
    count = len(wrong)
    assert count == 0, f"{row.opcode}: {count} of {len(simulated)} differ; operands, hardware, simulator: {shown}"


def alike(kind: str, hardware: np.ndarray, simulated: np.ndarray) -> bool:
    """Return whether two results have equal registers of D; f64 NaNs are equal whatever their payloads."""
    same = hardware == simulated
    return bool((same | is_nan(hardware, kind) & is_nan(simulated, kind) if kind == PAYLOADS else same).all())


def off(hardware: np.ndarray, simulated: np.ndarray) -> str:
    """Return as text how many words of D differ, with examples."""
    wrong = np.argwhere(hardware != simulated)
    shown = [(*map(int, at), hex(hardware[tuple(at)]), hex(simulated[tuple(at)])) for at in wrong[:6]]
    return f"{len(wrong)} of {hardware.size} words differ; place, hardware, simulator: {shown}"
