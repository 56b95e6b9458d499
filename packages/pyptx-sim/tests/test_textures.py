"""Texture fetches, compared with a scalar reference, and queries of textures and samplers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, Sampler, Texture, run
from pyptx_sim.errors import LaunchError, MissingSemantics, SimulationError

from .textures_reference import face, fetch

MODES = ("clamp", "border", "wrap", "mirror")
BORDER = (0.5, -1.0, 2.0, 0.25)
COUNT = 96


def kernel(fetching: str, numbers: int, *, before: str = "", parameter: str = ".u64", results: str = "f32") -> str:
    """Return an entry: thread i loads `numbers` words of `points` to %f0…, fetches to %f10…%f13 and stores these."""
    loads = "".join(f"ld.global.f32 %f{n}, [%rd3+{4 * n}]; mov.b32 %r{n}, %f{n};\n" for n in range(numbers))
    stores = "".join(
        f"st.global.{results} [%rd4+{4 * n}], %{'f' if results == 'f32' else 'r'}{10 + n};\n" for n in range(4)
    )
    return (
        f".version 8.5\n.target sm_90a\n.address_size 64\n{before}\n"
        f".visible .entry k(.param {parameter} tex, .param .u64 points, .param .u64 out) {{\n"
        ".reg .pred %p<3>; .reg .f32 %f<20>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .b16 %h<9>;\n"
        "ld.param.u64 %rd1, [points]; ld.param.u64 %rd2, [out]; mov.u32 %r15, %tid.x;\n"
        f"mad.wide.u32 %rd3, %r15, {4 * numbers}, %rd1; mad.wide.u32 %rd4, %r15, 16, %rd2;\n"
        f"{loads}{fetching}\n{stores}ret;\n}}\n"
    )


HANDLE = "ld.param.u64 %rd5, [tex];\n"


def fetched(text: str, texture: Any, points: Any, dtype: Any = np.float32, **options: Any) -> Any:
    """Run a kernel with one thread per point, assert that it is clean, and return the fetched values."""
    out = np.zeros((len(points), 4), dtype)
    result = run(text, grid=1, block=len(points), args=[texture, points, out], **options)
    assert result.findings == ()
    return out


def some_points(axes: int, sizes: tuple[int, ...], *, normalized: bool, seed: int = 0) -> Any:
    """Return texture coordinates inside, on borders between texels, and outside."""
    random = np.random.default_rng(seed)
    points = random.uniform(-1.6, 2.6, (COUNT, axes))
    points[: COUNT // 2] = random.integers(-4, 9, (COUNT // 2, axes)) / 4
    points = points if normalized else points * np.array(sizes[:axes])
    return points.astype(np.float32)


def texels(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 1) -> Any:
    """Return an array of random numbers: small floats, or integers over the whole range."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return (random.integers(-64, 64, shape) / 8).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


