"""Every form that Hopper has compiles on the simulator, but for those that are listed, and a share of them runs.

`PYPTX_KERNELS=all` asks for every form of every row, in all types and words; otherwise some of each stand for the rest.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from tests.oracle.ptxas import Judge
from tools.shares import full

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
RUN_VERSION = (9, 0)  # the oldest ptxas that the tests are run with knows it
STEPS = 3000
RUNS = full(400, default=120)
ROOT = Path(__file__).parents[2]

SAMPLES = "textures of several samples, which no interface of CUDA makes"
# What Hopper has and the simulator has not, by opcode or by a word of it, and why.
NOT_SIMULATED = {
    **dict.fromkeys(("2dms", "a2dms"), SAMPLES),
    "layout::v1": "mbarriers of PTX 9.3, whose layout the manual leaves open",
    "phase_type::primary": "phases of these mbarriers",
    "phase_type::conditional": "phases of these mbarriers",
    "m8n16": "ldmatrix of PTX 9.4 that widens s4 to s8: how its rows lie in memory is not known here",
}


def missing(form: str) -> str | None:
    """Return why the simulator cannot compile a form, or None."""
    try:
        compile_program.__wrapped__(lower(parse(kernel_of(form, TARGET, TABLE_VERSION)), "k"), checked=True)
    except ProgramError as error:
        return f"{type(error).__name__}: {error}"
    return None


def test_every_form_of_hopper_compiles_but_for_those_that_are_listed() -> None:
    chance = random.Random(3)  # with it the forms of every listed word are among them
    unlisted, listed, asked = {}, set(), 0
    for row in rows_of(TARGET, TABLE_VERSION):
        for form in legal_forms(row, TARGET, TABLE_VERSION, chance, MOST):
            asked += 1
            why = missing(form)
            reasons = NOT_SIMULATED.keys() & set(parse_instruction(form).opcode)
            listed |= reasons if why else set()
            if bool(why) != bool(reasons):
                unlisted[form] = why or "it is listed, and compiles"
    assert not unlisted
    assert listed == NOT_SIMULATED.keys()
    assert asked > 1800


def test_the_page_on_the_simulator_names_what_is_not_simulated() -> None:
    page = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    part = page.partition("## What is not simulated")[2]
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
def drawn(version: tuple[int, int]) -> list[str]:
    """Return random forms that are simulated, of as many rows."""
    chance = random.Random(2)
    rows = rows_of(TARGET, version)
    found: list[str] = []
    while len(found) < RUNS:
        found += [
            form
            for form in legal_forms(chance.choice(rows), TARGET, version, chance, 2)
            if NOT_SIMULATED.keys().isdisjoint(parse_instruction(form).opcode)
        ][-1:]
    return found


@pytest.mark.ptxas
def test_ptxas_takes_the_forms_that_are_run() -> None:
    ptxas = find_tool("ptxas")
    refused = Judge(ptxas, TARGET, ptxas.newest_ptx).judge(drawn(ptxas.newest_ptx))
    assert {form: why for form, why in refused.items() if why} == {}


@pytest.mark.parametrize("checks", ["all", "none"])
def test_random_forms_run_on_random_values(checks: str) -> None:
    """What an instruction does with values that mean nothing may be a fault, and never one of the simulator's."""
    chance = random.Random(3)
    broken = {}
    for form in drawn(RUN_VERSION):
        try:
            run(
                kernel_of(form, TARGET, RUN_VERSION),
                entry="k",
                grid=1,
                block=THREADS,
                args=arguments_of(form, chance),
                checks=checks,
                step_limit=STEPS,
            )
        except MissingSemantics as error:
            broken[form] = str(error)
        except SimulationError as error:
            if " in the simulator:" in str(error):
                broken[form] = str(error)
    assert broken == {}
