"""`ptx.range_` emits compilers' counted loops instruction by instruction, in given registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b32, b64, f32, pred, s32, s64, u32, u64

from .ptx_machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_dsl.registers.register import RegArray


class Banks:
    """Register groups declared like a compiler's."""

    def __init__(self) -> None:
        self.p: RegArray = reg.array(pred, 4)
        self.r: RegArray = reg.array(b32, 8)
        self.rd: RegArray = reg.array(b64, 4)


def built(body: Callable[[Banks], object]) -> Kernel:
    def k() -> None:
        body(Banks())

    return kernel(k)


def statements(body: Callable[[Banks], object]) -> list[str]:
    text = built(body).ptx()
    lines = [line.strip() for line in text[text.index("{") + 1 : text.rindex("}")].splitlines()]
    return [line for line in lines if line and not line.startswith(".reg")]


def note(value: object) -> None:
    ptx.inst.st.local.s32(ptx.addr(0), value)


def nvcc(b: Banks) -> None:
    spelling = "mov.b32 add.s32 setp.lt.s32"
    for i in ptx.range_(0, b.r[5], 1, counter=b.r[7], pred=b.p[2], spelling=spelling, label="$L__BB0_2"):
        note(i)


def test_nvcc_s_loop_is_tested_at_its_end() -> None:
    assert statements(nvcc) == [
        *("mov.b32 %r7, 0;", "$L__BB0_2:", "st.local.s32 [0], %r7;", "add.s32 %r7, %r7, 1;"),
        *("setp.lt.s32 %p2, %r7, %r5;", "@%p2 bra $L__BB0_2;"),
    ]
    assert [Machine().run(built(nvcc), {"%r5": n}) for n in (-2, 1, 3)] == [[0], [0], [0, 1, 2]]


def downwards(b: Banks) -> None:
    r = b.r
    loop = ptx.range_(
        r[3], 0, -4, counter=r[3], pred=~b.p[1], spelling="add.s32 setp.eq.s32", label="$top", uniform=True
    )
    for i in loop:
        note(i)


def test_a_counter_that_is_set_already_counts_down_until_it_is_equal() -> None:
    assert statements(downwards) == [
        *("$top:", "st.local.s32 [0], %r3;", "add.s32 %r3, %r3, -4;", "setp.eq.s32 %p1, %r3, 0;"),
        "@!%p1 bra.uni $top;",
    ]
    assert Machine().run(built(downwards), {"%r3": 12}) == [12, 8, 4]


def from_the_top(b: Banks) -> None:
    names = {"label": "$head", "next_label": "$latch", "end_label": "$exit"}
    for i in ptx.range_(0, b.r[5], 2, counter=b.r[7], dtype=s32, pred=b.p[1], tested="top", **names):
        ptx.continue_(pred=b.p[0])
        note(i)


def test_a_loop_tested_at_its_top_runs_as_often_as_python_s() -> None:
    assert statements(from_the_top) == [
        *("mov.s32 %r7, 0;", "$head:", "setp.ge.s32 %p1, %r7, %r5;", "@%p1 bra $exit;", "@%p0 bra $latch;"),
        *("st.local.s32 [0], %r7;", "$latch:", "add.s32 %r7, %r7, 2;", "bra.uni $head;", "$exit:"),
    ]
    for stop in (-3, 0, 1, 5):
        assert Machine().run(built(from_the_top), {"%r5": stop, "%p0": 0}) == list(range(0, stop, 2))


@pytest.mark.parametrize(
    ("spelling", "negated", "lines"),
    [
        ("setp.lt.u32", True, ("setp.lt.u32 %p1, %r7, 8;", "@!%p1 bra $exit;")),
        ("setp.ge.u32", False, ("setp.ge.u32 %p1, %r7, 8;", "@%p1 bra $exit;")),
        ("setp.eq.b32", False, ("setp.eq.b32 %p1, %r7, 8;", "@%p1 bra $exit;")),
    ],
)
def test_the_test_at_the_top_has_either_polarity(spelling: str, *, negated: bool, lines: tuple[str, str]) -> None:
    def body(b: Banks) -> None:
        guard = ~b.p[1] if negated else b.p[1]
        names = {"label": "$head", "end_label": "$exit"}
        for i in ptx.range_(
            0, 8, 1, counter=b.r[7], pred=guard, tested="top", spelling=spelling, uniform=False, **names
        ):
            note(i)

    found = statements(body)
    assert tuple(found[2:4]) == lines
    assert found[-2:] == ["bra $head;", "$exit:"]
    assert Machine().run(built(body)) == list(range(8))


