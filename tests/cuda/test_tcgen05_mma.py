"""tcgen05.mma with scale factors, sparsity metadata and small elements, from CUDA C++, compared with NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyptx_sim import run

from .compiler import ptx_of
from .tcgen05_mma import DECOMPRESSED, DEEP, SCALED, SHIFTED, SPARSE

TYPES: dict[str, tuple[Any, int]] = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 8),
    "e5m2": (ml_dtypes.float8_e5m2, 8),
    "e2m3": (ml_dtypes.float6_e2m3fn, 6),
    "e3m2": (ml_dtypes.float6_e3m2fn, 6),
    "e2m1": (ml_dtypes.float4_e2m1fn, 4),
}
NARROW = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
# Each case runs under one of these schedules, in rotation.
SCHEDULES: list[dict[str, Any]] = [{}, {"seed": 1}, {"delay_async": True}]
# CCCL of CUDA 13.0 declares tcgen05 for sm_100a and sm_101a only.
FOR_103 = "-D__CUDA_ARCH_FEAT_SM100_ALL"


def elements(rng: Any, name: str, rows: int, count: int) -> tuple[Any, Any]:
    """Return random bit patterns of a narrow type, and the numbers that they encode."""
    dtype, bits = TYPES[name]
    codes = rng.integers(0, 1 << bits, (rows, count)).astype(np.uint8)
    if bits == 8:
        codes = codes & 0xBF  # clear bit 6 of each 8-bit code: no NaN, no infinity
    return codes, codes.view(dtype).astype(np.float64)


def padded(codes: Any, bits: int) -> Any:
    """Return rows of elements, packed 16 at a time into 16 bytes; bytes after the packed elements are 0xA5."""
    lowest_first = (codes[..., None] >> np.arange(bits) & 1).astype(np.uint8).reshape(len(codes), -1, 16 * bits)
    packed = np.packbits(lowest_first, axis=2, bitorder="little")
    room = np.full((*packed.shape[:2], 16), 0xA5, np.uint8)
    room[..., : packed.shape[2]] = packed
    return room.reshape(len(codes), -1)


def pairs(codes: Any) -> Any:
    """Return rows of 4-bit elements packed two per byte, the first in the low bits."""
    return codes[:, ::2] | codes[:, 1::2] << 4


def scales(rng: Any, name: str, rows: int, count: int) -> tuple[Any, Any]:
    """Return bit patterns and values of random scale factors of a type; float32 represents all values exactly."""
    if name == "ue8m0":
        codes = rng.integers(124, 131, (rows, count)).astype(np.uint8)
        return codes, codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    codes = rng.integers(0x30, 0x48, (rows, count)).astype(np.uint8)
    return codes, codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def launched(ptx: str, blocks: int, shared: int, args: list[Any], **schedule: Any) -> None:
    """Run a kernel with CTAs of 128 threads; raise AssertionError for any finding."""
    result = run(ptx, grid=blocks, block=128, shared_bytes=shared, args=args, **schedule)
    assert result.findings == ()


def same(found: Any, expected: Any, magnitude: Any) -> None:
    """Compare accumulators with float64 results, within the error bound of tensor cores."""
    assert (np.abs(found.view(np.float32) - expected) <= 1e-6 * magnitude).all()
    assert np.abs(expected).max() > 1


def scaled_sums(a: Any, b: Any, scale_a: Any, scale_b: Any) -> tuple[Any, Any]:
    """Return A B^T and |A| |B|^T for A and B scaled by one factor per row and block of K."""
    each = a.shape[1] // scale_a.shape[1]
    a, b = a * np.repeat(scale_a, each, axis=1), b * np.repeat(scale_b, each, axis=1)
    return a @ b.T, np.abs(a) @ np.abs(b).T


SHAPES = [(128, 1, 64), (128, 1, 24), (128, 1, 256), (256, 2, 64), (256, 2, 256), (128, 2, 32), (128, 2, 256)]


BYTES = [("e4m3", "e4m3"), ("e2m1", "e3m2"), ("e2m3", "e2m1")]
HALF_BYTES = [("mxf4", "ue8m0", 2), ("mxf4nvf4", "ue4m3", 4), ("mxf4nvf4", "ue8m0", 2)]


@pytest.mark.parametrize(
    ("m", "group", "n", "a", "b"), [(*shape, *BYTES[number % 3]) for number, shape in enumerate(SHAPES)]
)
def test_products_of_bytes_with_a_factor_a_row(m: int, group: int, n: int, a: str, b: str) -> None:
    rng = np.random.default_rng(n)
    steps, k = 4, 128
    (codes_a, values_a), (codes_b, values_b) = elements(rng, a, m, k), elements(rng, b, n, k)
    (factors_a, scale_a), (factors_b, scale_b) = scales(rng, "ue8m0", m, steps), scales(rng, "ue8m0", n, steps)
    stored = [codes if TYPES[name][1] == 8 else padded(codes, TYPES[name][1]) for codes, name in
              ((codes_a, a), (codes_b, b))]  # fmt: skip
    descriptor = NARROW[a] << 7 | NARROW[b] << 10 | n >> 3 << 17 | 1 << 23 | m >> 7 << 27
    opcode = f"cta_group::{group}.kind::mxf8f6f4.block_scale.scale_vec::1X"
    expected = scaled_sums(values_a, values_b, scale_a, scale_b)
    scaled(stored, (factors_a, factors_b), expected, (m, group, n), (steps, 1), (descriptor, opcode))


@pytest.mark.parametrize(
    ("m", "group", "n", "kind", "factor", "count"),
    [(*shape, *HALF_BYTES[number % 3]) for number, shape in enumerate(SHAPES)],
)
def test_products_of_half_bytes_with_two_or_four_factors(
    m: int, group: int, n: int, kind: str, factor: str, count: int
) -> None:
    rng = np.random.default_rng(n + count)
    steps = 1 if (m, group) == (128, 2) and count == 4 else 2
    k = 64 * steps
    (codes_a, values_a), (codes_b, values_b) = elements(rng, "e2m1", m, k), elements(rng, "e2m1", n, k)
    factors_a, scale_a = scales(rng, factor, m, steps * count)
    factors_b, scale_b = scales(rng, factor, n, steps * count)
    descriptor = 1 << 7 | 1 << 10 | n >> 3 << 17 | (factor == "ue8m0") << 23 | m >> 7 << 27
    opcode = f"cta_group::{group}.kind::{kind}.block_scale.scale_vec::{count}X"
    expected = scaled_sums(values_a, values_b, scale_a, scale_b)
    stored = [pairs(codes_a), pairs(codes_b)]
    scaled(stored, (factors_a, factors_b), expected, (m, group, n), (steps, count), (descriptor, opcode))


def scaled(
    stored: list[Any],
    factors: tuple[Any, Any],
    expected: tuple[Any, Any],
    shape: tuple[int, int, int],
    sizes: tuple[int, int],
    words: tuple[int, str],
) -> None:
    """Run a block-scaled MMA, and compare its accumulators with NumPy."""
    (m, group, n), (steps, count), (descriptor, opcode) = shape, sizes, words
    macros = {"GROUP": group, "M": m, "N": n, "STEPS": steps, "FACTORS": count, "IDESC": descriptor}
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    ptx = ptx_of(SCALED, *defined, f'-DOPCODE="{opcode}"', arch="sm_100a")
    blocks = (n + 127) // 128
    shared = (m + n) // group * steps * 32 + (steps * count + 3) // 4 * (1 + max(blocks, group)) * 512
    d = np.zeros((m, n), np.uint32)
    launched(ptx, group, shared, [*stored, *factors, d], **SCHEDULES[n // 8 % 3])
    same(d, *expected)


@pytest.mark.parametrize("n", [64, 128, 256])
@pytest.mark.parametrize(("vector", "factor", "count"), [("block16", "ue4m3", 6), ("block32", "ue8m0", 3)])
def test_products_of_96_elements_take_factors_across_words(n: int, vector: str, factor: str, count: int) -> None:
    rng = np.random.default_rng(n)
    k = 96 * 8
    (codes_a, values_a), (codes_b, values_b) = elements(rng, "e2m1", 128, k), elements(rng, "e2m1", n, k)
    (factors_a, scale_a), (factors_b, scale_b) = scales(rng, factor, 128, 8 * count), scales(rng, factor, n, 8 * count)
    descriptor = 1 << 7 | 1 << 10 | n >> 3 << 17 | (factor == "ue8m0") << 23 | 1 << 27 | 1 << 31
    macros = {"GROUP": 1, "N": n, "FACTORS": count, "IDESC": f"{descriptor}u"}
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    opcode = f"cta_group::1.kind::mxf4nvf4.block_scale.{vector}"
    ptx = ptx_of(DEEP, *defined, f'-DOPCODE="{opcode}"', FOR_103, arch="sm_103a")
    shared = (128 + n) * 384 + 2 * count * (1 + (n + 127) // 128) * 512
    d = np.zeros((128, n), np.uint32)
    launched(ptx, 1, shared, [pairs(codes_a), pairs(codes_b), factors_a, factors_b, d])
    same(d, *scaled_sums(values_a, values_b, scale_a, scale_b))


Listed = dict[int, tuple[int, ...]]
TWO_OF_FOUR: Listed = {0b0100: (0, 1), 0b1000: (0, 2), 0b1100: (0, 3), 0b1001: (1, 2), 0b1101: (1, 3), 0b1110: (2, 3)}
ONE_OF_TWO: Listed = {0b0100: (0,), 0b1110: (1,)}


def expanded(stored: Any, codes: Any, listed: Listed, chunk: int) -> Any:
    """Return the dense rows of a sparse matrix: stored elements at the positions that the metadata codes select."""
    rows = np.zeros((*codes.shape, chunk))
    kept = stored.reshape(*codes.shape, -1)
    for row, column in product(*map(range, codes.shape)):
        rows[row, column, list(listed[int(codes[row, column])])] = kept[row, column]
    return rows.reshape(len(rows), -1)


def numbers(rng: Any, name: str, rows: int, count: int) -> tuple[Any, Any]:
    """Return random elements of A or B as bytes in memory, and the numbers that they encode."""
    if name in TYPES:
        codes, values = elements(rng, name, rows, count)
        return (pairs(codes) if name == "e2m1" else codes), values
    if name == "s8":
        whole = rng.integers(-128, 128, (rows, count)).astype(np.int8)
        return whole.view(np.uint8), whole.astype(np.float64)
    fractions = (rng.integers(-512, 512, (rows, count)) / 32).astype(np.float32 if name == "tf32" else np.float16)
    return fractions.view(np.uint8), fractions.astype(np.float64)


def sparse(kind: str, name: str, m: int, n: int, **macros: Any) -> None:
    """Run sparse MMAs, and compare their accumulators with NumPy."""
    rng = np.random.default_rng(m + n)
    chunk = {"tf32": 2, "mxf4": 8}.get(kind, 4)
    listed = ONE_OF_TWO if kind == "tf32" else TWO_OF_FOUR
    together = 2 if kind == "mxf4" else 1
    codes = rng.choice(sorted(listed), (m, 32)).astype(np.uint8)
    bytes_a, stored = numbers(rng, name, m, 32 * chunk // 2)
    bytes_b, values_b = numbers(rng, name, n, 32 * chunk)
    each = {code: tuple(at * together + i for at in places for i in range(together)) for code, places in listed.items()}
    a = expanded(stored, codes, each, chunk)
    if kind.startswith("mx"):
        macros |= {"FACTORS": 1}
        values_b = 2 * values_b
    banded = kind in {"f16", "tf32"}
    steps = 4 if banded else 2
    words = {
        "GROUP": 1,
        "M": m,
        "N": n,
        "STEPS": steps,
        "BANDED": int(banded),
        "IDESC": sparse_descriptor(kind, name, m, n),
    }
    defined = {"LANE": 0, "STATIONARY": 0, "COPIED": 0, **words, **macros}
    opcode = f"{'ws.' * defined['STATIONARY']}sp.cta_group::1.kind::{kind}{'.block_scale' * ('FACTORS' in macros)}"
    ptx = ptx_of(
        SPARSE, *[f"-D{name}={value}" for name, value in defined.items()], f'-DOPCODE="{opcode}"', arch="sm_100a"
    )
    d = np.zeros((m, n), np.uint32)
    shared = (m * 32 + n * 64) * steps + 128 * 16
    launched(ptx, 1, shared, [bytes_a, bytes_b, codes, d], **SCHEDULES[m // 32 % 3])
    if kind == "i8":
        assert (d.view(np.int32) == a @ values_b.T).all()
    else:
        same(d, a @ values_b.T, np.abs(a) @ np.abs(values_b).T)


def sparse_descriptor(kind: str, name: str, m: int, n: int) -> int:
    """Return the instruction descriptor of a sparse MMA."""
    code = {"f16": 0, "tf32": 2, "e4m3": 0, "e5m2": 1, "s8": 1, "e2m1": 1}[name]
    common = 1 << 2 | code << 7 | code << 10 | n >> 3 << 17
    if kind.startswith("mx"):
        return common | 1 << 23 | m >> 7 << 27
    return common | (2 if kind == "i8" else 1) << 4 | m >> 4 << 24


KINDS = [("f16", "f16"), ("tf32", "tf32"), ("f8f6f4", "e4m3"), ("f8f6f4", "e5m2"), ("i8", "s8")]


@pytest.mark.parametrize(("kind", "name"), [*KINDS, ("mxf8f6f4", "e4m3"), ("mxf4", "e2m1")])
def test_products_of_a_sparse_matrix_whose_metadata_were_copied(kind: str, name: str) -> None:
    sparse(kind, name, 128, 32, COPIED=1)


@pytest.mark.parametrize(("kind", "name"), KINDS)
@pytest.mark.parametrize("lane", [0, 16])
def test_products_of_a_sparse_matrix_in_half_of_the_lanes(kind: str, name: str, lane: int) -> None:
    sparse(kind, name, 64, 24, LANE=lane)


@pytest.mark.parametrize(("kind", "name"), KINDS)
@pytest.mark.parametrize("m", [32, 64, 128])
def test_weight_stationary_products_of_a_sparse_matrix(kind: str, name: str, m: int) -> None:
    sparse(kind, name, m, 64, STATIONARY=1)


@pytest.mark.parametrize(("name", "source"), [("e2m1", "b4x16_p64"), ("e3m2", "b6x16_p32"), ("e2m3", "b6x16_p32")])
def test_products_of_a_matrix_that_was_decompressed_into_tensor_memory(name: str, source: str) -> None:
    rng = np.random.default_rng(5)
    n, steps = 48, 3
    codes_a, values_a = elements(rng, name, 128, 32 * steps)
    codes_b, values_b = elements(rng, "e4m3", n, 32 * steps)
    descriptor = 1 << 4 | NARROW[name] << 7 | n >> 3 << 17 | 8 << 24
    macros = {"GROUP": 1, "N": n, "STEPS": steps, "IDESC": descriptor, "COPY": f"tcgen05_cp_128x256b_b8x16_{source}"}
    ptx = ptx_of(DECOMPRESSED, *[f"-D{name}={value}" for name, value in macros.items()], arch="sm_100a")
    d = np.zeros((128, n), np.uint32)
    launched(ptx, 1, (128 + n) * steps * 32, [padded(codes_a, TYPES[name][1]), codes_b, d])
    same(d, values_a @ values_b.T, np.abs(values_a) @ np.abs(values_b).T)


@pytest.mark.parametrize("filled", [None, 0, 31])
def test_a_shift_moves_all_rows_of_each_warp_but_the_last(filled: int | None) -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(0, 2**32, (128, 8), np.uint32)
    rows = rng.integers(0, 2**32, (4, 8), np.uint32)
    expected = np.roll(x, -1, axis=0)
    expected[31::32] = x[31::32]
    if filled is not None:
        expected[filled::32] = rows
    ptx = ptx_of(SHIFTED, "-DGROUP=1", "-DPLAIN" if filled is None else f"-DFILLED={filled}", arch="sm_100a")
    for schedule in SCHEDULES:
        y = np.zeros_like(x)
        launched(ptx, 1, 1024, [x, rows, y], **schedule)
        assert (y == expected).all()
