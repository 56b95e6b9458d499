"""What it takes to compile a kernel, to launch it, and to judge what it wrote.

Sources import this where their compilers are installed: it needs NumPy alone.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

BOTH = ("sm_80", "sm_90a")
HOPPER = ("sm_90a",)
BLACKWELL = ("sm_100a",)
NEWER, ALL = (*HOPPER, *BLACKWELL), (*BOTH, *BLACKWELL)

# How far floats may be from the reference, relative to its largest magnitude: a few roundings of the type.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2, "float8_e4m3fn": 0.07,
             "float8_e5m2": 0.13}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Array:
    """An argument in global memory; `element` is ml_dtypes' name, of which NumPy may lack the type.

    `start` is what it holds before the launch, `want` what it has to hold behind it; None: what it held before.
    Integers must be equal, floats within `tolerance` of the largest magnitude that is wanted. Where the order of
    what is written is not said, `ordered` is false.
    """

    start: Numbers
    element: str
    want: Numbers | None = None
    tolerance: float = 0.0
    ordered: bool = True


@dataclass(frozen=True, eq=False)
class Described:
    """An array behind a tensor map that the host makes, with boxes of this shape.

    With `tiles` a matrix is described as tiles of this shape: by their rows and columns, and those within.
    """

    array: Array
    box: tuple[int, ...]
    swizzle: str = "none"
    fill: str = "zeros"
    tiles: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Textured:
    """An array behind a texture object; `sampler` are the words of `pyptx_sim.Sampler`."""

    array: Array
    geometry: str = "2d"
    normalized_float: bool = False
    sampler: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Surfaced:
    """An array behind a surface object."""

    array: Array
    geometry: str = "2d"


def given(values: Any, element: str = "") -> Array:
    """Return an array that is read only."""
    start = np.asarray(values)
    return Array(start, element or start.dtype.name)


def room(*shape: int, element: str = "int32") -> Array:
    """Return zeros that a kernel uses as it likes."""
    return Array(np.zeros(shape, element), element)


def made(want: Any, element: str, start: Any = None, tolerance: float | None = None, *, ordered: bool = True) -> Array:
    """Return an array that the kernel fills, of zeros if it does not `start` with something."""
    wanted = np.asarray(want)
    begin = np.zeros(wanted.shape, "f4" if "float" in element else wanted.dtype) if start is None else np.asarray(start)
    allowed = TOLERANCE.get(element, 0.0) if tolerance is None else tolerance
    return Array(begin, element, wanted, allowed, ordered)


@dataclass(frozen=True, eq=False)
class Case:
    """A kernel and one launch of it.

    `arguments` stand in the order of the parameters; those in `constants` are known to the compiler, which takes
    `options`. `block`, `cluster` and `shared_bytes` are what the kernel's language leaves to whom launches it.
    `cooperative`: all blocks are resident at once. `behind`: the launch in front of it in the stream, of another kernel
    of the same source, whose end it need not await (programmatic dependent launch).
    """

    name: str
    kernel: Any
    arguments: dict[str, Any]
    grid: int | Sequence[int] = 1
    block: int | Sequence[int] = 0
    cluster: int | Sequence[int] = 0
    shared_bytes: int = 0
    cooperative: bool = False
    behind: Case | None = None
    constants: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    targets: tuple[str, ...] = BOTH


def corpus(path: str) -> ModuleType:
    """Return a source of the corpus, whose kernels are run here too.

    Where it imports `cases`, it means the corpus's own, which lie beside it.
    """
    source = Path(__file__).resolve().parents[3] / "corpus" / "sources" / path
    specification = importlib.util.spec_from_file_location(f"corpus_{source.stem}", source)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    ours = sys.modules.pop("cases")
    sys.path.insert(0, str(source.parent))
    try:
        specification.loader.exec_module(module)
    finally:
        sys.path.remove(str(source.parent))
        sys.modules["cases"] = ours
    return module


# --- inputs -----------------------------------------------------------------------------------------

_RANDOM = np.random.default_rng(18)


def normal(*shape: int) -> Numbers:
    """Return normally distributed numbers in single precision."""
    return _RANDOM.standard_normal(shape, np.float32)


def eighths(*shape: int, most: int = 8) -> Numbers:
    """Return multiples of 1/8, which every floating-point type of 8 bits and more has (E5M2: up to 8 of them)."""
    return (_RANDOM.integers(-most, most + 1, shape) / 8).astype(np.float32)


def whole(*shape: int, low: int = 0, high: int = 100, dtype: str = "int32") -> Numbers:
    """Return integers from `low` to below `high`."""
    return _RANDOM.integers(low, high, shape).astype(dtype)


def distinct(count: int) -> Numbers:
    """Return the first integers in some order."""
    return _RANDOM.permutation(count).astype(np.int32)


def bits(*shape: int) -> Numbers:
    """Return all kinds of 32-bit words."""
    return _RANDOM.integers(0, 1 << 32, shape, np.uint32)


def narrow(kind: str, *shape: int) -> tuple[Numbers, Numbers]:
    """Return numbers of a type of up to 8 bits, and how they are stored: E2M1 two to a byte, the first one low."""
    if kind != "e2m1":
        values = eighths(*shape)
        return values, values
    codes = _RANDOM.integers(0, 16, shape, np.uint8)
    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)[codes & 7]
    return np.where(codes & 8, -magnitudes, magnitudes), codes[..., ::2] | codes[..., 1::2] << 4


def spread(scales: Numbers, each: int) -> Numbers:
    """Return scales, one for each of the values in a row that share them."""
    return np.repeat(scales, each, -1)


def double(values: Numbers) -> Numbers:
    """Return values for a reference."""
    return np.asarray(values, np.float64)
