"""The example kernels, loaded from their files, with inputs that exercise them."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name: str) -> ModuleType:
    """Import `examples/<name>.py` as a separate module."""
    path = EXAMPLES / f"{name}.py"
    qualified = "examples_" + name.replace("/", "_")
    if qualified in sys.modules:
        return sys.modules[qualified]
    spec = importlib.util.spec_from_file_location(qualified, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[qualified] = module
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True, slots=True)
class Example:
    """An example: its file, the name of its kernel, a function from generator to inputs, and its error bound.

    `bound` is relative to the largest magnitude of the reference. `in_place` is the index of the input that the kernel
    modifies instead of returning an output.
    """

    file: str
    kernel: str
    inputs: Callable[[np.random.Generator], tuple[np.ndarray[Any, Any], ...]]
    bound: float
    in_place: int | None = None

    def module(self) -> ModuleType:
        """Import the example's file as a module."""
        return load(self.file)

    def launch(self) -> Any:
        """Return the example's kernel."""
        return getattr(self.module(), self.kernel)


def normal(*shapes: tuple[int, ...], scale: float = 1.0) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    """Return a function that draws float32 arrays from N(0, scale)."""
    return lambda rng: tuple(rng.standard_normal(shape, dtype=np.float32) * np.float32(scale) for shape in shapes)


EXAMPLE_LIST = (
    Example("hopper/rms_norm", "rms_norm", normal((5, 2048), (2048,)), 1e-6),
    Example("hopper/layer_norm", "layer_norm", normal((5, 2048), (2048,), (2048,)), 1e-6),
    Example("hopper/softmax", "softmax", normal((5, 2048), scale=4.0), 1e-6),
    Example("hopper/swiglu", "swiglu", normal((5, 4096), (5, 4096)), 1e-6),
    Example("ampere/vector_add", "vector_add", normal((1000,), (1000,)), 1e-7),
    Example("ampere/transpose", "transpose", normal((64, 96)), 0.0),
    Example(
        "ampere/reduce", "reduce_sum", lambda rng: (*normal((20_001,))(rng), np.zeros(1, np.float32)), 1e-4, in_place=1
    ),
)
