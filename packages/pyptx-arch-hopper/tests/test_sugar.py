"""Hopper's transpiler rules: an example of each rule, code that the rules do not rewrite, and precedence of rules."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_arch_hopper.plugin import pyptx_sugar_rules
from pyptx_arch_hopper.sugar.accumulators import ACCUMULATOR
from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b64, u32
from pyptx_ir.plugins.manager import manager
from pyptx_transpile import transpile
from pyptx_transpile.rules.table import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile import Plan, Rewrite
    from pyptx_transpile.planning.plan import Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

HOPPERS = tuple(pyptx_sugar_rules())
ALL = tuple(rule for rule in manager().sugar_rules() if rule in {*HOPPERS, *RULES})
HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n\n.extern .shared .align 1024 .b8 _ZN1k6memoryE[];\n"
REGISTERS = ".reg .pred %p<4>;\n\t.reg .b32 %r<20>;\n\t.reg .b64 %rd<20>;\n\t.reg .f32 %f<8>;"
BODY = f"\n.visible .entry k()\n{{{{\n\t{REGISTERS}\n\n\t{{}}\n\tret;\n}}}}\n"
SPIN = "$W:\n\tmbarrier.try_wait.parity.shared::cta.b64 %p1, [{}], %r3;\n\t@!%p1 bra $W;\n\t"
BASE, SUM = "mov.u32 %r2, _ZN1k6memoryE;\n\t", "add.s32 %r5, %r2, %r4;\n\tadd.s32 %r6, %r5, 64;\n\t"


def module(body: str) -> str:
    return HEAD + BODY.format(body)


def ring(body: str) -> str:
    """Return the generated Python lines that define the mbarrier ring and wait on it."""
    done = transpile(module(body), ALL)
    assert done.applied["ring"] == 1, done.text
    assert not done.rejected
    return "\n".join(line.strip() for line in done.text.splitlines() if ".ring(" in line or ".at(" in line)


@pytest.mark.parametrize("rule", HOPPERS, ids=lambda rule: rule.name)
def test_the_example_is_what_the_rule_does(rule: object) -> None:
    (one,) = [each for each in HOPPERS if each is rule]
    done = transpile(module(one.before), ALL)
    assert done.applied[one.name] == 1, done.text
    assert textwrap.indent(one.after, "    ") in done.text
    assert not done.rejected


ADDRESSES = {
    "nvcc": (
        "shl.b32 %r4, %r1, 3;\n\t" + BASE + SUM + SPIN.format("%r6"),
        'byte_offset=64, address="shl.b32 mov.u32 add.s32 add.s32"',
        "at(r[1], memory, [r[4], r[2], r[5], r[6]]).wait(r[3], ",
    ),
    "mul.wide.u32, generic add.s64": (
        "mul.wide.u32 %rd1, %r1, 8;\n\tadd.s64 %rd2, %rd9, %rd1;\n\tadd.s64 %rd3, %rd2, 64;\n\t"
        "cvt.u32.u64 %r6, %rd3;\n\t" + SPIN.format("%r6"),
        'byte_offset=64, address="mul.wide.u32 add.s64 add.s64 cvt.u32.u64"',
        "at(r[1], rd[9], [*rd[1:4], r[6]]).wait(r[3], ",
    ),
    "byte offset in the wait operand": (
        "shl.b32 %r4, %r1, 3;\n\tadd.s32 %r5, %r2, %r4;\n\t" + SPIN.format("%r5+8"),
        'byte_offset=8, address="shl.b32 add.s32"',
        "at(r[1], r[2], [r[4], r[5]]).wait(r[3], ",
    ),
    "phase computed before the wait": (
        "shl.b32 %r4, %r1, 3;\n\t" + SUM + "xor.b32 %r3, %r7, 1;\n\t" + SPIN.format("%r6"),
        'byte_offset=64, address="shl.b32 add.s32 add.s32"',
        "at(r[1], r[2], r[4:7]).wait(ptx.inst.xor.b32(r[3], r[7], 1), ",
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
    "stages of 16 bytes": "shl.b32 %r4, %r1, 4;\n\t" + SUM + SPIN.format("%r6"),
    "wait for another register": "shl.b32 %r4, %r1, 3;\n\t" + SUM + SPIN.format("%r8"),
    "not.b32 before the wait": "shl.b32 %r4, %r1, 3;\n\t" + SUM + "not.b32 %r9, %r9;\n\t" + SPIN.format("%r6"),
    "base as second operand of add": "shl.b32 %r4, %r1, 3;\n\tadd.s32 %r6, %r4, %r2;\n\t" + SPIN.format("%r6"),
    "guarded add": "shl.b32 %r4, %r1, 3;\n\t@%p2 add.s32 %r6, %r2, %r4;\n\t" + SPIN.format("%r6"),
    "address without a stage": BASE + "add.s32 %r6, %r2, 64;\n\t" + SPIN.format("%r6"),
}


@pytest.mark.parametrize("what", NEARLY)
def test_what_is_no_ring_stays(what: str) -> None:
    done = transpile(module(NEARLY[what]), ALL)
    assert done.applied["ring"] == 0, done.text
    assert done.applied["wait"] == 1
    assert not done.rejected


PRODUCT = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%f0, %f1, %f2, %f3}}, %rd{0}, %rd{0}, 1, 1, 1, 0, 0;\n\t"
)
WIDE = "add.s64 %rd1, %rd0, 32;\n\tand.b64 %rd2, %rd1, 262112;\n\tshr.u64 %rd3, %rd2, 4;\n\t"
SOURCES = {
    "64-bit instructions": (
        WIDE + "or.b64 %rd4, %rd3, 4611686293305360384;\n\t" + PRODUCT.format(4),
        "add.s64 and.b64 shr.u64 or.b64",
        "rd[0], 32, mask=262112, temps=rd[1:5]",
    ),
    "address in 16-byte units": (
        "add.s32 %r4, %r1, 64;\n\tcvt.u64.u32 %rd1, %r4;\n\tor.b64 %rd2, %rd1, 4611686293305360384;\n\t"
        + PRODUCT.format(2),
        "add.s32 cvt.u64.u32 or.b64",
        "r[1], 64, temps=[r[4], rd[1], rd[2]]",
    ),
    "bfe of the address": (
        "bfe.u32 %r4, %r1, 4, 14;\n\tcvt.u64.u32 %rd1, %r4;\n\tor.b64 %rd2, %rd1, 4611686293305360384;\n\t"
        + PRODUCT.format(2),
        "bfe.u32 cvt.u64.u32 or.b64",
        "r[1], temps=[r[4], rd[1], rd[2]]",
    ),
}


@pytest.mark.parametrize("what", SOURCES)
def test_descriptors_are_found_as_compilers_make_them(what: str) -> None:
    source, steps, call = SOURCES[what]
    done = transpile(module(source), ALL)
    assert done.applied["descriptor"] == 1, done.text
    assert not done.rejected
    assert f"    descriptor({call})\n" in done.text
    assert f'steps="{steps}"' in done.text


def test_products_that_are_repeated_are_one_loop_with_their_descriptors() -> None:
    turns = (
        f"add.s32 %r{4 + 3 * at}, %r1, {32 * at + 32};\n\tcvt.u64.u32 %rd{1 + 2 * at}, %r{4 + 3 * at};\n\t"
        f"or.b64 %rd{2 + 2 * at}, %rd{1 + 2 * at}, 4611686293305360384;\n\t" + PRODUCT.format(2 + 2 * at)
        for at in range(4)
    )
    done = transpile(module("".join(turns)), ALL)
    assert not done.rejected
    loop = "    for i in range(4):\n        descriptor(r[1], 32 + 32 * i, temps=["
    assert loop in done.text


NO_DESCRIPTORS = {
    "MMA reads another register": WIDE + "or.b64 %rd4, %rd3, 4611686293305360384;\n\t" + PRODUCT.format(3),
    "shift by 5": WIDE.replace(", 4;", ", 5;") + "or.b64 %rd4, %rd3, 1;\n\t" + PRODUCT.format(4),
    "only shr and or": "shr.u64 %rd3, %rd2, 4;\n\tor.b64 %rd4, %rd3, 1;\n\t" + PRODUCT.format(4),
    "guarded shr": WIDE.replace("shr", "@%p1 shr") + "or.b64 %rd4, %rd3, 1;\n\t" + PRODUCT.format(4),
}


@pytest.mark.parametrize("what", NO_DESCRIPTORS)
def test_what_is_no_descriptor_stays(what: str) -> None:
    done = transpile(module(NO_DESCRIPTORS[what]), ALL)
    assert done.applied["descriptor"] == 0, done.text
    assert not done.rejected


MISTAKES: dict[str, dict[str, Any]] = {
    "does not occur in the computation of a descriptor": {"steps": "add.s32 not.b32"},
    "does not occur": {"steps": "and shr or"},
    "expected 3 registers for 3 steps, got 2": {"steps": "shr.u32 cvt.u64.u32 or.b64", "temps": 2},
    "temps= needs steps=": {"temps": 4},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_steps_that_make_no_sense_are_told(message: str) -> None:
    def k() -> None:
        given = dict(MISTAKES[message])
        temps = reg.array(b64, 4)[: given.pop("temps")] if "temps" in given else None
        ptx.wgmma.masked_descriptor(reg.scalar(u32), temps=temps, **given)

    with pytest.raises(OperandError, match=message):
        kernel(arch="sm_90a")(k).ptx()


ADDS = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{{}}}, %rd1, %rd2, 1, 1, 1, 0, 0;\n\t"
FIRST, DOWN = "%f0, %f1, %f2, %f3", "%f7, %f6, %f5, %f4"
ACCUMULATORS: dict[str, tuple[str, list[str], list[str]]] = {
    "one accumulator": (ADDS.format(FIRST) * 2, ["acc = f[0:4]"], ["acc", "acc"]),
    "two accumulators, one in descending registers": (
        (ADDS.format(FIRST) + ADDS.format(DOWN)) * 2,
        ["acc = f[0:4]", "acc_2 = f[7:3:-1]"],
        ["acc", "acc_2", "acc", "acc_2"],
    ),
    "accumulators used once": (ADDS.format(FIRST) + ADDS.format(DOWN), [], ["f[0:4]", "f[7:3:-1]"]),
    "registers that are not a slice": (ADDS.format("%f0, %f1, %f2, %f7") * 2, [], ["[*f[0:3], f[7]]"] * 2),
}


@pytest.mark.parametrize("what", ACCUMULATORS)
def test_accumulators_have_names_where_several_products_add_to_them(what: str) -> None:
    source, bound, used = ACCUMULATORS[what]
    done = transpile(module(source), [rule for rule in ALL if rule.name in {"accumulator", "operand"}])
    assert not done.rejected
    lines = [line.strip() for line in done.text.splitlines()]
    assert [line for line in lines if line.startswith("acc")] == bound
    calls = [line for line in lines if line.startswith("ptx.inst.wgmma")]
    assert [line.partition("(")[2].partition(", rd[1]")[0] for line in calls] == used


def test_a_wrong_accumulator_is_withdrawn_and_nothing_else() -> None:
    def find(body: Body, plan: Plan) -> Iterator[Rewrite]:
        for rewrite in ACCUMULATOR.find(body, plan):
            yield replace(rewrite, write=partial(_moved, rewrite))

    def _moved(rewrite: Rewrite, printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        rewrite.write(printer, slots)
        printer.page.lines[-1] = printer.page.lines[-1].replace("0:4", "1:5")

    rules = [replace(rule, find=find) if rule is ACCUMULATOR else rule for rule in ALL]
    done = transpile(module(ADDS.format(FIRST) * 2), rules)
    assert [one.rule for one in done.rejected] == ["accumulator"]
    assert "f[0:4]" in done.text
    assert "acc" not in done.text


OPERATIONS = ["add.s32", "xor.b32", "and.b32", "or.b32", "sub.s32", "mul.lo.s32", "min.s32", "max.s32", "shl.b32"]
WAIT_OF_CUDA = (  # mbarrier wait loop as in a C++ function's inline assembly
    "{{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%w{}], %r{};\n"
    "@P1 bra.uni DONE;\nbra.uni LAB_WAIT;\nDONE:\n}}\n"
)


def test_a_ring_comes_before_a_function_that_says_no_less() -> None:
    """Two mbarrier rings get separate names if their waits alternate and are followed by different instructions."""
    waits = "\n\t".join(
        f"shl.b32 %w{at}, %r1, 3;\n\tadd.s32 %w{at + 1}, %r2, %w{at};\n\t"
        f"add.s32 %w{at + 2}, %w{at + 1}, {1024 + 64 * (number % 2)};\n\t"
        f"{WAIT_OF_CUDA.format(at + 2, 3 + number % 3)}\n\t{operation} %w{at + 3}, %w{at + 4}, {number};"
        for number, operation in enumerate(OPERATIONS)
        for at in (10 * number,)
    )
    text = module(f".reg .b32 %w<100>;\n\t{waits}")
    with_functions, without = (
        transpile(text, tuple(rule for rule in ALL if rule.name != left_out)).text for left_out in ("", "function")
    )
    assert with_functions.count(".at(") == with_functions.count(".wait(") == len(OPERATIONS)
    assert len(with_functions.splitlines()) <= len(without.splitlines())
