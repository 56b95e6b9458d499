"""`alloca`, `stacksave` and `stackrestore`. Manual: "Stack Manipulation Instructions"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.instructions.compiling.registers import merged
from pyptx_sim.program.program import STACK_SLOT

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array


def compile_stack(operands: Operands) -> Action:
    """Execute `alloca`, `stacksave` or `stackrestore`."""
    name = operands.opcode[0]
    if name == "stacksave":
        return _stack_save(operands)
    if name == "stackrestore":
        return _stack_restore(operands)
    return _alloca(operands)


def _stack_top(wave: Wave) -> IntArray:
    top = wave.registers[STACK_SLOT]
    assert top is not None  # noqa: S101 - set when the wave starts
    return top


def _set_top(wave: Wave, lanes: Lanes, value: Array) -> None:
    old = wave.registers[STACK_SLOT]
    wave.registers[STACK_SLOT] = value if lanes.whole else merged(old, value, lanes, wave.height)


def _stack_save(operands: Operands) -> Action:
    ptx_type = operands.opcode[-1]
    write = operands.write(operands.operands[0], ptx_type)
    dtype = np.dtype(f"<u{int(ptx_type[1:]) // 8}")
    return lambda wave, lanes: write(wave, lanes, lanes.select(_stack_top(wave)).astype(dtype))


def _stack_restore(operands: Operands) -> Action:
    read = operands.read(operands.operands[0], operands.opcode[-1])
    return lambda wave, lanes: _set_top(wave, lanes, read(wave, lanes).astype(np.int64))


def _alloca(operands: Operands) -> Action:
    ptx_type = operands.opcode[-1]
    destination, size, *rest = operands.operands
    alignment = np.int64(int(operands.constant(rest[0]))) if rest else np.int64(8)
    write, read = operands.write(destination, ptx_type), operands.read(size, ptx_type)
    dtype = np.dtype(f"<u{int(ptx_type[1:]) // 8}")

    def step(wave: Wave, lanes: Lanes) -> None:
        start = (lanes.select(_stack_top(wave)) + alignment - 1) & -alignment
        _set_top(wave, lanes, start + read(wave, lanes).astype(np.int64))
        write(wave, lanes, start.astype(dtype))

    return step
