"""Tensor copies: boxes of every rank, bounds, element strides, swizzles, stores, reductions, multicast."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor
from pyptx_sim.errors import LaunchError

from .ptx_text import execute
from .test_async_copy import each_schedule

pytestmark = pytest.mark.hopper

BEFORE = ".shared .align 1024 .b8 s[16384];\n.shared .align 8 .b64 bar;"
PARAMETERS = ".param .u64 out, .param .align 64 .b8 m[128]"
HEAD = """
mov.b64 %rd2, m;
cvta.param.u64 %rd2, %rd2;
mov.u32 %r2, s;
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
"""
LOAD = """
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {size};
@%p0 cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes
    [%r2], [%rd2, {{{corner}}}], [bar]{offsets};
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
"""
TILE = {"mode": "tile", "offsets": ""}
# Code by which every thread copies words of shared memory to `out`.
OUT = """
mov.u32 %r5, %r0;
COPY:
setp.ge.u32 %p3, %r5, {words};
@%p3 bra DONE;
shl.b32 %r6, %r5, 2;
add.u32 %r7, %r2, %r6;
ld.shared.u32 %r8, [%r7];
mad.wide.u32 %rd5, %r5, 4, %rd0;
st.global.u32 [%rd5], %r8;
add.u32 %r5, %r5, 64;
bra COPY;
DONE:
"""


def map_of(array: np.ndarray[Any, Any], box: tuple[int, ...], dtype: str, **options: Any) -> TensorMap:
    return TensorMap(dtype, array.shape, array.strides, box, options.pop("steps", (1,) * array.ndim), **options)


def box_of(
    array: np.ndarray[Any, Any], box: tuple[int, ...], corner: tuple[int, ...], steps: tuple[int, ...], fill: Any
) -> np.ndarray[Any, Any]:
    """Return a box of an array, element by element as the manual describes it: `fill` out of bounds."""
    shape = tuple(-(-extent // step) for extent, step in zip(box, steps, strict=True))
    found = np.full(shape, fill, array.dtype)
    for place in itertools.product(*(range(extent) for extent in shape)):
        at = tuple(c + p * s for c, p, s in zip(corner, place, steps, strict=True))
        if all(0 <= index < extent for index, extent in zip(at, array.shape, strict=True)):
            found[place] = array[at]
    return found


def loaded(
    array: np.ndarray[Any, Any], described: TensorMap, corner: tuple[int, ...], size: int, **options: Any
) -> np.ndarray[Any, Any]:
    """Load a box by TMA, and return the bytes of shared memory."""
    out = np.zeros(size, np.uint8)
    spelt = ", ".join(map(str, reversed(corner)))
    body = HEAD + LOAD.format(size=size, rank=len(corner), corner=spelt, **TILE) + OUT.format(words=size // 4)
    result = execute(
        body, out, WithDescriptor(array, described), block=64, parameters=PARAMETERS, before=BEFORE, **options
    )
    assert [str(finding) for finding in result.findings] == []
    return out


SHAPES = [
    ((64,), (32,)),
    ((10, 24), (4, 8)),
    ((5, 6, 16), (2, 3, 4)),
    ((3, 4, 5, 8), (2, 2, 3, 4)),
    ((2, 3, 3, 4, 8), (2, 2, 2, 2, 8)),
]
SHIFTS = (0, 1, -1, 3)


@each_schedule
@pytest.mark.parametrize(("shape", "box"), SHAPES, ids=[f"{len(shape)}d" for shape, _ in SHAPES])
@pytest.mark.parametrize("shift", SHIFTS)
def test_a_box_is_loaded(schedule: dict[str, Any], shape: tuple[int, ...], box: tuple[int, ...], shift: int) -> None:
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    corner = tuple(shift * (axis + 1) for axis in range(len(shape)))
    expected = box_of(array, box, corner, (1,) * len(shape), 0)
    found = loaded(array, map_of(array, box, "f32"), corner, expected.nbytes, **schedule)
    assert found.tobytes() == expected.tobytes()


# The tested element strides of the innermost dimension are 1, because the hardware ignores that stride.
@pytest.mark.parametrize("steps", [(1, 2, 1), (3, 1, 1), (2, 4, 1)])
def test_element_strides_leave_elements_out(steps: tuple[int, int, int]) -> None:
    array = np.random.default_rng(0).standard_normal((9, 10, 24)).astype(np.float32)
    expected = box_of(array, (5, 8, 16), (2, 6, 12), steps, 0)
    found = loaded(array, map_of(array, (5, 8, 16), "f32", steps=steps), (2, 6, 12), expected.nbytes)
    assert found.tobytes() == expected.tobytes()


def test_what_is_out_of_bounds_can_be_nan() -> None:
    array = np.ones((4, 8), np.float32)
    found = loaded(array, map_of(array, (4, 8), "f32", fill="nan"), (2, 4), 128).view(np.float32).reshape(4, 8)
    assert (found[:2, :4] == 1).all()
    assert np.isnan(found[2:]).all()
    assert np.isnan(found[:, 4:]).all()


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "tf32", "f64"])
def test_what_fills_up_is_a_nan_of_every_type(dtype: str) -> None:
    """The hardware fills 16-bit words with a value that is a NaN in every type."""
    size = {"f64": 8, "f32": 4, "tf32": 4}.get(dtype, 2)
    array = np.zeros((1, 32 // size), f"<u{size}")
    found = loaded(array, map_of(array, (2, 32 // size), dtype, fill="nan"), (0, 0), 64)
    assert (found[32:].view(np.uint16) == 0x7FF7).all()
    assert not found[:32].any()


def rounded_to_tf32(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values rounded to nearest even with 10 fraction bits, in exact arithmetic."""
    fraction, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(fraction * 2**11), exponent - 11).astype(np.float32)


