"""Inside `ptx.expr(temps=…)` each operator is one instruction with the named destination register."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import InstructionUseError, OperandError, RegisterTypeError, SpellingError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b32, b64, f16, f32, pred, s32, u32

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.registers.register import Reg, RegArray

LIKE_NVCC = {b32: "add.s32 sub.s32 mul.lo.s32 shr.s32 setp.lt.s32 mov.b32", b64: "add.s64"}


class Banks:
    """Register groups of a kernel, declared like a compiler's."""

    def __init__(self) -> None:
        self.p: RegArray = reg.array(pred, 8)
        self.r: RegArray = reg.array(b32, 8)
        self.rd: RegArray = reg.array(b64, 8)
        self.f: RegArray = reg.array(f32, 8)


def traced(body: Callable[[Banks], object]) -> str:
    def k() -> None:
        body(Banks())

    return kernel(k).ptx()


def statements(body: Callable[[Banks], object]) -> list[str]:
    text = traced(body)
    lines = [line.strip() for line in text[text.index("{") + 1 : text.rindex("}")].splitlines()]
    return [line for line in lines if line and not line.startswith(".reg")]


def test_results_go_into_the_temporaries_in_order_of_emission() -> None:
    def body(b: Banks) -> None:
        r = b.r
        with ptx.expr(temps=(r[6], r[4], r[5])):
            ptx.inst.st.global_.b32(ptx.addr(b.rd[0]), ((r[1] - 8192) & r[2]) >> 4)

    assert statements(body) == [
        *("sub.u32 %r6, %r1, 8192;", "and.b32 %r4, %r6, %r2;", "shr.u32 %r5, %r4, 4;"),
        "st.global.b32 [%rd0], %r5;",
    ]


def test_an_assignment_is_the_last_instruction_s_destination() -> None:
    def body(b: Banks) -> None:
        r = b.r
        with ptx.expr(temps=(r[6], r[5]), spelling=LIKE_NVCC):
            r[7] = (r[1] + r[2]) * r[3]
            r[0] = r[7] - (r[1] << 2)
            r[1] = r[0] + 1
            b.rd[2] = b.rd[1] + b.rd[0]
            b.p[3] = r[1] < "0x10"

    assert statements(body) == [
        *("add.s32 %r6, %r1, %r2;", "mul.lo.s32 %r7, %r6, %r3;", "shl.b32 %r5, %r1, 2;", "sub.s32 %r0, %r7, %r5;"),
        *("add.s32 %r1, %r0, 1;", "add.s64 %rd2, %rd1, %rd0;", "setp.lt.s32 %p3, %r1, 0x10;"),
    ]


def test_three_dots_are_the_next_temporary_of_any_instruction() -> None:
    def body(b: Banks) -> None:
        r, rd, f = b.r, b.rd, b.f
        with ptx.expr(temps=(rd[3], rd[4], f[5], f[6]), spelling=LIKE_NVCC):
            address = rd[1] + ptx.inst.mul.wide.s32(..., r[1], 4)
            f[1] = ptx.inst.ld.global_.f32(..., ptx.addr(address), pred=~b.p[1]) + ptx.inst.mov.f32(..., 1.5)
            ptx.inst.st.global_.f32(ptx.addr(rd[4]), f[1])

    assert statements(body) == [
        *("mul.wide.s32 %rd3, %r1, 4;", "add.s64 %rd4, %rd1, %rd3;", "@!%p1 ld.global.f32 %f5, [%rd4];"),
        *("mov.f32 %f6, 0f3FC00000;", "add.rn.f32 %f1, %f5, %f6;", "st.global.f32 [%rd4], %f1;"),
    ]


def test_results_of_other_types_wait_for_their_assignment() -> None:
    def body(b: Banks) -> None:
        r, rd, f = b.r, b.rd, b.f
        with ptx.expr(temps=(r[6], f[6]), spelling=LIKE_NVCC):
            rd[1] = rd[2] + rd[3]
            b.p[1] = f[1] < f[2]
            r[1] = (r[2] + r[3]) << 2
            r[2] = r[1] & 1
            f[1] = (f[2] + f[3]) * f[4]

    assert statements(body) == [
        *("add.s64 %rd1, %rd2, %rd3;", "setp.lt.f32 %p1, %f1, %f2;", "add.s32 %r6, %r2, %r3;", "shl.b32 %r1, %r6, 2;"),
        *("and.b32 %r2, %r1, 1;", "add.rn.f32 %f6, %f2, %f3;", "mul.rn.f32 %f1, %f6, %f4;"),
    ]


