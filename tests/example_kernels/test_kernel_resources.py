"""The table of kernel costs covers every example kernel; main loops are found in the machine code."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tools import kernel_resources
from tools.sass_loops import MATRIX, instructions, loop_of, loops, main_loop

pytestmark = pytest.mark.no_cover

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def listing(*lines: str) -> str:
    """Return a listing of instructions and labels in nvdisasm's format."""
    return "\n".join(
        line if line.endswith(":") else f"        /*{16 * at:04x}*/    {line} ;" for at, line in enumerate(lines)
    )


def test_every_example_with_a_kernel_is_in_the_table():
    makes_one = re.compile(r"@kernel|\.kernel\(\)")  # file that defines a kernel, or builds one of another file's parts
    files = [path for path in EXAMPLES.rglob("*.py") if makes_one.search(path.read_text(encoding="utf-8"))]
    names = {path.relative_to(EXAMPLES).with_suffix("").as_posix() for path in files}
    assert names <= {row.example for row in kernel_resources.ROWS}  # some example files only call another file's kernel


def test_no_kernel_spills():
    costs = kernel_resources.committed_costs()
    assert len(costs) == len(kernel_resources.ROWS)
    spilled = kernel_resources.HEAD.index("spilled bytes") - 3
    assert {cells[spilled] for cells in costs.values()} == {"0"}


def test_a_loop_is_what_lies_between_a_branch_back_and_its_target():
    code = listing("MOV R1, c[0x0][0x28]", ".L_x_0:", "LDG.E R2, [R4]", "@P0 BRA `(.L_x_0)", "EXIT")
    (found,) = loops(code)
    assert found.opcodes == ("LDG.E", "BRA")
    assert main_loop(code) == found


def test_code_that_was_moved_out_of_a_loop_belongs_to_it_and_what_lies_between_does_not():
    code = listing(
        *(".L_top:", "@P1 BRA `(.L_slow)", ".L_back:", "HMMA.16816.F32 R4, R4, R8, R4", "@P0 BRA `(.L_top)"),
        *("STG.E [R2], R4", "EXIT", ".L_slow:", "LDS R3, [R2]", "BRA `(.L_back)"),
    )
    (found,) = loops(code)
    assert Counter(found.opcodes) == Counter(["BRA", "HMMA.16816.F32", "BRA", "LDS", "BRA"])


def test_the_main_loop_is_the_innermost_with_products_whatever_waits_in_it():
    code = listing(
        *(".L_tiles:", "S2R R0, SR_CTAID.X", ".L_k:", "IADD3 R5, R5, 0x1, RZ"),
        *(".L_wait:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R3], R5", "@!P0 BRA `(.L_wait)"),
        *("HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24", "@P1 BRA `(.L_k)"),
        *("STG.E [R2], R4", "@P2 BRA `(.L_tiles)", "EXIT"),
    )
    assert sorted(len(each.opcodes) for each in loops(code)) == [2, 5, 8]
    found = main_loop(code)
    assert found is not None
    assert found.count(MATRIX) == 1
    assert found.histogram == {"IADD3": 1, "SYNCS": 1, "BRA": 2, "HGMMA": 1}


def test_without_products_the_main_loop_accesses_memory_and_one_that_only_waits_is_none():
    waiting = (".L_wait:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R3], R5", "@!P0 BRA `(.L_wait)")
    assert main_loop(listing(*waiting, "EXIT")) is None
    found = main_loop(listing(*waiting, ".L_rows:", "LDG.E.128 R4, [R2]", "@P0 BRA `(.L_rows)", "EXIT"))
    assert found is not None
    assert found.opcodes == ("LDG.E.128", "BRA")


def test_turns_for_operands_that_must_be_uniform_are_no_loop():
    turns = (".L_turn:", "ELECT P1, UR6, PT", "UBLKCP.S.G [UR8], [UR10], UR6", "@P2 BRA.U.ANY `(.L_turn)")
    code = listing(".L_rows:", *turns, "STG.E [R2], R4", "@P0 BRA `(.L_rows)", "EXIT")
    (found,) = loops(code)
    assert found.opcodes == ("ELECT", "UBLKCP.S.G", "BRA.U.ANY", "STG.E", "BRA")


@pytest.mark.parametrize(
    "branch", ["@P0 BRA `(.L_x)", "BRA.U UP0, `(.L_x)", "BRA.DIV UR4, `(.L_x)", "BRA P0, `(.L_x)", "@P0 EXIT"]
)
def test_what_may_not_branch_is_followed_by_the_next_instruction(branch):
    code = listing(".L_top:", branch, "LDG.E R4, [R2]", ".L_x:", "@P1 BRA `(.L_top)", "EXIT")
    (found,) = loops(code)
    assert "LDG.E" in found.opcodes


def test_a_table_of_branches_leads_to_all_that_are_in_it():
    table = '(*"BRANCH_TARGETS .L_fetch,.L_multiply"*)'
    code = listing(
        *(f"BRX R2 -0x41a0 {table}", ".L_fetch:", "UTMALDG.2D [UR8], [UR4]", "@P0 BRA `(.L_fetch)", "EXIT"),
        *(".L_multiply:", "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8]", "@P0 BRA `(.L_multiply)", "EXIT"),
    )
    assert sorted(loop.opcodes[0] for loop in loops(code)) == ["UTCHMMA", "UTMALDG.2D"]
    fetching = loop_of(code, re.compile("UTMALDG"))
    assert fetching is not None
    assert fetching.opcodes == ("UTMALDG.2D", "BRA")
    assert main_loop(code) == loop_of(code, MATRIX) != fetching


def test_what_no_way_leads_to_is_no_loop_and_padding_does_not_count():
    code = listing("EXIT", ".L_x_1:", "BRA `(.L_x_1)", "NOP", "NOP", ".L_x_2:")
    assert not loops(code)
    assert [each.opcode for each in instructions(code)] == ["EXIT", "BRA"]
