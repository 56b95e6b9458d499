"""The checker reports undefined bits if a result depends on them, through any data flow, unless code masks them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from pyptx_ir.syntax.operands import Immediate
from pyptx_sim import run
from pyptx_sim.semantics.undefined_bits import shadow_of, spread_of
from pyptx_sim.types import dtype_of

from .ptx_text import BODY_LINE, execute, module
from .semantics_reference import bind, form_of

pytestmark = pytest.mark.scaled  # `semantics_reference` tests a third of the values by default

# --- a result bit is undefined if it changes with the undefined bits of the sources ------------------------------

EXACT = """
and.b32 %r0, %r1, %r2; or.b32 %r0, %r1, %r2; xor.b32 %r0, %r1, %r2; not.b32 %r0, %r1; and.pred %p0, %p1, %p2;
lop3.b32 %r0, %r1, %r2, %r3, 0xCA; lop3.b32 %r0, %r1, %r2, %r3, 0x96; shl.b32 %r0, %r1, 7; shr.u32 %r0, %r1, 5;
shr.s32 %r0, %r1, 9; shf.l.wrap.b32 %r0, %r1, %r2, 11; bfe.u32 %r0, %r1, 4, 9; bfe.s32 %r0, %r1, 4, 9;
bfi.b32 %r0, %r1, %r2, 8, 12; prmt.b32 %r0, %r1, %r2, 0x5241; prmt.b32 %r0, %r1, %r2, 0x9180; brev.b32 %r0, %r1;
selp.b32 %r0, %r1, %r2, %p1; cvt.u32.u16 %r0, %h1; cvt.s32.s16 %r0, %h1; cvt.u16.u32 %h0, %r1; cvt.s64.s32 %d0, %r1;
setp.lo.u32 %p0, %r1, %r2; setp.ge.u32 %p0, %r1, 1000;
"""
AT_LEAST = """
add.u32 %r0, %r1, %r2; sub.u32 %r0, %r1, %r2; mul.lo.u32 %r0, %r1, %r2; mad.lo.u32 %r0, %r1, %r2, %r3;
mul.wide.u32 %d0, %r1, %r2; mul.hi.u32 %r0, %r1, %r2; neg.s32 %r0, %r1; min.u32 %r0, %r1, %r2; popc.b32 %r0, %r1;
clz.b32 %r0, %r1; shl.b32 %r0, %r1, %r2; prmt.b32 %r0, %r1, %r2, %r3; setp.eq.u32 %p0, %r1, %r2;
setp.lt.s32 %p0, %r1, %r2;
setp.ne.u32 %p0, %r1, 5; abs.s32 %r0, %r1; add.sat.s32 %r0, %r1, %r2; add.f32 %r0, %r1, %r2; cvt.rn.f32.u32 %r0, %r1;
cvt.rn.f16x2.f32 %r0, %r1, %r2; add.f16x2 %r0, %r1, %r2; vadd2.u32.u32.u32 %r0, %r1, %r2, %r3;
dp4a.u32.u32 %r0, %r1, %r2, %r3; setp.lt.f16x2 %p0|%p3, %r1, %r2; setp.gt.and.f16x2 %p0|%p3, %r1, %r2, %p1;
"""
# Each element of the result depends on one element of each source.
ELEMENTWISE = """
setp.lt.f16x2 %p0|%p3, %r1, %r2; setp.ne.bf16x2 %p0|%p3, %r1, %r2; set.lt.f16x2.f16x2 %r0, %r1, %r2;
add.f16x2 %r0, %r1, %r2; fma.rn.relu.f16x2 %r0, %r1, %r2, %r3; min.NaN.bf16x2 %r0, %r1, %r2; abs.f16x2 %r0, %r1;
neg.bf16x2 %r0, %r1; ex2.approx.f16x2 %r0, %r1; tanh.approx.bf16x2 %r0, %r1; add.u16x2 %r0, %r1, %r2;
max.s16x2 %r0, %r1, %r2; cvt.rn.f16x2.e4m3x2 %r0, %h1; cvt.rn.satfinite.e5m2x2.f16x2 %h0, %r1;
add.rn.f32x2 %d0, %d1, %d2; fma.rn.f32x2 %d0, %d1, %d2, %d3;
"""


def instructions(text: str) -> list[str]:
    return [f"{each.strip()};" for each in text.split(";") if each.strip()]


def truth_and_claim(text: str, seed: int) -> tuple[list[Any], list[Any]]:
    """Return the result bits that change over all values of eight undefined bits, and those reported as undefined."""
    random = np.random.default_rng(seed)
    form, operation = form_of(text), bind(text)
    kinds = [shadow_of(each) for each in operation.sources]
    widths = [1 if kind == np.bool_ else 8 * kind.itemsize for kind in kinds]
    assert operation.places is not None
    given = [form.instruction.operands[place] for place in operation.places[1]]
    constants = [int(each.text, 0) if isinstance(each, Immediate) else None for each in given]
    places = [(source, bit) for source, width in enumerate(widths) if constants[source] is None for bit in range(width)]
    chosen = [places[each] for each in random.permutation(len(places))[: min(8, len(places))]]
    masks = [sum(1 << bit for source, bit in chosen if source == index) for index in range(len(kinds))]
    values = [
        int(random.integers(0, 1 << min(width, 62))) if constant is None else constant
        for width, constant in zip(widths, constants, strict=True)
    ]
    arrays = []
    for index, kind in enumerate(kinds):
        column = []
        for filling in product((0, 1), repeat=len(chosen)):
            put = sum(b << bit for b, (source, bit) in zip(filling, chosen, strict=True) if source == index)
            column.append(values[index] & ~masks[index] | put)
        raw = np.array(column, np.uint64).astype(kind)[:, None]
        arrays.append(raw if kind == np.bool_ else raw.view(dtype_of(operation.sources[index])))
    with np.errstate(all="ignore"):
        found = operation.compute(*arrays)
        bits = [np.full((1, 1), mask).astype(kind) if mask else None for mask, kind in zip(masks, kinds, strict=True)]
        claim = spread_of(form, operation)([each[:1] for each in arrays], bits, np.ones((1, 1), np.bool_))
    truth = []
    for result in found if isinstance(found, tuple) else (found,):
        raw = np.ascontiguousarray(result)
        raw = raw if raw.dtype == np.bool_ else raw.view(f"<u{raw.dtype.itemsize}")
        truth.append(int(np.bitwise_or.reduce(raw ^ raw[:1], axis=None)))
    return truth, [int(each.reshape(-1)[0]) for each in claim]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("text", instructions(EXACT))
def test_of_what_moves_bits_those_are_undefined_that_change_with_the_sources(text: str, seed: int) -> None:
    truth, claim = truth_and_claim(text, seed)
    assert claim == truth


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("text", instructions(AT_LEAST))
def test_no_bit_is_called_defined_that_changes_with_the_sources(text: str, seed: int) -> None:
    truth, claim = truth_and_claim(text, seed)
    assert [each & ~known for each, known in zip(truth, claim, strict=True)] == [0] * len(truth)


@pytest.mark.parametrize("element", [0, 1])
@pytest.mark.parametrize("text", instructions(ELEMENTWISE))
def test_an_undefined_element_leaves_the_others_defined(text: str, element: int) -> None:
    form, operation = form_of(text), bind(text)
    values, bits = [], []
    for each in operation.sources:
        kind = shadow_of(each)
        half = (1 << 4 * kind.itemsize) - 1
        values.append(np.ones((1, 1), kind).view(dtype_of(each)))
        bits.append(np.full((1, 1), half << 4 * kind.itemsize * element).astype(kind))
    claim = [int(each[0, 0]) for each in spread_of(form, operation)(values, bits, np.ones((1, 1), np.bool_))]
    if len(claim) == 2:
        assert claim == [element == 0, element == 1]
    else:
        width = 4 * shadow_of(operation.results[0]).itemsize
        assert claim == [((1 << width) - 1) << width * element]


# --- programs -----------------------------------------------------------------------------------

SHARED = ".shared .align 16 .b8 s[1024];\nshl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r2, %r2, %r1;\n"
ODD = "and.b32 %r3, %r0, 1; setp.eq.u32 %p1, %r3, 1;\n"
OUT = "st.global.u32 [%rd1], %r9;\n"

# Source of an undefined value -> code that leaves the value in %r8. `DEAD` and `USED` contain uses of %r8.
SOURCES = {
    "a register": "",
    "shared memory": SHARED + "ld.shared.u32 %r8, [%r2];\n",
    "a frame": ".local .align 4 .b8 frame[8];\nld.local.u32 %r8, [frame];\n",
    "a stored undefined value": SHARED + "add.u32 %r7, %r40, 1; st.shared.u32 [%r2], %r7; ld.shared.u32 %r8, [%r2];\n",
    "another lane": ODD + "@%p1 mov.u32 %r7, 5; shfl.sync.bfly.b32 %r8, %r7, 1, 31, -1;\n",
    "one lane's atomic": "setp.eq.u32 %p2, %r0, 0; @%p2 mov.u32 %r8, 1;\n",
}
DEAD = {
    "masked": "and.b32 %r9, %r8, 0;",
    "shifted out": "shl.b32 %r9, %r8, 31; and.b32 %r9, %r9, 0x7fffffff;",
    "permuted away": "prmt.b32 %r9, %r8, %r0, 0x7654;",
    "inserted over": "bfi.b32 %r9, %r0, %r8, 0, 32;",
    "not selected": "setp.ne.u32 %p3, %r0, 999; selp.b32 %r9, %r0, %r8, %p3;",
    "packed and truncated": "mov.b64 %rd5, {%r0, %r8}; cvt.u32.u64 %r9, %rd5;",
    "packed and unpacked": "mov.b64 %rd5, {%r0, %r8}; mov.b64 {%r9, _}, %rd5;",
    "stored to an unread location": SHARED.replace("s[", "t[").replace("s;", "t;")
    + "st.shared.u32 [%r2], %r8; mov.u32 %r9, 1;",
    "of a half": "cvt.u16.u32 %h1, %r8; mov.b32 %r9, {%h1, %h1}; and.b32 %r9, %r9, 0;",
    "under a false predicate": "setp.eq.u32 %p4, %r0, 999; mov.u32 %r9, 3; @%p4 mov.u32 %r9, %r8;",
    "below setp's deciding bit": "and.b32 %r9, %r8, 0xff; or.b32 %r9, %r9, 0x100; setp.hi.u32 %p5, %r9, 0xff;"
    "selp.u32 %r9, 1, 0, %p5;",
}
USED = {
    "stored": "mov.u32 %r9, %r8;",
    "computed with": "mul.lo.u32 %r9, %r8, 3; add.u32 %r9, %r9, 1;",
    "branched on": "setp.eq.u32 %p3, %r8, 7; mov.u32 %r9, 1; @%p3 bra on; mov.u32 %r9, 1; on:",
    "an address": "and.b32 %r8, %r8, 12; cvt.u64.u32 %rd5, %r8; add.u64 %rd5, %rd5, %rd0;"
    "ld.global.u32 %r9, [%rd5+128];",
    "a guard of a store": "setp.eq.u32 %p3, %r8, 7; mov.u32 %r9, 1; @%p3 st.global.u32 [%rd1], %r9;",
    "a guard of a move": "setp.eq.u32 %p3, %r8, 7; mov.u32 %r9, 1; @%p3 mov.u32 %r9, 2;",
    "selected by": "setp.eq.u32 %p3, %r8, 7; selp.u32 %r9, 1, 2, %p3;",
    "a bit of the value": "and.b32 %r9, %r8, 4;",
    "added to shared memory": ".shared .align 4 .b32 sum; st.shared.u32 [sum], 0; bar.warp.sync -1;"
    "red.shared.add.u32 [sum], %r8; mov.u32 %r9, 1;",
    "converted": "cvt.rn.f32.s32 %f1, %r8; mov.b32 %r9, %f1;",
}


def findings(body: str, **options: Any) -> list[Any]:
    return list(execute(body, np.zeros(64, np.uint32), **options).findings)


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("way", list(DEAD))
@pytest.mark.parametrize("source", list(SOURCES))
def test_an_undefined_value_that_decides_nothing_is_no_fault(source: str, way: str, seed: int) -> None:
    assert findings(SOURCES[source] + DEAD[way] + "\n" + OUT, seed=seed) == []


@pytest.mark.parametrize("way", list(USED))
@pytest.mark.parametrize("source", list(SOURCES))
def test_an_undefined_value_that_decides_something_is_found_with_its_origin(source: str, way: str) -> None:
    found = findings(SOURCES[source] + USED[way] + "\n" + OUT)
    assert {each.rule for each in found} <= {"uninitialized-register", "uninitialized-memory"}
    assert found
    assert all(each.message.startswith("use of uninitialized ") for each in found)


def test_a_finding_names_the_line_of_the_use_and_that_of_the_read() -> None:
    (found,) = findings("add.u32 %r8, %r40, 1;\nshl.b32 %r9, %r8, 2;\nst.global.u32 [%rd1], %r9;")
    assert (found.line, found.other_line) == (BODY_LINE + 2, BODY_LINE)
    assert "%r40" in found.message
    assert found.count == 32


def test_a_register_that_only_some_lanes_lack_is_counted_by_them() -> None:
    (found,) = findings(f"{ODD}@%p1 mov.u32 %r8, 1;\nadd.u32 %r9, %r8, 1;\n{OUT}")
    assert found.count == 16


def test_the_lane_that_has_the_value_is_the_one_that_counts() -> None:
    """As in warp-aggregated atomics: one lane executes the atomic, and `shfl` broadcasts the result of this lane."""
    body = """
    setp.eq.u32 %p1, %r0, 3;
    @%p1 atom.global.add.u32 %r8, [%rd0], 32;
    shfl.sync.idx.b32 %r9, %r8, {lane}, 31, -1;
    mov.u64 %rd5, %rd1; st.global.u32 [%rd5+128], %r9;
    """
    assert execute(body.format(lane=3), np.zeros(64, np.uint32)).findings == ()
    (found,) = execute(body.format(lane=4), np.zeros(64, np.uint32)).findings
    assert (found.rule, found.count) == ("uninitialized-register", 32)


def test_padding_goes_from_memory_to_memory_and_into_a_call_that_does_not_look_at_it() -> None:
    before = """
    .func (.param .b32 out) first(.param .b32 a, .param .b32 b)
    { .reg .b32 %r<4>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; and.b32 %r2, %r2, 0; or.b32 %r1, %r1, %r2;
      st.param.b32 [out], %r1; ret; }
    """
    body = (
        """
    .local .align 8 .b8 from[8]; .local .align 8 .b8 to[8];
    st.local.u32 [from], %r0;
    ld.local.v2.u32 {%r4, %r5}, [from]; st.local.v2.u32 [to], {%r4, %r5};
    ld.local.u64 %rd5, [to]; mov.b64 {%r6, %r7}, %rd5;
    { .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %r6; st.param.b32 [b], %r7;
      call (c), first, (a, b); ld.param.b32 %r9, [c]; }
    """
        + OUT
    )
    assert findings(body, before=before) == []
    assert [each.rule for each in findings(body.replace("%r6;", "%r7;", 1), before=before)] == ["uninitialized-memory"]


def test_padding_of_a_structure_goes_to_the_host_with_its_members() -> None:
    body = """
    .local .align 8 .b8 frame[8];
    st.local.u32 [frame], %r0;
    ld.local.u64 %rd5, [frame];
    shl.b32 %r1, %r0, 3; cvt.u64.u32 %rd6, %r1; add.u64 %rd6, %rd6, %rd0; st.global.u64 [%rd6], %rd5;
    """
    assert findings(body) == []
    assert [each.rule for each in findings(body.replace("st.local.u32 [frame], %r0;", ""))] == ["uninitialized-memory"]


def test_rows_of_a_product_that_nothing_fills_spoil_their_own_sums_only() -> None:
    body = """
    .shared .align 16 .b8 tile[512];
    mov.u32 %r1, tile; shl.b32 %r2, %r0, 4; add.u32 %r3, %r1, %r2;
    setp.ge.u32 %p1, %r0, 8; @%p1 bra filled;
    st.shared.v4.u32 [%r3], {0, 0, 0, 0}; st.shared.v4.u32 [%r3+256], {0, 0, 0, 0};
    filled: bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];
    mov.u32 %r8, 0; mov.b32 %f0, 0;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%f1, %f2, %f3, %f4}, {%r4, %r5, %r6, %r7}, {%r8, %r8}, {%f0, %f0, %f0, %f0};
    st.global.f32 [%rd1], %f1;
    st.global.f32 [%rd1], %f2;
    """
    assert findings(body) == []
    assert [each.count for each in findings(body.replace("[%rd1], %f2", "[%rd1], %f3"))] == [32]


def test_a_value_that_arrives_undefined_in_a_loop_is_one_finding() -> None:
    body = """
    mov.u32 %r1, 0;
    again: add.u32 %r8, %r8, 1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 10; @%p1 bra again;
    st.global.u32 [%rd1], %r8;
    """
    (found,) = findings(body)
    assert found.count == 32


def test_without_checks_nothing_is_said_and_nothing_is_kept() -> None:
    text = module("add.u32 %r9, %r40, 1; st.global.u32 [%rd1], %r9;")
    out = np.zeros(32, np.uint32)
    assert run(text, grid=1, block=32, args=[out], checks="none").findings == ()
    assert (out == 1).all()
