"""Barriers of a thread block (CTA).

Manual: "Parallel Synchronization and Communication Instructions: bar, barrier, bar.warp.sync".
"""

from __future__ import annotations

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active

__all__ = [
    "Bar",
    "BarRed",
    "Barrier",
    "BarrierRed",
    "CtaBar",
    "CtaBarrier",
    "NamedBarrier",
    "WarpBarrier",
    "bar",
    "barrier",
    "named_barrier",
]

_BARRIERS = 16
_WARP = 32


class BarRed:
    """Reductions over the threads of a CTA at a barrier: `ptx.bar.red.popc`, `and_`, `or_`."""

    def __init__(self, head: str) -> None:
        """Set the opcode prefix, `bar.red` or `bar.cta.red`."""
        self.head = head

    @emits("{self.head}.popc", p="c")
    def popc(self, dst: Reg, n: object, p: Reg, count: object | None = None, *, pred: Reg | None = None) -> Reg:
        """Emit `bar.red.popc.u32 d, n{, count}, p;` and return `d`: the number of threads in which `p` is true."""
        return _reduce((self.head, "popc", "u32"), (dst, n, count, p), pred)

    @emits("{self.head}.and", p="c")
    def and_(self, dst: Reg, n: object, p: Reg, count: object | None = None, *, pred: Reg | None = None) -> Reg:
        """Emit `bar.red.and.pred d, n{, count}, p;` and return `d`: `p` is true in all threads."""
        return _reduce((self.head, "and", "pred"), (dst, n, count, p), pred)

    @emits("{self.head}.or", p="c")
    def or_(self, dst: Reg, n: object, p: Reg, count: object | None = None, *, pred: Reg | None = None) -> Reg:
        """Emit `bar.red.or.pred d, n{, count}, p;` and return `d`: `p` is true in at least one thread."""
        return _reduce((self.head, "or", "pred"), (dst, n, count, p), pred)


