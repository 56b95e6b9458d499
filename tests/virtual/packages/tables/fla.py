"""Forward operators of flash-linear-attention, each with its recurrence in torch."""

from __future__ import annotations

import torch
from fla.ops.attn import parallel_attn
from fla.ops.delta_rule import chunk_delta_rule, fused_recurrent_delta_rule
from fla.ops.gated_delta_rule import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
from fla.ops.gla import chunk_gla, fused_recurrent_gla
from fla.ops.hgrn import chunk_hgrn, fused_recurrent_hgrn
from fla.ops.kda import fused_recurrent_kda
from fla.ops.lightning_attn import chunk_lightning_attn
from fla.ops.linear_attn import chunk_linear_attn, fused_recurrent_linear_attn
from fla.ops.retention import chunk_retention
from fla.ops.rwkv6 import fused_recurrent_rwkv6
from fla.ops.simple_gla import chunk_simple_gla, fused_recurrent_simple_gla
from torch.nn import functional

from .rows import Operator

# Sizes: batch, steps, heads, key width, value width. A chunk has 64 steps; the last size is odd and below a chunk.
CHUNKS = ((1, 80, 1, 32, 32), (1, 64, 2, 16, 48), (1, 17, 1, 15, 15))
STEPS = ((1, 8, 2, 32, 32), (1, 9, 1, 48, 20), (1, 5, 1, 7, 7))
TF32 = 2e-2  # error tolerance of kernels that process chunks with TF32 MMAs


def normal(*shape):
    return torch.randn(shape)


def attended(batch, steps, heads, keys, values):
    """Return queries, keys of length 1, and values."""
    k = functional.normalize(normal(batch, steps, heads, keys), dim=-1)
    return {"q": normal(batch, steps, heads, keys), "k": k, "v": normal(batch, steps, heads, values)}


def inputs(*more):
    """Return a function that makes queries, keys, values, and the inputs named in `more`."""

    def made(batch, steps, heads, keys, values):
        known = {
            "g": lambda: functional.logsigmoid(normal(batch, steps, heads)),
            "gk": lambda: functional.logsigmoid(normal(batch, steps, heads, keys)),
            "beta": lambda: normal(batch, steps, heads).sigmoid(),
            "u": lambda: normal(heads, keys),
        }  # fmt: skip
        return attended(batch, steps, heads, keys, values) | {name: known[name]() for name in more}

    return made


def halved(made):
    """Return a function that makes the inputs of `made`, in bfloat16 except `g`."""
    return lambda *size: {name: each if name == "g" else each.bfloat16() for name, each in made(*size).items()}


def recurrence(q, k, v, decay=None, beta=None, bonus=None, *, delta=False):
    """Return a linear recurrence's outputs; its state is [key width, value width], `decay` a logarithm per step."""
    batch, steps, heads, keys = q.shape
    state, outputs = torch.zeros(batch, heads, keys, v.shape[-1], dtype=q.dtype), []
    for t in range(steps):
        added = v[:, t]
        if decay is not None and bonus is None:
            state = state * decay[:, t].exp()[..., None]
        if delta:
            added = added - torch.einsum("bhk,bhkv->bhv", k[:, t], state)
        if beta is not None:
            added = added * beta[:, t, :, None]
        term = torch.einsum("bhk,bhv->bhkv", k[:, t], added)
        read = state + term if bonus is None else state + bonus[..., None] * term
        outputs.append(torch.einsum("bhk,bhkv->bhv", q[:, t], read) * keys**-0.5)
        state = state + term if bonus is None else state * decay[:, t].exp()[..., None] + term
    return torch.stack(outputs, 1)


def of_heads(logarithms, q):
    """Return the logarithm of each head's decay, repeated for all steps."""
    return logarithms.to(q.dtype)[None, None, :, None].expand(*q.shape[:3], 1)


