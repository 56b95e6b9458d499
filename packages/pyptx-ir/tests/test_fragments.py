"""Invariants of fragment layouts for every MMA of the instruction table, and the formulas of the manual's figures."""

from __future__ import annotations

from itertools import product

import pytest

from pyptx_ir.fragments import (
    Fragment,
    fragment_of,
    metadata_fragment,
    mma_fragment,
    move_of,
    selected_lanes,
    sparse_fragment,
    wmma_fragment,
)
from pyptx_ir.fragments.moves import MOVES
from pyptx_ir.fragments.sparse import SPARSITY
from pyptx_ir.isa.kinds.fragments import registers_of
from pyptx_ir.isa.matrix_rows import BITS
from pyptx_ir.isa.table import wmma
from pyptx_ir.isa.table.mma import PRODUCTS
from pyptx_ir.isa.table.mma_sparse import PRODUCTS as SPARSE
from pyptx_ir.plugins.errors import MissingPluginError

EXTENTS = {"a": "mk", "b": "kn", "c": "mn", "d": "mn"}


def dense():
    """Yield every operand fragment of every MMA, with its number of registers in the table."""
    for entry in PRODUCTS:
        for shape, types in product(entry.shapes, entry.types()):
            counts = entry.registers(shape, types)
            for operand, element, count in zip("dabc", types, counts, strict=True):
                yield mma_fragment(shape, operand, element), count


def opaque():
    for share in (*wmma.FACTORS, *wmma.SUMS):
        for which, shape, element in product(share.which, share.shapes, share.types):
            extent = share.fragment.split()[0]
            count = int(extent) if extent.isdecimal() else registers_of(shape, extent, BITS[element])
            yield wmma_fragment(shape, which, element), count


def sparse():
    for entry in SPARSE:
        for element in entry.a:
            yield sparse_fragment(entry.shape, element), registers_of(entry.shape, "mk/2", BITS[element])
            yield mma_fragment(entry.shape, "b", element), registers_of(entry.shape, "kn", BITS[element])


ALL = list({fragment.title: (fragment, count) for fragment, count in (*dense(), *opaque(), *sparse())}.values())
ALL += [(move.fragment, 2 if move.fragment.title.startswith("ldmatrix m16n16") else 1) for move in MOVES]
# Fragments by layout: those of types with equal width have one layout, which is tested once.
LAYOUTS = {(fragment.lanes, fragment.elements, fragment.bits): fragment for fragment, _ in ALL}.values()
each = pytest.mark.parametrize("fragment", LAYOUTS, ids=lambda fragment: fragment.title)


def elements(fragment: Fragment):
    return product(range(32), range(fragment.count))


def test_a_fragment_has_the_registers_that_the_table_says():
    assert len(ALL) > 100
    assert {fragment.title: fragment.registers for fragment, _ in ALL} == {each.title: count for each, count in ALL}


@each
def test_every_element_is_held_equally_often_and_by_who_says_so(fragment):
    holders = {}
    for lane, index in elements(fragment):
        place = fragment.row(lane, index), fragment.column(lane, index), fragment.product(lane, index)
        holders.setdefault(place, []).append((lane, index))
    extents = product(range(fragment.rows), range(fragment.columns), range(fragment.products))
    assert set(holders) == set(extents)
    assert len({len(who) for who in holders.values()}) == 1
    for place, who in holders.items():
        assert [(found.lane, found.element) for found in fragment.places(*place)] == sorted(who)
        assert (fragment.lane_of(*place), fragment.element_of(*place)) == min(who)


@each
def test_the_bits_of_an_element_lie_in_its_register(fragment):
    for place in fragment.places(fragment.rows - 1, fragment.columns - 1):
        assert place.register * fragment.width + place.shift == place.element * fragment.bits
        assert 0 <= place.shift <= fragment.width - fragment.bits


def test_only_wmma_repeats_elements():
    repeated = {fragment.title for fragment, _ in ALL if len(fragment.places(0, 0)) > 1}
    assert repeated == {
        "wmma m16n16k16 a .f16",
        "wmma m16n16k16 b .f16",
        "wmma m8n32k16 a .f16",
        "wmma m32n8k16 b .f16",
    }


