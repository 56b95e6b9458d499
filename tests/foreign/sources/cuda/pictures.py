"""Launches of the kernels in `pictures.cu`."""

import numpy as np
from cases import Case, Surfaced, Textured, double, given, made, normal, whole


def case(kernel, *arguments, block, grid=1):
    return Case(kernel.replace("_", "-"), kernel, dict(enumerate(arguments)), grid, block,
                options={"source": "pictures.cu"})


def bilinear(picture, u, v):
    """Return a texture's value at normalized coordinates; texels past the border are zero."""
    height, width = picture.shape
    x, y = u * width - 0.5, v * height - 0.5
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    padded = np.pad(double(picture), width)
    corner = [[padded[j + dy + width, i + dx + width] for dx in (0, 1)] for dy in (0, 1)]
    above, below = (left + (x - i) * (right - left) for left, right in corner)
    return above + (y - j) * (below - above)


HEIGHT, WIDTH, ANGLE = 12, 20, 0.4
SMOOTH = np.abs(normal(HEIGHT, WIDTH))
Y, X = np.indices((HEIGHT, WIDTH)) + 0.5
U, V = X / WIDTH - 0.5, Y / HEIGHT - 0.5
COSINE, SINE = np.cos(ANGLE), np.sin(ANGLE)
TURNED = bilinear(SMOOTH, U * COSINE - V * SINE + 0.5, V * COSINE + U * SINE + 0.5)
TABLE, AT = whole(100, 2), whole(96, low=-8, high=108)
INSIDE = ((AT >= 0) & (AT < 100))[:, None]
FOUND = np.where(INSIDE, TABLE[np.clip(AT, 0, 99)], 0)
BYTES = whole(10, 16, high=256, dtype="uint8")
PADDED = np.pad(BYTES.astype(int), 1, mode="edge")
BLURRED = (sum(PADDED[dy:dy + 10, dx:dx + 16] for dy in range(3) for dx in range(3)) // 9).astype(np.uint8)
SHARES = double(BYTES) / 255
EDGES = sum(np.abs(np.roll(SHARES, -1, axis) - np.roll(SHARES, 1, axis)) for axis in (0, 1))
VOLUME, LAYERS, CORNERS = normal(5, 4, 8), normal(3, 4, 8, 4), normal(9, 17)
LEAST = np.lib.stride_tricks.sliding_window_view(CORNERS, (2, 2)).min((2, 3))

CASES = [
    # The hardware's weights of linear filtering have 8 fractional bits.
    case("turned", Textured(given(SMOOTH), sampler={"address": "border", "filter": "linear", "normalized": True}),
         made(TURNED, "float32", tolerance=3 / 256), WIDTH, HEIGHT, ANGLE, block=(8, 8), grid=(3, 2)),
    case("looked_up", Textured(given(TABLE), "1d"), given(AT), made(FOUND[:, ::-1], "int32"), block=32, grid=3),
    case("blurred", Surfaced(given(BYTES)), Surfaced(made(BLURRED, "uint8")), block=16, grid=10),
    case("edges", Textured(given(BYTES), normalized_float=True, sampler={"address": "wrap", "normalized": True}),
         Surfaced(made(EDGES, "float32")), 16, 10, block=16, grid=10),
    case("between_slices", Textured(given(VOLUME), "3d", sampler={"filter": "linear"}),
         made((double(VOLUME[1:]) + VOLUME[:-1]) / 2, "float32"), block=(8, 4), grid=4),
    case("layers_reversed", Textured(given(LAYERS), "a2d"), Surfaced(made(LAYERS[::-1], "float32"), "a2d"), 3,
         block=(8, 4), grid=3),
    case("gathered", Textured(given(CORNERS)), made(LEAST, "float32"), block=16, grid=8),
]
