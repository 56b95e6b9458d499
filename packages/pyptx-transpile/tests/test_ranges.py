"""Counted loops become `ptx.range_` and emit exactly their original instructions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.rules.ranges import RANGE
from pyptx_transpile.rules.table import RULES

from .test_proof import rebuilt
from .test_rules import module

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_transpile.planning.plan import Rewrite, RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

COUNTED = {
    "constant bounds": ("mov.b32 %r1, 0;", "add.s32 %r1, %r1, 1", "setp.ne.s32 %p1, %r1, 8", "", "0, 8"),
    "downwards": ("mov.b32 %r1, 8;", "add.s32 %r1, %r1, -2", "setp.gt.s32 %p1, %r1, 0", "", "8, 0, -2"),
    "until the counter equals the stop": ("", "add.s32 %r1, %r1, 1", "setp.eq.s32 %p1, %r1, %r2", "!", "r[1], r[2]"),
    "step in a register": (
        "mov.b32 %r1, %r4;",
        "add.s32 %r1, %r1, %r3",
        "setp.lt.u32 %p1, %r1, %r2",
        "",
        "r[4], r[2], r[3]",
    ),
    "64-bit counter": ("", "add.s64 %rd1, %rd1, 4", "setp.lt.u64 %p1, %rd1, %rd2", "", "rd[1], rd[2], 4"),
}
NOT_COUNTED = {
    "another register is compared": ("add.s32 %r1, %r1, 1", "setp.lt.s32 %p1, %r2, 8", ""),
    "a counter that moves away from its stop": ("add.s32 %r1, %r1, 1", "setp.gt.s32 %p1, %r1, 8", ""),
    "stop included": ("add.s32 %r1, %r1, 1", "setp.le.s32 %p1, %r1, 8", ""),
    "branch on another predicate": ("add.s32 %r1, %r1, 1", "setp.lt.s32 %p2, %r1, 8", ""),
    "negated predicate": ("add.s32 %r1, %r1, 1", "setp.lt.s32 %p1, %r1, 8", "!"),
    "a step of 0": ("add.s32 %r1, %r1, 0", "setp.lt.s32 %p1, %r1, 8", ""),
    "sum of another register": ("add.s32 %r1, %r2, 1", "setp.lt.s32 %p1, %r1, 8", ""),
    "an add with carry-out": ("add.cc.u32 %r1, %r1, 1", "setp.lt.s32 %p1, %r1, 8", ""),
    "a guarded step": ("@%p3 add.s32 %r1, %r1, 1", "setp.lt.s32 %p1, %r1, 8", ""),
    "a setp with two predicates": ("add.s32 %r1, %r1, 1", "setp.lt.s32 %p1|%p2, %r1, 8", ""),
    "a setp with a predicate operand": ("add.s32 %r1, %r1, 1", "setp.lt.and.s32 %p1, %r1, 8, %p2", ""),
    "a negative stop": ("add.s32 %r1, %r1, 1", "setp.lt.s32 %p1, %r1, -8", ""),
}


@pytest.mark.parametrize("loop", COUNTED)
def test_a_loop_that_counts_is_a_range(loop: str) -> None:
    start, step, test, sign, arguments = COUNTED[loop]
    counter, label = ("rd[1]", "$L__BB0_7") if "64" in step else ("r[1]", "$L__BB0_7")
    source = module(f"{start}\n{label}:\n\tnot.b32 %r5, %r6;\n\t{step};\n\t{test};\n\t@{sign}%p1 bra {label};")
    done = transpile(source.replace("\t\n", ""), RULES)
    guard = "~p[1]" if sign else "p[1]"
    assert f'for _ in counted({arguments}, counter={counter}, pred={guard}, label="{label}"):' in done.text
    assert rebuilt(done.text) == source.replace("\t\n", "")
    assert not done.rejected


@pytest.mark.parametrize("loop", NOT_COUNTED)
def test_what_does_not_count_as_a_range_does_is_none(loop: str) -> None:
    step, test, sign = NOT_COUNTED[loop]
    source = module(f"not.b32 %r5, %r6;\n$L1:\n\tnot.b32 %r5, %r6;\n\t{step};\n\t{test};\n\t@{sign}%p1 bra $L1;")
    done = transpile(source, RULES)
    assert "counted(" not in done.text
    assert 'with ptx.loop("$L1", pred=' in done.text
    assert not done.rejected


def test_a_range_is_left_and_is_no_range_where_a_branch_goes_to_its_next_turn() -> None:
    start, step = "mov.b32 %r1, 0;\n$L1:\n\t@%p2 bra {};\n\t", "add.s32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r1, 8;"
    body = f"{start}{step}\n\t@%p1 bra $L1;\n$L2:"
    left = transpile(module(body.format("$L2")), RULES).text
    assert 'label="$L1", end_label="$L2"):\n        ptx.break_(pred=p[2])' in left
    again = transpile(module(body.format("$L1")), RULES).text
    assert 'with ptx.loop("$L1"' in again
    assert "ptx.continue_(pred=p[2])" in again


def test_a_range_that_has_no_room_in_a_line_is_a_loop() -> None:
    label = "$L_a_loop_with_a_name_that_takes_nearly_all_of_the_line_so_that_nothing_else_has_room"
    source = module(
        f"mov.b32 %r1, 0;\n{label}:\n\tadd.s32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r1, 8;\n\t@%p1 bra {label};"
    )
    done = transpile(source, RULES)
    assert f'    ptx.inst.mov.b32(r[1], 0)\n    with ptx.loop("{label}", pred=p[1]):\n' in done.text
    assert "counted" not in done.text
    assert rebuilt(done.text) == source


TWICE = """mov.b32 %r1, 0;
$L__BB0_1:
	mov.b32 %r2, 8;
