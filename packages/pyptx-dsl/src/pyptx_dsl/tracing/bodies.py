"""Signatures of user functions that a trace calls once: bodies of loops and of device functions."""

from __future__ import annotations

from inspect import CO_VARARGS
from types import CodeType

__all__ = ["required_arguments", "requires_arguments", "requires_keywords", "takes_any"]


def requires_arguments(function: object) -> bool:
    """Return whether a Python function has arguments without a default; False for other objects."""
    return required_arguments(function) > 0 or requires_keywords(function)


def required_arguments(function: object) -> int:
    """Return the number of positional arguments without a default of a Python function."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return 0
    bound = getattr(function, "__self__", None) is not None
    return max(0, code.co_argcount - len(getattr(function, "__defaults__", None) or ()) - bound)


def takes_any(function: object) -> bool:
    """Return whether a Python function takes any number of arguments, `*arguments`."""
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and bool(code.co_flags & CO_VARARGS)


def requires_keywords(function: object) -> bool:
    """Return whether a Python function has keyword-only arguments without a default."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return False
    return code.co_kwonlyargcount > len(getattr(function, "__kwdefaults__", None) or ())
