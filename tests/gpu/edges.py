"""MMAs with operands at the limits of their formats: infinities, NaN, the largest numbers, subnormals.

Each floating-point warp-level MMA runs twice, and so does each wgmma with 8 columns: with extremes only, so that
accumulators overflow and lose bits, and with ordinary numbers mixed with infinities and NaNs. The manual specifies
neither case, so no error bound applies: the simulator must reproduce the hardware's bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from . import mma

if TYPE_CHECKING:
    from .mma import WarpProduct

KINDS = ("extremes", "specials")
SEED = 5
COLUMNS = 8  # N (columns of B and D) of the tested wgmma
BITS = {
    "f16": (5, 10),
    "bf16": (8, 7),
    "tf32": (8, 10),
    "f32": (8, 23),
    "f64": (11, 52),
    "e4m3": (4, 3),
    "e5m2": (5, 2),
}
UNUSED = {"tf32": 13}  # by element type: number of low operand bits that tensor cores ignore
STORED = {"e4m3": "u1", "e5m2": "u1", "f16": "u2", "bf16": "u2", "tf32": "u4", "f32": "u4"}


def patterns(random: np.random.Generator, element: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Return edge-value bit patterns of a floating-point type, as uint64."""
    exponent_bits, mantissa_bits = BITS[element]
    one, low = 1 << mantissa_bits, (1 << mantissa_bits) - 1
    endless = (one << exponent_bits) - one  # bits of infinity; for e4m3, of the largest exponent and mantissa 0
    finite = endless - 1 if element != "e4m3" else endless + low - 1
    if kind == "extremes":
        edges = np.array([0, 1, low, one, one + 1, finite, finite - low, (endless >> 1) & -one], np.uint64)
        bits = edges[random.integers(0, len(edges), shape)]
    else:
        middle = (1 << (exponent_bits - 1)) - 1
        exponents = random.integers(middle - 3, middle + 3, shape)
        bits = (exponents << mantissa_bits).astype(np.uint64) | random.integers(0, one, shape, dtype=np.uint64)
        never = np.array([endless + low] if element == "e4m3" else [endless, endless, endless + 1, endless + low])
        rare = random.random(shape) < 1 / 64
        bits = np.where(rare, never.astype(np.uint64)[random.integers(0, len(never), shape)], bits)
    signs = random.integers(0, 2, shape, dtype=np.uint64) << np.uint64(exponent_bits + mantissa_bits)
    return (bits | signs) << np.uint64(UNUSED.get(element, 0))


def registers(random: np.random.Generator, fragment: Any, element: str, kind: str) -> np.ndarray:
    """Return a warp's registers of a matrix with elements of these bit patterns, `[register, lane]`."""
    held = np.zeros((fragment.registers, mma.LANES), np.uint64)
    bits = patterns(random, element, (fragment.products, fragment.rows, fragment.columns), kind)
    for lane, register, shift, place in mma.reference.layout(fragment):
        held[register, lane] |= bits[place] << np.uint64(shift)
    return held.astype(np.uint64 if fragment.width == 64 else np.uint32)


@cache
def warp_products(target: str) -> tuple[WarpProduct, ...]:
    """Return the dense floating-point warp-level MMAs of a target, with extreme and with mixed operands."""
    dense = (each for each in mma.warp_products(target) if each.opcode.startswith("mma") and not each.tail)
    return tuple(of_edges(each, kind) for each in dense if set(each.types) <= set(BITS) for kind in KINDS)


def of_edges(product: WarpProduct, kind: str) -> WarpProduct:
    """Return a warp-level MMA with operands of a kind: only extremes, or mixed with ordinary numbers."""
    random = np.random.default_rng(SEED)
    pairs = zip(product.fragments[1:], product.types[1:], strict=True)
    operands = tuple(registers(random, fragment, element, kind) for fragment, element in pairs)
    return replace(product, name=f"{product.name} ({kind})", operands=operands)


@dataclass(frozen=True)
class GroupProduct:
    """A wgmma to run: its case, and the arrays that its kernel takes."""

    name: str
    case: Any
    given: tuple[np.ndarray, ...]


@cache
def group_products() -> dict[str, GroupProduct]:
    """Return dense floating-point wgmma cases with 8 columns and A in registers, one of each combination of types."""
    found = dict[str, GroupProduct]()
    for form, cases in mma.group_products().items():
        narrow = (each for each in cases if each.columns == COLUMNS and each.a is None and each.selector is None)
        case = next(narrow, None)
        if case and {case.form.d, case.form.a} <= set(BITS):
            for kind in KINDS:
                name = f"{form} n{COLUMNS} ({kind})"
                found[name] = group_of_edges(name, replace(case, signs=(1, 1), adds=True), kind)
    return found


def group_of_edges(name: str, case: Any, kind: str) -> GroupProduct:
    """Return a wgmma with operands of a kind: only extremes, or mixed with ordinary numbers."""
    tests, random = mma.group_tests, np.random.default_rng(SEED)

    def draw(element: str, rows: int, columns: int) -> np.ndarray:
        return patterns(random, element, (rows, columns), kind).astype(STORED[element])

    a, b = draw(case.form.a, 64, case.depth), draw(case.form.b, COLUMNS, case.depth)
    sums = draw(case.form.d, 64, COLUMNS)[tests.places(case)]
    old = np.ascontiguousarray(sums).view(np.uint32).reshape(-1)
    return GroupProduct(
        name, case, (tests.in_registers(a).reshape(-1), tests.image(case.b, b), np.zeros(128, np.uint32), old)
    )
