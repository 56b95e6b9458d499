"""Sparse and weight-stationary `tcgen05.mma` compute the manual's results.

As in `test_simulated_mma`: every kind, every M, one CTA and a CTA pair, all selectors, random metadata codes.
`PYPTX_KERNELS=all` runs all of them, the default is a sample.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from tools.shares import share

from .mma_bench import WHENEVER, Bench, check
from .mma_reference import ROOMS, Mask, Product
from .tensor_images import Layout
from .tensor_kernels import launch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[Any]

pytestmark = pytest.mark.scaled

TYPES = [
    ("f16", "f16", "f16", "f16"),
    ("f16", "f32", "bf16", "f16"),
    ("tf32", "f32", "tf32", "tf32"),
    ("i8", "s32", "s8", "u8"),
    ("f8f6f4", "f32", "e4m3", "e5m2"),
    ("f8f6f4", "f16", "e2m1", "e3m2"),
    ("f8f6f4", "f32", "e2m3", "e2m1"),
]
COLUMNS = {1: (8, 256, 24, 136), 2: (16, 256, 48, 144)}
INTEGER_COLUMNS = {1: (8, 256, 24, 144), 2: (32, 256, 96, 160)}
# Layouts of sparse MMA operands: a row of A has 32 bytes; a row of B has 64, more than the 32-byte swizzle's row.
NARROW_ROWS = [
    Layout("K", 0, gap=128),
    Layout("K", 32),
    Layout("K", 64, skip=32),
    Layout("K", 128, skip=96),
    Layout("K", 128, gap=1024),
]
WIDE_ROWS = [Layout("K", 0), Layout("K", 64, gap=512), Layout("K", 128, skip=64), Layout("K", 128)]
COLLECTORS = ("", *(f".collector::b{number}::{what}" for number in range(4) for what in ("fill", "discard")))


def mn_major(kind: str, rows: int, turn: int) -> Layout | None:
    """Return an MN-major layout of an operand with `rows` rows; None if none fits."""
    width = rows * ROOMS[kind] // 8
    if kind == "tf32":
        return Layout("MN", 128, 32, gap=512 * (turn % 2)) if width % 128 == 0 else None
    swizzle = (0, 32, 64, 128)[turn % 4]
    return Layout("MN", swizzle, gap=128 * (turn % 3)) if width % (swizzle or 16) == 0 else None


def layouts_of(kind: str, rows: int, columns: int, turn: int, *, sparse: bool, step: int) -> tuple[Layout, Layout]:
    """Return layouts of A and B; B of 8-bit elements is N-major only if N is a multiple of `step`."""
    a = mn_major(kind, rows, turn) if turn % 3 == 0 else None
    b = mn_major(kind, columns, turn) if turn % 4 == 1 and (ROOMS[kind] != 8 or columns % step == 0) else None
    wide = WIDE_ROWS if sparse else NARROW_ROWS
    return a or NARROW_ROWS[turn % len(NARROW_ROWS)], b or wide[turn % len(wide)]


def sparse_cases() -> Iterator[Product]:
    """Yield sparse MMAs of every kind with each M; A's memory (shared, tensor) and other options alternate."""
    turn = 0
    for (kind, d, a, b), blocks, rows, in_tensor in product(TYPES, (1, 2), (64, 128), (False, True)):
        for n in (INTEGER_COLUMNS if kind == "i8" else COLUMNS)[blocks]:
            turn += 1
            left, right = layouts_of(kind, rows, n // blocks, turn, sparse=True, step=16)
            yield Product(
                kind, d, a, b, rows * blocks, n, blocks, a_layout=None if in_tensor else left, b_layout=right,
                adds=turn % 5 > 0, negates=(False, False) if kind == "i8" else (turn % 3 == 0, turn % 7 < 2),
                saturates=kind == "i8" and turn % 2 == 0, divisor=turn % 16 if kind in {"f16", "tf32"} else 0,
                hidden=turn if turn % 4 == 0 else None, sparse=True,
                selector=turn // 2 % 4 if kind in {"f16", "tf32"} else 0, d_at=(0, 4, 64)[turn % 3],
                lane=16 if rows == 64 and turn % 2 else 0,
            )  # fmt: skip


def stationary_cases() -> Iterator[Product]:
    """Yield weight-stationary MMAs of every kind with each M and N, dense and sparse."""
    turn = 0
    for (kind, d, a, b), rows, sparse, in_tensor in product(TYPES, (32, 64, 128), (False, True), (False, True)):
        for n in (64, 128) if sparse else (64, 128, 256):
            turn += 1
            left, right = layouts_of(kind, rows, n, turn, sparse=sparse, step=1)
            yield Product(
                kind, d, a, b, rows, n, ws=True, sparse=sparse, a_layout=None if in_tensor else left, b_layout=right,
                adds=turn % 5 > 0, negates=(False, False) if kind == "i8" else (turn % 3 == 0, turn % 7 < 2),
                saturates=kind == "i8" and turn % 2 == 0, d_at=(0, 4, 64)[turn % 3],
                selector=turn // 2 % 4 if kind in {"f16", "tf32"} and sparse else 0,
                words=COLLECTORS[turn % len(COLLECTORS)],
            )  # fmt: skip


@pytest.mark.parametrize("case", share(sparse_cases(), 19), ids=str)
def test_a_sparse_a_is_what_its_metadata_says(case: Product) -> None:
    check(case)


@pytest.mark.parametrize("case", share(stationary_cases(), 19), ids=str)
def test_a_weight_stationary_product_deals_its_columns_out_to_the_lanes(case: Product) -> None:
    check(case)


@pytest.mark.parametrize("schedule", WHENEVER, ids=str)
@pytest.mark.parametrize("case", share([*sparse_cases(), *stationary_cases()], 97), ids=str)
def test_they_are_so_whenever_they_are_done(case: Product, schedule: dict[str, int]) -> None:
    check(case, 2, **schedule)


def spans(used: int, zeros: int, begin: int, n: int, *, first: bool) -> str:
    """Return a mask as a bit string, column 0 last: `used` zeros and `zeros` ones alternate from column `begin` on."""
    period = "1" * zeros + "0" * used if first else "0" * used + "1" * zeros
    return (period * n)[begin : begin + n][::-1]


def mask_bits(
    start: tuple[int, ...], first: tuple[int, ...], skip: int, use: int, shift: int, *, masks: int = 1
) -> int:
    """Return a zero-column mask descriptor from fields in the manual's order, sub-mask 3 first."""
    bits = sum(count << 8 * part for part, count in enumerate(reversed(start)))
    bits |= sum(bit << 32 + part for part, bit in enumerate(reversed(first)))
    return bits | masks << 39 | skip << 40 | use << 48 | shift << 56


# Zero-column masks: M, mask bits, last bits of each sub-mask (sub-mask 0 first), shift between sub-masks.
EXAMPLES = {
    "all-used": (128, mask_bits((0, 0, 0, 0), (0, 0, 0, 0), 4, 3, 0, masks=0), ("0000000",), 0),
    "of-128-rows": (128, mask_bits((0, 0, 0, 0), (0, 0, 0, 0), 2, 3, 0), ("11100001110000",), 0),
    "of-64-rows": (64, mask_bits((0, 0, 0, 0), (0, 0, 0, 1), 2, 3, 0), ("11100001110000111", "000011100001110000"), 0),
    "of-32-rows": (32, mask_bits((1, 2, 1, 0), (0, 0, 1, 1), 2, 3, 2),
                   ("00001110000111", "0000111000011", "111000011100", "1110000111000"), 2),
}  # fmt: skip


@pytest.mark.parametrize("n", [64, 128])
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_masks_of_the_manual_leave_columns_out(name: str, n: int, *, sparse: bool) -> None:
    rows, bits, ends, shift = EXAMPLES[name]
    width = n // len(ends)
    zeros: list[int] = []
    for part, end in enumerate(ends):
        period = 7 if "1" in end else 1  # 4 computed columns of D alternate with 3 zero columns
        text = [end[::-1][column if column < len(end) else len(end) - period + (column - len(end)) % period]
                for column in range(width)]  # fmt: skip
        zeros += [part * width + column for column, bit in enumerate(text) if bit == "1"]
    mask = Mask(bits, tuple(zeros), shift)
    for kind, element, layout in (("f16", "bf16", Layout("K", 128)), ("f8f6f4", "e4m3", Layout("MN", 0))):
        check(Product(kind, "f32", element, element, rows, n, ws=True, sparse=sparse, mask=mask, b_layout=layout))


@pytest.mark.parametrize(("m", "shift"), [(32, 16), (64, 32), (128, 32), (128, 5)])
def test_a_shift_takes_columns_further_on(m: int, shift: int) -> None:
    bits = mask_bits((7, 7, 7, 7), (1, 0, 1, 0), 9, 4, shift)
    width = 128 // {128: 1, 64: 2, 32: 4}[m]
    zeros = [
        part * width + column
        for part in range(128 // width)
        for column, bit in enumerate(reversed(spans(5, 10, 7, width, first=part % 2 == 1)))
        if bit == "1"
    ]
    mask = Mask(bits, tuple(zeros), shift)
    check(Product("f16", "f32", "f16", "f16", m, 128, ws=True, mask=mask, b_layout=Layout("K", 64, gap=512)))


def findings(bench: Bench, memory: Array) -> list[str]:
    """Return the findings as `rule: message`."""
    _, done = launch(bench.issue, memory=memory, shared=bench.shared)
    return [f"{finding.rule}: {finding.message}" for finding in done.findings]


@pytest.mark.parametrize(
    ("case", "what"),
    [
        (Product("f16", "f32", "bf16", "bf16", 128, 32, 2), "operand A"),
        (Product("f16", "f32", "bf16", "bf16", 64, 64, ws=True), "operand A"),
        (
            Product("f8f6f4", "f32", "e4m3", "e4m3", 32, 64, ws=True, sparse=True, a_layout=Layout("K", 32)),
            "sparsity metadata",
        ),
        (
            Product("tf32", "f32", "tf32", "tf32", 64, 64, ws=True, sparse=True, a_layout=Layout("K", 32)),
            "sparsity metadata",
        ),
    ],
    ids=str,
)
def test_groups_of_lanes_need_the_same_copy(case: Product, what: str) -> None:
    bench = Bench(case.blocks)
    bench.add(case)
    memory = bench.memory
    memory[0, 127, case.n :] ^= 1  # the tensor memory columns after D's columns hold other data
    (found,) = findings(bench, memory)
    assert found.startswith(f"tcgen05-mma: {what} differs between lane groups")


@pytest.mark.parametrize("sparse", [False, True])
def test_a_and_its_metadata_begin_at_the_lane_of_the_sums(*, sparse: bool) -> None:
    bench = Bench()
    layout = Layout("K", 32) if sparse else None
    bench.add(Product("f16", "f32", "bf16", "bf16", 64, 8, sparse=sparse, a_layout=layout))
    *_, d = bench.issue.constants
    bench.issue.constants[-1] = d + (16 << 16)
    first, *_ = findings(bench, bench.memory)
    name = "sparsity metadata" if sparse else "operand A"
    assert first.startswith(f"tcgen05-mma: {name} starts at tensor memory lane 0, the accumulator at lane 16")


def test_a_shift_beyond_shared_memory_is_told() -> None:
    bench = Bench()
    bench.add(Product("f16", "f32", "bf16", "bf16", 64, 128, ws=True, b_layout=Layout("MN", 0),
                      mask=Mask(mask_bits((0,) * 4, (0,) * 4, 0, 0, 32, masks=0), (), 0)))  # fmt: skip
    (found,) = findings(bench, bench.memory)
    assert found.startswith("out-of-bounds: B (160 x 16) covers ")