def retained(q, k, v):
    heads = torch.arange(q.shape[2], dtype=torch.float64)
    return recurrence(q, k, v, of_heads(torch.log1p(-(2.0 ** (-5 - heads))), q))


def lightning(q, k, v):
    heads = q.shape[2]
    return recurrence(q, k, v, of_heads(-8 / heads * (1 - 1 / 4) * torch.arange(heads, dtype=torch.float64), q))


def causal(q, k, v):
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def gated(batch, steps, width):
    return {"x": normal(batch, steps, width), "g": functional.logsigmoid(normal(batch, steps, width))}


def hgrn(x, g):
    state, outputs = torch.zeros_like(x[:, 0]), []
    for t in range(x.shape[1]):
        state = state * g[:, t].exp() + x[:, t]
        outputs.append(state)
    return torch.stack(outputs, 1)


def first(function, **more):
    """Return a function that returns only the first result of `function`, without the final state."""
    return lambda *arguments: function(*arguments, **more)[0]


def each(name, chunk, recurrent, made, reference, **more):
    """Return the table rows of an operator's chunked and recurrent forms."""
    return (
        Operator(f"chunk-{name}", made, first(chunk, **more), reference, CHUNKS, TF32),
        Operator(f"fused-recurrent-{name}", made, first(recurrent, **more), reference, STEPS),
    )


OPERATORS = (
    *each("linear-attn", chunk_linear_attn, fused_recurrent_linear_attn, inputs(), recurrence, normalize=False),
    *each("simple-gla", chunk_simple_gla, fused_recurrent_simple_gla, inputs("g"),
          lambda q, k, v, g: recurrence(q, k, v, g[..., None])),
    *each("gla", chunk_gla, fused_recurrent_gla, inputs("gk"), recurrence),
    Operator("chunk-delta-rule", halved(inputs("beta")), first(chunk_delta_rule),
             lambda q, k, v, beta: recurrence(q, k, v, None, beta, delta=True), CHUNKS, TF32),
    Operator("fused-recurrent-delta-rule", inputs("beta"), first(fused_recurrent_delta_rule),
             lambda q, k, v, beta: recurrence(q, k, v, None, beta, delta=True), STEPS),
    Operator("chunk-gated-delta-rule", halved(inputs("g", "beta")), first(chunk_gated_delta_rule),
             lambda q, k, v, g, beta: recurrence(q, k, v, g[..., None], beta, delta=True), CHUNKS, TF32),
    Operator("fused-recurrent-gated-delta-rule", inputs("g", "beta"),
             lambda q, k, v, g, beta: fused_recurrent_gated_delta_rule(q, k, v, g, beta=beta)[0],
             lambda q, k, v, g, beta: recurrence(q, k, v, g[..., None], beta, delta=True), STEPS),
    Operator("fused-recurrent-kda", inputs("gk", "beta"), first(fused_recurrent_kda),
             lambda q, k, v, gk, beta: recurrence(q, k, v, gk, beta, delta=True), STEPS),
    Operator("fused-recurrent-rwkv6", inputs("gk", "u"), first(fused_recurrent_rwkv6),
             lambda q, k, v, gk, u: recurrence(q, k, v, gk, None, u), STEPS),
    Operator("chunk-retention", inputs(), first(chunk_retention), retained, CHUNKS, TF32),
    Operator("chunk-lightning-attn", inputs(), first(chunk_lightning_attn, layer_idx=1, num_layers=4), lightning,
             CHUNKS, TF32),
    Operator("parallel-attn", inputs(), parallel_attn, causal, CHUNKS, TF32),
    Operator("chunk-hgrn", gated, first(chunk_hgrn), hgrn, ((1, 64, 64), (2, 40, 100), (1, 5, 7))),
    Operator("fused-recurrent-hgrn", gated, first(fused_recurrent_hgrn), hgrn, ((1, 16, 64), (2, 9, 100), (1, 5, 7))),
)  # fmt: skip
