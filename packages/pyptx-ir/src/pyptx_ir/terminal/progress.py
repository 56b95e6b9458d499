"""Progress of long work on a terminal: units done and the time left, from the third second on."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from pyptx_ir.terminal.progress_line import ProgressLine

ProgressCallback: TypeAlias = "Callable[[int, int], None]"
"""Called with the number of units done and the total. If the total is unknown, it is 0, and steps are counted."""


class Progress:
    """State of running work, a `ProgressCallback`. `what` names the work (`simulating`), `unit` its units (`CTA`)."""

    def __init__(self, what: str, unit: str = "step") -> None:
        """Start the clock."""
        self._what, self._unit = what, unit
        self._begun = time.monotonic()
        self._first = self._last = (self._begun, 0)  # time and units done, at the first call and the last change
        self.total = 0
        self.line: ProgressLine | None = None

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

    def hidden(self) -> AbstractContextManager[None]:
        """Erase the line while the caller prints."""
        return nullcontext() if self.line is None else self.line.hidden()

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


@contextmanager
def show_progress(what: str, unit: str = "step") -> Generator[Progress]:
    """Show the progress of the `with` body on standard error, if it is a terminal and the body takes over 2 seconds.

    Yields the `ProgressCallback` of the work. The line is erased at the end, also after an exception or an interrupt.
    """
    progress = Progress(what, unit)
    if not sys.stderr.isatty():
        yield progress
        return
    from pyptx_ir.terminal.progress_line import ProgressLine

    progress.line = line = ProgressLine(progress)
    try:
        line.start()
        yield progress
    finally:
        line.end()


def _clock(seconds: float) -> str:
    """Return a duration as `0:05`, or `1:02:03` from an hour on."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
