"""Test problems for compiled kernels: a launch with real inputs and its expected results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Array: TypeAlias = NDArray[Any]
Extent: TypeAlias = "int | tuple[int, ...]"


@dataclass(frozen=True, slots=True)
class Near:
    """Floats within `relative` of the reference, plus `absolute` (a number, or one for each element).

    `fast` replaces both bounds in modules built with fast-math options: an absolute bound, relative to max(1,
    |reference|).
    """

    value: Array
    relative: float = 0.0
    absolute: Any = 0.0
    fast: float | None = None


@dataclass(frozen=True, slots=True)
class Fresh:
    """Return an output argument: an array of this shape, uninitialized before the launch."""

    shape: Extent
    dtype: Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One launch. `expected` maps the index of an argument to its final contents; an array must match exactly.

    NaN in a floating-point reference and masked elements of an integer reference are not compared. `found`: rules that
    must be reported, for kernels with a fault. `tolerated`: rules that the code of some compilers violates.
    """

    args: tuple[Any, ...]
    expected: Mapping[int, Array | Near]
    grid: Extent = 1
    block: Extent = 32
    cluster: Extent = (1, 1, 1)
    shared_bytes: int = 0
    printed: str = ""
    found: frozenset[str] = frozenset()
    tolerated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel: its source, part of its (mangled) name, and a function that makes its problem.

    `build` is a target with an option (`sm_90a.tma.ptx`): the only build that the problem is for; "" for all.
    """

    source: str
    entry: str
    make: Callable[[], Problem]
    title: str = ""
    build: str = ""


def draws(seed: int) -> np.random.Generator:
    """Return the random generator for the inputs of one compiled kernel."""
    return np.random.default_rng(seed)


F4, F8 = np.float32, np.float64
