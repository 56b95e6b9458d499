"""Address computation for the mbarrier of a stage (8 bytes per stage), as a list of steps.

Compilers emit the same computation in different orders and widths. A step is the opcode of one instruction:

- `shl` or `mul` computes the byte offset of the stage's mbarrier
- `cvt` widens or narrows the result so far
- `mov` copies the base to a register
- the first `add` adds the base, the second one the offset
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.types import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType

__all__ = ["BYTES", "LOG2_BYTES", "SHIFTED", "emit_address", "result_type", "steps_of"]

BYTES, LOG2_BYTES = 8, 3  # size of one mbarrier object, which is the distance of two stages' mbarriers
SHIFTED = "shl.b32 add.s32 add.s32"
"""Opcodes of the address computation that Triton and nvcc usually emit."""
_KINDS = ("shl", "mul", "cvt", "mov", "add")


def steps_of(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the opcodes in a space-separated text; raise OperandError for opcodes that compute no stage address."""
    steps = tuple([tuple(each.split(".")) for each in text.split()])
    for step in steps:
        if step[0] not in _KINDS or step[-1] not in BY_NAME:
            help = f"use {', '.join(_KINDS)}, each with its type: {SHIFTED!r}"
            raise OperandError(f"{'.'.join(step)!r} does not occur in the computation of a stage address", help=help)
    return steps


def result_type(step: tuple[str, ...]) -> PtxType:
    """Return the type of the register that an instruction with the opcode `step` writes."""
    if step[0] == "cvt":
        return BY_NAME[step[-2]]
    dtype = BY_NAME[step[-1]]
    return BY_NAME[f"{dtype.name[0]}{2 * dtype.bits}"] if "wide" in step else dtype


def emit_address(
    trace: Trace, steps: Sequence[tuple[str, ...]], base: object, stage: Reg, offset: int, temps: Sequence[Reg] | None
) -> tuple[Reg, int]:
    """Emit one instruction per opcode in `steps`; return the address register and the offset still to add.

    Instruction `n` writes the register `temps[n]`, or a new one.
    """
    value, source, left = stage, base, offset
    for number, step in enumerate(steps):
        result = trace.fresh(result_type(step)) if temps is None else temps[number]
        operands: tuple[object, ...]
        match step[0]:
            case "shl":
                operands = (value, LOG2_BYTES)
            case "mul":
                operands = (value, BYTES)
            case "cvt":
                operands = (value,)
            case "mov":
                operands = (source,)
            case _ if source is not None:
                operands, source = (source, value), None
            case _:
                operands, left = (value, left), 0
        trace.emit(step, (result, *operands))
        value, source = (value, result) if step[0] == "mov" else (result, source)
    return value, left
