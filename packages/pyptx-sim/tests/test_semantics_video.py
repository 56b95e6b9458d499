"""Video instructions, compared with the manual's pseudocode (9.7.18), bit for bit."""

from __future__ import annotations

import itertools
import random

import pytest

from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

KINDS = ("u32", "s32")
OPERATIONS = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
    "vavrg": lambda a, b: (a + b + 1) >> 1 if a + b >= 0 else (a + b) >> 1,
}
COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
SECOND = {"add": lambda a, b: a + b, "min": min, "max": max}
SCALAR = ("vadd", "vsub", "vabsdiff", "vmin", "vmax")


def part(register, kind, chosen):
    if not chosen:
        return ref.wrap(register, kind)
    size, place = (8 if chosen[0] == "b" else 16), int(chosen[1])
    return ref.wrap(register >> size * place, f"{kind[0]}{size}")


def last_stages(value, c, kind, *, sat, op2, chosen):
    size = {"": 32, "b": 8, "h": 16}[chosen[:1]]
    if sat:
        value = ref.clamp(value, f"{kind[0]}{size}")
    if op2:
        return SECOND[op2](value, ref.wrap(c, kind)) & 0xFFFFFFFF
    if chosen:
        shift = size * int(chosen[1])
        field = ((1 << size) - 1) << shift
        return (value << shift & field) | (c & ~field)
    return value & 0xFFFFFFFF


def dotted(name):
    return f".{name}" if name else ""


def variants(seed, count=16):
    """Yield random combinations of saturation, second operation and selectors, with each value several times."""
    picker = random.Random(seed)
    parts = ("", "b0", "b1", "b2", "b3", "h0", "h1")
    for _ in range(count):
        op2 = picker.choice(("", "add", "min", "max"))
        chosen = "" if op2 else picker.choice(parts)
        yield picker.random() < 0.5, op2, chosen, picker.choice(parts), picker.choice(parts)


def columns(seed, count):
    return ref.integer_columns(("b32",) * count, 60, seed)


def check_scalar(prefix, suffix, core, kinds, variant, seed):
    """Check a form against `core(a, b)` on the selected parts (bytes, half-words, words), then `last_stages`."""
    result_kind, a_kind, b_kind = kinds
    sat, op2, chosen, a_part, b_part = variant
    third = bool(op2 or chosen) or seed % 2  # odd seeds also pass an unused third source, which must be ignored
    opcode = f"{prefix}{'.sat' * sat}{suffix}{dotted(op2)}"
    text = f"{opcode} %d{dotted(chosen)}, %a{dotted(a_part)}, %b{dotted(b_part)}{', %c' * third};"

    def reference(a, b, c=0):
        value = core(part(a, a_kind, a_part), part(b, b_kind, b_part))
        return last_stages(value, c, result_kind, sat=sat, op2=op2, chosen=chosen)

    ref.check(text, reference, columns(seed, 3 if third else 2))


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, repeat=3)))
def test_scalar_arithmetic(name, kinds):
    for seed, variant in enumerate(variants(f"{name}{kinds}")):
        check_scalar(f"{name}.{'.'.join(kinds)}", "", OPERATIONS[name], kinds, variant, seed)


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
@pytest.mark.parametrize("name", ["vshl", "vshr"])
@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, KINDS)))
def test_scalar_shifts(name, mode, kinds):
    def core(a, b):
        count = min(b, 32) if mode == "clamp" else b & 31
        return a << count if name == "vshl" else a >> count

    for seed, variant in enumerate(variants(f"{name}{mode}{kinds}")):
        check_scalar(f"{name}.{'.'.join(kinds)}.u32", f".{mode}", core, (*kinds, "u32"), variant, seed)


@pytest.mark.parametrize("operator", COMPARE)
@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, KINDS)))
def test_scalar_comparison(operator, kinds):
    core = lambda a, b: int(COMPARE[operator](a, b))
    for seed, (_, *variant) in enumerate(variants(f"{operator}{kinds}", 8)):
        check_scalar(f"vset.{'.'.join(kinds)}.{operator}", "", core, ("u32", *kinds), (False, *variant), seed)


NEGATIONS = {"": ("", "", ""), "a": ("-", "", ""), "b": ("", "-", ""), "ab": ("-", "-", ""), "c": ("", "", "-")}


