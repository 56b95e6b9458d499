"""Instruction sequences that libraries and compilers emit to wait for an mbarrier phase: one `WaitForm` each.

A `WaitForm` lists steps, most of them instructions, by their effect: `again` and `past` are the labels before the poll
and after the wait, `done` is the predicate that the poll writes. The computation of the mbarrier or the phase in each
iteration follows `again`. Manual: "mbarrier.test_wait/mbarrier.try_wait".
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from pyptx_dsl.control_flow.branches import jump
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, choice
from pyptx_dsl.instructions.variables import loc as location
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.registers.texts import text as text_of
from pyptx_dsl.types import pred
from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["FORMS", "SPACE", "FormName", "WaitForm", "WaitOptions", "Waiting", "poll_words", "spelled"]

SPACE = "shared::cta"
"""State space of an mbarrier in the thread's own CTA."""

SourcePosition: TypeAlias = "tuple[int, int, int] | tuple[int, int, int, str | tuple[str, int], tuple[int, int, int]]"
"""Arguments of `ptx.loc`: file, line and column; for inlined code, also the callee's name and the call's location."""

FormName: TypeAlias = Literal["retry", "done", "scoped", "scoped_done", "backoff", "skip", "poll", "poll_retry"]


@dataclass(frozen=True, slots=True)
class WaitForm:
    """The steps of a wait for an mbarrier phase: before its `{`, between its braces, and after its `}`."""

    before: tuple[str, ...] = ()
    scoped: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[str, ...]:
        """All steps of the mbarrier wait in the order of emission."""
        return self.before + self.scoped + self.behind


_RETRY = ("again:", "poll", "@!done bra again")
_LEAVE = ("again:", "poll", "@done bra past", "bra again", "past:")
_SELECT = (".reg done", "poll", "selp")

FORMS: dict[str, WaitForm] = {
    "retry": WaitForm(_RETRY),
    "done": WaitForm(_LEAVE),
    "scoped": WaitForm(scoped=(".reg done", *_RETRY)),
    "scoped_done": WaitForm(scoped=(".reg done", *_LEAVE)),
    "backoff": WaitForm(scoped=(".reg done", "again:", "poll", "@!done nanosleep", "@!done bra again")),
    "skip": WaitForm(scoped=("@!pred bra past", ".reg done", *_RETRY, "past:")),
    "poll": WaitForm(scoped=_SELECT),
    "poll_retry": WaitForm(("again:",), _SELECT, ("setp", "@failed bra again")),
}
"""Name of an mbarrier wait form -> its steps; all forms but `skip` are for calls without `pred`."""

GUARDED = {"retry": WaitForm(("@!pred bra past", *_RETRY, "past:")), "skip": FORMS["skip"]}
"""Name of an mbarrier wait form -> its steps in a call with `pred`."""


_POLLS = {kind: InstructionForms(f"ptx.mbarrier.{kind}", f"mbarrier.{kind}") for kind in ("try_wait", "test_wait")}


class WaitOptions(TypedDict, total=False):
    """Keywords of `ptx.mbarrier.wait` except `pred`; its docstring describes them."""

    form: FormName
    poll: Literal["try_wait", "test_wait"]
    sem: str | None
    scope: str | None
    parity: bool
    space: str | None
    suspend_time_hint: object | None
    uniform: bool
    label: str | None
    past_label: str | None
    done: Reg | str | None
    result: Reg | None
    failed: Reg | None
    nanoseconds: object
    selp: str
    setp: str
    loc: SourcePosition | None


def spelled(opcode: str, text: str) -> tuple[str, ...]:
    """Return an opcode and its modifiers as a tuple; raise OperandError unless `text` is `opcode.type`."""
    words = tuple(text_of(f"{opcode}=", text).split("."))
    if words[0] != opcode or len(words) < 2:
        raise OperandError(
            f"{opcode}= must be an opcode {opcode}.type, got {text!r}", help=f'append the type: "{opcode}.b32"'
        )
    return words


def poll_words(kind: str, **modifiers: str | bool | None) -> tuple[str, ...]:
    """Return the opcode of an mbarrier poll, `try_wait` or `test_wait`; `space` is None for generic addresses."""
    return _POLLS[choice("poll", kind, tuple(_POLLS))].words(**modifiers)


