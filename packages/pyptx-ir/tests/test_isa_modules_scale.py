"""Cost of checking: linear in the size of the text, also for hostile and invalid texts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.isa.modules import check_text
from pyptx_ir.suggestions import LONGEST, MOST_COMPARED, close_names
from pyptx_ir.syntax import PtxSyntaxError, emit, parse, parse_recovering

from .hostile_texts import DEEP, LONG, deep
from .modules_broken import HEAD

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.no_cover  # coverage slows every line; growth of time cannot be measured with it

SECONDS = 1.0  # maximum CPU seconds of the fastest of several checks, since other programs run at the same time


def least(run: Callable[[], object], enough: float, most: int = 5) -> float:
    """Return the CPU seconds of the first run that takes no longer than `enough`, or of the best of `most` runs."""
    best = float("inf")
    for _ in range(most):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
        if best <= enough:
            break
    return best


@pytest.mark.parametrize("levels", [250, 20_000])
@pytest.mark.parametrize("name", DEEP)
def test_what_nests_too_deep_is_an_error_at_its_line(name: str, levels: int) -> None:
    text = deep(name, levels)
    tree, errors = parse_recovering(text)
    assert emit(tree) == text
    assert "nest" in errors[0].message
    assert errors[0].line == 6
    with pytest.raises(PtxSyntaxError, match="nest"):
        parse(text)
    found = check_text(text)
    assert [one.line for one in found if one.code == "syntax"] == [error.line for error in errors]


@pytest.mark.parametrize("name", LONG)
def test_hostile_text_is_judged_within_a_second(name: str) -> None:
    text = LONG[name]()
    assert least(lambda: check_text(text), SECONDS) <= SECONDS


REGISTERS = 4000


def large(bank: str) -> str:
    """Return a function of many instructions, and as many registers."""
    lines = "".join(
        f"\tadd.s32 \t%r{i + 1}, %r{i}, 1;\n\tmul.wide.s32 \t%rd{i}, %r{i}, 4;\n\tst.global.u32 \t[%rd{i}+4], %r{i};\n"
        for i in range(REGISTERS)
    )
    return f"{HEAD}.visible .entry k()\n{{\n{bank}\t.reg .b64 \t%rd<{REGISTERS}>;\n{lines}\tret;\n}}\n"


def test_a_bank_of_registers_that_is_missing_costs_little_more_to_say_than_a_clean_check() -> None:
    clean, missing = large(f"\t.reg .b32 \t%r<{REGISTERS + 1}>;\n"), large("")
    assert check_text(clean) == ()
    allowed = 4 * least(lambda: check_text(clean), 0)
    assert least(lambda: check_text(missing), allowed) <= allowed


def test_of_a_missing_bank_a_few_names_are_reported_and_the_last_says_so() -> None:
    found = check_text(large(""))
    assert {one.code for one in found} == {"undefined-register"}
    assert [one.message for one in found] == [f"'%r{i}' is not declared" for i in (1, 0, 2, 3, 4, 5, 6, 7)]
    assert ["are not reported" in one.help for one in found] == [False] * 7 + [True]


def test_a_name_beyond_its_bank_is_reported_each_time() -> None:
    lines = "".join(f"\tmov.b32 %r{i}, 1;\n" for i in range(20))
    found = check_text(f"{HEAD}.entry k()\n{{\n\t.reg .b32 %r<2>;\n{lines}\tret;\n}}\n")
    assert [one.line for one in found] == list(range(9, 27))
    assert {one.help for one in found} == {"increase the count of '%r<2>' (line 6), which declares %r0 to %r1"}


def test_a_suggestion_is_the_closest_name_and_costs_no_more_than_so_many_comparisons() -> None:
    assert close_names("addd", ["add", "sub", "mad"], most=1) == ["add"]
    assert close_names("a" * (LONGEST + 1), ["a" * LONGEST], most=1) == []
    many = [f"name{i:06}" for i in range(50 * MOST_COMPARED)]
    assert close_names("name000012", many, most=1) == ["name000012"]
    assert least(lambda: close_names("nome000012", many, most=1), 0.2) <= 0.2


@pytest.mark.parametrize("opcode", ["add", "ld", "cvt", "mma"])
def test_an_opcode_of_thousands_of_modifiers_is_refused_within_a_second(opcode: str) -> None:
    text = f"{HEAD}.entry k() {{ .reg .b32 r; {opcode}{'.f32' * 8000} r, r; ret; }}\n"
    assert least(lambda: check_text(text), SECONDS) <= SECONDS
    (found,) = check_text(text)
    assert (found.code, found.message) == ("modifier", f"too many modifiers: {opcode} has 8000, no instruction has 64")
