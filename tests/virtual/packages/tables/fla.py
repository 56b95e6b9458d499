"""Operators of flash-linear-attention, forward and backward, each with the package's reference in torch."""

from __future__ import annotations

import math
import sys
from functools import partial

import torch
from fla.ops.abc import chunk_abc
from fla.ops.abc.naive import naive_recurrent_abc
from fla.ops.attn import naive_parallel_attn, parallel_attn
from fla.ops.attnres import fused_attnres
from fla.ops.attnres.naive import naive_attnres
from fla.ops.based import fused_chunk_based, parallel_based
from fla.ops.based.naive import naive_parallel_based
from fla.ops.comba import chunk_comba, fused_recurrent_comba
from fla.ops.comba.naive import naive_chunk_comba
from fla.ops.delta_rule import chunk_delta_rule, fused_recurrent_delta_rule
from fla.ops.delta_rule.naive import delta_rule_recurrence
from fla.ops.forgetting_attn import naive_forgetting_attn, parallel_forgetting_attn
from fla.ops.gated_delta_product import chunk_gated_delta_product
from fla.ops.gated_delta_product.naive import naive_recurrent_gated_delta_product
from fla.ops.gated_delta_rule import (
    chunk_gated_delta_rule,
    fused_recurrent_gated_delta_rule,
    naive_recurrent_gated_delta_rule,
)
from fla.ops.gdn2 import chunk_gdn2, fused_recurrent_gdn2
from fla.ops.gdn2.naive import naive_recurrent_gdn2
from fla.ops.generalized_delta_rule import (
    chunk_dplr_delta_rule,
    chunk_iplr_delta_rule,
    fused_recurrent_dplr_delta_rule,
    fused_recurrent_iplr_delta_rule,
)
from fla.ops.generalized_delta_rule.dplr.naive import dplr_recurrence
from fla.ops.generalized_delta_rule.iplr.naive import iplr_recurrence
from fla.ops.gla import chunk_gla, fused_recurrent_gla
from fla.ops.gla.naive import naive_recurrent_gla
from fla.ops.gsa import chunk_gsa, fused_recurrent_gsa
from fla.ops.gsa.naive import naive_recurrent_gsa
from fla.ops.hgrn import chunk_hgrn, fused_recurrent_hgrn
from fla.ops.hgrn.naive import naive_recurrent_hgrn
from fla.ops.kda import chunk_kda, fused_recurrent_kda
from fla.ops.kda.naive import naive_recurrent_kda
from fla.ops.lightning_attn import chunk_lightning_attn, fused_recurrent_lightning_attn
from fla.ops.linear_attn import chunk_linear_attn, fused_chunk_linear_attn, fused_recurrent_linear_attn
from fla.ops.linear_attn.naive import naive_recurrent_linear_attn
from fla.ops.log_linear_attn import chunk_log_linear_attn
from fla.ops.log_linear_attn.naive import naive_log_linear_attn
from fla.ops.mesa_net import chunk_mesa_net
from fla.ops.mesa_net.naive import naive_mesa_net_exact
from fla.ops.nsa import parallel_nsa
from fla.ops.nsa.naive import naive_nsa_selection
from fla.ops.path_attn import naive_path_attn, parallel_path_attn
from fla.ops.rebased import parallel_rebased
from fla.ops.rebased.naive import naive_parallel_rebased
from fla.ops.retention import chunk_retention, fused_chunk_retention, fused_recurrent_retention, parallel_retention
from fla.ops.retention.naive import naive_retention
from fla.ops.rwkv6 import chunk_rwkv6, fused_recurrent_rwkv6
from fla.ops.rwkv6.recurrent_naive import naive_recurrent_rwkv6
from fla.ops.rwkv7 import chunk_rwkv7, fused_mul_recurrent_rwkv7, fused_recurrent_rwkv7
from fla.ops.simple_gla import (
    chunk_simple_gla,
    fused_chunk_simple_gla,
    fused_recurrent_simple_gla,
    parallel_simple_gla,
)
from fla.ops.simple_gla.naive import naive_recurrent_simple_gla
from fla.ops.stickbreaking_attn import parallel_stickbreaking_attn
from fla.ops.stickbreaking_attn.naive import naive_stickbreaking_attn
from fla.ops.ttt import chunk_ttt_linear, fused_chunk_ttt_linear
from fla.ops.ttt.naive import chunk_ttt_linear_ref
from fla.ops.utils.sinkhorn import sinkhorn
from fla.ops.utils.sinkhorn.naive import naive_sinkhorn
from fla.ops.wall_attn import parallel_wall_attn
from tests.virtual.packages.operators import Operator, cases
from torch.nn import functional
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction, KernelInterface

