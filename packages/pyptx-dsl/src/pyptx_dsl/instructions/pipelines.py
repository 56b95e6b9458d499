"""`ptx.pipeline`: the current stage and phase of a ring of buffers, in two registers that a loop updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import pred, u32

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["PipelineState", "pipeline"]


class PipelineState:
    """State of a ring of `n_stages` buffers: `cursor` counts stages, `phase` flips when the ring wraps around."""

    __slots__ = ("cursor", "n_stages", "phase")

    def __init__(self, n_stages: int, *, cursor: Reg | None = None, phase: Reg | None = None) -> None:
        """Use the registers `cursor` and `phase`; for each that is None, declare a register and emit a `mov` of 0."""
        stages = as_integer(n_stages)
        if stages is None or stages < 1:
            raise OperandError(f"a pipeline needs at least one stage, got {n_stages!r}")
        self.n_stages = stages
        self.cursor = _state(cursor, "cursor")
        self.phase = _state(phase, "phase")

    def advance(self) -> tuple[Reg, Reg]:
        """Return the registers of the next stage and its phase, by four instructions.

        `setp.eq wrap, cursor, n_stages`, `@wrap xor phase, phase, 1`, `selp stage, 0, cursor, wrap`, `add cursor,
        stage, 1`: the cursor starts at 0, and the first call returns stage 0 with the initial phase.
        """
        trace = active("PipelineState.advance")
        wrap, stage = trace.fresh(pred), trace.fresh(u32)
        trace.emit(("setp", "eq", "u32"), (wrap, self.cursor, self.n_stages))
        trace.emit(("xor", "b32"), (self.phase, self.phase, 1), wrap)
        trace.emit(("selp", "b32"), (stage, 0, self.cursor, wrap))
        trace.emit(("add", "u32"), (self.cursor, stage, 1))
        return stage, self.phase


def _state(given: Reg | None, what: str) -> Reg:
    if given is None:
        trace = active("ptx.pipeline")
        register = trace.fresh(u32)
        trace.emit(("mov", "u32"), (register, 0))
        return register
    if not given.dtype.is_integer or given.dtype.bits != u32.bits:
        raise RegisterTypeError(
            f"the {what} of a pipeline must be a 32-bit register, got the {given.dtype} register {given.raw_name}"
        )
    return given


def pipeline(n_stages: int, *, cursor: Reg | None = None, phase: Reg | None = None) -> PipelineState:
    """Return the state of a ring of `n_stages` buffers; emits a `mov` for each of `cursor`, `phase` that is None."""
    return PipelineState(n_stages, cursor=cursor, phase=phase)
