"""Advice for messages of ptxas about acme_1."""

from __future__ import annotations

from pyptx_ir.plugins.advice import Advice

ADVICE = (
    Advice(
        r"acme\.frob is deprecated and blends nothing",
        "the words go round and come back as they were",
        "write acme.blend, and wait for it",
    ),
)
