"""Cases: data to compile a kernel, to launch it, and to check its outputs.

Sources import this module in the environments of their compilers, so it requires only NumPy.
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

# Tolerance of floats, relative to the reference's largest magnitude: a few roundings of the type.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2, "float8_e4m3fn": 0.07,
             "float8_e5m2": 0.13}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Array:
    """An argument in global memory; `element` is ml_dtypes' name of its type, which NumPy may lack.

    `start` are its values before the launch, `want` the expected values after it; None if unchanged. Integers must be
    equal, floats within `tolerance` of the largest expected magnitude. `ordered` is false if the order of the elements
    is unspecified.
    """

    start: Numbers
    element: str
    want: Numbers | None = None
    tolerance: float = 0.0
    ordered: bool = True


@dataclass(frozen=True, eq=False)
class Described:
    """An array with a tensor map made by the host, with boxes of this shape.

    With `tiles`, the map of a matrix has four dimensions: tile rows, tile columns, and the two dimensions of a tile.
    """

    array: Array
    box: tuple[int, ...]
    swizzle: str = "none"
    fill: str = "zeros"
    tiles: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Textured:
    """An array accessed through a texture object; `sampler` are the arguments of `pyptx_sim.Sampler`."""

    array: Array
    geometry: str = "2d"
    normalized_float: bool = False
    sampler: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Surfaced:
    """An array accessed through a surface object."""

    array: Array
    geometry: str = "2d"


def given(values: Any, element: str = "") -> Array:
    """Return the argument for an array that the kernel only reads."""
    start = np.asarray(values)
    return Array(start, element or start.dtype.name)


def room(*shape: int, element: str = "int32") -> Array:
    """Return the argument for a zeroed array whose contents after the launch are not compared."""
    return Array(np.zeros(shape, element), element)


def made(want: Any, element: str, start: Any = None, tolerance: float | None = None, *, ordered: bool = True) -> Array:
    """Return the argument for an array that the kernel writes; its contents are 0 unless `start` is given."""
    wanted = np.asarray(want)
    begin = np.zeros(wanted.shape, "f4" if "float" in element else wanted.dtype) if start is None else np.asarray(start)
    allowed = TOLERANCE.get(element, 0.0) if tolerance is None else tolerance
    return Array(begin, element, wanted, allowed, ordered)


@dataclass(frozen=True, eq=False)
class Case:
    """A kernel and one launch of it.

    `arguments` are in the order of the parameters. Those in `constants` are constants of the compiled code; `options`
    are for the compiler. `block`, `cluster` and `shared_bytes` are used if the kernel's language leaves them to the
    caller. `cooperative`: all CTAs are resident at once. `behind`: the primary launch, of another kernel of the same
    source, that precedes it in the stream; this launch may start before its end (programmatic dependent launch).
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
    """Return a source of the corpus, whose kernels these tests run too.

    It may import the corpus's own `cases`, which is in its folder.
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
    """Return an array of normally distributed numbers in single precision."""
    return _RANDOM.standard_normal(shape, np.float32)


def eighths(*shape: int, most: int = 8) -> Numbers:
    """Return multiples of 1/8, exact in every floating-point type of 8 bits or more (E5M2: only up to 8 eighths)."""
    return (_RANDOM.integers(-most, most + 1, shape) / 8).astype(np.float32)


def whole(*shape: int, low: int = 0, high: int = 100, dtype: str = "int32") -> Numbers:
    """Return an array of random integers from `low` to `high` - 1."""
    return _RANDOM.integers(low, high, shape).astype(dtype)


def distinct(count: int) -> Numbers:
    """Return a random permutation of the integers 0 to `count` - 1."""
    return _RANDOM.permutation(count).astype(np.int32)


def bits(*shape: int) -> Numbers:
    """Return an array of random 32-bit words."""
    return _RANDOM.integers(0, 1 << 32, shape, np.uint32)


def narrow(kind: str, *shape: int) -> tuple[Numbers, Numbers]:
    """Return numbers of a type of up to 8 bits, and their storage: E2M1 has two per byte, the first in the low bits."""
    if kind != "e2m1":
        values = eighths(*shape)
        return values, values
    codes = _RANDOM.integers(0, 16, shape, np.uint8)
    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)[codes & 7]
    return np.where(codes & 8, -magnitudes, magnitudes), codes[..., ::2] | codes[..., 1::2] << 4


def spread(scales: Numbers, each: int) -> Numbers:
    """Return the scale factor of each value; `each` consecutive values of a row share a scale factor."""
    return np.repeat(scales, each, -1)


def double(values: Numbers) -> Numbers:
    """Return values as float64 for a reference."""
    return np.asarray(values, np.float64)