class BarrierRed:
    """`ptx.barrier.red`: like `ptx.bar.red`, for threads that may be diverged; `aligned=True` asserts convergence."""

    def __init__(self, head: str) -> None:
        """Set the opcode prefix, `barrier.red` or `barrier.cta.red`."""
        self.head = head

    @emits("{self.head}.popc", p="c")
    def popc(
        self,
        dst: Reg,
        n: object,
        p: Reg,
        count: object | None = None,
        *,
        aligned: bool = False,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `barrier.red.popc{.aligned}.u32 d, n{, count}, p;`; return `d`: the number of threads with true `p`."""
        return _reduce((self.head, "popc", *_aligned(on=aligned), "u32"), (dst, n, count, p), pred)

    @emits("{self.head}.and", p="c")
    def and_(
        self,
        dst: Reg,
        n: object,
        p: Reg,
        count: object | None = None,
        *,
        aligned: bool = False,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `barrier.red.and{.aligned}.pred d, n{, count}, p;` and return `d`: `p` is true in all threads."""
        return _reduce((self.head, "and", *_aligned(on=aligned), "pred"), (dst, n, count, p), pred)

    @emits("{self.head}.or", p="c")
    def or_(
        self,
        dst: Reg,
        n: object,
        p: Reg,
        count: object | None = None,
        *,
        aligned: bool = False,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `barrier.red.or{.aligned}.pred d, n{, count}, p;` and return `d`: `p` is true in at least one thread."""
        return _reduce((self.head, "or", *_aligned(on=aligned), "pred"), (dst, n, count, p), pred)


def _aligned(*, on: bool) -> tuple[str, ...]:
    return ("aligned",) if on else ()


def _reduce(words: tuple[str, ...], parts: tuple[Reg, object, object | None, Reg], pred: Reg | None) -> Reg:
    dst, n, count, p = parts
    _emit(words, (dst, *_operands(n, count), p), pred)
    return dst


def _emit(words: tuple[str, ...], operands: tuple[object, ...], pred: Reg | None) -> None:
    """Emit a barrier instruction; the first element of `words` may contain a dotted opcode prefix: `bar.cta`."""
    active(f"ptx.{words[0]}.{words[1]}").emit((*words[0].split("."), *words[1:]), operands, pred)


class WarpBarrier:
    """`ptx.bar.warp.sync`: synchronize lanes of a warp."""

    def sync(self, membermask: object = -1, *, pred: Reg | None = None) -> None:
        """Emit `bar.warp.sync membermask;`: synchronize these lanes, and order their memory accesses."""
        active("ptx.bar.warp.sync").emit(("bar", "warp", "sync"), (membermask,), pred)


class CtaBar:
    """`ptx.bar.cta`: the barriers of `ptx.bar`, with the explicit `.cta` (PTX 7.8)."""

    def __init__(self, head: str) -> None:
        """Set the opcode prefix, `bar` or `bar.cta`."""
        self.head = head
        self.red = BarRed(f"{head}.red")

    @emits("{self.head}.sync")
    def sync(self, n: object = 0, count: object | None = None, *, pred: Reg | None = None) -> None:
        """Emit `bar.sync n{, count};`: wait at the barrier, and order memory accesses of the participating threads."""
        _emit((self.head, "sync"), _operands(n, count), pred)

    @emits("{self.head}.arrive")
    def arrive(self, n: object, count: object, *, pred: Reg | None = None) -> None:
        """Emit `bar.arrive n, count;`: arrive at the barrier without waiting."""
        _emit((self.head, "arrive"), _operands(n, count), pred)


class Bar(CtaBar):
    """CTA barriers at which whole warps arrive.

    A CTA has 16 barriers, numbered from 0. `count` is the number of participating threads, a multiple of 32; default:
    all threads of the CTA. Raise OperandError for other barrier numbers or counts.
    """

    warp = WarpBarrier()
    cta = CtaBar("bar.cta")


class CtaBarrier:
    """`ptx.barrier.cta`: the barriers of `ptx.barrier`, with the explicit `.cta` (PTX 7.8)."""

    def __init__(self, head: str) -> None:
        """Set the opcode prefix, `barrier` or `barrier.cta`."""
        self.head = head
        self.red = BarrierRed(f"{head}.red")

    @emits("{self.head}.sync")
    def sync(
        self, n: object = 0, count: object | None = None, *, aligned: bool = False, pred: Reg | None = None
    ) -> None:
        """Emit `barrier.sync{.aligned} n{, count};`: wait until all participating threads have arrived."""
        _emit((self.head, "sync", *_aligned(on=aligned)), _operands(n, count), pred)

    @emits("{self.head}.arrive")
    def arrive(self, n: object, count: object, *, aligned: bool = False, pred: Reg | None = None) -> None:
        """Emit `barrier.arrive{.aligned} n, count;`: arrive at the barrier without waiting."""
        _emit((self.head, "arrive", *_aligned(on=aligned)), _operands(n, count), pred)


class Barrier(CtaBarrier):
    """CTA barriers for threads that may be diverged; `aligned=True` asserts convergence."""

    cta = CtaBarrier("barrier.cta")


bar = Bar("bar")
barrier = Barrier("barrier")


class NamedBarrier:
    """A CTA barrier with its number and thread count."""

    __slots__ = ("barrier_id", "count")

    def __init__(self, barrier_id: object, count: object | None = None) -> None:
        """Check barrier number and thread count; nothing is emitted."""
        _operands(barrier_id, count)
        self.barrier_id = barrier_id
        self.count = count

    def sync(self, *, pred: Reg | None = None) -> None:
        """Emit `bar.sync id{, count};` for this barrier."""
        bar.sync(self.barrier_id, self.count, pred=pred)

    def arrive(self, *, pred: Reg | None = None) -> None:
        """Emit `bar.arrive id, count;` for this barrier; raise OperandError for a barrier without a count."""
        if self.count is None:
            raise OperandError("bar.arrive needs a thread count", help="write ptx.named_barrier(id, count=128)")
        bar.arrive(self.barrier_id, self.count, pred=pred)


def named_barrier(barrier_id: object, *, count: object | None = None) -> NamedBarrier:
    """Return a barrier with a number (0 to 15, or a register) and a thread count; nothing is emitted."""
    return NamedBarrier(barrier_id, count)


def _operands(n: object, count: object | None) -> tuple[object, ...]:
    """Check a barrier's number and count if they are constants; return them as operands."""
    number = None if isinstance(n, Reg) else as_integer(n)
    if not isinstance(n, Reg) and (number is None or not 0 <= number < _BARRIERS):
        raise OperandError(f"invalid barrier {n!r}", help=f"use barriers 0 to {_BARRIERS - 1}")
    if count is None:
        return (n,)
    threads = None if isinstance(count, Reg) else as_integer(count)
    if not isinstance(count, Reg) and (threads is None or threads < _WARP or threads % _WARP):
        raise OperandError(f"invalid thread count {count!r} of a barrier", help="use a multiple of 32 (whole warps)")
    return (n, count)
