"""Tracebacks without this project's frames: only the user's frames remain, from the call to the faulty line.

`PYPTX_TRACEBACK=full` in the environment keeps all frames. An exception that is not a `PyptxError` but is raised in
this project's code is a defect of the project and keeps all its frames. Frames of the user and of other libraries
always stay.
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

__all__ = ["SWITCH", "entry", "shorten", "shows_all"]

P = ParamSpec("P")
R = TypeVar("R")
SWITCH = "PYPTX_TRACEBACK"


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a public function so that errors leaving it have only the user's frames."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return wrapper


def shows_all() -> bool:
    """Return whether the environment keeps all frames of tracebacks."""
    return os.environ.get(SWITCH, "") == "full"


def shorten(error: BaseException) -> None:
    """Remove this project's frames from the tracebacks of an error, its causes and its contexts.

    Call it where the error is caught, before a bare `raise`, which adds no frame.
    """
    if shows_all():
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
    """Yield an error and its displayed causes and contexts, each once."""
    seen = set[int]()
    here: BaseException | None = error
    while here is not None and id(here) not in seen:
        seen.add(id(here))
        yield here
        here = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
