"""Launches of the kernels in `messages.cu`."""

import numpy as np
from cases import NEWER, Case, given, made, whole


def case(kernel, *arguments, block=128, grid=1):
    return Case(kernel.replace("_", "-"), kernel, dict(enumerate(arguments)), grid, block,
                options={"source": "messages.cu"}, targets=NEWER)


def handed_on(x):
    threads = np.arange(32, 128)
    return np.concatenate([row[(threads + i) % 32] + threads // 32 for i, row in enumerate(x)])


def swapped(v):
    for i in range(4):
        v = np.roll(v, 64) * 3 + i
    return v


def passed_around(v):
    for _ in range(3):
        v = np.roll((v + np.arange(4)[:, None])[:, ::-1], 1, axis=0)
    return v


X = whole(512)

CASES = [
    case("handed_on", given(X), made(handed_on(X[:160].reshape(5, 32)).astype(np.int32), "int32")),
    case("swapped", given(X), made(swapped(X[:128]).astype(np.int32), "int32")),
    case("passed_around", given(X), made(np.stack([passed_around(v) for v in X.reshape(2, 4, 64)]).astype(np.int32),
         "int32"), block=64, grid=8),
]
