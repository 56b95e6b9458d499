# SPDX-License-Identifier: Apache-2.0
"""One thread per element, in Warp: strided arrays, vectors, quaternions, matrices, random numbers, atomics."""

import warp as wp


@wp.kernel(module="vectors")
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), factor: float):
    i = wp.tid()
    y[i] = factor * x[i] + y[i]


@wp.kernel(module="vectors")
def smoothed(x: wp.array2d(dtype=wp.float16), y: wp.array2d(dtype=float)):
    """Five-point stencil, clamped at the borders; strides come from the arrays."""
    i, j = wp.tid()
    above, below = wp.max(i - 1, 0), wp.min(i + 1, x.shape[0] - 1)
    left, right = wp.max(j - 1, 0), wp.min(j + 1, x.shape[1] - 1)
    total = float(x[i, j]) * 4.0 + float(x[above, j]) + float(x[below, j]) + float(x[i, left]) + float(x[i, right])
    y[i, j] = total / 8.0


@wp.func
def distance(place: wp.vec3, radius: float):
    return wp.length(place) - radius


@wp.func
def bounced(place: wp.vec3, speed: wp.vec3, radius: float):
    """Reflect particles inside a sphere that move inwards."""
    normal = wp.normalize(place)
    inwards = wp.dot(speed, normal)
    if distance(place, radius) < 0.0 and inwards < 0.0:
        speed -= 2.0 * inwards * normal
    return speed


@wp.kernel(module="particles")
def moved(
    place: wp.array(dtype=wp.vec3), speed: wp.array(dtype=wp.vec3), turn: wp.array(dtype=wp.quat), step: float
):
    i = wp.tid()
    now = bounced(place[i], speed[i], 1.5) + wp.vec3(0.0, -9.81, 0.0) * step
    speed[i] = now
    place[i] = place[i] + now * step
    turn[i] = wp.normalize(turn[i] + wp.quat(now, 0.0) * turn[i] * (0.5 * step))


@wp.kernel(module="matrices")
def decomposed(given: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33), scales: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    left, right, singular = wp.mat33(), wp.mat33(), wp.vec3()
    wp.svd3(given[i], left, singular, right)
    out[i] = wp.inverse(given[i]) * wp.transpose(left) + wp.outer(singular, singular) * wp.determinant(right)
    scales[i] = singular


@wp.kernel(module="counting")
def counted(x: wp.array(dtype=int), counts: wp.array(dtype=int), seed: int):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    slot = (x[i] + wp.randi(state, 0, 8)) % 64
    wp.atomic_add(counts, slot, 1)
    wp.atomic_max(counts, 64, x[i])
    wp.atomic_min(counts, 65, x[i])


@wp.kernel(module="counting")
def first(x: wp.array(dtype=wp.int64), found: wp.array(dtype=wp.int64), wanted: wp.int64):
    """Store the index of one match with atomic_cas: only the first one succeeds."""
    i = wp.tid()
    if x[i] == wanted:
        wp.atomic_cas(found, 0, wp.int64(-1), wp.int64(i))


@wp.kernel(module="noise")
def clouds(out: wp.array3d(dtype=float), scale: float):
    i, j, k = wp.tid()
    state = wp.rand_init(7)
    place = wp.vec3(float(i), float(j), float(k)) * scale
    value, weight = float(0.0), float(0.5)
    for _octave in range(4):
        value += weight * wp.noise(state, place)
        place, weight = place * 2.0, weight * 0.5
    out[i, j, k] = wp.exp(value) * wp.sin(value) + wp.pow(wp.abs(value), 1.5)


@wp.kernel(module="searching")
def places(edges: wp.array(dtype=wp.float64), x: wp.array(dtype=wp.float64), out: wp.array(dtype=int)):
    """A binary search, and Newton's method until the result no longer changes."""
    i = wp.tid()
    low, high = int(0), int(edges.shape[0])
    while low < high:
        middle = (low + high) // 2
        if edges[middle] <= x[i]:
            low = middle + 1
        else:
            high = middle
    out[i] = low
    root = x[i]
    for _step in range(40):
        better = (root + x[i] / root) / wp.float64(2.0)
        if wp.abs(better - root) < wp.float64(1.0e-12):
            break
        root = better
    edges[low] = root


FORWARD = {"enable_backward": False}
CASES = {
    "vectors": ("vectors", {}),
    "vectors-forward": ("vectors", FORWARD),
    "vectors-lines": ("vectors", FORWARD | {"lineinfo": True}),
    "vectors-debug": ("vectors", FORWARD | {"mode": "debug"}),
    "particles": ("particles", {}),
    "particles-forward": ("particles", FORWARD),
    "matrices-fast": ("matrices", FORWARD | {"fast_math": True}),
    "counting": ("counting", FORWARD),
    "noise": ("noise", FORWARD),
    "noise-fast": ("noise", FORWARD | {"fast_math": True}),
    "searching": ("searching", FORWARD),
}