@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, KINDS)))
@pytest.mark.parametrize("negation", [*NEGATIONS, "po"])
@pytest.mark.parametrize("scale", ["", "shr7", "shr15"])
@pytest.mark.parametrize("sat", [False, True])
def test_multiply_add(kinds, negation, scale, sat):
    minus = NEGATIONS.get(negation, ("", "", ""))
    product_negated = negation in {"a", "b"}
    signed = "s32" in kinds or product_negated or negation == "c"

    def reference(a, b, c):
        total = part(a, kinds[0], "") * part(b, kinds[1], "h1")
        least = 0
        if negation == "po":
            least = 1
        elif product_negated:
            total, least = ~total, 1
        elif negation == "c":
            c, least = ~c & 0xFFFFFFFF, 1
        total += (ref.wrap(c, "s32") if signed else c) + least
        total >>= int(scale[3:] or 0)
        return (ref.clamp(total, "s32" if signed else "u32") if sat else total) & 0xFFFFFFFF

    text = f"vmad.s32.{'.'.join(kinds)}{'.po' * (negation == 'po')}{'.sat' * sat}{dotted(scale)}"
    text += f" %d, {minus[0]}%a, {minus[1]}%b.h1, {minus[2]}%c;"
    ref.check(text, reference, columns(3, 3))


def test_multiply_add_of_whole_words_needs_more_than_64_bits():
    for scale in ("", ".shr7", ".shr15"):
        shift = int(scale[4:] or 0)
        ref.check(
            f"vmad.u32.u32.u32.sat{scale} %d, %a, %b, %c;",
            lambda a, b, c, n=shift: ref.clamp((a * b + c) >> n, "u32"),
            columns(4, 3),
        )


# --- SIMD ---------------------------------------------------------------------------------------


def simd_selectors(lanes, seed):
    picker = random.Random(seed)
    letter = "h" if lanes == 2 else "b"
    masks = [
        "",
        *(
            letter + "".join(map(str, m))
            for n in range(1, lanes + 1)
            for m in itertools.combinations(range(lanes - 1, -1, -1), n)
        ),
    ]
    choose = lambda: picker.choice(("", letter + "".join(str(picker.randrange(2 * lanes)) for _ in range(lanes))))
    return [(mask, choose(), choose()) for mask in masks]


def check_simd(opcode, lanes, core, kinds, last, selectors, seed):
    result_kind, a_kind, b_kind = kinds
    size = 32 // lanes
    mask, a_select, b_select = selectors
    text = f"{opcode}{dotted(last)} %d{dotted(mask)}, %a{dotted(a_select)}, %b{dotted(b_select)}, %c;"
    default_a, default_b = ("h10", "h32") if lanes == 2 else ("b3210", "b7654")
    written = {int(digit) for digit in (mask or default_a)[1:]}

    def reference(a, b, c):
        every = ref.halves(b << 32 | a, size, 2 * lanes)
        pick = lambda select, kind: [ref.wrap(every[int(d)], f"{kind[0]}{size}") for d in select[:0:-1]]
        pairs = zip(pick(a_select or default_a, a_kind), pick(b_select or default_b, b_kind), strict=True)
        values = [int(core(x, y)) for x, y in pairs]
        if last == "sat":
            values = [ref.clamp(value, f"{result_kind[0]}{size}") for value in values]
        if last == "add":
            return (c + sum(values[lane] for lane in written)) & 0xFFFFFFFF
        old = ref.halves(c, size, lanes)
        return ref.pack([values[lane] if lane in written else old[lane] for lane in range(lanes)], size)

    ref.check(text, reference, columns(seed, 3))


@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("last", ["", "sat", "add"])
def test_simd_arithmetic(name, lanes, last):
    for seed, kinds in enumerate(itertools.product(KINDS, repeat=3)):
        for selectors in simd_selectors(lanes, seed)[:: 1 if lanes == 2 else 4]:
            check_simd(f"{name}{lanes}.{'.'.join(kinds)}", lanes, OPERATIONS[name], kinds, last, selectors, seed)


@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("operator", COMPARE)
@pytest.mark.parametrize("last", ["", "add"])
def test_simd_comparison(operator, lanes, last):
    for seed, kinds in enumerate(itertools.product(KINDS, KINDS)):
        for selectors in simd_selectors(lanes, seed)[:: 1 if lanes == 2 else 4]:
            opcode = f"vset{lanes}.{'.'.join(kinds)}.{operator}"
            check_simd(opcode, lanes, COMPARE[operator], ("u32", *kinds), last, selectors, seed)
