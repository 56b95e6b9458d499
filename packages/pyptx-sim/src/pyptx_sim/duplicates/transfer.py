"""Transfer functions: value numbers of results from those of the sources, for instructions that only compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.duplicates.numbers import inverse, mix, name_number, products, reduced, sums
from pyptx_sim.duplicates.planes import FIXED, LAUNCH, Number, chosen, highest
from pyptx_sim.duplicates.sources import FLOATS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_sim.duplicates.numbers import Numbers
    from pyptx_sim.duplicates.sources import SourceValue
    from pyptx_sim.machine.lanes import IntArray, Lanes

__all__ = ["Meaning", "among_lanes", "of_lanes", "of_operation", "packed", "unpacked"]

_COMMUTATIVE: Final = frozenset({"add", "mul", "fma", "mad", "min", "max", "and", "or", "xor"})
# Continuous functions of floats: sources that differ by rounding only give results that differ by rounding only.
_CONTINUOUS: Final = frozenset({"sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "abs", "min", "max"})
_FIELD: Final[dict[str, Callable[..., Numbers]]] = {
    "add": sums,
    "sub": lambda a, b: sums(a, b, negated=True),
    "mul": products,
    "fma": lambda a, b, c: sums(products(a, b), c),
    "mad": lambda a, b, c: sums(products(a, b), c),
    "neg": lambda a: sums(np.zeros_like(a), a, negated=True),
    "div": lambda a, b: products(a, inverse(b)),
    "rcp": inverse,
    "cvt": lambda a: a,
}
_PAIRS: Final = frozenset({"f16x2", "bf16x2"})  # result types of `cvt` that hold two floats
_DISCRETE: Final = frozenset({"sat", "relu", "satfinite", "rni", "rzi", "rmi", "rpi"})
_UNIFORM: Final = frozenset({"vote", "redux", "activemask"})
_LANES: Final = np.arange(32, dtype=np.uint64)[None]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The function that an instruction computes: `name`, opcode, and types of results and sources."""

    name: str
    words: tuple[str, ...]
    results: tuple[str, ...]

    sources: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the result is a float with an exact number (value number in exact arithmetic)."""
        results = FLOATS | _PAIRS if self.name == "cvt" else FLOATS
        floats = FLOATS.issuperset(self.sources) and results.issuperset(self.results)
        if not floats or not _DISCRETE.isdisjoint(self.words):
            return False
        return self.name in _FIELD.keys() | _CONTINUOUS

    @property
    def number(self) -> np.uint64:
        """Hash of the function's opcode and types."""
        return name_number(*self.words)


def of_operation(meaning: Meaning, given: Sequence[SourceValue], _lanes: Lanes) -> list[Number]:
    """Return the value numbers of results that each lane computes from its own sources."""
    if meaning.name == "selp":
        one, other, by = given
        return [chosen(by.values.astype(np.bool_), by.number, one.number, other.number)]
    numbers = [each.number for each in given]
    function, level, leaves = meaning.number, highest(numbers), _leaves(numbers)
    strict = _ordered(meaning, [each.number.strict for each in given])
    found = [mix(function, np.uint64(index), *strict) for index in range(len(meaning.results))]
    if not meaning.exact:
        return [Number(each, reduced(each), level, leaves) for each in found]
    exact = _exact(meaning, given)
    return [Number(each, exact, level, leaves) for each in found]


def _ordered(meaning: Meaning, numbers: list[Numbers]) -> list[Numbers]:
    """Return the value numbers of sources; those of a commutative function's two operands are sorted."""
    if meaning.name not in _COMMUTATIVE or len(numbers) < 2:
        return numbers
    first, second, *others = numbers
    return [np.minimum(first, second), np.maximum(first, second), *others]


