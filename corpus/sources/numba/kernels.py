# SPDX-License-Identifier: Apache-2.0
"""Python functions as kernels: loops, shared and local arrays, atomics, mathematics, complex numbers."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32


def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def saxpy(factor, x, y):
    """Each thread strides over the grid."""
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        y[i] += factor * x[i]


def multiply(a, b, c):
    """Tiles of 16 x 16 in shared memory; bounds of every kind."""
    left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    row, column = cuda.grid(2)
    y, x = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for step in range((a.shape[1] + 15) // 16):
        k = step * 16
        left[y, x] = a[row, k + x] if row < a.shape[0] and k + x < a.shape[1] else float32(0.0)
        right[y, x] = b[k + y, column] if k + y < b.shape[0] and column < b.shape[1] else float32(0.0)
        cuda.syncthreads()
        for j in range(16):
            total += left[y, j] * right[j, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def total(x, out):
    """Reduce a warp with shuffles, the CTA in shared memory, the grid with an atomic addition."""
    parts = cuda.shared.array(32, float64)
    mine = float64(0.0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        mine += x[i]
    for distance in (16, 8, 4, 2, 1):
        mine += cuda.shfl_down_sync(0xFFFFFFFF, mine, distance)
    if cuda.laneid == 0:
        parts[cuda.threadIdx.x // 32] = mine
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        for warp in range(1, cuda.blockDim.x // 32):
            mine += parts[warp]
        cuda.atomic.add(out, 0, mine)


def counted(x, counts, low, high):
    """A histogram per CTA in shared memory, then one for all."""
    own = cuda.shared.array(64, int32)
    if cuda.threadIdx.x < 64:
        own[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        place = int((x[i] - low) / (high - low) * 64)
        if 0 <= place < 64:
            cuda.atomic.add(own, place, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x < 64:
        cuda.atomic.add(counts, cuda.threadIdx.x, own[cuda.threadIdx.x])


def bits(x, out):
    """Counting, voting, matching, and atomics of every kind."""
    i = cuda.grid(1)
    word = x[i]
    out[i] = cuda.popc(word) + cuda.clz(word) * 2 + cuda.ffs(word) * 3 + cuda.brev(word)
    out[0] += cuda.ballot_sync(0xFFFFFFFF, word > 3)
    cuda.atomic.max(out, 1, word)
    cuda.atomic.min(out, 2, word)
    cuda.atomic.and_(out, 3, word)
    cuda.atomic.xor(out, 4, word)
    cuda.atomic.exch(out, 5, word)
    cuda.atomic.cas(out, 6, word, word + 1)
    cuda.threadfence()


def mathematics(x, out):
    v = x[cuda.grid(1)]
    out[0] = math.sin(v) + math.cos(v) * math.tan(v)
    out[1] = math.exp(v) + math.log(v) - math.pow(v, 2.5)
    out[2] = math.erf(v) / math.sqrt(v) + math.hypot(v, 2.0)
    out[3] = v % 3.0 + v // 2.0 + math.fmod(v, 0.7)
    out[4] = math.atan2(v, 2.0) + math.floor(v) + math.ceil(v)
    out[5] = round(v) if math.isfinite(v) else math.copysign(1.0, v)


def escape(image, limit):
    """Complex numbers and a loop that ends early."""
    height, width = image.shape
    y, x0 = cuda.grid(2)
    for x in range(x0, width, cuda.gridsize(2)[1]):
        c = complex(-2.0 + x * 3.0 / width, -1.0 + y * 2.0 / height)
        z, steps = 0j, 0
        while steps < limit and z.real * z.real + z.imag * z.imag < 4.0:
            z = z * z + c
            steps += 1
        image[y, x] = steps


def sorted_locally(x, out):
    """Insertion sort in a thread-local array."""
    own = cuda.local.array(24, float32)
    base = cuda.grid(1) * 24
    for i in range(24):
        value, j = x[base + i], i - 1
        while j >= 0 and own[j] > value:
            own[j + 1] = own[j]
            j -= 1
        own[j + 1] = value
    for i in range(24):
        out[base + i] = own[i]


PRIMES = np.array([2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53], np.int64)


def divided(x, out):
    """A table in constant memory, and a loop with `else`."""
    table = cuda.const.array_like(PRIMES)
    i = cuda.grid(1)
    for place in range(16):
        if x[i] % table[place] == 0:
            out[i] = table[place]
            break
    else:
        out[i] = 0


def horner(x, degree):
    """A device function with the C ABI."""
    value = float32(0.0)
    for i in range(degree):
        value = value * x + i
    return value


F, D, I, U, L = "float32[::1]", "float64[::1]", "int32[::1]", "uint32[::1]", "int64[::1]"
SQUARE = "float32[:,::1]"
LINES, DEBUG, FAST = {"lineinfo": True}, {"debug": True, "opt": False}, {"fastmath": True}
CASES = {
    "add": (add, f"void({F},{F},{F})", {}),
    "add-strided": (add, "void(int16[:],int16[:],int16[:])", {}),
    "add-lines": (add, f"void({D},{D},{D})", LINES),
    "add-debug": (add, f"void({F},{F},{F})", DEBUG),
    "saxpy": (saxpy, f"void(float32,{F},{F})", {}),
    "multiply": (multiply, f"void({SQUARE},{SQUARE},{SQUARE})", {}),
    "multiply-lines": (multiply, f"void({SQUARE},{SQUARE},{SQUARE})", LINES),
    "total": (total, f"void({F},{D})", {}),
    "counted": (counted, f"void({F},{I},float32,float32)", {}),
    "bits": (bits, f"void({U},{U})", {}),
    "mathematics": (mathematics, f"void({D},{D})", {}),
    "mathematics-fast": (mathematics, f"void({F},{F})", FAST),
    "escape": (escape, "void(uint16[:,::1],int32)", {}),
    "sorted": (sorted_locally, f"void({F},{F})", {}),
    "divided": (divided, f"void({L},{L})", {}),
    "horner": (horner, "float32(float32,int32)", {"device": True, "abi": "c", "abi_info": {"abi_name": "horner"}}),
}