@dataclass(slots=True)
class Waiting:
    """One mbarrier wait being emitted: the opcode of its poll, and its labels and registers, generated unless given."""

    trace: Trace
    words: tuple[str, ...]
    operands: tuple[object, ...]
    pred: Reg | None
    uniform: bool
    label: str | None
    past_label: str | None
    done: Reg | str | None
    result: Reg | None
    failed: Reg | None
    nanoseconds: object
    selp: tuple[str, ...]
    setp: tuple[str, ...]
    loc: SourcePosition | None

    def write(self, form: str) -> None:
        """Emit the steps of the form named `form`; raise OperandError for a label or register that the form lacks."""
        row = self._row(form)
        self._name(row)
        if "again:" not in row.steps:
            self.compute()
        number = count()
        for steps, braces in ((row.before, False), (row.scoped, True), (row.behind, False)):
            with self.trace.scope() if braces and steps else nullcontext():
                for step in steps:
                    self._locate(step, next(number))
                    _STEPS[step](self)

    def _locate(self, step: str, number: int) -> None:
        """Emit `.loc` before a label, and before an instruction without a guard, as LLVM does in inline assembly."""
        if self.loc is None or step[0] in "@.":
            return
        match self.loc:
            case (int(file), int(line), int(column)):
                location(file, line + number, column)
            case (int(file), int(line), int(column), function, call):
                location(file, line + number, column, function_name=function, inlined_at=call)
            case _:
                raise OperandError(
                    f"loc must be a source location, got {self.loc!r}",
                    help="pass a file, a line and a column: loc=(1, 20, 5)",
                )

    def _row(self, form: str) -> WaitForm:
        row = FORMS.get(form) if self.pred is None else GUARDED.get(form)
        if form not in FORMS:
            raise OperandError(f"unknown form {form!r} of a wait", help=f"use one of {', '.join(FORMS)}")
        if row is None or (form == "skip" and self.pred is None):
            takes = ", ".join(GUARDED)
            raise OperandError(
                f"form={form!r} must be used {'without' if row is None else 'with'} pred=",
                help=f"forms with pred=: {takes}",
            )
        return row

    def _name(self, row: WaitForm) -> None:
        """Create a wait form's missing labels and predicate; raise OperandError for an option that the form lacks."""
        trace, steps = self.trace, row.steps
        for keyword, value, step in (
            ("result", self.result, "selp"),
            ("failed", self.failed, "setp"),
            ("past_label", self.past_label, "past:"),
            ("label", self.label, "again:"),
        ):
            if value is not None and step not in steps:
                raise OperandError(
                    f"this form of mbarrier wait has no {keyword}=", help=f"use a form with {keyword}=: {_with(step)}"
                )
        if "selp" in steps and self.result is None:
            raise OperandError("this form of mbarrier wait needs result=", help="pass a register: result=…")
        if isinstance(self.done, str) and not row.scoped:
            raise OperandError(
                f"done must be a register: this form declares no predicate, got {self.done!r}", help="pass a register"
            )
        self.label = self.label or (trace.new_label("wait") if "again:" in steps else None)
        self.past_label = self.past_label or (trace.new_label("waited") if "past:" in steps else None)
        if self.done is None:
            self.done = trace.fresh_symbol("done") if row.scoped else trace.fresh(pred)

    # --- steps --------------------------------------------------------------------------------------

    def compute(self) -> None:
        """Call the functions that compute the mbarrier and the phase, if functions were passed for them."""
        mbar, *phase = [each() if callable(each) else each for each in self.operands]
        self.operands = (as_address(mbar), *phase)

    def begin(self) -> None:
        """Define the loop label before the poll, and emit the computation of mbarrier and phase."""
        self.define(self.label)
        self.compute()

    def declare(self) -> None:
        """Emit `.reg .pred done;` if `done` is a name."""
        if isinstance(self.done, str):
            written = nodes.RegisterDeclaration("pred", (nodes.RegisterName(self.done),))
            (register,) = self.trace.declare_registers(written, pred)
            self.done = register if isinstance(register, Reg) else None

    def test(self) -> None:
        """Emit the poll (`try_wait` or `test_wait`), which writes the predicate `done`."""
        self.trace.emit(self.words, (self.done, *self.operands))

    def branch(self, label: str | None, guard: Reg | None) -> None:
        """Emit `bra{.uni} label;`, with a guard if one is given."""
        jump(self.trace, label or "", guard, uniform=self.uniform)

    def define(self, label: str | None) -> None:
        """Emit the definition of a label of the mbarrier wait."""
        self.trace.append(nodes.Label(name=label or ""))

    def predicate(self) -> Reg:
        """Return the predicate register that the poll (`try_wait` or `test_wait`) writes."""
        if not isinstance(self.done, Reg):
            raise TypeError(f"no statement of the wait declares its predicate {self.done!r}")
        return self.done

    def compare(self) -> None:
        """Emit the `setp` that compares the poll's `result` with 0 and writes the predicate `failed`."""
        self.failed = self.trace.fresh(pred) if self.failed is None else self.failed
        self.trace.emit(self.setp, (self.failed, self.result, 0))

    def go_back(self) -> None:
        """Emit the branch back to the mbarrier poll if `result` is 0; the `setp` may have the relation `eq` or `ne`."""
        failed = self.failed
        self.branch(self.label, failed if failed is None or self.setp[1] != "ne" else ~failed)


def _with(step: str) -> str:
    return ", ".join(name for name, form in FORMS.items() if step in form.steps)


_STEPS: Mapping[str, Callable[[Waiting], None]] = {
    "again:": Waiting.begin,
    "past:": lambda wait: wait.define(wait.past_label),
    ".reg done": Waiting.declare,
    "poll": Waiting.test,
    "bra again": lambda wait: wait.branch(wait.label, None),
    "@!done bra again": lambda wait: wait.branch(wait.label, ~wait.predicate()),
    "@done bra past": lambda wait: wait.branch(wait.past_label, wait.predicate()),
    "@!pred bra past": lambda wait: wait.branch(wait.past_label, None if wait.pred is None else ~wait.pred),
    "@!done nanosleep": lambda wait: wait.trace.emit(("nanosleep", "u32"), (wait.nanoseconds,), ~wait.predicate()),
    "selp": lambda wait: wait.trace.emit(wait.selp, (wait.result, 1, 0, wait.predicate())),
    "setp": Waiting.compare,
    "@failed bra again": Waiting.go_back,
}