# Sizes: batch, steps, heads, key width, value width. A chunk has 64 steps; the last size is odd and below a chunk.
CHUNKS = ((1, 80, 1, 32, 32), (1, 64, 2, 16, 48), (1, 17, 1, 15, 15))
SMALL = ((1, 70, 1, 16, 16), (1, 33, 2, 16, 32), (1, 17, 1, 15, 15))  # for operators with many instructions
STEPS = ((1, 8, 2, 32, 32), (1, 9, 1, 48, 20), (1, 5, 1, 7, 7))
SQUARE = ((1, 80, 1, 32, 32), (1, 64, 2, 16, 16), (1, 17, 1, 15, 15))  # key and value widths are equal
FIELDS = ((1, 64, 64), (2, 40, 100), (1, 5, 7))  # batch, steps, width
FLOAT = 1e-4  # error tolerance of kernels that process steps in float32
TF32 = 2e-2  # of kernels that process chunks with TF32 MMAs
BF16 = 4e-2  # of kernels with bfloat16 inputs


def choose_configurations():
    """Leave each autotuner its configuration with the smallest blocks and, of these, with about 4 warps.

    Compiling all configurations, up to 48 per kernel and size, takes minutes.
    """
    for module in [each for name, each in sys.modules.items() if name.startswith("fla.")]:
        for known in vars(module).values():
            kernel = known
            while isinstance(kernel, KernelInterface) and not isinstance(kernel, JITFunction):
                if isinstance(kernel, Autotuner):
                    kernel.configs = [min(kernel.configs, key=lambda each: (extent(each), abs(each.num_warps - 4)))]
                kernel = kernel.fn


def extent(configuration):
    return math.prod(each for each in configuration.kwargs.values() if isinstance(each, int) and each > 0)


def normal(*shape):
    return torch.randn(shape)


def unit(*shape):
    return functional.normalize(normal(*shape), dim=-1)


def attended(batch, steps, heads, keys, values):
    """Return queries, keys of length 1, and values."""
    return {
        "q": normal(batch, steps, heads, keys), "k": unit(batch, steps, heads, keys),
        "v": normal(batch, steps, heads, values),
    }  # fmt: skip


def inputs(more=""):
    """Return a function that makes queries, keys, values, and the inputs named in `more`."""

    def made(batch, steps, heads, keys, values):
        of_steps, of_keys, of_values = (
            (batch, steps, heads), (batch, steps, heads, keys), (batch, steps, heads, values),
        )  # fmt: skip
        known = {
            "g": lambda: functional.logsigmoid(normal(*of_steps)),
            "gk": lambda: functional.logsigmoid(normal(*of_keys)),
            "beta": lambda: normal(*of_steps).sigmoid(),
            "betak": lambda: normal(*of_keys).sigmoid(),
            "betav": lambda: normal(*of_values).sigmoid(),
            "u": lambda: normal(heads, keys),
            "a": lambda: -unit(*of_keys) / 2,
            "b": lambda: unit(*of_keys),
            "p": lambda: unit(*of_keys),
            "s": lambda: normal(batch, steps, heads, 16),
            "gs": lambda: functional.logsigmoid(normal(batch, steps, heads, 16)),
            "w": lambda: unit(*of_keys),
            "lamb": lambda: functional.softplus(normal(heads, keys)) + 0.25,
            "levels": lambda: normal(*of_steps, (steps - 1).bit_length() + 1).sigmoid(),
            "weight": lambda: 1 + normal(heads, values) / 4,
            "bias": lambda: normal(heads, values) / 4,
            "eta": lambda: normal(*of_steps, 1).sigmoid() / 4,
        }  # fmt: skip
        return attended(batch, steps, heads, keys, values) | {name: known[name]() for name in more.split()}

    return made


def halved(made):
    """Return a function that makes the inputs of `made`, in bfloat16 except `g`."""
    return lambda *size: {name: each if name == "g" else each.bfloat16() for name, each in made(*size).items()}


def first(function, **more):
    """Return a function that returns only the first result of `function`, without the final state."""
    return lambda *arguments: function(*arguments, **more)[0]


def heads_first(function):
    """Return `function`, which has heads before steps, with steps before heads; [heads, keys] remains."""

    def turned(*arguments):
        results = function(*(each if each.dim() == 2 else each.transpose(1, 2) for each in arguments))
        return (results[0] if isinstance(results, tuple) else results).transpose(1, 2)

    return turned


