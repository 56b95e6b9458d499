"""Descriptors encode and decode bit by bit; constants of published kernels decode to the expected fields."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyptx_arch_blackwell.descriptors import (
    FACTORS,
    KINDS,
    SCALED_KINDS,
    SCALES,
    SUMS,
    DescriptorError,
    InstructionDescriptor,
    SharedDescriptor,
    ZeroColumnMask,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

FOUR_BITS = ("mxf4", "mxf4nvf4")
NAMES = {each.__name__: each for each in (InstructionDescriptor, SharedDescriptor, ZeroColumnMask)}


def options(kind: str) -> Iterator[dict[str, Any]]:
    """Yield instruction descriptors with every combination of types and options of a kind, at a few sizes."""
    scaled = kind in SCALED_KINDS
    flags = (False, True)
    majors = ("K",) if kind in FOUR_BITS else ("K", "MN")
    for d, a, b, scale in combinations(SUMS[kind], FACTORS[kind], FACTORS[kind], SCALES.get(kind, (None,))):
        for a_major, b_major, sparse in combinations(majors, majors, flags):
            for negate in ((False, False), (True, False), (False, True)) if kind != "i8" else ((False, False),):
                yield {
                    "d": d, "a": a, "b": b, "scale": scale, "a_major": a_major, "b_major": b_major, "sparse": sparse,
                    "negate_a": negate[0], "negate_b": negate[1], "m": 128 if scaled else 64, "n": 8,
                }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_product_says_comes_back_from_its_bits_and_from_its_repr(kind: str) -> None:
    seen = set()
    for given_options in options(kind):
        descriptor = InstructionDescriptor(kind, **given_options)
        assert InstructionDescriptor.decode(kind, descriptor.bits) == descriptor
        assert eval(repr(descriptor), NAMES) == descriptor  # noqa: S307 - evaluates a repr
        seen.add(descriptor.bits)
    assert len(seen) == len(list(options(kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_in_every_field_is_read_or_refused_by_name(kind: str) -> None:
    """For each value of each 4-bit group, the decoded descriptor has the same bits, or an error names a field."""
    scale: dict[str, Any] = {"scale": "ue8m0"} if kind in SCALED_KINDS else {}
    start = InstructionDescriptor(kind, SUMS[kind][0], FACTORS[kind][0], FACTORS[kind][0], 128, 64, **scale)
    words = [start.bits & ~(15 << low) | number << low for low in range(0, 32, 4) for number in range(16)]
    outcomes = [outcome(kind, word) for word in words]
    refusals = [found for found in outcomes if isinstance(found, str)]
    assert [found for found in outcomes if not isinstance(found, str)] == [
        word for word, found in zip(words, outcomes, strict=True) if not isinstance(found, str)
    ]
    assert 10 < len(refusals) < 98
    assert all("bit" in refusal or "depth" in refusal for refusal in refusals)


def outcome(kind: str, word: int) -> int | str:
    """Return the bits of the descriptor decoded from `word`, or the error message."""
    try:
        return InstructionDescriptor.decode(kind, word).bits
    except DescriptorError as error:
        return str(error)


def test_sizes_are_all_that_their_fields_hold() -> None:
    for m, n in combinations(range(0, 512, 16), range(0, 512, 8)):
        descriptor = InstructionDescriptor("f16", "f32", "bf16", "f16", m, n)
        assert descriptor.shape == (m, n, 16)
        assert InstructionDescriptor.decode("f16", descriptor.bits) == descriptor
        assert (descriptor.bits >> 17 & 63, descriptor.bits >> 24 & 31) == (n // 8, m // 16)


@pytest.mark.parametrize("kind", FOUR_BITS)
def test_depth_96_is_one_bit_of_dense_products(kind: str) -> None:
    deep = InstructionDescriptor(kind, "f32", "e2m1", "e2m1", 128, 128, scale="ue8m0", depth=96)
    assert InstructionDescriptor.decode(kind, deep.bits) == deep
    assert deep.bits >> 31 == 1
    with pytest.raises(DescriptorError, match="depth=96"):
        InstructionDescriptor(kind, "f32", "e2m1", "e2m1", 128, 128, scale="ue8m0", depth=96, sparse=True)


# Instruction descriptors from published kernels and headers.
KNOWN_INSTRUCTIONS = [
    (("f16", "f32", "bf16", "bf16", 128, 256), {}, 1 << 4 | 1 << 7 | 1 << 10 | 32 << 17 | 8 << 24),
    (("f16", "f32", "f16", "f16", 128, 128), {"b_major": "MN"}, 1 << 4 | 1 << 16 | 16 << 17 | 8 << 24),
    (("i8", "s32", "s8", "u8", 64, 32), {"saturate": True}, 1 << 3 | 2 << 4 | 1 << 7 | 4 << 17 | 4 << 24),
    (("f8f6f4", "f32", "e5m2", "e2m1", 64, 8), {}, 1 << 4 | 1 << 7 | 5 << 10 | 1 << 17 | 4 << 24),
    (("mxf8f6f4", "f32", "e4m3", "e4m3", 128, 128), {}, 16 << 17 | 1 << 23 | 8 << 24),
    (("mxf4nvf4", "f32", "e2m1", "e2m1", 256, 64), {"scale": "ue4m3"}, 1 << 7 | 1 << 10 | 8 << 17 | 16 << 24),
]


@pytest.mark.parametrize(("types", "more", "bits"), KNOWN_INSTRUCTIONS)
def test_words_that_others_write_are_ours(types: tuple[Any, ...], more: dict[str, Any], bits: int) -> None:
    assert InstructionDescriptor(*types, **more).bits == bits


def test_a_shared_descriptor_without_address_is_the_constant_of_published_kernels() -> None:
    known = SharedDescriptor.decode(0x4000404000010000)
    assert known == SharedDescriptor(leading=16, stride=1024, swizzle=128)


def test_shared_descriptors_come_back_from_their_bits_and_from_their_repr() -> None:
    patterns = ((0, 16), (32, 16), (64, 16), (128, 16), (128, 32))
    places = [1 << power for power in range(4, 18)] + [0, 0x3FFF0]
    for (swizzle, atom), base, place in combinations(patterns, range(8), places):
        for name in ("start", "leading", "stride"):
            descriptor = SharedDescriptor(**{name: place}, swizzle=swizzle, atom=atom, base_offset=base)
            assert SharedDescriptor.decode(descriptor.bits) == descriptor
            assert eval(repr(descriptor), NAMES) == descriptor  # noqa: S307 - evaluates a repr
    far = SharedDescriptor(leading=0x8000, stride=1024, swizzle=128, absolute_leading=True)
    assert SharedDescriptor.decode(far.bits) == far
    assert far.bits >> 52 & 1


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: SharedDescriptor(start=8), "start of .* got 8"),
        (lambda: SharedDescriptor(stride=1 << 18), "stride"),
        (lambda: SharedDescriptor(swizzle=96), "pattern"),
        (lambda: SharedDescriptor(swizzle=64, absolute_leading=True), "absolute_leading"),
        (lambda: SharedDescriptor.decode(0), "version"),
        (lambda: SharedDescriptor.decode(1 << 46 | 3 << 61), r"pattern field \(bits 61-63\) is 3"),
        (lambda: SharedDescriptor.decode(1 << 46 | 1 << 55), "bit 55"),
        (lambda: InstructionDescriptor("f17", "f32", "f16", "f16", 64, 8), "invalid kind 'f17'"),
        (lambda: InstructionDescriptor("f16", "f32", "e4m3", "f16", 64, 8), "a of .* got 'e4m3'"),
        (lambda: InstructionDescriptor("mxf4", "f16", "e2m1", "e2m1", 128, 8), "invalid d 'f16'"),
        (lambda: InstructionDescriptor("f16", "f32", "f16", "f16", 60, 8), "m of .* got 60"),
        (lambda: InstructionDescriptor("f16", "f32", "f16", "f16", 64, 12), "n of .* got 12"),
        (
            lambda: InstructionDescriptor("f16", "f32", "f16", "f16", 64, 8, saturate=True),
            "saturate of a descriptor must be False, got True",
        ),
        (
            lambda: InstructionDescriptor("i8", "s32", "s8", "s8", 64, 8, negate_a=True),
            "negate_a of a descriptor must be False, got True",
        ),
        (lambda: InstructionDescriptor("f16", "f32", "f16", "f16", 64, 8, scale="ue8m0"), "scale='ue8m0'"),
        (lambda: InstructionDescriptor("mxf4nvf4", "f32", "e2m1", "e2m1", 128, 8), "scale of .* got None"),
        (
            lambda: InstructionDescriptor("mxf4", "f32", "e2m1", "e2m1", 128, 8, b_major="MN"),
            "b_major of .* must be 'K', got 'MN'",
        ),
        (lambda: InstructionDescriptor("f16", "f32", "f16", "f16", 64, 8, depth=32), "depth=32"),
        (lambda: InstructionDescriptor.decode("f16", 1 << 4 | 1 << 6), "bit 6"),
        (lambda: InstructionDescriptor.decode("tf32", 0), "d field .bits 4-5. is 0"),
        (lambda: ZeroColumnMask(skip_span=0), "skip_span of .* got 0"),
        (lambda: ZeroColumnMask(start_count=(0, 0, 0, 256)), "start_count"),
        (lambda: ZeroColumnMask(shift=20).columns(32, 64), "shift 20"),
    ],
)
def test_what_no_field_can_hold_is_refused_by_name(make: Any, names: str) -> None:
    with pytest.raises(ValueError, match=names.replace("[", r"\[")):
        make()


def bits_of(text: str) -> list[int]:
    """Return the positions of ones in a bit string whose highest bit is first."""
    digits = text.replace(" ", "")[::-1]
    return [place for place, digit in enumerate(digits) if digit == "1"]


# The manual's examples of zero-column masks: descriptor fields as printed (spans minus one), M, N, sub-masks.
EXAMPLES = [
    (((0,) * 4, (0,) * 4, False, 4, 3, 0), 128, 14, [""]),
    (((0,) * 4, (0,) * 4, True, 2, 3, 0), 128, 14, ["111 0000 111 0000"]),
    (((0,) * 4, (1, 0, 0, 0), True, 2, 3, 0), 64, 28, ["0000 111 0000 111", "111 0000 111 0000"]),
    (
        ((0, 1, 2, 1), (1, 1, 0, 0), True, 2, 3, 2),
        32,
        48,
        ["0000 111 0000 111", "0000 111 0000 11", "111 0000 111 00", "111 0000 111 000"],
    ),
]


@pytest.mark.parametrize(("held", "m", "n", "masks"), EXAMPLES)
def test_masks_of_columns_are_those_of_the_manual(held: tuple[Any, ...], m: int, n: int, masks: list[str]) -> None:
    starts, firsts, non_zero, skip, use, shift = held
    mask = ZeroColumnMask(skip + 1, use + 1, starts, firsts, shift, non_zero)
    assert ZeroColumnMask.decode(mask.bits) == mask
    size = n // len(masks)
    found = mask.columns(m, n)
    for part, text in enumerate(masks):
        known = min(size, len(text.replace(" ", "")) or size)
        mine = [column - part * size for column in found if 0 <= column - part * size < known]
        assert mine == [place for place in bits_of(text) if place < size]


@given(st.integers(0, (1 << 64) - 1))
def test_any_mask_that_is_read_has_the_bits_it_was_read_from(word: int) -> None:
    word &= ~(7 << 36 | 3 << 62)
    mask = ZeroColumnMask.decode(word)
    assert mask.bits == word
    assert eval(repr(mask), NAMES) == mask  # noqa: S307 - evaluates a repr


def test_a_picture_has_a_line_for_each_field() -> None:
    lines = InstructionDescriptor("f16", "f32", "bf16", "bf16", 128, 256).picture().splitlines()
    assert len(lines) == 13
    assert lines[3].split() == ["bits", "4-5", "0b01", "d", "'f32'"]
    assert "pattern" in SharedDescriptor(swizzle=128).picture()
    assert "skip_span" in ZeroColumnMask().picture()
