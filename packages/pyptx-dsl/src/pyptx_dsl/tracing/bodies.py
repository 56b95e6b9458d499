"""Functions that users hand in to be run once while they are traced: the body of a loop, of a device function."""

from __future__ import annotations

from types import CodeType

__all__ = ["requires_arguments"]


def requires_arguments(function: object) -> bool:
    """Tell whether a Python function has arguments without a default; of what is none, nothing is known."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return False
    positional = code.co_argcount - len(getattr(function, "__defaults__", None) or ())
    if getattr(function, "__self__", None) is not None:
        positional -= 1
    return positional > 0 or code.co_kwonlyargcount > len(getattr(function, "__kwdefaults__", None) or ())
