"""Every MMA, compared with exact arithmetic, one element at a time."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from pyptx_ir.fragments import metadata_fragment, mma_fragment, sparse_fragment, wmma_fragment
from pyptx_ir.fragments.sparse import SPARSITY
from pyptx_ir.isa.table import wmma
from pyptx_ir.isa.table.mma import PRODUCTS
from pyptx_ir.isa.table.mma_sparse import PRODUCTS as SPARSE
from pyptx_sim.numerics.tensor_cores import model_of
from pyptx_sim.types import dtype_of

from . import mma_reference
from . import semantics_reference as ref

pytestmark = pytest.mark.scaled

WARPS = 2
NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
FLOATS = {"f16", "bf16", "tf32", *NARROW}


def names(letter, count):
    return "{" + ", ".join(f"%{letter}{index}" for index in range(count)) + "}"


def spell(opcode, fragments, tail=""):
    return f"{opcode} " + ", ".join(names(*pair) for pair in zip("dabc", fragments, strict=True)) + f"{tail};"


def compute(text, registers, target=""):
    """Run one MMA instruction on registers `[register, warp, lane]`; return the result registers."""
    operation = ref.exercise(text)
    function = operation.exact(target) if target else operation.compute
    given = [each for operand in registers for each in operand]
    assert len(given) == len(operation.sources)
    sources = [each.view(dtype_of(kind)) for each, kind in zip(given, operation.sources, strict=True)]
    with np.errstate(all="ignore"):
        results = function(np.ones((WARPS, 32), np.bool_), *sources)
    assert [each.dtype for each in results] == [dtype_of(kind) for kind in operation.results]
    return [each.view(f"<u{each.itemsize}") for each in results]


def agree(d, results, warp, element, expected):
    """Assert that every element of a result is within a bound; `expected(place)` returns value and bound."""
    found = mma_reference.matrix(d, [register[warp] for register in results], element)
    for place, number in found.items():
        wanted, bound = expected(place)
        assert abs(number - wanted) <= bound, (place, number, wanted, bound)


def bounded(pairs, c, d_type):
    """Return the exact accumulator element, and the error bound of `fast` numerics."""
    wanted = math.fsum([*(a * b for a, b in pairs), c])
    unit = 2.0 ** (-52 if d_type == "f64" else -23)
    bound = (len(pairs) + 1) * unit * (math.fsum(abs(a * b) for a, b in pairs) + abs(c))
    return wanted, bound + (max(abs(wanted) * 2.0**-11, 2.0**-25) if d_type == "f16" else 0)


def wrapped(total, *, saturates):
    if saturates:
        return min(max(total, -(1 << 31)), (1 << 31) - 1)
    return (total + (1 << 31)) % (1 << 32) - (1 << 31)


def expected_of(types, pairs, c, words):
    if types[1] in FLOATS or types[1] == "f64":
        return bounded(pairs, c, types[0])
    if "xor" in words:
        return wrapped(c + sum(a ^ b for a, b in pairs), saturates=False), 0
    return wrapped(c + sum(a * b for a, b in pairs), saturates="satfinite" in words), 0


def defined(types, pairs, c, words):
    """Return the result of `fast` numerics and its error bound, 0; assert that it is within the hardware's bound."""
    wanted, bound = expected_of(types, pairs, c, words)
    if types[1] in FLOATS or types[1] == "f64":
        chain = mma_reference.fused_sum(pairs, c, types[0])
        assert abs(chain - wanted) <= bound
        return chain, 0
    return wanted, bound


def dense_cases():
    for entry in PRODUCTS:
        for shape, types in product(entry.shapes, entry.types()):
            layouts = product(("row", "col"), repeat=2) if entry.any_layout else [("row", "col")]
            tails = [f".{entry.operation}.popc"] if entry.operation else [".rz"] if entry.rounds else [""]
            for a, b in layouts:
                for tail in tails:
                    head = f"mma.sync.aligned.{shape}.{a}.{b}"
                    yield f"{head}.{'.'.join(types)}{tail}", shape, types, (a, b)
                if entry.saturates:
                    yield f"{head}.satfinite.{'.'.join(types)}", shape, types, (a, b)


