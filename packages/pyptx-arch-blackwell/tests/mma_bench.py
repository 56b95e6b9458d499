"""Test bench for `tcgen05.mma`: random matrices, all MMAs in one kernel, comparison of all of tensor memory.

    bench = Bench(seed=1)
    bench.add(Product("f16", "f32", "bf16", "bf16", m=128, n=64))
    bench.check(bench.run())

Expected values are computed in float64 from `Product`, `tensor_images` and `tensor_operands`, never from the package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .mma_reference import ROOMS, Product
from .tensor_images import DTYPES, Layout, Tiles, codes_of, numbers, place_of_sum, row_bytes, rows_of_a
from .tensor_kernels import COLUMNS, LANES, Issue, outcome
from .tensor_operands import METADATA_COLUMNS, SCALE_COLUMNS, put_metadata, put_scales, scales, thinned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["WHENEVER", "Bench", "Expected", "check"]

WHENEVER: tuple[dict[str, int], ...] = ({"seed": 3}, {"seed": 4, "delay_async": True})
"""Schedules that delay asynchronous operations."""


@dataclass(frozen=True)
class Expected:
    """Operands A and B of an MMA, scale factors, initial D, expected D in float64, and error bound of each element.

    The MMA does not write the lanes in `hidden`.
    """

    product: Product
    a: Array
    b: Array
    scales: tuple[Array, Array] | None
    old: Array
    sums: Array
    bound: Array
    hidden: Array

    def found(self, memory: Array) -> Array:
        """Return D from tensor memory as elements of its type."""
        words, d = memory[places(self.product)], self.product.d
        return words.astype(np.uint16).view(np.float16) if d == "f16" else words.view(DTYPES[d])

    def check(self, memory: Array) -> None:
        """Assert that D in tensor memory is within the error bound of its expected value."""
        block, lane, _ = places(self.product)
        off = np.abs(self.found(memory).astype(np.float64) - self.sums) - self.bound
        off[self.hidden[block, lane]] = -1
        worst = np.unravel_index(off.argmax(), off.shape)
        assert off.max() <= 0, f"{self.product}: {off.max()} beyond the bound at {worst}"


def places(it: Product) -> tuple[Array, Array, Array]:
    """Return the CTA, lane and column of each element of D."""
    block, lane, column = place_of_sum(it.m, it.n, blocks=it.blocks, sparse=it.sparse, ws=it.ws)
    return block, lane + it.lane, column + it.d_at


class Bench:
    """Shared and tensor memory of one CTA or a CTA pair: random bits, and the operands of MMAs."""

    def __init__(self, blocks: int = 1, seed: int = 1, spread: int = 0) -> None:
        """Fill tensor memory with random bits; exponents of matrix elements will vary by up to ±`spread`."""
        self.blocks, self.rng, self.spread = blocks, np.random.default_rng(seed), spread
        self.issue = Issue(blocks)
        self.tiles = [Tiles() for _ in range(blocks)]
        self.expected: list[Expected] = []
        self._memory = self.rng.integers(0, 1 << 32, (blocks, LANES, COLUMNS), np.uint32)
        self._used = 0

    @property
    def memory(self) -> Array:
        """Tensor memory before the MMAs, with the allocated columns only."""
        return self._memory[..., : max(32, 1 << (self._used - 1).bit_length())].copy()

    @property
    def shared(self) -> Array:
        """Shared memory image of each CTA."""
        size = max(len(each.data) for each in self.tiles)
        return np.stack([np.pad(each.data, (0, size - len(each.data))) for each in self.tiles])

    def add(self, product: Product, onto: Expected | None = None) -> Expected:
        """Add an MMA to the kernel. With `onto`, it accumulates onto the D of `onto`, which is not compared itself."""
        it, issue = product, self.issue
        self._used = max(self._used, it.d_at + it.n)
        a, operands = self._put_a(it)
        b, b_operand = self._put_b(it)
        a, b = a * (-1 if it.negates[0] else 1), b * (-1 if it.negates[1] else 1)
        operands[1:1] = [b_operand]
        operands.append(issue.word(it.idesc))
        hidden = self._hide(it, operands)
        factors = None if it.scales is None else self._scale(it, operands)
        old = self._put_old(it) if onto is None else onto.sums
        issue.emit(f"setp.ne.u32 %done, {issue.word(int(it.adds))}, 0;")
        tail = [str(it.divisor)] * bool(it.divisor) + ([issue.long(it.mask.bits)] if it.mask else [])
        issue.emit(f"{it.opcode} {issue.at(it.d_at, it.lane)}, {', '.join([*operands, '%done', *tail])};")
        old = old * 2.0**-it.divisor if it.adds else 0 * old
        sums, bound = _sums(it, *((a, b) if factors is None else _scaled(a, b, factors)), old)
        if onto is not None:
            self.expected.remove(onto)
            bound = bound + onto.bound
        found = Expected(it, a, b, factors, old, sums, bound, hidden)
        self.expected.append(found)
        return found

    def run(self, target: str = "sm_100a", **options: Any) -> Array:
        """Return tensor memory after the MMAs."""
        return outcome(self.issue, memory=self.memory, shared=self.shared, target=target, **options)

    def check(self, after: Array) -> None:
        """Compare all of tensor memory: every D has its expected value, and all other words are unchanged."""
        untouched = np.ones(after.shape, bool)
        for each in self.expected:
            each.check(after)
            block, lane, column = places(each.product)
            seen = ~each.hidden[block, lane]
            untouched[block[seen], lane[seen], column[seen]] = False
        changed = untouched & (after != self.memory)
        assert not changed.any(), f"{np.count_nonzero(changed)} other cells changed, first {np.argwhere(changed)[0]}"

    # --- matrices -----------------------------------------------------------------------------------

    def take(self, count: int) -> int:
        """Reserve `count` free columns of tensor memory; return the first, a multiple of 4."""
        first = -(-self._used // 4) * 4
        self._used = first + count
        assert self._used <= COLUMNS
        return first

    def _put_a(self, it: Product) -> tuple[Array, list[str]]:
        """Put A into memory; return its values (with zeros, if sparse) and the operands: A and, if sparse, metadata."""
        codes = codes_of(self.rng, it.a, (it.m, it.stored), self.spread)
        values = numbers(codes, it.a)
        operand = (
            self._a_in_tensor(it, codes) if it.a_layout is None else self._factor(it.a, it.kind, codes, it.a_layout)
        )
        if not it.sparse:
            return values, [operand]
        dense, places = thinned(it, self.rng, values)
        first = self.take(METADATA_COLUMNS)
        put_metadata(it, self._memory, places, first)
        return dense, [operand, self.issue.at(first, it.lane)]

    def _a_in_tensor(self, it: Product, codes: Array) -> str:
        words = row_bytes(self.rng, codes, it.a, ROOMS[it.kind], tensor=True).view(np.uint32)
        first = self.take(words.shape[1])
        held = rows_of_a(it.m, blocks=it.blocks, sparse=it.sparse, ws=it.ws)
        block, lane = np.nonzero(held >= 0)
        self._memory[block, lane + it.lane, first : first + words.shape[1]] = words[held[block, lane]]
        return self.issue.at(first, it.lane)

    def _put_b(self, it: Product) -> tuple[Array, str]:
        """Put B into shared memory; return its values, `[n, k]`, and its operand."""
        shift = it.mask.shift if it.mask else 0
        codes = codes_of(self.rng, it.b, (it.n + -(-shift // 16) * 16, it.k), self.spread)
        values = numbers(codes, it.b)[shift : shift + it.n].copy()
        if it.mask:
            values[list(it.mask.zeros)] = 0
        return values, self._factor(it.b, it.kind, codes, it.b_layout)

    def _factor(self, element: str, kind: str, codes: Array, layout: Layout) -> str:
        """Put a matrix into shared memory, an equal number of rows in each CTA; return its descriptor."""
        rows, found = len(codes) // self.blocks, []
        for number, tiles in enumerate(self.tiles):
            part = codes[number * rows : (number + 1) * rows]
            turned = part if layout.major == "K" else np.ascontiguousarray(part.T)
            found.append(tiles.put(row_bytes(self.rng, turned, element, ROOMS[kind]), layout))
        return self.issue.descriptor(found[0], absolute=layout.split)

    def _hide(self, it: Product, operands: list[str]) -> Array:
        """Return which lanes the MMA must not write, and append the disable-output-lane mask to `operands`."""
        hidden = np.zeros((it.blocks, LANES), bool)
        if it.hidden is not None:
            hidden = np.random.default_rng(it.hidden).integers(0, 2, hidden.shape).astype(bool)
            words = np.packbits(hidden.reshape(-1), bitorder="little").view(np.uint32)
            operands.append("{" + ", ".join(self.issue.word(int(word)) for word in words) + "}")
        return hidden

    def _scale(self, it: Product, operands: list[str]) -> tuple[Array, Array]:
        """Put scale factors into tensor memory: A's split by CTA, B's in both CTAs; return `[rows, parts of K]`."""
        assert it.scales is not None
        (a_codes, a_factors), (b_codes, b_factors) = scales(it, self.rng, it.m), scales(it, self.rng, it.n)
        first, rows = [self.take(SCALE_COLUMNS), self.take(SCALE_COLUMNS)], it.m // it.blocks
        for block, memory in enumerate(self._memory):
            put_scales(memory, a_codes[block * rows : (block + 1) * rows], first[0], it.scales.ids[0])
            # The manual's layout B: lanes 0-63 hold the first half of D's columns.
            halves = 2 if (it.m, it.blocks) == (128, 2) else 1
            put_scales(memory, b_codes, first[1], it.scales.ids[1], halves)
        operands += [self.issue.at(column) for column in first]
        return a_factors, b_factors

    def _put_old(self, it: Product) -> Array:
        """Put random values into D's tensor memory; return these values, `[m, n]`."""
        if it.d == "s32":
            old = self.rng.integers(-(2**31), 2**31, (it.m, it.n)).astype(np.int32)
        else:
            drawn = self.rng.standard_normal((it.m, it.n)) * 2.0 ** self.rng.integers(
                -self.spread, self.spread + 1, (it.m, it.n)
            )
            old = drawn.astype(DTYPES[it.d])
        where = places(it)
        kept = self._memory[where] & np.uint32(0xFFFF0000 if it.d == "f16" else 0)
        self._memory[where] = old.view(f"u{old.itemsize}") | kept
        return old.astype(np.float64)


def _scaled(a: Array, b: Array, factors: tuple[Array, Array]) -> tuple[Array, ...]:
    return tuple(
        each * np.repeat(of, each.shape[1] // of.shape[1], axis=1) for each, of in zip((a, b), factors, strict=True)
    )


def _sums(it: Product, a: Array, b: Array, old: Array) -> tuple[Array, Array]:
    """Return the expected D, and its error bound for float32 accumulation in any order."""
    total, scale = a @ b.T + old, np.abs(a) @ np.abs(b).T + np.abs(old)
    if it.d == "s32":
        limit = 2.0**31
        clipped = np.clip(total, -limit, limit - 1) if it.saturates else (total + limit) % (2 * limit) - limit
        return clipped, 0 * scale
    rounding = np.abs(total) * 2.0**-11 + 2.0**-25 if it.d == "f16" else 0
    return total, scale * (it.k + 1) * 2.0**-23 + rounding


def check(product: Product, draw: int = 1, **options: Any) -> Expected:
    """Run one MMA; assert that D is right and that all other words of tensor memory are unchanged."""
    bench = Bench(product.blocks, draw)
    expected = bench.add(product)
    bench.check(bench.run(**options))
    return expected
