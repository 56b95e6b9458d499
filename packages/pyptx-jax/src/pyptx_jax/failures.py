"""What went wrong in a handler of XLA's, and how a caller in Python gets it back.

XLA carries an error's text from its handlers to its callers, and nothing else. So the exceptions stay here, by their
texts, until a call asks for one.
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
    """The latest exceptions of handlers."""

    def __init__(self, size: int) -> None:
        """Remember up to `size`."""
        self._size = size
        self._known: OrderedDict[str, Exception] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def kept(self) -> Generator[None]:
        """Keep what the block raises, and raise its text alone.

        An exception's traceback holds the frames that it went through, and they the memory of arrays, which is XLA's.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001  whatever a handler raises, XLA tells of
            text = str(error)
            error.__cause__ = error.__context__ = None
            with self._lock:
                self._known[text] = error.with_traceback(None)
                while len(self._known) > self._size:
                    self._known.popitem(last=False)
            raise RuntimeError(text) from None

    def take(self, text: str) -> Exception | None:
        """Return the exception of that text, and forget it."""
        with self._lock:
            return self._known.pop(text, None)


FAILURES: Final = Failures(64)
"""The failures of this process; handlers run on any thread."""

_FAILED: Final = "INTERNAL: "  # XLA puts the code of an error in front of its text; our handlers use this one


def failure_of(error: Exception) -> Exception | None:
    """Return what a handler said, at the user's line; None for what was wrong before one was called."""
    text = str(error)
    if not text.startswith(_FAILED):
        return None
    text = text.removeprefix(_FAILED)
    failure = FAILURES.take(text) or ExecutionError(text)
    if isinstance(failure, PyptxError):
        point_at_call(failure)
    return failure


def answer(function: Callable[..., object], arrays: Sequence[object]) -> object:
    """Call what jax has compiled, and raise what a handler said as the exception that it was."""
    try:
        return function(*arrays)
    except (RuntimeError, ValueError) as error:
        failure = failure_of(error)
        if failure is None:
            raise
    raise failure
