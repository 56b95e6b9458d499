"""Attention problems: arrays, and error bounds for results of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np

BF16 = 2.0**-7
"""Bound for rounding an operand and the result to bf16 (2^-8 each), relative to the sum of the terms' magnitudes."""
F32 = 2.0**-12
"""Bound for errors other than bf16 rounding (f32 arithmetic), relative to the sum of the terms' magnitudes."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """An attention problem: Q [batch, queries, heads, head_dim]; K and V [batch, keys, heads_of_keys, head_dim]."""

    head_dim: int
    batch: int
    queries: int
    keys: int
    heads: int
    heads_of_keys: int
    causal: bool = False

    def __str__(self) -> str:
        shape = f"{self.head_dim}-{self.batch}x{self.queries}x{self.keys}x{self.heads}:{self.heads_of_keys}"
        return shape + "-causal" * self.causal

    def inputs(self, seed: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
        """Draw Q, K, V, and the gradients of O and LSE, from normal distributions."""
        rng = np.random.default_rng(seed)
        own, other = (self.batch, self.queries, self.heads), (self.batch, self.keys, self.heads_of_keys)
        shapes = [(*shape, self.head_dim) for shape in (own, other, other, own)]
        q, k, v, dout = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes)
        return q, k, v, dout, rng.standard_normal((self.batch, self.heads, self.queries)).astype(np.float32)

    def dimensions(self) -> dict[str, Any]:
        """Return the keyword arguments that determine the kernels' PTX."""
        sizes = {"B": self.batch, "Sq": self.queries, "Skv": self.keys, "Hq": self.heads, "Hkv": self.heads_of_keys}
        return {**sizes, "causal": self.causal}


def problems(*shapes: tuple[int, int, int, int, int]) -> list[Sizes]:
    """Return an attention problem for each shape, head dimension and mask."""
    return [Sizes(dim, *shape, causal=causal) for shape in shapes for dim in (64, 128) for causal in (False, True)]


def wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array [B, S, H, D] as [B, H, S, D] in float64."""
    return array.astype(np.float64).transpose(0, 2, 1, 3)


def magnitudes(sizes: Sizes, inputs: tuple[np.ndarray[Any, Any], ...]) -> tuple[np.ndarray[Any, Any], ...]:
    """Return O, dQ, dK and dV computed from magnitudes of their terms: rounding errors are relative to them.

    Delta counts twice in the gradients of the scores: it is computed from O after O was rounded.
    """
    q, k, v, dout = (np.abs(wide(array)) for array in inputs[:4])
    shared = sizes.heads // sizes.heads_of_keys
    k, v = (array.repeat(shared, 1) for array in (k, v))
    signed = [wide(array) for array in inputs[:2]]
    weights, _ = import_module("examples.attention.float64").probabilities(
        signed[0], signed[1].repeat(shared, 1), causal=sizes.causal, scale=sizes.head_dim**-0.5
    )
    out = weights @ v
    delta = (out * dout).sum(3) + np.abs(inputs[4])
    changes = weights * (dout @ v.swapaxes(2, 3) + 2 * delta[..., None]) * sizes.head_dim**-0.5
    dk, dv = (
        (each.swapaxes(2, 3) @ factor).reshape(sizes.batch, sizes.heads_of_keys, shared, sizes.keys, -1).sum(2)
        for each, factor in ((changes, q), (weights, dout))
    )
    return tuple(array.transpose(0, 2, 1, 3) for array in (out, changes @ k, dk, dv))


def assert_close(actual: Any, expected: np.ndarray[Any, Any], bound: np.ndarray[Any, Any] | float) -> None:
    """Check that each element differs from the reference by at most its own bound."""
    error = np.abs(np.asarray(actual, dtype=np.float64) - expected)
    assert (error <= bound).all(), f"largest error over its bound: {(error / np.maximum(bound, 1e-300)).max()}"
