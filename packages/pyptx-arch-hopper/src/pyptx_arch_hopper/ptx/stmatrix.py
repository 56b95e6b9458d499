"""`ptx.stmatrix_x4_trans_f32_bf16`: stores an accumulator as a bf16 tile, column by column. Manual: "stmatrix"."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.groups.matrix import stmatrix
from pyptx_dsl.registers.operands import AddressOperand
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import b16, b32, u32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.instructions.groups.fragments import Fragment
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["stmatrix_x4_trans_f32_bf16"]

_GROUP = 8
_BF16_BYTES = 2


def stmatrix_x4_trans_f32_bf16(
    *,
    frag: Fragment,
    smem_base: Reg,
    lane: Reg,
    row_stride: int,
    tmp_bf16: Sequence[Reg] | None = None,
    tmp_pack: Sequence[Reg] | None = None,
) -> None:
    """Round a wgmma accumulator to bf16 and store it transposed: its columns become rows of shared memory.

    `frag` is the 64 x N accumulator of a warpgroup, N/2 f32 registers; `lane` is the thread's index in the warpgroup (0
    to 127). Column n is stored at `smem_base + n * row_stride * 2` bytes as 64 contiguous bf16 elements; `smem_base`
    and rows are aligned to 16 bytes.

    Emits 10 instructions for the address, and for each 16 columns 8 `cvt.rn.bf16.f32`, 4 `mov.b32` that pack two, and
    one `stmatrix.x4.trans`; one `add` more for each 16 columns except the first. `tmp_bf16` (8 b16) and `tmp_pack` (4
    b32) are scratch registers; missing scratch registers are declared.
    """
    given: object = [frag] if isinstance(frag, Reg) else frag
    registers = list(cast("Sequence[Reg]", given))
    if len(registers) % _GROUP:
        raise OperandError(
            f"ptx.stmatrix_x4_trans_f32_bf16: frag has {len(registers)} registers",
            help="pass N / 2 registers, with N a multiple of 16",
        )
    trace = active("ptx.stmatrix_x4_trans_f32_bf16")
    halves = [trace.fresh(b16) for _ in range(8)] if tmp_bf16 is None else list(tmp_bf16)
    packed = [trace.fresh(b32) for _ in range(4)] if tmp_pack is None else list(tmp_pack)
    if len(halves) != 8 or len(packed) != 4:
        raise OperandError(
            "ptx.stmatrix_x4_trans_f32_bf16: tmp_bf16 must be 8 b16 registers and tmp_pack 4 b32 registers"
        )
    start = _row_address(trace, smem_base, lane, row_stride)
    for group in range(len(registers) // _GROUP):
        for half, value in zip(halves, registers[group * _GROUP : (group + 1) * _GROUP], strict=True):
            trace.emit(("cvt", "rn", "bf16", "f32"), (half, value))
        for each, low, high in zip(packed, halves[::2], halves[1::2], strict=True):
            trace.emit(("mov", "b32"), (each, [low, high]))
        place = AddressOperand(start, group * 16 * row_stride * _BF16_BYTES)
        stmatrix(smem=place, regs=packed, layout="x4", trans=True)


def _row_address(trace: Trace, smem_base: Reg, lane: Reg, row_stride: int) -> Reg:
    """Emit the stmatrix row address of a lane, ten instructions.

    Lanes 0-7 and 8-15 address columns 0-7, of the warp's rows 0-7 and 8-15. Lanes 16-31 address columns 8-15 of the
    same rows.
    """
    place, part = trace.fresh(u32), trace.fresh(u32)
    trace.emit(("shr", "u32"), (place, lane, 5))
    # Row offset of each warp: its index times 16, because it stores 16 rows.
    trace.emit(("shl", "b32"), (place, place, 4))
    trace.emit(("and", "b32"), (part, lane, 8))
    trace.emit(("add", "u32"), (place, place, part))
    trace.emit(("and", "b32"), (part, lane, 7))
    trace.emit(("mad", "lo", "u32"), (place, part, row_stride, place))
    trace.emit(("and", "b32"), (part, lane, 16))
    trace.emit(("shr", "u32"), (part, part, 1))  # column offset: lanes 16-31 address columns 8-15, so 16 becomes 8
    trace.emit(("mad", "lo", "u32"), (place, part, row_stride, place))
    trace.emit(("mad", "lo", "u32"), (place, place, _BF16_BYTES, smem_base))
    return place