def doubled(batch, steps, heads, keys, values):
    """Return the inputs of an operator that applies two delta rules per step."""
    twice = halved(inputs("beta"))(batch, 2 * steps, heads, keys, values)
    return {
        "q": twice["q"][:, :steps], "k": twice["k"], "v": twice["v"],
        "g": functional.logsigmoid(normal(batch, steps, heads)), "beta": twice["beta"],
    }  # fmt: skip


def lightning(q, k, v):
    """Return linear attention with the decays of the second of four layers."""
    heads = q.shape[2]
    decays = -8 / heads * (1 - 1 / 4) * torch.arange(heads, dtype=q.dtype)
    return naive_recurrent_simple_gla(q, k, v, decays.expand(q.shape[:3]))[0]


def rwkv7(r, w, k, v, a, b):
    """Return outputs that are not scaled."""
    return heads_first(dplr_recurrence)(r * r.shape[-1] ** 0.5, k, v, a, b, w)


def reordered(names):
    """Return a function that makes the inputs of the generalized delta rule in the order of `names`."""

    def made(*size):
        known = inputs("a b gk beta betak")(*size)
        return {name: known[name] for name in names.split()}

    return made


def wall(q, k, v, g):
    """Return softmax attention with a decay per channel."""
    decays, steps = g.cumsum(1), q.shape[1]
    causal = torch.ones(steps, steps, dtype=torch.bool).tril()
    weights = decays[:, :, None] - decays[:, None]
    weights = weights.masked_fill(~causal[None, :, :, None, None], -torch.inf).exp()
    scores = torch.einsum("bqhk,bshk,bqshk->bhqs", q, k, weights) * q.shape[-1] ** -0.5
    return torch.einsum("bhqs,bshv->bqhv", scores.masked_fill(~causal, -torch.inf).softmax(-1), v)


def selected(batch, steps, heads, keys, values, block, count):
    """Return 16 query heads per key head and, for each step, `count` different blocks of keys, the current first."""
    known = attended(batch, steps, heads, keys, values)
    blocks = torch.arange(steps) // block
    chosen = [[last, *torch.randperm(int(last)).tolist(), *[-1] * count][:count] for last in blocks]
    indices = torch.tensor(chosen)[None, :, None].repeat(batch, 1, heads, 1)
    return {
        "q": normal(batch, steps, 16 * heads, keys), "k": known["k"], "v": known["v"], "indices": indices,
        "block": torch.tensor(block),
    }  # fmt: skip


def fields(batch, steps, width):
    return {"x": normal(batch, steps, width), "g": functional.logsigmoid(normal(batch, steps, width))}


def residuals(rows, width):
    return {"q": normal(width)} | {name: normal(rows, width) for name in "abc"} | {"w": normal(width)}


def rows(name, chunk, recurrent, made, reference, gradients, **more):
    """Return the table rows of an operator's chunked and recurrent forms."""
    return (
        Operator(f"chunk-{name}", made, first(chunk, **more), reference, CHUNKS, TF32, gradients),
        Operator(f"fused-recurrent-{name}", made, first(recurrent, **more), reference, STEPS, FLOAT, gradients),
    )


GATED = inputs("g beta")
PRODUCT = 2  # delta rules per step

