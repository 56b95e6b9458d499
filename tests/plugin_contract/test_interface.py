"""Simulator extensions of architectures use only the extension interface of the simulator."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FOLDERS = [*ROOT.glob("packages/pyptx-arch-*/src/*/sim"), *ROOT.glob("tests/plugin_contract/*/src/*/sim")]
FILES = [path for folder in FOLDERS for path in folder.rglob("*.py")]
# Modules that extensions may import besides the interface: race checker, numerics, PTX types as dtypes, errors.
OFFERED = ("extension", "rules.RaceChecker", "numerics", "types", "errors")
# Attributes of `Wave`, `ExecutionContext`, `Arena` (memory) that lead to internal objects and arrays of the simulator.
INTERNAL = frozenset(
    {"_lanes", "_splits", "data", "engine", "frames", "defined", "machine", "mbarriers", "memories", "splits"}
)


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in FILES:
        yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_steps_import_the_interface_alone() -> None:
    assert len(FOLDERS) > 1
    others = {
        f"{path}: {name}"
        for path, tree in trees()
        for name in imported(tree)
        if name.split(".")[0] == "pyptx_sim" and not name.startswith(tuple(f"pyptx_sim.{each}" for each in OFFERED))
    }
    assert not others


@pytest.mark.parametrize("name", sorted(INTERNAL))
def test_steps_reach_for_none_of_the_machines_own_objects(name: str) -> None:
    found = {
        f"{path}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == name
    }
    assert not found
