"""Functions that users hand in to be run once while they are traced: the body of a loop, of a device function."""

from __future__ import annotations

from inspect import CO_VARARGS
from types import CodeType

__all__ = ["required_arguments", "requires_arguments", "requires_keywords", "takes_any"]


def requires_arguments(function: object) -> bool:
    """Tell whether a Python function has arguments without a default; of what is none, nothing is known."""
    return required_arguments(function) > 0 or requires_keywords(function)


def required_arguments(function: object) -> int:
    """Return how many positional arguments without a default a Python function has."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return 0
    bound = getattr(function, "__self__", None) is not None
    return max(0, code.co_argcount - len(getattr(function, "__defaults__", None) or ()) - bound)


def takes_any(function: object) -> bool:
    """Tell whether a Python function takes any number of arguments, `*arguments`."""
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and bool(code.co_flags & CO_VARARGS)


def requires_keywords(function: object) -> bool:
    """Tell whether a Python function has keywords without a default."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return False
    return code.co_kwonlyargcount > len(getattr(function, "__kwdefaults__", None) or ())
