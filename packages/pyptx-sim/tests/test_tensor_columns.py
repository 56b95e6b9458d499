"""Tensor copies in im2col mode (columns of pixels, with corners, offsets, strides) and of interleaved tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tools.shares import full

from pyptx_ir.plugins.rows import Im2col, TensorMap
from pyptx_sim import WithDescriptor
from pyptx_sim.errors import LaunchError

from .ptx_text import execute
from .test_async_copy import SCHEDULES
from .test_tensor_copy import BEFORE, HEAD, LOAD, OUT, PARAMETERS, loaded, map_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.scaled, pytest.mark.hopper]

schedules = pytest.mark.parametrize("schedule", full(SCHEDULES, default=SCHEDULES[-1:]))


def walk(array: np.ndarray[Any, Any], described: TensorMap, base: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the coordinates of each pixel of an im2col column, without channels, in the manual's order."""
    columns, steps, place = described.im2col, described.element_strides[1:-1], list(base[:-1])
    assert columns is not None
    high = [extent - 1 + upper for extent, upper in zip(array.shape[1:-1], columns.upper, strict=True)]
    for _ in range(columns.pixels):
        yield tuple(place)
        for axis in reversed(range(len(high))):
            place[axis + 1] += steps[axis]
            if place[axis + 1] <= high[axis]:
                break
            place[axis + 1] = columns.lower[axis]
        else:
            place[0] += 1