SHAPES = {"1d": (13,), "2d": (6, 11), "3d": (5, 4, 7)}
COORDINATES = {"1d": "{%f0}", "2d": "{%f0, %f1}", "3d": "{%f0, %f1, %f2, %f2}"}


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("filtering", ["point", "linear"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("geometry", SHAPES)
def test_a_fetch_is_the_guides(geometry: str, mode: str, filtering: str, normalized: bool) -> None:  # noqa: FBT001 - a parameter
    array, axes = texels((*SHAPES[geometry], 4)), len(SHAPES[geometry])
    sampler = Sampler(address=mode, filter=filtering, normalized=normalized, border=BORDER)
    points = some_points(axes, SHAPES[geometry][::-1], normalized=normalized)
    line = f"tex.{geometry}.v4.f32.f32 {{%f10, %f11, %f12, %f13}}, [%rd5, {COORDINATES[geometry]}];"
    out = fetched(kernel(HANDLE + line, axes), Texture(array, geometry, sampler), points)
    expected = [
        fetch(array, list(point), modes=[mode] * 3, filter=filtering, normalized=normalized, border=BORDER)
        for point in points.astype(np.float64)
    ]
    assert np.allclose(out, expected, rtol=0, atol=1e-6 if filtering == "linear" else 0)


def test_axes_have_modes_of_their_own() -> None:
    array, modes = texels((6, 11, 2)), ("border", "clamp")
    points = some_points(2, (11, 6), normalized=False)
    line = "tex.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%rd5, {%f0, %f1}];"
    texture = Texture(array, "2d", Sampler(address=modes, border=BORDER))
    out = fetched(kernel(HANDLE + line, 2), texture, points)
    expected = [fetch(array, list(point), modes=list(modes), border=BORDER) for point in points]
    assert (out == np.array(expected, np.float32)).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_integers_are_read_as_fractions(dtype: Any, channels: int) -> None:
    array = texels((6, 11, channels), dtype)
    points = some_points(2, (11, 6), normalized=False)
    line = "tex.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%rd5, {%f0, %f1}];"
    texture = Texture(array, "2d", Sampler(filter="linear"), normalized_float=True)
    out = fetched(kernel(HANDLE + line, 2), texture, points)
    expected = [fetch(array, list(point), modes=["clamp"] * 2, filter="linear") for point in points]
    assert np.allclose(out, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32])
def test_integers_are_read_as_they_are(dtype: Any) -> None:
    array = texels((6, 11), dtype)
    points = some_points(2, (11, 6), normalized=False)
    asked = "s32" if np.dtype(dtype).kind == "i" else "u32"
    line = f"tex.2d.v4.{asked}.f32 {{%r10, %r11, %r12, %r13}}, [%rd5, {{%f0, %f1}}];"
    out = fetched(kernel(HANDLE + line, 2, results="b32"), Texture(array), points, np.uint32)
    x, y = (np.clip(np.floor(points[:, axis]), 0, size - 1).astype(int) for axis, size in ((0, 11), (1, 6)))
    assert (out[:, 0].view(np.int32 if asked == "s32" else np.uint32) == array[y, x]).all()
    assert out[:, 1:].tolist() == [[0, 0, 1]] * COUNT


def test_whole_coordinates_count_texels() -> None:
    """Integer coordinates are not filtered. Texels outside of linear memory are zero."""
    array, points = texels((13,)), np.arange(-4, 28, dtype=np.int32)
    line = "tex.1d.v4.f32.s32 {%f10, %f11, %f12, %f13}, [%rd5, {%r0}];"
    out = fetched(
        kernel(HANDLE + line, 1), Texture(array, "1d", Sampler(address="wrap")), points.view(np.float32)[:, None]
    )
    assert out[:, 0].tolist() == [float(array[i]) if 0 <= i < 13 else 0.0 for i in points]
    array, pairs = texels((6, 11)), np.array(list(itertools.product(range(-2, 13), range(-2, 4))), np.int32)
    line = "tex.2d.v4.f32.s32 {%f10, %f11, %f12, %f13}, [%rd5, {%r0, %r1}];"
    out = fetched(kernel(HANDLE + line, 2), Texture(array, "2d", Sampler(filter="linear")), pairs.view(np.float32))
    assert out[:, 0].tolist() == [float(array[min(max(y, 0), 5), min(max(x, 0), 10)]) for x, y in pairs]


@pytest.mark.parametrize("geometry", ["a1d", "a2d"])
def test_layers_are_chosen_by_an_index(geometry: str) -> None:
    shape = {"a1d": (5, 13), "a2d": (5, 6, 11)}[geometry]
    array, axes = texels((*shape, 4)), len(shape) - 1
    points = some_points(axes, shape[:0:-1], normalized=False)
    layers = np.random.default_rng(3).integers(0, 9, COUNT).astype(np.uint32)
    given = np.column_stack([layers.view(np.float32), points]).astype(np.float32)
    given[:, 0] = layers.view(np.float32)
    coordinates = {"a1d": "{%r0, %f1}", "a2d": "{%r0, %f1, %f2, %f2}"}[geometry]
    line = f"tex.{geometry}.v4.f32.f32 {{%f10, %f11, %f12, %f13}}, [%rd5, {coordinates}];"
    texture = Texture(array, geometry, Sampler(filter="linear"))
    out = fetched(kernel(HANDLE + line, axes + 1), texture, given)
    expected = [
        fetch(array[min(layer, 4)], list(point), modes=["clamp"] * 2, filter="linear")
        for layer, point in zip(layers.tolist(), points, strict=True)
    ]
    assert np.allclose(out, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("geometry", ["cube", "acube"])
def test_a_cube_is_read_in_a_direction(geometry: str) -> None:
    array = texels((6 if geometry == "cube" else 18, 8, 8, 4))
    random = np.random.default_rng(5)
    points = random.normal(size=(COUNT, 3)).astype(np.float32)
    points[:6] = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
    layers = random.integers(0, 3, COUNT).astype(np.uint32)
    given = np.column_stack([layers.view(np.float32), points]) if geometry == "acube" else points
    coordinates = "{%r0, %f1, %f2, %f3}" if geometry == "acube" else "{%f0, %f1, %f2, %f2}"
    line = f"tex.{geometry}.v4.f32.f32 {{%f10, %f11, %f12, %f13}}, [%rd5, {coordinates}];"
    out = fetched(kernel(HANDLE + line, given.shape[1]), Texture(array, geometry), np.ascontiguousarray(given))
    for layer, point, found in zip(layers.tolist(), points.astype(np.float64), out, strict=True):
        number, s, t = face(*point)
        slice_ = number + (6 * layer if geometry == "acube" else 0)
        assert found.tolist() == fetch(array[slice_], [s, t], modes=["clamp"] * 2, normalized=True)


@pytest.mark.parametrize("component", "rgba")
def test_a_gather_returns_four_corners(component: str) -> None:
    array = texels((6, 11, 4))
    points = some_points(2, (11, 6), normalized=False)
    line = f"tld4.{component}.2d.v4.f32.f32 {{%f10, %f11, %f12, %f13}}, [%rd5, {{%f0, %f1}}];"
    out = fetched(kernel(HANDLE + line, 2), Texture(array), points)
    i, j = (np.floor(points[:, axis].astype(np.float64) - 0.5).astype(int) for axis in (0, 1))
    corners = [(i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j)]
    expected = [array[np.clip(y, 0, 5), np.clip(x, 0, 10), "rgba".index(component)] for x, y in corners]
    assert (out == np.array(expected).T).all()


def test_offsets_move_by_texels() -> None:
    array = texels((6, 11, 4))
    points = some_points(2, (11, 6), normalized=True)
    line = "mov.u32 %r8, -3; mov.u32 %r9, 2;\n"
    line += "tex.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%rd5, {%f0, %f1}], {%r8, %r9};"
    texture = Texture(array, "2d", Sampler(address="wrap", filter="linear", normalized=True))
    out = fetched(kernel(HANDLE + line, 2), texture, points)
    expected = [
        fetch(array, list(p), modes=["wrap"] * 2, filter="linear", normalized=True, offsets=(-3, 2))
        for p in points.astype(np.float64)
    ]
    assert np.allclose(out, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("mip_filter", ["point", "linear"])
def test_levels_of_detail_are_chosen_and_mixed(mip_filter: str) -> None:
    levels = [texels((16 >> n, 8 >> n, 4), seed=n) for n in range(4)]
    points = np.random.default_rng(2).uniform(0, 1, (COUNT, 3)).astype(np.float32)
    points[:, 2] = np.linspace(-1, 5, COUNT)
    line = "tex.level.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%rd5, {%f0, %f1}], %f2;"
    sampler = Sampler(mip_filter=mip_filter, normalized=True)
    out = fetched(kernel(HANDLE + line, 3), Texture(levels[0], "2d", sampler, levels=levels[1:]), points)
    for (x, y, asked), found in zip(points.astype(np.float64), out, strict=True):
        detail = min(max(asked, 0), 3)
        each = [np.array(fetch(level, [x, y], modes=["clamp"] * 2, normalized=True)) for level in levels]
        if mip_filter == "point":
            assert found.tolist() == each[int(detail + 0.5)].tolist()
            continue
        lower = int(detail)
        weight = round((detail - lower) * 256 + 1e-9) / 256
        assert np.allclose(found, (1 - weight) * each[lower] + weight * each[min(lower + 1, 3)], rtol=0, atol=1e-6)


def test_gradients_choose_a_level() -> None:
    """Steps of 4 texels along an axis select level 2, steps of one texel level 0."""
    levels = [np.full((16 >> n, 16 >> n), n, np.float32) for n in range(4)]
    steps = np.array([1, 2, 4, 8, 64], np.float32)[:, None] / 16
    line = "mov.f32 %f8, 0f00000000; mov.f32 %f9, 0f3f000000;\n"
    line += "tex.grad.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%rd5, {%f9, %f9}], {%f0, %f8}, {%f8, %f8};"
    texture = Texture(levels[0], "2d", Sampler(normalized=True), levels=levels[1:])
    assert fetched(kernel(HANDLE + line, 1), texture, steps)[:, 0].tolist() == [0, 1, 2, 3, 3]


def test_halves_are_returned_alone_or_in_pairs() -> None:
    array = texels((6, 11, 4), np.float16)
    points = some_points(2, (11, 6), normalized=False)
    alone = "tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%rd5, {%f0, %f1}];\n"
    alone += "".join(f"cvt.f32.f16 %f{10 + n}, %h{n};" for n in range(4))
    pairs = "tex.2d.v2.f16x2.f32 {%r8, %r9}, [%rd5, {%f0, %f1}];\nmov.b32 {%h0, %h1}, %r8; mov.b32 {%h2, %h3}, %r9;\n"
    pairs += "".join(f"cvt.f32.f16 %f{10 + n}, %h{n};" for n in range(4))
    expected = [fetch(array, list(point), modes=["clamp"] * 2) for point in points]
    for line in (alone, pairs):
        assert (fetched(kernel(HANDLE + line, 2), Texture(array), points) == np.array(expected)).all()


def test_a_fetch_tells_that_its_memory_is_resident() -> None:
    line = "tex.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}|%p1, [%rd5, {%f0, %f1}];\nselp.f32 %f13, 0f40e00000, %f13, %p1;"
    out = fetched(kernel(HANDLE + line, 2), Texture(texels((6, 11))), some_points(2, (11, 6), normalized=False))
    assert (out[:, 3] == 7).all()


# --- texture and sampler operands ---------------------------------------------------------------

FETCH = "tex.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [NAME, {%f0, %f1}];"


@pytest.mark.parametrize("how", ["variable", "older variable", "address of a variable", "parameter"])
def test_a_texture_is_a_variable_or_a_parameter(how: str) -> None:
    array = texels((6, 11, 4))
    points = some_points(2, (11, 6), normalized=False)
    texture, variable = Texture(array), ".tex .u32 picture;" if how[:5] == "older" else ".global .texref picture;"
    expected = np.array([fetch(array, list(point), modes=["clamp"] * 2) for point in points], np.float32)
    if how == "parameter":
        text, bound, first = kernel(FETCH.replace("NAME", "tex"), 2, parameter=".texref"), {}, texture
    else:
        line = FETCH.replace("NAME", "picture" if how in {"variable", "older variable"} else "%rd6")
        text = kernel("mov.u64 %rd6, picture;\n" + line, 2, before=variable)
        bound, first = {"picture": texture}, 0
    out = np.zeros((COUNT, 4), np.float32)
    assert run(text, Launch(grid=1, block=COUNT, args=[first, points, out], textures=bound)).clean
    assert (out == expected).all()


INDEPENDENT = FETCH.replace("NAME", "%rd5, NAME")


def test_a_sampler_of_its_own_says_how_a_texture_is_read() -> None:
    """The samplers are one that the module initializes, one that the launch binds, and one in a register."""
    array = texels((6, 11, 4))
    points = some_points(2, (11, 6), normalized=True)
    texture = Texture(array, "2d", Sampler(normalized=True))
    before = ".global .samplerref s = {addr_mode_0 = wrap, addr_mode_1 = mirror, filter_mode = linear};\n"
    before += ".global .samplerref t;"
    wanted = [(["wrap", "mirror"], "linear"), (["border", "clamp"], "point")]
    bound = Sampler(address=("border", "clamp"), normalized=True)
    for name, (modes, filtering) in (("s", wanted[0]), ("t", wanted[1]), ("%rd6", wanted[1])):
        text = kernel(HANDLE + "mov.u64 %rd6, t;\n" + INDEPENDENT.replace("NAME", name), 2, before=before)
        text = text.replace("sm_90a", "sm_90a, texmode_independent")
        out = fetched(text, texture, points, textures={"t": bound})
        expected = [
            fetch(array, list(point), modes=modes, filter=filtering, normalized=True)
            for point in points.astype(np.float64)
        ]
        assert np.allclose(out, expected, rtol=0, atol=1e-6)


def test_threads_may_read_different_textures() -> None:
    one, other = texels((6, 11)), texels((6, 11), seed=9)
    points = some_points(2, (11, 6), normalized=False)
    line = "ld.param.u64 %rd6, [other]; and.b32 %r16, %r15, 1; setp.eq.u32 %p1, %r16, 0;\n"
    line += "selp.b64 %rd5, %rd5, %rd6, %p1;\n"
    text = kernel(HANDLE + line + FETCH.replace("NAME", "%rd5"), 2).replace("tex,", "tex, .param .u64 other,")
    out = np.zeros((COUNT, 4), np.float32)
    assert run(text, grid=1, block=COUNT, args=[Texture(one), Texture(other), points, out]).clean
    for number, point in enumerate(points):
        array = other if number % 2 else one
        assert out[number, 0] == fetch(array[:, :, None], list(point), modes=["clamp"] * 2)[0]


# --- queries ------------------------------------------------------------------------------------

ANSWERS = {
    "width": 11,
    "height": 6,
    "depth": 0,
    "normalized_coords": 1,
    "channel_data_type": 0x10D2,  # OpenCL: CL_UNORM_INT8
    "channel_order": 0x10B5,  # OpenCL: CL_RGBA
    "array_size": 0,
    "num_mipmap_levels": 2,
    "num_samples": 1,
    "filter_mode": 1,
    "addr_mode_0": 0,
    "addr_mode_1": 4,
}


@pytest.mark.parametrize("query", ANSWERS)
def test_a_texture_tells_what_it_is(query: str) -> None:
    texture = Texture(
        texels((6, 11, 4), np.uint8),
        "2d",
        Sampler(address=("wrap", "border"), filter="linear", normalized=True),
        normalized_float=True,
        levels=[texels((3, 5, 4), np.uint8)],
    )
    line = f"txq.{query}.b32 %r10, [%rd5]; mov.u32 %r11, 1; txq.level.width.b32 %r11, [%rd5], %r11;\n"
    line += "istypep.texref %p1, %rd5; selp.u32 %r12, 1, 0, %p1; istypep.surfref %p1, %rd5; selp.u32 %r13, 1, 0, %p1;"
    out = fetched(kernel(HANDLE + line, 1, results="b32"), texture, np.zeros((1, 1), np.float32), np.uint32)
    assert out[0].tolist() == [ANSWERS[query], 5, 1, 0]


# --- faults -------------------------------------------------------------------------------------


def test_what_no_texture_is_is_refused() -> None:
    points = np.zeros((1, 2), np.float32)
    text = kernel(HANDLE + FETCH.replace("NAME", "%rd5"), 2)
    for given, message in (
        (0x1234, "expected the handle of a texture, got 0x1234 (invalid handle)"),
        (Sampler(), "(the handle of a sampler)"),
        (Texture(texels((6, 11)), "a1d"), "expected geometry .2d, got argument 0 'tex' of geometry .a1d"),
        (Texture(texels((6, 11), np.int32)), "fetch of .f32 from argument 0 'tex', a texture of int32 elements"),
    ):
        with pytest.raises(SimulationError) as caught:
            fetched(text, given, points)
        assert message in caught.value.message
        assert "PTX line" in str(caught.value.where)
    named = kernel(FETCH.replace("NAME", "picture"), 2, before=".global .texref picture;")
    with pytest.raises(SimulationError, match="expected the handle of a texture"):
        fetched(named, 0, points)
    with pytest.raises(LaunchError, match="surfref 'image'"):
        fetched(named, 0, points, textures={"image": Texture(texels((6, 11)))})


@pytest.mark.parametrize("filtering", ["point", "linear"])
def test_depths_are_compared_before_they_are_filtered(filtering: str) -> None:
    depths, random = texels((6, 11, 1)), np.random.default_rng(7)
    points = np.column_stack([some_points(2, (11, 6), normalized=False), random.uniform(-8, 8, COUNT)]).astype(
        np.float32
    )
    line = "tex.2d.v4.f32.f32 {%f10, %f11, %f12, %f13}, [%rd5, {%f0, %f1}], %f2;"
    text = kernel(HANDLE + line, 3)
    out = fetched(text, Texture(depths, "2d", Sampler(filter=filtering, compare="<=")), points)
    for *point, depth, found in zip(*points.astype(np.float64).T, out[:, 0], strict=True):
        passed = (depth <= depths).astype(np.float32)
        assert abs(found - fetch(passed, point, modes=["clamp"] * 2, filter=filtering)[0]) < 1e-6
    with pytest.raises(SimulationError, match="sampler without a comparison function"):
        fetched(text, Texture(depths), points)


def test_textures_of_several_samples_are_not_simulated() -> None:
    line = "tex.2dms.v4.f32.s32 {%f10, %f11, %f12, %f13}, [%rd5, {%r0, %r1, %r2, %r2}];"
    with pytest.raises(MissingSemantics, match="2dms"):
        fetched(kernel(HANDLE + line, 3), Texture(texels((6, 11))), np.zeros((1, 3), np.float32))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Texture(texels((6, 11)), "4d"), "unknown geometry"),
        (lambda: Texture(texels((6, 11, 3))), "3 channels"),
        (lambda: Texture(texels((6,))), "2 axes"),
        (lambda: Texture(np.zeros((4, 4))), "float64"),
        (lambda: Texture(texels((5, 4, 4)), "cube"), "5 slices"),
        (lambda: Texture(texels((6, 11), np.int32), sampler=Sampler(filter="linear")), "linear filtering"),
        (lambda: Texture(texels((6, 11), np.int32), normalized_float=True), "normalized_float"),
        (lambda: Sampler(address="repeat"), "repeat"),
        (lambda: Sampler(filter="cubic"), "cubic"),
    ],
)
def test_what_no_device_has_is_refused(make: Any, message: str) -> None:
    with pytest.raises(LaunchError) as caught:
        make()
    assert message in f"{caught.value.message} {caught.value.help}"


def test_a_texture_whose_memory_the_kernel_writes_is_found() -> None:
    array, points = texels((6, 11)), np.ones((32, 2), np.float32)
    line = "ld.param.u64 %rd7, [memory]; st.global.f32 [%rd7+48], %f1;\n" + FETCH.replace("NAME", "%rd5")
    text = kernel(HANDLE + line, 2).replace("tex,", "tex, .param .u64 memory,")
    result = run(text, grid=1, block=32, args=[Texture(array), array, points, np.zeros((32, 4), np.float32)])
    assert "noncoherent-read" in {finding.rule for finding in result.findings}
