"""Block-scaled MMA on the simulator, compared with an independent model of the MX formats.

Fragments are copied from the manual's formulas: "Matrix Fragments for mma.m16n8k32", "… m16n8k64", "… sparse
mma.m16n8k64", "… sparse mma.m16n8k128"; scale factors from "Block Scaling for mma.sync".
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyptx_sim import Result, run

FORMATS: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}
BITS = {"e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}
M, N = 16, 8


@dataclass(frozen=True)
class Kind:
    """Kind of block-scaled mma: its modifier, bits per element in a register, and scale factors along K."""

    word: str
    held: int
    scales: int
    scale: str = "ue8m0"

    @property
    def packed(self) -> bool:
        return self.held == 4

    def depth(self, *, sparse: bool) -> int:
        return (64 if self.packed else 32) * (2 if sparse else 1)


KINDS = {
    "mxf8f6f4": Kind("mxf8f6f4.block_scale", 8, 1),
    "mxf8f6f4 1X": Kind("mxf8f6f4.block_scale.scale_vec::1X", 8, 1),
    "mxf4": Kind("mxf4.block_scale", 4, 2),
    "mxf4 2X": Kind("mxf4.block_scale.scale_vec::2X", 4, 2),
    "mxf4nvf4 2X": Kind("mxf4nvf4.block_scale.scale_vec::2X", 4, 2),
    "mxf4nvf4 4X": Kind("mxf4nvf4.block_scale.scale_vec::4X", 4, 4),
    "nvf4": Kind("mxf4nvf4.block_scale.scale_vec::4X", 4, 4, "ue4m3"),
}
PAIRS = [("e4m3", "e5m2"), ("e5m2", "e2m3"), ("e2m3", "e3m2"), ("e3m2", "e2m1"), ("e2m1", "e4m3")]
CASES = [
    (name, types, sparse)
    for name, kind in KINDS.items()
    for types in ([("e2m1", "e2m1")] if kind.packed else PAIRS)
    for sparse in (False, True)
]

# --- the model ----------------------------------------------------------------------------------


def value(codes: Any, element: str) -> Any:
    return np.asarray(codes, np.uint8).view(FORMATS[element]).astype(np.float64)


def scale(codes: Any, kind: Kind) -> Any:
    wanted = ml_dtypes.float8_e8m0fnu if kind.scale == "ue8m0" else ml_dtypes.float8_e4m3fn
    return np.asarray(codes, np.uint8).view(wanted).astype(np.float64)


def finite_codes(random: np.random.Generator, element: str, shape: tuple[int, ...]) -> Any:
    codes = random.integers(0, 1 << BITS[element], shape, dtype=np.uint8)
    return np.where(np.isfinite(value(codes, element)), codes, 1)


@dataclass
class Matrices:
    """Element codes of A (dense, with zeros) and B, their scale factors, and C."""

    a: Any
    b: Any
    of_a: Any
    of_b: Any
    c: Any
    kept: Any = None  # indices of the stored columns in each row of a sparse A

    def product(self, kind: Kind, types: tuple[str, str]) -> tuple[Any, Any]:
        """Return D in float64, and the D computed from the magnitudes of A, B and C."""
        length = self.a.shape[1] // kind.scales
        a = value(self.a, types[0]) * np.repeat(scale(self.of_a, kind), length, axis=1)
        b = value(self.b, types[1]) * np.repeat(scale(self.of_b, kind), length, axis=0)
        return a @ b + self.c, np.abs(a) @ np.abs(b) + np.abs(self.c)


def drawn(kind: Kind, types: tuple[str, str], *, sparse: bool, seed: int = 0) -> Matrices:
    random = np.random.default_rng(seed)
    k = kind.depth(sparse=sparse)
    a = finite_codes(random, types[0], (M, k))
    b = finite_codes(random, types[1], (k, N))
    low, high = (120, 135) if kind.scale == "ue8m0" else (1, 0x7F)
    of_a = random.integers(low, high, (M, kind.scales), dtype=np.uint8)
    of_b = random.integers(low, high, (kind.scales, N), dtype=np.uint8)
    found = Matrices(a, b, of_a, of_b, random.standard_normal((M, N)).astype(np.float32))
    if sparse:
        found.kept = kept(random, k, 2 if kind.packed else 1)
        mask = np.zeros((M, k), np.bool_)
        np.put_along_axis(mask, found.kept, values=True, axis=1)
        found.a = np.where(mask, a, 0)
    return found


def kept(random: np.random.Generator, k: int, together: int) -> Any:
    """Return the columns that each row of a sparse A stores: two of four elements, or two of four pairs."""
    chunk = 4 * together
    rows = []
    for _ in range(M):
        row: list[int] = []
        for start in range(0, k, chunk):
            for place in sorted(random.choice(4, 2, replace=False).tolist()):
                row += range(start + place * together, start + (place + 1) * together)
        rows.append(row)
    return np.array(rows)


# --- registers ----------------------------------------------------------------------------------


def held(codes: Any, element: str, bits: int) -> Any:
    """Return element codes as bytes or nibbles of a register: an unpacked e2m1 is in bits 2-5 of its byte."""
    return codes.astype(np.uint32) << np.uint32(2 if element == "e2m1" and bits == 8 else 0)


def word(codes: Any, bits: int) -> int:
    return sum(int(code) << (bits * place) for place, code in enumerate(codes))


def a_registers(a: Any, bits: int) -> Any:
    """Return registers a0 to a3 of each lane: rows g and g + 8 of A, then the same rows K / 2 further."""
    per, half = 32 // bits, a.shape[1] // 2
    found = np.zeros((32, 4), np.uint32)
    for lane in range(32):
        group, inside = divmod(lane, 4)
        for register in range(4):
            row, start = group + 8 * (register & 1), inside * per + half * (register >> 1)
            found[lane, register] = word(a[row, start : start + per], bits)
    return found


def b_registers(b: Any, bits: int) -> Any:
    """Return the registers of B of each lane: consecutive rows of column g."""
    per = 32 // bits
    count = b.shape[0] // (4 * per)
    found = np.zeros((32, count), np.uint32)
    for lane in range(32):
        group, inside = divmod(lane, 4)
        for register in range(count):
            start = inside * per + 4 * per * register
            found[lane, register] = word(b[start : start + per, group], bits)
    return found


def scale_register(codes: Any, lane_of: Any, selector: tuple[int, int], random: np.random.Generator) -> Any:
    """Return the scale factor register, with random bits in unused bytes and lanes; `codes` has a row per lane."""
    byte, thread = selector
    found = random.integers(0, 1 << 32, 32, dtype=np.uint64).astype(np.uint32)
    octets = found.view(np.uint8).reshape(32, 4)
    for number, row in enumerate(codes):
        octets[lane_of(number, thread), byte : byte + len(row)] = row
    return found


def lane_of_row(row: int, thread: int) -> int:
    return row % 8 * 4 + row // 8 + 2 * thread


def lane_of_column(column: int, thread: int) -> int:
    return column * 4 + thread


def metadata_register(columns: Any, together: int) -> Any:
    """Return the metadata registers: lane 4g + 2h + r has the codes of row g + 8r of A for half h of K."""
    found = np.zeros(32, np.uint32)
    for row in range(M):
        places = [int(column) // together % 4 for column in columns[row][::together]]
        halves = np.array(places).reshape(2, -1)
        for half in range(2):
            lane = row % 8 * 4 + (row // 8) + 2 * half
            found[lane] = word(halves[half], 2)
    return found


def kernel(kind: Kind, types: tuple[str, str], selectors: str, *, sparse: bool, b_count: int) -> str:
    k = kind.depth(sparse=sparse)
    variant = "mma.sp::ordered_metadata" if sparse else "mma"
    opcode = f"{variant}.sync.aligned.m16n8k{k}.row.col.kind::{kind.word}.f32.{types[0]}.{types[1]}.f32.{kind.scale}"
    total = 4 + b_count + 4 + 3
    loads = "\n".join(f"ld.global.b32 %r{number}, [%rd1+{4 * number}];" for number in range(total))
    names = [f"%r{number}" for number in range(total)]
    a, b, c = names[:4], names[4 : 4 + b_count], [f"%f{number}" for number in range(4)]
    moves = "\n".join(f"mov.b32 {f}, {r};" for f, r in zip(c, names[4 + b_count : 8 + b_count], strict=True))
    metadata = f", {names[-1]}, 0" if sparse else ""
    first, second = (f"{names[at]}, {chosen}" for at, chosen in zip((-3, -2), selectors.split("|"), strict=True))
    fragments = ", ".join(f"{{{', '.join(part)}}}" for part in (a, b))
    stores = "\n".join(f"st.global.f32 [%rd2+{4 * number}], %f{4 + number};" for number in range(4))
    return f"""
