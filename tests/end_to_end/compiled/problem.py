"""What a row says of one kernel that a compiler wrote: a launch with real inputs, and what must come out."""

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

    `fast` replaces both in modules built with fast-math options: an absolute bound, relative to max(1, |reference|).
    """

    value: Array
    relative: float = 0.0
    absolute: Any = 0.0
    fast: float | None = None


@dataclass(frozen=True, slots=True)
class Fresh:
    """An output: an array of this shape that holds nothing before the kernel writes it."""

    shape: Extent
    dtype: Any


@dataclass(frozen=True, slots=True)
class Problem:
    """One launch: `expected` maps the number of an argument to what it holds at the end (an array: exactly that).

    NaN in a floating-point reference, and a masked element of an integer one, are not compared. `found` are the rules
    that must be reported, for kernels with a fault in them; `tolerated` are rules that some compilers' code breaks.
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
    """A kernel: the source it came from, a part of its (mangled) name, and how to make its problem.

    `build` is the target with its option, `sm_90a.tma.ptx`, for which alone a problem is made; "" for all.
    """

    source: str
    entry: str
    make: Callable[[], Problem]
    title: str = ""
    build: str = ""


def draws(seed: int) -> np.random.Generator:
    """Return the source of a row's inputs."""
    return np.random.default_rng(seed)


F4, F8 = np.float32, np.float64
