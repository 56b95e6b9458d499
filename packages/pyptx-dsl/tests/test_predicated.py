"""`with ptx.predicated(p):` guards each instruction of its body, and emits nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import ControlFlowError
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b32, pred, u32

from .test_branch_labels import built, statements

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg, RegArray


def test_each_instruction_has_the_guard_and_comments_and_leads_stay() -> None:
    m = module(version=(8, 7), target="sm_90a")

    @m.entry("k", [])
    def k() -> None:
        p, r = reg.bank("%p", pred, 4), reg.bank("%r", b32, 4)
        with ptx.predicated(~p[1]):
            ptx.comment("first")
            ptx.formatted(leading="\n    ")
            ptx.inst.mov.b32(r[1], 1)
            ptx.inst.setp.eq.s32(p[1], r[1], 2)
        ptx.ret()

    lines = m.ptx().partition("%r<4>;\n")[2].splitlines()
    assert lines == ["\t// first", "    @!%p1 mov.b32 %r1, 1;", "\t@!%p1 setp.eq.s32 %p1, %r1, 2;", "\tret;", "}"]


def test_a_block_of_nothing_emits_nothing() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.predicated(p[1]):
            pass
        ptx.trap()

    assert statements(body) == ["trap;"]


def test_branches_are_guarded_too() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        with ptx.block("$end"), ptx.predicated(p[1]):
            ptx.break_("$end")

    assert statements(body) == ["@%p1 bra $end;", "$end:"]


def test_a_name_that_the_block_binds_anew_and_that_is_read_behind_it_is_refused() -> None:
    def body(p: RegArray, _: RegArray) -> None:
        value: Reg = reg.scalar(u32, init=0)
        with ptx.predicated(p[1]):
            value = value + 1
        ptx.inst.mov.b32(value, 3)

    with pytest.raises(ControlFlowError, match=r"`value` is bound to another register in a block of ptx.predicated"):
        built(body).ptx()
