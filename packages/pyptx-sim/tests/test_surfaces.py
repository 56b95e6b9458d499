"""Surfaces: loads, stores and reductions by bytes and by texels, in and out of bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, Surface, Texture, run
from pyptx_sim.errors import MemoryFault, SimulationError

from .ptx_text import module

PARAMETERS = ".param .u64 out, .param .u64 surface, .param .u64 other"
PLACE = "ld.param.u64 %rd5, [surface]; ld.param.u64 %rd6, [other]; mov.u32 %r1, %tid.y; shl.b32 %r2, %r0, 2;\n"


def executed(body: str, *args: Any, block: Any = (8, 6), **options: Any) -> Any:
    """Run PTX with surface or texture handles %rd5 and %rd6, the thread's x and y in %r0 and %r1, and 4x in %r2."""
    given = [*args, *[0] * (3 - len(args))]
    return run(module(PLACE + body, PARAMETERS), Launch(grid=1, block=block, args=given), **options)


def picture(dtype: Any = np.uint32, shape: tuple[int, ...] = (6, 8)) -> Any:
    """Return an array whose elements are all different."""
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


WHERE = "mad.lo.u32 %r3, %r1, 8, %r0; mad.wide.u32 %rd7, %r3, 4, %rd0;\n"


def test_a_surface_is_read_and_written_by_bytes() -> None:
    """Each thread loads its texel and stores the complement."""
    surface, out = picture(), np.zeros((6, 8), np.uint32)
    body = "suld.b.2d.b32.trap %r4, [%rd5, {%r2, %r1}]; st.global.u32 [%rd7], %r4; not.b32 %r4, %r4;\n"
    body += "sust.b.2d.b32.trap [%rd5, {%r2, %r1}], %r4;"
    result = executed(WHERE + body, out, Surface(surface))
    assert result.findings == ()
    assert (out == picture()).all()
    assert (surface == ~picture()).all()


@pytest.mark.parametrize(("word", "dtype", "channels"), [("v2.b32", np.uint32, 2), ("v4.b16", np.uint16, 4)])
def test_vectors_are_moved_at_once(word: str, dtype: Any, channels: int) -> None:
    source, target = picture(dtype, (6, 8, channels)), np.zeros((6, 8, channels), dtype)
    registers = ", ".join(f"%{'r' if dtype is np.uint32 else 'h'}{5 + n}" for n in range(channels))
    body = f"shl.b32 %r3, %r0, 3; suld.b.2d.{word}.trap {{{registers}}}, [%rd5, {{%r3, %r1}}];\n"
    body += f"sust.b.2d.{word}.trap [%rd6, {{%r3, %r1}}], {{{registers}}};"
    assert executed(body, 0, Surface(source), Surface(target)).findings == ()
    assert (target == source).all()


def test_geometries_lie_as_arrays_do() -> None:
    """Surface geometries 1d, 3d, a1d and a2d of the same bytes."""
    words = np.arange(48, dtype=np.uint32)
    for geometry, shape, coordinates in (
        ("1d", (48,), "{%r5}"),
        ("3d", (2, 6, 4), "{%r6, %r7, %r8, %r8}"),
        ("a1d", (12, 4), "{%r10, %r6}"),
        ("a2d", (2, 6, 4), "{%r8, %r6, %r7, %r7}"),
    ):
        surface, out = words.reshape(shape).copy(), np.zeros(48, np.uint32)
        body = WHERE + (
            "shl.b32 %r5, %r3, 2; and.b32 %r6, %r3, 3; shl.b32 %r6, %r6, 2; shr.u32 %r10, %r3, 2;\n"
            "rem.u32 %r7, %r10, 6; div.u32 %r8, %r10, 6;\n"
            f"suld.b.{geometry}.b32.trap %r4, [%rd5, {coordinates}]; st.global.u32 [%rd7], %r4;"
        )
        assert executed(body, out, Surface(surface, geometry)).findings == ()
        assert (out == words).all()


FAR = "add.s32 %r5, %r2, -4; add.s32 %r6, %r1, 1;\n"  # surface coordinates: one 4-byte texel to the left, one row down


def test_what_lies_outside_is_clamped_zero_or_a_fault() -> None:
    y, x = np.indices((6, 8))
    inside = (x > 0) & (y < 5)
    moved = picture()[np.clip(y + 1, 0, 5), np.clip(x - 1, 0, 7)]
    read = WHERE + FAR + "suld.b.2d.b32.CLAMP %r4, [%rd5, {%r5, %r6}]; st.global.u32 [%rd7], %r4;"
    for clamp, expected in (("clamp", moved), ("zero", np.where(inside, moved, 0))):
        out = np.zeros((6, 8), np.uint32)
        assert executed(read.replace("CLAMP", clamp), out, Surface(picture())).findings == ()
        assert (out == expected).all()
    (finding,) = executed(read.replace("CLAMP", "trap"), np.zeros((6, 8), np.uint32), Surface(picture())).findings
    assert finding.rule == "out-of-bounds"
    assert finding.count == np.count_nonzero(~inside)
    assert finding.message == "invalid surface access at {-4, 1} of argument 1 'surface': 8 x 6 texels of 4 bytes"
    with pytest.raises(MemoryFault, match="out-of-bounds"):
        executed(read.replace("CLAMP", "trap"), np.zeros((6, 8), np.uint32), Surface(picture()), checks="none")
    surface = picture()
    write = FAR + "mov.u32 %r4, 99; sust.b.2d.b32.zero [%rd5, {%r5, %r6}], %r4;"
    assert executed(write, 0, Surface(surface)).findings == ()
    assert (surface != picture()).sum() == np.count_nonzero(inside)


