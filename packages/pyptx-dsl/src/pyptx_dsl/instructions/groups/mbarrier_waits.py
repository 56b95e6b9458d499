"""Waits for completion of an mbarrier phase, by one instruction or a loop: methods of `ptx.mbarrier`.

Manual: "mbarrier.test_wait, mbarrier.try_wait".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.groups.wait_forms import SPACE, FormName, SourcePosition, Waiting, poll_words, spelled
from pyptx_dsl.registers.operands import PipeRef
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import pred as predicate

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["Waits"]


class Waits:
    """Methods of `ptx.mbarrier` that test, or wait for, completion of an mbarrier phase."""

    @emits(phase="parity state", q="|", suspend_time_hint="time_hint")
    def test_wait(
        self,
        mbar: object,
        phase: object,
        *,
        parity: bool = True,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = SPACE,
        phases: str | None = None,
        report: Reg | None = None,
        q: Reg | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.test_wait{.parity}{.sem.scope}.shared::cta.b64 p, [mbar], phase;` and return `p`.

        `p` is whether the phase has completed; the instruction does not block. `phase` is its parity, or with
        `parity=False` the state that `arrive` returned. `sem` (`acquire`, `relaxed`) and `scope` (`cta`, `cluster`)
        require each other. `space` is `shared::cta`, `shared`, or None for a generic address.

        `phases` (PTX 9.3) is `primary` or `conditional`. With `primary`, the register `report` (b8) gets the report on
        invalid bytes, and the predicate `q` whether there were any.
        """
        modifiers = {"parity": parity, "sem": sem, "scope": scope, "space": space, "phases": phases}
        return _wait("test_wait", (mbar, phase), (q, report), pred, **modifiers)

    @emits(phase="parity state", q="|", suspend_time_hint="time_hint")
    def try_wait(
        self,
        mbar: object,
        phase: object,
        *,
        parity: bool = True,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = SPACE,
        suspend_time_hint: object | None = None,
        phases: str | None = None,
        report: Reg | None = None,
        q: Reg | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.try_wait{.parity}{.sem.scope}.shared::cta.b64 p, [mbar], phase{, hint};`.

        From sm_90. The thread may be suspended for about `suspend_time_hint` nanoseconds. Return the predicate `p`:
        whether the phase has completed; it may be false although the phase has completed. The other arguments are those
        of `test_wait`.
        """
        modifiers = {"parity": parity, "sem": sem, "scope": scope, "space": space, "phases": phases}
        return _wait("try_wait", (mbar, phase, suspend_time_hint), (q, report), pred, **modifiers)

    def wait(
        self,
        mbar: object,
        phase: object,
        *,
        form: FormName = "retry",
        poll: str = "try_wait",
        sem: str | None = None,
        scope: str | None = None,
        parity: bool = True,
        space: str | None = SPACE,
        suspend_time_hint: object | None = None,
        uniform: bool = False,
        label: str | None = None,
        past_label: str | None = None,
        done: Reg | str | None = None,
        result: Reg | None = None,
        failed: Reg | None = None,
        nanoseconds: object = 20,
        selp: str = "selp.b32",
        setp: str = "setp.eq.s32",
        loc: SourcePosition | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Wait until a phase completes, by two instructions in a loop: `try_wait.parity`, and `@!p bra` back.

        `poll="test_wait"` polls with the instruction of sm_80. `sem`, `scope`, `parity` and `suspend_time_hint` are
        those of `try_wait`; `space` is `shared::cta`, `shared`, or None for generic addresses. With `pred`, one more
        `bra` skips the wait in the other threads.

        `form` selects the code of a library or compiler (`L` is `label`, `D` `past_label`, `p` `done`):

        - `retry`: `L: poll; @!p bra L;`
        - `done`: `L: poll; @p bra D; bra L; D:`
        - `scoped`, `scoped_done`: the same between braces, with `.reg .pred p;` (CUTLASS, CuTe, Mosaic, Triton)
        - `backoff`: `scoped`, and `@!p nanosleep.u32 nanoseconds;` after the poll (Triton before sm_90)
        - `skip`: `{ @!pred bra D; .reg .pred p; L: poll; @!p bra L; D: }` (Triton with a predicate)
        - `poll`: `{ .reg .pred p; poll; selp.b32 result, 1, 0, p; }`, once (cuda::ptx)
        - `poll_retry`: `L: { …the same… } setp.eq.s32 failed, result, 0; @failed bra L;`

        `uniform` makes the branches `bra.uni`; `selp` and `setp` are the opcodes of those instructions. `done` is a
        register, or between braces the name of the predicate declared there. Raise OperandError for arguments that the
        form does not use.

        `mbar` and `phase` may be functions that emit their computation after `L`, in each iteration. `loc` has the
        arguments of `ptx.loc`. Step `n` of the form gets a `.loc` with the line number plus `n`, if it is a label or
        has no guard (Triton, with line numbers).
        """
        trace = active("ptx.mbarrier.wait")
        words = poll_words(poll, parity=parity, sem=sem, scope=scope, space=space)
        hint = () if suspend_time_hint is None else (suspend_time_hint,)
        barrier = mbar if callable(mbar) else as_address(mbar)
        Waiting(
            *(trace, words, (barrier, phase, *hint), pred, uniform, label, past_label, done, result, failed),
            *(nanoseconds, spelled("selp", selp), spelled("setp", setp), loc),
        ).write(form)


def _wait(
    kind: str,
    operands: tuple[object, ...],
    more: tuple[Reg | None, Reg | None],
    guard: Reg | None,
    **modifiers: str | bool | None,
) -> Reg:
    trace = active(f"ptx.mbarrier.{kind}")
    words = poll_words(kind, **modifiers)
    q, report = more
    done = trace.fresh(predicate)
    results = (done if q is None else PipeRef(done, q), *(() if report is None else (report,)))
    mbar, *phase = operands
    trace.emit(words, (*results, as_address(mbar), *(each for each in phase if each is not None)), guard)
    return done
