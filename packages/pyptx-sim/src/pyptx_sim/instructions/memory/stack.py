"""`alloca`, `stacksave` and `stackrestore`. Manual: "Stack Manipulation Instructions"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.machine.lanes import merged
from pyptx_sim.program.program import STACK_SLOT

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import IntArray, Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.operation import Array


def _stack_top(wave: Wave) -> IntArray:
    top = wave.registers[STACK_SLOT]
    assert top is not None  # noqa: S101 - set when the wave starts
    return top


def _set_top(wave: Wave, lanes: Lanes, value: Array) -> None:
    old = wave.registers[STACK_SLOT]
    wave.registers[STACK_SLOT] = value if lanes.whole else merged(old, value, lanes, wave.height)


def compile_stacksave(operands: Operands) -> Action:
    """Compile `stacksave`: copy the stack pointer to a register."""
    ptx_type = operands.word("type")
    write = operands.write(operands.named("d"), ptx_type)
    dtype = np.dtype(f"<u{int(ptx_type[1:]) // 8}")
    return lambda wave, lanes: write(wave, lanes, lanes.select(_stack_top(wave)).astype(dtype))


def compile_stackrestore(operands: Operands) -> Action:
    """Compile `stackrestore`: set the stack pointer to a value that `stacksave` returned."""
    read = operands.read(operands.named("a"), operands.word("type"))
    return lambda wave, lanes: _set_top(wave, lanes, read(wave, lanes).astype(np.int64))


def compile_alloca(operands: Operands) -> Action:
    """Compile `alloca`: allocate local memory on each thread's stack."""
    ptx_type, align = operands.word("type"), operands.given("align")
    alignment = np.int64(8 if align is None else operands.integer(align))
    write, read = operands.write(operands.named("ptr"), ptx_type), operands.read(operands.named("size"), ptx_type)
    dtype = np.dtype(f"<u{int(ptx_type[1:]) // 8}")

    def step(wave: Wave, lanes: Lanes) -> None:
        start = (lanes.select(_stack_top(wave)) + alignment - 1) & -alignment
        _set_top(wave, lanes, start + read(wave, lanes).astype(np.int64))
        write(wave, lanes, start.astype(dtype))

    return step
