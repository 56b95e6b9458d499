"""`ptx.range_`: Python's range as a PTX loop, with bounds and steps that may be registers.

PTX emitted, for a counter `i` in the type of the registers given (s32 without any):

| | before | after the body |
|---|---|---|
| numbers only | `mov i, start` (nothing at all without an iteration) | `add i`, `setp`, `@p bra` |
| a register, step ±1, or no overflow possible | `mov i`, `setp`, `@p bra` around | `add i`, `setp`, `@p bra` |
| a register, another step | the same | `sub` (remaining distance), `setp`, `add i`, `@p bra` |
| a register as the step | unsigned: 4; signed: 8 | unsigned: 4; signed: 6 |

The number of iterations is exact for every value of the counter's type, without wrap-around. With `spelling=` or
`tested="top"`, the emitted loop is exactly that of `spelt_ranges`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyptx_dsl.control_flow.blocks import LoopLabels
from pyptx_dsl.control_flow.branches import behind_block, jump
from pyptx_dsl.control_flow.rebinding import Watch
from pyptx_dsl.control_flow.spelt_ranges import TestPlace, spelt
from pyptx_dsl.errors import ControlFlowError, OperandError, RegisterTypeError
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import NegPred, Reg
from pyptx_dsl.trace_context import active, current
from pyptx_dsl.types import PtxType, as_type, from_name, pred, s32
from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.control_flow.frames import LoopFrame
    from pyptx_dsl.control_flow.spelt_ranges import Spelt
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["range_"]

_WIDTHS = (16, 32, 64)


def range_(
    start: object,
    stop: object | None = None,
    step: object = 1,
    *,
    counter: Reg | None = None,
    dtype: PtxType | None = None,
    pred: Reg | None = None,
    spelling: str | None = None,
    tested: TestPlace = "bottom",
    uniform: bool | None = None,
    label: str | None = None,
    next_label: str | None = None,
    end_label: str | None = None,
    define_end: bool = True,
) -> Iterator[Reg]:
    """Loop over `start, start + step, …` before `stop`: `for i in ptx.range_(tid, n, 128): …`.

    The body is traced once, with `i` the counter's register. Each argument is a number or an integer register;
    registers must agree in signedness, narrower ones are widened by one `cvt`. One argument is the stop, as in Python.
    A step may be negative. Emits the instructions in the table above: two branches, or one if all arguments are
    numbers. `break_` and `continue_` work. Python's `break` ends the body there, so that the loop runs at most once;
    directly out of (or after) an `if_` block it raises ControlFlowError when the trace ends.

    A name that the body rebinds (`v = v + 1.0`) and reads in the next iteration raises ControlFlowError; `v += 1.0`
    does not. `stop` and `step` are read in every iteration. Raises OperandError for a step of 0 or bounds outside the
    counter's type, and RegisterTypeError for registers that are not integers. A register step of 0 runs no iteration.

    `counter` is the register that counts (if it is also `start`, no `mov` is emitted), `dtype` its type, `pred` the
    predicate of the tests. `label` names the loop's label; `next_label`, `end_label` and `define_end` are those of
    `loop`; `uniform` emits `bra.uni`.

    With `spelling`, such as "mov.b32 add.s32 setp.ne.s32", or tested="top", the loop consists of exactly the `mov`, the
    `add` (or `sub`), the `setp` and the branch. No test precedes it: tested at its end, the body runs at least once,
    and a counter that steps outside its type wraps. `pred=~p` then branches where p is false.
    """
    trace = active("ptx.range_")
    if stop is None:
        start, stop = 0, start
    exact = spelling is not None or tested != "bottom"
    options = RangeOptions(counter, dtype, pred, label, LoopLabels(next_label, end_label, define_end), uniform)
    _check_registers(options, exact=exact)
    plan = _plan(trace, start, stop, step, options, exact=exact)
    if plan is None:
        return iter(())
    form = spelt(trace, plan, spelling or "", tested, pred, uniform=uniform) if exact else None
    return _run(trace, plan, options, form, trace.promise("ptx.range_"))


@dataclass(frozen=True, slots=True)
class RangeOptions:
    """Options of `ptx.range_` for the loop's registers, labels and branches."""

    counter: Reg | None
    dtype: PtxType | None
    pred: Reg | None
    label: str | None
    labels: LoopLabels
    uniform: bool | None

    def predicate(self, trace: Trace) -> Reg:
        """Return the predicate register for the next test: the option `pred`, or a fresh register."""
        return trace.fresh(pred) if self.pred is None else self.pred


