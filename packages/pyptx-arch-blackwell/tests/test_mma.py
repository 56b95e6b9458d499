"""`mma.PRODUCTS` has exactly the shapes of the manual's table, and errors list the valid values."""

from __future__ import annotations

from itertools import product as combinations
from typing import Any

import pytest

from pyptx_arch_blackwell.descriptors import FACTORS, KINDS, SCALED_KINDS, SUMS, InstructionDescriptor
from pyptx_arch_blackwell.mma import PRODUCTS, MmaError, check, check_swizzle, find

# Table rows of the manual's "Matrix Shape", copied by hand: M, N (first, last, step), K.
STEPS_8, STEPS_16, STEPS_32 = (8, 256, 8), (16, 256, 16), (32, 256, 32)
TABLE: dict[tuple[str, bool, int, bool], tuple[set[int], tuple[int, int, int] | set[int], set[int]]] = {
    ("f16", False, 1, False): ({64, 128}, STEPS_8, {16}),
    ("f16", False, 1, True): ({64, 128}, STEPS_8, {32}),
    ("f16", False, 2, False): ({128, 256}, STEPS_16, {16}),
    ("f16", False, 2, True): ({128, 256}, STEPS_16, {32}),
    ("f16", True, 1, False): ({32, 64, 128}, {64, 128, 256}, {16}),
    ("f16", True, 1, True): ({32, 64, 128}, {64, 128}, {32}),
    ("tf32", False, 1, False): ({64, 128}, STEPS_8, {8}),
    ("tf32", False, 1, True): ({64, 128}, STEPS_8, {16}),
    ("tf32", False, 2, False): ({128, 256}, STEPS_16, {8}),
    ("tf32", False, 2, True): ({128, 256}, STEPS_16, {16}),
    ("tf32", True, 1, False): ({32, 64, 128}, {64, 128, 256}, {8}),
    ("tf32", True, 1, True): ({32, 64, 128}, {64, 128}, {16}),
    ("f8f6f4", False, 1, False): ({64, 128}, STEPS_8, {32}),
    ("f8f6f4", False, 1, True): ({64, 128}, STEPS_8, {64}),
    ("f8f6f4", False, 2, False): ({128, 256}, STEPS_16, {32}),
    ("f8f6f4", False, 2, True): ({128, 256}, STEPS_16, {64}),
    ("f8f6f4", True, 1, False): ({32, 64, 128}, {64, 128, 256}, {32}),
    ("f8f6f4", True, 1, True): ({32, 64, 128}, {64, 128}, {64}),
    ("mxf8f6f4", False, 1, False): ({128}, STEPS_8, {32}),
    ("mxf8f6f4", False, 1, True): ({128}, STEPS_8, {64}),
    ("mxf8f6f4", False, 2, False): ({128, 256}, STEPS_16, {32}),
    ("mxf8f6f4", False, 2, True): ({256}, STEPS_16, {64}),
    ("i8", False, 1, False): ({64, 128}, {8, 16, 24, *range(32, 257, 16)}, {32}),
    ("i8", False, 1, True): ({64, 128}, {8, 16, 24, *range(32, 257, 16)}, {64}),
    ("i8", False, 2, False): ({128, 256}, STEPS_32, {32}),
    ("i8", False, 2, True): ({128, 256}, STEPS_32, {64}),
    ("i8", True, 1, False): ({32, 64, 128}, {64, 128, 256}, {32}),
    ("i8", True, 1, True): ({32, 64, 128}, {64, 128}, {64}),
    **{
        (kind, False, *rest): sizes
        for kind in ("mxf4", "mxf4nvf4")
        for rest, sizes in {
            (1, False): ({128}, STEPS_8, {64, 96}),
            (1, True): ({128}, STEPS_8, {128}),
            (2, False): ({128, 256}, STEPS_16, {64, 96}),
            (2, True): ({256}, STEPS_16, {128}),
        }.items()
    },
}


def sizes(spelt: tuple[int, int, int] | set[int]) -> set[int]:
    return spelt if isinstance(spelt, set) else set(range(spelt[0], spelt[1] + 1, spelt[2]))