OPERATORS = (
    *rows("gla", chunk_gla, fused_recurrent_gla, inputs("gk"), first(naive_recurrent_gla), "q k v gk"),
    *rows("simple-gla", chunk_simple_gla, fused_recurrent_simple_gla, inputs("g"), first(naive_recurrent_simple_gla),
          "q k v g"),
    Operator("fused-chunk-simple-gla", inputs("g"), first(fused_chunk_simple_gla), first(naive_recurrent_simple_gla),
             CHUNKS, TF32, "q k v g"),
    Operator("parallel-simple-gla", inputs("g"), first(parallel_simple_gla), first(naive_recurrent_simple_gla),
             CHUNKS, TF32, "q k v g"),
    *rows("linear-attn", chunk_linear_attn, fused_recurrent_linear_attn, inputs(), first(naive_recurrent_linear_attn),
          "q k v", normalize=False),
    Operator("fused-chunk-linear-attn", inputs(), first(fused_chunk_linear_attn, normalize=False),
             first(naive_recurrent_linear_attn), CHUNKS, TF32, "q k v"),
    *rows("retention", chunk_retention, fused_recurrent_retention, inputs(), heads_first(naive_retention), "q k v"),
    Operator("fused-chunk-retention", inputs(), first(fused_chunk_retention), heads_first(naive_retention), CHUNKS,
             TF32, "q k v"),
    Operator("parallel-retention", inputs(), first(parallel_retention), heads_first(naive_retention), CHUNKS, TF32,
             "q k v"),
    Operator("chunk-delta-rule", halved(inputs("beta")), first(chunk_delta_rule), heads_first(delta_rule_recurrence),
             CHUNKS, BF16, "q k v beta"),
    Operator("fused-recurrent-delta-rule", inputs("beta"), first(fused_recurrent_delta_rule),
             heads_first(delta_rule_recurrence), STEPS, FLOAT, "q k v beta"),
    Operator("chunk-gated-delta-rule", halved(GATED), first(chunk_gated_delta_rule),
             lambda q, k, v, g, beta: naive_recurrent_gated_delta_rule(q, k, v, beta, g)[0], CHUNKS, BF16,
             "q k v g beta"),
    Operator("fused-recurrent-gated-delta-rule", GATED,
             lambda q, k, v, g, beta: fused_recurrent_gated_delta_rule(q, k, v, g, beta=beta)[0],
             lambda q, k, v, g, beta: naive_recurrent_gated_delta_rule(q, k, v, beta, g)[0], STEPS, FLOAT),
    Operator("chunk-gated-delta-product", doubled, first(chunk_gated_delta_product, num_householder=PRODUCT),
             lambda q, k, v, g, beta: naive_recurrent_gated_delta_product(
                 q, k, v, g, beta, q.shape[-1] ** -0.5, num_householder=PRODUCT)[0],
             CHUNKS, BF16, "q k v g beta"),
    Operator("chunk-kda", inputs("gk beta"), first(chunk_kda), first(naive_recurrent_kda), SMALL, TF32,
             "q k v gk beta"),
    Operator("fused-recurrent-kda", inputs("gk beta"), first(fused_recurrent_kda), first(naive_recurrent_kda), STEPS,
             FLOAT),
    Operator("chunk-comba", halved(inputs("p g beta")), first(chunk_comba), first(naive_chunk_comba), CHUNKS,
             BF16, "q k v p g beta"),
    Operator("fused-recurrent-comba", inputs("p g beta"),
             lambda q, k, v, p, g, beta: fused_recurrent_comba(q, k, p, v, g, beta)[0],
             first(naive_chunk_comba), STEPS, FLOAT),
    Operator("chunk-hgrn", fields, first(chunk_hgrn), first(naive_recurrent_hgrn), FIELDS, FLOAT, "x g"),
    Operator("fused-recurrent-hgrn", fields, first(fused_recurrent_hgrn), first(naive_recurrent_hgrn), FIELDS, FLOAT,
             "x g"),
    *rows("gsa", chunk_gsa, fused_recurrent_gsa, inputs("s gs"), first(naive_recurrent_gsa), "q k v s gs"),
    Operator("chunk-abc", inputs("s"), first(chunk_abc), heads_first(naive_recurrent_abc), SMALL, TF32, "q k v s"),
    Operator("parallel-based", inputs(), parallel_based, heads_first(naive_parallel_based), SMALL, FLOAT, "q k v"),
    Operator("fused-chunk-based", inputs(), fused_chunk_based, heads_first(naive_parallel_based),
             ((1, 33, 1, 8, 16), (1, 16, 2, 8, 32), (1, 17, 1, 15, 15)), FLOAT, "q k v"),
    Operator("parallel-rebased", inputs(), partial(parallel_rebased, eps=1e-6), heads_first(naive_parallel_rebased),
             SMALL, FLOAT, "q k v"),
    *rows("rwkv6", chunk_rwkv6, fused_recurrent_rwkv6, inputs("gk u"), heads_first(naive_recurrent_rwkv6),
          "q k v gk u"),
    Operator("chunk-dplr-delta-rule", inputs("a b gk"), first(chunk_dplr_delta_rule), heads_first(dplr_recurrence),
             CHUNKS, TF32, "q k v a b gk", double=False),
    Operator("fused-recurrent-dplr-delta-rule", inputs("a b gk"), first(fused_recurrent_dplr_delta_rule),
             heads_first(dplr_recurrence), STEPS, FLOAT, double=False),
    Operator("chunk-iplr-delta-rule", inputs("a b"), first(chunk_iplr_delta_rule), heads_first(iplr_recurrence),
             CHUNKS, TF32, double=False),
    Operator("fused-recurrent-iplr-delta-rule", inputs("a b"), first(fused_recurrent_iplr_delta_rule),
             heads_first(iplr_recurrence), STEPS, FLOAT, "q k v a b", double=False),
    Operator("chunk-rwkv7", reordered("q gk k v a b"), first(chunk_rwkv7), rwkv7, CHUNKS, TF32, "q gk k v a b",
             double=False),
    Operator("fused-recurrent-rwkv7", reordered("q gk k v a b"), first(fused_recurrent_rwkv7, scale=1.0), rwkv7,
             STEPS, FLOAT, double=False),
    Operator("fused-mul-recurrent-rwkv7", reordered("q gk k v b betak"), first(fused_mul_recurrent_rwkv7),
             lambda r, w, k, v, b, a: rwkv7(r, w, k, v, -b, b * a), STEPS, FLOAT, double=False),
    Operator("parallel-forgetting-attn", inputs("g"), parallel_forgetting_attn, naive_forgetting_attn, CHUNKS, TF32,
             "q k v g"),
    Operator("parallel-path-attn", inputs("w beta g"), first(parallel_path_attn),
             lambda q, k, v, w, beta, g: naive_path_attn(q, k, v, w, beta, g, q.shape[-1] ** -0.5),
             ((1, 66, 1, 16, 16), (1, 40, 1, 32, 32), (1, 17, 1, 16, 16)), TF32,
             "q k v w beta g"),
    Operator("parallel-nsa", selected,
             lambda q, k, v, indices, block: parallel_nsa(
                 q, k, v, block_indices=indices, block_counts=indices.shape[-1], block_size=int(block)),
             lambda q, k, v, indices, block: naive_nsa_selection(q, k, v, indices, int(block)),
             ((1, 48, 1, 32, 32, 16, 2), (1, 32, 2, 16, 16, 16, 1), (1, 17, 1, 15, 15, 16, 2)), TF32, "q k v"),
    *rows("lightning-attn", chunk_lightning_attn, fused_recurrent_lightning_attn, inputs(), lightning, "q k v",
          layer_idx=1, num_layers=4),
    Operator("parallel-attn", inputs(), parallel_attn, first(naive_parallel_attn), CHUNKS, TF32, "q k v"),
    Operator("chunk-ttt-linear", inputs("weight bias eta"), first(chunk_ttt_linear), first(chunk_ttt_linear_ref),
             SQUARE, TF32, "q k v weight bias eta"),
    Operator("fused-chunk-ttt-linear", inputs("weight bias eta"), first(fused_chunk_ttt_linear),
             first(chunk_ttt_linear_ref), SQUARE, TF32, "q k v weight bias eta"),
    Operator("chunk-mesa-net", inputs("g beta lamb"), first(chunk_mesa_net),
             lambda q, k, v, g, beta, lamb: naive_mesa_net_exact(q, k, v, g, lamb, beta)[0], SQUARE, TF32,
             "q k v g beta lamb"),
    Operator("chunk-log-linear-attn", inputs("g levels"), first(chunk_log_linear_attn), naive_log_linear_attn,
             ((1, 80, 1, 64, 16), (1, 64, 2, 64, 32), (1, 17, 1, 64, 16)), TF32, "q k v g levels"),
    Operator("parallel-stickbreaking-attn", inputs(), parallel_stickbreaking_attn, naive_stickbreaking_attn, CHUNKS,
             TF32, "q k v"),
    Operator("parallel-wall-attn", inputs("gk"), parallel_wall_attn, wall, CHUNKS, TF32, "q k v gk"),
    Operator("fused-attnres", residuals, lambda q, a, b, c, w: fused_attnres(q, (a, b, c), w),
             lambda q, a, b, c, w: naive_attnres(q, (a, b, c), w), ((4, 64), (3, 100), (2, 15)), FLOAT, "q a b c w"),
    Operator("sinkhorn", lambda batch, width: {"x": normal(batch, width, width)}, sinkhorn, naive_sinkhorn,
             ((8, 4), (4, 8), (3, 3)), FLOAT, "x"),
    Operator("chunk-gdn2", inputs("gk betak betav"), first(chunk_gdn2), first(naive_recurrent_gdn2), CHUNKS, TF32,
             "q k v gk betak betav"),
    Operator("fused-recurrent-gdn2", inputs("gk betak betav"), first(fused_recurrent_gdn2),
             first(naive_recurrent_gdn2), STEPS, FLOAT),  # has no backward
)  # fmt: skip

choose_configurations()


@cases(OPERATORS)
def test_operator(operator, size):
    operator.check(size)
