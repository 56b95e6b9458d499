"""Every example equals its reference, assembles, and has no findings."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_ir.toolchain import assemble

from .gallery import EXAMPLE_LIST, EXAMPLES, Example

if TYPE_CHECKING:
    from pathlib import Path

PATHS = sorted(EXAMPLES.rglob("*.py"))
# Programs: files whose docstring contains their command. Programs import the other files.
SHOWN = [path for path in PATHS if f"python examples/{path.relative_to(EXAMPLES)}\n" in path.read_text("utf-8")]

each_example = pytest.mark.parametrize("example", EXAMPLE_LIST, ids=[example.kernel for example in EXAMPLE_LIST])


def reference_of(example: Example, inputs: tuple[Any, ...]) -> Any:
    arguments = [array for index, array in enumerate(inputs) if index != example.in_place]
    return np.asarray(example.module().reference(*arguments), dtype=np.float64)


def error_of(actual: Any, expected: Any) -> float:
    return float(np.abs(np.asarray(actual, dtype=np.float64) - expected).max() / np.abs(expected).max())


@each_example
def test_an_example_equals_its_float64_reference(example: Example) -> None:
    inputs = example.inputs(np.random.default_rng(1))
    expected = reference_of(example, inputs)
    output = example.launch()(*inputs)
    assert error_of(inputs[example.in_place] if example.in_place is not None else output, expected) <= example.bound


@each_example
@pytest.mark.parametrize("seed", [0, 1])
def test_a_clean_example_gives_no_finding_under_any_schedule(example: Example, seed: int) -> None:
    inputs = example.inputs(np.random.default_rng(2))
    expected = reference_of(example, inputs)
    result = example.launch().simulate(*inputs, checks="all", seed=seed)
    assert result.findings == ()
    actual = inputs[example.in_place] if example.in_place is not None else result.outputs[0]
    assert error_of(actual, expected) <= example.bound


@each_example
@pytest.mark.ptxas
def test_an_example_assembles_without_spills(example: Example) -> None:
    kernel = example.launch()
    dimensions = {"B": 64, "N": 4096, "M": 4096, "F": 4096}
    names = {dim for spec in (*kernel.in_specs, *kernel.out_specs) for dim in spec.symbolic_dims}
    text = kernel.ptx(**{name: dimensions[name] for name in names})
    assembly = assemble(text, kernel.arch)
    assert assembly.cubin[:4] == b"\x7fELF"
    (resources,) = assembly.resources.values()
    assert resources.spill_stores == resources.spill_loads == 0


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_example_file_has_a_main_and_a_reference(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert "\ndef main() -> None:" in text
    assert re.search(r"^(def reference\(|reference = )", text, re.MULTILINE)


def test_what_is_no_example_is_a_part_that_some_file_imports() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in PATHS}
    for path in set(PATHS) - set(SHOWN):
        assert texts[path].startswith('"""')
        assert "def main(" not in texts[path], f"{path}: its docstring does not say how to run it"
        package, name = ".".join(path.relative_to(EXAMPLES.parent).parent.parts), path.stem
        imported = re.compile(rf"^from {re.escape(package)}(\.{name} import |( import .*\b{name}\b))", re.MULTILINE)
        assert any(imported.search(text) for other, text in texts.items() if other != path), path


def test_an_example_runs_as_a_script() -> None:
    command = [sys.executable, str(EXAMPLES / "ampere" / "vector_add.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "largest error" in done.stdout
