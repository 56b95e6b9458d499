"""Texture and surface objects, with CUDA's device functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptx_sim import Sampler, Surface, Texture, run

from .compiler import ptx_of

SOURCE = """
extern "C" __global__ void table(cudaTextureObject_t t, float *out, int n) {
    int i = threadIdx.x;
    out[i] = tex1Dfetch<float>(t, i - 4) + tex1Dfetch<float>(t, n - 1 - i);
}
extern "C" __global__ void rotated(cudaTextureObject_t t, float4 *out, int width, int height, float angle) {
    int x = threadIdx.x, y = blockIdx.x;
    float u = (x + 0.5f) / width - 0.5f, v = (y + 0.5f) / height - 0.5f;
    float c = cosf(angle), s = sinf(angle);
    out[y * width + x] = tex2D<float4>(t, u * c - v * s + 0.5f, v * c + u * s + 0.5f);
}
extern "C" __global__ void others(cudaTextureObject_t volume, cudaTextureObject_t layers, cudaTextureObject_t cube,
                                  cudaTextureObject_t mips, cudaTextureObject_t bytes, float *out) {
    int i = threadIdx.x;
    float *mine = out + 8 * i;
    mine[0] = tex3D<float>(volume, i + 0.25f, 1.5f, 0.75f);
    mine[1] = tex2DLayered<float>(layers, i + 0.5f, 1.5f, 1);
    mine[2] = texCubemap<float>(cube, i - 3.5f, 1.0f, -2.0f);
    mine[3] = tex2DLod<float>(mips, 0.3f, 0.6f, i * 0.5f);
    float4 corners = tex2Dgather<float4>(bytes, i + 0.5f, 2.0f, 1);
    mine[4] = corners.x; mine[5] = corners.y; mine[6] = corners.z; mine[7] = corners.w;
}
extern "C" __global__ void blurred(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x, sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += surf2Dread<unsigned char>(from, x + dx, y + dy, cudaBoundaryModeClamp);
    surf2Dwrite<unsigned char>(sum / 9, to, x, y);
}
struct Pictures { cudaTextureObject_t in; cudaSurfaceObject_t out; int width; };
extern "C" __global__ void copied(Pictures pictures) {
    int x = threadIdx.x, y = blockIdx.x;
    uchar4 pixel = tex2D<uchar4>(pictures.in, pictures.width - 1 - x + 0.5f, y + 0.5f);
    surf2Dwrite(pixel, pictures.out, x * int(sizeof(uchar4)), y);
}
"""


def launch(entry: str, *args: Any, grid: int, block: int) -> None:
    """Run a kernel entry under some simulator schedules; raise AssertionError for any finding."""
    for options in ({}, {"seed": 1}):
        assert run(ptx_of(SOURCE), entry=entry, grid=grid, block=block, args=args, **options).findings == ()


def test_a_table_is_fetched_by_whole_numbers() -> None:
    table, out = np.arange(1, 41, dtype=np.float32), np.zeros(40, np.float32)
    launch("table", Texture(table, "1d"), out, 40, grid=1, block=40)
    padded = np.concatenate([np.zeros(4), table])
    assert (out == padded[:40] + table[::-1]).all()


def test_a_picture_is_rotated() -> None:
    """The reference is bilinear interpolation in double precision; the hardware's interpolation weights have 8 bits."""
    height, width, angle = 12, 16, 0.4
    picture = np.random.default_rng(1).random((height, width, 4)).astype(np.float32)
    sampler, out = Sampler(address="border", filter="linear", normalized=True), np.zeros_like(picture)
    launch("rotated", Texture(picture, "2d", sampler), out, width, height, angle, grid=height, block=width)
    y, x = np.indices((height, width)) + 0.5
    u, v = x / width - 0.5, y / height - 0.5
    at_x = (u * np.cos(angle) - v * np.sin(angle) + 0.5) * width - 0.5
    at_y = (v * np.cos(angle) + u * np.sin(angle) + 0.5) * height - 0.5
    i, j = np.floor(at_x).astype(int), np.floor(at_y).astype(int)
    padded = np.zeros((height + 20, width + 20, 4))
    padded[10:-10, 10:-10] = picture
    a, b = (at_x - i)[..., None], (at_y - j)[..., None]
    rows = [(1 - a) * padded[j + d + 10, i + 10] + a * padded[j + d + 10, i + 11] for d in (0, 1)]
    assert np.abs(out - ((1 - b) * rows[0] + b * rows[1])).max() < 3 / 256


def test_other_geometries() -> None:
    random = np.random.default_rng(2)
    volume, layers, cube = (random.random(shape).astype(np.float32) for shape in ((3, 4, 8), (3, 4, 8), (6, 8, 8)))
    mips = [np.full((8 >> n, 8 >> n), 10 + n, np.float32) for n in range(3)]
    corners, out = random.integers(0, 255, (4, 8, 2), np.uint8), np.zeros((8, 8), np.float32)
    launch(
        "others",
        Texture(volume, "3d", Sampler(filter="linear")),
        Texture(layers, "a2d"),
        Texture(cube, "cube"),
        Texture(mips[0], "2d", Sampler(normalized=True, mip_filter="linear"), levels=mips[1:]),
        Texture(corners, normalized_float=True),
        out,
        grid=1,
        block=8,
    )
    i = np.arange(8)
    near, far = (0.75 * volume[z, 1, i] + 0.25 * volume[z, 1, np.maximum(i - 1, 0)] for z in (0, 1))
    assert np.allclose(out[:, 0], 0.75 * near + 0.25 * far)
    assert (out[:, 1] == layers[1, 1, i]).all()
    assert out[:, 2].tolist() == [float(cube[face, t, s]) for face, t, s in map(_on_cube, i - 3.5)]
    assert np.allclose(out[:, 3], 10 + np.minimum(i * 0.5, 2))
    # tex2Dgather returns four texels, counterclockwise from the lower left one.
    for column, (y, step) in enumerate([(2, 0), (2, 1), (1, 1), (1, 0)]):
        assert np.allclose(out[:, 4 + column], corners[y, np.minimum(i + step, 7), 1] / 255)


def _on_cube(x: float) -> tuple[int, int, int]:
    """Return face, row and column of the texel in direction (x, 1, -2), for 8 x 8 texels per face."""
    if abs(x) > 2:
        face, s, t = (0, 2 / x, -1 / x) if x > 0 else (1, -2 / -x, -1 / -x)
    else:
        face, s, t = 5, -x / 2, -1 / 2
    return face, int((t + 1) * 4), int((s + 1) * 4)


def test_a_picture_is_blurred_from_surface_to_surface() -> None:
    picture = np.random.default_rng(3).integers(0, 255, (10, 16), np.uint8)
    blurred = np.zeros_like(picture)
    launch("blurred", Surface(picture), Surface(blurred), 16, 10, grid=10, block=16)
    padded = np.pad(picture.astype(int), 1, mode="edge")
    sums = sum(padded[dy : dy + 10, dx : dx + 16] for dy in range(3) for dx in range(3))
    assert (blurred == sums // 9).all()


def test_objects_stand_in_structures() -> None:
    picture = np.random.default_rng(4).integers(0, 255, (4, 8, 4), np.uint8)
    mirrored = np.zeros_like(picture)
    launch("copied", (Texture(picture), Surface(mirrored), np.int32(8)), grid=4, block=8)
    assert (mirrored == picture[:, ::-1]).all()
