"""What Hopper teaches the transpiler: each rule by its example, what it leaves alone, and what it is asked before."""

from __future__ import annotations

import textwrap

import pytest

from pyptx_arch_hopper.plugin import pyptx_sugar_rules
from pyptx_transpile import transpile
from pyptx_transpile.rules.table import RULES

HOPPERS = tuple(pyptx_sugar_rules())
ALL = (*HOPPERS, *RULES)
HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n\n.extern .shared .align 1024 .b8 _ZN1k6memoryE[];\n"
BODY = "\n.visible .entry k()\n{{\n\t.reg .pred %p<4>;\n\t.reg .b32 %r<20>;\n\t.reg .b64 %rd<20>;\n\n\t{}\n\tret;\n}}\n"
SPIN = "$W:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p1, [{}], %r3;\n\t@!%p1 bra $W;\n\t"
BASE, SUM = "mov.u32 %r2, _ZN1k6memoryE;\n\t", "add.s32 %r5, %r2, %r4;\n\tadd.s32 %r6, %r5, 64;\n\t"


def module(body: str) -> str:
    return HEAD + BODY.format(body)


def ring(body: str) -> str:
    """Return what is said of the ring and of the wait."""
    done = transpile(module(body), ALL)
    assert done.applied["ring"] == 1, done.text
    assert not done.withdrawn
    return "\n".join(line.strip() for line in done.text.splitlines() if ".ring(" in line or ".at(" in line)


@pytest.mark.parametrize("rule", HOPPERS, ids=lambda rule: rule.name)
def test_the_example_is_what_the_rule_does(rule: object) -> None:
    (one,) = [each for each in HOPPERS if each is rule]
    done = transpile(module(one.before), ALL)
    assert done.applied[one.name] == 1, done.text
    assert textwrap.indent(one.after, "    ") in done.text
    assert not done.withdrawn


ADDRESSES = {
    "nvcc": (
        "shl.b32 %r4, %r1, 3;\n\t" + BASE + SUM + SPIN.format("%r6"),
        'byte_offset=64, address="shl.b32 mov.u32 add.s32 add.s32"',
        "at(r[1], base=memory, temps=[r[4], r[2], r[5], r[6]]).wait(r[3], ",
    ),
    "a wide product and generic sums": (
        "mul.wide.u32 %rd1, %r1, 8;\n\tadd.s64 %rd2, %rd9, %rd1;\n\tadd.s64 %rd3, %rd2, 64;\n\t"
        "cvt.u32.u64 %r6, %rd3;\n\t" + SPIN.format("%r6"),
        'byte_offset=64, address="mul.wide.u32 add.s64 add.s64 cvt.u32.u64"',
        "at(r[1], base=rd[9], temps=[rd[1], rd[2], rd[3], r[6]]).wait(r[3], ",
    ),
    "the distance in the brackets": (
        "shl.b32 %r4, %r1, 3;\n\tadd.s32 %r5, %r2, %r4;\n\t" + SPIN.format("%r5+8"),
        'byte_offset=8, address="shl.b32 add.s32"',
        "at(r[1], base=r[2], temps=[r[4], r[5]]).wait(r[3], ",
    ),
    "the phase in between": (
        "shl.b32 %r4, %r1, 3;\n\t" + SUM + "xor.b32 %r3, %r7, 1;\n\t" + SPIN.format("%r6"),
        'byte_offset=64, address="shl.b32 add.s32 add.s32"',
        "at(r[1], base=r[2], temps=[r[4], r[5], r[6]]).wait(ptx.inst.xor.b32(r[3], r[7], 1), ",
    ),
}


@pytest.mark.parametrize("who", ADDRESSES)
def test_addresses_are_found_as_compilers_write_them(who: str) -> None:
    source, described, wait = ADDRESSES[who]
    said = f'barriers = ptx.mbarrier.ring({described})\nbarriers.{wait}label="$W", done=p[1])'
    assert ring(source) == said


def test_rings_are_called_after_what_arrives_at_them() -> None:
    arrivals = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 512;\n\tmbarrier.arrive.shared::cta.b64 _, [%r9];"
    both = "shl.b32 %r4, %r1, 3;\n\t" + SUM + SPIN.format("%r6") + "add.s32 %r9, %r5, 96;\n\t" + arrivals
    assert "full.at(" in ring(both)
    assert "empty.at(" in ring(both.replace("[%r6], 512", "[%r8], 512").replace("[%r9]", "[%r6]"))


NEARLY = {
    "sixteen bytes a stage": "shl.b32 %r4, %r1, 4;\n\t" + SUM + SPIN.format("%r6"),
    "another register": "shl.b32 %r4, %r1, 3;\n\t" + SUM + SPIN.format("%r8"),
    "hoisted": "shl.b32 %r4, %r1, 3;\n\t" + SUM + "not.b32 %r9, %r9;\n\t" + SPIN.format("%r6"),
    "the base on the other side": "shl.b32 %r4, %r1, 3;\n\tadd.s32 %r6, %r4, %r2;\n\t" + SPIN.format("%r6"),
    "a guard": "shl.b32 %r4, %r1, 3;\n\t@%p2 add.s32 %r6, %r2, %r4;\n\t" + SPIN.format("%r6"),
    "no stage": BASE + "add.s32 %r6, %r2, 64;\n\t" + SPIN.format("%r6"),
}


@pytest.mark.parametrize("what", NEARLY)
def test_what_is_no_ring_stays(what: str) -> None:
    done = transpile(module(NEARLY[what]), ALL)
    assert done.applied["ring"] == 0, done.text
    assert done.applied["wait"] == 1
    assert not done.withdrawn
