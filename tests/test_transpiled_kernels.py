"""Round trip of the kernels of examples/: their PTX becomes Python, which emits the same bytes and is readable.

The readability limits are those of docs/transpiler-report.md, here for every kernel alone: by default
for every second kernel, with `PYPTX_KERNELS=all` for all.
"""

from __future__ import annotations

from typing import Any

import pytest
from tools.kernel_resources import ROWS, Row
from tools.shares import share
from tools.transpiler_report import HEAD, Measured, of_module

from pyptx.codegen import transpile
from pyptx_ir.plugins.manager import manager

from .test_codegen import module_of
from .test_transpiler_report import LEAST_RAISED, MOST, MOST_IN_LARGE, MOST_OF_ALL

pytestmark = [pytest.mark.scaled(2), pytest.mark.no_cover, pytest.mark.hopper, pytest.mark.blackwell]

LINES = "lines in functions above 200"


def each(rows: list[Row]) -> Any:
    return pytest.mark.parametrize("row", rows, ids=lambda row: f"{row.example}, {row.kernel}, {row.specialization}")


@each([*ROWS])
def test_it_comes_back_byte_for_byte_and_no_rule_is_withdrawn(row: Row) -> None:
    text = row.specialize().text
    done = transpile(text, manager().sugar_rules(), name=f"{row.example}.ptx")
    assert module_of(done.text).ptx() == text
    assert not done.rejected
    assert "ptx.raw(" not in done.text


@each(share(ROWS, 2))
def test_it_reads_as_well_as_what_compilers_write(row: Row) -> None:
    cells = Measured(of_module(row.specialize().text, row.example)).columns()
    told = {name: float(cell) for name, cell in zip(HEAD[1:], cells, strict=True) if cell != "–"}
    assert told["lines"] + told["of formatting"] <= MOST
    assert told.get(LINES, 0.0) <= max(MOST_IN_LARGE.values())
    assert {name: told.get(name, 0.0) for name, most in MOST_OF_ALL.items() if told.get(name, 0.0) > most} == {}
    assert told.get("loops raised %", 100.0) >= LEAST_RAISED