def test_bytes_that_are_not_aligned_are_found() -> None:
    body = "add.u32 %r5, %r2, 2; suld.b.2d.b32.clamp %r4, [%rd5, {%r5, %r1}];"
    assert {finding.rule for finding in executed(body, 0, Surface(picture())).findings} == {"misaligned"}


@pytest.mark.parametrize(
    ("dtype", "given", "kept"),
    [
        (np.uint8, [7, 300, 5, 4000000000], [7, 255, 5, 255]),
        (np.int16, [-5, 40000, -40000, 12], [-5, 32767, -32768, 12]),
        (np.float32, [1.5, -2.0, 0.25, 8.0], [1.5, -2.0, 0.25, 8.0]),
        (np.float16, [1.5, -2.0, 0.1, 8.0], [1.5, -2.0, np.float16(0.1), 8.0]),
    ],
)
def test_texels_are_stored_in_their_format(dtype: Any, given: list[Any], kept: list[Any]) -> None:
    surface = np.zeros((6, 8, 4), dtype)
    words = np.array(given, np.float32 if np.dtype(dtype).kind == "f" else np.int64)
    bits = words.view(np.uint32) if words.dtype == np.float32 else words.astype(np.uint32)
    body = "".join(f"mov.b32 %r{5 + n}, {int(word)};" for n, word in enumerate(bits))
    body += "sust.p.2d.v4.b32.trap [%rd5, {%r0, %r1}], {%r5, %r6, %r7, %r8};"
    assert executed(body, 0, Surface(surface)).findings == ()
    assert (surface == np.array(kept, dtype)).all()


def test_reductions_are_atomic() -> None:
    """Reductions by bytes and by texels, unsigned and signed."""
    surface, signed = np.zeros((6, 8), np.uint32), np.full((6, 8), 50, np.int32)
    body = "mov.u32 %r5, 0; add.u32 %r6, %r0, 1; sured.b.add.2d.u32.trap [%rd5, {%r5, %r1}], %r6;\n"
    body += "sub.s32 %r7, 2, %r0; sured.p.min.2d.b32.trap [%rd6, {%r5, %r1}], %r7;"
    for options in ({}, {"seed": 3}):
        surface[:], signed[:] = 0, 50
        assert executed(body, 0, Surface(surface), Surface(signed), **options).findings == ()
        assert (surface[:, 0] == 36).all()
        assert (signed[:, 0] == -5).all()
        assert (surface[:, 1:] == 0).all()


def test_a_race_on_a_surface_is_found() -> None:
    body = "mov.u32 %r5, 0; sust.b.2d.b32.trap [%rd5, {%r5, %r5}], %r1;"
    rules = {finding.rule for finding in executed(body, 0, Surface(picture()), block=(32, 4)).findings}
    assert "global-race" in rules


def test_a_surface_tells_what_it_is() -> None:
    body = WHERE + (
        "suq.width.b32 %r5, [%rd5]; suq.height.b32 %r6, [%rd5]; suq.channel_order.b32 %r7, [%rd5];\n"
        "suq.channel_data_type.b32 %r8, [%rd5]; suq.array_size.b32 %r9, [%rd5];\n"
        + "".join(f"st.global.u32 [%rd0+{4 * n}], %r{5 + n};\n" for n in range(5))
    )
    out = np.zeros(8, np.uint32)
    executed(body, out, Surface(np.zeros((3, 6, 8, 2), np.int16), "a2d"), block=1)
    assert out[:5].tolist() == [8, 6, 0x10B2, 0x10D8, 3]


def test_what_one_launch_stores_the_next_one_fetches() -> None:
    """The first launch stores through a surface, the second fetches through a texture of the same array."""
    array, out = np.zeros((6, 8), np.float32), np.zeros((6, 8), np.float32)
    stores = module(PLACE + "cvt.rn.f32.u32 %f1, %r0; sust.b.2d.b32.trap [%rd5, {%r2, %r1}], %f1;", PARAMETERS)
    fetch = "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd5, {%r0, %r1}]; st.global.f32 [%rd7], %f1;"
    fetches = module(PLACE + WHERE + fetch, PARAMETERS).replace("entry k(", "entry fetch(")
    launches = [
        Launch(entry="k", grid=1, block=(8, 6), args=[out, Surface(array), 0]),
        Launch(entry="fetch", grid=1, block=(8, 6), args=[out, Texture(array), 0]),
    ]
    assert run([stores, fetches], launches).findings == ()
    assert (out == np.arange(8)).all()


def test_a_texture_is_no_surface() -> None:
    body = "sust.b.2d.b32.trap [%rd5, {%r2, %r1}], %r1;"
    with pytest.raises(SimulationError, match="expected a surface, got texture"):
        executed(body, 0, Texture(picture()))
    with pytest.raises(SimulationError, match=r"expected geometry \.2d, got argument 1 'surface' of geometry \.3d"):
        executed(body, 0, Surface(picture(shape=(2, 6, 4)), "3d"))
