"""Modules that earlier documentation mentioned: their old import paths work for one release, with a warning."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

MOVED = {
    "kernel": ("kernels.kernel", ["Kernel"]),
    "results": ("kernels.results", ["Array", "Kind_co", "OutSpecs_co"]),
    "shared_tiles": ("shared_memory.tiles", ["SharedTile", "widest_swizzle"]),
    "specs": ("contract.specs", ["Layout", "Tile", "unify_envs"]),
    "swizzle": ("shared_memory.swizzle", ["SWIZZLES", "Swizzle", "find_swizzle"]),
}
NAMES = [(old, new, name) for old, (new, names) in MOVED.items() for name in names]


@pytest.mark.parametrize(("old", "new", "name"), NAMES)
def test_a_documented_name_is_found_where_it_was(old: str, new: str, name: str) -> None:
    found: dict[str, object] = {}
    with pytest.warns(
        DeprecationWarning, match=rf"pyptx_dsl\.{old}\.{name} is deprecated .*; use pyptx_dsl\.{new}\.{name}$"
    ):
        exec(f"from pyptx_dsl.{old} import {name}", found)  # noqa: S102 - an import, as a user wrote it
    assert found[name] is getattr(import_module(f"pyptx_dsl.{new}"), name)


def test_nothing_is_loaded_before_a_name_is_asked_for() -> None:
    imports = ", ".join(f"pyptx_dsl.{old}" for old in MOVED)
    loaded = [f"pyptx_dsl.{new}" for new, _ in MOVED.values()]
    source = f"import sys, {imports}; assert not set({loaded}) & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", source], check=True)