def descriptor(kind: str, m: int, n: int, depth: int, *, sparse: bool) -> InstructionDescriptor:
    scale: dict[str, Any] = {"scale": "ue8m0"} if kind in SCALED_KINDS else {}
    return InstructionDescriptor(
        kind, SUMS[kind][0], FACTORS[kind][0], FACTORS[kind][0], m, n, sparse=sparse, depth=depth, **scale
    )


def accepted(made: InstructionDescriptor, cta_group: int, *, ws: bool) -> bool:
    try:
        check(made, cta_group=cta_group, ws=ws)
    except MmaError:
        return False
    return True


def test_the_rows_are_those_of_the_manual() -> None:
    assert {(row.kind, row.ws, row.cta_group, row.sparse) for row in PRODUCTS} == set(TABLE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_is_accepted_if_the_manual_has_it(kind: str) -> None:
    for ws, cta_group, sparse in combinations((False, True), (1, 2), (False, True)):
        row = TABLE.get((kind, ws, cta_group, sparse))
        for m, n in combinations((32, 64, 128, 256) if kind not in SCALED_KINDS else (128, 256), range(8, 257, 8)):
            made = descriptor(kind, m, n, 0, sparse=sparse)
            known = row is not None and m in row[0] and n in sizes(row[1]) and made.depth in row[2]
            assert accepted(made, cta_group, ws=ws) == known, (made, ws, cta_group)


def test_depth_96_has_one_size_of_m_for_each_group() -> None:
    found = {
        (cta_group, m)
        for cta_group, m in combinations((1, 2), (128, 256))
        if accepted(descriptor("mxf4", m, 128, 96, sparse=False), cta_group, ws=False)
    }
    assert found == {(1, 128), (2, 256)}


@pytest.mark.parametrize(
    ("kind", "cta_group", "step"), [("i8", 1, 16), ("i8", 2, 32), ("f8f6f4", 1, 16), ("mxf8f6f4", 2, 32)]
)
def test_bytes_of_b_are_transposed_in_wider_steps_of_n(kind: str, cta_group: int, step: int) -> None:
    for n in range(8, 257, 8):
        made = InstructionDescriptor(kind, SUMS[kind][0], FACTORS[kind][0], FACTORS[kind][0], 128, n, b_major="MN")
        allowed = n in sizes(TABLE[kind, False, cta_group, False][1])
        assert accepted(made, cta_group, ws=False) == (allowed and n % step == 0)


def test_swizzles_go_with_types_and_majors_as_the_manual_says() -> None:
    patterns = ((0, 16), (32, 16), (64, 16), (128, 16), (128, 32))
    for kind, pattern in combinations(KINDS, patterns):
        check_swizzle(kind, "K", *pattern)
        wanted = pattern == (128, 32) if kind == "tf32" else pattern != (128, 32)
        if wanted and kind not in ("mxf4", "mxf4nvf4"):
            check_swizzle(kind, "MN", *pattern)
        else:
            with pytest.raises(MmaError):
                check_swizzle(kind, "MN", *pattern)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: find("mxf4", ws=True), "use one of f16, tf32, f8f6f4, i8"),
        (lambda: find("f16", cta_group=2, ws=True), "cta_group=1"),
        (lambda: find("f16", cta_group=3), "must be 1 .* or 2 "),
        (lambda: find("f64"), "f16, tf32"),
        (lambda: check(descriptor("f16", 256, 64, 0, sparse=False)), "M = 256, must be 64 or 128"),
        (lambda: check(descriptor("f16", 128, 24, 0, sparse=False), cta_group=2), "N = 24, must be 16, 32, … 256"),
        (lambda: check(InstructionDescriptor("f16", "f16", "bf16", "bf16", 128, 64)), "accumulate bf16 in f32"),
        (lambda: check(InstructionDescriptor("f16", "f32", "bf16", "bf16", 128, 64, selector=1)), "sparse MMAs"),
        (
            lambda: check(InstructionDescriptor("f16", "f32", "f16", "f16", 128, 64, max_shift=8)),
            "only for tcgen05.mma.ws",
        ),
        (
            lambda: check(InstructionDescriptor("mxf4", "f32", "e2m1", "e2m1", 128, 64, scale_a_id=1)),
            "scale_a_id=1, must be 0 or 2",
        ),
    ],
)
def test_what_is_not_there_is_told_with_what_is(call: Any, says: str) -> None:
    with pytest.raises(MmaError, match=says):
        call()
