"""Step from one stage of a ring to the next: the instructions that wrap its index and flip the phase.

Compilers emit `if (++stage == stages) { stage = 0; phase ^= 1; }` with the same instructions in two orders, and with
different types. A step is the opcode of one instruction:

- `add` computes the next index, and `setp` (`eq`, `ge` or `gt`) whether the ring wraps around
- the `selp` before an `xor` is 1 if the ring wraps, else 0; the `xor` with that value flips the phase
- the other `selp` is 0 if the ring wraps, else the next index
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.types import BY_NAME
from pyptx_dsl.types import pred as predicate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["COMPARED", "ORDERS", "USUAL", "advance_steps", "emit_advance"]

USUAL = "add.s32 setp.eq.s32 selp.b32 selp.b32 xor.b32"
"""Opcodes with which most compilers advance a stage and its phase."""
ORDERS = (
    ("add", "setp", "selp", "selp", "xor"),
    ("add", "setp", "selp", "xor", "selp"),
    ("add", "setp", "selp"),
)
"""Supported orders of the opcodes of a stage advance, without modifiers; the last order updates no phase."""
COMPARED = {"eq": 0, "ge": 0, "gt": -1}
"""Relation of the `setp` -> difference between the constant operand of the `setp` and the number of stages."""


def advance_steps(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the opcodes in a space-separated text; raise OperandError unless their order is one of `ORDERS`."""
    steps = tuple([tuple(each.split(".")) for each in text.split()])
    known = all(step[-1] in BY_NAME and (step[0] != "setp" or step[1] in COMPARED) for step in steps)
    if tuple([step[0] for step in steps]) not in ORDERS or not known:
        help = f"use {', '.join(' '.join(order) for order in ORDERS)}, each with its type: {USUAL!r}"
        raise OperandError(f"{text!r} does not advance from one stage to the next", help=help)
    return steps


def emit_advance(
    trace: Trace,
    steps: Sequence[tuple[str, ...]],
    ring: tuple[Reg, Reg | None, int],
    temps: Sequence[Reg] | None,
) -> tuple[Reg, Reg | None]:
    """Emit one instruction per opcode in `steps`; return the registers of the next stage and of its phase.

    `ring` contains the stage, its phase, and the number of stages. Instruction `n` writes the register `temps[n]`, or a
    new one.
    """
    stage, phase, stages = ring
    following = wraps = flips = stage
    for number, step in enumerate(steps):
        dtype = predicate if step[0] == "setp" else BY_NAME[step[-1]]
        result = trace.fresh(dtype) if temps is None else temps[number]
        operands: tuple[object, ...]
        if step[0] == "add":
            operands, following = (stage, 1), result
        elif step[0] == "setp":
            operands, wraps = (following, stages + COMPARED[step[1]]), result
        elif step[0] == "xor":
            operands, phase = (phase, flips), result
        elif steps[number + 1 : number + 2] and steps[number + 1][0] == "xor":
            operands, flips = (1, 0, wraps), result
        else:
            operands, stage = (0, following, wraps), result
        trace.emit(step, (result, *operands))
    return stage, phase