# --- the manual's formulas, for layouts that differ in kind -----------------------------------------------------


def group(lane):
    return lane >> 2


def member(lane):
    return lane % 4


FORMULAS = [
    # Formulas of the manual's "Matrix Fragments for mma.m16n8k16 with floating point type"
    (
        ("m16n8k16", "a", "f16"),
        lambda t, i: group(t) + (0 if i < 2 or 4 <= i < 6 else 8),
        lambda t, i: member(t) * 2 + (i & 1) + (8 if i >= 4 else 0),
    ),
    (
        ("m16n8k16", "b", "bf16"),
        lambda t, i: member(t) * 2 + (i & 1) + (8 if i >= 2 else 0),
        lambda t, i: group(t),
    ),
    (("m16n8k16", "c", "f32"), lambda t, i: group(t) + 8 * (i >= 2), lambda t, i: member(t) * 2 + (i & 1)),
    (
        ("m16n8k16", "a", "f64"),
        lambda t, i: group(t) + 8 * (i % 2),
        lambda t, i: member(t) + (i * 2 if i % 2 == 0 else i * 2 - 2),
    ),
    # Formulas of the manual's "Matrix Fragments for mma.m16n8k8", with tf32
    (("m16n8k8", "a", "tf32"), lambda t, i: group(t) + 8 * (i % 2), lambda t, i: member(t) + 4 * (i >= 2)),
    (("m16n8k8", "b", "tf32"), lambda t, i: member(t) + 4 * i, lambda t, i: group(t)),
    # Formulas of the manual's "Matrix Fragments for mma.m16n8k32", "… for mma.m16n8k64", and b1 with k256
    (
        ("m16n8k32", "a", "s8"),
        lambda t, i: group(t) + (0 if i < 4 or 8 <= i < 12 else 8),
        lambda t, i: member(t) * 4 + (i & 3) + 16 * (i >= 8),
    ),
    (
        ("m16n8k64", "a", "s4"),
        lambda t, i: group(t) + (0 if i < 8 or 16 <= i < 24 else 8),
        lambda t, i: member(t) * 8 + (i & 7) + 32 * (i >= 16),
    ),
    (
        ("m16n8k256", "b", "b1"),
        lambda t, i: member(t) * 32 + (i & 31) + 128 * (i >= 32),
        lambda t, i: group(t),
    ),
    # Formulas of the manual's "Matrix Fragments for mma.m8n8k4" with .f16, for the first of its four MMAs
    (("m8n8k4", "a", "f16"), lambda t, i: t % 4 + 4 * (t >= 16), lambda t, i: i),
    (("m8n8k4", "b", "f16"), lambda t, i: i, lambda t, i: t % 4 + 4 * (t >= 16)),
    (("m8n8k4", "c", "f16"), lambda t, i: t % 4 + 4 * (t >= 16), lambda t, i: i),
    (
        ("m8n8k4", "c", "f32"),
        lambda t, i: (t & 1) + (i & 2) + 4 * (t >= 16),
        lambda t, i: (i & 4) + (t & 2) + (i & 1),
    ),
]


@pytest.mark.parametrize(("name", "row", "column"), FORMULAS, ids=["-".join(name) for name, _, _ in FORMULAS])
def test_a_layout_is_the_one_that_the_manual_computes(name, row, column):
    fragment = mma_fragment(*name)
    for lane, index in elements(fragment):
        assert (fragment.row(lane, index), fragment.column(lane, index)) == (row(lane, index), column(lane, index))


def test_m8n8k4_in_the_other_layouts_swaps_what_a_lane_holds():
    for lane, i in product(range(32), range(4)):
        a, b = mma_fragment("m8n8k4", "a", "f16", "col"), mma_fragment("m8n8k4", "b", "f16", "row")
        assert (a.row(lane, i), a.column(lane, i)) == (i + 4 * (lane >= 16), lane % 4)
        assert (b.row(lane, i), b.column(lane, i)) == (lane % 4, i + 4 * (lane >= 16))
        assert a.product(lane, i) == b.product(lane, i) == lane // 4 % 4


