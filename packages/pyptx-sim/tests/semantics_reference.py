"""Harness of the semantics tests: edge values, and exact rounding with fractions.

It uses neither NumPy's arithmetic nor the package's: integers are Python's, rounding is done on `Fraction`.
"""

from __future__ import annotations

import itertools
import math
import random
import re
import struct
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pytest
from tools.shares import full

from pyptx_ir.isa.binding import bound
from pyptx_ir.syntax import parse_instruction
from pyptx_ir.syntax.operands import Vector
from pyptx_sim.semantics import ROWS, NoSemantics
from pyptx_sim.semantics.meaning import operation_of
from pyptx_sim.types import dtype_of

__all__ = ["ROWS", "NoSemantics"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Operation

T = TypeVar("T")

# By default each instruction is tested with a third of the values of a full run (`nox -s kernels`).
SHARE = full(1, default=3)

_ROWS = {row.opcode: [each for each in ROWS if each.opcode == row.opcode] for row in ROWS}

# Opcodes that reference tests have run; `test_semantics_without_reference` runs last and checks it.
EXERCISED: set[tuple[str, ...]] = set()

# --- harness ------------------------------------------------------------------------------------


def form_of(text: str) -> Bound:
    """Return the instruction `text`, bound to its form in the instruction table."""
    instruction = parse_instruction(text)
    form = bound(instruction, lambda _name: "")
    if form is None:
        raise NoSemantics(instruction, "no row of the instruction table has this form")
    return form


def bind(text: str) -> Operation:
    """Bind the instruction `text` to its semantics; the rows with the longest opcode prefix apply."""
    form = form_of(text)
    instruction = form.instruction
    for count in range(len(instruction.opcode), 0, -1):
        rows = _ROWS.get(".".join(instruction.opcode[:count]))
        if rows is not None:
            return operation_of(rows, form)
    raise LookupError(f"no semantics row for {text}")


def by_opcode(cases: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return cases as pytest parameters with the opcode (first element) as id; Blackwell opcodes are marked."""
    newer = re.compile(r"kind::f8f6f4|ordered_metadata.*\.f16\.e4m3\.e5m2\.f16$")
    marks = ([pytest.mark.blackwell] if newer.search(case[0]) else [] for case in cases)
    return [pytest.param(*case, marks=each, id=case[0]) for case, each in zip(cases, marks, strict=True)]


def is_form(text: str) -> bool:
    """Return whether the instruction `text` matches a form of the instruction table."""
    return bound(parse_instruction(text), lambda _name: "") is not None


def exercise(text: str) -> Operation:
    """Bind the instruction `text` for a comparison with a reference, and record its opcode as tested."""
    operation = bind(text)
    EXERCISED.add(parse_instruction(text).opcode)
    return operation


def array(values: Sequence[object], ptx_type: str) -> np.ndarray:
    """Return values as one row of lanes; for float and packed types, ints are bit patterns."""
    dtype = dtype_of(ptx_type)
    if dtype.kind == "b":
        return np.array(values, dtype)[None, :]
    if dtype.kind == "V":
        words = [(int(v) & (2**64 - 1), int(v) >> 64) for v in values]
        return np.array(words, dtype)[None, :]
    size = dtype.itemsize
    mask = (1 << (8 * size)) - 1
    return np.array([int(v) & mask for v in values], f"<u{size}").view(dtype)[None, :]


def numbers(values: np.ndarray) -> list[int | bool]:
    """Return an array of results as Python values: floats and packed values as bits, integers with their sign."""
    flat = np.broadcast_to(values, np.broadcast_shapes(values.shape)).reshape(-1)
    if values.dtype.kind == "f":
        flat = np.ascontiguousarray(flat).view(f"<u{values.dtype.itemsize}")
    if values.dtype.kind == "V":
        return [int(low) | int(high) << 64 for low, high in flat]
    return [value.item() for value in flat]


def read_columns(text: str, operation: Operation, columns: Sequence[T]) -> list[T]:
    """Return the columns of the sources that `operation` reads at run time, without those bound as constants."""
    written, read = operation.places or ((), ())
    inputs = [
        index
        for index, operand in enumerate(parse_instruction(text).operands)
        if index not in written
        for _ in (operand.elements if isinstance(operand, Vector) else (operand,))
    ]
    return [column for index, column in zip(inputs, columns, strict=True) if index in read]


def run(text: str, *columns: Sequence[object], carry: Sequence[bool] | None = None) -> tuple[list[int | bool], ...]:
    """Run the instruction `text` on columns of source values (an array per source); return the columns of results."""
    operation = exercise(text)
    read = read_columns(text, operation, columns)
    sources = [array(column, kind) for column, kind in zip(read, operation.sources, strict=True)]
    originals = [source.copy() for source in sources]
    if carry is not None:
        sources.append(np.array(carry)[None, :])
    with np.errstate(all="ignore"):
        results = operation.compute(*sources)
    for source, original in zip(sources, originals, strict=False):
        assert source.tobytes() == original.tobytes(), f"{text} modified a source array"
    if not isinstance(results, tuple):
        results = (results,)
    kinds = operation.results + (("pred",) if operation.writes_carry else ())
    assert [result.dtype for result in results] == [dtype_of(kind) for kind in kinds], text
    return tuple(numbers(result) for result in results)


def check(text: str, reference: Callable[..., object], columns: Sequence[Sequence[object]]) -> None:
    """Assert that `text` computes `reference(*sources)` for every row of `columns`, bit for bit."""
    results = run(text, *columns)
    wrong = []
    for index, row in enumerate(zip(*columns, strict=True)):
        expected = reference(*row)
        actual = tuple(column[index] for column in results)
        actual = actual[0] if len(actual) == 1 else actual
        if actual != expected:
            wrong.append((row, actual, expected))
    assert not wrong, f"{text}: {len(wrong)} of {len(columns[0])} wrong, first {wrong[0]}"


# --- integers -----------------------------------------------------------------------------------


def width(ptx_type: str) -> int:
    return 8 * dtype_of(ptx_type).itemsize


def wrap(value: int, ptx_type: str) -> int:
    """Return `value` modulo the type's range, with its sign."""
    bits = width(ptx_type)
    value &= (1 << bits) - 1
    return value - (1 << bits) if ptx_type[0] == "s" and value >> (bits - 1) else value


def limits(ptx_type: str) -> tuple[int, int]:
    bits = width(ptx_type)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if ptx_type[0] == "s" else (0, (1 << bits) - 1)


def clamp(value: int, ptx_type: str) -> int:
    low, high = limits(ptx_type)
    return min(max(value, low), high)


def integer_edges(ptx_type: str) -> list[int]:
    low, high = limits(ptx_type)
    bits = width(ptx_type)
    picks = {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 255, low, low + 1, high, high - 1, high // 2, high // 3, -1, -2, -7}
    picks |= {1 << shift for shift in range(0, bits, 5)} | {0x5A5A5A5A5A5A5A5A, 0x8000, 0x7FFF, 0x80, 0xFF00FF}
    return sorted({wrap(pick, ptx_type) for pick in picks})


def integer_columns(kinds: Sequence[str], count: int = 600 // SHARE, seed: int = 7) -> list[list[int]]:
    """Return integer inputs, a column per source: edge values (1 or 2 sources: a sample of pairs) and random values."""
    return [list(column) for column in _integer_columns(tuple(kinds), count, seed)]


@cache
def _integer_columns(kinds: tuple[str, ...], count: int, seed: int) -> list[tuple[int, ...]]:
    source = random.Random(f"{list(kinds)}{seed}")
    edges = [integer_edges(kind) if kind != "pred" else [False, True] for kind in kinds]
    rows: list[tuple[int, ...]] = []
    if len(kinds) <= 2:
        rows += itertools.product(*edges)
        rows = source.sample(rows, min(len(rows), max(len(rows) // SHARE, 100)))
    rows += [
        tuple(
            source.choice(edge) if kind == "pred" or source.random() < 0.4 else source.randint(*limits(kind))
            for kind, edge in zip(kinds, edges, strict=True)
        )
        for _ in range(count)
    ]
    return list(zip(*rows, strict=True))


# --- floats -------------------------------------------------------------------------------------

# Float type -> (bits, mantissa bits without the hidden bit).
FORMATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}


@lru_cache(maxsize=1 << 16)  # cached: many tests decode the same numbers
def decode(bits: int, kind: str) -> Fraction | str:
    """Return the number that float bits encode as a fraction, or `"nan"`, `"inf"`, `"-inf"`, `"-0"`."""
    total, mantissa_bits = FORMATS[kind]
    exponent_bits = total - 1 - mantissa_bits
    sign = bits >> (total - 1)
    exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = bits & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        return "nan" if mantissa else ("-inf" if sign else "inf")
    if exponent == 0:
        value = mantissa * power(1 - bias - mantissa_bits)
    else:
        value = ((1 << mantissa_bits) + mantissa) * power(exponent - bias - mantissa_bits)
    if value == 0 and sign:
        return "-0"
    return -value if sign else value


@cache
def power(exponent: int) -> Fraction:
    """Return 2 ** `exponent` as a fraction."""
    return Fraction(2) ** exponent


def encode(value: Fraction | str, kind: str, mode: str = "rn") -> int | str:
    """Return the bits of `value` rounded to `kind` in direction `mode`; NaN as `"nan"`."""
    total, mantissa_bits = FORMATS[kind]
    exponent_bits = total - 1 - mantissa_bits
    top = ((1 << exponent_bits) - 1) << mantissa_bits
    sign_bit = 1 << (total - 1)
    if isinstance(value, str):
        return {"nan": "nan", "inf": top, "-inf": top | sign_bit, "-0": sign_bit}[value]
    negative, size = value < 0, abs(value)
    if size == 0:
        return 0
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = max(exponent_of(size), 1 - bias)
    count = units(size, exponent - mantissa_bits, mode, negative=negative)
    # A carry out of the mantissa increments the exponent. For a normal number, `count` includes the hidden bit.
    magnitude = ((exponent + bias - 1) << mantissa_bits) + count
    if magnitude >= top:
        to_infinity = mode in {"rn", "rna"} or (mode == "rp" and not negative) or (mode == "rm" and negative)
        magnitude = top if to_infinity else top - 1
    return magnitude | (sign_bit if negative else 0)


def exponent_of(size: Fraction) -> int:
    """Return the exponent of the greatest power of two that is not above a positive number."""
    above, below = size.numerator, size.denominator
    exponent = above.bit_length() - below.bit_length()
    fits = below << exponent <= above if exponent >= 0 else below <= above << -exponent
    return exponent if fits else exponent - 1


def units(size: Fraction, exponent: int, mode: str, *, negative: bool) -> int:
    """Return a magnitude rounded to units of `2 ** exponent`; in integers, because this is the hottest function."""
    above, below = size.numerator << max(-exponent, 0), size.denominator << max(exponent, 0)
    count, rest = divmod(above, below)
    return count + round_up(count, rest, mode, negative=negative, of=below)


def round_up(count: int, rest: Fraction | int, mode: str, *, negative: bool, of: int = 1) -> bool:
    """Return whether a magnitude of `count` units and `rest / of` of a unit is rounded away from zero."""
    if mode == "rn":
        return 2 * rest > of or (2 * rest == of and count % 2 == 1)
    if mode == "rna":
        return 2 * rest >= of
    return rest > 0 and mode == ("rm" if negative else "rp")


def is_subnormal(bits: int, kind: str) -> bool:
    total, mantissa_bits = FORMATS[kind]
    exponent = (bits >> mantissa_bits) & ((1 << (total - 1 - mantissa_bits)) - 1)
    return exponent == 0 and bool(bits & ((1 << mantissa_bits) - 1))


def is_tiny(value: Fraction | str, kind: str, mode: str) -> bool:
    """Return whether a nonzero number, rounded with an unbounded exponent, is below the type's normal range."""
    if isinstance(value, str) or value == 0:
        return False
    total, mantissa_bits = FORMATS[kind]
    smallest = 2 - (1 << (total - 2 - mantissa_bits))  # exponent of the smallest normal number of the format
    size = abs(value)
    if size >= power(smallest):
        return False
    unit = exponent_of(size) - mantissa_bits
    return units(size, unit, mode, negative=value < 0) * power(unit) < power(smallest)


def flush(bits: int, kind: str) -> int:
    """Return `bits` with a subnormal number replaced by zero of its sign."""
    return bits & (1 << (FORMATS[kind][0] - 1)) if is_subnormal(bits, kind) else bits


def _negative(value: Fraction | str) -> bool:
    return value.startswith("-") if isinstance(value, str) else value < 0


def _number(value: Fraction | str) -> Fraction:
    return Fraction(0) if value == "-0" else value


def _is_infinite(value: Fraction | str) -> bool:
    return value in {"inf", "-inf"}


def _signed(name: str, *, negative: bool) -> Fraction | str:
    if name == "0":
        return "-0" if negative else Fraction(0)
    return "-inf" if negative else "inf"


def add(a: Fraction | str, b: Fraction | str, mode: str) -> Fraction | str:
    """Return the exact sum of two numbers, a special value, or a zero of the right sign."""
    if "nan" in {a, b} or {a, b} == {"inf", "-inf"}:
        return "nan"
    if _is_infinite(a) or _is_infinite(b):
        return a if _is_infinite(a) else b
    total = _number(a) + _number(b)
    if total:
        return total
    both_zero = _number(a) == 0
    if both_zero and _negative(a) == _negative(b):
        return a
    return _signed("0", negative=mode == "rm")


def multiply(a: Fraction | str, b: Fraction | str) -> Fraction | str:
    if "nan" in {a, b}:
        return "nan"
    negative = _negative(a) != _negative(b)
    if _is_infinite(a) or _is_infinite(b):
        zero = any(not _is_infinite(x) and _number(x) == 0 for x in (a, b))
        return "nan" if zero else _signed("inf", negative=negative)
    product = _number(a) * _number(b)
    return product or _signed("0", negative=negative)


def divide(a: Fraction | str, b: Fraction | str) -> Fraction | str:
    if "nan" in {a, b} or (_is_infinite(a) and _is_infinite(b)):
        return "nan"
    negative = _negative(a) != _negative(b)
    if _is_infinite(a):
        return _signed("inf", negative=negative)
    if _is_infinite(b):
        return _signed("0", negative=negative)
    if _number(b) == 0:
        return "nan" if _number(a) == 0 else _signed("inf", negative=negative)
    return _number(a) / _number(b) or _signed("0", negative=negative)


def root(a: Fraction | str) -> Fraction | str:
    """Return a number's square root to 200 bits and a sticky bit, which rounds like the exact root."""
    if a in {"nan", "inf", "-0"}:
        return a
    if _negative(a):
        return "nan"
    scaled = a * power(2800)
    floor = math.isqrt(int(scaled))
    exact = scaled.denominator == 1 and floor * floor == int(scaled)
    return Fraction(2 * floor + (not exact), 1 << 1401)


def operate(name: str, kind: str, mode: str, *bits: int) -> Fraction | str:
    """Return the exact result of an IEEE operation on bits of `kind`."""
    values = [decode(value, kind) for value in bits]
    match name:
        case "add":
            return add(values[0], values[1], mode)
        case "sub":
            return add(values[0], multiply(values[1], Fraction(-1)), mode)
        case "mul":
            return multiply(*values)
        case "div":
            return divide(*values)
        case "rcp":
            return divide(Fraction(1), values[0])
        case "sqrt":
            return root(values[0])
        case _:
            return add(multiply(values[0], values[1]), values[2], mode)


def saturate(value: Fraction | str) -> Fraction | str:
    if isinstance(value, str):
        return Fraction(1) if value == "inf" else Fraction(0)
    return min(max(value, Fraction(0)), Fraction(1))


def rectify(value: Fraction | str) -> Fraction | str:
    if value == "nan":
        return value
    return Fraction(0) if _negative(value) else value


def float_edges(kind: str) -> list[int]:
    """Return bits of zeros, subnormals, powers of two, their neighbors, extremes, infinities and NaNs."""
    total, mantissa_bits = FORMATS[kind]
    sign, one = 1 << (total - 1), encode(Fraction(1), kind)
    top = ((1 << (total - 1 - mantissa_bits)) - 1) << mantissa_bits
    positive = {0, 1, 2, 3, (1 << mantissa_bits) - 1, 1 << mantissa_bits, (1 << mantissa_bits) + 1}
    positive |= {one - 2, one - 1, one, one + 1, one + 2, encode(Fraction(2), kind), encode(Fraction(3), kind)}
    positive |= {encode(Fraction(1, 3), kind), encode(Fraction(3, 2), kind), encode(Fraction(5, 2), kind)}
    positive |= {top - 1, top - 2, top - (1 << mantissa_bits), top, top + 1, top | (1 << (mantissa_bits - 1))}
    return sorted(positive | {value | sign for value in positive})


def float_columns(kind: str, arity: int, count: int = 250 // SHARE, seed: int = 3) -> list[list[int]]:
    """Return float inputs as bits, a column per source: pairs of edge values, random bits, close or canceling pairs."""
    return [list(column) for column in _float_columns(kind, arity, count, seed)]


@cache
def _float_columns(kind: str, arity: int, count: int, seed: int) -> list[tuple[int, ...]]:
    source = random.Random(f"{kind}{arity}{seed}")
    total, mantissa_bits = FORMATS[kind]
    edges = float_edges(kind)
    rows: list[tuple[int, ...]] = list(itertools.product(edges, repeat=min(arity, 2)))
    rows = [
        (*row, *source.choices(edges, k=arity - len(row))) for row in source.sample(rows, min(len(rows), 300 // SHARE))
    ]

    def near(bits: int) -> int:
        return max(0, min((1 << total) - 1, bits + source.randint(-3, 3) * (1 << source.randint(0, mantissa_bits))))

    for _ in range(count):
        first = source.choice(edges) if source.random() < 0.2 else source.getrandbits(total)
        others = []
        for _ in range(arity - 1):
            style = source.random()
            if style < 0.4:
                others.append(near(first) ^ (source.getrandbits(1) << (total - 1)))
            elif style < 0.6:
                others.append(source.choice(edges))
            else:
                others.append(source.getrandbits(total))
        rows.append((first, *others))
    return list(zip(*rows, strict=True))


def from_f64(value: float, kind: str) -> int | str:
    """Return a Python float rounded to nearest as bits of `kind`."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return encode("-inf" if value < 0 else "inf", kind)
    if value == 0:
        return encode("-0" if math.copysign(1, value) < 0 else Fraction(0), kind)
    return encode(Fraction(value), kind)


def to_float(bits: int, kind: str) -> float:
    """Return float bits of type `kind` as a Python float."""
    if kind == "f64":
        return struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    value = decode(bits, kind)
    if isinstance(value, str):
        return float(value) if value != "-0" else -0.0
    return float(value)


def halves(bits: int, size: int = 16, count: int = 2) -> list[int]:
    """Return the elements of a packed register, lowest bits first."""
    return [(bits >> (size * place)) & ((1 << size) - 1) for place in range(count)]


def pack(elements: Iterable[int], size: int = 16) -> int:
    return sum((element & ((1 << size) - 1)) << (size * place) for place, element in enumerate(elements))
