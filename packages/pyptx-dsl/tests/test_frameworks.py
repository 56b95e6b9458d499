"""Whether an array is torch's or jax's is found without importing the framework."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

from pyptx_dsl import frameworks
from pyptx_ir.plugins.homes import gpu_remedy

if TYPE_CHECKING:
    import pytest


class Tensor:
    shape = (2, 3)


def test_a_tensor_is_one_of_the_torch_that_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = ModuleType("torch")
    torch.Tensor = Tensor  # type: ignore[attr-defined]  # a stand-in for torch with Tensor only
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert frameworks.is_torch_tensor(Tensor())
    assert frameworks.any_torch_tensors([1, Tensor()])
    assert not frameworks.any_torch_tensors([1, "x", SimpleNamespace(shape=(1,))])
    assert frameworks.extract_input_shapes([Tensor(), SimpleNamespace(shape=[4])]) == ((2, 3), (4,))


def test_asking_loads_nothing() -> None:
    script = (
        "import sys; from pyptx_dsl import frameworks as f; f.is_torch_tensor(1); f.any_torch_tensors([1]);"
        "print({'torch', 'jax', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_shim_that_does_not_load_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyptx_launch", None)
    monkeypatch.delitem(sys.modules, "pyptx_launch._shim", raising=False)
    assert not frameworks.shim_is_available()
    assert str(frameworks.shim_load_error()).endswith(f"; {gpu_remedy()}")