def narrow_cases(head, shape):
    """Yield MMAs of narrow floats in bytes, with each of the five types as operands A and B."""
    for a, b, d in zip(NARROW, (*NARROW[2:], *NARROW[:2]), ("f32", "f16") * 3, strict=False):
        yield f"{head}.{shape}.row.col.kind::f8f6f4.{d}.{a}.{b}.{d}", shape, (d, a, b, d)


DENSE = [*dense_cases(), *((*case, ("row", "col")) for case in narrow_cases("mma.sync.aligned", "m16n8k32"))]


def dense_fragments(shape, types, layouts):
    some = layouts if shape == "m8n8k4" and types[1] == "f16" else ("", "")
    a, b = mma_fragment(shape, "a", types[1], some[0]), mma_fragment(shape, "b", types[2], some[1])
    return mma_fragment(shape, "d", types[0]), a, b, mma_fragment(shape, "c", types[3])


def inputs(random, fragments, types):
    pairs = zip(fragments[1:], types[1:], strict=True)
    registers = [mma_reference.random_registers(random, fragment, element, WARPS) for fragment, element in pairs]
    if types[3] == "s32":  # s32 accumulators near the limits, so that sums overflow
        near = random.integers(-300, 300, registers[2].shape)
        registers[2] = np.where(near < 0, 0x7FFFFFFF + near, 0x80000000 + near).astype(np.uint32)
    return registers


def matrices(fragments, types, registers, warp):
    parts = zip(fragments[1:], types[1:], registers, strict=True)
    return [mma_reference.matrix(f, [register[warp] for register in regs], t) for f, t, regs in parts]


@pytest.mark.parametrize(("opcode", "shape", "types", "layouts"), ref.by_opcode(DENSE))
def test_a_dense_product_is_a_chain_of_fused_multiply_adds_then_the_addend(opcode, shape, types, layouts):
    fragments = dense_fragments(shape, types, layouts)
    registers = inputs(np.random.default_rng(len(opcode)), fragments, types)
    results = compute(spell(opcode, [each.registers for each in fragments]), registers)
    a, b, c = matrices(fragments, types, registers, 1)
    k = fragments[1].columns
    agree(
        fragments[0],
        results,
        1,
        types[0],
        lambda place: defined(types, mma_reference.terms(a, b, place, k), c[place], opcode.split(".")),
    )


EXACT = [
    case
    for case in DENSE
    if case[2][1] in FLOATS and (case[2][1] == case[2][2] or "kind" in case[0]) and case[3] == ("row", "col")
]
TARGETS = ("sm_70", "sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")


def exact_sum(target, shape, types, pairs, c):
    """Return an accumulator element on a target: by its tensor cores, or by ptxas's emulation of a missing MMA."""
    model = model_of(target, types[1])
    if shape == "m8n8k4" and target not in {"sm_70", "sm_75"}:
        return mma_reference.scalar_sum(pairs, c, types[0] == "f16")
    if set(types[1:3]) <= {"e4m3", "e5m2"} and target in {"sm_90a", "sm_100a"}:
        return mma_reference.halved_sum(pairs, c, types[0], model.fraction, model_of(target, "f16").length)
    return mma_reference.truncated_sum(pairs, c, types, model.fraction, model.length, model.mantissa)


