"""Memory that stays allocated after a run: a bounded number of compiled programs, but no register values."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.syntax import parse
from pyptx_sim.instructions.compiling.kept_programs import MOST, KeptPrograms
from pyptx_sim.instructions.compiling.table import compile_program
from pyptx_sim.numerics.recent import Recent
from pyptx_sim.program.lowering import lower

from .ptx_text import execute, module

if TYPE_CHECKING:
    from pyptx_sim.program.program import Program

# Two consecutive MMAs in a loop, so that each iteration adds to the accumulators.
PRODUCTS = """
mov.u32 %r1, 0x3c003c00; mov.b32 %f0, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0; mov.u32 %r2, 0;
mov.b32 %f4, 0; mov.b32 %f5, 0; mov.b32 %f6, 0; mov.b32 %f7, 0;
again:
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f0, %f1, %f2, %f3};
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f4, %f5, %f6, %f7};
add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 3; @%p1 bra again;
add.f32 %f0, %f0, %f4;
st.global.f32 [%rd1], %f0;
"""  # noqa: E501 - one instruction per line


def test_no_numbers_of_a_run_are_kept_behind_it() -> None:
    out = np.zeros(32, np.float32)
    assert execute(PRODUCTS, out).findings == ()
    assert (out == 2 * 3 * 16).all()
    gc.collect()
    assert sum(len(each) for each in gc.get_objects() if isinstance(each, Recent)) == 0


def program(number: int) -> Program:
    return lower(parse(module(f"mov.u32 %r1, {number}; st.global.u32 [%rd1], %r1;")))


def test_programs_are_kept_up_to_so_many_instructions() -> None:
    compiled: list[int] = []

    def compiles(one: Program, *, checked: bool) -> tuple[()]:
        compiled.append(len(one.sites) + checked)
        return ()

    programs = [program(number) for number in range(4)]
    size = len(programs[0].sites)
    kept = KeptPrograms(compiles, most=3 * size)
    for each in programs[:3]:
        kept(each, checked=True)
    kept(programs[0], checked=True)  # program 0 is now the cache's most recently used: program 1 is evicted first
    kept(programs[3], checked=True)
    assert kept.instructions == 3 * size
    assert len(compiled) == 4
    kept(programs[0], checked=True)
    assert len(compiled) == 4
    kept(programs[1], checked=True)
    kept(programs[1], checked=False)
    assert len(compiled) == 6
    assert KeptPrograms(compiles, most=1)(programs[0], checked=True) == ()


def test_a_process_that_runs_many_programs_keeps_no_more_than_that() -> None:
    compile_program.clear()
    first = program(0)
    code = compile_program(first, checked=True)
    assert compile_program(first, checked=True) is code
    assert compile_program.instructions == len(first.sites) <= MOST
