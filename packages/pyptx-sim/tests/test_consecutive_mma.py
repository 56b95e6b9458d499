"""Consecutive MMAs that share fragments are computed together, with the results of separate MMAs."""

from __future__ import annotations

from itertools import chain, product

import numpy as np
import pytest

from pyptx_ir.fragments import mma_fragment
from pyptx_sim.types import dtype_of

from . import mma_reference
from . import semantics_reference as ref
from .ptx_text import BODY_LINE, execute
from .test_semantics_mma import DENSE, WARPS, agree, defined, dense_fragments, inputs, matrices, spell

pytestmark = pytest.mark.scaled(3)

ROWS, COLUMNS = 2, 3
TOGETHER = [case for case in DENSE if mma_fragment(case[1], "d", case[2][0]).products == 1]


MMA = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"


def shared(operation, instructions):
    """Return the sources of instructions as the engine passes them: all readers of a register get the same array."""
    views = {}
    flat = [[register for operand in operands for register in operand] for operands in instructions]
    return [
        [
            views.setdefault((register.ctypes.data, kind), register.view(dtype_of(kind)))
            for register, kind in zip(registers, operation.sources, strict=True)
        ]
        for registers in flat
    ]


def drawn(opcode, fragments, types, cells):
    """Return registers of a, b and c for each MMA (row, column) in `cells`: MMAs of a row share a, of a column b."""
    random = np.random.default_rng(len(opcode))
    some = [inputs(random, fragments, types) for _ in cells]
    return [[some[row][0], some[column][1], some[number][2]] for number, (row, column) in enumerate(cells)]


GRID = list(product(range(ROWS), range(COLUMNS)))
SHUFFLED = [GRID[number] for number in (4, 0, 5, 2, 1, 3)]
ORDERS = {"shuffled": SHUFFLED, "one twice": [*GRID[:-1], GRID[0]]}


@pytest.mark.parametrize(("opcode", "shape", "types", "layouts"), ref.by_opcode(TOGETHER))
def test_each_product_in_a_row_is_a_chain_of_fused_multiply_adds_then_the_addend(opcode, shape, types, layouts):
    fragments = dense_fragments(shape, types, layouts)
    operation = ref.exercise(spell(opcode, [each.registers for each in fragments]))
    instructions = drawn(opcode, fragments, types, SHUFFLED)
    with np.errstate(all="ignore"):
        results = operation.batch(shared(operation, instructions))
    assert len(results) == len(SHUFFLED)
    a, b, c = matrices(fragments, types, instructions[-1], 1)
    k = fragments[1].columns
    agree(
        fragments[0],
        [register.view(f"<u{register.itemsize}") for register in results[-1]],
        1,
        types[0],
        lambda place: defined(types, mma_reference.terms(a, b, place, k), c[place], opcode.split(".")),
    )


@pytest.mark.parametrize("cells", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize(("opcode", "shape", "types", "layouts"), ref.by_opcode(TOGETHER))
def test_products_in_a_row_are_what_each_is_alone(opcode, shape, types, layouts, cells):
    fragments = dense_fragments(shape, types, layouts)
    operation = ref.exercise(spell(opcode, [each.registers for each in fragments]))
    sources = shared(operation, drawn(opcode, fragments, types, cells))
    everyone = np.ones((WARPS, 32), np.bool_)
    with np.errstate(all="ignore"):
        together = operation.batch(sources)
        alone = [operation.compute(everyone, *each) for each in sources]
    for one, other in zip(chain(*together), chain(*alone), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one.view(f"<u{one.itemsize}"), other.view(f"<u{one.itemsize}"))


def test_instructions_that_hold_several_matrices_are_not_computed_together():
    text = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, {%a0, %a1}, "
    text += "{%b0, %b1}, {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};"
    assert ref.exercise(text).batch is None


# --- in a program -------------------------------------------------------------------------------

LOADS = """
mov.b32 %r10, 0x3f804000;  // bf16 2 and 1
mov.b32 %r11, 0x40003f80;
mov.b32 %r12, 0x40404040;  // 3 and 3, about
shr.u32 %r1, %r0, 5;
"""


def several(between=""):
    """Return four MMAs of two fragments of A with two of B, and two more that add to two of the accumulators."""
    a = ("{%r10, %r11, %r12, %r10}", "{%r12, %r12, %r11, %r10}")
    b = ("{%r10, %r11}", "{%r12, %r10}")
    pairs = [*product(range(2), range(2)), (1, 0), (0, 1)]
    d = ["{" + ", ".join(f"%f{4 * cell + each}" for each in range(4)) + "}" for cell in (0, 1, 2, 3, 0, 1)]
    return f"\n{between}\n".join(f"{MMA} {d[n]}, {a[i]}, {b[j]}, {d[n]};" for n, (i, j) in enumerate(pairs))


def program(between=""):
    """Return a kernel body in which warp w executes the six MMAs w + 1 times and stores the accumulators."""
    zeros = "\n".join(f"mov.f32 %f{each}, 0f3f800000;" for each in range(16))
    stores = "\n".join(f"st.global.f32 [%rd2+{4 * each}], %f{each};" for each in range(16))
    return f"""
{zeros}
{LOADS}
mov.u32 %r2, 0;
LOOP:
{several(between)}
add.u32 %r2, %r2, 1;
setp.le.u32 %p0, %r2, %r1;
@%p0 bra LOOP;
mad.wide.u32 %rd2, %r0, 64, %rd0;
{stores}
"""


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_program_gets_the_same_sums_together_and_one_by_one(checks, seed):
    found = []
    for between in ("", "mov.u32 %r20, 7;"):
        out = np.zeros((96, 16), np.float32)
        result = execute(program(between), out, block=96, checks=checks, seed=seed)
        assert result.findings == ()
        found.append(out)
    np.testing.assert_array_equal(*found)
    first = found[0] - 1
    assert first.any()
    np.testing.assert_allclose(first[32:64], 2 * first[:32], rtol=1e-6)
    np.testing.assert_allclose(first[64:], 3 * first[:32], rtol=1e-6)


def test_each_instruction_in_a_row_counts_and_reports_at_its_own_line():
    out = np.zeros((32, 16), np.float32)
    sums = "".join(f"st.global.f32 [%rd0+{4 * number}], %f{4 * number};\n" for number in range(4))
    body = f"{LOADS}{several()}{sums}"
    result = execute(body, out)
    first = BODY_LINE + body.strip().splitlines().index(several().splitlines()[0])
    lines = {finding.other_line for finding in result.findings if finding.rule == "uninitialized-register"}
    assert lines == {first + 2 * number for number in range(4)}
    assert result.statistics.instructions == execute(body, out, checks="none").statistics.instructions
