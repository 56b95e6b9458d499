"""`tcgen05.mma` with `numerics="exact"` equals published measurements of devices bit for bit (arXiv 2511.10909).

All K terms and the addend are truncated at a number of bits below the greatest exponent, added, and rounded towards
zero; an f16 result is rounded to nearest. The model is repeated here in fractions, element by element.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tools.shares import share

from .mma_bench import Bench
from .mma_reference import Product, Scales
from .tensor_images import Layout

if TYPE_CHECKING:
    from .mma_bench import Expected

pytestmark = pytest.mark.scaled

# Exponent of the smallest normal number of each element type.
LEAST = {"f32": -126, "bf16": -126, "tf32": -126, "f16": -14, "e5m2": -14, "e4m3": -6, "e3m2": -2, "e2m3": 0, "e2m1": 0}
NOTHING = -126
PACKED = ("mxf4", "mxf4nvf4")
GROUP = 16  # number of fp4 products that the model sums before scaling

K128 = Layout("K", 128)
CASES = [
    *(Product("f16", d, a, b, 64, 8, a_layout=K128)
      for d, a, b in (("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "f16", "bf16"), ("f16", "f16", "f16"))),
    Product("tf32", "f32", "tf32", "tf32", 64, 8),
    *(Product("f8f6f4", d, a, b, 64, 8, a_layout=K128, negates=(True, False))
      for d, a, b in (("f32", "e4m3", "e5m2"), ("f32", "e2m1", "e4m3"), ("f16", "e5m2", "e3m2"),
                      ("f32", "e2m3", "e2m3"))),
    *(Product(kind, "f32", a, b, 64, 8, a_layout=K128, b_layout=K128, sparse=True)
      for kind, a, b in (("f16", "bf16", "f16"), ("tf32", "tf32", "tf32"), ("f8f6f4", "e5m2", "e4m3"))),
    Product("f16", "f32", "bf16", "bf16", 32, 64, ws=True),
    Product("f16", "f32", "bf16", "bf16", 64, 8, divisor=9),
    *(Product("mxf8f6f4", "f32", a, b, 128, 8, a_layout=K128, b_layout=K128, sparse=sparse, scales=Scales("ue8m0", ""))
      for a, b in (("e4m3", "e5m2"), ("e2m1", "e3m2")) for sparse in (False, True)),
    *(Product("mxf4nvf4", "f32", "e2m1", "e2m1", 128, 8, b_layout=K128, sparse=sparse, scales=scales)
      for scales in (Scales("ue4m3", "block16"), Scales("ue8m0", "block16"), Scales("ue8m0", "block32"))
      for sparse in (False, True)),
    Product("mxf4nvf4", "f32", "e2m1", "e2m1", 128, 8, b_layout=K128, depth=96, scales=Scales("ue4m3", "block16")),
]  # fmt: skip


def exponent(number: float, least: int) -> int:
    return max(math.frexp(number)[1] - 1, least) if number else NOTHING


def terms_of(it: Expected, row: int, column: int) -> list[tuple[Fraction, int]]:
    """Return the terms of a dot product (products and the addend), each with its alignment exponent."""
    a, b, product = it.a[row], it.b[column], it.product
    one = np.ones(1)
    of_a, of_b = (one, one) if it.scales is None else (it.scales[0][row], it.scales[1][column])
    chunk = len(a) // len(of_a)
    scale = [(Fraction(float(x)) * Fraction(float(y)), exponent(x, -200) + exponent(y, -200))
             for x, y in zip(of_a.tolist(), of_b.tolist(), strict=True)]  # fmt: skip
    products = [Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)]
    if product.kind in PACKED:
        group = GROUP * (2 if product.sparse else 1)  # for a sparse A, half of a group's products are zero
        return [(sum(products[k : k + group], Fraction()) * scale[k // chunk][0], scale[k // chunk][1])
                for k in range(0, len(a), group)]  # fmt: skip
    least = LEAST[product.a], LEAST[product.b]
    return [(products[k] * scale[k // chunk][0],
             exponent(a[k], least[0]) + exponent(b[k], least[1]) + scale[k // chunk][1])
            for k in range(len(a)) if products[k]]  # fmt: skip


def cut(terms: list[tuple[Fraction, int]], fraction: int) -> Fraction:
    """Return the sum of terms, each truncated at `fraction` bits below the greatest exponent of all terms."""
    unit = Fraction(2) ** (max((power for _, power in terms), default=NOTHING) - fraction)
    return sum((math.trunc(number / unit) for number, _ in terms), 0) * unit


def toward_zero(number: Fraction) -> np.float32:
    near = np.float32(float(number))
    return np.nextafter(near, np.float32(0)) if abs(Fraction(float(near))) > abs(number) else near


@pytest.mark.parametrize("case", share(CASES, 2), ids=str)
@pytest.mark.parametrize("spread", [0, 9])
def test_terms_are_cut_off_below_the_greatest_one(case: Product, spread: int) -> None:
    bench = Bench(spread=spread)
    it = bench.add(case)
    found = it.found(bench.run(target="sm_103a", numerics="exact"))
    fraction = 35 if case.kind in PACKED else 25
    fast, differ = it.found(bench.run(target="sm_103a")), 0
    for row, column in np.ndindex(min(case.m, 20), 8):
        old = float(it.old[row, column])
        total = cut([*terms_of(it, row, column), (Fraction(old), exponent(old, LEAST[case.d]))], fraction)
        with np.errstate(over="ignore"):
            wanted = np.float16(float(total)) if case.d == "f16" else toward_zero(total)
        assert found[row, column] == wanted, (row, column)
        differ += found[row, column] != fast[row, column]
    assert differ or case.d == "f16" or case.kind in PACKED or spread == 0


def test_exact_sums_go_on_from_rounded_ones() -> None:
    """The second of two MMAs adds to the rounded result of the first."""
    bench = Bench(spread=4)
    first = bench.add(Product("f16", "f32", "bf16", "bf16", 64, 8, a_layout=K128))
    second = bench.add(Product("f16", "f32", "bf16", "bf16", 64, 8, a_layout=K128), onto=first)
    found = second.found(bench.run(numerics="exact"))
    for row, column in np.ndindex(16, 8):
        total = Fraction(float(first.old[row, column]))
        for it in (first, second):
            total = Fraction(float(toward_zero(cut([*terms_of(it, row, column),
                                                    (total, exponent(float(total), -126))], 25))))  # fmt: skip
        assert found[row, column] == float(total)