$L__BB0_2:
	add.s32 %r3, %r1, %r2;
	mul.lo.s32 %r4, %r3, %r1;
	add.s32 %r2, %r2, -1;
	setp.gt.s32 %p2, %r2, 0;
	@%p2 bra $L__BB0_2;
	add.s32 %r1, %r1, 1;
	setp.ne.s32 %p1, %r1, 8;
	@%p1 bra $L__BB0_1;
	mov.b32 %r5, %r1;"""


def test_counters_have_names_inside_their_loops() -> None:
    done = transpile(module(TWICE), [rule for rule in RULES if rule.name in {"range", "label"}])
    for line in (
        "    for i in counted(0, 8, counter=r[1], pred=p[1]):",
        "        for j in counted_2(8, 0, -1, counter=r[2], pred=p[2]):",
        "            ptx.inst.add.s32(r[3], i, j)",
        "            ptx.inst.mul.lo.s32(r[4], r[3], i)",
        "    ptx.inst.mov.b32(r[5], r[1])",
    ):
        assert f"\n{line}\n" in done.text
    assert rebuilt(done.text) == module(TWICE)


@pytest.mark.parametrize("body", ["not.b32 %r1, %r1;", "not.b32 %r3, %r4;"], ids=["written", "not read"])
def test_a_counter_that_is_written_or_not_read_has_no_name(body: str) -> None:
    source = module(f"$L__BB0_1:\n\t{body}\n\tadd.s32 %r1, %r1, 1;\n\tsetp.ne.s32 %p1, %r1, 8;\n\t@%p1 bra $L__BB0_1;")
    done = transpile(source, RULES)
    assert "for _ in counted(r[1], 8, counter=r[1], pred=p[1]):" in done.text
    assert rebuilt(done.text) == source


def test_a_loop_that_counts_in_another_register_is_rejected_alone() -> None:
    def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
        for rewrite in RANGE.find(body, plan):
            yield replace(rewrite, write=partial(_spoilt, rewrite))

    rules = [replace(rule, find=find) if rule is RANGE else rule for rule in RULES]
    done = transpile(module(TWICE), rules)
    assert [(one.rule, one.statement) for one in done.rejected] == [("range", "mov.b32 %r1, 0;")]
    assert rebuilt(done.text) == module(TWICE)


def _spoilt(rewrite: Rewrite, printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
    first = len(printer.page.lines)
    rewrite.write(printer, slots)
    page, right, wrong = printer.page, "counter=r[1]", "counter=r[6]"
    if right in page.lines[first]:
        ((header, other),) = [each for each in page.counted.values() if right in each[0]]
        page.count(header.replace(right, wrong), other.replace(right, wrong))
        page.lines[first] = page.lines[first].replace(right, wrong)
