"""Exceptions of XLA handlers, and their return to the Python caller.

XLA passes only an error's text from its handlers to its callers. So the exceptions are stored here, by their texts,
until a call takes them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyptx_dsl.errors import point_at_call
from pyptx_ir.errors import PyptxError
from pyptx_jax.errors import ExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence


class Failures:
    """Latest exceptions of XLA handlers, by their texts."""

    def __init__(self, size: int) -> None:
        """Keep up to `size` exceptions."""
        self._size = size
        self._known: OrderedDict[str, Exception] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def kept(self) -> Generator[None]:
        """Store an exception of the body, and raise only its text.

        An exception's traceback keeps its frames alive, and these keep the memory of arrays, which XLA owns.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001  XLA reports any exception of a handler
            text = str(error)
            error.__cause__ = error.__context__ = None
            with self._lock:
                self._known[text] = error.with_traceback(None)
                while len(self._known) > self._size:
                    self._known.popitem(last=False)
            raise RuntimeError(text) from None

    def take(self, text: str) -> Exception | None:
        """Remove and return the exception of that text."""
        with self._lock:
            return self._known.pop(text, None)


FAILURES: Final = Failures(64)
"""Failures of this process; handlers run on any thread."""

_FAILED: Final = "INTERNAL: "  # XLA prefixes the text of an error with its code; our handlers use this one


def failure_of(error: Exception) -> Exception | None:
    """Return the exception of a handler, located at the user's line; None if no handler was called."""
    text = str(error)
    if not text.startswith(_FAILED):
        return None
    text = text.removeprefix(_FAILED)
    failure = FAILURES.take(text) or ExecutionError(text)
    if isinstance(failure, PyptxError):
        point_at_call(failure)
    return failure


def answer(function: Callable[..., object], arrays: Sequence[object]) -> object:
    """Call a compiled function, and re-raise a handler's error as the original exception."""
    try:
        return function(*arrays)
    except (RuntimeError, ValueError) as error:
        failure = failure_of(error)
        if failure is None:
            raise
    raise failure
