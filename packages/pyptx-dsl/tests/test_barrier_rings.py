"""Rings of barriers: the address of a stage is computed as the ring says, and the wait is the ring's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import u32, u64
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
    # Each step takes what the one before has written, and the poll the last one's result.
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


MISTAKES: dict[str, Callable[[RegArray], object]] = {
    "no step": lambda _: ptx.mbarrier.ring(address="shl.b32 sub.s32"),
    "no type": lambda _: ptx.mbarrier.ring(address="shl"),
    "no base": lambda r: ptx.mbarrier.ring().at(r[0]),
    "too few registers": lambda r: ptx.mbarrier.ring(r[1]).at(r[0], temps=r[2:4]),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_told(what: str) -> None:
    def k() -> None:
        MISTAKES[what](reg.array(u32, 8))

    with pytest.raises(OperandError):
        kernel(arch="sm_90a")(k).ptx()