def test_elements_are_rounded_to_tf32_on_their_way() -> None:
    values = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    values[0] = [1 + 2**-11, 1 + 2**-11 - 2**-20, -1 - 2**-11, 1 + 3 * 2**-11, 2 - 2**-12, np.inf, 0, 1e-40]
    found = loaded(values, map_of(values, (8, 8), "tf32"), (0, 0), 256).view(np.float32).reshape(8, 8)
    expected = rounded_to_tf32(np.where(np.isinf(values), 0, values))
    assert (found[1:] == expected[1:]).all()
    assert found[0].tolist() == [1, 1, -1, 1 + 2**-9, 2, np.inf, 0, round(1e-40 * 2**136) * 2.0**-136]
    assert (found != values).mean() > 0.9
    untouched = loaded(values, map_of(values, (8, 8), "f32"), (0, 0), 256)
    assert untouched.tobytes() == values.tobytes()


def test_a_load_of_a_type_that_flushes_keeps_subnormal_elements() -> None:
    """Loads with a tensor map of type `f32.ftz` do not flush (measured on an H200)."""
    values = np.array([[1e-40, -1e-40, 1e-37, 1, -0.0, 0, -1e-45, 2**-126]], np.float32)
    assert loaded(values, map_of(values, (1, 8), "f32.ftz"), (0, 0), 32).tobytes() == values.tobytes()


# Swizzle -> for 128-byte rows 0, 1, …, the number of the 16-byte piece at each position. From the manual's tables.
ROWS = {
    "none": ["01234567"],
    "32B": ["01234567", "10325476"],
    "64B": ["01234567", "10325476", "23016745", "32107654"],
    "128B": ["01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210"],
    "128B_atom_32B": ["01234567", "23016745", "45670123", "67452301"],
    "128B_atom_64B": ["01234567", "45670123"],
}


@pytest.mark.parametrize("swizzle", list(ROWS))
def test_swizzles_are_the_manuals(swizzle: str) -> None:
    width = int(swizzle.partition("B")[0]) if swizzle != "none" else 128
    array = np.arange(16 * 128, dtype=np.uint8).reshape(-1, width)
    array[:] = np.random.default_rng(0).integers(0, 255, array.shape)
    box = (min(len(array), 256), width)
    found = loaded(array, map_of(array, box, "u8", swizzle=swizzle), (0, 0), array.nbytes)
    lines = array.reshape(-1, 8, 16)
    for number, line in enumerate(found.reshape(-1, 8, 16)):
        order = ROWS[swizzle][number % len(ROWS[swizzle])]
        assert line.tobytes() == lines[number][[int(piece) for piece in order]].tobytes()


