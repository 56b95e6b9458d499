"""Every form of Hopper and Blackwell compiles on the simulator, except for those listed here; a share of them runs.

`PYPTX_KERNELS=all` tests every form of every row, with all types and modifiers, on each target; the default is some
forms of each row on the first target that has the row, and of every twelfth row on the others.
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.oracle.ptxas import Assembler
from tools.shares import full, share

from pyptx_ir.isa.check import TABLE_VERSION
from pyptx_ir.isa.special_registers import special_register_rows
from pyptx_ir.syntax import parse
from pyptx_ir.toolchain.finder import find_tool
from pyptx_sim import run
from pyptx_sim.errors import MissingSemantics, ProgramError, SimulationError
from pyptx_sim.instructions.compiling.table import compile_program
from pyptx_sim.program.lowering import lower

from .forms import THREADS, arguments_of, kernel_of, legal_forms, rows_of

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow

pytestmark = pytest.mark.scaled

TARGET = "sm_90a"
MOST = full(None, default=2)
RUN_VERSION = (9, 0)  # PTX version of the oldest ptxas that runs these tests
STEPS = 3000
RUNS = full(400, default=60)
ROOT = Path(__file__).parents[2]

HALO = ".im2col::w and a halo"  # the manual shows the halo of im2col::w only in figures
TARGETS = ("sm_107a", "sm_100a", "sm_90a", "sm_110a", "sm_103a", "sm_120a")
FOUR_FLOATS = "`add`, `sub`, `mul`, `fma` of `.e4m3x4` and `.e5m2x4`"
# By target: rows of `NOT_SIMULATED` that match no instruction of the target; other targets' rows are not compared.
LACKING = {"sm_107a": {FOUR_FLOATS}}
# Instructions without semantics: patterns of the instruction's start, by the first column of docs/limitations.md.
NOT_SIMULATED = {
    "`tex` of geometry `.2dms` or `.a2dms`": r"tex\.(base\.)?a?2dms",
    "`mbarrier` with `.layout::v1`, `.phase_type::primary` or `.phase_type::conditional`": (
        r"mbarrier\..*(layout::v1|phase_type::)"
    ),
    "`mbarrier` with `.multicast::cluster::32b`": r"mbarrier\..*multicast::cluster::32b",
    "bulk copies with `.mbarrier::report`": r"cp\.async\.bulk.*mbarrier::report",
    "`cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor` of mode `.im2col_no_offs::w`": (
        r"cp\.(reduce\.)?async\.bulk\.tensor.*im2col_no_offs::w"
    ),
    "tensor copies with `.override::global_dim` and `.override::global_dim_stride`": (
        r"cp\.(reduce\.)?async\.bulk\.tensor.*override::global_dim"
    ),
    "`ldmatrix` of `.m8n16` from `.s4` to `.s8`": r"ldmatrix.*m8n16.*\.s8\.s4",
    FOUR_FLOATS: r"(add|sub|mul|fma)\.(.*\.)?e(4m3|5m2)x4",
    "`add`, `sub`, `mul`, `fma` of packed operands of two types": r"(add|sub|mul|fma)(\.\w+)*?(\.\w+x2){2}",
    "`set` of packed integers": r"set\..*[us](16x2|8x4)",
    "`cvt` with `.pzo`, of `.ue5m3x2`, and to packed 4-, 6- and 8-bit floats by `.rz` or with `.scaled`": (
        r"cvt\..*(pzo|ue5m3x2)|cvt\.(rz|.*scaled).*\.e\dm\dx[24]\."
    ),
    "`spcompress`, `spdecompress`, and `tcgen05.ld` with `.spcompress`": r"sp(de)?compress|tcgen05\.ld.*spcompress",
    "`tcgen05.mma` of `.kind::ti16` or with `.decompress::lut::b`": r"tcgen05\.mma.*(kind::ti16|decompress::lut::b)",
    "`tensormap.replace` to a swizzle of 96 bytes": r"tensormap\.replace.*swizzle_mode.*, 4;",
    "`fabric`": r"fabric\.",
}


def listed_as(form: str) -> set[str]:
    """Return the rows of docs/limitations.md that name a form."""
    return {row for row, pattern in NOT_SIMULATED.items() if re.match(pattern, form)}


def missing(form: str, target: str) -> str | None:
    """Return why the simulator cannot compile a form; None if it can."""
    try:
        compile_program.anew(lower(parse(kernel_of(form, target, TABLE_VERSION, data=False)), "k"), checked=True)
    except ProgramError as error:
        return f"{type(error).__name__}: {error}"
    return None


def rows_on(target: str) -> list[InstructionRow]:
    """Return the rows to test on a target: all; by default those of no earlier target, and a share of the others."""
    rows, turn = rows_of(target, TABLE_VERSION), TARGETS.index(target)
    earlier = {row.name for each in TARGETS[:turn] for row in rows_of(each, TABLE_VERSION)}
    again = [row for row in rows if row.name in earlier]
    return [*(row for row in rows if row.name not in earlier), *share(again, 12, turn)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.long
def test_every_form_of_a_target_compiles_but_for_those_that_are_listed(target: str) -> None:
    chance = random.Random(3)  # with this seed, each pattern of `NOT_SIMULATED` matches a drawn form
    rows_of_target, unlisted, listed, asked = rows_on(target), {}, set[str](), 0
    for row in rows_of_target:
        for form in legal_forms(row, target, TABLE_VERSION, chance, MOST):
            asked += 1
            why, rows = missing(form, target), listed_as(form)
            listed |= rows
            if bool(why) != bool(rows):
                unlisted[form] = why or "listed as not simulated, but compiles"
    assert not unlisted
    assert target not in LACKING or NOT_SIMULATED.keys() - listed == LACKING[target]
    assert asked > full(1800, default=len(rows_of_target))


def test_the_page_of_limitations_has_these_rows() -> None:
    page = (ROOT / "docs" / "limitations.md").read_text(encoding="utf-8")
    table = page.partition("| instruction or modifier |")[2].partition("\n\n")[0]
    assert re.findall(r"(?m)^\| ([^-|].*?) \|", table) == list(NOT_SIMULATED)


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
        found += [form for form in legal_forms(chance.choice(rows), target, version, chance, 2) if not listed_as(form)][
            -1:
        ]
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
@pytest.mark.long
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