# --- metadata -----------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", SPARSE, ids=lambda entry: f"{entry.shape}-{entry.a[0]}")
def test_metadata_fills_the_registers_of_the_selected_lanes(entry):
    element = entry.a[0]
    fragment, kind = metadata_fragment(entry.shape, element), SPARSITY[BITS[element]]
    stored = sparse_fragment(entry.shape, element).columns
    assert fragment.columns == stored // kind.together * kind.fields
    used = {fragment.lane_of(row, column) % 4 for row, column in product(range(16), range(fragment.columns))}
    lanes = [selected_lanes(entry.shape, element, selector) for selector in range(entry.selector + 1)]
    assert tuple(sorted(used)) == lanes[0]
    assert sorted(lane for group in lanes for lane in group) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="selector"):
        selected_lanes(entry.shape, element, entry.selector + 1)


def test_a_lane_of_halves_serves_two_rows_and_one_of_bytes_one():
    halves, octets = metadata_fragment("m16n8k32", "bf16"), metadata_fragment("m16n8k64", "s8")
    assert [halves.lane_of(row, column) for row, column in ((0, 0), (8, 7), (0, 8), (9, 15))] == [0, 0, 1, 5]
    assert [octets.lane_of(row, column) for row, column in ((0, 0), (8, 0), (0, 16), (9, 31))] == [0, 1, 2, 7]


# --- matrix moves, printed fragments, errors ----------------------------------------------------


def test_transposed_moves_swap_rows_and_columns():
    plain, flipped = move_of("m8n8", "b16").fragment, move_of("m8n8", "b16", transposed=True).fragment
    for lane, index in elements(plain):
        assert (plain.row(lane, index), plain.column(lane, index)) == (lane // 4, lane % 4 * 2 + index)
        assert (flipped.column(lane, index), flipped.row(lane, index)) == (lane // 4, lane % 4 * 2 + index)


def test_a_fragment_prints_as_a_table():
    lines = str(mma_fragment("m16n8k8", "c", "f32")).splitlines()
    assert lines[0] == "m16n8k8 c .f32: 16 x 8, 4 registers per lane"
    assert lines[3].split()[:3] == ["0", "T0.r0", "T0.r1"]
    assert lines[-1].split() == ["15", *(f"T{28 + column // 2}.r{2 + column % 2}" for column in range(8))]


def test_a_place_outside_the_matrix_is_an_error_that_says_how_large_it_is():
    with pytest.raises(ValueError, match="16 x 8"):
        mma_fragment("m16n8k8", "c", "f32").places(16, 0)
    with pytest.raises(IndexError, match="element index must be 0 to 3, got 4"):
        mma_fragment("m16n8k8", "c", "f32").row(0, 4)
    with pytest.raises(ValueError, match="expected an MMA shape"):
        mma_fragment("16x8x8", "c", "f32")
    with pytest.raises(ValueError, match="invalid operand of m8n8k4"):
        mma_fragment("m8n8k4", "a", "f32")
    with pytest.raises(ValueError, match=r"unknown matrix move m8n16 \.b16"):
        move_of("m8n16", "b16")


def test_a_fragment_is_found_by_the_name_of_its_instruction():
    assert fragment_of("mma", "m16n8k16", "a", "bf16") is mma_fragment("m16n8k16", "a", "bf16")
    assert fragment_of("mma", "m8n8k4", "b", "f16", "row") is mma_fragment("m8n8k4", "b", "f16", "row")
    assert fragment_of("mma.sp", "m16n8k32", "a", "f16") is sparse_fragment("m16n8k32", "f16")
    assert fragment_of("mma.sp", "m16n8k32", "e", "f16") is metadata_fragment("m16n8k32", "f16")
    assert fragment_of("mma.sp", "m16n8k32", "b", "f16") is mma_fragment("m16n8k32", "b", "f16")
    assert fragment_of("wmma", "m16n16k16", "c", "f32") is wmma_fragment("m16n16k16", "c", "f32")
    with pytest.raises(MissingPluginError, match="no installed plugin provides the fragments of nonesuch"):
        fragment_of("nonesuch", "m16n8k16", "a", "bf16")
    with pytest.raises(ValueError, match="got 'e'"):
        fragment_of("mma", "m16n8k16", "e", "bf16")