@pytest.mark.parametrize(("opcode", "shape", "types", "layouts"), ref.by_opcode(EXACT))
def test_an_exact_product_is_the_sum_of_its_target(opcode, shape, types, layouts):
    fragments = dense_fragments(shape, types, layouts)
    registers = inputs(np.random.default_rng(7), fragments, types)
    a, b, c = matrices(fragments, types, registers, 0)
    text = spell(opcode, [each.registers for each in fragments])
    some = list(c)[:: max(len(c) // 24, 1)]
    for target in TARGETS:
        found = mma_reference.matrix(fragments[0], [r[0] for r in compute(text, registers, target)], types[0])
        for place in some:
            pairs = mma_reference.terms(a, b, place, fragments[1].columns)
            assert found[place] == exact_sum(target, shape, types, pairs, c[place]), (target, place)


def test_the_models_are_those_that_were_measured():
    def model(target, element):
        found = model_of(target, element)
        return found.fraction, found.length, found.mantissa

    assert [model(target, "f16") for target in TARGETS] == [
        (23, 4, 23),
        (24, 8, 23),
        (24, 8, 23),
        (24, 8, 23),
        (25, 16, 23),
        (25, 16, 23),
        (25, 16, 23),
    ]
    assert [model(target, "tf32")[1] for target in TARGETS] == [2, 4, 4, 4, 8, 8, 8]
    assert model("sm_89", "e4m3") == (13, 16, 13)
    assert model("sm_90a", "e5m2") == (25, 32, 23)


# --- special values -----------------------------------------------------------------------------

SPECIAL = [
    (0x7C00, 0x0000, 0, 0x7FFFFFFF),  # inf * 0
    (0x7C00, 0x3C00, 0, 0x7F800000),  # inf * 1
    (0x7C00, 0x3C00, 0xFF800000, 0x7FFFFFFF),  # inf * 1 - inf
    (0x7E01, 0x3C00, 0, 0x7FFFFFFF),  # a NaN operand with a noncanonical payload
    (0x3C00, 0x3C00, 0xFFC00001, 0x7FFFFFFF),
    (0x0001, 0x0001, 0, 0x27800000),  # subnormal operands are not flushed: 2^-48
    (0x0000, 0x0000, 0x00000001, 0x00000001),  # subnormal accumulators are not flushed
]


@pytest.mark.parametrize("target", ["", "sm_80", "sm_90a"])
@pytest.mark.parametrize(("a", "b", "c", "wanted"), SPECIAL)
def test_special_values_are_those_of_the_hardware(a, b, c, wanted, target):
    registers = [np.zeros((count, WARPS, 32), np.uint32) for count in (4, 2, 4)]
    for operand, bits in zip(registers, (a, b, c), strict=True):
        operand[0, 0, 0] = bits
    results = compute(spell("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", (4, 4, 2, 4)), registers, target)
    assert results[0][0, 0] == wanted
    assert not any(register[1].any() for register in results)


# --- sparse -------------------------------------------------------------------------------------


def sparse_cases():
    for entry in SPARSE:
        for a, b in product(entry.a, entry.a):
            for selector in range(entry.selector + 1):
                types = (entry.d, a, b, entry.d)
                for variant in ("sp", "sp::ordered_metadata") if a == b and not selector else ("sp",):
                    head = f"mma.{variant}.sync.aligned.{entry.shape}.row.col"
                    yield f"{head}.{'.'.join(types)}", entry.shape, types, selector


SPARSE_CASES = [
    *sparse_cases(),
    *((*case, 0) for case in narrow_cases("mma.sp::ordered_metadata.sync.aligned", "m16n8k64")),
    (
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e5m2.f16",
        "m16n8k64",
        ("f16", "e4m3", "e5m2", "f16"),
        0,
    ),
]


def random_metadata(random, shape, element, selector):
    """Return the metadata of one warp, and the column of each stored element of each row."""
    kind = SPARSITY[mma_reference.WIDTHS[element]]
    fragment = metadata_fragment(shape, element)
    words = random.integers(0, 1 << 32, 32, dtype=np.uint64)  # sparsity metadata: unselected lanes keep random bits
    lanes = len({fragment.lane_of(row, column) % 4 for row in range(16) for column in range(fragment.columns)})
    columns = {}
    for row in range(16):
        fields = []
        for chunk in range(fragment.columns // (kind.kept // kind.together * kind.fields)):
            count = kind.chunk // kind.together
            chosen = sorted(random.choice(count, kind.kept // kind.together, replace=False).tolist())
            if kind.fields == 2:
                fields += [0b10, 0b11] if chosen[0] else [0b00, 0b01]
            else:
                fields += chosen
            for each in chosen:
                start = chunk * kind.chunk + each * kind.together
                columns.setdefault(row, []).extend(range(start, start + kind.together))
        for column, field in enumerate(fields):
            place = fragment.places(row, column)[0]
            lane = place.lane + selector * lanes
            words[lane] = int(words[lane]) & ~(3 << place.shift) | field << place.shift
    return words.astype(np.uint32), columns


@pytest.mark.parametrize(("opcode", "shape", "types", "selector"), ref.by_opcode(SPARSE_CASES))
def test_a_sparse_product_meets_the_elements_that_its_metadata_names(opcode, shape, types, selector):
    fragments = (
        mma_fragment(shape, "d", types[0]),
        sparse_fragment(shape, types[1]),
        mma_fragment(shape, "b", types[2]),
        mma_fragment(shape, "c", types[3]),
    )
    random = np.random.default_rng(selector + len(opcode))
    registers = inputs(random, fragments, types)
    metadata, columns = random_metadata(random, shape, types[1], selector)
    words = np.stack([np.zeros(32, np.uint32), metadata])[None]
    text = spell(opcode, [each.registers for each in fragments], f", %e, {selector}")
    a, b, c = matrices(fragments, types, registers, 1)

    def pairs(place):
        _, row, column = place
        return [(a[0, row, i], b[0, k, column]) for i, k in enumerate(columns[row])]

    results = compute(text, [*registers, words])
    agree(fragments[0], results, 1, types[0], lambda place: defined(types, pairs(place), c[place], ()))


def test_zeros_that_are_not_stored_meet_nothing():
    """Infinities of B at the zeros of sparse A do not produce NaN."""
    shape, types = "m16n8k16", ("f32", "f16", "f16", "f32")
    registers = [np.zeros((count, WARPS, 32), np.uint32) for count in (2, 2, 4)]
    registers[0][:] = 0x3C003C00  # A: two f16 values of 1.0 in each register
    registers[1][:] = 0x7C003C00  # B: ones in even rows, infinities in odd rows
    words = np.full((1, WARPS, 32), 0x88888888, np.uint32)  # sparsity metadata: columns 0 and 2 of each 4
    text = spell(f"mma.sp.sync.aligned.{shape}.row.col.{'.'.join(types)}", (4, 2, 2, 4), ", %e, 0")
    assert all((register.view(np.float32) == 8).all() for register in compute(text, [*registers, words]))


# --- wmma ---------------------------------------------------------------------------------------


def wmma_cases():
    """Yield the first form of every instruction-table row of wmma.mma, including old rows without `.aligned`."""
    for row in (row for row in wmma.ROWS if row.syntax.startswith("wmma.mma") and ".satfinite " not in row.syntax):
        slots = dict(row.slots)
        for shape in slots["shape"]:
            for d, c in product(slots.get("dtype", ("",)), slots.get("ctype", ("",))):
                chosen = {"alayout": "row", "blayout": "col", "shape": shape, "dtype": d, "ctype": c}
                opcode = row.syntax.split(" ")[0].replace("{.rnd}", "")
                for satfinite in ("", ".satfinite") if "{.satfinite}" in opcode else ("",):
                    words = opcode.replace("{.satfinite}", satfinite).split(".")
                    yield ".".join(chosen.get(word, word) for word in words), shape, (d, c)


WMMA = list(wmma_cases())


@pytest.mark.parametrize(("opcode", "shape", "sums"), WMMA, ids=[case[0][9:] for case in WMMA])
def test_wmma_multiplies_what_its_fragments_hold(opcode, shape, sums):
    words = opcode.split(".")
    named = tuple(word for word in words if word in mma_reference.WIDTHS)
    types = (sums[0], "f16", "f16", sums[1]) if sums[0] else named
    fragments = tuple(wmma_fragment(shape, which, t) for which, t in zip("dabc", types, strict=True))
    registers = inputs(np.random.default_rng(3), fragments, types)
    results = compute(spell(opcode, [each.registers for each in fragments]), registers)
    a, b, c = matrices(fragments, types, registers, 1)
    k = fragments[1].columns
    agree(
        fragments[0],
        results,
        1,
        types[0],
        lambda place: defined(types, mma_reference.terms(a, b, place, k), c[place], words),
    )
