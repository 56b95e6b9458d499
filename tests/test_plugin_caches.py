"""Caches of plugin data must be invalidated when a plugin is registered later."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parents[1] / "packages"


def forgetful(text: str) -> list[str]:
    """Return the functions in Python source that call the process's `manager()` and have a `cache` decorator."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return [
        function.name
        for function in functions
        if any("cache" in ast.unparse(each) for each in function.decorator_list)
        and any(ast.unparse(node) == "manager()" for node in ast.walk(function))
    ]


@pytest.mark.long
def test_what_asks_the_manager_is_cached_in_the_way_that_notices_a_late_plugin() -> None:
    assert forgetful("@functools.lru_cache(maxsize=4)\ndef rows():\n    return manager().targets()") == ["rows"]
    remembered = {
        str(path.relative_to(PACKAGES)): functions
        for path in sorted(PACKAGES.glob("*/src/**/*.py"))
        if (functions := forgetful(path.read_text(encoding="utf-8")))
    }
    # `detect_arch` caches a property of the GPU, not of plugins.
    assert remembered == {"pyptx-dsl/src/pyptx_dsl/kernels/arch.py": ["detect_arch"]}
