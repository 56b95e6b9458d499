"""`ptx.kloop`: a counted loop that runs several iterations per branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyptx_dsl.control_flow.branches import jump
from pyptx_dsl.control_flow.frames import LoopFrame
from pyptx_dsl.control_flow.rebinding import Watch
from pyptx_dsl.errors import CallError, OperandError, RegisterTypeError
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.bodies import requires_arguments
from pyptx_dsl.types import pred
from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["kloop"]


def kloop(
    total: object,
    *,
    unroll: int,
    body: Callable[[], object],
    loop_label: str = "kloop",
    tail_label: str | None = None,
    rest_label: str | None = None,
    end_label: str | None = None,
    uniform: bool = False,
) -> None:
    """Run `body` `total` times, `unroll` times per branch.

    If `total` is a register, emits 11 instructions in addition to the bodies (4 of them branches): a main loop with
    `unroll` copies of the body, and a tail loop with one copy; `body` is traced `unroll + 1` times. If `total` is a
    number, `body` is traced `total` times in a row, and no other instruction is emitted.

    `loop_label` names the main loop's label; if the kernel already has that name, the label is `$L_<loop_label>_N`.
    `tail_label` names the label before the tail loop's first test, `rest_label` the tail loop's label, `end_label` the
    label after the tail loop; `uniform` emits `bra.uni`. `break_` leaves both loops, `continue_` branches to the next
    copy of the body.

    Raises OperandError unless `unroll` is a positive number, RegisterTypeError unless `total` is an integer, CallError
    unless `body` is a function without arguments.
    """
    trace = active("ptx.kloop")
    factor = as_integer(unroll)
    if factor is None or factor < 1:
        raise OperandError(
            f"ptx.kloop: unroll must be a positive int, got {unroll!r}", help="pass unroll=1 for no unrolling"
        )
    if not callable(cast("object", body)) or requires_arguments(body):
        raise CallError(
            f"ptx.kloop: body must be a function without arguments, got {body!r}",
            help="count iterations in a register: the body gets no argument",
        )
    if isinstance(total, Reg):
        _loop(trace, total, factor, body, KloopLabels(loop_label, tail_label, rest_label, end_label, uniform))
        return
    count = as_integer(total)
    if count is None or count < 0:
        raise OperandError(
            f"ptx.kloop: total must be an int or an integer register, got {total!r}", help="write ptx.kloop(n, …)"
        )
    end = LoopFrame(trace, end_label, label=loop_label)
    end.close()
    for _ in range(count):
        _once(trace, body, end)
    end.define_end()


@dataclass(frozen=True, slots=True)
class KloopLabels:
    """Names of the labels of a `ptx.kloop`, and whether its branches are `bra.uni`."""

    loop: str
    tail: str | None
    rest: str | None
    end: str | None
    uniform: bool


def _once(trace: Trace, body: Callable[[], object], whole: LoopFrame) -> None:
    """Trace one copy of the body; after it, define the label to which `continue_` in the copy branches."""
    frame = LoopFrame(trace, whole.end, label=whole.label)
    try:
        body()
    finally:
        frame.close()
    frame.define_next()
    whole.end = frame.end


def _loop(trace: Trace, total: Reg, unroll: int, body: Callable[[], object], labels: KloopLabels) -> None:
    dtype = total.dtype
    if not dtype.is_integer or dtype.bits not in {16, 32, 64}:
        raise RegisterTypeError(
            f"ptx.kloop needs an integer register, got the {dtype} register {total.raw_name}",
            help="convert the register with ptx.cvt",
        )
    word = f"{'s' if dtype.kind == 'signed' else 'u'}{dtype.bits}"
    whole = LoopFrame(trace, labels.end, label=labels.loop)
    whole.close()
    left, test = trace.fresh(dtype), trace.fresh(pred)
    trace.emit(("mov", word), (left, total))
    if unroll > 1:
        tail = labels.tail or trace.new_label(f"{labels.loop}_tail")
        trace.emit(("setp", "lt", word), (test, left, unroll))
        jump(trace, tail, test, uniform=labels.uniform)
        _repeat(trace, _free(trace, labels.loop), (left, test, word), unroll, body, whole, uniform=labels.uniform)
        trace.append(nodes.Label(name=tail))
    end = whole.at_end()
    trace.emit(("setp", "lt", word), (test, left, 1))
    jump(trace, end, test, uniform=labels.uniform)
    rest = labels.rest or (_free(trace, labels.loop) if unroll == 1 else trace.new_label(f"{labels.loop}_rest"))
    _repeat(trace, rest, (left, test, word), 1, body, whole, uniform=labels.uniform)
    whole.define_end()


def _repeat(
    trace: Trace,
    label: str,
    counter: tuple[Reg, Reg, str],
    copies: int,
    body: Callable[[], object],
    whole: LoopFrame,
    *,
    uniform: bool,
) -> None:
    """Emit `label:`, `copies` bodies, and a backward branch while at least `copies` iterations are left."""
    left, test, word = counter
    trace.append(nodes.Label(name=label))
    watch = Watch(trace, "ptx.kloop", repeats=True, skipped=True)
    for _ in range(copies):
        _once(trace, body, whole)
    watch.close(body)
    trace.emit(("sub", word), (left, left, copies))
    trace.emit(("setp", "ge", word), (test, left, copies))
    jump(trace, label, test, uniform=uniform)


def _free(trace: Trace, label: str) -> str:
    """Return `label` if the kernel has no such label or symbol, else the generated label `$L_<label>_N`."""
    return trace.new_label(label) if trace.has_label(label) or trace.has_symbol(label) else label
