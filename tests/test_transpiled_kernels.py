"""Round trip of the kernels of examples/: their PTX becomes Python, which emits the same bytes and is readable.

The readability limits are those of docs/transpiler-report.md, here for every kernel alone.
"""

from __future__ import annotations

import pytest
from tools.kernel_resources import ROWS, Row
from tools.transpiler_report import HEAD, Measured, of_module

from pyptx.codegen import transpile
from pyptx_ir.plugins.manager import manager

from .test_codegen import module_of
from .test_transpiler_report import LEAST_RAISED, MOST, MOST_IN_LARGE, MOST_OF_ALL

pytestmark = [pytest.mark.no_cover, pytest.mark.hopper, pytest.mark.blackwell]

EACH = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.example}, {row.kernel}, {row.specialization}")
LINES = "lines in functions above 200"


@EACH
def test_it_comes_back_byte_for_byte_and_no_rule_is_withdrawn(row: Row) -> None:
    text = row.specialize().text
    done = transpile(text, manager().sugar_rules(), name=f"{row.example}.ptx")
    assert module_of(done.text).ptx() == text
    assert not done.rejected
    assert "ptx.raw(" not in done.text


@EACH
def test_it_reads_as_well_as_what_compilers_write(row: Row) -> None:
    cells = Measured(of_module(row.specialize().text, row.example)).columns()
    told = {name: float(cell) for name, cell in zip(HEAD[1:], cells, strict=True) if cell != "–"}
    assert told["lines"] + told["of formatting"] <= MOST
    assert told.get(LINES, 0.0) <= max(MOST_IN_LARGE.values())
    assert {name: told.get(name, 0.0) for name, most in MOST_OF_ALL.items() if told.get(name, 0.0) > most} == {}
    assert told.get("loops raised %", 100.0) >= LEAST_RAISED
