"""Every dense `tcgen05.mma` computes the manual's result from every legal layout of its matrices.

Expected results are those of `mma_reference`, which relies on the manual alone. `PYPTX_KERNELS=all` runs every
kind with every pair of types, both M, one CTA and a CTA pair, A in shared and tensor memory; the default is a sample.
"""

from __future__ import annotations

from itertools import cycle, product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tools.shares import share

from .mma_bench import WHENEVER, Bench, check
from .mma_reference import ROOMS, Product
from .tensor_images import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .mma_bench import Expected

pytestmark = pytest.mark.scaled

NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
# MMA kinds, each with the types of D, A and B. Manual: "Matrix Shape".
TYPES = [
    ("f16", "f16", "f16", "f16"),
    *(("f16", "f32", a, b) for a, b in product(("f16", "bf16"), repeat=2)),
    ("tf32", "f32", "tf32", "tf32"),
    *(("i8", "s32", a, b) for a, b in product(("s8", "u8"), repeat=2)),
    *(("f8f6f4", d, a, b) for d, a, b in product(("f32", "f16"), NARROW, NARROW)),
]
# Tested N of an MMA by one CTA and by a CTA pair: minimum, maximum, and other multiples of the step of N.
COLUMNS = {1: (8, 256, 24, 64, 136, 16, 104, 248, 120, 128), 2: (16, 256, 48, 240, 128, 80, 176, 112, 32, 208)}
INTEGER_COLUMNS = {1: (8, 256, 24, 48, 144, 16, 240, 112, 32, 128), 2: (32, 256, 96, 224, 128, 64, 160, 192)}
K_MAJOR = [
    Layout("K", swizzle, gap=gap) for swizzle, gap in ((0, 128), (32, 0), (64, 512), (128, 0), (0, 0), (128, 1024))
]
K_MAJOR += [Layout("K", 64, skip=32), Layout("K", 128, skip=32), Layout("K", 128, skip=96), Layout("K", 128, base=5),
            Layout("K", 64, base=2)]  # fmt: skip
MN_MAJOR = [
    Layout("MN", swizzle, gap=gap) for swizzle, gap in ((0, 128), (32, 256), (64, 0), (128, 0), (0, 0), (128, 1024))
]
MN_MAJOR_TF32 = [Layout("MN", 128, 32), Layout("MN", 128, 32, gap=512)]


def layouts(kind: str, rows: int) -> list[Layout]:
    """Return the legal layouts of an operand with `rows` rows (or columns) per CTA."""
    if kind == "tf32":
        return [layout for pair in zip(K_MAJOR, cycle(MN_MAJOR_TF32), strict=False) for layout in pair]
    turned = [layout for layout in MN_MAJOR if rows * ROOMS[kind] // 8 % (layout.swizzle or 16) == 0]
    return [layout for pair in zip(K_MAJOR, cycle(turned), strict=False) for layout in pair] if turned else K_MAJOR


def fitting(kind: str, rows: int, turn: int) -> Layout:
    """Return item `turn` of `layouts`, cyclically; the first layout if a tf32 operand does not fill MN-major rows."""
    found = layouts(kind, rows)
    layout = found[turn % len(found)]
    return layout if kind != "tf32" or layout.major == "K" or rows * 4 % 128 == 0 else found[0]


def cases() -> Iterator[Product]:
    """Yield MMAs of every kind and shape with every pair of types; their other options alternate."""
    turn = 0
    for (kind, d, a, b), blocks in product(TYPES, (1, 2)):
        known = (INTEGER_COLUMNS if kind == "i8" else COLUMNS)[blocks]
        for number, (rows, in_tensor) in product(
            range(2 if kind == "f8f6f4" else len(known)), product((64, 128), (False, True))
        ):
            turn += 1
            n = known[(number + turn * (kind == "f8f6f4")) % len(known)]
            b_layout = fitting(kind, n // blocks, turn * 5 + turn // 7)
            if b_layout.major == "MN" and ROOMS[kind] == 8 and n % (16 * blocks):
                b_layout = K_MAJOR[turn % 4]
            half = rows == 64 and blocks == 1
            yield Product(
                kind, d, a, b, rows * blocks, n, blocks,
                a_layout=None if in_tensor else fitting(kind, rows, turn * 3 + turn // 11),
                b_layout=b_layout,
                adds=turn % 5 > 0,
                negates=(False, False) if kind == "i8" else (turn % 3 == 0, turn % 7 < 2),
                saturates=kind == "i8" and turn % 2 == 0,
                divisor=turn % 16 if kind in {"f16", "tf32"} and turn % 3 == 1 else 0,
                hidden=turn if turn % 4 == 0 else None,
                d_at=(0, 4, 96, 20)[turn % 4],
                lane=16 if half and turn % 2 else 0,
                words=("", "", ".collector::a::fill", ".collector::a::discard")[turn % 4] if blocks == 1 else "",
            )  # fmt: skip


@pytest.mark.parametrize("case", share(cases(), 37), ids=str)
def test_a_product_is_the_product_of_its_matrices(case: Product) -> None:
    check(case)


@pytest.mark.parametrize("schedule", WHENEVER, ids=str)
@pytest.mark.parametrize("case", share(cases(), 397), ids=str)
def test_it_is_so_whenever_it_is_done(case: Product, schedule: dict[str, int]) -> None:
    check(case, 2, **schedule)


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("options", [{}, {"seed": 1}, {"delay_async": True}], ids=str)
def test_products_of_one_pipeline_follow_each_other(blocks: int, options: dict[str, int]) -> None:
    """Eight MMAs update two accumulators alternately; their operands advance along rows of 128 bytes."""
    bench = Bench(blocks)
    sums: list[Expected | None] = [None, None]
    for step in range(8):
        layout = Layout("K", 128, skip=32 * (step // 2))
        part = Product("f16", "f32", "f16", "bf16", 128 * blocks, 64, blocks, a_layout=layout, b_layout=layout,
                       adds=step > 1, d_at=64 * (step % 2))  # fmt: skip
        sums[step % 2] = bench.add(part, onto=sums[step % 2])
    bench.check(bench.run(**options))


@pytest.mark.parametrize("buffer", ["a", "b0", "b1", "b2", "b3"])
@pytest.mark.parametrize("delay_async", [False, True])
def test_a_product_may_take_a_factor_from_its_collector(buffer: str, *, delay_async: bool) -> None:
    """Three MMAs with the same operands add up: collector reuse is permitted, not required, and changes no result."""
    bench = Bench()
    it = bench.add(Product("f16", "f32", "f16", "f16", 128, 64, a_layout=Layout("K", 32), adds=False, ws=buffer != "a",
                           words=f".collector::{buffer}::fill"))  # fmt: skip
    *_, line = bench.issue.lines
    bench.issue.emit("setp.eq.u32 %done, 0, 0;", *(line.replace("fill", what) for what in ("use", "lastuse")))
    found = it.found(bench.run(delay_async=delay_async))
    np.testing.assert_allclose(found, 3 * it.sums, rtol=0, atol=3 * float(it.bound.max()))
