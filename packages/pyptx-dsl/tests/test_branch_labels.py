"""Branches and labels of control flow can be named and formatted like a compiler's, without further statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import ControlFlowError, DuplicateNameError, OperandError, UndefinedLabelError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import pred, u32

from .ptx_machine import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_dsl.registers.register import Reg, RegArray


def built(body: Callable[[RegArray, RegArray], object]) -> Kernel:
    """Return a kernel whose body function gets eight predicates `%p` and eight registers `%r`."""

    def k() -> None:
        body(reg.array(pred, 8), reg.array(u32, 8))

    return kernel(k)


def statements(body: Callable[[RegArray, RegArray], object]) -> list[str]:
    """Return the PTX statements that a body emits, without register declarations."""
    text = built(body).ptx()
    lines = [line.strip() for line in text[text.index("{") + 1 : text.rindex("}")].splitlines()]
    return [line for line in lines if line and not line.startswith(".reg")]


def note(value: object) -> None:
    ptx.inst.st.local.u32(ptx.addr(0), value)


# --- if, elif, else ---------------------------------------------------------------------------------


def test_an_if_takes_the_name_of_its_label_and_bra_uni() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(~p[1], label="$L__BB0_3", uniform=True):
            note(1)

    assert statements(body) == ["@%p1 bra.uni $L__BB0_3;", "st.local.u32 [0], 1;", "$L__BB0_3:"]


def test_what_is_said_at_the_end_of_the_last_block_is_said_of_the_label_behind_the_chain() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1]) as behind:
            ptx.break_(behind, pred=p[3])
            note(1)
        with ptx.elif_(p[2], label=behind):
            note(2)
            ptx.comment("both come here")
        note(3)

    written = statements(body)
    at = written.index("// both come here")
    assert written[at + 1 :] == [f"{written[1].split()[-1][:-1]}:", "st.local.u32 [0], 3;"]


def test_a_chain_takes_all_names_and_each_branch_its_own_bra_uni() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(~p[1], label="$L__BB0_2"):
            note(1)
        with ptx.elif_(~p[2], label="$L__BB0_3", end_label="$L__BB0_4", end_uniform=True):
            note(2)
        with ptx.else_(end_label="$L__BB0_4"):
            note(3)

    assert statements(body) == [
        "@%p1 bra $L__BB0_2;",
        "st.local.u32 [0], 1;",
        "bra.uni $L__BB0_4;",
        "$L__BB0_2:",
        "@%p2 bra $L__BB0_3;",
        "st.local.u32 [0], 2;",
        "bra $L__BB0_4;",
        "$L__BB0_3:",
        "st.local.u32 [0], 3;",
        "$L__BB0_4:",
    ]


def test_ifs_share_a_join_that_one_of_them_defines() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="$join"):
            note(1)
            with ptx.if_(p[2], label="$join", define_label=False):
                note(2)

    assert statements(body) == [
        "@!%p1 bra $join;",
        "st.local.u32 [0], 1;",
        "@!%p2 bra $join;",
        "st.local.u32 [0], 2;",
        "$join:",
    ]
    logs = [Machine().run(built(body), {"%p1": one, "%p2": two}) for one in (0, 1) for two in (0, 1)]
    assert logs == [[], [], [1], [1, 2]]


def test_the_end_of_a_chain_may_stand_elsewhere() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="$other"):
            note(1)
        with ptx.else_(end_label="$join", define_end=False):
            note(2)
        note(3)
        ptx.label("$join")

    assert statements(body)[2:] == [
        *("bra $join;", "$other:", "st.local.u32 [0], 2;", "st.local.u32 [0], 3;", "$join:"),
    ]
    assert [Machine().run(built(body), {"%p1": value}) for value in (0, 1)] == [[2, 3], [1]]


def test_a_chain_whose_end_has_a_name_is_left_from_each_of_its_blocks() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="$second", end_label="$end"):
            ptx.break_("$end", pred=p[3])
            note(1)
        with ptx.elif_(p[2], label="$third", end_uniform=True):
            note(2)
        with ptx.else_():
            ptx.break_("$end", pred=p[3])
            note(3)

    assert statements(body) == [
        *("@!%p1 bra $second;", "@%p3 bra $end;", "st.local.u32 [0], 1;", "bra.uni $end;", "$second:"),
        *("@!%p2 bra $third;", "st.local.u32 [0], 2;", "bra $end;", "$third:"),
        *("@%p3 bra $end;", "st.local.u32 [0], 3;", "$end:"),
    ]
    states = [{"%p1": one, "%p2": two, "%p3": three} for one in (0, 1) for two in (0, 1) for three in (0, 1)]
    assert [Machine().run(built(body), state) for state in states] == [[3], [], [2], [2], [1], [], [1], []]


def test_the_label_of_a_last_elif_may_be_the_end_of_the_chain() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="$second"):
            note(1)
        with ptx.elif_(p[2], label="$end", end_label="$end"):
            note(2)

    assert statements(body)[2:] == ["bra $end;", "$second:", "@!%p2 bra $end;", "st.local.u32 [0], 2;", "$end:"]


def test_the_end_of_a_chain_that_its_if_names_may_stand_elsewhere() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="$other", end_label="$join", define_end=False):
            note(1)
        with ptx.else_():
            note(2)
        note(3)
        ptx.label("$join")

    assert statements(body)[2:] == [
        *("bra $join;", "$other:", "st.local.u32 [0], 2;", "st.local.u32 [0], 3;", "$join:"),
    ]


def test_a_block_that_ends_in_a_jump_gets_none_and_the_named_end_is_defined() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="$other"):
            ptx.ret()
        with ptx.else_(end_label="$end"):
            note(2)

    assert statements(body) == ["@!%p1 bra $other;", "ret;", "$other:", "st.local.u32 [0], 2;", "$end:"]


def test_an_else_behind_a_block_whose_label_stands_elsewhere_is_refused() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="$join", define_label=False):
            note(1)
        with ptx.else_():
            note(2)

    with pytest.raises(ControlFlowError, match=r"defined elsewhere \(define_label=False\)"):
        built(body).ptx()


def test_two_ends_of_one_chain_are_refused() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1]):
            note(1)
        with ptx.elif_(p[2], end_label="$a"):
            note(2)
        with ptx.else_(end_label="$b"):
            note(3)

    with pytest.raises(ControlFlowError, match=r"chain is '\$a', got '\$b'"):
        built(body).ptx()


@pytest.mark.parametrize(
    "call",
    [
        lambda p: ptx.if_(p, define_label=False),
        lambda _: ptx.loop("$top", define_end=False),
        lambda p: ptx.while_(p, define_end=False),
    ],
)
def test_a_label_that_stands_elsewhere_needs_its_name(call: Callable[[Reg], object]) -> None:
    with pytest.raises(OperandError, match="needs a name"):
        built(lambda p, _: call(p[1])).ptx()


def test_a_label_that_never_comes_is_reported_at_the_branch() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="$join", define_label=False):
            note(1)

    with pytest.raises(UndefinedLabelError, match=r"branches to '\$join'"):
        built(body).ptx()


# --- loops ------------------------------------------------------------------------------------------


def test_a_loop_names_its_labels_and_chooses_the_branch() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.loop("$top", pred=~p[1], uniform=True, next_label="$latch", end_label="$exit"):
            note(1)

    assert statements(body) == ["$top:", "st.local.u32 [0], 1;", "$latch:", "@!%p1 bra.uni $top;", "$exit:"]


def test_an_endless_loop_may_branch_back_without_uni_and_its_end_may_stand_elsewhere() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.loop("$top", uniform=False, end_label="$exit", define_end=False):
            ptx.break_(pred=p[1], uniform=True)
        note(1)
        ptx.label("$exit")

    assert statements(body) == ["$top:", "@%p1 bra.uni $exit;", "bra $top;", "st.local.u32 [0], 1;", "$exit:"]


def test_continue_may_go_to_the_header_itself() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.loop("$top", next_label="$top"):
            ptx.continue_(pred=p[1])
            ptx.ret()

    assert statements(body) == ["$top:", "@%p1 bra $top;", "ret;", "bra.uni $top;"]


def test_a_loop_starts_where_its_first_turn_does() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        r[0] = 0
        with ptx.loop("$head", pred=p[1], start_label="$middle"):
            note(r[0])
            ptx.label("$middle")
            r[0] += 1
            ptx.inst.setp.lt.u32(p[1], r[0], r[1])

    assert statements(body)[1:4] == ["bra.uni $middle;", "$head:", "st.local.u32 [0], %r0;"]
    assert [Machine().run(built(body), {"%r1": n}) for n in (0, 1, 3)] == [[], [], [1, 2]]


def test_a_loop_may_start_at_its_own_label() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.loop("$head", pred=p[1], start_label="$head"):
            note(1)

    assert statements(body) == ["bra.uni $head;", "$head:", "st.local.u32 [0], 1;", "@%p1 bra $head;"]


def test_a_rotated_loop_has_its_guard_in_front_and_its_latch_last() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        r[0] = 0
        ptx.inst.setp.eq.u32(p[1], r[1], 0)
        with ptx.while_(p[2], guard=~p[1], label="$body", end_label="$exit"):
            note(r[0])
            r[0] += 1
            ptx.inst.setp.lt.u32(p[2], r[0], r[1])

    assert statements(body)[2:] == [
        "@%p1 bra $exit;",
        "$body:",
        "st.local.u32 [0], %r0;",
        "add.u32 %r0, %r0, 1;",
        "setp.lt.u32 %p2, %r0, %r1;",
        "@%p2 bra $body;",
        "$exit:",
    ]
    assert [Machine().run(built(body), {"%r1": n}) for n in (0, 1, 3)] == [[], [0], [0, 1, 2]]


def test_a_while_with_a_function_names_its_test() -> None:
    def body(_: RegArray, r: RegArray) -> None:
        r[0] = 0
        with ptx.while_(lambda: r[0] < 3, label="$body", next_label="$test", end_label="$exit", uniform=True):
            r[0] += 1

    assert statements(body) == [
        *("mov.u32 %r0, 0;", "bra.uni $test;", "$body:", "add.u32 %r0, %r0, 1;", "$test:"),
        *("setp.lt.u32 %p8, %r0, 3;", "@%p8 bra.uni $body;", "$exit:"),
    ]


def test_break_and_continue_reach_outer_loops_by_name() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.loop("$outer", pred=p[1]), ptx.loop("$inner", pred=p[2], end_label="$between"):
            ptx.continue_("$outer", pred=p[3])
            ptx.break_("$outer", pred=p[4])
            ptx.break_("$between", pred=p[5])

    assert statements(body) == [
        *("$outer:", "$inner:", "@%p3 bra $L_next_0;", "@%p4 bra $L_end_0;", "@%p5 bra $between;"),
        *("@%p2 bra $inner;", "$between:", "$L_next_0:", "@%p1 bra $outer;", "$L_end_0:"),
    ]


def test_a_kloop_names_all_its_labels() -> None:
    def body(_: RegArray, r: RegArray) -> None:
        names = {"loop_label": "$main", "tail_label": "$tail", "rest_label": "$rest", "end_label": "$done"}
        ptx.kloop(r[0], unroll=2, body=lambda: note(1), uniform=True, **names)

    found = statements(body)
    assert [line for line in found if line.endswith(":")] == ["$main:", "$tail:", "$rest:", "$done:"]
    assert [line.split()[1:] for line in found if "bra" in line] == [
        ["bra.uni", f"${name};"] for name in ("tail", "main", "done", "rest")
    ]


# --- blocks -----------------------------------------------------------------------------------------


def test_a_block_is_its_end_and_is_left_from_any_depth() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        r[0] = 0
        with ptx.block("$L__BB0_9") as done, ptx.loop("$top"):
            note(r[0])
            r[0] += 1
            ptx.inst.setp.eq.u32(p[1], r[0], 2)
            ptx.break_(done, pred=p[1])
        note(9)

    assert statements(body) == [
        *("mov.u32 %r0, 0;", "$top:", "st.local.u32 [0], %r0;", "add.u32 %r0, %r0, 1;"),
        *("setp.eq.u32 %p1, %r0, 2;", "@%p1 bra $L__BB0_9;", "bra.uni $top;", "$L__BB0_9:", "st.local.u32 [0], 9;"),
    ]
    assert Machine().run(built(body)) == [0, 1, 9]


def test_a_named_if_is_left_from_any_depth() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.if_(~p[1], label="else"):
            with ptx.if_(p[2]):
                ptx.break_("else", pred=p[3])
            note(1)
        with ptx.else_(end_label="end"):
            ptx.break_("end", uniform=True)

    assert statements(body) == [
        *("@%p1 bra else;", "@!%p2 bra $L_else_0;", "@%p3 bra else;", "$L_else_0:"),
        *("st.local.u32 [0], 1;", "bra end;", "else:", "bra.uni end;", "end:"),
    ]


def test_an_if_behind_its_end_cannot_be_left_and_has_no_next_turn() -> None:
    def behind(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="done"):
            note(1)
        ptx.break_("done")

    def again(p: RegArray, _: RegArray) -> None:
        with ptx.if_(p[1], label="done"):
            ptx.continue_("done")

    for body, message in ((behind, "labelled 'done'"), (again, "not a loop")):
        with pytest.raises(ControlFlowError, match=message):
            built(body).ptx()


def test_each_block_says_what_label_break_takes() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.loop(pred=p[1]) as outer, ptx.while_(p[1], guard=p[2]) as inner:
            with ptx.if_(p[1]) as done:
                ptx.break_(done, pred=p[2])
                ptx.break_(outer, pred=p[3])
            with ptx.elif_(p[2]):
                ptx.continue_(inner, pred=p[3])
            with ptx.else_() as ended:
                ptx.break_(ended, pred=p[3])
                note(1)
            note(2)
            ptx.inst.not_.pred(p[1], p[1])

    assert statements(body) == [
        *("$L_loop_0:", "@!%p2 bra $L_end_0;", "$L_while_0:", "@!%p1 bra $L_else_0;"),
        *("@%p2 bra $L_done_0;", "@%p3 bra $L_end_1;", "bra $L_done_0;"),
        *("$L_else_0:", "@!%p2 bra $L_else_1;", "@%p3 bra $L_next_0;", "bra $L_done_0;"),
        *("$L_else_1:", "@%p3 bra $L_done_0;", "st.local.u32 [0], 1;", "$L_done_0:", "st.local.u32 [0], 2;"),
        *("not.pred %p1, %p1;", "$L_next_0:", "@%p1 bra $L_while_0;", "$L_end_0:", "@%p1 bra $L_loop_0;", "$L_end_1:"),
    ]


def test_an_unnamed_break_leaves_the_loop_and_no_block() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.loop("$top", end_label="$exit"), ptx.block():
            ptx.break_(pred=p[1])

    assert statements(body) == ["$top:", "@%p1 bra $exit;", "$L_block_0:", "bra.uni $top;", "$exit:"]


def test_a_name_rebound_in_a_block_that_may_be_left_is_refused_behind_it() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        v = r[0]
        with ptx.block("$end"):
            ptx.break_("$end", pred=p[1])
            v = v + 1
        note(v)

    with pytest.raises(ControlFlowError, match=r"`v` is bound to another register in a block of ptx\.block"):
        built(body).ptx()


def test_a_name_rebound_in_a_block_that_nobody_leaves_is_fine() -> None:
    def body(_: RegArray, r: RegArray) -> None:
        v = r[0]
        with ptx.block("$end"):
            v = v + 1
        note(v)

    assert statements(body) == ["add.u32 %r8, %r0, 1;", "$end:", "st.local.u32 [0], %r8;"]


def test_misplaced_exits_are_refused() -> None:
    def unknown(_: RegArray, __: RegArray) -> None:
        with ptx.loop("$top"):
            ptx.break_("$other")

    def again(_: RegArray, __: RegArray) -> None:
        with ptx.block("$end"):
            ptx.continue_("$end")

    def alone(_: RegArray, __: RegArray) -> None:
        with ptx.block("$end"):
            ptx.break_()

    def twice(_: RegArray, __: RegArray) -> None:
        with ptx.block("$end"), ptx.block("$end"):
            note(1)

    for body, error, said in (
        (unknown, ControlFlowError, r"no enclosing loop or block is labelled '\$other'"),
        (again, ControlFlowError, r"'\$end' is a block, not a loop"),
        (alone, ControlFlowError, "outside a loop"),
        (twice, DuplicateNameError, r"\$end"),
    ):
        with pytest.raises(error, match=said):
            built(body).ptx()
    with pytest.raises(ControlFlowError, match=r"ptx\.block\(…\) needs a `with` statement"):
        built(lambda _, __: ptx.block("$end")).ptx()
