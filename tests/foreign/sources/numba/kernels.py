"""Numba kernels: those of the corpus, and further ones with atomics, votes, mathematics, locks and stencils."""

import math

import numpy as np
from cases import Case, corpus, double, given, made, normal, whole
from numba import cuda, float32


KERNELS = corpus("numba/kernels.py")


def bits(x, out):
    i = cuda.grid(1)
    word = x[i]
    out[i] = cuda.popc(word) + cuda.clz(word) * 2 + cuda.ffs(word) * 3 + cuda.ballot_sync(0xFFFFFFFF, word & 1)


def extremes(x, out):
    word = x[cuda.grid(1)]
    cuda.atomic.max(out, 0, word)
    cuda.atomic.min(out, 1, word)
    cuda.atomic.and_(out, 2, word)
    cuda.atomic.xor(out, 3, word)


def mathematics(x, out):
    i = cuda.grid(1)
    v = x[i]
    out[i] = math.sin(v) + math.exp(v) * math.log(v) - math.pow(v, 2.5) + math.erf(v) / math.sqrt(v) + v % 0.3


def locked(lock, total):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        total[0] += cuda.blockIdx.x
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def stencil(x, out):
    s = cuda.shared.array(130, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    s[t + 1] = x[i]
    if t == 0:
        s[0] = x[i - 1] if i > 0 else float32(0)
    if t == cuda.blockDim.x - 1:
        s[t + 2] = x[i + 1] if i + 1 < x.size else float32(0)
    cuda.syncthreads()
    out[i] = s[t] + s[t + 1] * float32(2) + s[t + 2]


def mathematics_of(v):
    erf = np.vectorize(math.erf)
    return np.sin(v) + np.exp(v) * np.log(v) - v**2.5 + erf(v) / np.sqrt(v) + v % 0.3


def escaped(height, width, limit):
    image = np.zeros((height, width), np.uint16)
    for y in range(height):
        for x in range(width):
            c, z, steps = complex(-2.0 + x * 3.0 / width, -1.0 + y * 2.0 / height), 0j, 0
            while steps < limit and z.real * z.real + z.imag * z.imag < 4.0:
                z, steps = z * z + c, steps + 1
            image[y, x] = steps
    return image


def lowest_bit(words):
    return np.array([(int(w) & -int(w)).bit_length() for w in words])


F, D, I, U, L, H = "float32[::1]", "float64[::1]", "int32[::1]", "uint32[::1]", "int64[::1]", "int16[:]"
X, Y = normal(1000), normal(1000)
A, B = normal(40, 30), normal(30, 50)
C, W = whole(1000, high=80), whole(64, low=1, high=1 << 30, dtype="uint32")
V, S, N, T = np.abs(normal(128)).astype(np.float64) + 0.5, normal(32 * 24), whole(64, low=2, high=3000, dtype="int64"), normal(256)
SHORT = whole(100, high=1000, dtype="int16")
PLACED = ((C + 0.5) / 64).astype(np.float32)  # bin centers, some past the last bin
BALLOTS = np.repeat([sum((int(w) & 1) << i for i, w in enumerate(half)) for half in W.reshape(2, 32)], 32)
BITS = np.array([bin(int(w)).count("1") + (32 - int(w).bit_length()) * 2 for w in W]) + lowest_bit(W) * 3 + BALLOTS
SMALLEST = np.array([next((p for p in KERNELS.PRIMES if n % p == 0), 0) for n in N], np.int64)
PADDED = np.pad(double(T), 1)


def case(name, function, signature, arguments, grid=1, block=128, **options):
    return Case(name, function, dict(enumerate(arguments)), grid, block,
                options={"signature": signature} | options)


CASES = [
    case("add", KERNELS.add, f"void({F},{F},{F})", [given(X), given(Y), made(double(X) + Y, "float32")], 8),
    case("add-strided-shorts", KERNELS.add, f"void({H},{H},{H})", [given(SHORT), given(SHORT[::-1].copy()), made(SHORT + SHORT[::-1], "int16")]),
    case("add-unoptimized", KERNELS.add, f"void({F},{F},{F})", [given(X), given(Y), made(double(X) + Y, "float32")], 8, debug=True, opt=False),
    case("saxpy", KERNELS.saxpy, f"void(float32,{F},{F})", [np.float32(2.5), given(X), made(2.5 * double(X) + Y, "float32", Y)], 2),
    case("multiply", KERNELS.multiply, "void(float32[:,::1],float32[:,::1],float32[:,::1])",
         [given(A), given(B), made(double(A) @ B, "float32")], (3, 4), (16, 16)),
    case("total", KERNELS.total, f"void({F},{D})", [given(X), made([double(X).sum()], "float64")], 3),
    case("counted", KERNELS.counted, f"void({F},{I},float32,float32)",
         [given(PLACED), made(np.bincount(C[C < 64], minlength=64).astype(np.int32), "int32"), np.float32(0), np.float32(1)], 3),
    case("bits", bits, f"void({U},{U})", [given(W), made(BITS.astype(np.uint32), "uint32")], 2, 32),
    case("extremes", extremes, f"void({U},{U})", [given(W), made(np.array([W.max(), W.min(), np.bitwise_and.reduce(W),
         np.bitwise_xor.reduce(W)], np.uint32), "uint32", np.array([0, 0xFFFFFFFF, 0xFFFFFFFF, 0], np.uint32))], 2, 32),
    case("mathematics", mathematics, f"void({D},{D})", [given(V), made(mathematics_of(V), "float64")]),
    case("mathematics-fast", mathematics, f"void({F},{F})", [given(V.astype(np.float32)),
         made(mathematics_of(V.astype(np.float32).astype(np.float64)), "float32", tolerance=1e-4)], fastmath=True),
    case("escape", KERNELS.escape, "void(uint16[:,::1],int32)", [made(escaped(16, 32, 40), "uint16"), 40], (4, 1), (4, 16)),
    case("sorted-locally", KERNELS.sorted_locally, f"void({F},{F})", [given(S), made(np.sort(S.reshape(32, 24), 1).ravel(), "float32")], 1, 32),
    case("divided", KERNELS.divided, f"void({L},{L})", [given(N), made(SMALLEST, "int64")], 2, 32),
    case("locked", locked, f"void({I},{I})", [made([0], "int32"), made([28], "int32")], 8, 32),
    case("stencil", stencil, f"void({F},{F})", [given(T), made(PADDED[:-2] + 2 * PADDED[1:-1] + PADDED[2:], "float32")], 2),
]