STORE = """
fence.proxy.async.shared::cta;
bar.sync 0;
@%p0 {copy} [%rd2, {{4, 6}}], [%r2];
@%p0 cp.async.bulk.commit_group;
@%p0 cp.async.bulk.wait_group 0;
"""
FILL = "shl.b32 %r6, %r0, 2;\nadd.u32 %r7, %r2, %r6;\ncvt.rn.f32.u32 %f1, %r0;\nst.shared.f32 [%r7], %f1;\n"


@each_schedule
@pytest.mark.parametrize("swizzle", ["none", "32B"])
@pytest.mark.parametrize("copy", ["cp.async.bulk", "cp.reduce.async.bulk"])
def test_a_box_is_stored_inside_the_bounds(schedule: dict[str, Any], swizzle: str, copy: str) -> None:
    array = np.ones((10, 8), np.float32)
    adds = "reduce" in copy
    words = f"{copy}.tensor.2d.global.shared::cta{'.add' if adds else ''}.tile.bulk_group"
    described = map_of(array, (8, 8), "f32", swizzle=swizzle)
    before = array.copy()
    body = HEAD + FILL + STORE.format(copy=words)
    result = execute(body, np.zeros(1, np.uint32), WithDescriptor(array, described), block=64, parameters=PARAMETERS,
                     before=BEFORE, **schedule)  # fmt: skip
    assert [str(finding) for finding in result.findings] == []
    tile = np.arange(64, dtype=np.float32).reshape(2, 8, 4) if swizzle == "32B" else None
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    if tile is not None:  # 32-byte rows, whose 16-byte halves are swapped in lines 1, 3, … of 128 bytes
        pieces = np.arange(64, dtype=np.float32).reshape(2, 8, 4)
        order = np.array([[int(piece) for piece in row] for row in ROWS["32B"]])
        values = np.stack([pieces[line][order[line]] for line in range(2)]).reshape(8, 8)
    expected = before.copy()
    expected[6:10, 4:8] = values[:4, :4] + (before[6:10, 4:8] if adds else 0)
    assert (array == expected).all()


def test_a_map_can_be_behind_a_pointer() -> None:
    array = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    out = np.zeros(256, np.uint8)
    body = HEAD.replace("mov.b64 %rd2, m;\ncvta.param.u64 %rd2, %rd2;", "ld.param.u64 %rd2, [m];")
    body += LOAD.format(size=256, rank=2, corner="0, 0", **TILE) + OUT.format(words=64)
    result = execute(body, out, WithDescriptor(array, map_of(array, (8, 8), "f32")), block=64,
                     parameters=".param .u64 out, .param .u64 m", before=BEFORE)  # fmt: skip
    assert result.findings == ()
    assert out.tobytes() == array.tobytes()


def test_a_map_of_another_rank_is_a_finding() -> None:
    array = np.zeros((8, 8), np.float32)
    body = HEAD + "@%p0 cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%rd2, {0, 0, 0}], [%r2];"
    result = execute(body, np.zeros(1, np.uint32), WithDescriptor(array, map_of(array, (8, 8), "f32")), block=64,
                     parameters=PARAMETERS, before=BEFORE)  # fmt: skip
    assert [finding.rule for finding in result.findings] == ["tensor-map"]


@pytest.mark.parametrize(
    "change",
    [
        {"box": (8, 6)},
        {"box": (512, 8)},
        {"swizzle": "32B", "box": (4, 16)},
        {"swizzle": "64B"},
        {"strides": (40, 4)},
        {"element_strides": (1, 2)},
        {"element_strides": (9, 1)},
        {"interleave": "16B"},
        {"fill": "nan", "dtype": "u32"},
        {"dtype": "e2m1"},
        {"swizzle": "96B"},
    ],
)
def test_what_no_driver_encodes_is_refused(change: dict[str, Any]) -> None:
    array = np.zeros((8, 8), np.float32)
    described = replace(map_of(array, (8, 8), "f32"), **change)
    with pytest.raises(LaunchError, match=r"^invalid tensor map: |^unknown (element type|swizzle) "):
        execute(HEAD, np.zeros(1, np.uint32), WithDescriptor(array, described), parameters=PARAMETERS, before=BEFORE)
