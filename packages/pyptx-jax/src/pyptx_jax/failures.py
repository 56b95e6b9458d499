"""What went wrong in a handler of XLA's, and how a caller in Python gets it back.

XLA carries an error's text from its handlers to its callers, and nothing else. So the exceptions stay here, by their
texts, until a call asks for one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator


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
