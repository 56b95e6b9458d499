"""Operators of Cut Cross-Entropy: the loss of a linear classifier without its logits in memory."""
# ruff: noqa: E402 - a function of torch is replaced before imports

from __future__ import annotations

from functools import partial

import torch

_compile = torch.compile
torch.compile = lambda **_: lambda function: function  # the package compiles an argsort and a tanh

from cut_cross_entropy import linear_cross_entropy
from cut_cross_entropy.cce_lse_forward import cce_lse_forward_kernel
from cut_cross_entropy.indexed_dot import indexed_neg_dot_forward_kernel
from tests.virtual.packages.operators import Operator, cases
from torch.nn import functional

torch.compile = _compile

# Sizes: rows, width, classes. A block has 256 rows and 128 classes, 128 of each backward.
SIZES = ((64, 64, 256), (33, 40, 300), (5, 16, 17))
HALF = 5e-3  # error tolerance of FP16 results


def classified(rows, width, classes, *, ignored=0):
    """Return embeddings, a classifier, and targets, of which the first ones are ignored."""
    targets = torch.randint(0, classes, (rows,))
    targets[:ignored] = -100
    return {"e": torch.randn(rows, width).half(), "c": (torch.randn(classes, width) / width**0.5).half(),
            "targets": targets}  # fmt: skip


def loss(e, c, targets, *, softcap=None, **options):
    logits = e @ c.T
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    return functional.cross_entropy(logits, targets, **options)


def row(name, *, sizes=SIZES, ignored=0, filtered=None, softcap=None, reduction="mean"):
    call = partial(linear_cross_entropy, filter_eps=filtered, softcap=softcap, reduction=reduction)
    return Operator(name, partial(classified, ignored=ignored), call,
                    partial(loss, softcap=softcap, reduction=reduction), sizes, HALF, gradients="e c")  # fmt: skip


OPERATORS = (
    Operator("log-sum-exp", classified, lambda e, c, targets: cce_lse_forward_kernel(e, c),
             lambda e, c, targets: (e @ c.T).logsumexp(-1), SIZES, HALF),
    Operator("log-sum-exp-average", classified,
             lambda e, c, targets: cce_lse_forward_kernel(e, c, return_logit_avg=True),
             lambda e, c, targets: ((e @ c.T).logsumexp(-1), (e @ c.T).mean(0)), SIZES, HALF),
    Operator("indexed-dot", classified, indexed_neg_dot_forward_kernel,
             lambda e, c, targets: -(e * c[targets]).sum(-1), SIZES, HALF),
    row("loss"),
    row("loss-ignored", ignored=3),
    row("loss-filtered", filtered="high"),
    row("loss-softcap", softcap=2.0),
    row("loss-sum", reduction="sum"),
    row("loss-none", reduction="none"),
)  # fmt: skip


@cases(OPERATORS)
def test_operator(operator, size):
    operator.check(size)
