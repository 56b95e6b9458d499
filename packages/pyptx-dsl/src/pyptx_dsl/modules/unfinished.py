"""What a call has begun and nothing has ended yet: a header without its body, a section that no `with` enters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_dsl.errors import ControlFlowError

if TYPE_CHECKING:
    from pyptx_dsl.origin import Recorder, Site


@dataclass(frozen=True, slots=True, eq=False)
class Begun:
    """Something that its user has to end, where it was begun, and how it is ended."""

    message: str
    hint: str
    site: Site


def _nothing() -> list[Begun]:
    return []


@dataclass(frozen=True, slots=True)
class Unfinished:
    """All that has been begun in one module; the recorder knows where."""

    recorder: Recorder
    begun: list[Begun] = field(default_factory=_nothing)

    def begin(self, message: str, hint: str, site: Site) -> Begun:
        """Note what was begun at a site; `message` and `hint` are its error, if nothing ends it."""
        begun = Begun(message, hint, site)
        self.begun.append(begun)
        return begun

    def end(self, begun: Begun) -> bool:
        """Note that it has ended; tell whether it was open until now."""
        if begun not in self.begun:
            return False
        self.begun.remove(begun)
        return True

    def refuse(self) -> None:
        """Raise ControlFlowError, at its line, for the first that is still open."""
        for begun in self.begun:
            raise ControlFlowError(begun.message, where=self.recorder.at(begun.site), hint=begun.hint)
