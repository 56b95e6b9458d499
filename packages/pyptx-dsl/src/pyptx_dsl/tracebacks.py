"""Tracebacks without this project's frames: what is left is the user's code, from the call to the line at fault.

`PYPTX_TRACEBACK=full` in the environment keeps them. An error that is not one of ours, raised by our code, is a defect
of ours and keeps all its frames; frames of the user, and of other libraries, stay in every case.
"""

from __future__ import annotations

import functools
import os
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from pyptx_ir.errors import PyptxError
from pyptx_ir.machinery import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["entry", "shorten"]

P = ParamSpec("P")
R = TypeVar("R")
_SWITCH = "PYPTX_TRACEBACK"


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap what users call: an error that leaves it has only the user's frames."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return wrapper


def shorten(error: BaseException) -> None:
    """Take this project's frames out of the tracebacks of an error and of those behind it.

    To be called where the error is caught, in front of a bare `raise`, which adds no frame of its own.
    """
    if os.environ.get(_SWITCH, "") == "full":
        return
    for each in _chain(error):
        steps = list(_steps(each.__traceback__))
        if steps and is_internal(steps[-1].tb_frame) and not isinstance(each, PyptxError):
            return
    for each in _chain(error):
        _cut(each)


def _cut(error: BaseException) -> None:
    kept: TracebackType | None = None
    for step in reversed(list(_steps(error.__traceback__))):
        if not is_internal(step.tb_frame):
            kept = TracebackType(kept, step.tb_frame, step.tb_lasti, step.tb_lineno)
    error.__traceback__ = kept


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    while step is not None:
        yield step
        step = step.tb_next


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that are shown with it, each once."""
    seen = set[int]()
    here: BaseException | None = error
    while here is not None and id(here) not in seen:
        seen.add(id(here))
        yield here
        here = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
