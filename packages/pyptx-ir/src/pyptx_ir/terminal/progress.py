"""Progress of long work on a terminal: units done and the time left, from the third second on.

A thread draws the line, so that it also appears while the work does not report progress. With rich installed, the line
has a bar. Nothing is written if standard error is not a terminal.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from pyptx_ir.processes import start_without_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ProgressCallback: TypeAlias = "Callable[[int, int], None]"
"""Called with the number of units done and the total. If the total is unknown, it is 0, and steps are counted."""

DELAY: Final = 2.0
"""Seconds before the first output."""

_PERIOD: Final = 0.25  # seconds between two updates of the line
_PATIENCE: Final = 1.0  # maximum seconds to wait for the drawing thread, which an unresponsive terminal may block


class Progress:
    """State of running work, a `ProgressCallback`. `what` names the work (`simulating`), `unit` its units (`CTA`)."""

    def __init__(self, what: str, unit: str = "step") -> None:
        """Start the clock."""
        self._what, self._unit = what, unit
        self._begun = time.monotonic()
        self._first = self._last = (self._begun, 0)  # time and units done, at the first call and the last change
        self.total = 0
        self._ended = Event()
        self._lock = Lock()
        self._line: _Line | None = None

    @property
    def done(self) -> int:
        """Number of units done."""
        return self._last[1]

    def __call__(self, done: int, total: int) -> None:
        """Record the number of units done and the total; the next update of the line shows them."""
        if not self.total or done < self.done:  # the first call, or the first one of work that starts again
            self._first = self._last = (time.monotonic(), done)
        elif done != self.done:
            self._last = (time.monotonic(), done)
        self.total = total

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Erase the line while the caller prints."""
        with self._lock:
            self._erase()
            yield

    def text(self) -> str:
        """Return `WHAT: 12 of 64 CTAs, 0:05 left`; without a known time left, the elapsed time in minutes:seconds."""
        left = self._seconds_left()
        when = f"{_clock(time.monotonic() - self._begun)} elapsed" if left is None else f"{_clock(left)} left"
        if self.total:
            return f"{self._what}: {self.done} of {self.total} {self._unit}{'s' * (self.total != 1)}, {when}"
        return f"{self._what}: {self.done:,} steps, {when}" if self.done else f"{self._what}: {when}"

    def _seconds_left(self) -> float | None:
        (begun, before), (latest, done) = self._first, self._last
        if not before < done < self.total:
            return None
        return max(0.0, (latest - begun) * (self.total - done) / (done - before) - (time.monotonic() - latest))

    # --- the line -------------------------------------------------------------------------------------

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

    def _draw(self) -> None:
        if self._ended.wait(DELAY):
            return
        new_line = _line()
        try:
            while not self._ended.is_set():
                with self._lock:
                    if not self._ended.is_set():
                        self._line = self._line or new_line()
                        self._line.show(self.text(), self.done, self.total)
                self._ended.wait(_PERIOD)
        except (OSError, ValueError):  # the terminal is gone, or standard error is closed
            self._line = None

    def _erase(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.erase()


@contextmanager
def show_progress(what: str, unit: str = "step") -> Iterator[Progress]:
    """Show the progress of the `with` body on standard error, if it is a terminal and the body takes over 2 seconds.

    Yields the `ProgressCallback` of the work. The line is erased at the end, also after an exception or an interrupt.
    """
    shown = Progress(what, unit)
    if not sys.stderr.isatty():
        yield shown
        return
    try:
        shown.start()
        yield shown
    finally:
        shown.end()


def _clock(seconds: float) -> str:
    """Return a duration as `0:05`, or `1:02:03` from an hour on."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


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
        from shutil import get_terminal_size

        text = text[: get_terminal_size().columns - 1]
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
