"""Products in pointer arithmetic do not wrap: random expressions on the simulator, compared with exact integers.

The value of a register is in the range of its type. A product is exact, and so is a sum with a product as a term. A sum
of plain registers wraps at their width. `docs/offsets.md` lists the same rules.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import s16, s32, u16, u32, u64

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx.types import PtxType

LANES = 32
TYPES: dict[str, PtxType] = {"u": u32, "v": u32, "s": s32, "t": s32, "h": u16, "i": s16}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<<": operator.lshift,
}
EDGES = np.array([0, 1, 2, 3, 0x7FFF, 0x8000, 0xFFFF, 0x10001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], np.uint64)


@dataclass(frozen=True)
class Exact:
    """Expected value of an expression per lane, and the type in which the value wraps (None for an offset)."""

    lanes: tuple[int, ...]
    dtype: PtxType
    offset: bool = False


def wrapped(value: int, dtype: PtxType) -> int:
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "signed" and value >> (dtype.bits - 1) else value


def exact(tree: Any, values: dict[str, tuple[int, ...]]) -> Exact:
    """Return the expected value of an expression for all lanes."""
    if isinstance(tree, str):
        return Exact(values[tree], TYPES[tree])
    word, left, right = tree
    if isinstance(left, int):
        behind = exact(right, values)
        before = Exact((left,) * LANES, behind.dtype)
    else:
        before = exact(left, values)
        behind = Exact((right,) * LANES, before.dtype) if isinstance(right, int) else exact(right, values)
    dtype = behind.dtype if behind.dtype.bits > before.dtype.bits and word != "<<" else before.dtype
    lanes = tuple(OPERATORS[word](a, b) for a, b in zip(before.lanes, behind.lanes, strict=True))
    if word in {"*", "<<"} or before.offset or behind.offset:
        return Exact(lanes, dtype, offset=True)
    return Exact(tuple(wrapped(lane, dtype) for lane in lanes), dtype)


def emit(tree: Any, registers: dict[str, Any]) -> Any:
    if not isinstance(tree, tuple):
        return registers[tree] if isinstance(tree, str) else tree
    word, left, right = tree
    return OPERATORS[word](emit(left, registers), emit(right, registers))


NAMES = st.sampled_from(sorted(TYPES))
SHIFTS = st.integers(0, 15)
NUMBERS = st.integers(-(1 << 15), (1 << 15) - 1)  # numbers that every register type can hold


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    word = st.sampled_from(["+", "-", "*"])
    return st.one_of(
        st.tuples(word, inner, inner),
        st.tuples(word, inner, NUMBERS),
        st.tuples(word, NUMBERS, inner),
        st.tuples(st.just("<<"), inner, SHIFTS),
    )


TREES = st.recursive(NAMES, grown, max_leaves=7)


@settings(deadline=None)
@given(tree=TREES, sign=st.sampled_from("+-"), seed=st.integers(0, 1 << 32))
@example(tree=("*", ("*", "u", "v"), 4), sign="+", seed=0)
@example(tree=("*", ("+", ("*", "u", "v"), "s"), 4), sign="-", seed=1)
@example(tree=("+", "u", ("*", ("*", "h", "i"), 300)), sign="+", seed=2)
@pytest.mark.long
def test_a_pointer_and_an_expression_meet_without_wrapping(tree: Any, sign: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = {name: rng.choice(EDGES, LANES) ^ rng.integers(0, 4, LANES, np.uint64) for name in TYPES}
    values = {name: tuple(wrapped(int(lane), TYPES[name]) for lane in lanes) for name, lanes in bits.items()}
    base = int(rng.integers(1 << 63, dtype=np.uint64))

    @kernel(in_specs=(Tile(len(TYPES), LANES, u32),), out_specs=(Tile(LANES, u64),), grid=(1,), block=(LANES, 1, 1))
    def meet(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        registers = {name: reg.scalar(dtype) for name, dtype in TYPES.items()}
        for row, register in enumerate(registers.values()):
            ptx.ld(register.dtype, register, ptx.addr(px + tid * 4, row * LANES * 4))
        ptx.st(u64, ptx.addr(py + tid * 8), OPERATORS[sign](reg.scalar(u64, init=base), emit(tree, registers)))

    found = meet(np.stack([bits[name] for name in TYPES]).astype(np.uint32))
    assert isinstance(found, np.ndarray)
    lanes = exact(tree, values).lanes
    assert found.tolist() == [OPERATORS[sign](base, lane) % 2**64 for lane in lanes]
