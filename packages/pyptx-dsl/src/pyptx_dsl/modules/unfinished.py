"""Unfinished constructs of a module: a function header without a body, a section that no `with` enters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_dsl.errors import ControlFlowError

if TYPE_CHECKING:
    from pyptx_dsl.origin import Recorder, Site


@dataclass(frozen=True, slots=True, eq=False)
class Begun:
    """An unfinished construct: its error message and help, and the Python location at which it was started."""

    message: str
    help: str
    site: Site


def _nothing() -> list[Begun]:
    return []


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Unfinished constructs of one module; `recorder` maps their code positions to Python lines."""

    recorder: Recorder
    begun: list[Begun] = field(default_factory=_nothing)

    def begin(self, message: str, help: str, site: Site) -> Begun:
        """Record the start of a construct at a code position; `message` and `help` are its error if unfinished."""
        begun = Begun(message, help, site)
        self.begun.append(begun)
        return begun

    def end(self, begun: Begun) -> bool:
        """Remove a finished construct; return whether it was still unfinished."""
        if begun not in self.begun:
            return False
        self.begun.remove(begun)
        return True

    def refuse(self) -> None:
        """Raise ControlFlowError, at the line of its start, for the first construct that was not finished."""
        for begun in self.begun:
            raise ControlFlowError(begun.message, where=self.recorder.at(begun.site), help=begun.help)
