"""How far a module is: each of its statements is planned, printed and proved, the wrong ones several times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyptx_transpile.rows import Body

    Told: TypeAlias = Callable[[int, int], None]
    """Is told how many of how many steps are done."""

__all__ = ["Progress"]

_STAGES = 3


@dataclass(slots=True)
class Progress:
    """Counts the statements of bodies that are done; what is done again counts once."""

    told: Told | None
    total: int = 0
    done: int = 0

    def begin(self, bodies: Iterable[Body]) -> None:
        """Take all bodies of a module, of which nothing is done."""
        self.total = _STAGES * sum(map(_size, bodies))

    def over(self, bodies: Iterable[Body]) -> Iterator[Body]:
        """Yield bodies, and tell behind each that it is done."""
        for body in bodies:
            yield body
            self.step(body)

    def step(self, body: Body) -> None:
        """Tell that a body is done."""
        self._tell(min(self.total, self.done + _size(body)))

    def finish(self) -> None:
        """Tell that all is done, if not all was asked for."""
        if self.done < self.total:
            self._tell(self.total)

    def _tell(self, done: int) -> None:
        self.done = done
        if self.told is not None:
            self.told(done, self.total)


def _size(body: Body) -> int:
    return body.end - body.start