def column_of(
    array: np.ndarray[Any, Any], described: TensorMap, base: tuple[int, ...], offsets: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return an im2col column, `[pixels, channels]`; elements outside of the tensor are zero."""
    columns = described.im2col
    assert columns is not None
    found = np.zeros((columns.pixels, columns.channels), array.dtype)
    for number, (image, *place) in enumerate(walk(array, described, base)):
        at = (image, *(p + o for p, o in zip(place, offsets, strict=True)))
        for channel in range(columns.channels):
            where = (*at, base[-1] + channel)
            if all(0 <= index < extent for index, extent in zip(where, array.shape, strict=True)):
                found[number, channel] = array[where]
    return found


def columns_of(array: np.ndarray[Any, Any], columns: Im2col, **options: Any) -> TensorMap:
    return map_of(array, (), "f32", im2col=columns, **options)


def spelt(numbers: tuple[int, ...]) -> str:
    """Return coordinates as an instruction lists them, the innermost dimension first."""
    return ", ".join(map(str, reversed(numbers)))


def found_column(
    array: np.ndarray[Any, Any], described: TensorMap, base: tuple[int, ...], offsets: tuple[int, ...], **options: Any
) -> np.ndarray[Any, Any]:
    columns = described.im2col
    assert columns is not None
    size = columns.pixels * columns.channels * 4
    out = np.zeros(size, np.uint8)
    given = {"mode": "im2col", "offsets": f", {{{spelt(offsets)}}}", "corner": spelt(base)}
    body = HEAD + LOAD.format(size=size, rank=array.ndim, **given) + OUT.format(words=size // 4)
    result = execute(
        body, out, WithDescriptor(array, described), block=64, parameters=PARAMETERS, before=BEFORE, **options
    )
    assert [str(finding) for finding in result.findings] == []
    return out.view(np.float32).reshape(columns.pixels, columns.channels)


# Tensor shape; corners and counts of the tensor map; strides; base and offsets of a copy.
# Convolutions: 3 x 3 with padding 1, 3 x 3 without, strided, dilated by 2 (offsets 4), and in one and three dimensions.
CASES: dict[str, tuple[tuple[int, ...], Im2col, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "padded": ((2, 6, 5, 8), Im2col((-1, -1), (-1, -1), 8, 20), (1, 1), (0, -1, -1, 0), (0, 0)),
    "padded, last offset": ((2, 6, 5, 8), Im2col((-1, -1), (-1, -1), 8, 20), (1, 1), (0, 2, 1, 0), (2, 2)),
    "not padded": ((2, 6, 5, 8), Im2col((0, 0), (-2, -2), 4, 16), (1, 1), (1, 1, 2, 4), (1, 2)),
    "past the last image": ((2, 4, 4, 8), Im2col((0, 0), (-1, -1), 8, 16), (1, 1), (1, 2, 1, 0), (1, 0)),
    "strided": ((2, 7, 8, 8), Im2col((-1, -1), (-1, -1), 8, 12), (2, 2), (0, 1, 3, 0), (1, 1)),
    "strides that differ": ((2, 7, 9, 4), Im2col((-2, 0), (0, -2), 4, 14), (3, 2), (0, -2, 2, 0), (4, 1)),
    "dilated": ((1, 9, 9, 4), Im2col((-2, -2), (-2, -2), 4, 30), (1, 1), (0, 3, 5, 0), (4, 4)),
    "beyond the channels": ((2, 4, 5, 8), Im2col((0, 0), (0, 0), 8, 12), (1, 1), (0, 1, 1, 4), (0, 0)),
    "a line": ((3, 11, 8), Im2col((-1,), (-1,), 8, 25), (1,), (0, 4, 0), (2,)),
    "a strided line": ((3, 11, 4), Im2col((-3,), (1,), 4, 9), (4,), (0, 1, 0), (5,)),
    "a volume": ((2, 3, 4, 5, 4), Im2col((-1, -1, -1), (-1, -1, -1), 4, 50), (1, 1, 1), (0, 1, 2, 3, 0), (2, 1, 0)),
    "strided volume": ((2, 5, 5, 5, 4), Im2col((0, -1, 0), (-1, 0, -2), 4, 20), (2, 1, 2), (0, 2, 3, 2, 0), (1, 0, 1)),
}  # fmt: skip


@schedules
@pytest.mark.parametrize("name", list(CASES))
def test_a_column_is_loaded(schedule: dict[str, Any], name: str) -> None:
    shape, columns, steps, base, offsets = CASES[name]
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    described = columns_of(array, columns, steps=(1, *steps, 1))
    expected = column_of(array, described, base, offsets)
    assert (found_column(array, described, base, offsets, **schedule) == expected).all()
    assert np.count_nonzero(expected) > 10


def test_columns_are_those_of_a_convolution() -> None:
    """The im2col columns of all filter offsets, times the filter and summed, are the convolution of the image."""
    random = np.random.default_rng(1)
    image, kernel = random.standard_normal((2, 5, 6, 4)), random.standard_normal((3, 3, 4))
    array = image.astype(np.float32)
    described = columns_of(array, Im2col((-1, -1), (-1, -1), 4, 60), steps=(1, 1, 1, 1))
    total = np.zeros(60)
    for row, column in np.ndindex(3, 3):
        total += found_column(array, described, (0, -1, -1, 0), (row, column)).astype(np.float64) @ kernel[row, column]
    padded = np.pad(array.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    expected = [(padded[n, y : y + 3, x : x + 3] * kernel).sum() for n, y, x in np.ndindex(2, 5, 6)]
    assert np.abs(total - expected).max() < 1e-12


def test_columns_are_swizzled_and_filled_up() -> None:
    array = np.random.default_rng(0).standard_normal((1, 3, 4, 32)).astype(np.float32)
    columns = Im2col((-1, -1), (-1, -1), 32, 16)
    plain = columns_of(array, columns, steps=(1, 1, 1, 1), fill="nan")
    rows = found_column(array, plain, (0, -1, -1, 0), (0, 0))
    expected = column_of(array, plain, (0, -1, -1, 0), (0, 0))
    outside = np.isnan(rows)
    assert (rows[~outside] == expected[~outside]).all()
    assert outside.sum() == 32 * (4 + 1 + 1 + 4)  # 32 channels x pixels above, to the left, after the last image
    swizzled = found_column(array, replace(plain, swizzle="128B"), (0, -1, -1, 0), (0, 0))
    for number, line in enumerate(swizzled.view(np.uint32).reshape(16, 8, 4)):
        order = [piece ^ (number % 8) for piece in range(8)]
        assert (line == rows.view(np.uint32)[number].reshape(8, 4)[order]).all()


STORE = """
mad.lo.u32 %r7, %r0, 16, %r2;
cvt.rn.f32.u32 %f1, %r0;
add.f32 %f2, %f1, 0f3F000000;
st.shared.v4.f32 [%r7], {{%f1, %f2, %f1, %f2}};
fence.proxy.async.shared::cta;
bar.sync 0;
@%p0 {copy} [%rd2, {{0, 1, 0, 0}}], [%r2];
@%p0 cp.async.bulk.commit_group;
@%p0 cp.async.bulk.wait_group 0;
"""


@schedules
@pytest.mark.parametrize("copy", ["cp.async.bulk", "cp.reduce.async.bulk"])
def test_a_column_is_stored_inside_the_bounds(schedule: dict[str, Any], copy: str) -> None:
    array = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32)
    described = columns_of(array, Im2col((-1, -1), (0, 0), 4, 30), steps=(1, 1, 1, 1))
    expected, adds = array.copy(), "reduce" in copy
    for number, where in enumerate(walk(array, described, (0, 0, 1, 0))):
        if all(0 <= index < extent for index, extent in zip(where, array.shape, strict=False)):
            values = np.float32(number) + np.array([0, 0.5, 0, 0.5], np.float32)
            expected[where] = values + (expected[where] if adds else 0)
    words = f"{copy}.tensor.4d.global.shared::cta{'.add' if adds else ''}.im2col_no_offs.bulk_group"
    body = HEAD + STORE.format(copy=words)
    result = execute(body, np.zeros(1, np.uint32), WithDescriptor(array, described), block=64, parameters=PARAMETERS,
                     before=BEFORE, **schedule)  # fmt: skip
    assert [str(finding) for finding in result.findings] == []
    assert (array == expected).all()


def faults(instruction: str, array: np.ndarray[Any, Any], described: TensorMap) -> list[tuple[str, str]]:
    body = HEAD + f"@%p0 {instruction}"
    result = execute(body, np.zeros(1, np.uint32), WithDescriptor(array, described), block=64, parameters=PARAMETERS,
                     before=BEFORE)  # fmt: skip
    return [(finding.rule, finding.message) for finding in result.findings if finding.rule != "uninitialized-memory"]


STORED = "cp.async.bulk.tensor.4d.global.shared::cta.{mode}bulk_group [%rd2, {{0, {w}, 0, 0}}], [%r2];"


def test_a_map_of_the_other_mode_is_a_finding() -> None:
    array = np.zeros((2, 3, 4, 4), np.float32)
    columns = columns_of(array, Im2col((0, 0), (0, 0), 4, 8), steps=(1, 1, 1, 1))
    boxes = map_of(array, (1, 1, 2, 4), "f32")
    wrong = faults(STORED.format(mode="tile.", w=0), array, columns)
    assert wrong == [("tensor-map", "tensor map is for im2col mode, but the copy uses tiled mode")]
    wrong = faults(STORED.format(mode="im2col_no_offs.", w=0), array, boxes)
    assert wrong == [("tensor-map", "tensor map is for tiled mode, but the copy uses im2col mode")]


def test_a_column_that_begins_outside_of_its_bounding_box_is_a_finding() -> None:
    array = np.zeros((2, 3, 4, 4), np.float32)
    described = columns_of(array, Im2col((-1, -1), (-1, -1), 4, 8), steps=(1, 1, 1, 1))
    wrong = faults(STORED.format(mode="im2col_no_offs.", w=3), array, described)
    assert wrong == [("tensor-map", "coordinate 1 is 3, outside the bounding box (-1 to 2)")]


@pytest.mark.parametrize(
    "change",
    [
        {"im2col": Im2col((0, 0), (0, 0), 512, 8)},
        {"im2col": Im2col((0, 0), (0, 0), 4, 2000)},
        {"im2col": Im2col((2, 0), (-2, 0), 4, 8)},
        {"im2col": Im2col((-200, 0), (0, 0), 4, 8)},
        {"im2col": Im2col((0, -100_000), (0, 0), 4, 8)},
        {"im2col": Im2col((0, 0), (0, 0), 2, 8)},
        {"swizzle": "128B"},
    ],
)
def test_columns_that_no_driver_encodes_are_refused(change: dict[str, Any]) -> None:
    array = np.zeros((2, 3, 4, 8), np.float32)
    described = replace(columns_of(array, Im2col((0, 0), (0, 0), 4, 8), steps=(1, 1, 1, 1)), **change)
    with pytest.raises(LaunchError, match="invalid tensor map: "):
        execute(HEAD, np.zeros(1, np.uint32), WithDescriptor(array, described), parameters=PARAMETERS, before=BEFORE)


# --- interleaved tensors ------------------------------------------------------------------------


def slices_of(array: np.ndarray[Any, Any], per_slice: int) -> np.ndarray[Any, Any]:
    """Return N x (C / slice) x H x W x slice of an N x H x W x C array, with the last slice padded with zeros."""
    batch, height, width, channels = array.shape
    padded = np.zeros((batch, height, width, -(-channels // per_slice) * per_slice), array.dtype)
    padded[..., :channels] = array
    parts = padded.reshape(batch, height, width, -1, per_slice)
    return np.ascontiguousarray(parts.transpose(0, 3, 1, 2, 4))


@pytest.mark.parametrize(("interleave", "per_slice"), [("16B", 8), ("32B", 16)])
def test_a_box_of_an_interleaved_tensor_is_loaded(interleave: str, per_slice: int) -> None:
    array = np.random.default_rng(0).standard_normal((3, 4, 6, 20)).astype(np.float16)
    lying = slices_of(array, per_slice)
    pitch = 2 * per_slice
    strides = (lying.strides[0], 6 * pitch, pitch, 2)
    swizzle = "32B" if interleave == "32B" else "none"
    box = (2, 3, 4, per_slice)
    described = TensorMap("f16", array.shape, strides, box, (1,) * 4, swizzle, interleave)
    for corner in ((0, 0, 0, 0), (1, 2, -1, per_slice)):
        found = loaded(lying, described, corner, 2 * int(np.prod(box))).view(np.float16).reshape(box)
        if swizzle == "32B":  # the 16-byte halves of a row are swapped in lines 1, 3, … of 128 bytes
            pieces = found.reshape(-1, 4, 2, 8)
            pieces[1::2] = pieces[1::2, :, ::-1].copy()
            found = pieces.reshape(box)
        for place in np.ndindex(*box):
            at = tuple(c + p for c, p in zip(corner, place, strict=True))
            inside = all(0 <= index < extent for index, extent in zip(at, array.shape, strict=True))
            assert found[place] == (array[at] if inside else 0)


def test_a_box_inside_a_slice_is_a_finding() -> None:
    array = np.zeros((2, 2, 3, 4, 8), np.float16)  # interleaved tensor: two slices of eight channels
    described = TensorMap("f16", (2, 3, 4, 16), (384, 64, 16, 2), (1, 1, 2, 8), (1,) * 4, "none", "16B")
    wrong = faults(STORED.format(mode="tile.", w=0).replace("{0,", "{4,"), array, described)
    assert wrong == [("tensor-map", "coordinate 0 is 4, must be a multiple of 8, the channels of a slice")]


@pytest.mark.parametrize("change", [{"box": (1, 1, 2, 16)}, {"interleave": "32B"}, {"strides": (384, 64, 8, 2)}])
def test_what_no_interleaved_map_has_is_refused(change: dict[str, Any]) -> None:
    array = np.zeros((2, 2, 3, 4, 8), np.float16)
    described = TensorMap("f16", (2, 3, 4, 16), (384, 64, 16, 2), (1, 1, 2, 8), (1,) * 4, "none", "16B")
    mapped = WithDescriptor(array, replace(described, **change))
    with pytest.raises(LaunchError, match="invalid tensor map: "):
        execute(HEAD, np.zeros(1, np.uint32), mapped, parameters=PARAMETERS, before=BEFORE)