.version 9.1
.target sm_120a
.address_size 64
.visible .entry k(.param .u64 given, .param .u64 out)
{{
.reg .b64 %rd<5>; .reg .b32 %r<40>; .reg .f32 %f<8>; .reg .b16 %h<4>;
ld.param.u64 %rd1, [given];
ld.param.u64 %rd2, [out];
mov.u32 %r39, %tid.x;
mad.wide.u32 %rd1, %r39, {4 * total}, %rd1;
mad.wide.u32 %rd2, %r39, 16, %rd2;
mov.b16 %h0, 1;
mov.b16 %h1, 0;
{loads}
{moves}
{opcode} {{%f4, %f5, %f6, %f7}}, {fragments}, {{{", ".join(c)}}}{metadata}, {first}, {second};
{stores}
ret;
}}
"""


def sums(
    kind: Kind,
    types: tuple[str, str],
    given: Matrices,
    selectors: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0)),
    said: str = "",
    **options: Any,
) -> tuple[Any, Result]:
    sparse = given.kept is not None
    random = np.random.default_rng(5)
    stored = np.take_along_axis(given.a, given.kept, axis=1) if sparse else given.a
    c = np.zeros((32, 4), np.float32)
    for lane in range(32):
        for place in range(4):
            c[lane, place] = given.c[lane // 4 + 8 * (place >> 1), lane % 4 * 2 + (place & 1)]
    columns = [
        a_registers(held(stored, types[0], kind.held), kind.held),
        b_registers(held(given.b, types[1], kind.held), kind.held),
        c.view(np.uint32),
        scale_register(given.of_a, lambda row, thread: row % 8 * 4 + row // 8 + 2 * thread, selectors[0], random)[
            :, None
        ],
        scale_register(given.of_b.T, lane_of_column, selectors[1], random)[:, None],
        metadata_register(given.kept, 2 if kind.packed else 1)[:, None] if sparse else np.zeros((32, 1), np.uint32),
    ]
    out = np.zeros((32, 4), np.float32)
    text = said or "|".join(f"{{{byte}, {thread}}}" for byte, thread in selectors)
    ptx = kernel(kind, types, text, sparse=sparse, b_count=columns[1].shape[1])
    result = run(ptx, grid=1, block=32, args=[np.concatenate(columns, axis=1), out], **options)
    d = np.zeros((M, N), np.float32)
    for lane in range(32):
        for place in range(4):
            d[lane // 4 + 8 * (place >> 1), lane % 4 * 2 + (place & 1)] = out[lane, place]
    return d, result


# --- tests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_product_is_that_of_the_scaled_matrices(case: tuple[str, tuple[str, str], bool], numerics: str) -> None:
    name, types, sparse = case
    kind = KINDS[name]
    given = drawn(kind, types, sparse=sparse)
    actual, result = sums(kind, types, given, numerics=numerics)
    assert result.findings == ()
    wanted, size = given.product(kind, types)
    assert np.abs(wanted).max() > 1
    np.testing.assert_array_less(np.abs(actual - wanted), 2.0**-20 * size + 1e-30)


def selections(kind: Kind) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    first = {1: range(4), 2: (0, 2), 4: (0,)}[kind.scales]
    return [((byte, thread % 2), (byte, thread)) for byte in first for thread in range(4)]


@pytest.mark.parametrize("name", ["mxf8f6f4", "mxf4", "nvf4"])
def test_selectors_choose_lanes_and_bytes(name: str) -> None:
    kind = KINDS[name]
    types = ("e2m1", "e2m1")
    given = drawn(kind, types, sparse=False)
    wanted = sums(kind, types, given)[0]
    for selectors in selections(kind):
        np.testing.assert_array_equal(sums(kind, types, given, selectors)[0], wanted, str(selectors))


def test_selectors_may_come_in_registers() -> None:
    kind, types = KINDS["mxf8f6f4"], ("e4m3", "e4m3")
    given = drawn(kind, types, sparse=False)
    wanted = sums(kind, types, given)[0]
    actual, result = sums(kind, types, given, ((1, 0), (1, 1)), "{%h0, %h1}|{%h0, %h0}")
    assert result.findings == ()
    np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("name", ["mxf8f6f4", "mxf4", "nvf4"])
@pytest.mark.parametrize("variant", ["dense", "sparse"])
def test_exact_sums_are_cut_off_below_the_largest_term(name: str, variant: str) -> None:
    """Terms are truncated `fraction` bits below the greatest exponent, the sum is rounded towards zero.

    A term of packed elements is 16 products with the exponent of their scale factors.
    """
    kind = KINDS[name]
    types = ("e2m1", "e2m1") if kind.packed else ("e5m2", "e4m3")
    fraction = 35 if kind.packed else 25
    given = drawn(kind, types, sparse=variant == "sparse", seed=3)
    random = np.random.default_rng(4)
    if kind.scale == "ue8m0":  # exponents so far apart that the MMA truncates terms
        given.of_a = random.integers(90, 150, given.of_a.shape, dtype=np.uint8)
    given.c = (random.standard_normal((M, N)) * 2.0 ** random.integers(-40, 30, (M, N))).astype(np.float32)
    actual, _ = sums(kind, types, given, numerics="exact")
    length = given.a.shape[1] // kind.scales
    for row in range(0, M, 3):
        for column in range(N):
            terms = []
            for k in range(given.a.shape[1]):
                if given.kept is not None and k not in given.kept[row]:
                    continue
                factors = (
                    (value(given.a[row, k], types[0]), types[0], scale(given.of_a[row, k // length], kind)),
                    (value(given.b[k, column], types[1]), types[1], scale(given.of_b[k // length, column], kind)),
                )
                terms.append(term(*factors))
            if kind.packed:
                count = len(terms) // kind.scales
                terms = [
                    (sum(number for number, _ in terms[k : k + 16]), power(given, kind, row, column, k // count))
                    for k in range(0, len(terms), 16)
                ]
            assert actual[row, column] == cut_off(terms, float(given.c[row, column]), fraction), (row, column)


LEAST = {"e5m2": -14, "e4m3": -6, "e2m1": 0}


def term(*factors: tuple[Any, str, Any]) -> tuple[Fraction, int]:
    """Return the scaled elements' product, and the sum of the exponents of elements and scale factors."""
    product, exponent = Fraction(1), 0
    for number, element, factor in factors:
        product *= Fraction(float(number)) * Fraction(float(factor))
        exponent += max(int(np.frexp(number * factor)[1]) - 1, LEAST[element] + int(np.frexp(factor)[1]) - 1)
    return product, exponent if product else -126


