"""The errors for keywords that the decorator or a kernel has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import KeywordError, close
from pyptx_dsl.python_habits import KERNEL_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["refuse_unknown", "unknown_name"]

_DECORATORS = (
    *("arch", "version", "in_specs", "out_specs", "grid", "block", "cluster", "smem", "raw_params", "extern_smem"),
    *("reqntid", "raw_directives", "lineinfo", "tma_slots", "mutates", "launch"),
)
_OF_CALLS = {
    "grid": "the decorator says it: @kernel(grid=…), as numbers or a function of the dimensions",
    "block": "the decorator says it: @kernel(block=(128, 1, 1))",
    "stream": "launches go to the current stream of torch or jax",
    "check": 'k.simulate(…, checks="all") runs the checks, "none" leaves them out',
    "checks": 'a plain call takes no checks=: k.simulate(…, checks="all") runs them all',
    "seed": "a plain call takes no seed=: k.simulate(…, seed=1) chooses a schedule",
    "trace": 'a plain call takes no trace=: k.simulate(…, trace="run.json") writes a timeline',
    "output": "the arrays to write to are out=",
    "outputs": "the arrays to write to are out=",
    **{name: hint for name, hint in KERNEL_KEYWORDS.items() if name.startswith("num_")},
}
"""Keywords that calls of kernels are given, though others than a call take them."""


def refuse_unknown(keywords: Iterable[str]) -> None:
    """Raise KeywordError for the first keyword that `@kernel(…)` has not."""
    name = next(iter(keywords), None)
    if name is None:
        return
    raise KeywordError(f"@kernel has no keyword {name!r}", hint=KERNEL_KEYWORDS.get(name) or close(name, _DECORATORS))


def unknown_name(kernel: str, name: str, known: Sequence[str]) -> KeywordError:
    """Return the error of a keyword that a kernel's call has not; `known` are those that it has."""
    hint = _OF_CALLS.get(name) or (close(name, known) if known else "it has none at all")
    return KeywordError(f"{kernel} has no dimension, template or raw parameter {name!r}", hint=hint)