def _check_registers(options: RangeOptions, *, exact: bool) -> None:
    """Raise RegisterTypeError or OperandError for an invalid loop counter or predicate register."""
    for keyword, given in (("counter", options.counter), ("pred", options.pred)):
        if given is not None and not isinstance(cast("object", given), Reg):
            raise OperandError(
                f"ptx.range_: {keyword} must be a register, got {given!r}",
                help="create a register with reg.scalar or reg.bank",
            )
    if options.counter is not None and options.counter.readonly:
        raise RegisterTypeError(
            f"ptx.range_: counter {options.counter.raw_name} is read-only",
            help="copy it: reg.from_(register, u32)",
        )
    if options.pred is not None and options.pred.dtype is not pred:
        raise RegisterTypeError(
            f"ptx.range_: pred must be a predicate register, got {options.pred!r}", help="pass reg.scalar(pred)"
        )
    if isinstance(options.pred, NegPred) and not exact:
        raise RegisterTypeError(
            "ptx.range_ selects the relation of its setp itself: pass pred=p, not ~p",
            help='set the opcode of the setp: spelling="setp.ge.s32"',
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Checked arguments of `ptx.range_`: registers of the loop counter's type, or numbers in the range of that type."""

    dtype: PtxType
    start: Reg | int
    stop: Reg | int
    step: Reg | int

    @property
    def word(self) -> str:
        """Type modifier of the loop counter, such as `s32` or `u64`."""
        return f"{'s' if self.signed else 'u'}{self.dtype.bits}"

    @property
    def unsigned(self) -> str:
        """Type modifier of the distance between loop counter and `stop`, which is unsigned: `u32`."""
        return f"u{self.dtype.bits}"

    @property
    def signed(self) -> bool:
        """Whether the loop counter's type is signed."""
        return self.dtype.kind == "signed"

    @property
    def lowest(self) -> int:
        """Smallest value of the loop counter's type."""
        return -(1 << (self.dtype.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """Largest value of the loop counter's type."""
        return (1 << (self.dtype.bits - (1 if self.signed else 0))) - 1

    @property
    def is_counted(self) -> bool:
        """Whether start, stop and step are numbers; then the loop runs at least once, unless `spelling=` is given."""
        return all(isinstance(value, int) for value in (self.start, self.stop, self.step))

    @property
    def stays_inside(self) -> bool:
        """Whether the loop counter can step past `stop` without overflow."""
        if isinstance(self.step, Reg):
            return False
        if self.step in {1, -1}:
            return True
        if isinstance(self.stop, Reg):
            return False
        return self.lowest <= self.stop + self.step + (-1 if self.step > 0 else 1) <= self.highest


# --- arguments --------------------------------------------------------------------------------------


def _plan(
    trace: Trace, start: object, stop: object, step: object, options: RangeOptions, *, exact: bool
) -> Plan | None:
    """Return the checked arguments, or None for a loop without iterations; with `exact` (`spelling=`), never None."""
    values = [_value(name, value) for name, value in (("start", start), ("stop", stop), ("step", step))]
    dtype = _counted_in(options, [value for value in values if isinstance(value, Reg)])
    if isinstance(values[2], int) and values[2] == 0:
        raise OperandError("ptx.range_: a loop with step 0 would never end", help="use ptx.loop for an endless loop")
    plan = Plan(dtype, *values)
    if plan.is_counted and not exact and not range(*[v for v in values if isinstance(v, int)]):
        return None
    for name, value in zip(("start", "stop", "step"), values, strict=True):
        signed_step = name == "step" and not plan.signed
        low = -plan.highest if signed_step else plan.lowest
        if isinstance(value, int) and not low <= value <= plan.highest:
            raise OperandError(
                f"ptx.range_: {name}={value} does not fit in the counter type {plan.word}",
                help="pass start as a register of a wider or signed type",
            )
    if exact:
        return plan
    return Plan(dtype, values[0], *[_fitted(trace, value, dtype) for value in values[1:]])


def _counted_in(options: RangeOptions, registers: list[Reg]) -> PtxType:
    """Return the loop counter's type: `dtype`, or the common type of the registers among bounds, step and counter."""
    if options.counter is not None:
        _value("counter", options.counter)
    counter = [] if options.counter is None else [options.counter]
    dtype = _counter(registers + counter) if options.dtype is None else as_type(options.dtype)
    if not dtype.is_integer or dtype.bits not in _WIDTHS:
        raise RegisterTypeError(
            f"ptx.range_: dtype must be an integer of 16, 32 or 64 bits, got {dtype}", help="use dtype=s32 or u64"
        )
    wrong = [register for register in registers if register.dtype.bits > dtype.bits]
    wrong += [register for register in counter if register.dtype.bits != dtype.bits]
    if wrong:
        raise RegisterTypeError(
            f"ptx.range_: expected {dtype} registers, got the {wrong[0].dtype} register {wrong[0].raw_name}",
            help="pass registers of one width, or another dtype",
        )
    return dtype


def _value(name: str, value: object) -> Reg | int:
    if isinstance(value, Reg):
        if not value.dtype.is_integer or value.dtype.bits not in _WIDTHS:
            raise RegisterTypeError(
                f"ptx.range_: {name} must be an integer of 16, 32 or 64 bits, got the {value.dtype} register "
                f"{value.raw_name}",
                help="convert the register with ptx.cvt",
            )
        return value
    number = as_integer(value)
    if number is None:
        raise OperandError(
            f"ptx.range_: {name} must be an int or a register, got {value!r}",
            help="pass an integer; convert a float register with ptx.cvt",
        )
    return number


def _counter(registers: list[Reg]) -> PtxType:
    """Return the loop counter's type: the widest type of the registers; untyped bits count as unsigned."""
    if not registers:
        return s32
    kinds = {"signed" if register.dtype.kind == "signed" else "unsigned" for register in registers}
    if len(kinds) > 1:
        named = ", ".join(f"{register.raw_name} ({register.dtype})" for register in registers)
        raise RegisterTypeError(
            f"ptx.range_ mixes signed and unsigned registers: {named}",
            help="convert all to one type: reg.from_(value, s32)",
        )
    bits = max(register.dtype.bits for register in registers)
    return from_name(f"{kinds.pop()[0]}{bits}")


def _fitted(trace: Trace, value: Reg | int, dtype: PtxType) -> Reg | int:
    """Return `value` in the loop counter's type: widen a narrower register by `cvt`, copy a special register."""
    if not isinstance(value, Reg) or (value.dtype.bits == dtype.bits and not value.readonly):
        return value
    result = trace.fresh(dtype)
    _move(trace, result, value, dtype)
    return result


def _move(trace: Trace, into: Reg, value: Reg | int, dtype: PtxType) -> None:
    """Emit one `mov` of a value to a register, or one `cvt` if the value is a narrower register."""
    if isinstance(value, Reg) and value.dtype.bits != dtype.bits:
        trace.emit(("cvt", dtype.name, f"{dtype.name[0]}{value.dtype.bits}"), (into, value))
    else:
        trace.emit(("mov", dtype.name), (into, value))


# --- the loop ---------------------------------------------------------------------------------------


def _run(trace: Trace, plan: Plan, options: RangeOptions, form: Spelt | None, promise: int) -> Iterator[Reg]:
    """Emit the loop, and yield the loop counter for its body; after a Python `break` in it emit only the labels."""
    trace.unopened.pop(promise, None)
    counter = trace.fresh(plan.dtype) if options.counter is None else options.counter
    top = options.label or trace.new_label("range")
    frame = options.labels.frame(trace, top)
    direction = None
    if form is not None:
        form.move(trace, counter)
    else:
        _start(trace, plan, counter)
        direction = _enter(trace, plan, counter, frame, options)
    trace.append(nodes.Label(name=top))
    if form is not None:
        form.enter(trace, counter, frame)
    watch = Watch(trace, "ptx.range_", repeats=True, skipped=_may_be_skipped(plan, form))
    try:
        yield counter
        watch.close()
        frame.define_next()
        if form is not None:
            form.step(trace, counter, top)
        else:
            _step(trace, plan, counter, top, direction, options)
    except GeneratorExit:
        if current() is not trace:  # an exception has ended the trace: emit nothing
            return
        if behind_block(trace):
            trace.faults.append(_python_break())
        frame.define_next()
        raise
    finally:
        frame.close()
        if current() is trace:
            frame.define_end()


def _may_be_skipped(plan: Plan, form: Spelt | None) -> bool:
    """Return whether the loop body may run zero times."""
    return not plan.is_counted if form is None else form.place == "top"


def _python_break() -> ControlFlowError:
    """Return the error for a Python `break` in an `if_` block; the closing `range_` generator cannot raise it."""
    return ControlFlowError(
        "Python's `break` in a block of ptx.if_ ends the tracing of the loop body, for all threads",
        help="leave the loop on the GPU with ptx.break_()",
    )


@dataclass(frozen=True, slots=True)
class Direction:
    """Registers computed before a loop with a signed register step: whether the step is positive, and its magnitude."""

    up: Reg
    size: Reg


def _start(trace: Trace, plan: Plan, counter: Reg) -> None:
    """Emit the `mov` of `start` to the loop counter, unless `start` is the counter."""
    if plan.start is not counter:
        _move(trace, counter, plan.start, plan.dtype)


def _enter(trace: Trace, plan: Plan, counter: Reg, frame: LoopFrame, options: RangeOptions) -> Direction | None:
    """Emit the branch around a loop that may have no iteration; return the `Direction` of a signed register step."""
    if isinstance(plan.step, Reg):
        return _enter_by_register(trace, plan, plan.step, counter, frame, options)
    if isinstance(plan.start, int) and isinstance(plan.stop, int):
        return None
    none = options.predicate(trace)
    trace.emit(("setp", "ge" if plan.step > 0 else "le", plan.word), (none, counter, plan.stop))
    jump(trace, frame.at_end(), none, uniform=bool(options.uniform))
    return None


def _enter_by_register(
    trace: Trace, plan: Plan, step: Reg, counter: Reg, frame: LoopFrame, options: RangeOptions
) -> Direction | None:
    some = options.predicate(trace)
    if not plan.signed:
        trace.emit(("setp", "lt", plan.word), (some, counter, plan.stop))
        trace.emit(("setp", "ne", "and", plan.word), (some, step, 0, some))
        jump(trace, frame.at_end(), ~some, uniform=bool(options.uniform))
        return None
    up, down, falling, size = trace.fresh(pred), trace.fresh(pred), trace.fresh(pred), trace.fresh(plan.dtype)
    trace.emit(("setp", "gt", plan.word), (up, step, 0))
    trace.emit(("setp", "lt", plan.word), (down, step, 0))
    trace.emit(("abs", plan.word), (size, step))
    trace.emit(("setp", "lt", "and", plan.word), (some, counter, plan.stop, up))
    trace.emit(("setp", "gt", "and", plan.word), (falling, counter, plan.stop, down))
    trace.emit(("or", "pred"), (some, some, falling))
    jump(trace, frame.at_end(), ~some, uniform=bool(options.uniform))
    return Direction(up, size)


def _step(trace: Trace, plan: Plan, counter: Reg, top: str, direction: Direction | None, options: RangeOptions) -> None:
    """Emit the `add` of the step to the loop counter, and the branch back while the counter is before `stop`."""
    more = options.predicate(trace)
    if isinstance(plan.step, int) and plan.stays_inside:
        trace.emit(("add", plan.word), (counter, counter, plan.step))
        trace.emit(("setp", "lt" if plan.step > 0 else "gt", plan.word), (more, counter, plan.stop))
        jump(trace, top, more, uniform=bool(options.uniform))
        return
    left = trace.fresh(from_name(plan.unsigned))
    upwards = isinstance(plan.step, Reg) or plan.step > 0
    ends = (plan.stop, counter) if upwards else (counter, plan.stop)
    trace.emit(("sub", plan.unsigned), (left, *ends))
    size: Reg | int = plan.step if isinstance(plan.step, Reg) else abs(plan.step)
    if direction is not None:
        falling = trace.fresh(left.dtype)
        trace.emit(("sub", plan.unsigned), (falling, counter, plan.stop))
        trace.emit(("selp", f"b{plan.dtype.bits}"), (left, left, falling, direction.up))
        size = direction.size
    trace.emit(("setp", "gt", plan.unsigned), (more, left, size))
    trace.emit(("add", plan.word), (counter, counter, plan.step))
    jump(trace, top, more, uniform=bool(options.uniform))
