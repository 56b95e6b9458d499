"""Properties of tensor maps: an error names the violated rule before the driver call; valid maps are encoded."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pyptx_launch import Im2col, TensorMap, TensorMapError
from pyptx_launch.tensor_map_rules import FILLS, INTERLEAVES, PROMOTIONS, RULES, SWIZZLES, TYPES

GOOD = TensorMap.dense("bf16", (4, 128, 64), (1, 64, 64), swizzle="128B")
IMAGES = TensorMap(
    "f16",
    (8, 32, 32, 64),
    (131072, 4096, 128, 2),
    (),
    (1, 1, 1, 1),
    swizzle="128B",
    im2col=Im2col((-1, -1), (-1, -1), channels=64, pixels=128),
)
PADDED = TensorMap.dense("b4x16_p64", (64, 256), (8, 128), swizzle="128B")

# Rule, valid map, change that violates the rule, message. Every rule of the table has at least one row.
BROKEN = [
    ("words", GOOD, {"dtype": "f8"}, "dtype must be one of u8.* got 'f8'"),
    ("words", GOOD, {"swizzle": "256B"}, "swizzle must be one of .* got '256B'"),
    ("words", GOOD, {"interleave": "8B"}, "interleave must be one of .* got '8B'"),
    ("words", GOOD, {"l2_promotion": "512B"}, "l2_promotion must be one of .* got '512B'"),
    ("words", GOOD, {"fill": "ones"}, "fill must be one of .* got 'ones'"),
    ("rank", GOOD, {"shape": (), "strides": (), "box": (), "element_strides": ()}, "rank must be 1 to 5, got 0"),
    ("rank", GOOD, {"shape": (1,) * 6}, "rank must be 1 to 5, got 6"),
    (
        "rank",
        TensorMap.dense("f32", (8, 8), (8, 8)),
        {"interleave": "16B"},
        "rank must be 3 to 5 with interleave 16B, got 2",
    ),
    ("rank", IMAGES, {"shape": (8, 8)}, "rank must be 3 to 5 for im2col, got 2"),
    ("lengths", GOOD, {"strides": (128, 2)}, "length of strides must be 3 for a shape of rank 3, got 2"),
    ("lengths", GOOD, {"box": (64, 64)}, "length of box must be 3 .* got 2"),
    ("lengths", GOOD, {"element_strides": (1,)}, "length of element_strides must be 3 .* got 1"),
    ("lengths", IMAGES, {"box": (1, 1, 1, 64)}, "length of box must be 0 .* got 4"),
    ("extents", GOOD, {"shape": (4, 0, 64)}, "extent of dimension -2 must be 1 to 2.32, got 0"),
    ("extents", GOOD, {"shape": (2**32 + 1, 128, 64)}, "extent of dimension -3 must be .* got 4294967297"),
    ("packed-extent", PADDED, {"shape": (64, 192)}, "extent of dimension -1 must be a multiple of 128 .* got 192"),
    ("packed-extent", TensorMap.dense("b4x16", (64,), (64,)), {"shape": (65,)}, "must be a multiple of 2 .* got 65"),
    ("element-size", GOOD, {"strides": (16384, 128, 4)}, "stride of dimension -1 must be 2, the size .* got 4"),
    (
        "stride-alignment",
        GOOD,
        {"strides": (16384, 136, 2)},
        "stride of dimension -2 must be a multiple of 16 bytes, got 136$",
    ),
    ("stride-alignment", PADDED, {"strides": (144, 1)}, "must be a multiple of 32 bytes for b4x16_p64, got 144"),
    (
        "stride-alignment",
        GOOD,
        {"strides": (16384, 144, 2), "interleave": "32B", "swizzle": "32B"},
        "must be a multiple of 32 bytes with interleave 32B, got 144",
    ),
    (
        "stride-size",
        GOOD,
        {"strides": (2**40, 128, 2)},
        "stride of dimension -3 must be less than 2.40 bytes, got 1099511627776",
    ),
    ("stride-size", GOOD, {"strides": (-16, 128, 2)}, "stride of dimension -3 must be .* got -16"),
    ("box", GOOD, {"box": (1, 257, 64)}, "box of dimension -2 must be 1 to 256, got 257"),
    ("box", GOOD, {"box": (1, 0, 64)}, "box of dimension -2 must be .* got 0"),
    (
        "row-size",
        GOOD,
        {"box": (1, 64, 4)},
        "a row of the box must be a multiple of 16 bytes, got 8 .4 elements of bf16.",
    ),
    ("padded-row", PADDED, {"box": (8, 64)}, "box of dimension -1 must be 128 for b4x16_p64, got 64"),
    (
        "padded-row",
        IMAGES,
        {"dtype": "b6x16_p32", "shape": (8, 32, 32, 128), "strides": (131072, 4096, 128, 1)},
        "channels",
    ),
    ("element-strides", GOOD, {"element_strides": (1, 9, 1)}, "element stride of dimension -2 must be 1 to 8, got 9"),
    ("element-strides", GOOD, {"element_strides": (0, 1, 1)}, "element stride of dimension -3 must be .* got 0"),
    (
        "element-strides",
        GOOD,
        {"element_strides": (1, 1, 2)},
        "element stride of dimension -1 must be 1, got 2: without",
    ),
    ("interleave-swizzle", GOOD, {"interleave": "32B"}, "swizzle must be 32B with interleave 32B, got 128B"),
    (
        "swizzle-span",
        GOOD,
        {"swizzle": "64B"},
        "a row of the box must be at most 64 bytes with swizzle 64B, got 128 .64 elements",
    ),
    ("swizzle-span", GOOD, {"swizzle": "32B"}, "at most 32 bytes with swizzle 32B"),
    ("swizzle-span", GOOD, {"box": (1, 64, 128), "swizzle": "128B_atom_64B"}, "at most 128 bytes .* got 256"),
    (
        "swizzle-span",
        IMAGES,
        {"swizzle": "64B"},
        "channels of a pixel must be at most 64 bytes with swizzle 64B, got 128",
    ),
    (
        "padded-interleave",
        TensorMap.dense("b6x16_p32", (4, 8, 128), (1, 8, 128)),
        {"interleave": "16B"},
        "interleave must be none for b6x16_p32, got 16B",
    ),
    ("padded-swizzle", PADDED, {"swizzle": "64B"}, "swizzle must be none or 128B or 128B_atom_32B for .* got 64B"),
    ("padded-swizzle", PADDED, {"swizzle": "128B_atom_64B"}, "swizzle must be none or .* got 128B_atom_64B"),
    ("nan-fill", replace(GOOD, fill="nan"), {"dtype": "u16"}, "fill must be zeros for u16, got nan"),
    ("nan-fill", PADDED, {"fill": "nan"}, "fill must be zeros for b4x16_p64, got nan"),
    ("im2col-counts", IMAGES, {"im2col": Im2col((0, 0), (0, 0), 0, 1)}, "channels must be 1 to 256, got 0"),
    ("im2col-counts", IMAGES, {"im2col": Im2col((0, 0), (0, 0), 64, 1025)}, "pixels must be 1 to 1024, got 1025"),
    (
        "im2col-corners",
        IMAGES,
        {"im2col": Im2col((0,), (0, 0), 64, 1)},
        "length of the lower corner must be 2 for rank 4, got 1",
    ),
    (
        "im2col-corners",
        IMAGES,
        {"im2col": Im2col((0, -129), (0, 0), 64, 1)},
        "offsets of the lower corner must be -128 to 127 for rank 4, got .0, -129.",
    ),
    ("im2col-corners", IMAGES, {"im2col": Im2col((0, 0), (128, 0), 64, 1)}, "upper corner must be .* got .128, 0."),
    (
        "im2col-area",
        IMAGES,
        {"im2col": Im2col((0, 16), (0, -16), 64, 1)},
        "empty bounding box: .* leave .32, 0. of .32, 32.",
    ),
]


@pytest.mark.parametrize(
    ("rule", "good", "change", "message"), BROKEN, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_broken_rule_is_told_by_name_with_the_values(rule, good, change, message):
    with pytest.raises(TensorMapError, match=f"^tensor map: .*{message}") as raised:
        replace(good, **change)
    assert raised.value.rule == rule
    assert isinstance(raised.value, ValueError)


def test_every_rule_is_broken_by_some_row():
    assert {rule for rule, *_ in BROKEN} == {rule.name for rule in RULES} | {"words"}


def asked(null, map_, address=0x1000):
    """Encode a tensor map; return the arguments of the driver call."""
    null.take()
    encoded = map_.encode(address)
    (call,) = (each for each in null.take() if each["call"].startswith("cuTensorMapEncode"))
    assert len(encoded) == 128
    assert encoded[:8] == address.to_bytes(8, "little")
    assert call.pop("address") == address
    return call


def test_the_driver_gets_the_innermost_dimension_first(null):
    assert asked(null, replace(GOOD, element_strides=(2, 3, 1), fill="nan", l2_promotion="256B")) == {
        "call": "cuTensorMapEncodeTiled",
        "type": 9,
        "shape": [64, 128, 4],
        "strides": [128, 16384],
        "box": [64, 64, 1],
        "element_strides": [1, 3, 2],
        "interleave": 0,
        "swizzle": 3,
        "promotion": 3,
        "fill": 1,
    }


def test_im2col_gets_its_corners_the_innermost_first(null):
    assert asked(null, replace(IMAGES, im2col=Im2col((-1, -2), (1, 2), 32, 100))) == {
        "call": "cuTensorMapEncodeIm2col",
        "type": 6,
        "shape": [64, 32, 32, 8],
        "strides": [128, 4096, 131072],
        "lower": [-2, -1],
        "upper": [2, 1],
        "channels": 32,
        "pixels": 100,
        "element_strides": [1, 1, 1, 1],
        "interleave": 0,
        "swizzle": 3,
        "promotion": 0,
        "fill": 0,
    }


# Tensor map rules that a random map may violate although each of its sizes alone is in range.
UNPLANNED = {"rank", "row-size", "padded-row", "interleave-swizzle", "swizzle-span"}
UNPLANNED |= {"padded-interleave", "padded-swizzle", "nan-fill"}


def attempt(*fields):
    """Return a random tensor map, or None and the rule that the map would violate."""
    try:
        return TensorMap(*fields), None
    except TensorMapError as error:
        return None, error.rule


@given(
    dtype=st.sampled_from(sorted(TYPES)),
    shape=st.lists(st.integers(1, 300), min_size=1, max_size=5),
    padding=st.lists(st.integers(0, 2), min_size=5, max_size=5),
    box=st.lists(st.integers(1, 256), min_size=5, max_size=5),
    steps=st.lists(st.integers(1, 8), min_size=5, max_size=5),
    words=st.tuples(*(st.sampled_from(sorted(each)) for each in (SWIZZLES, INTERLEAVES, PROMOTIONS, FILLS))),
)
def test_what_keeps_the_rules_reaches_the_driver_as_it_is(the_null_driver, dtype, shape, padding, box, steps, words):
    element = TYPES[dtype]
    unit = 128 if element.padded else 2 if element.bits == 4 else 1
    shape[-1] *= unit
    row = shape[-1] * element.bits // 8
    pitches = accumulate(
        zip(shape[-2:0:-1], padding, strict=False), lambda x, y: x * (y[0] + y[1]), initial=-(-row // 32) * 32
    )
    strides = (*list(pitches)[: len(shape) - 1][::-1], max(1, element.bits // 8))
    rank, (swizzle, interleave, promotion, fill) = len(shape), words
    steps = (*steps[: rank - 1], steps[4] if interleave != "none" else 1)
    map_, refused = attempt(dtype, tuple(shape), strides, tuple(box[:rank]), steps, *words)
    assert (map_ is None) == (refused in UNPLANNED)
    if map_ is None:
        return
    call = asked(the_null_driver, map_, 0x1000)
    assert call["type"] == element.number
    assert (call["shape"], call["box"], call["element_strides"]) == (shape[::-1], box[:rank][::-1], list(steps[::-1]))
    assert call["strides"] == list(strides[-2::-1])
    wanted = (SWIZZLES[swizzle].number, INTERLEAVES[interleave], PROMOTIONS[promotion], FILLS[fill])
    assert (call["swizzle"], call["interleave"], call["promotion"], call["fill"]) == wanted


@given(address=st.integers(0, 2**48), dtype=st.sampled_from(["f32", "b4x16_p64"]))
def test_an_address_off_its_alignment_is_refused(address, dtype):
    map_ = TensorMap.dense(dtype, (8, 128), (8, 128 if dtype != "f32" else 32))
    assert map_.alignment == (16 if dtype == "f32" else 32)
    assume(address % map_.alignment != 0)
    with pytest.raises(TensorMapError, match=f"address must be a multiple of {map_.alignment}, got {address}"):
        map_.encode(address)


@given(bits=st.sampled_from(["u8", "f16", "f32", "f64"]), shape=st.lists(st.integers(1, 64), min_size=1, max_size=5))
def test_a_dense_map_has_the_strides_of_a_contiguous_array(bits, shape):
    size = TYPES[bits].bits // 8
    shape[-1] *= 16
    strides = TensorMap.dense(bits, tuple(shape), (1,) * (len(shape) - 1) + (16,)).strides
    assert strides == tuple(size * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
