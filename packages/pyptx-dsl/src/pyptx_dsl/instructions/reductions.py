"""Warp reductions, and other frequent warp-level operations.

Each function emits several instructions; its docstring states how many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import b16, b32

if TYPE_CHECKING:
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["Warp", "warp"]

_ALL = -1
_LAST = 31
_WIDTHS = (2, 4, 8, 16, 32)
_FLOATS = frozenset({"f32", "f64", "f16", "bf16", "f16x2", "bf16x2"})


class Warp:
    """`ptx.warp.reduce_sum(value)`: butterfly reductions in place, and other warp-level helpers.

    All lanes of the warp must participate (the membermask is -1), and every lane of a group gets the same bits. A
    reduction over `width` lanes (2, 4, 8, 16 or 32; groups of adjacent lanes) takes log2(width) steps, each of

    - 2 instructions for 32-bit types (`shfl.sync.bfly.b32`, and the operation): f32, u32, s32, b32, f16x2, bf16x2;
    - 4 for 16-bit types (a `mov` before the shuffle and a `cvt` after it);
    - 5 for 64-bit types (two shuffles, and two `mov` to split and join).

    Float reductions emit `add.rn`: without `.rn`, ptxas could fuse the addition with a multiplication, and lanes would
    differ in the last bit. `max` and `min` of floats prefer the number to a NaN. Raise OperandError for another width,
    RegisterTypeError for a type that the operation does not support.
    """

    def reduce_sum(self, val: Reg, *, width: int = 32) -> None:
        """Replace `val` by the sum over its group of `width` lanes; integers wrap around."""
        _reduce(val, "add", width, "ptx.warp.reduce_sum")

    def reduce_max(self, val: Reg, *, width: int = 32) -> None:
        """Replace `val` by the maximum over its group of `width` lanes, in the register's signedness."""
        _reduce(val, "max", width, "ptx.warp.reduce_max")

    def reduce_min(self, val: Reg, *, width: int = 32) -> None:
        """Replace `val` by the minimum over its group of `width` lanes, in the register's signedness."""
        _reduce(val, "min", width, "ptx.warp.reduce_min")

    def reduce_and(self, val: Reg, *, width: int = 32) -> None:
        """Replace `val` by the bitwise and over its group of `width` lanes; integers only."""
        _reduce(val, "and", width, "ptx.warp.reduce_and")

    def reduce_or(self, val: Reg, *, width: int = 32) -> None:
        """Replace `val` by the bitwise or over its group of `width` lanes; integers only."""
        _reduce(val, "or", width, "ptx.warp.reduce_or")

    def reduce_xor(self, val: Reg, *, width: int = 32) -> None:
        """Replace `val` by the bitwise exclusive or over its group of `width` lanes; integers only."""
        _reduce(val, "xor", width, "ptx.warp.reduce_xor")

    def broadcast(self, val: Reg, lane: object = 0) -> None:
        """Replace `val` by its value in `lane` (a number or a register), by `shfl.sync.idx`.

        1 instruction for 32-bit types, 3 for 16-bit ones, 4 for 64-bit ones.
        """
        trace = active("ptx.warp.broadcast")
        _check_bits(val, "ptx.warp.broadcast")
        _shuffle(trace, "idx", val, val, lane)

    def sync(self, membermask: object = _ALL, *, pred: Reg | None = None) -> None:
        """Emit `bar.warp.sync membermask;`: synchronize these lanes, and order their memory accesses."""
        active("ptx.warp.sync").emit(("bar", "warp", "sync"), (membermask,), pred)


def _reduce(val: Reg, operation: str, width: object, what: str) -> None:
    trace = active(what)
    lanes = as_integer(width)
    if lanes not in _WIDTHS:
        raise OperandError(f"{what}: invalid width {width!r}", help=f"use one of {', '.join(map(str, _WIDTHS))}")
    _check_bits(val, what)
    words = _operation(val, operation, what)
    partner = trace.fresh(val.dtype)
    distance = lanes // 2
    while distance:
        _shuffle(trace, "bfly", partner, val, distance)
        trace.emit(words, (val, val, partner))
        distance //= 2


def _check_bits(val: object, what: str) -> None:
    if not isinstance(val, Reg) or val.dtype.bits not in {16, 32, 64} or val.dtype.kind == "pred" or val.readonly:
        shown = f"{val.raw_name} is {val.dtype}" if isinstance(val, Reg) else f"got {val!r}"
        raise RegisterTypeError(
            f"{what} needs a writable register of 16, 32 or 64 bits; {shown}",
            help="copy or convert the value to a writable register of 16, 32 or 64 bits",
        )


def _operation(val: Reg, operation: str, what: str) -> tuple[str, ...]:
    """Return the opcode that combines the values of two lanes, such as `add.rn.f32`."""
    dtype = val.dtype
    if dtype.is_integer:
        letter = "s" if dtype.kind == "signed" else "u"
        return (operation, f"{'b' if operation in {'and', 'or', 'xor'} else letter}{dtype.bits}")
    if dtype.name in _FLOATS and operation in {"add", "max", "min"}:
        return (operation, "rn", dtype.name) if operation == "add" else (operation, dtype.name)
    raise RegisterTypeError(f"{what} does not support {dtype}", help="convert with ptx.cvt first")


def _shuffle(trace: Trace, mode: str, dst: Reg, src: Reg, lane: object) -> None:
    """Emit the shuffles of a 16-, 32- or 64-bit register `src` into `dst`."""
    shuffle = ("shfl", "sync", mode, "b32")
    bits = src.dtype.bits
    if bits == b32.bits:
        trace.emit(shuffle, (dst, src, lane, _LAST, _ALL))
        return
    if bits == b16.bits:
        whole = trace.fresh(b32)
        trace.emit(("mov", "b32"), (whole, [src, src]))
        trace.emit(shuffle, (whole, whole, lane, _LAST, _ALL))
        trace.emit(("cvt", "u16", "u32"), (dst, whole))
        return
    low, high = trace.fresh(b32), trace.fresh(b32)
    trace.emit(("mov", "b64"), ([low, high], src))
    trace.emit(shuffle, (low, low, lane, _LAST, _ALL))
    trace.emit(shuffle, (high, high, lane, _LAST, _ALL))
    trace.emit(("mov", "b64"), (dst, [low, high]))


warp = Warp()
