"""A progress bar, drawn by rich, which is an optional requirement: only `progress_line.py` imports this module."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn


def can_show() -> bool:
    """Return whether rich can rewrite a line of standard error."""
    console = Console(stderr=True)
    return console.is_terminal and not console.is_dumb_terminal


class BarLine:
    """A line with a bar on standard error, and a text after it; other output of the process is left as it is."""

    def __init__(self) -> None:
        """Prepare a line; the first `show` writes it."""
        self._bar = Progress(
            BarColumn(bar_width=20),
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def show(self, text: str, done: int, total: int) -> None:
        """Write or rewrite the line; the bar moves to and fro while the total is unknown."""
        if not self._bar.tasks:
            self._bar.add_task(text, completed=done, total=total or None)
            self._bar.start()
            return
        self._bar.update(self._bar.task_ids[0], description=text, completed=done, total=total or None, refresh=True)

    def erase(self) -> None:
        """Remove the line and show the cursor."""
        self._bar.stop()
