"""Control flow executes like Python's, nests, emits few branches, and reports misuse at its line."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import (
    ControlFlowError,
    DuplicateNameError,
    OperandError,
    RawTextError,
    RegisterTypeError,
    UndefinedLabelError,
)
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b32, f32, pred, s16, s32, s64, u32, u64

from .ptx_machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

HERE = Path(__file__).name


def note(value: object, dtype: PtxType = s32) -> None:
    """Emit a store of a value, which the interpreter of `ptx_machine` logs."""
    getattr(ptx.inst.st.local, dtype.name)(ptx.addr(0), value)


def traced(body: Callable[[], object]) -> Kernel:
    def k() -> None:
        body()

    return kernel(k)


def branches(built: Kernel) -> int:
    return built.ptx().count("bra")


# --- range_ -----------------------------------------------------------------------------------------


def bounds(dtype: PtxType) -> tuple[int, int]:
    signed = dtype.kind == "signed"
    return (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1) if signed else (0, (1 << dtype.bits) - 1)


def interesting(dtype: PtxType) -> list[tuple[int, int, int]]:
    """Return (start, stop, step) triples of `range_` for a type, also at the type's limits: at most 40 iterations."""
    low, high = bounds(dtype)
    values = [0, 1, 7, 10, low, low + 1, low + 5, high, high - 1, high - 5, *([-3, -10] if low else [])]
    steps = [1, 2, 3, 7, 1 << 20, -1, -2, -5] if dtype.bits > 16 else [1, 3, 100, -1, -4]
    found = itertools.product(values, values, steps)
    return [case for case in found if (case[1] - case[0]) // case[2] <= 40]


def counting(dtype: PtxType, shape: str, case: tuple[int, int, int]) -> Callable[[], None]:
    """Return a body: a `range_` loop over `case`, in which the arguments named in `shape` are registers."""

    def body() -> None:
        names = ("start", "stop", "step")
        arguments = [
            reg.scalar(dtype, init=value) if name in shape else value for name, value in zip(names, case, strict=True)
        ]
        for i in ptx.range_(*arguments):
            note(i, dtype)

    return body


@pytest.mark.parametrize("dtype", [s16, s32, u32, s64, u64, b32], ids=str)
def test_range_over_three_registers_counts_like_pythons(dtype: PtxType) -> None:
    def body() -> None:
        start, stop, step = (reg.scalar(dtype, name=f"%{name}") for name in ("start", "stop", "step"))
        for i in ptx.range_(start, stop, step):
            note(i, dtype)

    built = traced(body)
    low, high = bounds(dtype)
    for case in interesting(dtype):
        if low <= case[2] <= high:
            inputs = dict(zip(("%start", "%stop", "%step"), case, strict=True))
            assert Machine().run(built, inputs) == list(range(*case)), case


@pytest.mark.parametrize("dtype", [s16, s32, u32, s64, u64, b32], ids=str)
@pytest.mark.parametrize("shape", ["start", "stop", "step", "start stop", "start step"])
def test_range_over_registers_and_numbers_counts_like_pythons(dtype: PtxType, shape: str) -> None:
    low, high = bounds(dtype)
    cases = [case for case in interesting(dtype) if "step" not in shape or low <= case[2] <= high]
    for case in cases[::7]:
        assert Machine().run(traced(counting(dtype, shape, case))) == list(range(*case)), case


def test_a_range_of_numbers_is_one_branch_and_an_empty_one_is_nothing() -> None:
    def body(*limits: int) -> Kernel:
        def inner() -> None:
            for i in ptx.range_(*limits):
                note(i)
            ptx.ret()

        return traced(inner)

    assert branches(body(0, 10)) == 1
    assert branches(body(10, 0, -3)) == 1
    assert branches(body(5)) == 1
    assert branches(body(5, 5)) == 0
    assert body(5, 0).ptx().count("%r") == 0
    assert Machine().run(body(3)) == [0, 1, 2]
    assert Machine().run(body(2147483640, 2147483647, 5)) == [2147483640, 2147483645]


def test_a_range_over_a_register_is_two_branches_one_per_iteration() -> None:
    def body() -> None:
        n = reg.scalar(u32, init=20)
        for i in ptx.range_(0, n):
            note(i, u32)

    machine = Machine()
    assert machine.run(traced(body)) == list(range(20))
    assert branches(traced(body)) == 2
    assert machine.branches == 19


def test_a_register_step_of_zero_runs_no_iteration() -> None:
    for dtype in (s32, u32):
        assert Machine().run(traced(counting(dtype, "step", (0, 10, 0)))) == []


def test_range_widens_narrow_registers_and_copies_special_ones() -> None:
    def body() -> None:
        start = reg.scalar(u32, init=4)
        for i in ptx.range_(start, reg.scalar(u64, init=7)):
            note(i, u64)

    assert Machine().run(traced(body)) == [4, 5, 6]

    def special() -> None:
        for _ in ptx.range_(ptx.special.tid.x(), ptx.special.ntid.x(), 32):
            pass

    text = traced(special).ptx()
    assert "mov.u32 %r0, %ntid.x;\n\tmov.u32 %r1, %tid.x;\n\tsetp.ge.u32 %p0, %r1, %r0;" in text


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 5, 0), OperandError, "step 0"),
        ((0, 1 << 40), OperandError, "does not fit"),
        ((0.5, 5), OperandError, "must be an int or a register"),
        (("u", 5, -1, "s32"), RegisterTypeError, "signed and unsigned"),
        (("f", 5), RegisterTypeError, "f32 register"),
        (("u", -1, -1), OperandError, "stop=-1 does not fit"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused_at_its_line(
    arguments: tuple[object, ...], error: type[Exception], words: str
) -> None:
    def value(given: object) -> object:
        names = {"u": u32, "f": f32, "s32": s32}
        return reg.scalar(names[given], init=1) if isinstance(given, str) else given

    def body() -> None:
        values = [value(given) for given in arguments]
        for _ in ptx.range_(values[0], values[1], *values[3:] or values[2:]):
            pass

    with pytest.raises(error, match=words) as caught:
        traced(body).ptx()
    assert HERE in str(caught.value)
    assert "^" in str(caught.value)


# --- blocks -----------------------------------------------------------------------------------------


def chain(arms: int, *, otherwise: bool, jumps: frozenset[int] = frozenset()) -> Callable[[], None]:
    """Return a body with `arms` blocks of `if_` and `elif_`: block i (x == i) stores i; for i in `jumps` it returns."""

    def body() -> None:
        x = ptx.inst.mov.s32(reg.scalar(s32, name="%x"), reg.scalar(s32, name="%input"))
        for arm in range(arms):
            # On one line, because the condition's instructions must be emitted in the call of `if_` or `elif_`.
            with ptx.if_(x == arm) if arm == 0 else ptx.elif_(x == arm):
                note(arm)
                if arm in jumps:
                    ptx.ret()
        if otherwise:
            with ptx.else_():
                note(99)
        note(100)
        ptx.ret()

    return body


@pytest.mark.parametrize("arms", [1, 2, 3, 5])
@pytest.mark.parametrize("otherwise", [False, True])
@pytest.mark.parametrize("jumps", [frozenset[int](), frozenset({0}), frozenset({1, 2})], ids=str)
def test_exactly_one_block_of_a_chain_runs(arms: int, *, otherwise: bool, jumps: frozenset[int]) -> None:
    built = traced(chain(arms, otherwise=otherwise, jumps=jumps))
    for x in range(arms + 1):
        expected = [x] if x < arms else [99] * otherwise
        log = Machine().run(built, {"%input": x})
        assert log == (expected if x < arms and x in jumps else [*expected, 100])
    followed = arms - 1 + otherwise
    assert branches(built) == arms + sum(arm not in jumps for arm in range(followed))


def test_a_block_without_else_is_one_branch_and_one_label() -> None:
    def body() -> None:
        with ptx.if_(reg.scalar(s32, init=1) == 1):
            note(1)
        ptx.ret()

    text = traced(body).ptx()
    assert text.count("bra") == 1
    assert text.count(":") == 1


def test_blocks_nest_to_any_depth_with_an_else_each() -> None:
    def body() -> None:
        bits = ptx.inst.mov.s32(reg.scalar(s32), reg.scalar(s32, name="%input"))

        def tree(depth: int, path: int) -> None:
            if depth == 4:
                note(path)
                return
            bit = ptx.inst.and_.b32(reg.scalar(s32), bits, 1 << depth)
            with ptx.if_(bit != 0):
                tree(depth + 1, path | 1 << depth)
            with ptx.else_():
                tree(depth + 1, path)

        tree(0, 0)
        note(-1)

    built = traced(body)
    for value in range(16):
        assert Machine().run(built, {"%input": value}) == [value, -1]


def test_negated_predicates_and_functions_are_conditions() -> None:
    def body() -> None:
        x = reg.scalar(s32, init=3)
        p = x == 3
        with ptx.if_(~p):
            note(1)
        with ptx.elif_(lambda: x == 4):
            note(2)
        with ptx.else_():
            note(3)

    assert Machine().run(traced(body)) == [3]
    assert "@%p0 bra" in traced(body).ptx()


# --- loops ------------------------------------------------------------------------------------------


def test_a_loop_tests_at_its_end() -> None:
    def body() -> None:
        x = reg.scalar(s32, init=0)
        more = reg.scalar(pred)
        with ptx.loop("again", pred=more):
            note(x)
            x += 1
            ptx.setp("lt", s32, more, x, 3)

    built = traced(body)
    assert Machine().run(built) == [0, 1, 2]
    assert "again:" in built.ptx()
    assert "@%p0 bra again;" in built.ptx()


def test_an_endless_loop_is_a_uniform_branch_that_break_leaves() -> None:
    def body() -> None:
        x = reg.scalar(s32, init=0)
        with ptx.loop():
            note(x)
            x += 1
            ptx.break_(pred=x == 4)
        note(-1)

    text = traced(body).ptx()
    assert "bra.uni $L_loop_0;" in text
    assert text.count("bra") == 2


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_while_tests_first_and_takes_one_branch_per_iteration(limit: int) -> None:
    def by_function() -> None:
        x = reg.scalar(s32, init=0)
        with ptx.while_(lambda: x < limit):
            note(x)
            x += 1
        note(-1)

    def by_register() -> None:
        x = reg.scalar(s32, init=0)
        more = x < limit
        with ptx.while_(more):
            note(x)
            x += 1
            ptx.setp("lt", s32, more, x, limit)
        note(-1)

    for body in (by_function, by_register):
        machine = Machine()
        assert machine.run(traced(body)) == [*range(limit), -1]
        assert machine.branches <= limit + 1
        assert branches(traced(body)) == 2


def test_break_and_continue_mean_the_innermost_loop() -> None:
    def body() -> None:
        for i in ptx.range_(0, 6):
            with ptx.if_(i == 1):
                ptx.continue_()
            ptx.break_(pred=i == 4)
            j = reg.scalar(s32, init=0)
            with ptx.while_(lambda j=j: j < 10):
                j += 1
                ptx.continue_(pred=j == 1)
                with ptx.if_(j == 3):
                    ptx.break_()
                note(j)
            note(i)

    assert Machine().run(traced(body)) == [2, 0, 2, 2, 2, 3]


@pytest.mark.parametrize("unroll", [1, 2, 3, 4])
def test_kloop_runs_the_body_exactly_so_often(unroll: int) -> None:
    def body() -> None:
        count = reg.scalar(s32, init=0)
        total = ptx.inst.mov.s32(reg.scalar(s32), reg.scalar(s32, name="%input"))

        def step() -> None:
            note(count)
            ptx.add(s32, count, count, 1)

        ptx.kloop(total, unroll=unroll, body=step)
        ptx.kloop(total, unroll=unroll, body=step)
        note(-1)

    built = traced(body)
    for total in range(-1, 11):
        assert Machine().run(built, {"%input": total}) == [*range(2 * max(total, 0)), -1]


def test_kloop_can_be_left_and_skipped() -> None:
    def body() -> None:
        count = reg.scalar(s32, init=0)

        def step() -> None:
            ptx.add(s32, count, count, 1)
            ptx.continue_(pred=count == 2)
            ptx.break_(pred=count == 7)
            note(count)

        ptx.kloop(reg.scalar(s32, init=20), unroll=4, body=step)
        note(-1)
        ptx.mov(s32, count, 0)
        ptx.kloop(5, unroll=4, body=step)
        note(-2)

    assert Machine().run(traced(body)) == [1, 3, 4, 5, 6, -1, 1, 3, 4, 5, -2]


def test_pythons_break_closes_the_loop_and_leaves_no_label_open() -> None:
    def body() -> None:
        n = reg.scalar(s32, init=5)
        for i in ptx.range_(0, n):
            note(i)
            break
        for i in ptx.range_(0, n):
            note(i)

    assert Machine().run(traced(body)) == [0, *range(5)]


def test_pythons_break_out_of_an_if_block_is_refused() -> None:
    def body() -> None:
        for i in ptx.range_(0, reg.scalar(s32, init=5)):
            with ptx.if_(i == 2):
                break
        ptx.ret()

    with pytest.raises(ControlFlowError, match=r"ptx\.break_\(\)"):
        traced(body).ptx()


def test_an_error_in_the_body_of_a_range_arrives_unchanged() -> None:
    def body() -> None:
        for _ in ptx.range_(0, reg.scalar(s32, init=5)):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        traced(body).ptx()


def test_a_pipeline_goes_round_its_ring() -> None:
    def body() -> None:
        state = ptx.pipeline(3)
        for _ in ptx.range_(0, 8):
            stage, phase = state.advance()
            note(stage)
            note(phase)

    log = Machine().run(traced(body))
    assert log[0::2] == [0, 1, 2, 0, 1, 2, 0, 1]
    assert log[1::2] == [0, 0, 0, 1, 1, 1, 0, 0]


# --- misuse -----------------------------------------------------------------------------------------


def lost_else() -> None:
    x = reg.scalar(s32, init=0)
    with ptx.if_(x == 0):
        note(1)
    note(2)
    with ptx.else_():
        note(3)


def lost_elif() -> None:
    x = reg.scalar(s32, init=0)
    with ptx.if_(x == 0):
        note(1)
    x += 1
    with ptx.elif_(x == 1):
        note(3)


def two_elses() -> None:
    x = reg.scalar(s32, init=0)
    with ptx.if_(x == 0):
        note(1)
    with ptx.else_():
        note(2)
    with ptx.else_():
        note(3)


def unchanging() -> None:
    x = reg.scalar(s32, init=0)
    with ptx.while_(x < 5):
        with ptx.if_(x == 1):
            note(1)
        x += 1


MISUSES: tuple[tuple[Callable[[], object], type[Exception], str], ...] = (
    (lost_else, ControlFlowError, "there are instructions between"),
    (lost_elif, ControlFlowError, "there are instructions between"),
    (two_elses, ControlFlowError, "without ptx.if_"),
    (unchanging, ControlFlowError, "never changes"),
    (ptx.else_, ControlFlowError, "without ptx.if_"),
    (lambda: ptx.elif_(reg.scalar(pred)), ControlFlowError, "without ptx.if_"),
    (ptx.break_, ControlFlowError, "outside a loop"),
    (ptx.continue_, ControlFlowError, "outside a loop"),
    (lambda: ptx.if_(reg.scalar(u32)), RegisterTypeError, "needs a predicate"),
    (lambda: ptx.if_(1), OperandError, "needs a predicate"),
    (lambda: ptx.while_(reg.scalar(u32)), RegisterTypeError, "needs a predicate"),
    (lambda: ptx.loop(pred=reg.scalar(u32)), RegisterTypeError, "needs a predicate"),
    (lambda: ptx.bra("nowhere"), UndefinedLabelError, "nowhere"),
    (lambda: (ptx.label("x"), ptx.label("x")), DuplicateNameError, "x"),
    (lambda: ptx.kloop(4, unroll=0, body=ptx.ret), OperandError, "unroll"),
    (lambda: ptx.kloop(reg.scalar(f32), unroll=2, body=ptx.ret), RegisterTypeError, "f32"),
    (lambda: ptx.kloop(-1, unroll=2, body=ptx.ret), OperandError, "total"),
    (lambda: ptx.pipeline(0), OperandError, "stage"),
    (lambda: ptx.pipeline(2, phase=reg.scalar(u64)), RegisterTypeError, "32-bit"),
    (lambda: ptx.raw("add.s32 %r1, , %r2;"), RawTextError, "operand"),
    (lambda: ptx.raw("ret"), RawTextError, "';'"),
    (lambda: ptx.raw(".visible .entry k() { ret; }"), RawTextError, "not allowed inside a kernel"),
)


@pytest.mark.parametrize(("body", "error", "words"), MISUSES, ids=[str(number) for number in range(len(MISUSES))])
def test_misuse_is_an_error_at_its_line(body: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        traced(body).ptx()
    assert f"{HERE}:" in str(caught.value)
    assert "^" in str(caught.value)


def test_an_endless_loop_over_text_or_with_a_way_out_is_trusted() -> None:
    def body() -> None:
        x = reg.scalar(s32, init=0)
        going: Reg = x < 5
        with ptx.while_(going):
            ptx.break_(pred=x == 3)
            x += 1
        with ptx.while_(going):
            ptx.raw("{ .reg .pred %q; setp.eq.u32 %p0, 1, 2; }")

    assert "$L_while_1" in traced(body).ptx()


def test_what_leaves_a_block_and_skips_nothing_is_allowed() -> None:
    def chosen(number: int) -> Reg:
        with ptx.expr():
            for factor in range(4):
                if factor == number:
                    break
            return reg.scalar(s32, init=number)

    def last(p: Reg, values: list[int]) -> None:
        for value in values:
            if value == 2:
                continue
            with ptx.if_(p):
                for inner in range(5):
                    if inner == value:
                        break
                    note(inner)
        with ptx.if_(p):
            note(7)
            return

    def body() -> None:
        p = chosen(1) == 1
        last(p, [1, 2, 3])
        note(9)

    assert Machine().run(traced(body)) == [0, 0, 1, 2, 7, 9]


def test_a_return_in_a_function_that_a_kernel_calls_is_seen_too() -> None:
    def helper(p: Reg) -> None:
        with ptx.if_(p):
            if isinstance(p, reg.Reg):
                return
        note(1)

    def body() -> None:
        helper(reg.scalar(s32, init=1) == 1)

    with pytest.raises(ControlFlowError, match=r"Python's `return`.*\n.*test_ptx_control.py:\d+: in .*helper"):
        traced(body).ptx()


def test_a_block_may_be_made_before_it_is_entered() -> None:
    def body() -> None:
        block = ptx.if_(reg.scalar(s32, init=1) == 1)
        with block:
            note(3)

    assert Machine().run(traced(body)) == [3]


def test_raw_text_is_part_of_the_kernel() -> None:
    def body() -> None:
        reg.scalar(s32, init=1, name="%mine")
        ptx.raw("// three\nadd.s32   %mine, %mine, 2;  bra  done;")
        ptx.raw("done: ret;")

    built = traced(body)
    text = built.ptx()
    assert "// three\n\tadd.s32   %mine, %mine, 2;\n\tbra  done;" in text
    assert Machine().run(built) == []
    assert "done:" in text


def test_expr_scope_and_pipe_add_nothing_of_their_own() -> None:
    def body() -> None:
        a, b, c = (reg.scalar(s32, init=value) for value in (1, 2, 3))
        with ptx.expr():
            a += b + c
        chained = ptx.pipe(a).add.s32(b, 5).shl.b32(c, 2)
        assert chained.register is c
        with ptx.scope():
            note(c)

    text = traced(body).ptx()
    assert "add.s32 %r1, %r0, 5;\n\tshl.b32 %r2, %r1, 2;\n\t{\n\t\tst.local.s32 [0], %r2;\n\t}" in text
