"""Block-scaled `tcgen05.mma` applies the manual's scale factors, with every layout of A and B.

As in `test_simulated_mma`: every pair of types, every size, type and ID of scale factors, K = 96, CTA pairs.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from tools.shares import share

from .mma_bench import WHENEVER, Bench, check
from .mma_reference import Product, Scales
from .tensor_images import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.scaled

NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
COLUMNS = {1: (8, 256, 24, 136, 64, 128, 168), 2: (16, 256, 48, 144, 128, 240)}
K_MAJOR = [
    Layout("K", 0, gap=128),
    Layout("K", 32),
    Layout("K", 64, skip=32),
    Layout("K", 128, skip=96),
    Layout("K", 128),
]
WIDE_ROWS = [Layout("K", 0), Layout("K", 64, gap=512), Layout("K", 128, skip=64), Layout("K", 128)]
# An operand row of 48 bytes within tile rows of 128: contiguous, or split between two tiles.
DEEP_ROWS = [Layout("K", 128), Layout("K", 128, skip=48), Layout("K", 128, skip=96, split=True),
             Layout("K", 128, skip=112, split=True)]  # fmt: skip
# Block size modifiers of tcgen05.mma, with the valid scale factor IDs of A and B. Manual: "Scale Factor A ID".
ONE = [(size, ids) for size in ("", "scale_vec::1X", "block32") for ids in product(range(4), repeat=2)]
TWO = [(size, ids) for size in ("scale_vec::2X", "block32") for ids in product((0, 2), repeat=2)]
FOUR = [(size, (0, 0)) for size in ("scale_vec::4X", "block16")]
THREE = [("block32", ids) for ids in product(range(4), repeat=2)]
SIX = [("block16", ids) for ids in product((0, 2), repeat=2)]


def turned(rows: int, turn: int) -> Layout:
    """Return an MN-major layout of an operand with `rows` bytes along M or N; a K-major layout if none fits."""
    swizzle = (0, 32, 64, 128)[turn % 4]
    return Layout("MN", swizzle, gap=128 * (turn % 3)) if rows % (swizzle or 16) == 0 else K_MAJOR[turn % 5]


def cases() -> Iterator[Product]:
    """Yield MMAs of kind mxf8f6f4: every pair of types, dense and sparse, in one CTA and in a CTA pair."""
    shapes = [(1, 128, False), (2, 256, False), (2, 128, False), (1, 128, True), (2, 256, True)]
    every = product(product(NARROW, repeat=2), shapes, (False, True))
    for turn, ((a, b), (blocks, m, sparse), in_tensor) in enumerate(every, start=1):
        n = COLUMNS[blocks][turn % len(COLUMNS[blocks])]
        size, ids = ONE[turn * 5 % len(ONE)]
        right = (WIDE_ROWS if sparse else K_MAJOR)[turn // 3 % 4]
        if turn % 4 == 1 and n % (16 * blocks) == 0:
            right = turned(n // blocks, turn)
        left = turned(m // blocks, turn) if turn % 3 == 0 else K_MAJOR[turn // 2 % 5]
        yield Product(
            "mxf8f6f4", "f32", a, b, m, n, blocks, a_layout=None if in_tensor else left, b_layout=right,
            adds=turn % 5 > 0, negates=(turn % 3 == 0, turn % 7 < 2), sparse=sparse, scales=Scales("ue8m0", size, ids),
            d_at=(0, 4, 64)[turn % 3],
        )  # fmt: skip


def packed_cases() -> Iterator[Product]:
    """Yield MMAs of packed e2m1: every size, type and ID of scale factors, dense and sparse."""
    turn = 0
    kinds = [("mxf4", "ue8m0", [("", ids) for _, ids in TWO[:4]] + TWO), ("mxf4nvf4", "ue8m0", TWO + FOUR),
             ("mxf4nvf4", "ue4m3", FOUR)]  # fmt: skip
    shapes = [(1, 128, False), (2, 256, False), (2, 128, False), (1, 128, True), (2, 256, True)]
    for (kind, element, sizes), (blocks, m, sparse) in product(kinds, shapes):
        for (size, ids), _ in product(sizes, range(2)):
            turn += 1
            n = COLUMNS[blocks][turn % len(COLUMNS[blocks])]
            yield Product(
                kind, "f32", "e2m1", "e2m1", m, n, blocks, a_layout=K_MAJOR[turn // 2 % 5] if turn % 2 else None,
                b_layout=(WIDE_ROWS if sparse else K_MAJOR)[turn // 3 % 4], adds=turn % 5 > 0, sparse=sparse,
                negates=(turn % 3 == 0, turn % 7 < 2), scales=Scales(element, size, ids), d_at=(0, 4, 64)[turn % 3],
            )  # fmt: skip


def deep_cases() -> Iterator[Product]:
    """Yield MMAs with K = 96; A and B may be split into two tiles."""
    turn = 0
    kinds = [("mxf4", "ue8m0", [("", ids) for _, ids in THREE] + THREE), ("mxf4nvf4", "ue8m0", THREE + SIX),
             ("mxf4nvf4", "ue4m3", SIX)]  # fmt: skip
    for kind, element, sizes in kinds:
        for (size, ids), blocks in product(sizes, (1, 2)):
            turn += 1
            n = COLUMNS[blocks][turn % len(COLUMNS[blocks])]
            yield Product(
                kind, "f32", "e2m1", "e2m1", 128 * blocks, n, blocks, depth=96, scales=Scales(element, size, ids),
                a_layout=DEEP_ROWS[turn // 2 % 4] if turn % 2 else None, b_layout=DEEP_ROWS[turn // 3 % 4],
                adds=turn % 5 > 0, d_at=(0, 4, 64)[turn % 3],
            )  # fmt: skip


@pytest.mark.parametrize("case", share(cases(), 23), ids=str)
def test_bytes_are_multiplied_by_the_scales_of_their_rows(case: Product) -> None:
    check(case)


@pytest.mark.parametrize("case", share(packed_cases(), 23), ids=str)
def test_packed_numbers_are_multiplied_by_the_scales_of_their_blocks(case: Product) -> None:
    check(case)


@pytest.mark.parametrize("case", share(deep_cases(), 13), ids=str)
def test_products_of_96_elements_take_three_or_six_scales(case: Product) -> None:
    check(case, target="sm_103a")


@pytest.mark.parametrize("schedule", WHENEVER, ids=str)
@pytest.mark.parametrize("case", share([*cases(), *packed_cases(), *deep_cases()], 119), ids=str)
def test_they_are_so_whenever_they_are_done(case: Product, schedule: dict[str, int]) -> None:
    check(case, 2, target="sm_103a" if case.depth == 96 else "sm_100a", **schedule)


@pytest.mark.parametrize("options", [{}, {"seed": 5}, {"delay_async": True}], ids=str)
def test_a_sum_takes_its_scales_byte_by_byte(options: dict[str, Any]) -> None:
    """Four MMAs of K = 32 with scale factor IDs 0 to 3 accumulate one D; one copy provides all scale factors."""
    bench, sums = Bench(), None
    for step in range(4):
        layout = Layout("K", 128, skip=32 * step)
        part = Product("mxf8f6f4", "f32", "e4m3", "e5m2", 128, 64, a_layout=layout, b_layout=layout, adds=step > 0,
                       scales=Scales("ue8m0", "block32", (step, 3 - step)))  # fmt: skip
        sums = bench.add(part, onto=sums)
    bench.check(bench.run(**options))
