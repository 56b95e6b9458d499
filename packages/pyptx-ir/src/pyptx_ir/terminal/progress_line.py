"""The thread that draws the line of `progress.py`, so that it also appears while the work does not report progress.

With rich installed, the line has a bar.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, Protocol

from pyptx_ir.processes import start_without_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pyptx_ir.terminal.progress import Progress

DELAY: Final = 2.0
"""Seconds before the first output."""

_PERIOD: Final = 0.25  # seconds between two updates of the line
_COLUMNS: Final = 80  # width of a terminal that does not know its size
_PATIENCE: Final = 1.0  # maximum seconds to wait for the thread, which an unresponsive terminal may block


class ProgressLine:
    """A line on standard error with the text of a `Progress`."""

    def __init__(self, progress: Progress) -> None:
        """Draw nothing before `start`."""
        self._progress = progress
        self._ended = Event()
        self._lock = Lock()
        self._line: _Line | None = None

    def start(self) -> None:
        """Draw the line from now on, after a delay, in a thread that receives no signals."""
        start_without_interrupts(Thread(target=self._draw, name="pyptx progress", daemon=True))

    def end(self) -> None:
        """Erase the line, and stop drawing it."""
        self._ended.set()
        # An interrupt may have left the lock acquired, so waiting without a limit could block.
        acquired = self._lock.acquire(timeout=_PATIENCE)
        self._erase()
        if acquired:
            self._lock.release()

    @contextmanager
    def hidden(self) -> Generator[None]:
        """Erase the line for the body."""
        with self._lock:
            self._erase()
            yield

    def _draw(self) -> None:
        if self._ended.wait(DELAY):
            return
        new_line = _line()
        try:
            while not self._ended.is_set():
                with self._lock:
                    if not self._ended.is_set():
                        self._line = self._line or new_line()
                        self._line.show(self._progress.text(), self._progress.done, self._progress.total)
                self._ended.wait(_PERIOD)
        except (OSError, ValueError):  # the terminal is gone, or standard error is closed
            self._line = None

    def _erase(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.erase()


class _Line(Protocol):
    """A line on standard error that can be rewritten."""

    def show(self, text: str, done: int, total: int) -> None:
        """Write or rewrite the line."""
        ...

    def erase(self) -> None:
        """Remove the line; the cursor is in its first column afterwards."""
        ...


class _PlainLine:
    """A line that a carriage return rewrites; it needs no control sequences of the terminal."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, text: str, done: int, total: int) -> None:
        del done, total
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
        text = text[: columns - 1]  # a longer line would be wrapped, and a carriage return reaches its last part only
        self._write(f"\r{text.ljust(self._width)}")
        self._width = len(text)

    def erase(self) -> None:
        self._write(f"\r{' ' * self._width}\r")

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _line() -> Callable[[], _Line]:
    """Return the constructor of the line: with a bar if rich is installed and the terminal has control sequences."""
    try:
        from pyptx_ir.terminal.bar import BarLine, can_show
    except ImportError:
        return _PlainLine
    return BarLine if can_show() else _PlainLine
