"""Integer, bit, carry, logic and move instructions, compared with Python's integers, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
SIGNED = ("s16", "s32", "s64")
BITS = ("b16", "b32", "b64")


def wrapped(function, kind):
    return lambda *values: ref.wrap(function(*values), kind)


def clamped(function, kind):
    return lambda *values: ref.clamp(function(*values), kind)


def truncated_quotient(a, b):
    return -(abs(a) // abs(b)) if (a < 0) != (b < 0) else abs(a) // abs(b)


def quotient(kind):
    return lambda a, b: ref.wrap(-1 if b == 0 else truncated_quotient(a, b), kind)


def remainder(kind):
    return lambda a, b: ref.wrap(-1 if b == 0 else a - b * truncated_quotient(a, b), kind)


def low24(value, kind):
    value &= 0xFFFFFF
    return value - (1 << 24) if kind == "s32" and value >> 23 else value


def product24(kind, shift):
    return lambda a, b: ref.wrap((low24(a, kind) * low24(b, kind)) >> shift, kind)


def bfind(kind, *, shift):
    def find(a):
        number = ~a if a < 0 else a
        place = number.bit_length() - 1
        if place < 0:
            return 0xFFFFFFFF
        return ref.width(kind) - 1 - place if shift else place

    return find


def extent(operand, bits):
    """Return the effective position or length of a bit field: the low byte, or for 64-bit fields the value up to 64."""
    return operand & 255 if bits == 32 else min(operand, 64)


def bfe(kind):
    bits = ref.width(kind)

    def extract(a, b, c):
        position, length, raw = extent(b, bits), extent(c, bits), a & ((1 << bits) - 1)
        sign = (raw >> min(position + length - 1, bits - 1)) & 1 if kind[0] == "s" and length else 0
        field = sum(
            ((raw >> (position + i)) & 1 if i < length and position + i < bits else sign) << i for i in range(bits)
        )
        return ref.wrap(field, kind)

    return extract


def bfi(bits):
    def insert(a, b, c, d):
        position, length = extent(c, bits), extent(d, bits)
        for i in range(length):
            if position + i < bits:
                b = (b & ~(1 << (position + i))) | (((a >> i) & 1) << (position + i))
        return b

    return insert


def fns(mask, base, offset):
    base &= 0x1F
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    ones = [place for place in places if mask >> place & 1]
    return ones[abs(offset) - 1] if len(ones) >= abs(offset) else 0xFFFFFFFF


def szext(kind, mode):
    def extend(a, b):
        if b >= 32 and mode == "clamp":
            return a
        bits = b & 31
        value = a & ((1 << bits) - 1)
        if kind == "s32" and bits and value >> (bits - 1):
            value -= 1 << bits
        return ref.wrap(value, kind)

    return extend


def bmsk(mode):
    def mask(a, b):
        if mode == "clamp":
            return 0 if a >= 32 else (((1 << min(b, 32)) - 1) << a) & 0xFFFFFFFF
        return (((1 << (b & 31)) - 1) << (a & 31)) & 0xFFFFFFFF

    return mask


def clmad(mode):
    def multiply_add(a, b, c):
        product = 0
        for place in range(64):
            product ^= (a << place) * (b >> place & 1)
        return (product >> 64 if mode == "hi" else product & (2**64 - 1)) ^ c

    return multiply_add


def funnel(direction, mode):
    def shift(a, b, c):
        count, pair = min(c, 32) if mode == "clamp" else c & 31, b << 32 | a
        return ((pair << count) >> 32 if direction == "l" else pair >> count) & 0xFFFFFFFF

    return shift


def shift_right(kind):
    return lambda a, b: ref.wrap(a >> min(b, 64), kind)


def by_element(function, kind, size):
    """Return `function` of elements as a function of packed registers."""
    element = f"{kind[0]}{size}"

    def compute(*values):
        columns = [[ref.wrap(part, element) for part in ref.halves(value, size, 32 // size)] for value in values]
        return ref.pack([function(*row) for row in zip(*columns, strict=True)], size)

    return compute


def dot(a_kind, b_kind, mode):
    def product(a, b, c):
        left = ref.halves(a, 16, 2) if mode else ref.halves(a, 8, 4)
        right = ref.halves(b, 8, 4)[{"": slice(0, 4), "lo": slice(0, 2), "hi": slice(2, 4)}[mode]]
        left = [ref.wrap(x, a_kind[0] + ("16" if mode else "8")) for x in left]
        right = [ref.wrap(x, b_kind[0] + "8") for x in right]
        total = c + sum(x * y for x, y in zip(left, right, strict=True))
        return ref.wrap(total, "u32")

    return product


def lop3(table):
    def look_up(a, b, c, _table):
        return sum(((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1))) & 1) << i for i in range(32))

    return look_up


PRMT_MODES = {  # prmt mode -> numbers (0 to 7) of the selected bytes of {b, a}; by the manual's text, not its table
    "f4e": lambda s: [s + i for i in range(4)],
    "b4e": lambda s: [(s - i) % 8 for i in range(4)],
    "rc8": lambda s: [s] * 4,
    "ecl": lambda s: [max(s, i) for i in range(4)],
    "ecr": lambda s: [min(s, i) for i in range(4)],
    "rc16": lambda s: [(s & 1) * 2 + (i & 1) for i in range(4)],
}


def prmt(mode):
    def permute(a, b, c):
        parts = ref.halves(b << 32 | a, 8, 8)
        if mode:
            return ref.pack([parts[i] for i in PRMT_MODES[mode](c & 3)], 8)
        picked = []
        for digit in ref.halves(c, 4, 4):
            byte = parts[digit & 7]
            picked.append((0xFF if byte >> 7 else 0) if digit & 8 else byte)
        return ref.pack(picked, 8)

    return permute


def cvt_pack(kind):
    size = int(kind[1:])
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if kind[0] == "s" else (0, (1 << size) - 1)

    def convert(a, b, *rest):
        parts = [min(max(value, low), high) & ((1 << size) - 1) for value in (b, a)]
        upper = rest[0] << 2 * size if rest else 0
        return (parts[0] | parts[1] << size | upper) & 0xFFFFFFFF

    return convert


def d_abc(opcode, sources):
    return f"{opcode} %d, {', '.join(f'%s{i}' for i in range(sources))};"


def three(opcode, reference, kinds):
    return (d_abc(opcode, len(kinds)), reference, kinds)


def integer_cases():
    for k in INTEGERS:
        pair, bits = (k, k), ref.width(k)
        wide = k[0] + str(2 * int(k[1:]))
        yield three(f"add.{k}", wrapped(lambda a, b: a + b, k), pair)
        yield three(f"sub.{k}", wrapped(lambda a, b: a - b, k), pair)
        yield three(f"mul.lo.{k}", wrapped(lambda a, b: a * b, k), pair)
        yield three(f"mul.hi.{k}", wrapped(lambda a, b, w=bits: a * b >> w, k), pair)
        yield three(f"mad.lo.{k}", wrapped(lambda a, b, c: a * b + c, k), (k, k, k))
        yield three(f"mad.hi.{k}", wrapped(lambda a, b, c, w=bits: (a * b >> w) + c, k), (k, k, k))
        yield three(f"sad.{k}", wrapped(lambda a, b, c: abs(a - b) + c, k), (k, k, k))
        yield three(f"div.{k}", quotient(k), pair)
        yield three(f"rem.{k}", remainder(k), pair)
        yield three(f"min.{k}", min, pair)
        yield three(f"max.{k}", max, pair)
        yield three(f"shr.{k}", shift_right(k), (k, "u32"))
        if bits < 64:
            yield three(f"mul.wide.{k}", lambda a, b: a * b, pair)
            yield three(f"mad.wide.{k}", wrapped(lambda a, b, c: a * b + c, wide), (k, k, wide))
    for k in SIGNED:
        yield three(f"abs.{k}", wrapped(abs, k), (k,))
        yield three(f"neg.{k}", wrapped(lambda a: -a, k), (k,))
    for k in ("s32", "u32"):
        yield three(f"add.sat.{k}", clamped(lambda a, b: a + b, k), (k, k))
        yield three(f"mul24.lo.{k}", product24(k, 0), (k, k))
        yield three(f"mul24.hi.{k}", product24(k, 16), (k, k))
        for mode, shift in (("lo", 0), ("hi", 16)):
            product = product24(k, shift)
            yield three(f"mad24.{mode}.{k}", wrapped(lambda a, b, c, p=product: p(a, b) + c, k), (k, k, k))
    yield three("sub.sat.s32", clamped(lambda a, b: a - b, "s32"), ("s32", "s32"))
    yield three("mad.hi.sat.s32", clamped(lambda a, b, c: (a * b >> 32) + c, "s32"), ("s32",) * 3)
    high = product24("s32", 16)
    yield three("mad24.hi.sat.s32", clamped(lambda a, b, c: high(a, b) + c, "s32"), ("s32",) * 3)
    for name, function in (("min", min), ("max", max)):
        relu = lambda a, b, f=function: max(f(a, b), 0)
        yield three(f"{name}.relu.s32", relu, ("s32", "s32"))
        yield three(f"{name}.relu.s16x2", by_element(relu, "s16x2", 16), ("s16x2",) * 2)
        yield three(f"{name}.relu.s8x4", by_element(relu, "s8x4", 8), ("s8x4",) * 2)


def packed_cases():
    for k, size in (("u16x2", 16), ("s16x2", 16), ("u8x4", 8), ("s8x4", 8)):
        element = f"{k[0]}{size}"
        yield three(f"add.{k}", by_element(lambda a, b: a + b, k, size), (k, k))
        yield three(f"add.sat.{k}", by_element(clamped(lambda a, b: a + b, element), k, size), (k, k))
        yield three(f"min.{k}", by_element(min, k, size), (k, k))
        yield three(f"max.{k}", by_element(max, k, size), (k, k))
    for k in ("u8x4", "s8x4"):
        element = f"{k[0]}8"
        yield three(f"sub.{k}", by_element(lambda a, b: a - b, k, 8), (k, k))
        yield three(f"sub.sat.{k}", by_element(clamped(lambda a, b: a - b, element), k, 8), (k, k))
    yield three("neg.s8x4", by_element(lambda a: -a, "s8x4", 8), ("s8x4",))
    for a_kind in ("u32", "s32"):
        for b_kind in ("u32", "s32"):
            yield three(f"dp4a.{a_kind}.{b_kind}", dot(a_kind, b_kind, ""), ("b32", "b32", "u32"))
            for mode in ("lo", "hi"):
                yield three(f"dp2a.{mode}.{a_kind}.{b_kind}", dot(a_kind, b_kind, mode), ("b32", "b32", "u32"))


def bit_cases():
    for k in ("b32", "b64"):
        bits = ref.width(k)
        yield three(f"popc.{k}", lambda a: a.bit_count(), (k,))
        yield three(f"clz.{k}", lambda a, w=bits: w - a.bit_length(), (k,))
        yield three(f"brev.{k}", lambda a, w=bits: int(f"{a:0{w}b}"[::-1], 2), (k,))
        yield three(f"bfi.{k}", bfi(bits), (k, k, "u32", "u32"))
    for k in ("u32", "u64", "s32", "s64"):
        yield three(f"bfind.{k}", bfind(k, shift=False), (k,))
        yield three(f"bfind.shiftamt.{k}", bfind(k, shift=True), (k,))
        yield three(f"bfe.{k}", bfe(k), (k, "u32", "u32"))
    for mode in ("lo", "hi"):
        yield three(f"clmad.{mode}.u64", clmad(mode), ("u64",) * 3)
    for mode in ("clamp", "wrap"):
        yield three(f"bmsk.{mode}.b32", bmsk(mode), ("b32", "b32"))
        for k in ("u32", "s32"):
            yield three(f"szext.{mode}.{k}", szext(k, mode), (k, "u32"))
        for direction in ("l", "r"):
            yield three(f"shf.{direction}.{mode}.b32", funnel(direction, mode), ("b32", "b32", "u32"))


def logic_cases():
    for k in BITS:
        mask = (1 << ref.width(k)) - 1
        yield three(f"and.{k}", lambda a, b: a & b, (k, k))
        yield three(f"or.{k}", lambda a, b: a | b, (k, k))
        yield three(f"xor.{k}", lambda a, b: a ^ b, (k, k))
        yield three(f"not.{k}", lambda a, m=mask: ~a & m, (k,))
        yield three(f"cnot.{k}", lambda a: int(a == 0), (k,))
        yield three(f"shl.{k}", wrapped(lambda a, b: a << min(b, 64), k), (k, "u32"))
        yield three(f"shr.{k}", shift_right(k), (k, "u32"))
        yield three(f"selp.{k}", lambda a, b, c: a if c else b, (k, k, "pred"))
        yield three(f"slct.{k}.s32", lambda a, b, c: a if c >= 0 else b, (k, k, "s32"))
    yield three("and.pred", lambda a, b: a and b, ("pred", "pred"))
    yield three("or.pred", lambda a, b: a or b, ("pred", "pred"))
    yield three("xor.pred", lambda a, b: a != b, ("pred", "pred"))
    yield three("not.pred", lambda a: not a, ("pred",))
    for mode in ("", *PRMT_MODES):
        yield three(f"prmt.b32{'.' if mode else ''}{mode}", prmt(mode), ("b32",) * 3)
    for k in ("u16", "s16"):
        yield three(f"cvt.pack.sat.{k}.s32", cvt_pack(k), ("s32", "s32"))
    for k in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield three(f"cvt.pack.sat.{k}.s32.b32", cvt_pack(k), ("s32", "s32", "b32"))


def conversion_cases():
    every = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
    for target in every:
        for source in every:
            yield three(f"cvt.{target}.{source}", lambda a, k=target: ref.wrap(a, k), (source,))
            if ref.is_form(f"cvt.sat.{target}.{source} %d, %a;"):
                yield three(f"cvt.sat.{target}.{source}", lambda a, k=target: ref.clamp(a, k), (source,))


CASES = [*integer_cases(), *packed_cases(), *bit_cases(), *logic_cases(), *conversion_cases()]


@pytest.mark.parametrize(("text", "reference", "kinds"), CASES, ids=[case[0] for case in CASES])
def test_an_instruction_computes_what_python_integers_say(text, reference, kinds):
    ref.check(text, reference, ref.integer_columns(kinds, 300 if len(kinds) > 1 else 60))


# --- immediate operands ----------------------------------------------------------------------------

SHIFTS = (0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 200)
IMMEDIATE_CASES = [
    *(
        (f"shl.{k} %d, %a, {n};", wrapped(lambda a, _n, n=n: a << min(n, 64), k), (k, "u32"), n)
        for k in BITS
        for n in SHIFTS
    ),
    *(
        (f"shr.{k} %d, %a, {n};", wrapped(lambda a, _n, n=n: a >> min(n, 64), k), (k, "u32"), n)
        for k in INTEGERS
        for n in SHIFTS
    ),
    *(
        (f"prmt.b32 %d, %a, %b, {c:#x};", lambda a, b, _c, c=c: prmt("")(a, b, c), ("b32", "b32", "b32"), c)
        for c in (0x5410, 0x7632, 0x3340, 0xBA98, 0x0123, 0xFEDC, 0x8)
    ),
    *(
        (f"prmt.b32.{m} %d, %a, %b, {c};", lambda a, b, _c, c=c, m=m: prmt(m)(a, b, c), ("b32", "b32", "b32"), c)
        for m in PRMT_MODES
        for c in (0, 1, 2, 3, 6)
    ),
]


@pytest.mark.parametrize(("text", "reference", "kinds", "value"), IMMEDIATE_CASES, ids=[c[0] for c in IMMEDIATE_CASES])
def test_an_immediate_gives_the_same_as_a_register(text, reference, kinds, value):
    columns = ref.integer_columns(kinds[:-1], 60)
    ref.check(text, reference, [*columns, [value] * len(columns[0])])


@pytest.mark.parametrize("kind", ["u32", "u64"])
@pytest.mark.parametrize(("position", "length"), [(0, 8), (4, 0), (31, 1), (20, 20), (0, 64), (70, 3), (3, 255)])
def test_a_constant_bit_field_is_extracted_like_a_variable_one(kind, position, length):
    columns = ref.integer_columns((kind,), 40)
    rest = [[position] * len(columns[0]), [length] * len(columns[0])]
    ref.check(f"bfe.{kind} %d, %a, {position}, {length};", bfe(kind), columns + rest)


@pytest.mark.parametrize("table", range(256))
def test_lop3_is_its_look_up_table(table):
    columns = ref.integer_columns(("b32",) * 3, 12, seed=table)
    ref.check(f"lop3.b32 %d, %a, %b, %c, {table};", lop3(table), [*columns, [table] * 12])


@pytest.mark.parametrize("operator", ["or", "and"])
def test_lop3_combines_a_predicate(operator):
    columns = ref.integer_columns(("b32", "b32", "b32"), 40)
    columns = [[*c, 0, 0] for c in columns]
    third = [i % 2 == 0 for i in range(42)]

    def reference(a, b, c, table, q):
        bits = lop3(table)(a, b, c, table)
        return bits, (bits != 0 or q) if operator == "or" else (bits != 0 and q)

    ref.check(f"lop3.{operator}.b32 %d|%p, %a, %b, %c, 0x96, %q;", reference, [*columns, [0x96] * 42, third])


FNS_CASES = [(text, fns, ("b32", "u32", "s32")) for text in ("fns.b32 %d, %a, %b, %c;",)]


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 31), st.integers(-40, 40)), min_size=1, max_size=32)
)
@settings(deadline=None)
def test_fns_finds_the_nth_set_bit(rows):
    rows += [(0xAAAAAAAA, 3, 1), (0xAAAAAAAA, 3, -1), (0xAAAAAAAA, 2, 1), (0xAAAAAAAA, 2, -1), (1, 0, 0), (2, 0, 0)]
    ref.check("fns.b32 %d, %a, %b, %c;", fns, [list(column) for column in zip(*rows, strict=True)])


@pytest.mark.parametrize("kind", ["b32", "b64"])
def test_popc_counts_without_numpys_own_function(kind, monkeypatch):
    """NumPy 1.26 lacks `bitwise_count`; `popc` works without it."""
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    ref.check(f"popc.{kind} %d, %a;", lambda a: a.bit_count(), ref.integer_columns((kind,)))


# --- carries ------------------------------------------------------------------------------------


def carry_reference(opcode, kind):
    bits = ref.width(kind)
    modulus = 1 << bits

    def compute(*values):
        *numbers, carry = values
        if opcode.startswith("mad"):
            a, b, c = numbers
            product = a * b >> bits if ".hi" in opcode else a * b % modulus
            total = product + c + carry
        else:
            a, b = numbers
            if opcode.startswith("sub"):
                b, carry = modulus - 1 - b, carry if opcode.startswith("subc") else 1
            total = a + b + carry
        return total % modulus, total >= modulus

    return compute


CARRY_CASES = [
    (f"{opcode}.{kind}", kind)
    for kind in ("u32", "s32", "u64", "s64")
    for opcode in (
        "add.cc", "addc", "addc.cc", "sub.cc", "subc", "subc.cc",
        "mad.lo.cc", "mad.hi.cc", "madc.lo", "madc.hi", "madc.lo.cc", "madc.hi.cc",
    )
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "kind"), CARRY_CASES, ids=[case[0] for case in CARRY_CASES])
def test_carries_are_those_of_unbounded_integers(opcode, kind):
    arity = 3 if opcode.startswith("mad") else 2
    unsigned = "u" + kind[1:]
    columns = ref.integer_columns((unsigned,) * arity, 400)
    reads, writes = opcode.split(".")[0].endswith("c"), ".cc" in opcode
    carries = [bool(i % 2) and reads for i in range(len(columns[0]))]
    operation = ref.bind(d_abc(opcode, arity))
    assert (operation.reads_carry, operation.writes_carry) == (reads, writes)
    results = ref.run(d_abc(opcode, arity), *columns, carry=carries if reads else None)
    reference = carry_reference(opcode, kind)
    for index, row in enumerate(zip(*columns, carries, strict=True)):
        value, carry = reference(*row)
        assert results[0][index] == value, (opcode, row)
        assert not writes or results[1][index] == carry, (opcode, row)


def test_a_128_bit_product_comes_out_of_the_manuals_chain():
    a, b = 0xFEDCBA9876543210, 0xF123456789ABCDEF
    (r4, r5), (r6, r7) = ref.halves(a, 32), ref.halves(b, 32)
    one = lambda text, *values, carry=None: [c[0] for c in ref.run(text, *[[v] for v in values], carry=carry)]
    r0 = one("mul.lo.u32 %d, %a, %b;", r4, r6)[0]
    r1 = one("mul.hi.u32 %d, %a, %b;", r4, r6)[0]
    r1, cc = one("mad.lo.cc.u32 %d, %a, %b, %c;", r5, r6, r1)
    r2 = one("madc.hi.u32 %d, %a, %b, 0;", r5, r6, 0, carry=[cc])[0]
    r1, cc = one("mad.lo.cc.u32 %d, %a, %b, %c;", r4, r7, r1)
    r2, cc = one("madc.hi.cc.u32 %d, %a, %b, %c;", r4, r7, r2, carry=[cc])
    r3 = one("addc.u32 %d, 0, 0;", 0, 0, carry=[cc])[0]
    r2, cc = one("mad.lo.cc.u32 %d, %a, %b, %c;", r5, r7, r2)
    r3 = one("madc.hi.u32 %d, %a, %b, %c;", r5, r7, r3, carry=[cc])[0]
    assert ref.pack([r0, r1, r2, r3], 32) == a * b


@pytest.mark.parametrize(("a", "b"), [(1 << 40, 3), (3, 1 << 40), (5, 5), (1 << 32, 1)])
def test_after_a_subtraction_the_flag_says_that_nothing_was_borrowed(a, b):
    one = lambda text, *values, carry=None: [c[0] for c in ref.run(text, *[[v] for v in values], carry=carry)]
    (a0, a1), (b0, b1) = ref.halves(a, 32), ref.halves(b, 32)
    low, cc = one("sub.cc.u32 %d, %a, %b;", a0, b0)
    high, cc = one("subc.cc.u32 %d, %a, %b;", a1, b1, carry=[cc])
    assert ref.pack([low, high], 32) == (a - b) % (1 << 64)
    assert one("addc.u32 %d, 0, 0;", 0, 0, carry=[cc])[0] == (a >= b)
