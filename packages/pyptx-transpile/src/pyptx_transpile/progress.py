"""Progress of transpiling a module: each statement is planned, printed and verified, some several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_ir.terminal.progress import ProgressCallback
    from pyptx_transpile.reading.rows import Body

__all__ = ["Progress"]

_STAGES = 3


@dataclass(slots=True)
class Progress:
    """Counter of statements planned, printed and verified; repeated steps do not raise it above `total`."""

    on_progress: ProgressCallback | None
    total: int = 0
    done: int = 0

    def begin(self, bodies: Iterable[Body]) -> None:
        """Set the total number of steps from all bodies of a module."""
        self.total = _STAGES * sum(map(_size, bodies))

    def over(self, bodies: Iterable[Body]) -> Iterator[Body]:
        """Yield function bodies; count one step of each body after the caller has used the body."""
        for body in bodies:
            yield body
            self.step(body)

    def step(self, body: Body) -> None:
        """Add the body's number of statements to the steps done, up to `total`."""
        self._tell(min(self.total, self.done + _size(body)))

    def finish(self) -> None:
        """Report the total as done, even if steps were skipped."""
        if self.done < self.total:
            self._tell(self.total)

    def _tell(self, done: int) -> None:
        self.done = done
        if self.on_progress is not None:
            self.on_progress(done, self.total)


def _size(body: Body) -> int:
    return body.end - body.start
