"""Labels without names are numbered by function and position, like LLVM's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import DuplicateNameError, OperandError
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b32, pred

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.registers.register import RegArray

LLVM = "$L__BB{function}_{block}"


def written(body: Callable[[RegArray, RegArray], None], labels: str = LLVM, functions: int = 0) -> list[str]:
    """Return a function body's statements, without `.reg`; `functions` other functions precede it in the module."""
    m = module(version=(8, 7), target="sm_90a", labels=labels)
    for number in range(functions):
        m.func(f"other{number}", [])(ptx.ret)

    @m.entry("k", [])
    def k() -> None:
        body(reg.bank("%p", pred, 9), reg.bank("%r", b32, 9))

    lines = [line.strip() for line in m.ptx().partition("k()")[2].splitlines()]
    return [line for line in lines if line and line not in {"{", "}"} and not line.startswith(".reg")]


def test_blocks_are_counted_as_llvm_counts_them() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        with ptx.if_(p[1]):
            ptx.inst.mov.b32(r[1], 1)
        with ptx.else_():
            with ptx.loop(pred=p[2]):
                ptx.break_(pred=p[3])
                ptx.inst.mov.b32(r[1], 2)
            ptx.inst.mov.b32(r[1], 3)
        ptx.inst.mov.b32(r[1], 4)
        with ptx.if_(p[1]):
            ptx.ret()

    assert written(body, functions=2) == [
        *("@!%p1 bra $L__BB2_2;", "mov.b32 %r1, 1;", "bra $L__BB2_5;", "$L__BB2_2:"),
        *("@%p3 bra $L__BB2_4;", "mov.b32 %r1, 2;", "@%p2 bra $L__BB2_2;", "$L__BB2_4:"),
        *("mov.b32 %r1, 3;", "$L__BB2_5:", "mov.b32 %r1, 4;", "@!%p1 bra $L__BB2_7;", "ret;", "$L__BB2_7:"),
    ]


def test_two_branches_in_a_row_end_one_block_and_braces_none() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        with ptx.block() as done:
            with ptx.block() as other:
                ptx.break_(other, pred=p[1])
                ptx.break_(done)
            with ptx.scope():
                ptx.label("INNER")
                ptx.bra("INNER", pred=p[2])
        ptx.inst.mov.b32(r[1], 1)

    assert written(body) == [
        *("@%p1 bra $L__BB0_1;", "bra $L__BB0_2;", "$L__BB0_1:", "INNER:", "@%p2 bra INNER;", "$L__BB0_2:"),
        "mov.b32 %r1, 1;",
    ]


def test_labels_behind_each_other_are_one_but_for_those_with_names() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        with ptx.block("named"), ptx.if_(p[1]) as done, ptx.if_(p[2]):
            ptx.break_(done, pred=p[3])
            ptx.inst.mov.b32(r[1], 1)

    assert written(body) == [
        *("@!%p1 bra $L__BB0_4;", "@!%p2 bra $L__BB0_4;", "@%p3 bra $L__BB0_4;", "mov.b32 %r1, 1;"),
        *("$L__BB0_4:", "named:"),
    ]


def test_a_name_of_the_kind_sets_the_number() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        with ptx.if_(p[1], label="$L__BB0_9"):
            ptx.inst.mov.b32(r[1], 1)
        with ptx.if_(p[1], label="$L__BB0_09"):
            ptx.inst.mov.b32(r[1], 2)
        with ptx.if_(p[1]):
            ptx.inst.mov.b32(r[1], 3)

    assert [line for line in written(body) if line.endswith(":")] == ["$L__BB0_9:", "$L__BB0_09:", "$L__BB0_12:"]


def test_labels_can_be_counted_instead() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        for _ in range(2):
            with ptx.if_(p[1]):
                ptx.inst.mov.b32(r[1], 1)

    assert [line for line in written(body, "at_{label}_") if line.endswith(":")] == ["at_1_:", "at_2_:"]


def test_a_name_that_is_taken_is_refused_where_the_label_stands() -> None:
    def body(p: RegArray, r: RegArray) -> None:
        with ptx.if_(p[1]):
            ptx.inst.mov.b32(r[1], 1)
        ptx.ret()
        ptx.label("$L__BB0_2")

    with pytest.raises(DuplicateNameError, match=r"gets the name '\$L__BB0_2', which is already used"):
        written(body)


@pytest.mark.parametrize("labels", ["$L", "$L{block}{label}", "$L{block}{block}", "1{block}", 7])
def test_a_scheme_counts_one_thing_and_makes_names(labels: str) -> None:
    with pytest.raises(OperandError):
        module(labels=labels)
