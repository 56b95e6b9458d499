"""Every `wgmma.mma_async` computes the manual's result from every legal layout of its matrices.

The model uses the manual alone: TMA layouts ("Tensor Swizzle Modes"), fragments ("Register Fragments"), metadata
("Sparse matrix storage"). `PYPTX_KERNELS=all` runs every form with every N, dense and sparse, with A in registers and
in shared memory; the default is a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.shares import share

from pyptx_arch_hopper.mma import Form, forms
from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.shared_memory.tiles import SharedTile
from pyptx_dsl.types import b32, f32, from_name, s32, u32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_dsl.kernels.kernel import Kernel

    Array = NDArray[Any]

pytestmark = pytest.mark.scaled

DTYPES = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "tf32": np.dtype(np.float32),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "b1": np.dtype(np.uint8),  # eight single-bit elements are stored in a byte, the first in its lowest bit
    "f32": np.dtype(np.float32),
    "s32": np.dtype(np.int32),
}
WIDTHS = {None: 16, "32B": 32, "64B": 64, "128B": 128}
REGISTERS = {"f32": f32, "s32": s32, "f16": b32}
THREADS = np.arange(128)


@dataclass(frozen=True)
class Case:
    """One MMA, and the layouts of its matrices; without a tile, A is in registers."""

    form: Form
    columns: int
    a: SharedTile | None
    b: SharedTile
    selector: int | None = None
    signs: tuple[int, int] = (1, 1)
    saturates: bool = False
    adds: bool = True

    @property
    def depth(self) -> int:
        return self.form.depth * (1 if self.selector is None else 2)

    def __str__(self) -> str:
        a = "registers" if self.a is None else f"{self.a.major}-{self.a.swizzle}"
        sparse = "" if self.selector is None else f"-sp{self.selector}"
        return f"{self.form.d}-{self.form.a}-{self.form.b}-n{self.columns}{sparse}-{a}-{self.b.major}-{self.b.swizzle}"


def layouts(element: str, mn: int, k: int, *, turned: bool) -> list[SharedTile]:
    """Return a matrix of `mn` by at least `k` in every layout that the MMA can read."""
    dtype, found = from_name(element), []
    for swizzle, width in WIDTHS.items():
        if swizzle is None or width * 8 >= k * dtype.bits:
            found.append(SharedTile(dtype, (mn, max(k, width * 8 // dtype.bits)), swizzle=swizzle))
        if turned and mn * dtype.bits // 8 % width == 0:
            found.append(SharedTile(dtype, (k, mn), major="MN", swizzle=swizzle))
    return found


def cases() -> Iterator[Case]:
    """Yield every form of wgmma.mma_async with every option; the layouts of A and B alternate."""
    turns = count(1)
    for form in forms():
        for columns in form.columns:
            for selector in (None, *range(form.selectors)):
                depth = form.depth * (1 if selector is None else 2)
                left = layouts(form.a, 64, form.depth, turned=form.transposes)
                right = layouts(form.b, columns, depth, turned=form.transposes)
                for a in (None, left[next(turns) % len(left)]):
                    turn = next(turns)
                    signs = ((1, 1), (-1, 1), (1, -1), (-1, -1))[turn % 4] if form.negates else (1, 1)
                    saturates = form.saturates and turn % 2 == 0
                    yield Case(form, columns, a, right[turn % len(right)], selector, signs, saturates, turn % 5 > 0)


# --- the manual's model -------------------------------------------------------------------------------------------


def values(rng: np.random.Generator, element: str, shape: tuple[int, int]) -> Array:
    """Return random elements of a type; a byte holds eight b1 elements."""
    if element == "b1":
        return rng.integers(0, 256, (shape[0], shape[1] // 8)).astype(np.uint8)
    if element in {"s8", "u8"}:
        low, high = (-128, 128) if element == "s8" else (0, 256)
        return rng.integers(low, high, shape).astype(DTYPES[element])
    found = rng.standard_normal(shape).astype(DTYPES[element])
    return (found.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if element == "tf32" else found


def numbers(elements: Array, element: str) -> Array:
    if element == "b1":
        return np.unpackbits(elements, axis=1, bitorder="little").astype(np.float64)
    return elements.astype(np.float64)


def image(tile: SharedTile, elements: Array) -> Array:
    """Return the bytes of a tile in shared memory, with `elements` ([M, K] or [N, K]) at its start."""
    data = np.zeros(tile.stage_bytes, np.uint8)
    along_k = elements if tile.major == "K" else elements.T
    rows = np.ascontiguousarray(along_k).view(np.uint8)
    slow, fast = np.indices(rows.shape)
    width = WIDTHS[tile.swizzle]
    place = fast // width * (tile.shape[0] * width) + slow * width + fast % width
    data[place ^ ((place >> 7) % (width // 16) << 4)] = rows
    return data.view(np.uint32)


def in_registers(elements: Array) -> Array:
    """Return the registers of A, `[4, 128]`: 4 bytes of a row per thread; rows g, g + 8, then both rows at K / 2."""
    words = np.ascontiguousarray(elements).view(np.uint8).reshape(64, -1).view(np.uint32)
    row, quad = THREADS // 32 * 16 + THREADS % 32 // 4, THREADS % 4
    return np.stack([words[row + 8 * (i % 2), quad + 4 * (i // 2)] for i in range(4)])


def place_of_sums(columns: int, packed: int) -> tuple[Array, Array]:
    """Return the row and column of each element of D, `[registers, 128, elements in a register]`."""
    i = np.arange(columns // 2)[:, None]
    row = THREADS // 32 * 16 + THREADS % 32 // 4 + 8 * (i // 2 % 2)
    column = i // 4 * 8 + THREADS % 4 * 2 + i % 2
    row, column = (each.reshape(-1, packed, 128).swapaxes(1, 2) for each in (row, column))
    return row, column


def thinned(rng: np.random.Generator, case: Case) -> tuple[Array, Array, Array]:
    """Return the stored elements of a sparse A, the dense matrix that they represent, and the metadata of all threads.

    Of four 16-bit or 8-bit elements two are stored, of two tf32 elements one. Metadata is that of mma.sp for 16 rows.
    """
    element, stored = case.form.a, case.form.depth
    kept = values(rng, element, (64, stored))
    dense = np.zeros((64, 2 * stored), kept.dtype)
    fields = np.zeros((64, stored * (2 if element == "tf32" else 1)), np.uint32)
    for row in range(64):
        if element == "tf32":
            places = rng.integers(0, 2, stored)
            dense[row, np.arange(stored) * 2 + places] = kept[row]
            fields[row] = np.stack([places * 2, places * 2 + 1], axis=1).reshape(-1)
            continue
        pairs = np.array([sorted(rng.choice(4, 2, replace=False)) for _ in range(stored // 2)])
        dense[row, (np.arange(stored // 2)[:, None] * 4 + pairs).reshape(-1)] = kept[row]
        fields[row] = pairs.reshape(-1)
    return kept, dense, metadata_of(fields, case)


def metadata_of(fields: Array, case: Case) -> Array:
    """Return the metadata word of each of 128 threads, from the fields of each row, `[64, fields]`.

    16- and 32-bit elements: two threads of each quad have a word, one for each half of K, with the fields of row g in
    its lower half and those of row g + 8 in its upper half. 8-bit elements: all four threads have a word, for the first
    half of K in rows g and g + 8, then for the second half.
    """
    words = np.zeros(128, np.uint32)
    bits = fields << (2 * (np.arange(fields.shape[1]) % 16)).astype(np.uint32)
    for warp in range(4):
        for group in range(8):
            upper, lower = warp * 16 + group, warp * 16 + group + 8
            lane = warp * 32 + group * 4
            if from_name(case.form.a).bits == 8:
                for half in range(2):
                    part = slice(16 * half, 16 * half + 16)
                    words[lane + 2 * half] = bits[upper, part].sum()
                    words[lane + 2 * half + 1] = bits[lower, part].sum()
                continue
            lane += 2 * (case.selector or 0)
            for half in range(2):
                part = np.arange(8 * half, 8 * half + 8)
                low = (fields[upper, part] << (2 * np.arange(8)).astype(np.uint32)).sum()
                high = (fields[lower, part] << (2 * np.arange(8) + 16).astype(np.uint32)).sum()
                words[lane + half] = low | high
    return words


# --- one instruction in a kernel ----------------------------------------------------------------------------------


def kernel_of(case: Case) -> Kernel:
    """Return a kernel that fills tiles and registers, multiplies once, and stores D register by register."""
    form, held = case.form, case.form.accumulators(case.columns)
    a_words = 512 if case.a is None else case.a.stage_bytes // 4
    sizes = (a_words, case.b.stage_bytes // 4, 128, held * 128)

    def product(a: object, b: object, metadata: object, old: object, out: object) -> None:
        full, tid = smem.mbarrier(1), reg.from_(ptx.special.tid.x(), u32)
        pointers = ptx.global_ptrs(a, b, metadata, old, out)
        tiles = [None if tile is None else smem.tile(tile) for tile in (case.a, case.b)]
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(full[0], 1)
            ptx.fence.mbarrier_init()
            given = [(tile, from_) for tile, from_ in zip(tiles, pointers, strict=False) if tile is not None]
            described = [tile for tile in (case.a, case.b) if tile is not None]
            ptx.mbarrier.arrive_expect_tx(full[0], sum(tile.stage_bytes for tile in described))
            for (tile, pointer), size in zip(given, described, strict=True):
                ptx.cp.async_.bulk.load(tile, ptx.addr(pointer), size.stage_bytes, mbar=full[0])
        ptx.bar.sync(0)
        ptx.mbarrier.wait(full[0], 0)
        d, factor, meta = reg.array(REGISTERS[form.d], held), reg.array(b32, 4), reg.scalar(b32)
        for registers, pointer in (
            (d, pointers[3]),
            (factor if case.a is None else (), pointers[0]),
            ([meta], pointers[2]),
        ):
            for i, register in enumerate(registers):
                ptx.inst.ld.global_.b32(register, ptx.addr(pointer + (tid + 128 * i) * 4))
        sparsity = {} if case.selector is None else {"metadata": meta, "selector": case.selector}
        multiply = ptx.wgmma.mma_async if case.selector is None else ptx.wgmma.mma_async_sp
        ptx.wgmma.fence()
        multiply(
            shape=(64, case.columns, case.depth),
            dtype_d=from_name(form.d),
            dtype_a=from_name(form.a),
            dtype_b=from_name(form.b),
            d=d,
            a=factor if case.a is None else tiles[0],
            b=tiles[1],
            scale_d=case.adds,
            scale_a=case.signs[0],
            scale_b=case.signs[1],
            satfinite=case.saturates,
            **sparsity,
        )
        ptx.wgmma.commit_group()
        ptx.wgmma.wait_group(0)
        for i, register in enumerate(d):
            ptx.inst.st.global_.b32(ptx.addr(pointers[4] + (tid + 128 * i) * 4), register)
        ptx.ret()

    specs = tuple(Tile(size, u32) for size in sizes)
    return kernel(product, in_specs=specs, out_specs=(Tile(held * 128, u32),), grid=1, block=128, arch="sm_90a")


def expected(case: Case, a: Array, b: Array, old: Array) -> tuple[Array, Array]:
    """Return the expected D in float64, and its error bound."""
    left, right = numbers(a, case.form.a) * case.signs[0], numbers(b, case.form.b) * case.signs[1]
    total = left @ right.T + (old.astype(np.float64) if case.adds else 0)
    scale = np.abs(left) @ np.abs(right).T + np.abs(old)
    if case.form.d == "s32":
        limit = 2.0**31
        wrapped = np.clip(total, -limit, limit - 1) if case.saturates else (total + limit) % (2 * limit) - limit
        return wrapped, np.zeros_like(scale)
    rounding = np.abs(total) * 2.0**-11 if case.form.d == "f16" else 0
    return total, scale * case.depth * 2.0**-23 + rounding


@dataclass(frozen=True)
class Problem:
    """Kernel arguments for one MMA with random operands, the expected D, and its error bound."""

    given: tuple[Array, ...]
    total: Array
    bound: Array


def problem_of(case: Case, seed: int) -> Problem:
    """Return random operands of the MMA `case` as kernel arguments, and the expected D."""
    rng = np.random.default_rng(seed)
    b = values(rng, case.form.b, (case.columns, case.depth))
    metadata: Array = np.zeros(128, np.uint32)
    if case.selector is None:
        kept = dense = values(rng, case.form.a, (64, case.depth))
    else:
        kept, dense, metadata = thinned(rng, case)
    huge = 2.0**31 if case.form.d == "s32" else 1.0
    old = (rng.uniform(-1, 1, (64, case.columns)) * huge).astype(DTYPES[case.form.d])
    rows, columns = places(case)
    sums = np.ascontiguousarray(old[rows, columns]).view(np.uint32).reshape(-1)
    factor = in_registers(kept).reshape(-1) if case.a is None else image(case.a, kept)
    return Problem((factor, image(case.b, b), metadata, sums), *expected(case, dense, b, old))


def places(case: Case) -> tuple[Array, Array]:
    return place_of_sums(case.columns, 2 if case.form.d == "f16" else 1)


def matrix_of(case: Case, words: Array) -> Array:
    """Return D as a matrix from the register words that the kernel stores."""
    rows, columns = places(case)
    found: Array = np.empty((64, case.columns), DTYPES[case.form.d])
    found[rows, columns] = words.view(found.dtype).reshape(rows.shape)
    return found


def cut_off(case: Case, problem: Problem) -> float:
    """Return the additional error bound for the bits that tensor cores truncate."""
    if case.form.d == "s32":
        return 0.0
    coarse = 2.0**-12 if from_name(case.form.a).bits == 8 else 2.0**-22  # last bit kept in sums whose largest term is 1
    return float(coarse * (2 * case.depth * np.abs(problem.total).max() + 8 * case.depth))


def run(case: Case, seed: int, **options: object) -> tuple[Array, Problem]:
    """Run the MMA `case` on random matrices; return D, and the `Problem` with the expected D."""
    problem = problem_of(case, seed)
    result = kernel_of(case).simulate(*problem.given, checks="all", **options)
    assert not result.findings, str(result.findings[0])
    return matrix_of(case, np.asarray(result.outputs[0])), problem


@pytest.mark.parametrize("case", share(cases(), 83), ids=str)
def test_a_product_is_the_product_of_its_matrices(case: Case) -> None:
    found, problem = run(case, 1)
    worst = np.abs(found.astype(np.float64) - problem.total) - problem.bound
    assert worst.max() <= 0, f"{worst.max()} beyond the bound at {np.unravel_index(worst.argmax(), worst.shape)}"


EXACT = share((case for case in cases() if case.columns == 8 and case.form.d != "s32" and case.a is None), 21)


@pytest.mark.parametrize("case", EXACT, ids=str)
def test_exact_sums_are_no_further_off_than_what_is_cut(case: Case) -> None:
    found, problem = run(case, 2, numerics="exact")
    assert np.all(np.abs(found.astype(np.float64) - problem.total) <= problem.bound + cut_off(case, problem))


def test_exact_sums_of_small_floats_lose_what_lies_far_below_the_largest() -> None:
    form = next(form for form in forms() if (form.d, form.a, form.b) == ("f32", "e4m3", "e4m3"))
    case = Case(form, 8, None, layouts("e4m3", 8, 32, turned=False)[0], adds=False)
    a: Array = np.full((64, 32), 2.0**-6, DTYPES["e4m3"])
    a[:, 0] = 128.0
    b: Array = np.full((8, 32), 2.0**-1, DTYPES["e4m3"])
    b[:, 0] = 1.0
    nothing, old = np.zeros(128, np.uint32), np.zeros(8 * 64, np.uint32)
    given = (in_registers(a).reshape(-1), image(case.b, b), nothing, old)
    sums = {
        numerics: np.asarray(kernel_of(case).simulate(*given, numerics=numerics).outputs[0]).view(np.float32)
        for numerics in ("fast", "exact")
    }
    assert (sums["fast"] == 128 + 31 * 2.0**-7).all()
    # The sum of 128 and terms of 2^-7 keeps 13 bits, down to 2^-6: every 2^-7 is truncated to zero.
    assert (sums["exact"] == 128).all()
