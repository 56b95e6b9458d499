"""Named groups of instructions: `@intrinsic` adds comments around the instructions that a function emits."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from pyptx_dsl.trace_context import current

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")
_LONGEST = 40


def intrinsic(fn: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that its instructions are between `// BEGIN name(args)` and `// END name`.

    No instruction is added. Outside a trace the function runs unchanged.
    """

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        trace = current()
        if trace is None:
            return fn(*args, **kwargs)
        trace.comment(f"BEGIN {fn.__name__}({_listed(args, kwargs)})")
        result = fn(*args, **kwargs)
        trace.comment(f"END {fn.__name__}")
        return result

    return wrapper


def _listed(args: tuple[object, ...], kwargs: dict[str, object]) -> str:
    return ", ".join([*map(_short, args), *(f"{name}={_short(value)}" for name, value in kwargs.items())])


def _short(value: object) -> str:
    """Return an argument's name, or a short one-line repr without addresses, which would differ between runs."""
    name = getattr(value, "raw_name", None) or getattr(value, "name", None)
    if isinstance(name, str):
        return name
    text = " ".join(repr(value).split())
    if " at 0x" in text:
        return type(value).__name__
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
