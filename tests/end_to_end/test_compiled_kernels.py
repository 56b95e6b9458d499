"""L7 on what compilers write: kernels out of the corpus, run on real inputs and compared with independent references.

Each row of `compiled` names a kernel, its launch and its reference; it is run as every producer compiled it, for every
target and with every option, with all checks on.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_ir.syntax import decode, parse
from pyptx_sim import Uninitialised, run

from .compiled import blocks, clang, floats, integers, maps, products
from .compiled.problem import Fresh, Near, Problem, Row

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Module

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
ROWS: tuple[Row, ...] = (*maps.ROWS, *blocks.ROWS, *integers.ROWS, *floats.ROWS, *clang.ROWS, *products.ROWS)
_ENTRY = re.compile(rb"\.entry\s+([\w$]+)")


@cache
def entries(path: Path) -> tuple[str, ...]:
    return tuple(name.decode() for name in _ENTRY.findall(path.read_bytes()))


@cache
def module(path: Path) -> Module:
    return parse(decode(path.read_bytes()), path.name)


@cache
def problem(row: Row) -> Problem:
    return row.make()


def entry_of(row: Row, path: Path) -> str | None:
    """Return the name of the row's kernel in a module that holds it."""
    names = entries(path)
    if row.entry in names:
        return row.entry
    found = [name for name in names if row.entry in name]
    assert len(found) <= 1, f"{row.entry} is no name of one kernel: {found}"
    return found[0] if found else None


def cases() -> list[Any]:
    found = []
    for path in sorted(CORPUS.glob("*/*.ptx")):
        rows = [row for row in ROWS if row.source == path.name.split(".")[0] and path.parent.name != "handmade"]
        for row in rows:
            name = entry_of(row, path)
            if name is not None:
                title = "-".join(part for part in (path.parent.name, path.stem, row.entry, row.title) if part)
                found.append(pytest.param(row, path, name, id=title))
    return found


CASES = cases()


def fresh(value: Any) -> Any:
    if isinstance(value, Fresh):
        return Uninitialised(np.zeros(value.shape, value.dtype))
    return value.copy() if isinstance(value, np.ndarray) else value


def compare(found: Any, expected: Any, *, fast: bool) -> None:
    if not isinstance(expected, Near):
        np.testing.assert_array_equal(np.ma.masked_array(found, mask=np.ma.getmaskarray(expected)), expected)
        return
    value = np.asarray(expected.value)
    bound = expected.relative * np.abs(value) + expected.absolute
    if fast and expected.fast is not None:
        bound = expected.fast * np.maximum(1.0, np.abs(value))
    error = np.abs(np.asarray(found).astype(np.float64) - value)
    bad = ~(error <= bound) & ~np.isnan(value) & ~(found == value)
    assert not bad.any(), f"at {np.argwhere(bad)[0]}: {found[bad][0]}, not {value[bad][0]} (of {bad.sum()})"


@pytest.mark.parametrize(("row", "path", "entry"), CASES)
def test_a_compiled_kernel_computes_what_its_source_says(row: Row, path: Path, entry: str) -> None:
    asked = problem(row)
    args = [fresh(value) for value in asked.args]
    launch = {"grid": asked.grid, "block": asked.block, "cluster": asked.cluster, "shared_bytes": asked.shared_bytes}
    result = run(module(path), entry=entry, args=args, checks="all", **launch)
    assert {finding.rule for finding in result.findings} - asked.tolerated == asked.found, result.findings
    for number, expected in asked.expected.items():
        found = args[number]
        compare(found.array if isinstance(found, Uninitialised) else found, expected, fast=".fast." in path.name)
    assert result.printed == asked.printed


def test_every_row_is_in_some_module() -> None:
    held = {id(case.values[0]) for case in CASES}
    assert [(row.source, row.entry) for row in ROWS if id(row) not in held] == []