def test_three_dots_need_a_temporary() -> None:
    def none_open(b: Banks) -> None:
        ptx.inst.mov.b32(..., b.r[1])

    def none_left(b: Banks) -> None:
        with ptx.expr(temps=(b.r[5],)):
            b.r[1] = ptx.inst.mov.b32(..., 1) + ptx.inst.mov.b32(..., 2)

    def no_destination(b: Banks) -> None:
        with ptx.expr(temps=(b.r[5],)):
            ptx.inst.add.s32(b.r[1], ..., b.r[2])

    for body, words in ((none_open, "none is open"), (none_left, "instead of"), (no_destination, "Ellipsis")):
        with pytest.raises(OperandError, match=words) as caught:
            traced(body)
        assert "test_exact_expressions.py" in str(caught.value)


@pytest.mark.parametrize(
    ("write", "emitted"),
    [
        (lambda b: b.r[1] + b.r[2], "add.u32 %r0, %r1, %r2;"),
        (lambda b: 5 - b.r[2], "sub.u32 %r0, 5, %r2;"),
        (lambda b: b.r[1] * 12, "mul.lo.u32 %r0, %r1, 12;"),
        (lambda b: b.r[1] << b.r[2], "shl.b32 %r0, %r1, %r2;"),
        (lambda b: 1 << b.r[2], "shl.b32 %r0, 1, %r2;"),
        (lambda b: b.r[1] // 3, "div.u32 %r0, %r1, 3;"),
        (lambda b: b.r[1] % b.r[2], "rem.u32 %r0, %r1, %r2;"),
        (lambda b: b.r[1] ^ -1, "xor.b32 %r0, %r1, -1;"),
        (lambda b: ~b.r[1], "not.b32 %r0, %r1;"),
        (lambda b: -b.r[1], "neg.s32 %r0, %r1;"),
        (lambda b: b.r[1].max(b.r[2]), "max.u32 %r0, %r1, %r2;"),
        (lambda b: b.r[1] + b.r[1], "add.u32 %r0, %r1, %r1;"),
    ],
)
def test_operators_on_integers_are_one_instruction_of_their_types(write: Callable[[Banks], Reg], emitted: str) -> None:
    def body(b: Banks) -> None:
        with ptx.expr(temps=(b.r[0],)):
            write(b)

    assert statements(body) == [emitted]


def test_other_types_are_spelt_by_the_table_or_the_operands() -> None:
    def body(b: Banks) -> None:
        f, p = b.f, b.p
        with ptx.expr(spelling={f32: "add.f32 mul.rn.ftz.f32 setp.gtu.f32 neg.f32 div.full.f32", pred: "and.pred"}):
            f[0] = f[1] + 1.5
            f[1] = f[2] * 3
            f[2] = f[1] - f[0]
            f[3] = -f[2]
            f[4] = f[3] / f[2]
            p[0] = f[1] > f[2]
            p[1] = f[1] != f[2]
            p[2] = p[0] & p[1]
            p[3] = ~p[2]
            b.r[0] += 1

    assert statements(body) == [
        *("add.f32 %f0, %f1, 0f3FC00000;", "mul.rn.ftz.f32 %f1, %f2, 0f40400000;", "sub.rn.f32 %f2, %f1, %f0;"),
        *("neg.f32 %f3, %f2;", "div.full.f32 %f4, %f3, %f2;", "setp.gtu.f32 %p0, %f1, %f2;"),
        *("setp.neu.f32 %p1, %f1, %f2;", "and.pred %p2, %p0, %p1;", "not.pred %p3, %p2;", "add.u32 %r0, %r0, 1;"),
    ]


def test_a_wide_product_goes_into_a_wide_register() -> None:
    def body(b: Banks) -> None:
        with ptx.expr(spelling={b32: "mul.wide.s32"}):
            b.rd[3] = b.rd[1] + (b.r[1] * 4)

    with pytest.raises(OperandError, match="no temporary of this type left"):
        traced(body)

    def named(b: Banks) -> None:
        with ptx.expr(temps=(b.rd[2],), spelling={b32: "mul.wide.s32"}):
            b.rd[3] = b.rd[1] + (b.r[1] * 4)
            b.rd[4] = b.r[2] * 8

    assert statements(named) == [
        *("mul.wide.s32 %rd2, %r1, 4;", "add.s64 %rd3, %rd1, %rd2;", "mul.wide.s32 %rd4, %r2, 8;"),
    ]


def test_what_is_no_result_is_moved() -> None:
    def body(b: Banks) -> None:
        with ptx.expr(spelling=LIKE_NVCC):
            b.r[1] = b.r[2]
            b.r[3] = 7
            b.rd[3] = b.rd[2]

    assert statements(body) == ["mov.b32 %r1, %r2;", "mov.b32 %r3, 7;", "mov.b64 %rd3, %rd2;"]


def test_outside_of_the_block_operators_are_what_they_were() -> None:
    def body(b: Banks) -> None:
        with ptx.expr(temps=()):
            b.r[0] = b.r[1] + 1
            with ptx.expr(temps=(b.r[5],)):
                b.r[1] + 2
        b.r[2] = b.r[1] + 3
        with ptx.expr():
            b.r[1] + 4

    assert statements(body) == [
        *("add.u32 %r0, %r1, 1;", "add.u32 %r5, %r1, 2;"),
        *("add.u32 %r8, %r1, 3;", "mov.b32 %r2, %r8;", "add.u32 %r9, %r1, 4;"),
    ]


def test_missing_temporaries_are_an_error_at_the_operator() -> None:
    def unused(b: Banks) -> None:
        with ptx.expr(temps=(b.r[5],)):
            first = b.r[1] + 1
            second = first + 2
            b.r[3] = second + 3

    def read(b: Banks) -> None:
        with ptx.expr(temps=()):
            ptx.inst.st.global_.b32(ptx.addr(b.rd[0]), b.r[1] + 1)

    def dropped(b: Banks) -> None:
        with ptx.expr(temps=()):
            b.r[1] - 4

    for body, line in (
        (unused, "second = first + 2"),
        (read, "ptx.inst.st.global_.b32(ptx.addr(b.rd[0]), b.r[1] + 1)"),
        (dropped, "b.r[1] - 4"),
    ):
        with pytest.raises(OperandError, match="no temporary of this type left") as caught:
            traced(body)
        assert line in str(caught.value)


def test_temporaries_left_over_are_an_error_at_the_block() -> None:
    def body(b: Banks) -> None:
        with ptx.expr(temps=(b.r[5], b.r[6], b.r[7])):
            b.r[1] + 1

    with pytest.raises(OperandError, match=r"unused temporaries: %r6, %r7") as caught:
        traced(body)
    assert "with ptx.expr(temps=(b.r[5], b.r[6], b.r[7])):" in str(caught.value)


@pytest.mark.parametrize(
    "write",
    [
        lambda b: b.rd[1] + b.r[1],
        lambda b: b.r[1] + b.f[1],
        lambda b: b.r[1] + ptx.special.tid.x(),
        lambda b: b.p[1] & ~b.p[2],
    ],
)
def test_nothing_is_converted_or_staged(write: Callable[[Banks], Reg]) -> None:
    def body(b: Banks) -> None:
        with ptx.expr(temps=(b.r[5],)):
            write(b)

    with pytest.raises(RegisterTypeError, match=r"ptx\.expr"):
        traced(body)


def test_a_destination_of_another_type_is_refused() -> None:
    def body(b: Banks) -> None:
        with ptx.expr(temps=()):
            b.rd[1] = b.r[1] + 1

    with pytest.raises(InstructionUseError, match=r"add\.u32"):
        traced(body)


def test_signs_are_judged_unless_the_table_says_them() -> None:
    def body(spelling: dict[object, str]) -> Callable[[], None]:
        def k() -> None:
            s, u = reg.scalar(s32, name="%s"), reg.scalar(u32, name="%u")
            with ptx.expr(temps=(reg.scalar(s32, name="%d"),), spelling=spelling):
                s // u

        return k

    with pytest.raises(RegisterTypeError, match="ambiguous signedness"):
        kernel(body({})).ptx()
    assert "div.s32 %d, %s, %u;" in kernel(body({s32: "div.s32"})).ptx()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"spelling": {b32: "mad.lo.s32"}}, "no operator emits 'mad.lo.s32'"),
        ({"spelling": {b32: "add.s32 add.u32"}}, "'add.s32' and 'add.u32' are opcodes of the same operator"),
        ({"temps": (3,)}, "3 cannot be a temporary"),
    ],
)
def test_a_table_or_temporary_that_makes_no_sense_is_refused(arguments: dict[str, object], said: str) -> None:
    def body(_: Banks) -> None:
        with ptx.expr(**arguments):
            pass

    with pytest.raises(OperandError, match=said):
        traced(body)


