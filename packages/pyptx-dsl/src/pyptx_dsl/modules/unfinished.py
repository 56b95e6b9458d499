"""What a call has begun and nothing has ended yet: a header without its body, a section that no `with` enters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_dsl.errors import ControlFlowError
from pyptx_dsl.origin import at_instruction, user_frame

if TYPE_CHECKING:
    from types import CodeType

    Place = tuple[CodeType, int, int] | None


@dataclass(frozen=True, slots=True, eq=False)
class Begun:
    """Something that its user has to end, where it was begun, and how it is ended."""

    message: str
    hint: str
    place: Place


def _nothing() -> list[Begun]:
    return []


@dataclass(frozen=True, slots=True)
class Unfinished:
    """All that has been begun in one module."""

    begun: list[Begun] = field(default_factory=_nothing)

    def begin(self, message: str, hint: str) -> Begun:
        """Note what was begun at the user's line; `message` and `hint` are its error, if nothing ends it."""
        frame = user_frame()
        begun = Begun(message, hint, frame and (frame.f_code, frame.f_lineno, frame.f_lasti))
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
            where = begun.place and at_instruction(*begun.place)
            raise ControlFlowError(begun.message, where=where, hint=begun.hint)
