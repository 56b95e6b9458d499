"""Keyword arguments of a kernel call: constants of the custom call, because the kernel is traced for their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import KeywordError
from pyptx_jax.framework import is_array, is_traced

if TYPE_CHECKING:
    from collections.abc import Mapping


def constants(kernel: str, keywords: Mapping[str, object]) -> dict[str, object]:
    """Return keywords with concrete jax scalars as Python numbers; raise KeywordError for a traced scalar."""
    return {name: _constant(kernel, name, value) for name, value in keywords.items()}


def _constant(kernel: str, name: str, value: object) -> object:
    if is_traced(value):
        raise KeywordError(
            f"{kernel}: {name} is a traced value, but sizes and template values must be constants",
            help="pass a Python number; in jax.jit, put its argument into static_argnames",
        )
    return value.item() if is_array(value) and value.shape == () else value