def _exact(meaning: Meaning, given: Sequence[SourceValue]) -> Numbers:
    """Return the exact value number of a float that is computed from floats."""
    residues = [each.residue for each in given]
    field = _FIELD.get(meaning.name)
    if field is not None and _PAIRS.isdisjoint(meaning.results):
        return field(*residues)
    return reduced(mix(name_number(meaning.name), *_ordered(meaning, residues)))


def _leaves(numbers: Sequence[Number]) -> Numbers:
    """Return `Number.leaves`, the filter of inputs, of a value computed from values with these value numbers."""
    leaves: Numbers = np.zeros((1, 1), np.uint64)
    for each in numbers:
        leaves = leaves | each.leaves
    return leaves


# --- moves -------------------------------------------------------------------------------------


def _part(index: int) -> np.uint64:
    return name_number("part", index)


def unpacked(count: int, whole: SourceValue) -> list[Number]:
    """Return the value numbers of a value's `count` parts, from which `packed` returns the value's number again."""
    number = whole.number
    strict = [number.strict ^ _part(index) for index in range(count)]
    exact = [sums(number.exact, reduced(np.full((1, 1), _part(index)))) for index in range(count)]
    return [Number(*each, number.level, number.leaves) for each in zip(strict, exact, strict=True)]


def packed(given: Sequence[SourceValue]) -> Number:
    """Return the value number of a value that an instruction packs from the parts `given`."""
    parts, level = [each.number for each in given], highest([each.number for each in given])
    whole = parts[0].strict ^ _part(0)
    together = np.logical_and.reduce([whole == each.strict ^ _part(index) for index, each in enumerate(parts)])
    strict = np.where(together, whole, mix(name_number("packed"), *(each.strict for each in parts)))
    same = sums(parts[0].exact, reduced(np.full((1, 1), _part(0))), negated=True)
    agree = [
        same == sums(each.exact, reduced(np.full((1, 1), _part(index))), negated=True)
        for index, each in enumerate(parts)
    ]
    exact = np.where(
        np.logical_and.reduce(agree), same, reduced(mix(name_number("packed"), *(each.exact for each in parts)))
    )
    return Number(strict, exact, level, _leaves(parts))


# --- lanes of a warp ---------------------------------------------------------------------------


def among_lanes(meaning: Meaning, given: Sequence[SourceValue], lanes: Lanes) -> list[Number]:
    """Return the value numbers of results that the lanes of a warp compute together, from the sources of all lanes."""
    function, mask = meaning.number, lanes.full_mask
    own = mix(np.uint64(0), *(each.number.strict for each in given))
    each_lane = np.where(mask, mix(_LANES, own), np.uint64(0))
    together = each_lane.sum(axis=1, keepdims=True, dtype=np.uint64)
    level = np.broadcast_to(highest([each.number for each in given]), mask.shape)
    level = np.where(mask, level, FIXED).max(axis=1, keepdims=True)
    # The level must not be FIXED, which needs the value: a batched instruction writes its result registers later.
    level = np.maximum(level, LAUNCH)
    by_lane = np.where(mask, _leaves([each.number for each in given]), np.uint64(0))
    leaves = np.bitwise_or.reduce(by_lane, axis=1, keepdims=True)
    members = given[-1].number.strict if given else np.zeros((1, 1), np.uint64)
    if meaning.name in _UNIFORM:
        strict = mix(function, together, members)
        return [Number(strict, reduced(strict), level, leaves)] * len(meaning.results)
    found = [mix(function, np.uint64(index), together, _LANES, own) for index in range(len(meaning.results))]
    return [Number(each, reduced(each), level, leaves) for each in found]


def of_lanes(number: Number, source: IntArray, height: int) -> Number:
    """Return the value numbers that each lane reads from lane `source` of its warp; `source` is `[rows, 32]`."""
    full = number.spread(height)
    strict, exact = (np.take_along_axis(each, source, axis=1) for each in (full.strict, full.exact))
    level, leaves = np.take_along_axis(full.level, source, axis=1), np.take_along_axis(full.leaves, source, axis=1)
    return Number(strict, exact, level, leaves)
