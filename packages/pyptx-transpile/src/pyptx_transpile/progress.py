"""Progress of a module: each statement is planned, printed and verified, some of them several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyptx_transpile.rows import Body

    ProgressCallback: TypeAlias = Callable[[int, int], None]
    """Called with the number of steps done and the total."""

__all__ = ["Progress"]

_STAGES = 3


@dataclass(slots=True)
class Progress:
    """Counter of statements done; repeated work counts once."""

    on_progress: ProgressCallback | None
    total: int = 0
    done: int = 0

    def begin(self, bodies: Iterable[Body]) -> None:
        """Set the total from all bodies of a module; none is done."""
        self.total = _STAGES * sum(map(_size, bodies))

    def over(self, bodies: Iterable[Body]) -> Iterator[Body]:
        """Yield bodies; count each as done after its use."""
        for body in bodies:
            yield body
            self.step(body)

    def step(self, body: Body) -> None:
        """Count a body as done."""
        self._tell(min(self.total, self.done + _size(body)))

    def finish(self) -> None:
        """Report completion, if stages were skipped."""
        if self.done < self.total:
            self._tell(self.total)

    def _tell(self, done: int) -> None:
        self.done = done
        if self.on_progress is not None:
            self.on_progress(done, self.total)


def _size(body: Body) -> int:
    return body.end - body.start