def test_a_register_that_nothing_writes_holds_no_temporary() -> None:
    for temporary in (lambda b: ~b.p[0], lambda _: ptx.special.tid.x()):
        with pytest.raises(OperandError, match="cannot be a temporary"):
            traced(lambda b, temporary=temporary: ptx.expr(temps=(temporary(b),)))


def test_a_half_s_literal_is_refused_as_it_would_be_staged() -> None:
    def k() -> None:
        h = reg.array(f16, 4)
        with ptx.expr(temps=(h[3],)):
            h[1] + 1.5

    with pytest.raises(OperandError, match="not support floating-point literals"):
        kernel(k).ptx()


# --- text of an operator's instruction --------------------------------------------------------------


def test_a_spelling_is_that_of_the_instruction_with_the_register_it_is_assigned_to() -> None:
    def body(b: Banks) -> None:
        r = b.r
        with ptx.expr(temps=(r[6], r[5])):
            ptx.formatted(leading="\n\n\t", text="add.u32   %r0,%r1,%r2;")
            r[0] = r[1] + r[2]
            ptx.formatted(text="sub.u32  %r6, %r1, 1;")
            r[3] = (r[1] - 1) * r[2]
            ptx.formatted(text="and.b32  %r5, %r1, %r2;")
            ptx.inst.st.global_.b32(ptx.addr(b.rd[0]), r[1] & r[2])
            ptx.formatted(text="mov.b32  %r7, %r1;")
            r[7] = r[1]
            ptx.formatted(text="add.u32  %r7, %r7, 1;")
            r[7] += 1

    text = traced(body)
    assert "\n\n\tadd.u32   %r0,%r1,%r2;" in text
    assert statements(body)[1:] == [
        *("sub.u32  %r6, %r1, 1;", "mul.lo.u32 %r3, %r6, %r2;", "and.b32  %r5, %r1, %r2;"),
        *("st.global.b32 [%rd0], %r5;", "mov.b32  %r7, %r1;", "add.u32  %r7, %r7, 1;"),
    ]