def test_the_counter_s_type_spells_what_the_table_does_not() -> None:
    def body(b: Banks) -> None:
        for i in ptx.range_(b.rd[1], b.rd[2], 8, counter=b.rd[3], dtype=u64, pred=b.p[0], spelling="setp.ne.s64"):
            ptx.inst.st.local.b64(ptx.addr(0), i)

    assert statements(body) == [
        *("mov.u64 %rd3, %rd1;", "$L_range_0:", "st.local.b64 [0], %rd3;", "add.u64 %rd3, %rd3, 8;"),
        *("setp.ne.s64 %p0, %rd3, %rd2;", "@%p0 bra $L_range_0;"),
    ]


def test_sub_steps_by_the_negated_step() -> None:
    def body(b: Banks) -> None:
        for i in ptx.range_(4, 0, -1, counter=b.r[1], pred=b.p[0], spelling="mov.u32 sub.s32 setp.gt.s32"):
            note(i)

    assert "sub.s32 %r1, %r1, 1;" in statements(body)


def test_without_a_spelling_the_registers_and_labels_alone_are_chosen() -> None:
    def body(b: Banks) -> None:
        names = {"label": "$head", "end_label": "$exit"}
        for i in ptx.range_(0, b.r[5], 3, counter=b.r[7], dtype=s32, pred=b.p[2], uniform=True, **names):
            note(i)

    assert statements(body) == [
        *("mov.s32 %r7, 0;", "setp.ge.s32 %p2, %r7, %r5;", "@%p2 bra.uni $exit;", "$head:", "st.local.s32 [0], %r7;"),
        *(
            "sub.u32 %r8, %r5, %r7;",
            "setp.gt.u32 %p2, %r8, 3;",
            "add.s32 %r7, %r7, 3;",
            "@%p2 bra.uni $head;",
            "$exit:",
        ),
    ]
    for stop in (-3, 0, 1, 7):
        assert Machine().run(built(body), {"%r5": stop}) == list(range(0, stop, 3))


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda b: ptx.range_(0, 8, 1, spelling="setp.gt.s32"), OperandError, "continues while the counter is gt stop"),
        (lambda b: ptx.range_(0, 8, 1, spelling="setp.ge.s32"), OperandError, "continues while the counter is ge stop"),
        (lambda b: ptx.range_(0, 8, 3, spelling="setp.ne.s32"), OperandError, "never reaches its stop exactly"),
        (lambda b: ptx.range_(8, 8, 1, spelling="setp.lt.s32"), OperandError, "runs once instead of never"),
        (
            lambda b: ptx.range_(0, 8, spelling="setp.lt.s32 mul.lo.s32"),
            OperandError,
            "an opcode that a range loop does not emit",
        ),
        (lambda b: ptx.range_(0, 8, spelling="setp.lt.s32 setp.ne.s32"), OperandError, "expected one setp, got 2"),
        (lambda b: ptx.range_(0, 8, tested="middle"), OperandError, "tested='middle'"),
        (lambda b: ptx.range_(0, 8, pred=~b.p[0]), RegisterTypeError, "not ~p"),
        (lambda b: ptx.range_(0, 8, pred=b.r[0]), RegisterTypeError, "must be a predicate"),
        (lambda b: ptx.range_(0, 8, counter=ptx.special.tid.x()), RegisterTypeError, "is read-only"),
        (
            lambda b: ptx.range_(0, b.rd[0], counter=b.r[0], dtype=u32),
            RegisterTypeError,
            "expected u32 registers, got the b64",
        ),
        (
            lambda b: ptx.range_(0, 8, counter=b.r[0], dtype=s64),
            RegisterTypeError,
            "expected s64 registers, got the b32",
        ),
        (lambda b: ptx.range_(0, 8, dtype=f32), RegisterTypeError, "got f32"),
        (
            lambda b: ptx.range_(0, b.r[1], dtype=s64, spelling="add.s64"),
            RegisterTypeError,
            "does not widen or copy",
        ),
    ],
)
def test_loops_that_make_no_sense_are_refused(
    call: Callable[[Banks], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        built(lambda b: list(call(b))).ptx()
