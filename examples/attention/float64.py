"""Attention and its gradients in float64, for arrays [batch, sequence, heads, head_dim]."""

from __future__ import annotations

import numpy as np
from examples.attention.problem import LOWEST


def probabilities(q, k, *, causal: bool, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return softmax probabilities and LSE (log-sum-exp of each row of scores) of [B, H, S, D] arrays, in float64."""
    scores = q @ k.swapaxes(2, 3) * scale
    if causal:
        queries, keys = scores.shape[2:]
        scores[:, :, ~np.tri(queries, keys, keys - queries, dtype=bool)] = -np.inf
    peak = np.maximum(scores.max(3, keepdims=True), LOWEST)
    weights = np.exp(scores - peak)
    total = weights.sum(3, keepdims=True)
    with np.errstate(divide="ignore"):
        return weights / np.where(total > 0, total, 1), (peak + np.log(total))[..., 0]


def attention(q, k, v, *, causal: bool = False, scale: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Compute attention's O and LSE by NumPy in float64."""
    q, k, v = (np.asarray(x, dtype=np.float64).transpose(0, 2, 1, 3) for x in (q, k, v))
    k, v = (x.repeat(q.shape[1] // x.shape[1], 1) for x in (k, v))
    weights, lse = probabilities(q, k, causal=causal, scale=q.shape[3] ** -0.5 if scale is None else scale)
    return (weights @ v).transpose(0, 2, 1, 3), lse


def gradients(
    q, k, v, dout, dlse, *, causal: bool = False, scale: float | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute attention's gradients dQ, dK and dV by NumPy in float64."""
    q, k, v, dout = (np.asarray(x, dtype=np.float64).transpose(0, 2, 1, 3) for x in (q, k, v, dout))
    heads_of_keys, shared = k.shape[1], q.shape[1] // k.shape[1]
    k, v = (x.repeat(shared, 1) for x in (k, v))
    factor = q.shape[3] ** -0.5 if scale is None else scale
    weights, _ = probabilities(q, k, causal=causal, scale=factor)
    delta = (weights @ v * dout).sum(3) - np.asarray(dlse, dtype=np.float64)
    changes = weights * (dout @ v.swapaxes(2, 3) - delta[..., None]) * factor
    found = changes @ k, changes.swapaxes(2, 3) @ q, weights.swapaxes(2, 3) @ dout
    dq, dk, dv = (x.transpose(0, 2, 1, 3) for x in found)
    batch, keys, _, head_dim = dk.shape
    dk, dv = (x.reshape(batch, keys, heads_of_keys, shared, head_dim).sum(3) for x in (dk, dv))
    return dq, dk, dv
