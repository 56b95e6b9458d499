"""A wait on an mbarrier can be emitted as each loop of `try_wait` or `test_wait` that libraries and compilers use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import DuplicateNameError, OperandError
from pyptx_dsl.instructions.groups.wait_forms import FORMS
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import pred, u32
from pyptx_ir.toolchain import assemble

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.kernels.kernel import Kernel

POLL = "mbarrier.try_wait.parity.shared::cta.b64"
TICKS = "0x989680"
ANSWER = {"poll": ("result",), "poll_retry": ("result",)}


class Ring:
    """Operands of the waits: two mbarriers, a phase, predicates and registers."""

    def __init__(self) -> None:
        self.p, self.r = reg.array(pred, 4), reg.array(u32, 8)
        self.bars = smem.mbarrier(2)
        self.full = ptx.mbarrier.array(self.r[1], 0, 2)

    def wait(self, **knobs: object) -> None:
        ptx.mbarrier.wait(ptx.addr(self.r[1]), self.r[2], **knobs)


def built(body: Callable[[Ring], object]) -> Kernel:
    def k() -> None:
        body(Ring())

    return kernel(arch="sm_90a")(k)


def statements(body: Callable[[Ring], object]) -> list[str]:
    text = built(body).ptx()
    lines = [line.strip() for line in text[text.index("{") + 1 : text.rindex("}")].splitlines()]
    return [line for line in lines if line and not line.startswith((".reg .b", ".reg .pred %", ".shared"))]


NAMES = {"label": "LAB_WAIT", "past_label": "DONE", "done": "P1"}


@pytest.mark.parametrize(
    ("knobs", "emitted"),
    [
        ({}, ["$L_wait_0:", f"{POLL} %p4, [%r1], %r2;", "@!%p4 bra $L_wait_0;"]),
        (
            {"form": "done", "label": "$L__BB0_4", "past_label": "$L__BB0_5", "poll": "test_wait"},
            [
                *("$L__BB0_4:", "mbarrier.test_wait.parity.shared::cta.b64 %p4, [%r1], %r2;", "@%p4 bra $L__BB0_5;"),
                *("bra $L__BB0_4;", "$L__BB0_5:"),
            ],
        ),
        (
            {"form": "scoped", "label": "waitLoop", "done": "complete", "uniform": True, "space": "shared"},
            [
                *("{", ".reg .pred complete;", "waitLoop:"),
                "mbarrier.try_wait.parity.shared.b64 complete, [%r1], %r2;",
                *("@!complete bra.uni waitLoop;", "}"),
            ],
        ),
        (
            {"form": "scoped_done", **NAMES},
            [
                *("{", ".reg .pred P1;", "LAB_WAIT:", f"{POLL} P1, [%r1], %r2;", "@P1 bra DONE;", "bra LAB_WAIT;"),
                *("DONE:", "}"),
            ],
        ),
        (
            {"form": "scoped_done", **NAMES, "suspend_time_hint": TICKS, "uniform": True},
            [
                *("{", ".reg .pred P1;", "LAB_WAIT:", f"{POLL} P1, [%r1], %r2, 0x989680;", "@P1 bra.uni DONE;"),
                *("bra.uni LAB_WAIT;", "DONE:", "}"),
            ],
        ),
        (
            {"form": "backoff", "label": "waitLoop", "done": "complete", "uniform": True, "poll": "test_wait"},
            [
                *("{", ".reg .pred complete;", "waitLoop:"),
                "mbarrier.test_wait.parity.shared::cta.b64 complete, [%r1], %r2;",
                *("@!complete nanosleep.u32 20;", "@!complete bra.uni waitLoop;", "}"),
            ],
        ),
        (
            {"form": "poll", "done": "P_OUT", "result": 5, "sem": "acquire", "scope": "cta"},
            [
                *("{", ".reg .pred P_OUT;"),
                "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 P_OUT, [%r1], %r2;",
                *("selp.b32 %r5, 1, 0, P_OUT;", "}"),
            ],
        ),
        (
            {"form": "poll_retry", "label": "$top", "done": "p", "result": 5, "failed": 3, "selp": "selp.u32"},
            [
                *("$top:", "{", ".reg .pred p;", f"{POLL} p, [%r1], %r2;", "selp.u32 %r5, 1, 0, p;", "}"),
                *("setp.eq.s32 %p3, %r5, 0;", "@%p3 bra $top;"),
            ],
        ),
        (
            {"form": "poll_retry", "label": "$top", "done": "p", "result": 5, "failed": 3, "setp": "setp.ne.b32"},
            [
                *("$top:", "{", ".reg .pred p;", f"{POLL} p, [%r1], %r2;", "selp.b32 %r5, 1, 0, p;", "}"),
                *("setp.ne.b32 %p3, %r5, 0;", "@!%p3 bra $top;"),
            ],
        ),
    ],
)
def test_each_form_emits_its_row(knobs: dict[str, object], emitted: list[str]) -> None:
    def body(ring: Ring) -> None:
        banks = {"result": ring.r, "failed": ring.p}
        ring.wait(**{name: banks[name][value] if name in banks else value for name, value in knobs.items()})

    assert statements(body) == emitted


def test_with_a_predicate_other_threads_pass() -> None:
    def skip(ring: Ring) -> None:
        names = {"label": "waitLoop", "past_label": "skipWait", "done": "complete"}
        ring.wait(form="skip", pred=ring.p[0], uniform=True, **names)

    def retry(ring: Ring) -> None:
        ring.wait(pred=ring.p[0], done=ring.p[1])

    assert statements(skip) == [
        *("{", "@!%p0 bra.uni skipWait;", ".reg .pred complete;", "waitLoop:", f"{POLL} complete, [%r1], %r2;"),
        *("@!complete bra.uni waitLoop;", "skipWait:", "}"),
    ]
    assert statements(retry) == [
        *("@!%p0 bra $L_waited_0;", "$L_wait_0:", f"{POLL} %p1, [%r1], %r2;", "@!%p1 bra $L_wait_0;", "$L_waited_0:"),
    ]


def test_names_between_braces_may_come_again_and_are_made_up_where_none_is_given() -> None:
    def named(ring: Ring) -> None:
        ring.wait(form="scoped_done", **NAMES)
        ring.wait(form="scoped_done", **NAMES)

    def unnamed(ring: Ring) -> None:
        ring.full[1].wait(ring.r[2], form="scoped")
        ptx.mbarrier.wait(ring.bars[1], 0, form="scoped")

    assert statements(named).count("LAB_WAIT:") == 2
    assert [line for line in statements(unnamed) if "done" in line and "reg" not in line] == [
        f"{POLL} done_0, [%r1+8], %r2;",
        "@!done_0 bra $L_wait_0;",
        f"{POLL} done_1, [mbar_0+8], 0;",
        "@!done_1 bra $L_wait_1;",
    ]


def test_what_computes_the_barrier_or_the_phase_stands_behind_the_label() -> None:
    def body(ring: Ring) -> None:
        def barrier() -> object:
            return ptx.inst.mov.u32(ring.r[3], "mbar_0")

        def phase() -> object:
            return ptx.inst.mov.b32(ring.r[4], 0)

        ptx.mbarrier.wait(barrier, phase, label="$top", done=ring.p[0])
        ptx.mbarrier.wait(ring.r[3], phase, form="scoped", label="again", done="p")
        ptx.mbarrier.wait(ring.r[3], phase, form="poll", result=ring.r[5], done="p")

    assert statements(body) == [
        *("$top:", "mov.u32 %r3, mbar_0;", "mov.b32 %r4, 0;", f"{POLL} %p0, [%r3], %r4;", "@!%p0 bra $top;"),
        *("{", ".reg .pred p;", "again:", "mov.b32 %r4, 0;", f"{POLL} p, [%r3], %r4;", "@!p bra again;", "}"),
        *("mov.b32 %r4, 0;", "{", ".reg .pred p;", f"{POLL} p, [%r3], %r4;", "selp.b32 %r5, 1, 0, p;", "}"),
    ]


def test_line_numbers_stand_in_front_of_labels_and_of_what_has_no_guard() -> None:
    def body(ring: Ring) -> None:
        ptx.file_(1, "kernel.py")
        names = {"label": "waitLoop", "past_label": "skipWait", "done": "complete"}
        ring.wait(form="skip", pred=ring.p[0], loc=(1, 20, 5), **names)
        ring.wait(form="scoped", label="waitLoop", done="complete", loc=(1, 20, 5, "$name", (1, 7, 3)))

    inlined = "function_name $name, inlined_at 1 7 3"
    assert [line for line in statements(body) if not line.startswith(".file")] == [
        *("{", "@!%p0 bra skipWait;", ".reg .pred complete;", ".loc 1 22 5", "waitLoop:", ".loc 1 23 5"),
        *(f"{POLL} complete, [%r1], %r2;", "@!complete bra waitLoop;", ".loc 1 25 5", "skipWait:", "}"),
        *("{", ".reg .pred complete;", f".loc 1 21 5, {inlined}", "waitLoop:", f".loc 1 22 5, {inlined}"),
        *(f"{POLL} complete, [%r1], %r2;", "@!complete bra waitLoop;", "}"),
    ]


def test_a_label_outside_of_braces_is_taken_once() -> None:
    def body(ring: Ring) -> None:
        ring.wait(label="$wait")
        ring.wait(label="$wait")

    with pytest.raises(DuplicateNameError, match=r"\$wait"):
        built(body).ptx()


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"form": "spin"}, "unknown form 'spin' of a wait"),
        ({"form": "poll"}, "result="),
        ({"form": "skip"}, "must be used with pred="),
        ({"form": "done", "pred": 0}, "must be used without pred="),
        ({"form": "retry", "past_label": "$past"}, "has no past_label="),
        ({"form": "poll", "result": 5, "label": "$top"}, "has no label="),
        ({"form": "retry", "result": 5}, "has no result="),
        ({"form": "scoped", "failed": 3}, "has no failed="),
        ({"form": "retry", "done": "P1"}, "declares no predicate"),
        ({"form": "poll", "result": 5, "selp": "mov.b32"}, "must be an opcode selp.type"),
        ({"space": "global"}, "space='global'"),
        ({"loc": (1, 2)}, r"loc must be a source location, got \(1, 2\)"),
    ],
)
def test_what_a_form_has_not_is_refused(knobs: dict[str, object], said: str) -> None:
    def body(ring: Ring) -> None:
        banks = {"result": ring.r, "failed": ring.p, "pred": ring.p}
        ring.wait(**{name: banks[name][value] if name in banks else value for name, value in knobs.items()})

    with pytest.raises(OperandError, match=said):
        built(body).ptx()


@pytest.mark.ptxas
@pytest.mark.parametrize("form", FORMS)
def test_ptxas_takes_each_form(form: str) -> None:
    def body(ring: Ring) -> None:
        ring.r[1], ring.r[2] = 0, 0
        answer = dict.fromkeys(ANSWER.get(form, ()), ring.r[5])
        guard = {"pred": ring.p[0]} if form == "skip" else {}
        for uniform in (False, True):
            ring.wait(
                form=form, uniform=uniform, suspend_time_hint=TICKS, sem="acquire", scope="cta", **answer, **guard
            )

    assert assemble(built(body).ptx(), "sm_90a")