@pytest.mark.parametrize("spelling", ["add.u32 %r6, %r1, %r2;", "add.u32 %r0, %r2, %r1;", "add.u32 %r0"])
def test_a_spelling_of_another_instruction_than_the_assigned_one_is_an_error_at_its_line(spelling: str) -> None:
    def body(b: Banks) -> None:
        with ptx.expr(temps=(b.r[6],)):
            ptx.formatted(text=spelling)
            b.r[0] = b.r[1] + b.r[2]  # error here

    with pytest.raises(SpellingError, match="the source text") as caught:
        traced(body)
    assert "# error here" in str(caught.value)


def test_a_spelling_that_a_temporary_s_instruction_has_not_is_an_error_at_its_line() -> None:
    def body(b: Banks) -> None:
        with ptx.expr(temps=(b.r[6],)):
            ptx.formatted(text="add.u32 %r5, %r1, %r2;")
            b.r[1] + b.r[2]  # error here

    with pytest.raises(SpellingError, match="another statement") as caught:
        traced(body)
    assert "# error here" in str(caught.value)


def widened(b: Banks) -> None:
    b.rd[3] = b.r[1] + b.r[2]  # PTX has no 32-bit add with a 64-bit destination


def test_what_is_assigned_is_judged_where_instructions_are() -> None:
    def body(b: Banks) -> None:
        with ptx.expr(temps=()):
            widened(b)

    def unchecked(b: Banks) -> None:
        with ptx.expr(temps=()):
            ptx.formatted(unchecked=True)
            widened(b)

    with pytest.raises(InstructionUseError):
        traced(body)
    assert statements(unchecked) == ["add.u32 %rd3, %r1, %r2;"]
    m = module(unchecked=True)
    m.entry("k")(lambda: body(Banks()))
    assert "add.u32 %rd3, %r1, %r2;" in m.ptx()