def power(given: Any, kind: Any, row: int, column: int, part: int) -> int:
    """Return the sum of the exponents of A's and B's scale factors for a row and a column in one part of K."""
    both = scale(given.of_a[row, part], kind), scale(given.of_b[part, column], kind)
    return sum(int(np.frexp(each)[1]) - 1 for each in both)


def cut_off(terms: list[tuple[Fraction, int]], c: float, fraction: int) -> float:
    given = [*terms, (Fraction(c), max(int(np.frexp(c)[1]) - 1, -126))]
    greatest = max([exponent for number, exponent in terms if number or kept] + [given[-1][1]] * bool(c), default=-126)
    unit = Fraction(2) ** (greatest - fraction)
    total = sum(int(number / unit) for number, _ in given) * unit
    near = np.float32(float(total))
    return float(np.nextafter(near, np.float32(0)) if abs(Fraction(float(near))) > abs(total) else near)


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_a_scale_that_is_no_number_spoils_its_row_or_column(numerics: str) -> None:
    kind, types = KINDS["mxf8f6f4"], ("e4m3", "e4m3")
    given = drawn(kind, types, sparse=False)
    given.of_a[3], given.of_b[:, 5] = 0xFF, 0xFF
    actual, _ = sums(kind, types, given, numerics=numerics)
    spoilt = np.zeros((M, N), np.bool_)
    spoilt[3], spoilt[:, 5] = True, True
    np.testing.assert_array_equal(np.isnan(actual), spoilt)
    assert set(actual.view(np.uint32)[spoilt]) == {0x7FFFFFFF}


def test_scales_that_nobody_has_written_are_found_and_those_that_nobody_chooses_are_not() -> None:
    """Of four lanes, two provide A's scale factors and one provides B's: other lanes' registers may be undefined."""
    kind, types = KINDS["mxf8f6f4"], ("e4m3", "e4m3")
    text = kernel(kind, types, "{0, 0}|{0, 0}", sparse=False, b_count=2)
    guarded = "and.b32 %r38, %r39, 3;\nsetp.lt.u32 %p0, %r38, LIMIT;\n@%p0 ld.global.b32 %r10, [%rd1+40];"
    text = text.replace(".reg .b16", ".reg .pred %p<2>; .reg .b16")
    given = np.ones((32, 13), np.uint32)
    for limit, clean in ((2, True), (1, False)):
        body = text.replace("ld.global.b32 %r10, [%rd1+40];", guarded.replace("LIMIT", str(limit)))
        result = run(body, grid=1, block=32, args=[given, np.zeros((32, 4), np.float32)])
        assert ({finding.rule for finding in result.findings} == set()) is clean
