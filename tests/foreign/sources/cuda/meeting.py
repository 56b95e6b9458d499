"""Launches of the kernels in `meeting.cu`."""

import numpy as np
from cases import Case, double, given, made, normal, room, whole


def case(kernel, *arguments, block=32, grid=1, **more):
    return Case(kernel.replace("_", "-"), kernel, dict(enumerate(arguments)), grid, block, options={"source": "meeting.cu"},
                **more)


def steps(count, function):
    now = 0
    for i in range(count):
        now = function(now, i)
    return made([now], "int32")


def phases(v):
    for _ in range(4):
        v = v + np.roll(v, -1) % 10
    return v.astype(np.int32)


X, Q = whole(1024), whole(20)
L = whole(40, 64)
F = normal(4, 64)
TRI = np.arange(32, dtype=np.int32)

CASES = [
    case("spin_lock", room(1), made([28], "int32"), grid=8),
    case("lock_of_libcu", room(1), made([28], "int32"), grid=8),
    case("ticket_lock", made([9], "int32"), made([9], "int32"), steps(9, lambda now, _: now * 2 % 1000003 + 1), grid=9),
    case("chained", made([40], "int32"), steps(40, lambda now, i: (now * 3 + 0) % 1000003 + i), grid=40),
    case("last_block", given(X), made(X.reshape(8, 128).sum(1).astype(np.int32), "int32"), made(np.array([8], np.uint32), "uint32"),
         made([X.sum()], "int32"), block=128, grid=8),
    case("message", made([1], "int32"), made([42], "int32"), made([43, 44, 45], "int32"), grid=4),
    case("look_back", given(L), made(np.cumsum(L).astype(np.int32), "int32"),
         made((2 << 32) + np.cumsum(L.sum(1)).astype(np.uint64), "uint64"), block=64, grid=40),
    case("grid_barrier", given(X[:256]), made(np.concatenate([X[:256] * 2, X[255::-1] * 2 + 1]), "int32"),
         made(np.array([4], np.uint32), "uint32"), block=64, grid=4),
    case("queue", given(Q), made([23], "int32"), made(Q * Q, "int32"), 20, grid=3),
    case("histogram", given(X), made(np.bincount(X & 63, minlength=64).astype(np.int32), "int32"), 1024, block=128, grid=3),
    case("float_atomics", given(F), made([double(F).sum()], "float32"), made([double(F).sum()], "float64"),
         made([double(F).max()], "float32", [-100.0]), block=64, grid=4),
    case("shared_broadcast", made(np.full(32, 7, np.int32), "int32")),
    case("barrier_phases", given(X), made(phases(X[:128]), "int32"), block=128),
    case("producer_and_consumer", given(X), made(X[:192].reshape(6, 32)[:, ::-1] * 3, "int32"), block=64),
    case("completion", made([3] * 65, "int32"), block=64),
    case("latched", given(X), made(X[31::-1], "int32"), block=64),
    case("semaphore", made([15], "int32"), block=128),
    case("waiting", made([1], "int32"), made(np.concatenate([TRI * 5] + [TRI * 5 + 1] * 3), "int32"), grid=4),
    case("sequentially", made([1], "int32"), made([1], "int32"), room(4), grid=2),
]
