"""Property L7 for compiled kernels: corpus kernels run on real inputs and are compared with independent references.

Each row of `compiled` names a kernel, its launch and its reference. `PYPTX_KERNELS=all` runs it in the output of every
producer, target and option, with all checks. By default, each row runs in one of eight of its modules, and each build
(producer, target, option) occurs in some row.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import full

from pyptx_ir.syntax import decode, parse
from pyptx_sim import Uninitialized, WithDescriptor, run

from .compiled import attention, blocks, clang, cute, floats, hopper, integers, maps, mma
from .compiled.problem import Fresh, Near, Problem, Row

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Module

pytestmark = pytest.mark.scaled(2)

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
ROWS: tuple[Row, ...] = (
    *maps.ROWS,
    *blocks.ROWS,
    *integers.ROWS,
    *floats.ROWS,
    *clang.ROWS,
    *mma.ROWS,
    *hopper.ROWS,
    *attention.ROWS,
    *cute.ROWS,
)
ONE_OF = full(1, default=8)
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
    """Return the (mangled) name of the kernel of a `Row` in a module; None if the module lacks the kernel."""
    names = entries(path)
    if row.entry in names:
        return row.entry
    found = [name for name in names if row.entry in name]
    assert len(found) <= 1, f"{row.entry} is part of several kernels' names: {found}"
    return found[0] if found else None


def cases() -> list[Any]:
    """Return every `Row` (kernel with its test problem) with every module that contains its kernel."""
    found = []
    for path in sorted(set(CORPUS.glob("*/*.ptx")) - set(CORPUS.glob("handmade/*"))):
        source, _, build = path.name.partition(".")
        rows = [row for row in ROWS if row.source == source and row.build in {"", build}]
        for row in rows:
            name = entry_of(row, path)
            if name is not None:
                title = "-".join(part for part in (path.parent.name, path.stem, row.entry, row.title) if part)
                found.append(pytest.param(row, path, name, id=title))
    return found


def build_of(case: Any) -> tuple[str, str]:
    """Return a module's producer, and its target with option: `nvcc-13.0`, `sm_90a.debug.ptx`."""
    path = case.values[1]
    return path.parent.name, path.name.partition(".")[2]


def shared_out(every: list[Any]) -> list[Any]:
    """Return one in `ONE_OF` of the modules of each kernel (row), preferring builds that earlier rows used least.

    A build is a producer with a target; rare builds are preferred next. A case is added for each build left out.
    """
    taken: Counter[tuple[str, str]] = Counter()
    held = Counter(map(build_of, every))
    found = []
    for row in ROWS:
        own = [case for case in every if case.values[0] is row]
        some = sorted(own, key=lambda case: (taken[build_of(case)], held[build_of(case)]))[: -(-len(own) // ONE_OF)]
        taken.update(map(build_of, some))
        found += some
    first = {build_of(case): case for case in reversed(every)}
    found += [case for build, case in first.items() if not taken[build]]
    return sorted(found, key=every.index)


EVERY = cases()
CASES = shared_out(EVERY)


def fresh(value: Any) -> Any:
    if isinstance(value, WithDescriptor):
        return replace(value, array=value.array.copy())
    if isinstance(value, Fresh):
        return Uninitialized(np.zeros(value.shape, value.dtype))
    if isinstance(value, tuple):
        return tuple(map(fresh, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def array_of(value: Any) -> Any:
    """Return the array of a kernel argument; for a structure, the array of its first member."""
    if isinstance(value, tuple):
        return array_of(value[0])
    return value.array if isinstance(value, WithDescriptor | Uninitialized) else value


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
        compare(array_of(args[number]), expected, fast=".fast." in path.name)
    assert result.printed == asked.printed


def test_every_row_is_in_some_module() -> None:
    held = {id(case.values[0]) for case in CASES}
    assert [(row.source, row.entry) for row in ROWS if id(row) not in held] == []


def test_every_build_is_met() -> None:
    assert set(map(build_of, CASES)) == set(map(build_of, EVERY))
