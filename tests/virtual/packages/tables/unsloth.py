"""Kernels of Unsloth, whose package is not executed: it patches transformers, and needs a dozen further packages."""
# ruff: noqa: E402 - modules are replaced before imports

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

os.environ.setdefault("UNSLOTH_IS_PRESENT", "1")  # unsloth_zoo refuses its import otherwise
os.environ.setdefault("UNSLOTH_COMPILE_LOCATION", tempfile.mkdtemp())  # by default a folder in the current one
for _name in ("unsloth", "unsloth.kernels"):
    _spec, _module = find_spec(_name), ModuleType(_name)
    _module.__path__ = list(_spec.submodule_search_locations)
    _module.__spec__ = _spec
    sys.modules[_name] = _module

import torch
from tests.virtual.packages.operators import Operator, cases
from torch.nn import functional
from unsloth.kernels.cross_entropy_loss import Fast_CrossEntropyLoss
from unsloth.kernels.geglu import (
    geglu_approx_backward_kernel,
    geglu_approx_forward_kernel,
    geglu_exact_backward_kernel,
    geglu_exact_forward_kernel,
)
from unsloth.kernels.layernorm import fast_layernorm
from unsloth.kernels.rms_layernorm import fast_rms_layernorm
from unsloth.kernels.rope_embedding import fast_rope_embedding
from unsloth.kernels.swiglu import swiglu_DWf_DW_dfg_kernel, swiglu_fg_kernel

ROWS = ((4, 256), (3, 1000), (2, 7))
EPSILON = 1e-6


def normals(names, *shape):
    return {name: torch.randn(shape) for name in names.split()}


def stacked(names, rows, columns):
    return normals(names, 1, rows, columns)


def weighted(names, rows, columns):
    return normals("x", 1, rows, columns) | normals(names, columns)


def rms_norm(x, w):
    return fast_rms_layernorm(SimpleNamespace(weight=w, variance_epsilon=EPSILON), x)


def layer_norm(x, w, b):
    return fast_layernorm(SimpleNamespace(weight=w, bias=b, variance_epsilon=EPSILON, elementwise_affine=True,
                                          eps=EPSILON, normalized_shape=w.shape), x)  # fmt: skip


def gated(activation, dw, e, g):
    """Return a gated value, and the gradients of the value and of its gate."""
    e, g = e.detach().requires_grad_(), g.detach().requires_grad_()
    h = activation(e) * g
    de, _ = torch.autograd.grad(h, (e, g), dw)
    return h.detach(), dw * activation(e.detach()), de


def gates(name, forward, backward, activation, tolerance=1e-5):
    """Return rows for a gated activation, and for its backward kernel, which overwrites its inputs."""

    def pulled(dw, e, g):
        h, dg, de = backward(*(each.reshape(-1, each.shape[-1]) for each in (dw, e, g)))
        return tuple(each.reshape(dw.shape) for each in (h, dg, de))

    return (
        Operator(name, partial(stacked, "e g"), forward, lambda e, g: activation(e) * g, ROWS, tolerance),
        Operator(f"{name}-backward", partial(stacked, "dw e g"), pulled, partial(gated, activation), ROWS, tolerance),
    )


def labelled(rows, columns):
    return {"x": torch.randn(rows, columns), "target": torch.randint(0, columns, (rows,))}


def turned(batch, heads, steps, width):
    angles = torch.outer(torch.arange(steps, dtype=torch.float32), 10 ** -torch.linspace(0, 2, width // 2))
    both = torch.cat([angles, angles], -1)
    return normals("q k", batch, heads, steps, width) | {"c": both.cos(), "s": both.sin()}


def rotated(q, k, c, s):
    half = q.shape[-1] // 2
    return tuple(x * c + torch.cat([-x[..., half:], x[..., :half]], -1) * s for x in (q, k))


OPERATORS = (
    Operator("rms-norm", partial(weighted, "w"), rms_norm,
             lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON) * w, ROWS, gradients="x"),
    Operator("layer-norm", partial(weighted, "w b"), layer_norm,
             lambda x, w, b: functional.layer_norm(x, w.shape, w, b, EPSILON), ROWS, gradients="x"),
    Operator("cross-entropy", labelled, lambda x, target: Fast_CrossEntropyLoss.apply(x, target, 0, 0),
             lambda x, target: functional.cross_entropy(x, target, reduction="none"), ROWS, gradients="x"),
    Operator("rope", turned, lambda q, k, c, s: tuple(fast_rope_embedding(q, k, c, s)), rotated,
             ((2, 4, 8, 64), (1, 2, 5, 48), (1, 3, 3, 6)), gradients="q k"),
    *gates("swiglu", swiglu_fg_kernel, swiglu_DWf_DW_dfg_kernel, functional.silu),
    *gates("geglu", geglu_exact_forward_kernel, geglu_exact_backward_kernel, functional.gelu),
    *gates("geglu-tanh", geglu_approx_forward_kernel, geglu_approx_backward_kernel,
           partial(functional.gelu, approximate="tanh"), 1e-4),
)  # fmt: skip


@cases(OPERATORS)
def test_operator(operator, size):
    operator.check(size)
