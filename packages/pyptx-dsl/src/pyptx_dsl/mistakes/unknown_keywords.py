"""Errors for unknown keywords of the decorator or of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import KeywordError, close

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["refuse_unknown", "unknown_name"]

_DECORATORS = (
    *("arch", "version", "in_specs", "out_specs", "grid", "block", "cluster", "smem", "raw_params", "extern_smem"),
    *("reqntid", "raw_directives", "lineinfo", "tma_slots", "mutates", "launch", "persistent"),
)


def refuse_unknown(keywords: Iterable[str]) -> None:
    """Raise KeywordError for the first unknown keyword of `@kernel(…)`."""
    name = next(iter(keywords), None)
    if name is None:
        return
    from pyptx_dsl.python_habits import KERNEL_KEYWORDS

    raise KeywordError(f"@kernel has no keyword {name!r}", help=KERNEL_KEYWORDS.get(name) or close(name, _DECORATORS))


def unknown_name(kernel: str, name: str, known: Sequence[str]) -> KeywordError:
    """Return the error for an unknown keyword of a kernel's call; `known` are the valid keywords."""
    from pyptx_dsl.python_habits import CALL_KEYWORDS

    help = CALL_KEYWORDS.get(name) or close(name, known, ("seed", "checks", "trace", "delay_async", "out"))
    return KeywordError(f"{kernel} has no dimension, template or raw parameter {name!r}", help=help)
