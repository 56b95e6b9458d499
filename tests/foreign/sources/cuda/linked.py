"""Launches of the kernels in `linked.cu`, linked with `linked_library.cu`."""

import numpy as np
from cases import Case, double, eighths, given, made


def case(kernel, *arguments, block=64, grid=1):
    return Case(kernel, kernel, dict(enumerate(arguments)), grid, block,
                options={"source": "linked.cu", "linked": ("linked_library.cu",)})


X, I = eighths(256), np.arange(256)
CALLED = 10 * double(X) * (I % 4 + 0.5) + 3 * X + (X + 1) + (X + 2)
D = double(X[:64])
DISPATCHED = D * D * np.where(I[:64] % 3, 1, 3) + np.where(I[:64] % 2, -D, 10 * D)

CASES = [
    case("called", given(X), made(CALLED, "float32"), grid=4),
    case("counted", made(np.array([256]), "int32"), grid=4),
    case("dispatched", given(X[:64]), made(DISPATCHED, "float32")),
]
