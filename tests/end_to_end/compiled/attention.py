"""Flash attention with tensor maps and wgmma, as Triton compiles it."""

from __future__ import annotations

import numpy as np

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import WithDescriptor

from .problem import F8, Array, Near, Problem, Row, draws

HEADS, LENGTH, WIDTH, BLOCK = 2, 192, 64, 64
SCALE = 0.125
STAGES = 2
SHARED_BYTES = (1 + 2 * STAGES) * 2 * BLOCK * WIDTH + 8 * STAGES  # bytes of Q, of K and V per stage, and of mbarriers
EPS2 = 2.0**-11


def _attended(q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    """Return the attention of each head in float64, and the attention over |V| (for error bounds)."""
    heads = [array.astype(F8).reshape(HEADS, LENGTH, WIDTH) for array in (q, k, v)]
    scores = SCALE * heads[0] @ heads[1].transpose(0, 2, 1)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    exact, magnitudes = weights @ heads[2], weights @ np.abs(heads[2])
    return exact.reshape(-1, WIDTH), magnitudes.reshape(-1, WIDTH)


def forward() -> Problem:
    """`forward_tma`: two heads, each with three CTAs and three blocks of keys, in a two-stage pipeline.

    Weights are rounded to f16 before the second GEMM, and so is the result. Triton emits no fence between the
    `mbarrier.init` of Q's mbarrier and the copy that signals it.
    """
    random = draws(61)
    q, k, v = (random.standard_normal((HEADS * LENGTH, WIDTH)).astype(np.float16) for _ in range(3))
    o = np.zeros_like(q)
    args: list[object] = []
    for array in (q, k, v, o):
        tensor_map = TensorMap("f16", array.shape, array.strides, (BLOCK, WIDTH), (1, 1), swizzle="128B")
        args += [WithDescriptor(array, tensor_map), *array.shape, *array.strides]
    exact, magnitudes = _attended(q, k, v)
    expected = {3 * len((q, *q.shape, *q.strides)): Near(exact, EPS2, 2 * EPS2 * magnitudes)}
    scratch = np.zeros(1, np.uint64)
    return Problem(
        (*args, LENGTH, SCALE, scratch, scratch),
        expected,
        grid=(LENGTH // BLOCK, HEADS),
        block=128,
        shared_bytes=SHARED_BYTES,
        found=frozenset({"missing-proxy-fence"}),
    )


ROWS = (Row("attention", "forward_tma", forward, build="sm_90a.tma.ptx"),)
