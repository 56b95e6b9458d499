"""Exceptions of XLA handlers, and their return to the Python caller.

XLA passes only an error's text from its handlers to its callers. So the exceptions are stored here, by text, until the
failed call re-raises them.
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
        """Store an exception of the `with` body, and raise a new exception that has only its text.

        An exception's traceback keeps its frames alive, and the frames reference the memory of arrays, which XLA owns.
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
        """Remove and return the stored exception with this text; None if there is none."""
        with self._lock:
            return self._known.pop(text, None)


FAILURES: Final = Failures(64)
"""Exceptions of XLA handlers in this process; handlers run on any thread."""

_FAILED: Final = "INTERNAL: "  # error code that XLA puts before the error text of pyptx's FFI handlers


def failure_of(error: Exception) -> Exception | None:
    """Return the handler exception that caused a jax error, at the user's line; None if no handler raised."""
    text = str(error)
    if not text.startswith(_FAILED):
        return None
    text = text.removeprefix(_FAILED)
    failure = FAILURES.take(text) or ExecutionError(text)
    if isinstance(failure, PyptxError):
        point_at_call(failure)
    return failure


def answer(function: Callable[..., object], arrays: Sequence[object]) -> object:
    """Call a jax-compiled function; re-raise a handler's failure as the original exception."""
    try:
        return function(*arrays)
    except (RuntimeError, ValueError) as error:
        failure = failure_of(error)
        if failure is None:
            raise
    raise failure
