"""Every form of Hopper and Blackwell compiles on the simulator, except for those listed here; a share of them runs.

`PYPTX_KERNELS=all` tests every form of every row, with all types and modifiers; the default is some forms of each row.
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest
from tests.oracle.ptxas import Assembler
from tools.shares import full, share

from pyptx_ir.isa.check import TABLE_VERSION
from pyptx_ir.isa.special_registers import special_register_rows
from pyptx_ir.syntax import parse, parse_instruction
from pyptx_ir.toolchain.finder import find_tool
from pyptx_sim import run
from pyptx_sim.errors import MissingSemantics, ProgramError, SimulationError
from pyptx_sim.instructions.compiling.table import compile_program
from pyptx_sim.program.lowering import lower

from .forms import THREADS, arguments_of, kernel_of, legal_forms, rows_of

pytestmark = pytest.mark.scaled

TARGET = "sm_90a"
MOST = full(None, default=2)
RUN_VERSION = (9, 0)  # PTX version of the oldest ptxas that runs these tests
STEPS = 3000
RUNS = full(400, default=120)
ROOT = Path(__file__).parents[2]

SAMPLES = "textures of several samples, which no interface of CUDA makes"
FABRIC = "needs other nodes of a fabric, which the simulator does not have"
PACKED = "arithmetic of PTX 9.4 on four floats of 8 bits and fewer, whose rounding is not documented"
WIDENED = "ldmatrix of PTX 9.4 that widens s4 to s8: the memory layout of its rows is not documented"
HALO = "im2col::w with a halo"  # the manual shows the halo of im2col::w only in figures
SWIZZLE = "a swizzle of 96 bytes, for which the manual does not show the memory layout of rows"
# Instructions that Hopper supports and the simulator does not: an opcode or modifier, and the reason.
NOT_SIMULATED = {
    **dict.fromkeys(("2dms", "a2dms"), SAMPLES),
    "layout::v1": "mbarriers of PTX 9.3, whose layout the manual leaves open",
    "phase_type::primary": "phases of mbarriers with .layout::v1",
    "phase_type::conditional": "phases of mbarriers with .layout::v1",
    "m8n16": WIDENED,
}
# Further instructions that Blackwell supports and the simulator does not: pattern of the instruction's start, reason.
NOT_SIMULATED_NEWER = {
    r"fabric\.": FABRIC,
    r"(add|sub|mul|fma)\.\S*\be[45]m[23]x4\b": PACKED,
    r"tensormap\.replace\.tile\.swizzle_mode\S* \[\S+\], 4;": SWIZZLE,
    r"ldmatrix\.\S*\.s8\.s4\b": WIDENED,
}
OF_FOUR, OF_96_BYTES = (
    r"(add|sub|mul|fma)\.\S*\be[45]m[23]x4\b",
    r"tensormap\.replace\.tile\.swizzle_mode\S* \[\S+\], 4;",
)
# Keys of `NOT_SIMULATED` and `NOT_SIMULATED_NEWER` that match no instruction of a target.
LACKING: dict[str, set[str]] = {
    TARGET: set(),
    "sm_100a": {"m8n16", OF_96_BYTES},
    "sm_103a": {"m8n16"},
    "sm_110a": {"m8n16", OF_FOUR, OF_96_BYTES},
    "sm_120a": {"m8n16", OF_FOUR, OF_96_BYTES},
}


def reasons_for(form: str, target: str) -> set[str]:
    """Return the keys of `NOT_SIMULATED` and `NOT_SIMULATED_NEWER` that match a form."""
    words = NOT_SIMULATED.keys() & set(parse_instruction(form).opcode)
    newer = {each for each in NOT_SIMULATED_NEWER if re.match(each, form)}
    return words if target == TARGET else (words - {"m8n16"}) | newer


def missing(form: str, target: str) -> str | None:
    """Return why the simulator cannot compile a form; None if it can."""
    try:
        compile_program.anew(lower(parse(kernel_of(form, target, TABLE_VERSION)), "k"), checked=True)
    except ProgramError as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.parametrize("target", share(LACKING, 2))
def test_every_form_of_a_target_compiles_but_for_those_that_are_listed(target: str) -> None:
    chance = random.Random(3)  # with this seed, each key of the lists matches a drawn form
    unlisted, listed, asked = {}, set(), 0
    for row in rows_of(target, TABLE_VERSION):
        for form in legal_forms(row, target, TABLE_VERSION, chance, MOST):
            asked += 1
            why = missing(form, target)
            reasons = reasons_for(form, target)
            listed |= reasons if why else set()
            if bool(why) != bool(reasons):
                unlisted[form] = why or "listed as not simulated, but compiles"
    assert not unlisted
    wanted = {*NOT_SIMULATED, *NOT_SIMULATED_NEWER} if target != TARGET else {*NOT_SIMULATED}
    assert wanted - listed == LACKING[target]
    assert asked > 1800


def test_the_page_of_limitations_names_what_is_not_simulated() -> None:
    page = (ROOT / "docs" / "limitations.md").read_text(encoding="utf-8")
    part = page.partition("### Missing instructions")[2].partition("\n### ")[0]
    assert [name for name in NOT_SIMULATED if f"`{name}`" not in part and f"`.{name}`" not in part] == []


def test_every_special_register_of_hopper_can_be_read() -> None:
    rows = {name: row for name, row in special_register_rows().items() if row.name == name}
    moves = "\n".join(
        f".reg .{row.type} %r{number};\nmov.{row.type} %r{number}, {name};"
        for number, (name, row) in enumerate(rows.items())
    )
    head = f".version 9.0\n.target {TARGET}\n.address_size 64\n"
    assert len(rows) > 100
    assert run(f"{head}.visible .entry k()\n{{\n{moves}\nret;\n}}", grid=2, block=2, cluster=2).findings == ()


@cache
def drawn(target: str, version: tuple[int, int]) -> list[str]:
    """Return random instruction forms that the simulator supports, each of a random row of the instruction table."""
    chance = random.Random(2)
    rows = rows_of(target, version)
    found: list[str] = []
    while len(found) < RUNS:
        found += [
            form
            for form in legal_forms(chance.choice(rows), target, version, chance, 2)
            if not reasons_for(form, target)
        ][-1:]
    return found


RUN_TARGETS = (TARGET, "sm_100a", "sm_120a")


@pytest.mark.ptxas
@pytest.mark.parametrize("target", RUN_TARGETS)
def test_ptxas_takes_the_forms_that_are_run(target: str) -> None:
    ptxas = find_tool("ptxas")
    refused = Assembler(ptxas, target, ptxas.newest_ptx).verdicts(drawn(target, ptxas.newest_ptx))
    assert {form: why for form, why in refused.items() if why} == {}


@pytest.mark.parametrize("target", RUN_TARGETS)
@pytest.mark.parametrize("checks", ["all", "none"])
def test_random_forms_run_on_random_values(checks: str, target: str) -> None:
    """On random values an instruction may fault, but the simulator must not raise an internal error."""
    chance = random.Random(3)
    broken = {}
    for form in drawn(target, RUN_VERSION):
        try:
            run(
                kernel_of(form, target, RUN_VERSION),
                entry="k",
                grid=1,
                block=THREADS,
                args=arguments_of(form, chance),
                checks=checks,
                step_limit=STEPS,
            )
        except MissingSemantics as error:
            if HALO not in str(error):
                broken[form] = str(error)
        except SimulationError as error:
            if " in the simulator:" in str(error):
                broken[form] = str(error)
    assert broken == {}
