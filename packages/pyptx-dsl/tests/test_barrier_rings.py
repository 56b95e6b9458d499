"""Rings of mbarriers: `address` lists the instructions that compute a stage's address; waits use the ring's options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import pred, u32, u64
from pyptx_ir.syntax import nodes, parse, spell, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.registers.register import RegArray

WAYS = {
    "shl.b32 add.s32 add.s32": ["shl.b32", "add.s32", "add.s32"],
    "shl.b32 mov.u32 add.s32 add.s32": ["shl.b32", "mov.u32", "add.s32", "add.s32"],
    "mul.lo.u32 add.s32": ["mul.lo.u32", "add.s32"],
    "mul.wide.u32 add.s64 add.s64 cvt.u32.u64": ["mul.wide.u32", "add.s64", "add.s64", "cvt.u32.u64"],
    "shl.b32 cvt.u64.u32 add.s64 cvt.u32.u64 add.s32": ["shl.b32", "cvt.u64.u32", "add.s64", "cvt.u32.u64", "add.s32"],
}


def instructions(text: str) -> list[nodes.Instruction]:
    return [each for each in walk(parse(text)) if isinstance(each, nodes.Instruction)]


@pytest.mark.parametrize("address", WAYS)
def test_a_stage_is_found_by_the_steps_that_the_ring_says(address: str) -> None:
    def k() -> None:
        base, stage = reg.scalar(u64 if "s64" in address else u32), reg.scalar(u32)
        ptx.mbarrier.ring(base, 64, address=address, label="again").at(stage).wait(1)

    written = instructions(kernel(arch="sm_90a")(k).ptx())
    assert [".".join(each.opcode) for each in written[: len(WAYS[address])]] == WAYS[address]
    poll = written[len(WAYS[address])]
    assert poll.opcode[:2] == ("mbarrier", "try_wait")
    # Each address instruction reads the result of the previous one, and the poll (try_wait) reads the last result.
    place = spell(poll.operands[1]).strip("[]")
    last = spell(written[len(WAYS[address]) - 1].operands[0])
    added = sum(each.opcode[0] == "add" for each in written)
    assert place == (last if added == 2 else f"{last}+64")


def test_steps_write_the_registers_that_are_given() -> None:
    def k() -> None:
        r = reg.array(u32, 8)
        ptx.mbarrier.ring(byte_offset=8).at(r[1], base=r[2], temps=r[4:7]).wait(r[3])

    shift, first, second, *_ = instructions(kernel(arch="sm_90a")(k).ptx())
    assert spell(shift) == "shl.b32 %r4, %r1, 3;"
    assert spell(first) == "add.s32 %r5, %r2, %r4;"
    assert spell(second) == "add.s32 %r6, %r5, 8;"


def test_arrivals_keep_no_state_where_that_is_said() -> None:
    def k() -> None:
        r = reg.array(u32, 8)
        empty = ptx.mbarrier.ring(byte_offset=8)
        empty.at(r[1], r[2], r[4:7]).arrive(state="_")
        empty.behind(r[5], [r[7]]).arrive_expect_tx(512, state="_")
        empty.behind(r[5]).arrive_expect_tx(512)

    _, _, _, arrive, add, expect, own_add, own = instructions(kernel(arch="sm_90a")(k).ptx())
    assert spell(arrive) == "mbarrier.arrive.shared::cta.b64 _, [%r6];"
    assert spell(add) == "add.s32 %r7, %r5, 8;"
    assert spell(expect) == "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 512;"
    assert spell(own_add).startswith("add.s32 %r8, ")
    assert "_," not in spell(own)


def test_a_ring_whose_steps_add_no_distance_has_it_in_the_brackets() -> None:
    def k() -> None:
        r = reg.array(u32, 8)
        ptx.mbarrier.ring(byte_offset=8, address="shl.b32 add.s32").behind(r[5]).arrive(state="_")

    (arrive,) = instructions(kernel(arch="sm_90a")(k).ptx())
    assert spell(arrive) == "mbarrier.arrive.shared::cta.b64 _, [%r5+8];"


ADVANCES = {
    "add.s32 setp.eq.s32 selp.b32 selp.u32 xor.b32": [
        *("add.s32 %r4, %r1, 1;", "setp.eq.s32 %p0, %r4, 3;", "selp.b32 %r1, 0, %r4, %p0;"),
        *("selp.u32 %r5, 1, 0, %p0;", "xor.b32 %r2, %r2, %r5;"),
    ],
    "add.s32 setp.gt.s32 selp.b32 xor.b32 selp.b32": [
        *("add.s32 %r4, %r1, 1;", "setp.gt.s32 %p0, %r4, 2;", "selp.b32 %r5, 1, 0, %p0;"),
        *("xor.b32 %r2, %r2, %r5;", "selp.b32 %r1, 0, %r4, %p0;"),
    ],
}


@pytest.mark.parametrize("steps", ADVANCES)
def test_the_next_stage_is_found_by_the_steps_that_are_said(steps: str) -> None:
    def k() -> None:
        r, p = reg.array(u32, 8), reg.array(pred, 1)
        rest = [r[1], r[5], r[2]] if steps.endswith("xor.b32") else [r[5], r[2], r[1]]
        temps = [r[4], p[0], *rest]
        stage, phase = ptx.mbarrier.advance(r[1], r[2], stages=3, steps=steps, temps=temps)
        assert stage is r[1]
        assert phase is r[2]

    assert [spell(each) for each in instructions(kernel(arch="sm_90a")(k).ptx())] == ADVANCES[steps]


def test_the_next_stage_has_registers_of_its_own_and_no_phase_where_none_is_given() -> None:
    def k() -> None:
        r = reg.array(u32, 2)
        stage, phase = ptx.mbarrier.advance(r[0], r[1], stages=4)
        _, nothing = ptx.mbarrier.advance(stage, stages=4, steps="add.u32 setp.ge.u32 selp.b32")
        assert nothing is None
        assert phase is not r[1]

    written = instructions(kernel(arch="sm_90a")(k).ptx())
    assert [each.opcode[0] for each in written] == [*("add", "setp", "selp", "selp", "xor"), *("add", "setp", "selp")]
    assert spell(written[5].operands[1]) == spell(written[2].operands[0])


MISTAKES: dict[str, Callable[[RegArray], object]] = {
    "no step": lambda _: ptx.mbarrier.ring(address="shl.b32 sub.s32"),
    "no type": lambda _: ptx.mbarrier.ring(address="shl"),
    "no base": lambda r: ptx.mbarrier.ring().at(r[0]),
    "temps has more registers than steps": lambda r: ptx.mbarrier.ring(address="shl.b32 add.s32").behind(r[0], r[1:2]),
    "a step elsewhere": lambda r: ptx.mbarrier.advance(r[0], r[1], stages=3, steps="add.s32 selp.b32"),
    "another relation": lambda r: ptx.mbarrier.advance(r[0], stages=3, steps="add.s32 setp.lt.s32 selp.b32"),
    "a phase, but no xor that flips it": lambda r: ptx.mbarrier.advance(
        r[0], r[1], stages=3, steps="add.s32 setp.eq.s32 selp.b32"
    ),
    "temps has fewer registers than steps": lambda r: ptx.mbarrier.advance(r[0], r[1], stages=3, temps=r[2:4]),
    "too few registers": lambda r: ptx.mbarrier.ring(r[1]).at(r[0], temps=r[2:4]),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_told(what: str) -> None:
    def k() -> None:
        MISTAKES[what](reg.array(u32, 8))

    with pytest.raises(OperandError):
        kernel(arch="sm_90a")(k).ptx()
