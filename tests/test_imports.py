"""Modules that `import pyptx` must not load: the import has to be fast."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# Modules that take milliseconds to import, themselves or by their imports; pyptx imports each at its first use.
LAZY = {
    "concurrent.futures",
    "ctypes",
    "cuda",
    "hashlib",
    "importlib.metadata",
    "jax",
    "logging",
    "multiprocessing",
    "numpy",
    "pluggy",
    "pyptx_ir.toolchain.runner",
    "pyptx_sim",
    "sqlite3",
    "subprocess",
    "tempfile",
    "torch",
    "typing_extensions",
}


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a statement loads in a new interpreter."""
    report = "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    program = f"import sys; before = set(sys.modules); {statement}; {report}"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", ["pyptx", "pyptx_dsl", "pyptx_ir", "pyptx_ir.syntax", "pyptx.types", "pyptx.parser"])
def test_a_front_door_loads_nothing_slow(module: str) -> None:
    loaded = loaded_by(f"import {module}")
    assert module in loaded
    assert not loaded & LAZY


@pytest.mark.parametrize(
    "module",
    [
        "pyptx_launch",
        pytest.param("pyptx_torch", marks=pytest.mark.torch),
        pytest.param("pyptx_jax", marks=pytest.mark.jax),
    ],
)
def test_cuda_python_is_left_until_a_driver_is_asked(module: str) -> None:
    loaded = loaded_by(f"import {module}")
    assert module in loaded
    assert not {name for name in loaded if name == "cuda" or name.startswith("cuda.")}


def test_plugins_load_no_framework() -> None:
    asked = "from pyptx_ir.plugins.manager import manager; manager().targets(); manager().instructions()"
    assert not loaded_by(asked) & {"numpy", "torch", "jax"}


def test_parsing_loads_no_plugin() -> None:
    parsed = "from pyptx.parser import parse; parse('.version 8.0')"
    assert not loaded_by(parsed) & {"pluggy", "pyptx_ir.isa.plugin", "pyptx_dsl.plugin"}
